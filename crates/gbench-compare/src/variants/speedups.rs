//! The speedup of a pair as a metric of its optimized case: how many times as fast it is as its baseline, process by
//! process, each by the figures of one side. A gain that shrinks is a separate finding, also where neither time alone
//! shows enough.
//!
//! In rounds both members of a side were measured in the same round, each next to the other side's. With `b` and `o` for
//! the logarithms of their places a round's difference is
//!
//! ```text
//!   ln(speedup on head) - ln(speedup on base) = (b_head - o_head) - (b_base - o_base) = (b_head - b_base) - (o_head - o_base)
//! ```
//!
//! Without a change the coins of the two members flip the signs of the two brackets; both flipped is as likely as both
//! not, so the whole is as likely plus as minus, which is all that the rule asks. Its dependence on the rows of both
//! times does not matter: all rows share the error rate by the union bound. Rounds in which one member has its own
//! process and the other one a shared one are left out.

use std::collections::HashMap;

use gbench_model::{
    Better, CaseId, CaseRecord, Conditions, Metric, MetricDeclaration, Outcome, ProcessRecord,
    ProcessSamples, SPEEDUP, SPEEDUP_UNIT,
};
use gbench_stats as stats;

use super::{PairMembers, PairMetric, VariantPair, VariantPairs, process};
use crate::evidence::samples::MeasuredSide;
use crate::identity::cases::PairedCase;
use crate::identity::measurement::other_settings;
use crate::verdict::document::{MemberShift, PairShift, Row};
use crate::verdict::outcome::Verdict;
use crate::wording::advice::Advice;
use crate::wording::reason::Reason;

/// The pairs that both sides have, as cases whose only metric is the speedup.
#[derive(Default)]
pub(crate) struct Speedups(Vec<SpeedupOfPair>);

pub(crate) struct SpeedupOfPair {
    pub sides: [CaseRecord; 2],
    /// Position of the baseline among the cases that were paired.
    pub baseline: usize,
    pub metric: String,
}

impl Speedups {
    /// `in_rounds`: the members are paired by their round, else by their process's index.
    pub(crate) fn of(cases: &[PairedCase], in_rounds: bool) -> Self {
        let found = VariantPairs::of(cases.iter().map(|case| case.id)).pairs;
        let speedup = |pair: VariantPair| {
            let (baseline, optimized) = (&cases[pair.baseline], &cases[pair.optimized]);
            let members = [[baseline.base?, optimized.base?], [baseline.head?, optimized.head?]];
            let [[base_baseline, _], [head_baseline, _]] = members;
            if other_settings(base_baseline, head_baseline).is_some() {
                return None;
            }
            let metrics = members.map(|[baseline, optimized]| PairMetric::of(baseline, optimized));
            let [Some(of_base), Some(of_head)] = metrics else { return None };
            let alike = of_base.baseline.name == of_head.baseline.name
                && of_base.baseline.unit == of_head.baseline.unit
                && of_base.better == of_head.better;
            let own =
                members.iter().flatten().flat_map(|case| &case.metrics).any(|metric| metric.name == SPEEDUP);
            if !alike || own {
                return None;
            }
            let side = |members, metric| {
                Some(CaseRecord { id: optimized.id.clone(), ..speedup_case(members, metric, in_rounds)? })
            };
            Some(SpeedupOfPair {
                sides: [side(members[0], &of_base)?, side(members[1], &of_head)?],
                baseline: pair.baseline,
                metric: of_base.baseline.name.clone(),
            })
        };
        Self(found.into_iter().filter_map(speedup).collect())
    }

    pub(crate) fn pairs(&self) -> &[SpeedupOfPair] {
        &self.0
    }
}

impl SpeedupOfPair {
    pub(crate) fn paired(&self) -> PairedCase<'_> {
        let [base, head] = &self.sides;
        PairedCase { id: &base.id, base: Some(base), head: Some(head) }
    }
}

/// Figures that come in steps, or that repeat, hold the row open.
fn is_about_figures(why: &Reason) -> bool {
    matches!(
        why,
        Reason::CoarseFigures { .. }
            | Reason::RepeatedSamples { .. }
            | Reason::ConstantSide { .. }
            | Reason::ConstantSides { .. }
            | Reason::RepeatedFigure { .. }
            | Reason::TooFewRoundedFigures { .. }
            | Reason::IntervalAcrossThreshold { step: Some(_), .. }
    )
}

/// A speedup whose members' own figures come in steps, or repeat, is not certified: in ratios of means that shows less
/// than in the figures themselves.
pub(crate) fn doubt_with_members(rows: &mut [Row], members: &HashMap<usize, PairMembers>) {
    let coarse: HashMap<(&CaseId, &str), (&Reason, &Option<Advice>)> = rows
        .iter()
        .filter(|row| row.verdict == Verdict::Inconclusive)
        .filter_map(|row| {
            let why = row.why.as_ref().filter(|why| is_about_figures(why))?;
            Some(((&row.case, row.metric.as_str()), (why, &row.advice)))
        })
        .collect();
    let doubted = members.iter().filter(|(at, _)| rows[**at].verdict == Verdict::Unchanged);
    let doubts = doubted.filter_map(|(at, PairMembers { baseline, metric })| {
        let found = [&rows[*at].case, *baseline].into_iter().find_map(|case| coarse.get(&(case, *metric)));
        found.map(|(why, advice)| (*at, (*why).clone(), (*advice).clone()))
    });
    for (at, why, advice) in doubts.collect::<Vec<_>>() {
        rows[at].verdict = Verdict::Inconclusive;
        rows[at].explain(Some(why), advice);
    }
}

/// Adds to every speedup that changed which of its members did, and by how much: a pair is also red whose baseline became
/// faster, and improved whose baseline became slower.
pub(crate) fn tell_of_members(rows: &mut [Row], members: &HashMap<usize, PairMembers>) {
    let found: Vec<(usize, PairShift)> = {
        let own: HashMap<(&CaseId, &str), &Row> =
            rows.iter().map(|row| ((&row.case, row.metric.as_str()), row)).collect();
        let shift = |case, metric| {
            let row = own.get(&(case, metric))?;
            Some(MemberShift { verdict: row.verdict, slowdown: row.known_change()?.slowdown })
        };
        let changed = members
            .iter()
            .filter(|(at, _)| matches!(rows[**at].verdict, Verdict::Regressed | Verdict::Improved));
        let of_pair = changed.filter_map(|(at, PairMembers { baseline, metric })| {
            let pair =
                PairShift { baseline: shift(baseline, metric)?, optimized: shift(&rows[*at].case, metric)? };
            Some((*at, pair))
        });
        of_pair.collect()
    };
    for (at, pair) in found {
        let of_baseline = match (rows[at].verdict, pair.baseline.verdict, pair.optimized.verdict) {
            (Verdict::Regressed, Verdict::Improved, Verdict::Unchanged | Verdict::Improved) => {
                Some(Advice::AcceptFasterBaseline {})
            }
            (Verdict::Improved, Verdict::Regressed, Verdict::Unchanged | Verdict::Regressed) => {
                Some(Advice::LookAtSlowerBaseline {})
            }
            _ => None,
        };
        if let Some(advice) = of_baseline {
            (rows[at].next, rows[at].advice) = (advice.to_string(), Some(advice));
        }
        rows[at].pair = Some(pair);
    }
}

/// The speedup of a side as a separate case; `None` where no process has one.
pub(crate) fn speedup_case(
    [baseline, optimized]: [&CaseRecord; 2],
    metric: &PairMetric,
    in_rounds: bool,
) -> Option<CaseRecord> {
    let mut scratch = Vec::new();
    let of_baseline = MeasuredSide::of(baseline, metric.baseline, &mut scratch).ok()?;
    let of_optimized = MeasuredSide::of(optimized, metric.optimized, &mut scratch).ok()?;
    let mut place = |samples: &[f64]| {
        scratch.clear();
        scratch.extend_from_slice(samples);
        if in_rounds { stats::ln_midmean(&mut scratch).map(f64::exp) } else { stats::median(&mut scratch) }
    };
    let (mut processes, mut sets) = (Vec::new(), Vec::new());
    for other in &of_optimized.processes {
        let partner = of_baseline.processes.iter().find(|one| {
            if in_rounds {
                other.round.is_some() && one.round == other.round
            } else {
                one.process == other.process
            }
        });
        let Some(one) = partner else { continue };
        let (Some(of_one), Some(of_other)) =
            (process(baseline, one.process), process(optimized, other.process))
        else {
            continue;
        };
        if in_rounds && of_one.shared.is_some() != of_other.shared.is_some() {
            continue;
        }
        let all_positive = one.samples.iter().chain(other.samples).all(|value| *value > 0.0);
        let places = place(one.samples).zip(place(other.samples)).filter(|_| all_positive);
        let Some((base, optimum)) = places else { continue };
        let index = processes.len() as u32;
        processes.push(of_both(of_one, of_other, index));
        let values = vec![metric.factor(base, optimum)];
        sets.push(ProcessSamples { process: index, values, ..ProcessSamples::default() });
    }
    let speedup = Metric {
        name: SPEEDUP.into(),
        unit: SPEEDUP_UNIT.into(),
        better: Some(Better::Higher),
        processes: sets,
        summary: None,
    };
    let outcomes = [&optimized.outcome, &baseline.outcome];
    let outcome = outcomes.into_iter().find(|outcome| !outcome.is_measured()).unwrap_or(&Outcome::Measured);
    let declared = optimized.declared.get(SPEEDUP).map(|declared| {
        // A rule for all metrics may say what makes no sense of a ratio.
        let of_ratio = MetricDeclaration {
            better: None,
            margin: None,
            exact: None,
            absolute: None,
            optional: None,
            ..declared.clone()
        };
        (SPEEDUP.to_owned(), of_ratio)
    });
    (!processes.is_empty()).then(|| CaseRecord {
        id: optimized.id.clone(),
        description: String::new(),
        components: Vec::new(),
        kind: optimized.kind,
        tags: Vec::new(),
        group: None,
        command: Vec::new(),
        env: Default::default(),
        config: optimized.config.clone(),
        outcome: outcome.clone(),
        processes,
        metrics: vec![speedup],
        declared: declared.into_iter().collect(),
        metadata: Default::default(),
        warnings: Vec::new(),
        nothing_measured: Vec::new(),
        answer: std::collections::BTreeMap::new(),
        device_code: None,
        device_code_varies: false,
        part_of_whole: false,
        load: None,
        profiles: Vec::new(),
    })
}

fn of_both(baseline: &ProcessRecord, optimized: &ProcessRecord, index: u32) -> ProcessRecord {
    let met = [&optimized.conditions, &baseline.conditions].map(Option::as_ref);
    let mut throttled: Vec<String> = Vec::new();
    for reason in met.into_iter().flatten().flat_map(|conditions| &conditions.throttled) {
        if !throttled.contains(reason) {
            throttled.push(reason.clone());
        }
    }
    let health = met.into_iter().flatten().flat_map(|conditions| conditions.health.iter().copied()).collect();
    let busy = met.into_iter().flatten().any(|conditions| conditions.busy);
    let looked_at = met.iter().any(Option::is_some);
    ProcessRecord {
        index,
        round: optimized.round,
        slot: optimized.slot,
        shared: optimized.shared,
        lockstep: optimized.lockstep,
        gpus: optimized.gpus.clone(),
        conditions: looked_at.then(|| Conditions { busy, throttled, health, ..Conditions::default() }),
        ..ProcessRecord::default()
    }
}
