//! Clocks that the gate locks for a measurement: the request, and the outcome in the record.

use std::fmt;
use std::str::FromStr;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::record::manifest::Probe;

/// MHz; no card has more, and drivers interpret larger numbers as symbolic values.
const MOST_MHZ: u32 = 100_000;

/// The requested lock of a GPU's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockChoice {
    /// No lock.
    #[default]
    Off,
    /// The clock that the card sustains under any load within its power limit, known only to the driver.
    Base,
    /// The highest clock that the driver lists.
    Max,
    /// MHz, both ends included.
    Range { min: u32, max: u32 },
}

impl ClockChoice {
    pub fn is_off(self) -> bool {
        self == Self::Off
    }

    /// Errors: why this is not a clock.
    pub fn of_mhz(mhz: f64) -> Result<Self, String> {
        let whole = mhz.fract() == 0.0 && (1.0..=f64::from(MOST_MHZ)).contains(&mhz);
        let range = |mhz: u32| Self::Range { min: mhz, max: mhz };
        if whole { Ok(range(mhz as u32)) } else { Err(format!("{mhz} is not a valid clock in MHz")) }
    }
}

impl fmt::Display for ClockChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Off => f.write_str("off"),
            Self::Base => f.write_str("base"),
            Self::Max => f.write_str("max"),
            Self::Range { min, max } if min == max => write!(f, "{min}"),
            Self::Range { min, max } => write!(f, "{min}-{max}"),
        }
    }
}

impl FromStr for ClockChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let named = [Self::Off, Self::Base, Self::Max].into_iter().find(|choice| choice.to_string() == text);
        if let Some(choice) = named {
            return Ok(choice);
        }
        let wrong = || format!("`{text}` is not a valid clock");
        let mhz = |text: &str| {
            let number = text.trim().parse::<u32>().ok()?;
            (1..=MOST_MHZ).contains(&number).then_some(number)
        };
        let (min, max) = text.split_once('-').unwrap_or((text, text));
        let (min, max) = mhz(min).zip(mhz(max)).ok_or_else(wrong)?;
        if min > max {
            Err(format!("{min} MHz are more than {max} MHz"))
        } else {
            Ok(Self::Range { min, max })
        }
    }
}

/// One of the two clocks of a GPU that can be locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum ClockDomain {
    /// The clock of the streaming multiprocessors.
    Sm,
    Memory,
}

/// The clocks that the gate was asked to lock for a run, and what came of it. At the run's end it gives them back.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClockControl {
    pub state: ClocksState,
    /// As it was asked for: `base`, `max`, `1410`, `1200-1410`. Absent: not asked for.
    pub sm: Option<String>,
    pub memory: Option<String>,
    /// Watts, as asked for.
    pub power_limit: Option<f64>,
    /// Why nothing could be tried.
    pub why: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<ControlledGpu>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum ClocksState {
    /// The driver has taken every lock that was asked for.
    Locked,
    /// Some of them.
    Partly,
    /// None.
    Unlocked,
}

/// One GPU whose clocks were asked for.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ControlledGpu {
    pub index: u32,
    pub uuid: String,
    pub before: ClocksBefore,
    pub sm: Option<ControlledClock>,
    pub memory: Option<ControlledClock>,
    pub power_limit: Option<ControlledPower>,
}

/// A GPU's clocks before the first one was locked. Clocks in MHz.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClocksBefore {
    pub sm_clock: Probe<u32>,
    pub memory_clock: Probe<u32>,
    /// The chosen application clock of the multiprocessors.
    pub application_clock: Probe<u32>,
    /// True if the clocks were locked before, as reported by NVML.
    pub held: Probe<bool>,
    pub persistence: Probe<bool>,
}

/// The outcome of one lock.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ControlledClock {
    pub outcome: ClockOutcome,
    /// The requested clock in MHz; absent for `base`, which only the driver knows, and if no clock was requested.
    pub min_mhz: Option<u32>,
    pub max_mhz: Option<u32>,
    /// MHz that the clock read right afterwards.
    pub reads_mhz: Option<u32>,
    /// Why it is not locked.
    pub why: Option<String>,
}

/// The outcome of setting a power limit, in watts.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ControlledPower {
    /// `locked`: the limit is set.
    pub outcome: ClockOutcome,
    /// The limit before, which is restored at the end.
    pub before: Option<f64>,
    /// The enforced limit right afterwards.
    pub reads: Option<f64>,
    /// Why it is not set.
    pub why: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ClockOutcome {
    Locked,
    NoPermission,
    NotSupported,
    /// The driver failed in another way.
    Failed,
    /// Another process has locked the clock: it was not touched.
    Left,
}

impl ClockControl {
    /// The gate has locked the clock of a card's multiprocessors.
    pub fn locks_sm(&self) -> bool {
        self.gpus.iter().any(|gpu| gpu.is_locked(ClockDomain::Sm))
    }
}

impl ControlledGpu {
    /// Each requested clock.
    pub fn clocks(&self) -> impl Iterator<Item = (ClockDomain, &ControlledClock)> {
        let both = [(ClockDomain::Sm, &self.sm), (ClockDomain::Memory, &self.memory)];
        both.into_iter().filter_map(|(domain, clock)| Some((domain, clock.as_ref()?)))
    }

    pub fn is_locked(&self, domain: ClockDomain) -> bool {
        self.clocks().any(|(other, clock)| other == domain && clock.outcome == ClockOutcome::Locked)
    }

    /// The limit that was set and is enforced, in watts; `None`: none was set.
    pub fn set_limit(&self) -> Option<f64> {
        self.power_limit.as_ref().filter(|limit| limit.outcome == ClockOutcome::Locked)?.reads
    }

    fn outcomes(&self) -> impl Iterator<Item = ClockOutcome> {
        let clocks = self.clocks().map(|(_, clock)| clock.outcome);
        clocks.chain(self.power_limit.iter().map(|limit| limit.outcome))
    }
}

impl ClockControl {
    /// The outcome if no lock could be attempted.
    pub fn untried(choices: [ClockChoice; 2], power_limit: Option<f64>, why: String) -> Self {
        Self { why: Some(why), ..Self::new(choices, power_limit, Vec::new()) }
    }

    pub fn new(choices: [ClockChoice; 2], power_limit: Option<f64>, gpus: Vec<ControlledGpu>) -> Self {
        let outcomes = || gpus.iter().flat_map(ControlledGpu::outcomes);
        let is_locked = |outcome| outcome == ClockOutcome::Locked;
        let state = match (outcomes().any(is_locked), outcomes().all(is_locked)) {
            (true, true) => ClocksState::Locked,
            (true, false) => ClocksState::Partly,
            (false, _) => ClocksState::Unlocked,
        };
        let [sm, memory] = choices.map(|choice| (!choice.is_off()).then(|| choice.to_string()));
        Self { state, sm, memory, power_limit, why: None, gpus }
    }

    /// One line for reports: `clocks: locked: GPU 0 sm 1410 MHz (reads 1410 MHz)`.
    pub fn sentence(&self) -> String {
        format!("clocks: {}", self.summary())
    }

    /// [`Self::sentence`] without its first word.
    pub fn summary(&self) -> String {
        let state: &str = self.state.into();
        if let Some(why) = &self.why {
            return format!("{state}: {why}");
        }
        let clock = |(domain, clock): (ClockDomain, &ControlledClock)| {
            let name: &str = domain.into();
            let asked = match domain {
                ClockDomain::Sm => &self.sm,
                ClockDomain::Memory => &self.memory,
            };
            let asked = match (clock.min_mhz, clock.max_mhz) {
                (Some(min), Some(max)) => format!("{} MHz", ClockChoice::Range { min, max }),
                _ => asked.clone().unwrap_or_default(),
            };
            match (&clock.why, clock.reads_mhz) {
                (Some(why), _) => format!("{name} not locked ({why})"),
                (None, Some(reads)) => format!("{name} {asked} (reads {reads} MHz)"),
                (None, None) => format!("{name} {asked} (does not read back)"),
            }
        };
        let limit = |limit: &ControlledPower| match (&limit.why, limit.reads, limit.before) {
            (Some(why), _, _) => format!("power limit not set ({why})"),
            (None, Some(reads), Some(before)) => format!("power limit {reads} W (before {before} W)"),
            (None, _, _) => "power limit set (does not read back)".into(),
        };
        let gpu = |gpu: &ControlledGpu| {
            let clocks: Vec<String> =
                gpu.clocks().map(clock).chain(gpu.power_limit.iter().map(limit)).collect();
            format!("GPU {} {}", gpu.index, clocks.join(", "))
        };
        format!("{state}: {}", self.gpus.iter().map(gpu).collect::<Vec<_>>().join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_a_word_a_number_or_a_range_and_is_written_as_it_is_read() {
        for text in ["off", "base", "max", "1410", "1200-1410"] {
            assert_eq!(text.parse::<ClockChoice>().unwrap().to_string(), text);
        }
        assert_eq!("1410-1410".parse(), Ok(ClockChoice::Range { min: 1410, max: 1410 }));
        assert_eq!(ClockChoice::of_mhz(1410.0), "1410".parse());
        for text in ["", "fast", "0", "-5", "1410-1200", "4294967041", "1.5"] {
            assert!(text.parse::<ClockChoice>().is_err(), "{text}");
        }
        assert!(ClockChoice::of_mhz(1.5).is_err() && ClockChoice::of_mhz(f64::NAN).is_err());
    }
}
