//! The parts of one machine as one verdict: as if the suite had not been cut.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::document::{Absence, MissingPart, VerdictPart};
use crate::evidence::validity::{MIN_ROUNDS, location_shift};
use crate::remarks::device_code_rows;
use crate::verdict::conclusion::{
    FailurePolicy, check_says, conclude, counts, derived, most_severe, severity_order, was_compared,
};
use crate::verdict::curves;
use crate::verdict::document::{Method, RoundsMethod, Row, SCHEMA_VERDICT, SideSummary, VerdictDocument};
use crate::verdict::outcome::Verdict;
use crate::wording::parts::counted;
use crate::wording::sentence;
use crate::wording::warning::Warning;
use gbench_model::{CaseId, Exit, Fault, NoReference, Result, RunId};

/// Shards up to which the command that judges all of them again is given.
const MAX_COMMANDS: usize = 64;

/// One verdict of the parts of one machine, at least one. `gaps`: what is missing of it. A single part without a gap
/// stays as it is.
///
/// Errors: another rule or policy; a row that two parts bring.
pub(super) fn shards(mut parts: Vec<VerdictPart>, gaps: &[&MissingPart]) -> Result<VerdictDocument> {
    let mut document = match parts.len() {
        1 => parts.remove(0).verdict,
        _ => of_several(parts)?,
    };
    if !gaps.is_empty() {
        let exit = Exit::from_repr(document.exit_code).unwrap_or(Exit::Internal);
        let least = Absence::least(gaps.iter().map(|gap| gap.absence).max());
        document.conclusion = most_severe(document.conclusion, least.0);
        document.exit_code = exit.most_severe(least.1).code();
        let missing = gaps.iter().map(|gap| gap.warning().coded());
        let coded: Vec<_> = missing.chain(document.coded_warnings()).collect();
        (document.warnings, document.warning_codes) = coded.into_iter().unzip();
        let texts: Vec<String> = gaps.iter().map(|gap| gap.what.clone()).collect();
        document.sentence = sentence::of_verdict(&document, &texts);
    }
    Ok(document)
}

fn of_several(parts: Vec<VerdictPart>) -> Result<VerdictDocument> {
    let first = &parts[0];
    parts.iter().try_for_each(|part| by_one_rule(first, part))?;
    no_row_twice(&parts)?;
    let mut rows: Vec<Row> = parts.iter().flat_map(|part| part.verdict.rows.iter().cloned()).collect();
    rows.sort_by(severity_order);
    // A program whose cases lie in several shards can be red in each of them: the largest change stands for all.
    let mut programs = HashSet::new();
    rows.retain(|row| row.likeliest().is_none() || programs.insert((row.case.clone(), row.metric.clone())));
    let mut differences: Vec<_> = Vec::new();
    for difference in parts.iter().flat_map(|part| &part.verdict.differences) {
        if !differences.contains(difference) {
            differences.push(difference.clone());
        }
    }
    differences.sort_by(|a, b| b.strict.cmp(&a.strict).then_with(|| a.field.cmp(&b.field)));
    let comparable = !differences.iter().any(|difference| difference.strict);
    // If one shard lacks a reference, the whole does; but what one shard skips, another may measure.
    let missing = || parts.iter().filter_map(|part| part.verdict.method.no_reference);
    let skips_own = |part: &VerdictPart| part.verdict.method.no_reference == Some(NoReference::OwnSkipped);
    let compared = |part: &&VerdictPart| part.verdict.rows.iter().any(was_compared);
    let only_built_in = parts.iter().filter(compared).all(|part| part.verdict.method.only_built_in);
    let no_reference = missing()
        .find(|missing| *missing != NoReference::OwnSkipped)
        .or_else(|| missing().next().filter(|_| only_built_in));
    let failure_policy =
        FailurePolicy { no_reference: no_reference.is_some(), ..FailurePolicy::from(&first.verdict.method) };
    let (conclusion, exit) = conclude(comparable, &rows, false, failure_policy);
    let of_parts = parts
        .iter()
        .filter(|part| !skips_own(part))
        .map(|part| Exit::from_repr(part.verdict.exit_code).unwrap_or(Exit::Internal));
    let exit = of_parts.filter(|part| *part == Exit::Inconclusive).fold(exit, Exit::most_severe);
    let rounds = rounds(&parts, &rows);
    let mut coded = warnings(&parts);
    let shifted = rounds.as_ref().and_then(|(_, warning)| warning.clone());
    coded.extend(shifted.map(Warning::coded));
    let (warnings, warning_codes) = coded.into_iter().unzip();
    let mut codes: Vec<_> = parts.iter().flat_map(|part| part.verdict.device_code.iter().cloned()).collect();
    codes.sort_by(|a, b| a.case.cmp(&b.case));
    let shows_noise = parts.iter().any(|part| part.verdict.noise_of_identical_code.is_some());
    let noise = device_code_rows::noise(&rows).filter(|_| shows_noise);
    let loads = curves::all_loads(parts.iter().flat_map(|part| &part.verdict.loads));
    let mut document = VerdictDocument {
        schema: SCHEMA_VERDICT.into(),
        tool_version: first.verdict.tool_version.clone(),
        conclusion,
        exit_code: exit.code(),
        sentence: String::new(),
        counts: counts(&rows),
        base: side(&parts, |verdict| &verdict.base),
        head: side(&parts, |verdict| &verdict.head),
        method: Method {
            alpha: total(parts.iter().map(|part| part.verdict.method.alpha)),
            tested: parts.iter().map(|part| part.verdict.method.tested).sum(),
            rounds: rounds.map(|(rounds, _)| rounds),
            sessions: parts
                .iter()
                .filter_map(|part| part.verdict.method.sessions.clone())
                .max_by_key(|sessions| sessions.runs),
            no_reference,
            only_built_in,
            ..first.verdict.method.clone()
        },
        differences,
        curves: curves::of(&loads, &rows),
        loads,
        rows,
        warnings,
        warning_codes,
        nothing_measured: parts.iter().flat_map(|part| part.verdict.nothing_measured.clone()).collect(),
        device_code: codes,
        noise_of_identical_code: noise,
        profiles: parts.iter().flat_map(|part| part.verdict.profiles.iter().cloned()).collect(),
        reproduce: again(&parts),
        replays: replays(&parts),
        records: None,
    };
    document.sentence = sentence::of_verdict(&document, &[]);
    Ok(document)
}

/// Refuses parts that were decided by another rule, or whose policy makes something else of the same rows.
fn by_one_rule(one: &VerdictPart, other: &VerdictPart) -> Result<()> {
    let words = |part: &VerdictPart| {
        let method = &part.verdict.method;
        // Where the machines cannot be compared there were no rounds to say how.
        let way = method.rounds.as_ref().map(|rounds| format!("its way is {}", rounds.way.into_str()));
        let needed =
            method.sessions.as_ref().map(|sessions| format!("it needs {} sessions", sessions.needed));
        [
            Some(format!("its rule is {}", method.rule)),
            way,
            needed,
            Some(match &method.suite_file {
                Some(common) => format!("both sides have the suite file {}", common.sha256),
                None => "each side has its own suite file".into(),
            }),
            Some(format!("inconclusive_fails is {}", method.inconclusive_fails)),
            Some(format!("failed_fails is {}", method.failed_fails)),
            Some(format!("broken_fails is {}", method.broken_fails)),
        ]
    };
    let mut pairs = words(one).into_iter().zip(words(other)).filter_map(|(a, b)| a.zip(b));
    let Some((a, b)) = pairs.find(|(a, b)| a != b) else { return Ok(()) };
    let what = format!("`{}` and `{}` were not judged alike: {a}, {b}", one.name, other.name);
    Err(Fault::at("merge", what, "judge every shard by the same gate, with the same flags"))
}

fn no_row_twice(parts: &[VerdictPart]) -> Result<()> {
    let mut seen: HashMap<(&CaseId, &str), &VerdictPart> = HashMap::new();
    for part in parts {
        for row in part.verdict.rows.iter().filter(|row| row.likeliest().is_none()) {
            let Some(other) = seen.insert((&row.case, &row.metric), part) else { continue };
            let row = format!("{} {}", row.case, row.metric);
            let what = format!("`{}` and `{}` both judge {}", other.name, part.name, row.trim_end());
            let next = "give each machine of a matrix its own `--label`, and each job of one label its own `--shard`";
            return Err(Fault::at("merge", what, next));
        }
    }
    Ok(())
}

fn side(parts: &[VerdictPart], of: impl Fn(&VerdictDocument) -> &SideSummary) -> SideSummary {
    let sides = || parts.iter().map(|part| of(&part.verdict));
    let machines: BTreeSet<&str> = sides().map(|side| &*side.machine).collect();
    SideSummary {
        started: sides().map(|side| side.started.clone()).min().unwrap_or_default(),
        cases: sides().map(|side| side.cases).sum(),
        measured: sides().map(|side| side.measured).sum(),
        machine: machines.into_iter().collect::<Vec<_>>().join("; "),
        ..of(&parts[0].verdict).clone()
    }
}

/// Facts of all rounds together, and the shift of the whole suite; `None` where there were none.
fn rounds(parts: &[VerdictPart], rows: &[Row]) -> Option<(RoundsMethod, Option<Warning>)> {
    let all: Vec<&RoundsMethod> =
        parts.iter().filter_map(|part| part.verdict.method.rounds.as_ref()).collect();
    let first = all.first()?;
    let greatest = |of: fn(&RoundsMethod) -> u32| all.iter().map(|rounds| of(rounds)).max().unwrap_or(0);
    let sum = |of: fn(&RoundsMethod) -> u32| all.iter().map(|rounds| of(rounds)).sum();
    let (location_shift, warning) = location_shift(&slowdowns(rows));
    let flagged = all.iter().flat_map(|rounds| rounds.flagged_controls.iter().cloned());
    let rounds = RoundsMethod {
        alpha_improved: total(all.iter().map(|rounds| rounds.alpha_improved)),
        screen_rounds: greatest(|rounds| rounds.screen_rounds),
        shared_screen: all.iter().any(|rounds| rounds.shared_screen),
        alpha_programs: all
            .iter()
            .any(|rounds| rounds.alpha_programs.is_some())
            .then(|| total(all.iter().filter_map(|rounds| rounds.alpha_programs))),
        most_rounds: greatest(|rounds| rounds.most_rounds),
        candidates: sum(|rounds| rounds.candidates),
        seed: first.seed,
        way: first.way,
        serial_correlation: serial_correlation(parts),
        serial_correlation_error: serial_correlation_error(&all),
        location_shift,
        controls: sum(|rounds| rounds.controls),
        flagged_controls: flagged.collect(),
    };
    Some((rounds, warning))
}

fn slowdowns(rows: &[Row]) -> Vec<f64> {
    let mut families: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.sequence.is_some()) {
        let Some(change) = &row.change else { continue };
        families.entry((&row.metric, &row.unit)).or_default().push(change.slowdown);
    }
    families.into_values().max_by_key(Vec::len).unwrap_or_default()
}

fn serial_correlation(parts: &[VerdictPart]) -> Option<f64> {
    let (mut sum, mut weight) = (0.0, 0.0);
    for VerdictPart { verdict, .. } in parts {
        let Some(own) = verdict.method.rounds.as_ref().and_then(|rounds| rounds.serial_correlation) else {
            continue;
        };
        let rounds = verdict.rows.iter().filter_map(|row| Some(row.sequence.as_ref()?.rounds));
        let rounds: u32 = rounds.filter(|rounds| *rounds as usize >= MIN_ROUNDS).sum();
        let own_weight = f64::from(rounds.max(1));
        sum += own * own_weight;
        weight += own_weight;
    }
    (weight > 0.0).then(|| sum / weight)
}

/// Parts are independent of each other: their weights, the inverse squares of their errors, add up.
fn serial_correlation_error(parts: &[&RoundsMethod]) -> Option<f64> {
    let errors = parts
        .iter()
        .filter(|rounds| rounds.serial_correlation.is_some())
        .map(|it| it.serial_correlation_error);
    let weight: f64 = errors.map(|error| error.map(|error| error.powi(-2))).sum::<Option<f64>>()?;
    (weight > 0.0).then(|| 1.0 / weight.sqrt())
}

fn total(rates: impl Iterator<Item = f64>) -> f64 {
    (rates.sum::<f64>() * 1e12).round() / 1e12
}

fn warnings(parts: &[VerdictPart]) -> Vec<(String, Warning)> {
    let by_all = |text: &String| parts.iter().all(|part| part.verdict.warnings.contains(text));
    let mut warnings: Vec<(String, Warning)> = among(parts).into_iter().map(Warning::coded).collect();
    warnings.extend(parts[0].verdict.coded_warnings().filter(|(text, _)| by_all(text)));
    for part in parts {
        let own = part.verdict.coded_warnings().filter(|(text, _)| !by_all(text));
        warnings.extend(own.map(|(text, code)| (format!("{}: {text}", part.who()), code)));
    }
    warnings
}

fn among(parts: &[VerdictPart]) -> Vec<Warning> {
    const MAX_NAMED: usize = 5;
    let distinct = |of: fn(&VerdictPart) -> String| {
        let texts: BTreeSet<String> = parts.iter().map(of).collect();
        (texts.len() > 1).then(|| counted(&texts.into_iter().collect::<Vec<_>>(), MAX_NAMED))
    };
    let machines = distinct(|part| part.verdict.head.machine.clone());
    let versions = distinct(|part| part.verdict.tool_version.clone());
    let mut warnings = Vec::new();
    warnings.extend(machines.map(|(count, named)| Warning::MachinesDiffer { count, named }));
    warnings.extend(versions.map(|(count, named)| Warning::VersionsDiffer { count, named }));
    warnings.extend(parts[0].verdict.head.dirty.then_some(Warning::UncommittedHead {}));
    warnings
}

fn again(parts: &[VerdictPart]) -> String {
    let commands: BTreeSet<&str> =
        parts.iter().map(|part| &*part.verdict.reproduce).filter(|command| !command.is_empty()).collect();
    let ids = replays(parts);
    if commands.len() > MAX_COMMANDS {
        String::new()
    } else if commands.len() > 1 && ids.len() == commands.len() {
        let ids: Vec<&str> = ids.iter().map(RunId::as_str).collect();
        format!("for id in {}; do gbench-ci replay $id; done", ids.join(" "))
    } else {
        commands.into_iter().collect::<Vec<_>>().join("; ")
    }
}

fn replays(parts: &[VerdictPart]) -> Vec<RunId> {
    let with_command = parts.iter().filter(|part| !part.verdict.reproduce.is_empty());
    let of_parts: Vec<Vec<RunId>> = with_command.map(|part| part.verdict.replayed()).collect();
    let ids: BTreeSet<RunId> = of_parts.iter().flatten().cloned().collect();
    let all = of_parts.iter().all(|ids| !ids.is_empty()) && ids.len() <= MAX_COMMANDS;
    if all { ids.into_iter().collect() } else { Vec::new() }
}

/// [`crate::check_consistency`] of a group: besides the result of its rows it may be inconclusive to the letter because a shard
/// decided nothing, and, where the whole has gaps, what these make of it at least.
pub(super) fn check_group_consistency(
    document: &VerdictDocument,
    gaps: Option<Absence>,
) -> std::result::Result<(), String> {
    let (conclusion, mut exits) = derived(document);
    if document.rows.iter().any(|row| row.verdict == Verdict::Inconclusive) && exits.contains(&Exit::Pass) {
        exits.push(Exit::Inconclusive);
    }
    let with = |absence: Absence| {
        let (least, exit) = Absence::least(Some(absence));
        let exits: Vec<Exit> = exits.iter().map(|other| other.most_severe(exit)).collect();
        check_says(document, most_severe(conclusion, least), &exits)
    };
    let possible = [Absence::Pending, Absence::Missing].into_iter().filter(|absence| Some(*absence) <= gaps);
    if possible.map(with).any(|answer| answer.is_ok()) {
        return Ok(());
    }
    check_says(document, conclusion, &exits)
}
