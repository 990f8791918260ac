//! A suite compared with itself: what the machine makes up by itself, and what a comparison may expect of it.
//!
//! ```text
//! document   the answer: one row a case and metric, versioned JSON
//! figures    a row's noise, its parts, and its prospects
//! advice     ready, slow or hopeless; why, and what would help
//! ```

mod advice;
mod document;
mod figures;

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::model::{CaseId, CaseRecord, Comparison, Fact, Manifest, Result, RunRecord, Strictness};
use crate::stats::resample::{Length, ResampledRow, Tries, tries};
use crate::stats::seq_e::SequentialLimits;
use crate::stats::{Prior, sample_stddev};

pub use document::*;
pub use figures::PLANTED;

use super::comparability;
use super::pairing::pair;
use super::replay::{named_sides, verdict_of};
use super::rows::{PreparedRows, prepare};
use super::rules::seq_e::{RowState, row_states};
use super::validity::{SerialCorrelation, repeated_numbers};
use super::{Policy, SeqE, Verdict, wording};
use crate::model::text::count;
use figures::{CalibrationContext, in_scale};

/// Suites that each check tries.
const SUITES: u32 = 1000;
/// One row in so many is planted at once.
const PLANTS: usize = 20;
/// Rounds below this say nothing of noise.
const LEAST_ROUNDS: usize = 4;
/// As the rule bounds what the other rows say of a row's noise.
const MOST_BORROWED: f64 = 8.0;

/// The facts of a machine that must agree with those of another for figures to carry over.
pub fn machine_key(manifest: &Manifest, match_key: &BTreeMap<String, Strictness>) -> BTreeMap<String, Fact> {
    let strict = |field: &String| comparability::strictness(field, match_key) == Strictness::Strict;
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
    let pairs = pair(&inputs[0], &inputs[1])?;
    let prepared = prepare(&pairs, &policy, false, true);
    let limits = rule.limits();
    let states = row_states(&prepared.evidence, &limits);
    let places: HashMap<&CaseId, &CaseRecord> = head.cases.iter().map(|case| (&case.id, case)).collect();
    let of_both: HashMap<&CaseId, [&CaseRecord; 2]> =
        base.cases.iter().filter_map(|case| Some((&case.id, [case, *places.get(&case.id)?]))).collect();

    // Rows that chance decides and that have rounds enough.
    let open: Vec<usize> =
        (0..states.len()).filter(|at| prepared.open[*at].is_some() && is_open(&states[*at])).collect();
    let tried = try_out(&open.iter().map(|at| &states[*at]).collect::<Vec<_>>(), &limits, comparison.seed);
    let shared = CalibrationContext { limits, measured: asked as usize, candidates: tried.candidates() };
    let mut rows = Vec::new();
    for (at, state) in states.iter().enumerate() {
        let Some(row) = prepared.open[at].map(|row| &prepared.rows[row]) else { continue };
        let Some(cases) = of_both.get(&row.case) else { continue };
        let place = open.binary_search(&at).ok();
        let borrowed = place.map_or(Prior::NONE, |_| prior_of(state, &open, &states));
        let tried = place.and_then(|place| tried.planted.planted.get(place).copied()).unwrap_or((0, 0));
        rows.push(calibrated(state, *cases, borrowed, &shared, tried, place.is_some()));
    }
    let seen: HashSet<&CaseId> = rows.iter().map(|row: &CalibratedRow| &row.case).collect();
    let unmeasured = base.cases.iter().zip(&head.cases).filter(|(case, _)| !seen.contains(&case.id));
    let unmeasured = unmeasured.map(|(of_base, of_head)| Unmeasured {
        case: of_base.id.clone(),
        reason: why_unmeasured(of_base, of_head, &prepared),
    });
    let unmeasured: Vec<Unmeasured> = unmeasured.collect();
    let correlated =
        SerialCorrelation::pooled(open.iter().map(|at| states[*at].rounds.differences.as_slice()));
    let mut warnings = verdict.warnings.clone();
    warnings.extend(tried.too_short.then(|| {
        format!(
            "no row has enough rounds for a red to be possible as measured: {} or more are needed",
            limits.screen_rounds + limits.least_fresh_rounds(1)
        )
    }));
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
            flipped: tried.flipped,
            drawn: tried.drawn,
            serial_correlation: correlated.map(|correlated| correlated.correlation),
        },
        control: None,
        warnings,
    })
}

/// Whether chance decides the row, and enough rounds are there to say how.
fn is_open(state: &RowState) -> bool {
    !state.is_exact() && state.rounds.differences.len() >= LEAST_ROUNDS
}

/// What the tries of a whole suite gave.
struct Trials {
    flipped: Share,
    drawn: Share,
    candidates: f64,
    planted: Tries,
    /// So few rounds that no red is possible in them.
    too_short: bool,
}

impl Trials {
    /// What the screen leaves open of an unchanged suite, and the row in question.
    fn candidates(&self) -> usize {
        self.candidates.round() as usize + 1
    }
}

fn try_out(states: &[&RowState], limits: &SequentialLimits, seed: u64) -> Trials {
    let mut cases = Vec::new();
    let mut rows = Vec::new();
    for state in states {
        let id = state.evidence.case;
        let case = cases.iter().position(|other| *other == id).unwrap_or_else(|| {
            cases.push(id);
            cases.len() - 1
        });
        let effect = in_scale(state.rounds.scale, PLANTED);
        rows.push(ResampledRow { series: state.series(&state.rounds.differences), case, effect });
    }
    let long = Length::Drawn(limits.most_rounds);
    let plants = rows.len().div_ceil(PLANTS);
    // Suites of nothing would all be without a red.
    let suites = if rows.is_empty() { 0 } else { SUITES };
    let flipped = tries(&rows, limits, Length::AsMeasured, suites, 0, seed);
    let drawn = tries(&rows, limits, long, suites, 0, seed.wrapping_add(1));
    let planted = tries(&rows, limits, long, suites, plants, seed.wrapping_add(2));
    let longest = rows.iter().map(|row| row.series.differences.len()).max().unwrap_or(0);
    let share = |tries: &Tries| Share { suites: tries.suites, with_red: tries.with_red };
    Trials {
        flipped: share(&flipped),
        drawn: share(&drawn),
        // The screen counts one where it leaves none.
        candidates: if rows.is_empty() { 0.0 } else { drawn.candidates },
        too_short: !rows.is_empty() && longest < limits.screen_rounds + limits.least_fresh_rounds(1),
        planted,
    }
}

/// What the rows of one metric lend each other, by all rounds that are there.
fn prior_of(state: &RowState, open: &[usize], states: &[RowState]) -> Prior {
    let family: Vec<&RowState> = open
        .iter()
        .map(|at| &states[*at])
        .filter(|other| other.evidence.metric == state.evidence.metric)
        .collect();
    let rounds = family.iter().map(|it| it.rounds.differences.len()).min().unwrap_or(0);
    let variance = |it: &&RowState| sample_stddev(&it.rounds.differences[..rounds]).map(|s| s * s);
    let variances: Vec<f64> = family.iter().filter_map(variance).collect();
    Prior::fit(&variances, rounds.saturating_sub(1) as f64).at_most(MOST_BORROWED)
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
    if state.is_exact() {
        row.readiness = Readiness::Ready;
        return row;
    }
    if !open {
        row.why.push(format!("{} of the {LEAST_ROUNDS} that noise shows in", count(rounds, "round")));
        row.help.push("give more rounds, or a larger budget".into());
        return row;
    }
    let freedom = (rounds - 1) as f64;
    let variance = sample_stddev(&state.rounds.differences).map_or(0.0, |it| it * it);
    let floor = prior.moderate(variance, freedom).sqrt();
    let noise = figures::noise(state, floor, cases);
    let prospect = figures::prospect(state, floor, prior.freedom, shared, seconds, tried);
    row.readiness = advice::readiness(&prospect, shared.limits.most_rounds as u32);
    if let Some(repeated) = repeated_numbers(state.evidence, shared.limits.version) {
        row.readiness = Readiness::Hopeless;
        (row.why, row.help) =
            (vec![wording::reason(&repeated.reason)], vec![wording::advice(&repeated.next)]);
    } else if row.readiness != Readiness::Ready {
        let usual = shared.limits.most_rounds as u32;
        (row.why, row.help) = advice::words(state.evidence, &noise, &prospect, usual);
    }
    (row.noise, row.prospect) = (Some(noise), Some(prospect));
    row
}

/// Seconds of one round of a case: a process of each side.
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
