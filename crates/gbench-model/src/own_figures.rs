//! Figures that the gate shows beside what it judges, by its own choice: nobody who reads a report asked for them.

use super::{CODE_FIGURES, CaseRecord, Metric, SM_CLOCK};

/// What the gate's own GPU programs send beside the time, with `gate: false`.
const BESIDE_TIME: [&str; 3] = ["cycles", SM_CLOCK, "throttled_time"];

/// Joules of the GPU in an iteration, where its power was sampled.
pub const ENERGY: &str = "energy_per_iteration";

/// Behind an amount of work: its rate a watt.
pub const PER_WATT: &str = "_per_watt";

/// Amounts of work that a program declares, of which each has a rate.
const AMOUNTS: [&str; 4] = ["items", "bytes", "flops", "tokens"];

/// Shares of a card's peak, by the rate that they are of.
const OF_PEAK: &str = "_of_peak";

/// Why a figure that no comparison judges is there without anybody's word. `None`: the suite file or a program wants it so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnFigure {
    /// Work over the case's time, or its share of the card's peak: says of a case what its time says.
    Rate,
    /// The clock, the cycles and the device code behind a time: to explain it.
    Circumstance,
}

impl OwnFigure {
    /// Of a metric that is not judged. A figure that a comparison judges is none.
    pub fn of(case: &CaseRecord, metric: &Metric) -> Option<Self> {
        let declared = case.declared.get(&metric.name);
        if declared.and_then(|declared| declared.gate) != Some(false) {
            return None;
        }
        let name = metric.name.as_str();
        let per_watt = name.strip_suffix(PER_WATT).is_some_and(|amount| AMOUNTS.contains(&amount));
        if per_watt || name == ENERGY {
            return Some(Self::Rate);
        }
        let rate = name.strip_suffix(OF_PEAK).unwrap_or(name);
        if is_rate(rate) && (rate != name || is_derived_rate(case, name)) {
            return Some(Self::Rate);
        }
        let by_gate = case.command.first().is_some_and(|word| word == "builtin" || word == "cuda");
        let of_code = case.device_code.is_some() && CODE_FIGURES.iter().any(|(figure, ..)| *figure == name);
        (of_code || by_gate && BESIDE_TIME.contains(&name)).then_some(Self::Circumstance)
    }
}

fn is_rate(name: &str) -> bool {
    name.strip_suffix("_rate").is_some_and(|amount| AMOUNTS.contains(&amount))
}

/// Whether a metric is an amount of work over the case's time, as the gate computes it where a program or the suite file says the amount.
/// Of a suite file's amount the record holds the time alone.
fn is_derived_rate(case: &CaseRecord, name: &str) -> bool {
    is_rate(name) && case.metrics.iter().any(|other| other.name == "time" || other.name == "wall_time")
}
