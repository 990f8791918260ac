//! `device = "each"`: a benchmark on every GPU of the machine, one case for each.

use super::definition::Benchmark;
use gbench_model::{ParamValue, Params, Settings};

const EACH: &str = "each";

/// The parameter with the index of a case's GPU. An index survives the replacement of a card, so that the case stays the same;
/// the record also has the UUID.
const GPU: &str = "gpu";

pub fn is_each(device: &str) -> bool {
    device.trim() == EACH
}

/// The parameters without the GPU that the gate chose.
pub fn own_params(settings: &Settings, params: &Params) -> Params {
    let is_own = |name: &String| name != GPU || !is_each(&settings.device.value);
    params
        .iter()
        .filter(|(name, _)| is_own(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

impl Benchmark {
    /// The GPUs that a case may use, as in `CUDA_VISIBLE_DEVICES`; empty: all.
    pub fn device_of(&self, params: &Params) -> String {
        match params.get(GPU) {
            Some(index) if is_each(&self.settings.device.value) => index.to_string(),
            _ => self.settings.device.value.clone(),
        }
    }

    /// Makes each point a case on each GPU, if the suite asks for it. Without a GPU the points stay and fail later. Errors: why
    /// results cannot be distinguished by GPU.
    pub fn spread_over_gpus(&mut self, gpus: usize) -> Result<(), &'static str> {
        if !is_each(&self.settings.device.value) || gpus == 0 {
            return Ok(());
        }
        if self.harness.is_some() {
            return Err("its cases share their processes, and a process sees only one GPU");
        }
        if self.points.iter().any(|point| point.contains_key(GPU)) {
            return Err("it already has a parameter `gpu`");
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
        assert!(own.spread_over_gpus(2).unwrap_err().contains("already has"));
        own.settings.device.value = String::new();
        assert_eq!(own_params(&own.settings, &own.points[0]), own.points[0]);
    }
}
