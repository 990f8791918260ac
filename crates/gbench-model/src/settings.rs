//! Values and their origins: defaults < file < the benchmark itself < environment < command line.

use std::collections::BTreeMap;
use std::fmt;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoEnumIterator;

use super::case::Thermal;
use super::gpu::counting::Counting;
use super::record::stage::{Deadlines, Stage};
use super::unit::format_duration;

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

impl<T: Default> Default for Setting<T> {
    fn default() -> Self {
        Self::default(T::default())
    }
}

impl<T> Setting<T> {
    pub fn default(value: T) -> Self {
        Self { value, origin: Origin::Default }
    }

    /// The value, unless it is the usual one.
    pub fn given(&self) -> Option<&T> {
        (self.origin != Origin::Default).then_some(&self.value)
    }

    /// Takes the new value unless a stronger origin has already set one; an equal rank overwrites.
    pub fn set(&mut self, value: T, origin: Origin) {
        if self.origin.rank() <= origin.rank() {
            *self = Self { value, origin };
        }
    }

    /// The setting where its value is shown like this.
    pub fn shown(&self, value: impl Into<serde_json::Value>) -> Shown {
        Shown { value: value.into(), origin: self.origin.clone() }
    }

    /// Takes what a flag says.
    pub fn set_by_flag(&mut self, flag: &str, value: Option<T>) {
        if let Some(value) = value {
            self.set(value, Origin::Cli(flag.to_owned()));
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

    /// True if the caller has set it, so that the measured program cannot change it.
    pub fn is_pinned(&self) -> bool {
        matches!(self, Origin::Environment(_) | Origin::Cli(_))
    }
}

/// Which processes measure the cases of a harness in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumIter)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Isolation {
    /// Every case has its own processes.
    Process,
    /// All cases of a round share one process per side until the screen has shown the candidates; these then get their
    /// own processes.
    SharedScreen,
    /// All cases of a round share a process a side, in every round.
    Shared,
}

/// A setting as records and `config show` print it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shown {
    pub value: serde_json::Value,
    pub origin: Origin,
}

/// The places besides the suite file that may set a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetBy {
    /// A flag, and the environment.
    Environment,
    /// This flag.
    Flag(&'static str),
    /// Nothing else.
    FileAlone,
}

/// Values that are laid over others of their kind: whatever is not at its default wins by its origin.
pub trait LayOver {
    fn lay_over(&self, to: &mut Self);
}

impl<T: Clone> LayOver for Setting<T> {
    fn lay_over(&self, to: &mut Self) {
        if let Some(value) = self.given() {
            to.set(value.clone(), self.origin.clone());
        }
    }
}

impl<K: Ord + Clone, T: Clone> LayOver for BTreeMap<K, Setting<T>> {
    fn lay_over(&self, to: &mut Self) {
        for (key, setting) in self {
            setting.lay_over(to.entry(key.clone()).or_insert_with(|| setting.clone()));
        }
    }
}

/// Declares a type of settings, one row per setting: the places besides the file that may set it (`env`,
/// `flag("--name")`, `file`), its field, its name in the file if that differs, its type, its default value, and how it is
/// displayed if not as it is. `and` lists fields that are not single settings of the file.
#[macro_export]
macro_rules! settings {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[$doc:meta])* $by:ident $(($flag:literal))? $field:ident $(as $key:literal)?: $type:ty = $usual:expr
              $(, |$it:ident| $show:expr)?;)*
        }
        and {
            $($(#[$more_doc:meta])* $more:ident: $more_type:ty = $more_usual:expr;)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$doc])* pub $field: $crate::Setting<$type>,)*
            $($(#[$more_doc])* pub $more: $more_type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $crate::Setting::default($usual),)* $($more: $more_usual,)* }
            }
        }

        impl $crate::LayOver for $name {
            fn lay_over(&self, to: &mut Self) {
                $($crate::LayOver::lay_over(&self.$field, &mut to.$field);)*
                $($crate::LayOver::lay_over(&self.$more, &mut to.$more);)*
            }
        }

        impl $name {
            /// The names of the settings in the suite file, and who may set them besides.
            pub const KEYS: &[(&str, $crate::SetBy)] =
                &[$(($crate::settings!(@key $field $($key)?), $crate::settings!(@by $by $($flag)?))),*];

            /// Each setting by its name in the suite file, with its origin. Durations are text (`1m 30s`), as the suite file
            /// takes them.
            pub fn rows(&self) -> std::collections::BTreeMap<String, $crate::Shown> {
                std::collections::BTreeMap::from([$((
                    $crate::settings!(@key $field $($key)?).to_owned(),
                    self.$field.shown($crate::settings!(@show self.$field.value $(, $it, $show)?)),
                )),*])
            }
        }
    };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
    (@by env) => { $crate::SetBy::Environment };
    (@by flag $flag:literal) => { $crate::SetBy::Flag($flag) };
    (@by file) => { $crate::SetBy::FileAlone };
    (@show $value:expr) => { serde_json::json!($value) };
    (@show $value:expr, $it:ident, $show:expr) => {{
        let $it = &$value;
        serde_json::Value::from($show)
    }};
}

settings! {
    /// The effective settings of one benchmark.
    pub struct Settings {
        /// Fresh processes for every case: the statistical unit.
        env processes: u32 = 5;
        /// Measured iterations that a process is asked for.
        env iterations: u32 = 30;
        /// Warm-up iterations that a process is asked for.
        env warmup: u32 = 10;
        /// Seconds that a time-bound process should measure for; 0: by iterations.
        env duration: f64 = 0.0, |it| format_duration(*it);
        /// Seconds of time-based warm-up; 0: by iterations.
        env burnin: f64 = 0.0, |it| format_duration(*it);
        /// Empty caches and no warm-up.
        env thermal as "cold": Thermal = Thermal::Warm, |it| *it == Thermal::Cold;
        /// Multiplies every deadline, whichever layer set it.
        env deadline_multiplier: f64 = 1.0;
        /// Address space of a child in bytes; 0: no limit.
        env memory_limit: u64 = 0;
        /// Bytes of stdout and of stderr that are kept from each process.
        env log_limit: u64 = 1 << 20;
        /// Percentiles to report in addition to the six standard ones, in percent.
        env percentiles: Vec<f64> = Vec::new();
        /// The least relative change that matters: 0.05 is 5 %.
        flag("--threshold") threshold: f64 = 0.05;
        /// In rounds: certified unchanged within this.
        file target: f64 = 0.02;
        /// In rounds: a red must lie beyond this.
        file min_effect: f64 = 0.0025;
        /// A seed for the child's generators.
        env seed: u64 = 1337;
        /// A missing requirement fails the case instead of skipping it.
        file fail_on_missing: bool = false;
        /// The program can take turns with the other side's, over the protocol.
        file lockstep: bool = false;
        /// One process may measure several points of the benchmark.
        file share: bool = false;
        /// Which processes measure the cases of a harness.
        file isolation: Isolation = Isolation::Process, |it| it.into_str();
        /// Count instructions in addition to the time.
        file count: Counting = Counting::Off, |it| it.into_str();
        /// Treat hardware limits on the card's clocks as its usual state, without a warning.
        file usual_slowdown: bool = false;
        /// Which GPUs a child may see, as CUDA_VISIBLE_DEVICES takes it; empty: as the gate sees them.
        env device: String = String::new();
    }
    and {
        deadlines: BTreeMap<Stage, Setting<f64>> = {
            let usual = Deadlines::default();
            Stage::iter().map(|stage| (stage, Setting::default(usual.get(stage)))).collect()
        };
    }
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

    /// [`Settings::rows`], and the deadlines.
    pub fn shown(&self) -> BTreeMap<String, Shown> {
        let mut rows = self.rows();
        for (stage, seconds) in &self.deadlines {
            rows.insert(format!("deadlines.{stage}"), seconds.shown(format_duration(seconds.value)));
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
