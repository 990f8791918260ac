//! Figures that the gate shows on its own initiative, in addition to those that it judges.

use super::samples::Metric;
use super::{CaseRecord, SM_CLOCK};
use crate::gpu::code_union::CODE_FIGURES;

/// Metrics that the gate's own GPU programs send in addition to the time, with `gate: false`.
const BESIDE_TIME: [&str; 3] = ["cycles", SM_CLOCK, "throttled_time"];

/// Joules of the GPU per iteration.
pub const ENERGY: &str = "energy_per_iteration";

/// Suffix of an amount of work: its rate per watt.
pub const PER_WATT: &str = "_per_watt";

/// Amounts of work that a program declares; each yields a rate.
const AMOUNTS: [&str; 4] = ["items", "bytes", "flops", "tokens"];

/// Suffix of a rate: its share of the card's peak.
const OF_PEAK: &str = "_of_peak";

/// Shares of the peaks of a card's memory and arithmetic.
pub const BYTES_OF_PEAK: &str = "bytes_rate_of_peak";
pub const FLOPS_OF_PEAK: &str = "flops_rate_of_peak";

/// Note of a case: which of the two is the nearest to its peak.
pub const NEAREST_PEAK: &str = "nearest_peak";

/// The note with the state of the L2 cache before each call of a GPU case.
pub const L2_STATE: &str = "l2";

/// Notes of a program about its card: the most bytes and floating-point operations per second.
pub const PEAK_NOTES: [&str; 2] = ["peak_bytes_rate", "peak_flops_rate"];

/// Why a figure that is not judged exists without a request. `None`: the suite file or a program requested it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnFigure {
    /// Work divided by the case's time, or its share of the card's peak: it conveys the same as the time.
    Rate,
    /// The clock, cycles and device code behind a time, which explain it.
    Circumstance,
}

impl OwnFigure {
    /// For a metric that is not judged; a judged figure is never an own figure.
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
        let by_gate = case.is_built_in() || case.command.first().is_some_and(|word| word == "cuda");
        let of_code = case.device_code.is_some() && CODE_FIGURES.iter().any(|(figure, ..)| *figure == name);
        (of_code || by_gate && BESIDE_TIME.contains(&name)).then_some(Self::Circumstance)
    }
}

fn is_rate(name: &str) -> bool {
    name.strip_suffix("_rate").is_some_and(|amount| AMOUNTS.contains(&amount))
}

/// True if a metric is an amount of work over the case's time, which the gate computes if a program or the suite file states
/// the amount. For an amount from the suite file, the record only contains the time.
fn is_derived_rate(case: &CaseRecord, name: &str) -> bool {
    is_rate(name) && case.metrics.iter().any(|other| other.name == "time" || other.name == "wall_time")
}
