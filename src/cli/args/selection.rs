//! The flags that several commands share: which suite file, which benchmarks of it, and which settings the
//! command line sets above all files.

use std::path::PathBuf;

use strum::IntoEnumIterator;

use crate::app::request::{GivenFlag, SelectionRequest, SettingsRequest};
use crate::model::{Fault, Result, Shard, Thermal};
use crate::suite::plan::ShardPlan;
use crate::suite::words::{parse_memory_clock, parse_power_limit, parse_ratio, parse_seconds};
use crate::suite::{Overrides, Selection, commas};

/// Which benchmarks are meant.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Selection")]
pub(crate) struct SelectionArgs {
    /// Suite file [default: gbench.toml of this folder, else the built-in suite]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Benchmark by id or glob, in the order given; repeatable
    #[arg(long = "benchmark", value_name = "GLOB")]
    pub benchmarks: Vec<String>,
    /// Suite by name; `micro` is the built-in one; repeatable, or separated by commas
    #[arg(long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// Benchmarks of this component: cpu, gpu, ram, storage, network or system; repeatable, or separated by commas
    #[arg(long = "component", value_name = "NAME")]
    pub components: Vec<String>,
    /// Benchmarks with this tag; repeatable, or separated by commas
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// Benchmark to leave out, by id or glob; repeatable
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,
    /// Only cases whose parameter has one of these values: n=32,64; repeatable. If a value contains a comma, give that value
    /// in its own --param, or write the comma as `\,`
    #[arg(long = "param", value_name = "NAME=VALUES")]
    pub params: Vec<String>,
    /// Python benchmarks by folder, pair, variant or kernel: ch13, ch1:moe, ch1:moe_sparse; repeatable
    #[arg(long = "target", alias = "targets", value_name = "NAME")]
    pub targets: Vec<String>,
    /// Only part I of N of the cases, so that several jobs can share a suite: 2/3
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Cut the shards by the time that their cases are expected to take: the plan of `gbench-ci matrix --balance`, or a file
    /// that contains it. All jobs of a suite need the same one
    #[arg(long, value_name = "PLAN", requires = "shard")]
    pub shard_plan: Option<String>,
}

impl SelectionArgs {
    /// Errors: a flag that names nothing, and words that no selection has.
    pub(crate) fn request(&self) -> Result<SelectionRequest> {
        let lists = [
            ("--benchmark", &self.benchmarks),
            ("--suite", &self.suites),
            ("--component", &self.components),
            ("--tag", &self.tags),
            ("--exclude", &self.exclude),
            ("--target", &self.targets),
        ];
        for (flag, texts) in lists {
            // `--suite "$UNSET"` must not mean everything.
            if let Some(empty) = texts.iter().find(|text| commas(text).is_empty()) {
                let next = "give it a name, or take the flag out";
                return Err(Fault::at_flag(format!("{flag} '{empty}'"), "this names nothing", next));
            }
        }
        let parts =
            |texts: &[String]| texts.iter().flat_map(|text| commas(text)).map(str::to_owned).collect();
        let mut selection = Selection {
            benchmarks: self.benchmarks.clone(),
            suites: parts(&self.suites),
            tags: parts(&self.tags),
            exclude: self.exclude.clone(),
            targets: self.targets.clone(),
            ..Selection::default()
        };
        self.components.iter().try_for_each(|text| selection.add_components(text))?;
        self.params.iter().try_for_each(|text| selection.add_param(text))?;
        let given = lists.into_iter().chain([("--param", &self.params)]);
        let given =
            given.flat_map(|(flag, texts)| texts.iter().map(move |text| (flag, text.clone()))).collect();
        let shard_plan = self.shard_plan.as_deref().map(shard_plan).transpose()?;
        Ok(SelectionRequest { config: self.config.clone(), selection, shard: self.shard, shard_plan, given })
    }
}

/// The plan of a flag. Errors: neither a plan nor a file with one.
fn shard_plan(text: &str) -> Result<ShardPlan> {
    let next =
        "pass on the whole text that `gbench-ci matrix --balance` wrote, or name the file of its `--plan`";
    let shown: String = text.chars().take(40).collect();
    let fault = |what: String| Fault::at_flag(format!("--shard-plan {shown}"), what, next);
    if ShardPlan::is_begun_by(text) {
        return text.parse().map_err(fault);
    }
    let read = std::fs::read_to_string(text).map_err(|error| fault(format!("cannot be read: {error}")))?;
    read.parse().map_err(fault)
}

/// A struct of flags that clap reads. A flag with `=>` sets something of [`Overrides`]: it defines which, how its text is
/// read, and what is wanted where that cannot be.
macro_rules! overrides {
    (
        $(#[$about:meta])*
        pub(crate) struct $name:ident {
            $($(#[$meta:meta])* $field:ident: $type:ty $(=> $flag:literal $($to:ident).+: $read:expr, $wanted:expr)?;)*
        }
    ) => {
        $(#[$about])*
        pub(crate) struct $name {
            $($(#[$meta])* $field: $type,)*
        }

        impl $name {
            /// The settings of flags with values, and the flags. Errors: a value that the suite file would refuse, too.
            fn with_values(&self) -> Result<(Overrides, Vec<GivenFlag>)> {
                let (mut overrides, mut given) = (Overrides::default(), Vec::new());
                $($(
                    overrides.$($to).+.set_by_flag($flag, value($flag, &self.$field, $read, $wanted)?);
                    given.extend(self.$field.clone().map(|text| ($flag, text)));
                )?)*
                Ok((overrides, given))
            }
        }
    };
}

overrides! {
    /// Settings that win over every file.
    #[derive(clap::Args, Clone, Debug, Default)]
    #[command(next_help_heading = "Settings")]
    pub(crate) struct SettingsArgs {
        /// Number of fresh processes per case
        #[arg(long, value_name = "COUNT", allow_negative_numbers = true)]
        processes: Option<String> => "--processes" settings.processes: whole(1, 1000), "a number from 1 to 1000";
        /// Measured iterations to request from each process
        #[arg(long, value_name = "COUNT", allow_negative_numbers = true)]
        iterations: Option<String> => "--iterations" settings.iterations: whole(1, MAX), "a whole number above 0";
        /// Warm-up iterations to request from each process
        #[arg(long, value_name = "COUNT", allow_negative_numbers = true)]
        warmup: Option<String> => "--warmup" settings.warmup: whole(0, MAX), "a whole number, or 0";
        /// Measure for this time instead of a number of iterations: 2, 2s, 500ms
        #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
        duration: Option<String> => "--duration" settings.duration: parse_seconds, DURATION;
        /// Warm up for this time instead of a number of iterations
        #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
        burnin_seconds: Option<String> => "--burnin-seconds" settings.burnin: parse_seconds, DURATION;
        /// Measure with empty caches and without warm-up
        #[arg(long)]
        cold_start: bool;
        /// Multiply every deadline by this factor
        #[arg(long, value_name = "FACTOR", allow_negative_numbers = true)]
        timeout_multiplier: Option<String>
            => "--timeout-multiplier" settings.deadline_multiplier: multiplier, "a number above 0 and at most 1000";
        /// Smallest change that matters: 5% or 0.05; between commits, `unchanged` means that the change is
        /// certified to be smaller than this
        #[arg(long, value_name = "CHANGE", allow_negative_numbers = true)]
        threshold: Option<String> => "--threshold" settings.threshold: parse_ratio, "a change such as 5% or 0.05";
        /// Seed for the benchmarks' random generators
        #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
        seed: Option<String> => "--seed" settings.seed: seed, "a whole number, or 0";
        /// quick (10 iterations, 2 warm-up iterations, only the smallest and largest value of each numeric parameter),
        /// full (30, 3) or kernel (500, 200, seed 42)
        #[arg(long, value_name = "NAME")]
        preset: Option<String> => "--preset" preset: named, "quick, full or kernel";
        /// Clock for Python modules: auto, perf_counter, cuda_events, do_bench or torch_timer
        #[arg(long, value_name = "MODE")]
        timing_mode: Option<String>
            => "--timing-mode" timing_mode: named, "auto, perf_counter, cuda_events, do_bench or torch_timer";
        /// Use seed 42, and deterministic algorithms in Python modules
        #[arg(long)]
        reproducible: bool;
        /// Python modules: run twice with the same seed, and reject results that differ
        #[arg(long)]
        check_determinism: bool;
        /// Lock the SM clock of the GPUs while they are measured, and unlock it afterwards; needs root. Values: base,
        /// max, off, or MHz such as 1410 or 1200-1410
        #[arg(long, value_name = "CLOCK")]
        lock_sm_clock: Option<String>
            => "--lock-sm-clock" gate.lock_sm_clock: str::parse, "base, max, off or MHz, such as 1410 or 1200-1410";
        /// Lock the memory clock of the GPUs in the same way. Values: max, off or MHz
        #[arg(long, value_name = "CLOCK")]
        lock_memory_clock: Option<String>
            => "--lock-memory-clock" gate.lock_memory_clock: parse_memory_clock, "max, off or MHz, such as 2619";
        /// Limit the power of the GPUs while they are measured, and restore the limit afterwards; needs root. Values: off,
        /// or watts within the range of the card
        #[arg(long, value_name = "WATTS")]
        power_limit: Option<String>
            => "--power-limit" gate.power_limit: parse_power_limit, "off or watts, such as 250";
    }
}

impl SettingsArgs {
    pub(crate) fn request(&self) -> Result<SettingsRequest> {
        let (mut overrides, given) = self.with_values()?;
        overrides.settings.thermal.set_by_flag("--cold-start", self.cold_start.then_some(Thermal::Cold));
        overrides.reproducible = self.reproducible;
        overrides.check_determinism = self.check_determinism;
        let bare = [
            (self.cold_start, "--cold-start"),
            (self.reproducible, "--reproducible"),
            (self.check_determinism, "--check-determinism"),
        ];
        let bare = bare.into_iter().filter(|(is_given, _)| *is_given).map(|(_, flag)| flag).collect();
        Ok(SettingsRequest { overrides, given, bare })
    }
}

const MAX: u32 = 1_000_000_000;
const DURATION: &str = "a duration such as 2, 2s or 500ms";

/// A flag's value; `wanted` is what to give where it cannot be read.
pub(super) fn value<T>(
    flag: &str,
    text: &Option<String>,
    read: impl Fn(&str) -> Result<T, String>,
    wanted: &str,
) -> Result<Option<T>> {
    let Some(text) = text else { return Ok(None) };
    let read = read(text);
    read.map(Some).map_err(|what| Fault::at_flag(format!("{flag} {text}"), what, format!("give {wanted}")))
}

fn named<T: IntoEnumIterator + Copy + Into<&'static str>>(text: &str) -> Result<Option<T>, String> {
    let found = T::iter().find(|it| Into::<&'static str>::into(*it) == text);
    if found.is_some() { Ok(found) } else { Err(format!("there is no `{text}`")) }
}

fn whole(min: u32, max: u32) -> impl Fn(&str) -> Result<u32, String> {
    move |text| match text.parse() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ => Err(format!("`{text}` is not a whole number from {min} to {max}")),
    }
}

fn multiplier(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number > 0.0 && number <= 1000.0 => Ok(number),
        _ => Err(format!("`{text}` cannot multiply a deadline")),
    }
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a whole number of 64 bits"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::model::{ClockChoice, Component};
    use crate::suite::{Preset, TimingMode};

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        selection: SelectionArgs,
        #[command(flatten)]
        settings: SettingsArgs,
    }

    fn parse(line: &str) -> Line {
        Line::parse_from(std::iter::once("x").chain(line.split_whitespace()))
    }

    #[test]
    fn repeated_and_comma_separated_flags_mean_the_same() {
        let one = parse("--component cpu,gpu --suite a,b").selection.request().unwrap().selection;
        let two = parse("--component cpu --component gpu --suite a --suite b");
        assert_eq!(one, two.selection.request().unwrap().selection);
        assert_eq!(one.components, [Component::Cpu, Component::Gpu]);
    }

    #[test]
    fn an_empty_name_is_no_selection_of_everything() {
        for flag in ["--suite=", "--component=,", "--tag=", "--benchmark=", "--exclude="] {
            let fault = parse(flag).selection.request().unwrap_err();
            assert_eq!(fault.what, "this names nothing", "{flag}");
        }
    }

    #[test]
    fn every_setting_is_read_in_its_own_unit() {
        let line = parse(
            "--processes 3 --iterations 4 --warmup 0 --duration 500ms --burnin-seconds 2 --cold-start \
             --timeout-multiplier 1.5 --threshold 2% --seed 7 --preset quick --timing-mode do_bench \
             --reproducible --check-determinism --lock-sm-clock base --lock-memory-clock 2619 \
             --power-limit 250",
        );
        let Overrides { settings: it, gate, preset, timing_mode, reproducible, check_determinism } =
            line.settings.request().unwrap().overrides;
        assert_eq!((it.processes.value, it.iterations.value, it.warmup.value), (3, 4, 0));
        assert_eq!((it.duration.value, it.burnin.value, it.thermal.value), (0.5, 2.0, Thermal::Cold));
        assert_eq!((it.deadline_multiplier.value, it.threshold.value, it.seed.value), (1.5, 0.02, 7));
        assert_eq!((preset.value, timing_mode.value), (Some(Preset::Quick), Some(TimingMode::DoBench)));
        assert!(reproducible && check_determinism);
        assert_eq!(gate.lock_sm_clock.value, ClockChoice::Base);
        assert_eq!(gate.lock_memory_clock.value, ClockChoice::Range { min: 2619, max: 2619 });
        assert_eq!(gate.power_limit.value, Some(250.0));
    }

    #[test]
    fn a_setting_that_makes_no_sense_names_its_flag_and_what_to_give() {
        for line in [
            "--processes 0",
            "--iterations -1",
            "--duration soon",
            "--threshold 0",
            "--seed x",
            "--lock-sm-clock 0",
            "--lock-memory-clock base",
            "--power-limit 0",
        ] {
            let fault = parse(line).settings.request().unwrap_err();
            assert_eq!(fault.place.to_string(), line);
            assert!(fault.next.starts_with("give "), "{}", fault.next);
        }
    }
}
