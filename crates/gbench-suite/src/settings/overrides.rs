//! Values that the command line sets for every benchmark, over all files.

use std::collections::BTreeSet;

use super::options::Gate;
use crate::benchmark::definition::Benchmark;
use crate::benchmark::launch::Action;
use crate::benchmark::python::{DriverOptions, TimingMode};
use crate::suite::Suite;
use gbench_model::{LayOver, Origin, Params, Setting, Settings};

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumIter)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Preset {
    /// 10 iterations after 2 of warm-up, and of each parameter the first and the last value.
    Quick,
    Full,
    /// 500 iterations after 200 of warm-up, seed 42: for kernels of microseconds.
    Kernel,
}

impl Preset {
    fn iterations(self) -> u32 {
        match self {
            Preset::Quick => 10,
            Preset::Full => 30,
            Preset::Kernel => 500,
        }
    }

    fn warmup(self) -> u32 {
        match self {
            Preset::Quick => 2,
            Preset::Full => 3,
            Preset::Kernel => 200,
        }
    }
}

const SEED: u64 = 42;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// Values that are given individually override it.
    pub preset: Setting<Option<Preset>>,
    /// Given values, with their flags as origins.
    pub settings: Settings,
    pub gate: Gate,
    pub timing_mode: Setting<Option<TimingMode>>,
    /// The seed 42, and for Python modules deterministic algorithms.
    pub reproducible: bool,
    /// For Python modules: runs twice with one seed and compares the results.
    pub check_determinism: bool,
}

impl Overrides {
    pub fn apply(&self, suite: &mut Suite) {
        self.gate.lay_over(&mut suite.gate);
        for benchmark in &mut suite.benchmarks {
            if let Some(preset) = self.preset.value {
                apply_preset(preset, benchmark);
            }
            if self.reproducible {
                benchmark.settings.seed.set(SEED, Origin::Cli("--reproducible".into()));
            }
            self.settings.lay_over(&mut benchmark.settings);
            if let Some(entry) = benchmark.python() {
                let options = DriverOptions {
                    mode: self.timing_mode.value.unwrap_or(entry.options.mode),
                    deterministic: self.reproducible || entry.options.deterministic,
                    check_determinism: self.check_determinism || entry.options.check_determinism,
                    ..entry.options.clone()
                };
                benchmark.set_driver_options(options);
            }
        }
    }
}

fn apply_preset(preset: Preset, benchmark: &mut Benchmark) {
    let origin = || Origin::Cli(format!("--preset {}", <&str>::from(preset)));
    let settings = &mut benchmark.settings;
    settings.iterations.set(preset.iterations(), origin());
    settings.warmup.set(preset.warmup(), origin());
    if settings.duration.origin == Origin::Default {
        settings.duration = Setting::default(0.0);
    }
    if settings.burnin.origin == Origin::Default {
        settings.burnin = Setting::default(0.0);
    }
    match preset {
        Preset::Quick => keep_ends(benchmark),
        Preset::Full => {}
        Preset::Kernel => settings.seed.set(SEED, origin()),
    }
}

/// Keeps the points whose every number is the minimum or maximum of its parameter. Text and flags distinguish implementations
/// and stay, and so do cases found in files, whose numbers do not form a range.
fn keep_ends(benchmark: &mut Benchmark) {
    if !benchmark.has_own_points() {
        return;
    }
    let names: BTreeSet<String> = benchmark.points.iter().flat_map(Params::keys).cloned().collect();
    let mut ends = Vec::new();
    for name in names {
        let values = || benchmark.points.iter().filter_map(|point| point.get(&name));
        let numbers = || values().filter(|value| value.number().is_some());
        if let (Some(least), Some(greatest)) = (numbers().min(), numbers().max()) {
            ends.push((name.clone(), least.clone(), greatest.clone()));
        }
    }
    let before = benchmark.points.len();
    benchmark.points.retain(|point| {
        ends.iter().all(|(name, least, greatest)| {
            point
                .get(name)
                .is_none_or(|value| value.number().is_none() || value == least || value == greatest)
        })
    });
    benchmark.excluded += before - benchmark.points.len();
}

/// GiB of a GPU's memory, and the fraction of the work from there on. A machine without a GPU does all of it.
const SCALES: [(u64, f64); 4] = [(16, 1.0), (8, 0.5), (4, 0.25), (0, 0.1)];

impl Benchmark {
    /// Sets the fraction of the work for modules that ask for it. `gpu_memory`: bytes of the smallest GPU, if there is one.
    pub fn scale_work(&mut self, gpu_memory: Option<u64>) {
        let Some(entry) = self.python().filter(|entry| entry.options.scale_by_memory) else { return };
        let fits =
            |memory: u64| SCALES.iter().find(|(least, _)| memory >= least << 30).map(|(_, scale)| *scale);
        let scale = gpu_memory.map_or(Some(1.0), fits);
        let options = DriverOptions { scale, ..entry.options.clone() };
        self.set_driver_options(options);
    }

    fn set_driver_options(&mut self, options: DriverOptions) {
        let Action::Python(entry) = &mut self.action else { return };
        let (before, after) = (entry.options.identity(), options.identity());
        entry.options = options;
        if before == after {
            return;
        }
        let renamed = |mut point: Params| {
            point.retain(|name, _| !before.contains_key(name));
            point.extend(after.clone());
            point
        };
        self.points = std::mem::take(&mut self.points).into_iter().map(renamed).collect();
        if let Some(harness) = &mut self.harness {
            harness.rename_points(renamed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use gbench_model::ParamValue;

    #[test]
    fn s0_70_the_share_of_the_work_follows_the_gpu_s_memory_and_is_part_of_the_identity() {
        let text = "[[benchmark]]\nid = 'x'\n[benchmark.python]\nfile = 'x.py'\nscale_by_memory = true\n";
        let gib = |count: f64| Some((count * f64::from(1 << 30)) as u64);
        for (memory, share) in [
            (gib(80.0), 1.0),
            (gib(16.0), 1.0),
            (gib(15.9), 0.5),
            (gib(8.0), 0.5),
            (gib(4.0), 0.25),
            (gib(3.9), 0.1),
            (None, 1.0),
        ] {
            let mut suite = Suite::parse(Path::new("/suite/gbench.toml"), text, &[]).unwrap();
            suite.find_files();
            let benchmark = &mut suite.benchmarks[0];
            benchmark.scale_work(memory);
            assert_eq!(
                benchmark.points,
                [Params::from([("driver.scale".to_owned(), ParamValue::Float(share))])]
            );
            assert!(
                benchmark.python_file(&benchmark.points[0]).is_some(),
                "the case is found by its new name"
            );
        }
        let mut suite =
            Suite::parse(Path::new("/suite/gbench.toml"), &text.replace("true", "false"), &[]).unwrap();
        suite.find_files();
        suite.benchmarks[0].scale_work(gib(1.0));
        assert_eq!(suite.benchmarks[0].points, [Params::new()]);
    }
}
