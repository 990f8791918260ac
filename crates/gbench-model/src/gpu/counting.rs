//! Counting a case's events in addition to its time.

use serde::Serialize;

/// The metric of instructions per execution of a case, and its unit.
pub const INSTRUCTIONS: &str = "instructions";
pub const CYCLES: &str = "cycles";

/// How the instructions of a harness's cases are counted, in addition to their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumIter)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Counting {
    Off,
    /// By the processor's counters.
    Perf,
    /// By simulation, in processes 20 to 50 times as slow.
    Valgrind,
    /// By the processor's counters where they work, else not at all.
    Auto,
}

impl Counting {
    /// True if a setting, as shown in a record, requests counts.
    pub fn is_asked(shown: &str) -> bool {
        [Self::Perf, Self::Valgrind, Self::Auto].into_iter().any(|counting| counting.into_str() == shown)
    }
}

/// Availability of the processor's instruction counters to this process and its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CounterState {
    Works,
    /// This machine has none, as most virtual ones.
    Unsupported,
    /// The kernel keeps them to others: `kernel.perf_event_paranoid`, or a container's system call filter.
    Refused,
}
