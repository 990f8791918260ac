//! Work per watt, from the energy of an iteration that a program states.

use crate::run::samples::collected::{CollectedSamples, MetricSamples, RATES, Role};
use gbench_model::{Better, Conditions, GpuPlace, PER_WATT};

/// Marks the GPU that a process is bound to as used. True if processes of others were on a GPU that it used, so that the
/// energy of the card is not its own.
pub(crate) fn shares_its_gpu(conditions: &mut Conditions, bound: &[GpuPlace]) -> bool {
    let Some(telemetry) = conditions.telemetry.as_mut() else { return false };
    if let [only] = bound {
        telemetry.gpus.iter_mut().filter(|gpu| gpu.index == only.index).for_each(|gpu| gpu.used = true);
    }
    telemetry.gpus.iter().any(|gpu| gpu.used && !gpu.foreign.is_empty())
}

impl CollectedSamples {
    /// Adds what a watt gives of each declared amount of work, which is the work of a joule, if the energy of an iteration is
    /// known.
    pub(crate) fn take_work_per_joule(&mut self) {
        let is_energy = |(name, samples): &(&String, &MetricSamples)| {
            name.starts_with("energy") && samples.unit.as_deref() == Some("J") && !samples.values.is_empty()
        };
        let Some((_, energy)) = self.metrics.iter().find(is_energy) else { return };
        let joules = energy.values.iter().sum::<f64>() / energy.values.len() as f64;
        for (amount, unit) in RATES {
            let Some(value) = self.per_iteration.get(amount).map(|work| work / joules) else { continue };
            if value.is_finite() && value > 0.0 {
                let (name, unit) = (format!("{amount}{PER_WATT}"), format!("{unit}/W"));
                let figure = MetricSamples::figures(&unit, Better::Higher, vec![value], Role::Derived);
                self.metrics.entry(name).or_insert(figure);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gbench_model::{ForeignProcess, GpuTelemetry, Telemetry};

    #[test]
    fn a_process_shares_its_gpu_with_who_is_on_it_and_with_nobody_elsewhere() {
        let shares = |used: bool, bound: &[u32], foreign_on: u32| {
            let foreign = |index| (index == foreign_on).then_some(ForeignProcess { pid: 7, name: None });
            let gpu = |index: u32| GpuTelemetry {
                index,
                used: used && index == 0,
                foreign: foreign(index).into_iter().collect(),
                ..GpuTelemetry::default()
            };
            let telemetry = Telemetry { gpus: vec![gpu(0), gpu(1)], ..Telemetry::default() };
            let mut conditions = Conditions { telemetry: Some(telemetry.into()), ..Conditions::default() };
            let place = |index: &u32| GpuPlace { index: *index, uuid: String::new() };
            shares_its_gpu(&mut conditions, &bound.iter().map(place).collect::<Vec<_>>())
        };
        assert!(shares(true, &[], 0) && shares(false, &[1], 1));
        assert!(!shares(true, &[], 1) && !shares(false, &[0, 1], 0) && !shares(false, &[], 0));
    }

    #[test]
    fn a_watt_gives_the_work_of_a_joule() {
        let mut collected = CollectedSamples::default();
        collected.per_iteration.insert("flops", 6e9);
        collected.take_work_per_joule();
        assert!(collected.metrics.is_empty());
        let energy = MetricSamples::figures("J", Better::Lower, vec![1.0, 3.0], Role::Derived);
        collected.metrics.insert("energy_per_iteration".into(), energy);
        collected.take_work_per_joule();
        let found = &collected.metrics["flops_per_watt"];
        assert_eq!((found.values.as_slice(), found.unit.as_deref()), ([3e9].as_slice(), Some("FLOP/s/W")));
    }
}
