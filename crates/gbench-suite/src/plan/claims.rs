//! Checks the records of one comparison in rounds against their claims: one policy and one seed on all sides, every round once
//! and in its place, and in each round the order that the seed implies.
//!
//! The rule's error rates rest on a random order that cannot be changed afterwards. A record with another order was edited or
//! put together from several comparisons, and gets no verdict.

use std::cmp::Ordering;
use std::collections::HashMap;

use gbench_model::{
    CaseId, CaseRecord, Comparison, Exit, Fault, Interleaving, Outcome, Params, RecordState, Result,
    RunRecord, Thermal,
};

use super::order::RunOrder;

/// Checks base, head and optionally control as they were read, before partial rounds are dropped. Does not check that the
/// records are of one comparison. Errors, with exit code 4: the first false claim.
pub fn check_claims(base: &RunRecord, head: &RunRecord, control: Option<&RunRecord>) -> Result<()> {
    let records: Vec<&RunRecord> = [Some(base), Some(head), control].into_iter().flatten().collect();
    let claims: Vec<&Comparison> = records.iter().filter_map(|record| record.comparison.as_deref()).collect();
    let Some(first) = claims.first().filter(|first| claims.iter().all(|other| other.id == first.id)) else {
        return Ok(());
    };
    if claims.len() != records.len() {
        return Ok(());
    }
    // A killed gate may have written the newest round of one side only.
    let torn = records.iter().any(|record| record.state == RecordState::Recovered);
    let found = other_words(&claims, torn)
        .or_else(|| other_seed(&records, first))
        .or_else(|| records.iter().find_map(|record| wrong_rounds(record)))
        .or_else(|| Sides::of(&records).find_map(|sides| sides.uneven(torn)))
        .or_else(|| wrong_order(&records, first));
    match found {
        None => Ok(()),
        Some(what) => {
            let next = "compare again: these records were edited, or come from several comparisons";
            Err(Fault::at(format!("comparison {}", first.id), what, next).exits(Exit::Failed))
        }
    }
}

fn other_words(claims: &[&Comparison], torn: bool) -> Option<String> {
    let first = claims[0];
    claims[1..].iter().find_map(|other| {
        let mut rule = other.rule;
        if torn {
            rule.most_rounds = first.rule.most_rounds;
        }
        let same = [
            ("seed", first.seed == other.seed),
            ("policy", torn || first.policy == other.policy),
            ("rule", first.rule == rule),
            ("way", first.interleaving == other.interleaving),
            ("base and head", (&first.base, &first.head) == (&other.base, &other.head)),
            ("state of the working tree", first.head_changes == other.head_changes),
        ];
        let (name, _) = same.into_iter().find(|(_, same)| !same)?;
        Some(format!("its sides differ in their {name}"))
    })
}

/// The seed is in the sides' shared header and among the run's own settings.
fn other_seed(records: &[&RunRecord], comparison: &Comparison) -> Option<String> {
    let seeds = records.iter().filter_map(|record| record.config.get("coin_seed"));
    let other = seeds.into_iter().find(|shown| shown.value.as_u64() != Some(comparison.seed))?;
    Some(format!("its seed is {}, but the order was drawn with {}", comparison.seed, other.value))
}

/// Rounds are numbered from 1, one process each; so are the processes with samples of a metric.
fn wrong_rounds(record: &RunRecord) -> Option<String> {
    let side = record.side.map_or("a side", |side| side.into_str());
    record.cases.iter().find_map(|case| {
        for (place, process) in case.processes.iter().enumerate() {
            let place = place as u32;
            let Some(round) = process.round else {
                return Some(format!("process {} of {} on {side} has no round", process.index, case.id));
            };
            if (round, process.index) != (place, place) {
                let (id, index) = (&case.id, process.index);
                return Some(match round.cmp(&place) {
                    Ordering::Less => format!("round {round} of {id} appears twice on {side}"),
                    Ordering::Greater => format!("round {place} of {id} is missing on {side}"),
                    Ordering::Equal => format!("round {round} of {id} on {side} has process number {index}"),
                });
            }
        }
        case.metrics.iter().find_map(|metric| {
            let processes = metric.processes.iter().map(|samples| samples.process);
            let in_order = processes.clone().is_sorted_by(|one, next| one < next);
            let known = processes.max().is_none_or(|last| (last as usize) < case.processes.len());
            (!in_order || !known).then(|| {
                format!(
                    "the samples of `{}` of {} on {side} are not one for each round",
                    metric.name, case.id
                )
            })
        })
    })
}

struct Sides<'a> {
    cases: [Option<&'a CaseRecord>; 3],
}

impl<'a> Sides<'a> {
    fn of(records: &[&'a RunRecord]) -> impl Iterator<Item = Self> {
        let mut others: HashMap<CaseId, [Option<&'a CaseRecord>; 3]> = HashMap::new();
        for (arm, record) in records.iter().enumerate() {
            for case in &record.cases {
                others.entry(planned(&case.id)).or_default()[arm] = Some(case);
            }
        }
        let base = records[0];
        base.cases.iter().filter_map(move |case| {
            let cases = others.remove(&planned(&case.id))?;
            cases[1].is_some().then_some(Self { cases })
        })
    }

    fn present(&self) -> impl Iterator<Item = (usize, &'a CaseRecord)> {
        self.cases.iter().enumerate().filter_map(|(arm, case)| Some((arm, (*case)?)))
    }

    /// All sides receive whole rounds together. A failed case is no longer measured on its side.
    fn uneven(&self, torn: bool) -> Option<String> {
        let whole = || self.present().filter(|(_, case)| !is_broken(case)).map(|(_, case)| case);
        let broke = self.present().any(|(arm, case)| arm < 2 && is_broken(case));
        let counts = || whole().map(|case| case.processes.len());
        let (least, most) = (counts().min()?, counts().max()?);
        (!broke && most > least + usize::from(torn)).then(|| {
            let id = whole().next().map(|case| case.id.to_string()).unwrap_or_default();
            format!("{id} has {most} rounds on one side and {least} on another")
        })
    }

    fn is_shared(&self, round: usize) -> bool {
        let says = |case: &CaseRecord| case.config.get("share").and_then(|shown| shown.value.as_bool());
        let by_suite = |case: &CaseRecord| says(case) == Some(true) && case.id.thermal != Thermal::Cold;
        let was =
            |case: &CaseRecord| case.processes.get(round).is_none_or(|process| process.shared.is_some());
        let any = self.present().any(|(_, case)| case.processes.len() > round);
        self.present().all(|(_, case)| by_suite(case)) || (any && self.present().all(|(_, case)| was(case)))
    }
}

/// Compares who went first in each round with the seeded order, if the records name their seed.
fn wrong_order(records: &[&RunRecord], comparison: &Comparison) -> Option<String> {
    if !records.iter().all(|record| record.config.contains_key("coin_seed")) {
        return None;
    }
    let controlled = |id: &CaseId| {
        let control = records.get(2).into_iter().flat_map(|record| &record.cases);
        control.into_iter().any(|case| case.id.benchmark == id.benchmark)
    };
    Sides::of(records).find_map(|sides| {
        let id = &sides.cases[0]?.id;
        let rounds = sides.present().map(|(_, case)| case.processes.len()).max().unwrap_or(0);
        (0..rounds).find_map(|round| {
            // As in `run::rounds`: drawn for the benchmark if its points share their processes, else for the case.
            let (drawn_for, participants) = if sides.is_shared(round) {
                (CaseId { params: Params::new(), ..id.clone() }, if controlled(id) { 3 } else { 2 })
            } else {
                (id.clone(), sides.present().count())
            };
            let order = RunOrder::of(comparison).in_round(&drawn_for, round as u32, participants);
            wrong_in_round(&sides, round, &order, comparison.interleaving)
                .map(|what| format!("round {round} of {id}: {what}"))
        })
    })
}

fn wrong_in_round(
    sides: &Sides,
    round: usize,
    order: &[usize],
    interleaving: Interleaving,
) -> Option<String> {
    let mut slots = Vec::new();
    for (arm, case) in sides.present() {
        let Some(process) = case.processes.get(round) else { continue };
        let Some(slot) = process.slot else { return Some("it does not record which side went first".into()) };
        // In lockstep the control takes its turns before or after the others, never between them.
        if interleaving == Interleaving::Alternating || arm < 2 {
            slots.push((slot, arm));
        }
    }
    slots.sort_unstable();
    if slots.windows(2).any(|two| two[0].0 == two[1].0) {
        return Some("two sides have the same position".into());
    }
    let ran: Vec<usize> = slots.iter().map(|(_, arm)| *arm).collect();
    let drawn: Vec<usize> = order.iter().copied().filter(|arm| ran.contains(arm)).collect();
    (ran != drawn).then(|| "its sides ran in another order than the seed implies".into())
}

/// The id as planned: the device is known only after the first process.
fn planned(id: &CaseId) -> CaseId {
    CaseId { device: "host".into(), ..id.clone() }
}

fn is_broken(case: &CaseRecord) -> bool {
    let ended_badly = case.outcome.is_failure() || matches!(case.outcome, Outcome::Skipped { .. });
    ended_badly || case.processes.iter().any(|process| !process.outcome.is_measured())
}
