//! Values and where they came from: defaults < file < what the benchmark itself says < environment < command line.

use std::collections::BTreeMap;
use std::fmt;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoEnumIterator;

use super::{Counting, Deadlines, Stage, Thermal, format_duration};

/// Who set a value. Later entries win over earlier ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Default,
    /// A suite file, with the line: `gbench.toml:12`.
    File(String),
    /// The program said so over the protocol.
    Benchmark,
    /// A variable of the environment, by its name: `GBENCH_PROCESSES`.
    Environment(String),
    /// A flag, as typed: `--processes`.
    Cli(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.pad("default"),
            Origin::File(place) => f.pad(place),
            Origin::Benchmark => f.pad("the benchmark"),
            Origin::Environment(variable) => f.pad(variable),
            Origin::Cli(flag) => f.pad(flag),
        }
    }
}

/// A value with its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting<T> {
    pub value: T,
    pub origin: Origin,
}

impl<T> Setting<T> {
    pub fn default(value: T) -> Self {
        Self { value, origin: Origin::Default }
    }

    /// Takes the new value unless a stronger origin has spoken already; an equal rank overwrites.
    pub fn set(&mut self, value: T, origin: Origin) {
        if self.origin.rank() <= origin.rank() {
            *self = Self { value, origin };
        }
    }
}

impl Origin {
    fn rank(&self) -> u8 {
        match self {
            Origin::Default => 0,
            Origin::File(_) => 1,
            Origin::Benchmark => 2,
            Origin::Environment(_) => 3,
            Origin::Cli(_) => 4,
        }
    }

    /// Who calls has set it, and the program that is measured cannot change it.
    pub fn is_pinned(&self) -> bool {
        matches!(self, Origin::Environment(_) | Origin::Cli(_))
    }
}

/// Which processes measure the cases of a harness in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumIter)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Isolation {
    /// Every case has processes of its own.
    Process,
    /// All cases of a round share a process a side until the screen has shown which are candidates; these get processes of
    /// their own.
    SharedScreen,
    /// All cases of a round share a process a side, in every round.
    Shared,
}

/// The effective settings of one benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Fresh processes for every case: the statistical unit.
    pub processes: Setting<u32>,
    /// Measured iterations that a process is asked for.
    pub iterations: Setting<u32>,
    /// Warm-up iterations that a process is asked for.
    pub warmup: Setting<u32>,
    /// Seconds that a time-bound process should measure for; 0: by iterations.
    pub duration: Setting<f64>,
    /// Seconds of time-based warm-up; 0: by iterations.
    pub burnin: Setting<f64>,
    /// Empty caches and no warm-up.
    pub thermal: Setting<Thermal>,
    pub deadlines: BTreeMap<Stage, Setting<f64>>,
    /// Multiplies every deadline, whichever layer set it.
    pub deadline_multiplier: Setting<f64>,
    /// Address space of a child in bytes; 0: no limit.
    pub memory_limit: Setting<u64>,
    /// Bytes of stdout and of stderr that are kept from each process.
    pub log_limit: Setting<u64>,
    /// Percentiles to report beside the six that always are, in percent.
    pub percentiles: Setting<Vec<f64>>,
    /// The least relative change that matters: 0.05 is 5 %.
    pub threshold: Setting<f64>,
    /// In rounds: certified unchanged within this.
    pub target: Setting<f64>,
    /// In rounds: a red must lie beyond this.
    pub min_effect: Setting<f64>,
    /// A seed for the child's generators.
    pub seed: Setting<u64>,
    /// A missing requirement fails the case instead of skipping it.
    pub fail_on_missing: Setting<bool>,
    /// The program can take turns with the other side's, over the protocol.
    pub lockstep: Setting<bool>,
    /// One process may measure several points of the benchmark.
    pub share: Setting<bool>,
    /// Which processes measure the cases of a harness.
    pub isolation: Setting<Isolation>,
    /// Whether instructions are counted beside the time.
    pub count: Setting<Counting>,
    /// Hardware that holds the card's clocks down is its usual state, and casts no doubt on what was measured.
    pub usual_slowdown: Setting<bool>,
    /// Which GPUs a child may see, as CUDA_VISIBLE_DEVICES takes it; empty: as the gate sees them.
    pub device: Setting<String>,
}

impl Default for Settings {
    fn default() -> Self {
        let deadlines = Deadlines::default();
        Self {
            processes: Setting::default(5),
            iterations: Setting::default(30),
            warmup: Setting::default(10),
            duration: Setting::default(0.0),
            burnin: Setting::default(0.0),
            thermal: Setting::default(Thermal::Warm),
            deadlines: Stage::iter().map(|stage| (stage, Setting::default(deadlines.get(stage)))).collect(),
            deadline_multiplier: Setting::default(1.0),
            memory_limit: Setting::default(0),
            log_limit: Setting::default(1 << 20),
            percentiles: Setting::default(Vec::new()),
            threshold: Setting::default(0.05),
            target: Setting::default(0.02),
            min_effect: Setting::default(0.0025),
            seed: Setting::default(1337),
            fail_on_missing: Setting::default(false),
            lockstep: Setting::default(false),
            share: Setting::default(false),
            isolation: Setting::default(Isolation::Process),
            count: Setting::default(Counting::Off),
            usual_slowdown: Setting::default(false),
            device: Setting::default(String::new()),
        }
    }
}

/// A setting as records and `config show` print it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shown {
    pub value: serde_json::Value,
    pub origin: Origin,
}

impl Settings {
    /// The deadline of each stage after the multiplier, in seconds.
    pub fn effective_deadlines(&self) -> Deadlines {
        let mut deadlines = Deadlines::default();
        for (stage, seconds) in &self.deadlines {
            deadlines.set(*stage, seconds.value * self.deadline_multiplier.value);
        }
        deadlines
    }

    /// Every setting by its name in the suite file, in a fixed order, with its origin. Durations are
    /// text (`1m 30s`), as the suite file takes them.
    pub fn shown(&self) -> BTreeMap<String, Shown> {
        fn show<T>(setting: &Setting<T>, value: impl Into<serde_json::Value>) -> Shown {
            Shown { value: value.into(), origin: setting.origin.clone() }
        }
        let mut rows = BTreeMap::from([
            ("processes", show(&self.processes, self.processes.value)),
            ("iterations", show(&self.iterations, self.iterations.value)),
            ("warmup", show(&self.warmup, self.warmup.value)),
            ("duration", show(&self.duration, format_duration(self.duration.value))),
            ("burnin", show(&self.burnin, format_duration(self.burnin.value))),
            ("cold", show(&self.thermal, self.thermal.value == Thermal::Cold)),
            ("deadline_multiplier", show(&self.deadline_multiplier, self.deadline_multiplier.value)),
            ("memory_limit", show(&self.memory_limit, self.memory_limit.value)),
            ("log_limit", show(&self.log_limit, self.log_limit.value)),
            ("percentiles", show(&self.percentiles, self.percentiles.value.clone())),
            ("threshold", show(&self.threshold, self.threshold.value)),
            ("target", show(&self.target, self.target.value)),
            ("min_effect", show(&self.min_effect, self.min_effect.value)),
            ("seed", show(&self.seed, self.seed.value)),
            ("device", show(&self.device, self.device.value.clone())),
            ("lockstep", show(&self.lockstep, self.lockstep.value)),
            ("share", show(&self.share, self.share.value)),
            ("isolation", show(&self.isolation, self.isolation.value.into_str())),
            ("count", show(&self.count, self.count.value.into_str())),
            ("usual_slowdown", show(&self.usual_slowdown, self.usual_slowdown.value)),
            ("fail_on_missing", show(&self.fail_on_missing, self.fail_on_missing.value)),
        ])
        .into_iter()
        .map(|(name, shown)| (name.to_owned(), shown))
        .collect::<BTreeMap<_, _>>();
        for (stage, seconds) in &self.deadlines {
            rows.insert(format!("deadlines.{stage}"), show(seconds, format_duration(seconds.value)));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stronger_origin_wins_in_any_order() {
        let mut setting = Setting::default(1);
        setting.set(4, Origin::Cli("--processes".into()));
        setting.set(2, Origin::File("gbench.toml:3".into()));
        setting.set(5, Origin::Environment("GBENCH_PROCESSES".into()));
        setting.set(3, Origin::Benchmark);
        assert_eq!(setting.value, 4);
        assert_eq!(setting.origin, Origin::Cli("--processes".into()));
    }

    #[test]
    fn the_multiplier_reaches_every_deadline() {
        let mut settings = Settings::default();
        let before = settings.effective_deadlines();
        settings.deadline_multiplier.value = 2.0;
        let after = settings.effective_deadlines();
        for stage in Stage::iter() {
            assert_eq!(after.get(stage), 2.0 * before.get(stage));
        }
    }
}
