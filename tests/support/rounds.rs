//! Records of a comparison in rounds, made from the differences that its rounds are to show.

use gbench_ci::model::*;

use super::records::{build_sized, noise, plan};

/// One case with one metric.
#[derive(Clone, Debug)]
pub struct Planned {
    pub name: String,
    pub metric: String,
    pub unit: String,
    /// What the base measures, give or take.
    pub usual: f64,
    /// ln head - ln base, by round.
    pub differences: Vec<f64>,
}

/// A time of about 1 ms.
pub fn timed(name: &str, differences: &[f64]) -> Planned {
    Planned {
        name: name.into(),
        metric: "time".into(),
        unit: "s".into(),
        usual: 1e-3,
        differences: differences.to_vec(),
    }
}

/// `rounds` differences around `centre` with deviation `noise`, the same for the same seed.
pub fn differences(seed: u32, centre: f64, deviation: f64, rounds: u32) -> Vec<f64> {
    (0..rounds).map(|round| centre + deviation * noise([seed, round, 7, 7])).collect()
}

/// What the records of every comparison here share.
pub fn comparison(cases: usize) -> Comparison {
    Comparison {
        id: "20261121T110000.000Z-c0ffee".parse().unwrap(),
        base: "main".into(),
        head: "this change".into(),
        head_changes: None,
        seed: 1,
        interleaving: Interleaving::Alternating,
        budget: Budget::UNLIMITED,
        rule: SequentialRule::for_cases(cases),
        policy: ComparisonPolicy {
            inconclusive_fails: false,
            failed_fails: true,
            broken_fails: false,
            threshold: None,
            match_key: Default::default(),
        },
        no_reference: None,
        suite_file: None,
        sandbox: None,
        pairs: false,
        renamed: Default::default(),
        redefined: Vec::new(),
    }
}

/// Base and head.
pub fn sides(plans: &[Planned]) -> (RunRecord, RunRecord) {
    let shared = comparison(plans.len());
    let side = |side, seed, factor: &dyn Fn(f64) -> f64| {
        let mut record = build_sized(seed, &[], 0, 0);
        record.schema = SCHEMA_RECORD.into();
        record.side = Some(side);
        record.comparison = Some(Box::new(shared.clone()));
        record.cases =
            plans.iter().enumerate().map(|(index, plan)| case(plan, index, side, factor)).collect();
        record
    };
    (side(Side::Base, 1, &|_| 1.0), side(Side::Head, 2, &f64::exp))
}

fn case(planned: &Planned, index: usize, side: Side, factor: &dyn Fn(f64) -> f64) -> CaseRecord {
    let frame = plan("kernels/frame", 0, "host", "time", "s", 1.0, 0.1);
    let mut case = build_sized(1, &[frame], planned.differences.len() as u32, 1).cases.remove(0);
    case.id.benchmark = planned.name.parse().unwrap();
    case.id.params.clear();
    let metric = &mut case.metrics[0];
    metric.name = planned.metric.clone();
    metric.unit = planned.unit.clone();
    for (round, difference) in planned.differences.iter().enumerate() {
        // The machine drifts, and both sides with it.
        let drift = 1.0 + 0.05 * noise([index as u32, round as u32, 3, 3]);
        metric.processes[round].values = vec![planned.usual * drift * factor(*difference)];
        case.processes[round].round = Some(round as u32);
        let base_first = noise([index as u32, round as u32, 5, 5]) > 0.0;
        case.processes[round].slot = Some(u8::from(base_first != (side == Side::Base)));
    }
    case
}
