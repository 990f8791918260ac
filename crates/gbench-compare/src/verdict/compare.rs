//! The comparison as a whole: rows by weight, one conclusion, one exit code.

use std::collections::{HashMap, HashSet};

use gbench_model::text::short_commit;
use gbench_model::{
    CaseId, CaseRecord, CommonSuite, Ingested, Manifest, NoReference, Outcome, Params, Probe, Result,
    RunRecord, Side,
};

use super::conclusion::{FailurePolicy, conclude, counts as verdict_counts, severity_order};
use super::curves;
use super::document::{DoubtfulCase, Method, Row, RowCycles, SCHEMA_VERDICT, SideSummary, VerdictDocument};
use super::outcome::Verdict;
use super::policy::{Policy, Reproduce, SideInput};
use super::rows::prepare;
use super::warnings::{of_comparison, of_side, of_units};
use crate::evidence::history::History;
use crate::evidence::stored_runs::one_session;
use crate::evidence::{health, throttling};
use crate::identity::cases::{PairedCase, pair};
use crate::identity::machines::{differences, on_two_hosts};
use crate::identity::units::in_units_of_head;
use crate::remarks::cycles;
use crate::remarks::device_code_rows;
use crate::remarks::peak;
use crate::remarks::profiles;
use crate::remarks::telemetry;
use crate::rules::instruction_counts;
use crate::rules::process_session::ProcessSession;
use crate::rules::rule::Rule;
use crate::rules::rule::{ProgramDecision, RowDecision};
use crate::rules::seq_e::SeqE;
use crate::rules::welch_holm::ProcessWelchHolm;
use crate::variants::speedups::{Speedups, doubt_with_members, tell_of_members};
use crate::wording::advice::Advice;
use crate::wording::reason::Reason;
use crate::wording::sentence;
use crate::wording::warning::Warning;

/// Compares head with base without knowing any stored session: [`compare_with`] an empty history.
///
/// The conclusion describes the result, the exit code is its consequence under the policy. From the strongest down, the
/// first that applies gives the exit code:
///
/// | what is the case | exit code |
/// |---|---|
/// | the machines differ in a strict field | 5 |
/// | a row regressed | 1 |
/// | a row is invalid or missing | 4, if `failed_fails` |
/// | a case is broken on both sides | 4, if `broken_fails` |
/// | nothing was compared, and nothing is mended | 3 if cases are broken on both sides and none failed otherwise, else 4 |
/// | every compared row is inconclusive | 3 |
/// | every compared row of a time, a rate or a count of instructions is inconclusive | 3 |
/// | a row is inconclusive and the history too short to say more | 3 |
/// | an inconclusive row is probably worse, or its change impossible | 3 |
/// | a row is inconclusive | 3, if `inconclusive_fails` |
/// | all own cases were skipped on both sides, and built-in ones compared | 3 |
/// | none of these | 0 |
///
/// Errors: a case that is in a record twice; an error rate or threshold in the policy that cannot be followed.
pub fn compare(base: &SideInput, head: &SideInput, policy: &Policy) -> Result<VerdictDocument> {
    compare_with(&History::default(), base, head, policy)
}

/// [`compare`] with the base's control: by the rule of the rounds where the records are the sides of one comparison, else
/// as [`compare_with`] no history.
pub fn compare_sides(
    base: &SideInput,
    head: &SideInput,
    control: Option<&SideInput>,
    policy: &Policy,
) -> Result<VerdictDocument> {
    compare_all(&History::default(), base, head, control, policy)
}

/// [`compare`] with what stored records say of the past. Records that are not the two sides of a comparison in rounds are judged
/// by `process-welch-holm-4` within one session, or where policy asks for no history; else by `process-session-4`.
pub fn compare_with(
    history: &History,
    base: &SideInput,
    head: &SideInput,
    policy: &Policy,
) -> Result<VerdictDocument> {
    compare_all(history, base, head, None, policy)
}

fn compare_all(
    history: &History,
    base: &SideInput,
    head: &SideInput,
    control: Option<&SideInput>,
    policy: &Policy,
) -> Result<VerdictDocument> {
    let (alpha, sessions) = (policy.alpha, policy.sessions);
    let Some(mut rule) = rule_of_rounds(base, head) else {
        return if sessions == 0 || one_session(base.record, head.record) {
            compare_by(&ProcessWelchHolm { alpha, believes_exact: false }, base, head, policy)
        } else {
            let across_hosts = on_two_hosts(base.record, head.record);
            compare_by(&ProcessSession { alpha, sessions, history, across_hosts }, base, head, policy)
        };
    };
    if let Some(control) = control.filter(|control| rule_of_rounds(base, control).is_some()) {
        let ids: HashSet<_> = control.record.cases.iter().map(|case| &case.id).collect();
        let mut controlled = base.record.clone();
        controlled.cases.retain(|case| ids.contains(&case.id));
        let itself = SideInput { record: &controlled, name: base.name.clone() };
        let against_itself = compare_by(&rule.of_control(), &itself, control, policy)?;
        let changed = |row: &&Row| matches!(row.verdict, Verdict::Regressed | Verdict::Improved);
        rule.controls = against_itself.rows.iter().filter(|row| row.sequence.is_some()).count() as u32;
        rule.flagged_controls =
            against_itself.rows.iter().filter(changed).map(|row| row.case.to_string()).collect();
    }
    compare_by(&rule, base, head, policy)
}

fn rule_of_rounds(base: &SideInput, head: &SideInput) -> Option<SeqE> {
    let (one, other) = (base.record.comparison.as_ref()?, head.record.comparison.as_ref()?);
    (one.id == other.id).then(|| SeqE::of(one).ended_as(one, [base.record, head.record]))
}

fn doubtful(side: Side, input: &SideInput) -> Vec<DoubtfulCase> {
    let cases = input.record.cases.iter().filter(|case| case.outcome.is_measured());
    let signs = cases.flat_map(|case| case.nothing_measured.iter().map(move |sign| (case, sign)));
    signs.map(|(case, sign)| DoubtfulCase { side, case: case.id.clone(), sign: sign.clone() }).collect()
}

fn common_suite<'r>(side: &SideInput<'r>) -> Option<&'r CommonSuite> {
    side.record.comparison.as_ref()?.suite_file.as_ref()
}

/// [`compare`] by another rule.
pub fn compare_by(
    rule: &dyn Rule,
    base: &SideInput,
    head: &SideInput,
    policy: &Policy,
) -> Result<VerdictDocument> {
    policy.check()?;
    let (of_base, converted) = in_units_of_head(rule, base, head)?;
    let base = &SideInput { record: &of_base, name: base.name.clone() };
    let pairs = pair(base, head, rule)?;
    let differences = differences(base.record, head.record, &policy.match_key);
    let comparable = !differences.iter().any(|difference| difference.strict);

    let codes = device_code_rows::cases(&pairs);
    let mut warnings = Vec::new();
    let mut rows = Vec::new();
    let (mut tested, mut in_the_dark) = (0, false);
    let mut rounds = None;
    if comparable {
        // Files of other programs with the same figures are not one run.
        let same_run = base.record.run_id == head.record.run_id && base.record.ingested.is_none();
        let speedups =
            if rule.judges_pairs() { Speedups::of(&pairs, rule.over_rounds()) } else { Speedups::default() };
        let mut prepared = prepare(&pairs, &speedups, policy, same_run, rule);
        let output = rule.judge(&prepared.evidence);
        rounds = output.rounds;
        warnings = output.warnings;
        let mut held_clocks = HashMap::new();
        for ((index, evidence), mut decision) in
            prepared.open.iter().zip(&prepared.evidence).zip(output.decisions)
        {
            let Some(index) = index else { continue };
            // Counts that never vary are exact, and may fall to next to nothing.
            if (!evidence.exact || decision.tested) && !rule.believes_any_change() {
                flag_the_impossible(&mut decision);
            }
            if !rule.over_rounds() {
                health::doubt_apart(evidence, &mut decision);
                throttling::doubt_apart(evidence, &mut decision);
            }
            tested += u32::from(decision.tested);
            in_the_dark |= decision.verdict == Verdict::Inconclusive && rule.lacks_history(evidence);
            if decision.verdict == Verdict::Regressed && decision.next.is_none() {
                decision.next = Some(look_for_the_cause(base.record, head.record, differences.len()));
            }
            decision.settle(&mut prepared.rows[*index]);
            // A plainly unchanged row needs no word on its circumstances.
            if prepared.rows[*index].verdict != Verdict::Unchanged {
                held_clocks.extend(throttling::held_clocks(evidence).map(|held| (*index, held)));
            }
        }
        for ProgramDecision { likeliest, decision } in output.programs {
            let Some(of_case) = prepared.open[likeliest].map(|index| &prepared.rows[index]) else { continue };
            // The row of the program: its cases without what tells them apart.
            let case = CaseId { params: Params::new(), ..of_case.case.clone() };
            let mut row = Row { case, ..of_case.clone() };
            decision.settle(&mut row);
            prepared.rows.push(row);
        }
        warnings.extend(of_comparison(base, head, &pairs, &prepared, rule.precedes_seq_e_5()));
        warnings.extend(of_units(&converted));
        doubt_with_members(&mut prepared.rows, &prepared.members);
        tell_of_members(&mut prepared.rows, &prepared.members);
        rows = prepared.rows;
        prepared.wholes.hold(&mut rows);
        if [base, head].iter().any(|side| side.record.ingested.is_some()) {
            rows.iter_mut().for_each(Row::advise_for_files);
        }
        instruction_counts::tell_of_time(&mut rows);
        if cycles::are_asked(&rows, base.record, head.record) {
            cycles::tell(&mut rows, &in_cycles(rule, base, head, policy)?);
        }
        peak::tell(&mut rows, &pairs);
        device_code_rows::tell(&mut rows, &codes);
        telemetry::tell(&mut rows, &pairs);
        for (index, row) in rows.iter_mut().enumerate() {
            row.tell(held_clocks.get(&index), device_code_rows::of_case(&codes, &row.case));
        }
    }
    warnings.extend(throttling::warning(base.record, head.record));
    warnings.extend(health::warning(base.record, head.record));
    if !rule.over_rounds() {
        warnings.extend(busy_machine(base.record, head.record));
    }
    warnings.extend(cycles::warning(base.record, head.record));
    warnings.extend(common_suite(base).map(|common| Warning::CommonSuiteFile {
        path: common.path.clone(),
        sha256: common.sha256.clone(),
        folder: common.folder.clone(),
        judge: common.judge,
    }));
    warnings.extend(of_side(Side::Base, base));
    warnings.extend(of_side(Side::Head, head));
    rows.sort_by(severity_order);
    let loads = curves::loads(&pairs);
    let curves = curves::of(&loads, &rows);
    let mut profiles = profiles::of(&pairs);
    profiles.sort_by_key(|profiled| rows.iter().position(|row| row.case == profiled.case));

    let only_built_in = !rule.precedes_seq_e_5() && only_built_in(&pairs);
    let no_reference = policy
        .no_reference
        .or_else(|| (only_built_in && all_own_skipped(&pairs)).then_some(NoReference::OwnSkipped));
    let failure_policy =
        FailurePolicy { no_reference: no_reference.is_some(), ..FailurePolicy::from(policy) };
    let (conclusion, exit) = conclude(comparable, &rows, in_the_dark, failure_policy);
    let (reproduce, replays) = match &policy.reproduce {
        Reproduce::Replay(id) => (format!("gbench-ci replay {id}"), vec![id.clone()]),
        Reproduce::Command(command) => (command.clone(), Vec::new()),
    };
    let (warnings, warning_codes) = warnings.into_iter().map(Warning::coded).unzip();
    let noise = device_code_rows::noise(&rows).filter(|_| base.record.run_id != head.record.run_id);
    let mut document = VerdictDocument {
        schema: SCHEMA_VERDICT.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        conclusion,
        exit_code: exit.code(),
        sentence: String::new(),
        counts: verdict_counts(&rows),
        base: side_summary(base),
        head: side_summary(head),
        method: Method {
            rule: rule.name().to_owned(),
            alpha: rule.alpha(),
            tested,
            inconclusive_fails: policy.inconclusive_fails,
            failed_fails: policy.failed_fails,
            broken_fails: policy.broken_fails,
            rounds,
            sessions: rule.sessions(),
            no_reference,
            only_built_in,
            suite_file: common_suite(base).cloned(),
            sandbox: base.record.comparison.as_ref().and_then(|comparison| comparison.sandbox),
        },
        differences,
        rows,
        curves,
        loads,
        warnings,
        warning_codes,
        nothing_measured: [doubtful(Side::Base, base), doubtful(Side::Head, head)].concat(),
        device_code: codes,
        noise_of_identical_code: noise,
        profiles,
        reproduce,
        replays,
        records: None,
    };
    document.sentence = sentence::of_verdict(&document, &[]);
    Ok(document)
}

/// The rule's verdict on the cycles, by case: a separate comparison, of which nothing else is kept.
fn in_cycles(
    rule: &dyn Rule,
    base: &SideInput,
    head: &SideInput,
    policy: &Policy,
) -> Result<HashMap<CaseId, RowCycles>> {
    let [of_base, of_head] = [base, head].map(|side| cycles::of_record(side.record));
    let base = SideInput { record: &of_base, name: base.name.clone() };
    let head = SideInput { record: &of_head, name: head.name.clone() };
    let has_cases = !of_base.cases.is_empty() && !of_head.cases.is_empty();
    Ok(if has_cases { cycles::by_case(compare_by(rule, &base, &head, policy)?.rows) } else { HashMap::new() })
}

fn cases<'p>(pairs: &'p [PairedCase]) -> impl Iterator<Item = &'p CaseRecord> {
    pairs.iter().flat_map(|pair| pair.base.into_iter().chain(pair.head))
}

/// Cases were measured, and all of them are built in.
fn only_built_in(pairs: &[PairedCase]) -> bool {
    let mut measured = cases(pairs).filter(|case| case.outcome.is_measured()).peekable();
    measured.peek().is_some() && measured.all(CaseRecord::is_built_in)
}

/// All of the repository's own cases were skipped on both sides: a gate that guards nothing must not look like one that does.
fn all_own_skipped(pairs: &[PairedCase]) -> bool {
    let mut own = cases(pairs).filter(|case| !case.is_built_in()).peekable();
    own.peek().is_some() && own.all(|case| matches!(case.outcome, Outcome::Skipped { .. }))
}

/// In rounds, the rule itself asks whether one side met more of it than the other.
fn busy_machine(base: &RunRecord, head: &RunRecord) -> Option<Warning> {
    let [base, head] =
        [base, head].map(|side| side.cases.iter().filter(|case| case.met_busy_machine()).count() as u32);
    (base + head > 0).then_some(Warning::BusyMachine { base, head })
}

fn flag_the_impossible(decision: &mut RowDecision) {
    let Some(change) = &decision.change else { return };
    match decision.verdict {
        Verdict::Improved | Verdict::Unchanged | Verdict::Inconclusive if change.is_impossible() => {
            // A share so close to zero that its inverse is infinite is still one of more than a million.
            let times = (1.0 / (1.0 + change.slowdown)).min(f64::MAX);
            decision.reason = Some(Reason::ImpossiblyBetter { times });
            decision.next = Some(Advice::CheckTheWork {});
            decision.verdict = Verdict::Inconclusive;
            decision.open = false;
        }
        Verdict::Regressed if change.is_extreme() => {
            decision.next = Some(Advice::CheckUnitAndDevice { times: 1.0 + change.slowdown });
        }
        _ => {}
    }
}

fn look_for_the_cause(base: &RunRecord, head: &RunRecord, differences: usize) -> Advice {
    let commit = |record: &RunRecord| {
        let git = record.manifest.git.known()?;
        let commit = short_commit(git.commit.as_deref()?).to_owned();
        Some((commit, git.dirty.any()))
    };
    match (commit(base), commit(head)) {
        (Some((base, false)), Some((head, true))) if base == head => Advice::ReadDiff { commit: base },
        (Some((base, _)), Some((head, _))) if base != head => Advice::ReadLog { base, head },
        _ => Advice::LookForChange { differences: differences as u32 },
    }
}

fn side_summary(side: &SideInput) -> SideSummary {
    let record = side.record;
    let git = record.manifest.git.known();
    SideSummary {
        run_id: record.run_id.clone(),
        name: side.name.clone(),
        started: record.started.clone(),
        commit: git.and_then(|git| git.commit.clone()),
        branch: git.and_then(|git| git.branch.clone()),
        dirty: git.is_some_and(|git| git.dirty.any()),
        cases: record.cases.len() as u32,
        measured: record.cases.iter().filter(|case| case.outcome.is_measured()).count() as u32,
        machine: record
            .ingested
            .as_deref()
            .and_then(Ingested::machine)
            .unwrap_or_else(|| machine(&record.manifest)),
    }
}

fn machine(manifest: &Manifest) -> String {
    let mut models: Vec<(String, usize)> = Vec::new();
    for gpu in manifest.gpu.known().into_iter().flat_map(|gpus| &gpus.devices) {
        let model = gpu.model.known().map_or("unknown GPU", String::as_str);
        match models.iter_mut().find(|(name, _)| name == model) {
            Some((_, number)) => *number += 1,
            None => models.push((model.to_owned(), 1)),
        }
    }
    let names = models.into_iter().map(|(model, number)| match number {
        1 => model,
        _ => format!("{number} x {model}"),
    });
    let names: Vec<String> = names.collect();
    match (&manifest.host.cpu_model, names.is_empty()) {
        (_, false) => names.join(", "),
        (Probe::Known(model), true) => model.clone(),
        (_, true) => "unknown CPU".to_owned(),
    }
}
