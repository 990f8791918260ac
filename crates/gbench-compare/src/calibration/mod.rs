//! A suite compared with itself: what the machine makes up by itself, and what a comparison may expect of it.

pub(crate) mod document;
pub(crate) mod figures;

use std::collections::{BTreeMap, HashMap, HashSet};

use gbench_model::{CaseId, CaseRecord, Comparison, Fact, Manifest, Result, RunRecord, Strictness};
use gbench_stats::resample::{Length, ResampledRow, Tries, tries};
use gbench_stats::seq_e::{SequentialLimits, Version};
use gbench_stats::{Prior, sample_stddev};

use crate::evidence::validity::{SerialCorrelation, repeated_numbers};
use crate::identity::cases::pair;
use crate::identity::machines;
use crate::rules::seq_e::SeqE;
use crate::rules::seq_e::state::{RowState, row_states};
use crate::variants::speedups::Speedups;
use crate::verdict::outcome::Verdict;
use crate::verdict::policy::Policy;
use crate::verdict::replay::{named_sides, verdict_of};
use crate::verdict::rows::{PreparedRows, prepare};
use crate::wording::calibration::{too_few_for_a_red, too_few_rounds, why_and_help};
use document::{CalibratedRow, Calibration, FalseAlarms, Readiness, SCHEMA_CALIBRATION, Share, Unmeasured};
use figures::{CalibrationContext, PLANTED, in_scale};

const SUITES: u32 = 1000;
const PLANTS: usize = 20;
/// Fewer rounds show nothing of noise.
const MIN_ROUNDS: usize = 4;
/// The rule's bound on the noise that a row borrows from the others.
const MAX_BORROWED: f64 = 8.0;

/// The facts of a machine that must agree with those of another for figures to carry over.
pub fn machine_key(manifest: &Manifest, match_key: &BTreeMap<String, Strictness>) -> BTreeMap<String, Fact> {
    let strict = |field: &String| machines::strictness(field, match_key) == Strictness::Strict;
    manifest.facts().into_iter().filter(|(field, _)| strict(field)).collect()
}

/// All figures of a suite that was measured against itself. `asked`: rounds that were wanted.
///
/// Errors: records that are not the sides of one comparison.
pub fn calibrate(
    base: &RunRecord,
    head: &RunRecord,
    comparison: &Comparison,
    asked: u32,
) -> Result<Calibration> {
    let verdict = verdict_of(base, head, None)?;
    let named = |verdict_word: Verdict| -> Vec<String> {
        let rows = verdict.rows.iter().filter(|row| row.verdict == verdict_word);
        rows.map(|row| format!("{} {}", row.case, row.metric)).collect()
    };
    let (policy, rule) = (Policy::of(comparison), SeqE::of(comparison));
    let inputs = named_sides(base, head, comparison);
    let pairs = pair(&inputs[0], &inputs[1], &rule)?;
    // The noise of a suite is that of its cases.
    let speedups = Speedups::default();
    let prepared = prepare(&pairs, &speedups, &policy, false, &rule);
    let limits = rule.limits();
    let states = row_states(&prepared.evidence, &limits);
    let of_both = pairs.iter().filter_map(|pair| Some((pair.id, [pair.base?, pair.head?])));
    let of_both: HashMap<&CaseId, [&CaseRecord; 2]> = of_both.collect();

    // Rows that chance decides and that have rounds enough.
    let open: Vec<usize> =
        (0..states.len()).filter(|at| prepared.open[*at].is_some() && is_open(&states[*at])).collect();
    let open_states: Vec<&RowState> = open.iter().map(|at| &states[*at]).collect();
    let [flipped, drawn, planted] = try_out(&open_states, &limits, comparison.seed);
    // SEQ-E 3 shares alpha over all rows; the rules before over those that the screen leaves open, and the row in
    // question.
    let in_question = usize::from(limits.version != Version::Three);
    let candidates = drawn.candidates.round() as usize + in_question;
    let shared = CalibrationContext { limits, measured: asked as usize, candidates };
    let mut rows = Vec::new();
    for (at, state) in states.iter().enumerate() {
        let Some(row) = prepared.open[at].map(|row| &prepared.rows[row]) else { continue };
        let Some(cases) = of_both.get(&row.case) else { continue };
        let place = open.binary_search(&at).ok();
        let borrowed = place.map_or(Prior::NONE, |_| prior_of(state, &open_states));
        let tried = place.and_then(|place| planted.planted.get(place).copied()).unwrap_or((0, 0));
        rows.push(calibrated(state, *cases, borrowed, &shared, tried, place.is_some()));
    }
    let seen: HashSet<&CaseId> = rows.iter().map(|row: &CalibratedRow| &row.case).collect();
    let unmeasured = base.cases.iter().zip(&head.cases).filter(|(case, _)| !seen.contains(&case.id));
    let unmeasured = unmeasured.map(|(of_base, of_head)| Unmeasured {
        case: of_base.id.clone(),
        reason: why_unmeasured(of_base, of_head, &prepared),
    });
    let unmeasured: Vec<Unmeasured> = unmeasured.collect();
    let differences = || open_states.iter().map(|state| state.rounds.differences.as_slice());
    let correlated = SerialCorrelation::pooled(differences());
    let mut warnings = verdict.warnings.clone();
    let needed = limits.least_rounds(1);
    if differences().map(<[f64]>::len).max().is_some_and(|longest| longest < needed) {
        warnings.push(too_few_for_a_red(needed));
    }
    let machine = machine_key(&base.manifest, &comparison.policy.match_key);
    Ok(Calibration {
        schema: SCHEMA_CALIBRATION.into(),
        tool_version: env!("CARGO_PKG_VERSION").into(),
        comparison: comparison.id.clone(),
        date: base.started.clone(),
        unknown: machine.iter().filter(|(_, fact)| !fact.is_known).map(|(field, _)| field.clone()).collect(),
        machine: machine.into_iter().map(|(field, fact)| (field, fact.text)).collect(),
        rounds: asked,
        usual_rounds: comparison.rule.most_rounds,
        alpha: comparison.rule.alpha,
        candidates: shared.candidates as u32,
        seconds: seconds(base) + seconds(head),
        unmeasured,
        rows,
        false_alarms: FalseAlarms {
            red: named(Verdict::Regressed),
            improved: named(Verdict::Improved),
            flipped: flipped.into(),
            drawn: drawn.into(),
            serial_correlation: correlated.map(|correlated| correlated.correlation),
        },
        control: None,
        warnings,
    })
}

fn is_open(state: &RowState) -> bool {
    state.exact.is_none() && state.rounds.differences.len() >= MIN_ROUNDS
}

fn try_out(states: &[&RowState], limits: &SequentialLimits, seed: u64) -> [Tries; 3] {
    let mut cases = Vec::new();
    let mut rows = Vec::new();
    for state in states {
        let id = state.evidence.case;
        let case = cases.iter().position(|other| *other == id).unwrap_or_else(|| {
            cases.push(id);
            cases.len() - 1
        });
        let effect = in_scale(state.rounds.scale, PLANTED);
        rows.push(ResampledRow { series: state.series(&state.all_rounds()), case, effect });
    }
    let drawn = Length::Drawn(limits.most_rounds);
    // Suites of nothing would all be without a red.
    let suites = if rows.is_empty() { 0 } else { SUITES };
    let plants = rows.len().div_ceil(PLANTS);
    [(Length::AsMeasured, 0, seed), (drawn, 0, seed.wrapping_add(1)), (drawn, plants, seed.wrapping_add(2))]
        .map(|(length, plants, seed)| tries(&rows, limits, length, suites, plants, seed))
}

impl From<Tries> for Share {
    fn from(tries: Tries) -> Self {
        Self { suites: tries.suites, with_red: tries.with_red }
    }
}

fn prior_of(state: &RowState, open: &[&RowState]) -> Prior {
    let metric = state.evidence.metric;
    let family: Vec<&&RowState> = open.iter().filter(|other| other.evidence.metric == metric).collect();
    let rounds = family.iter().map(|it| it.rounds.differences.len()).min().unwrap_or(0);
    let variance = |it: &&&RowState| sample_stddev(&it.rounds.differences[..rounds]).map(|s| s * s);
    let variances: Vec<f64> = family.iter().filter_map(variance).collect();
    Prior::fit(&variances, rounds.saturating_sub(1) as f64).at_most(MAX_BORROWED)
}

fn calibrated(
    state: &RowState,
    cases: [&CaseRecord; 2],
    prior: Prior,
    shared: &CalibrationContext,
    tried: (u32, u32),
    open: bool,
) -> CalibratedRow {
    let rounds = state.rounds.differences.len();
    let seconds = per_round(cases);
    let slowdown = |effect: f64| state.rounds.scale.slowdown(effect).unwrap_or(effect);
    let mut row = CalibratedRow {
        case: state.evidence.case.clone(),
        metric: state.evidence.metric.to_owned(),
        readiness: Readiness::Unknown,
        why: Vec::new(),
        help: Vec::new(),
        rounds: rounds as u32,
        target: slowdown(state.target),
        min_effect: slowdown(state.min_effect),
        seconds_per_round: seconds,
        noise: None,
        prospect: None,
    };
    if state.exact.is_some() {
        row.readiness = Readiness::Ready;
        return row;
    }
    if !open {
        (row.why, row.help) = too_few_rounds(rounds, MIN_ROUNDS);
        return row;
    }
    let freedom = (rounds - 1) as f64;
    let variance = sample_stddev(&state.rounds.differences).map_or(0.0, |it| it * it);
    let floor = prior.moderate(variance, freedom).sqrt();
    let noise = figures::noise(state, floor, cases);
    let prospect = figures::prospect(state, floor, prior.freedom, shared, seconds, tried);
    row.readiness = figures::readiness(&prospect, shared.limits.most_rounds as u32);
    if let Some(repeated) = repeated_numbers(state.evidence, shared.limits.version) {
        row.readiness = Readiness::Hopeless;
        (row.why, row.help) = (vec![repeated.reason.to_string()], vec![repeated.next.to_string()]);
    } else if row.readiness != Readiness::Ready {
        let usual = shared.limits.most_rounds as u32;
        let (ticks, seconds) = (figures::ticks(state.evidence), figures::usual_seconds(state.evidence));
        (row.why, row.help) = why_and_help(&noise, &prospect, usual, ticks, seconds);
    }
    (row.noise, row.prospect) = (Some(noise), Some(prospect));
    row
}

fn per_round(cases: [&CaseRecord; 2]) -> f64 {
    let of_one = |case: &CaseRecord| {
        let seconds: f64 = case.processes.iter().map(|process| process.seconds).sum();
        seconds / case.processes.len().max(1) as f64
    };
    cases.into_iter().map(of_one).sum()
}

fn seconds(record: &RunRecord) -> f64 {
    record.cases.iter().flat_map(|case| &case.processes).map(|process| process.seconds).sum()
}

fn why_unmeasured(base: &CaseRecord, head: &CaseRecord, prepared: &PreparedRows) -> String {
    let failed = [base, head].into_iter().find(|case| !case.outcome.is_measured());
    if let Some(case) = failed {
        return format!("{}: {}", case.outcome.into_str(), case.outcome.cause());
    }
    match prepared.rows.iter().find(|row| row.case == base.id && !row.reason.is_empty()) {
        Some(row) => row.reason.clone(),
        None => "none of its metrics is judged".into(),
    }
}
