//! Energy of an iteration and work per watt, from samples of the GPU while a process measured.

use crate::run::samples::collected::{CollectedSamples, MetricSamples, RATES, Role};
use gbench_model::{Better, Conditions, ENERGY, GpuPlace, GpuTelemetry, PER_WATT, Spread, Telemetry};

/// The least percent of utilisation of the measured GPU, if no process on it is visible.
const MIN_BUSY: f64 = 10.0;

/// [`power_of`] a process whose GPUs the suite determines: a GPU that it is bound to is marked as used. Also `None` if the GPU
/// was not idle before it.
pub(crate) fn power_of_process(conditions: &mut Conditions, bound: &[GpuPlace]) -> Option<f64> {
    let telemetry = conditions.telemetry.as_mut()?;
    if let [only] = bound {
        telemetry.gpus.iter_mut().filter(|gpu| gpu.index == only.index).for_each(|gpu| gpu.used = true);
    }
    let restless = conditions.waited.as_ref().is_some_and(|wait| wait.in_vain);
    power_of(telemetry).filter(|_| !restless)
}

/// Watts of the GPUs that a process used, over its measuring time. `None`: no GPU has a mean power, or it is unknown which
/// GPUs were used.
fn power_of(telemetry: &Telemetry) -> Option<f64> {
    let used: Vec<&GpuTelemetry> = telemetry.gpus.iter().filter(|gpu| gpu.used).collect();
    let used = match (used.as_slice(), telemetry.gpus.as_slice()) {
        // In a container, the driver may report other process ids.
        ([], [only]) if only.foreign.is_empty() && only.utilization.is_some_and(is_busy) => vec![only],
        _ => used,
    };
    let watts: Option<Vec<f64>> = used.iter().map(|gpu| Some(gpu.mean_power?.watts)).collect();
    let watts: f64 = watts?.iter().sum();
    (watts > 0.0).then_some(watts)
}

fn is_busy(share: Spread) -> bool {
    share.mean >= MIN_BUSY
}

impl CollectedSamples {
    /// Adds `energy_per_iteration` in joules, and each rate of work per watt. `timed`: the metric with the time of an
    /// iteration; `declared`: its unit in the suite file. Energy that the program itself reports is kept.
    pub(crate) fn take_power(&mut self, watts: f64, timed: &str, declared: Option<&str>) {
        let joules = |name: &str, samples: &MetricSamples| {
            name.starts_with("energy") && samples.unit.as_deref() == Some("J")
        };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let time = self.timed(timed, declared).filter(|(time, _)| !time.values.is_empty());
        let energy = time.map(|(time, seconds)| mean(&time.values) * seconds * watts);
        let mut figures = Vec::new();
        if !self.metrics.iter().any(|(name, samples)| joules(name, samples)) {
            let energy = energy.map(|energy| (ENERGY.to_owned(), "J".to_owned(), Better::Lower, energy));
            figures.extend(energy);
        }
        for (amount, unit) in RATES {
            let rate = self.metrics.get(&format!("{amount}_rate")).filter(|rate| !rate.values.is_empty());
            let Some(rate) = rate.filter(|rate| rate.unit.as_deref() == Some(unit)) else { continue };
            let value = mean(&rate.values) / watts;
            figures.push((format!("{amount}{PER_WATT}"), format!("{unit}/W"), Better::Higher, value));
        }
        for (name, unit, better, value) in figures.into_iter().filter(|(.., value)| value.is_finite()) {
            let figure = || MetricSamples::figures(&unit, better, vec![value], Role::Derived);
            self.metrics.entry(name).or_insert_with(figure);
        }
    }
}
