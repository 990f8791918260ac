//! `device = "each"`: a benchmark on every GPU of the machine, a case each.

use super::definition::Benchmark;
use gbench_model::{ParamValue, Params, Settings};

/// The value of `device`.
const EACH: &str = "each";

/// The parameter of a case that says on which GPU it runs, by its index. An index stays when a card is replaced, so that a case goes on;
/// the record has the UUID beside it.
const GPU: &str = "gpu";

/// Whether a value of `device` means every GPU.
pub fn is_each(device: &str) -> bool {
    device.trim() == EACH
}

/// The parameters of a case that are its program's: all but the GPU on which the gate runs it.
pub fn own_params(settings: &Settings, params: &Params) -> Params {
    let is_own = |name: &String| name != GPU || !is_each(&settings.device.value);
    params
        .iter()
        .filter(|(name, _)| is_own(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

impl Benchmark {
    /// The GPUs that a case may see, as `CUDA_VISIBLE_DEVICES` has them; empty: all.
    pub fn device_of(&self, params: &Params) -> String {
        match params.get(GPU) {
            Some(index) if is_each(&self.settings.device.value) => index.to_string(),
            _ => self.settings.device.value.clone(),
        }
    }

    /// Makes a case of each point on each of so many GPUs, where the suite asks for it. Without a GPU the points stay: they fail when
    /// the machine is looked at.
    ///
    /// Errors: what it measures cannot be told apart by GPU, for this reason.
    pub fn spread_over_gpus(&mut self, gpus: usize) -> Result<(), &'static str> {
        if !is_each(&self.settings.device.value) || gpus == 0 {
            return Ok(());
        }
        if self.harness.is_some() {
            return Err("its cases share their processes, and a process sees one GPU");
        }
        if self.points.iter().any(|point| point.contains_key(GPU)) {
            return Err("it has a parameter `gpu` of its own");
        }
        let on = |point: &Params, gpu: usize| {
            let mut point = point.clone();
            point.insert(GPU.to_owned(), ParamValue::Int(gpu as i64));
            point
        };
        self.points = self.points.iter().flat_map(|point| (0..gpus).map(|gpu| on(point, gpu))).collect();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::launch::Action;

    fn benchmark(device: &str) -> Benchmark {
        let mut benchmark =
            Benchmark::new("s/a".parse().unwrap(), Action::Command(vec!["true".into()]), "/".into());
        benchmark.settings.device.value = device.into();
        benchmark.points = [1, 2].map(|n| Params::from([("n".to_owned(), ParamValue::Int(n))])).to_vec();
        benchmark
    }

    #[test]
    fn each_point_becomes_a_case_a_gpu_that_sees_that_gpu_alone() {
        let mut each = benchmark("each");
        each.spread_over_gpus(2).unwrap();
        let devices: Vec<String> = each.points.iter().map(|point| each.device_of(point)).collect();
        assert_eq!(devices, ["0", "1", "0", "1"]);
        assert_eq!(own_params(&each.settings, &each.points[3]), benchmark("").points[1]);
        let mut one = benchmark("1");
        one.spread_over_gpus(2).unwrap();
        assert_eq!((one.points.len(), one.device_of(&one.points[0])), (2, "1".to_owned()));
        let mut none = benchmark("each");
        none.spread_over_gpus(0).unwrap();
        assert_eq!(none.points.len(), 2);
    }

    #[test]
    fn a_parameter_of_that_name_is_the_programs_own_unless_the_gate_gave_it() {
        let mut own = benchmark("each");
        own.points[0].insert("gpu".into(), ParamValue::Int(7));
        assert!(own.spread_over_gpus(2).unwrap_err().contains("of its own"));
        own.settings.device.value = String::new();
        assert_eq!(own_params(&own.settings, &own.points[0]), own.points[0]);
    }
}
