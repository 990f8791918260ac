//! Reads profilers' output: kernels with figures whose unit and meaning depend neither on the profiler nor on its version
//! or locale.
//!
//! ```text
//! ncu --import X --csv --page raw      a row a launch    read_ncu_csv      \
//! ncu --import X --csv --page details  a row a metric    read_ncu_csv       |  Vec<KernelProfile>
//! nsys stats --format csv              a row a kernel    read_nsys_stats    |
//! torch.profiler                       Chrome trace      read_torch_trace  /
//! ```
//!
//! An incomplete text, or an ambiguous number, is refused with its line: a wrong profile is worse than none.
//! [`adapters::formats`](crate::adapters) reads the same files as results that are judged; both use
//! [`model::profiler_csv`](gbench_model::profiler_csv).

mod figures;
mod kernels;
mod metric_sets;
mod ncu;
mod nsys;
mod number;
mod sanitizer;
#[cfg(test)]
mod tests;
mod torch;
mod unit;

pub use metric_sets::{ncu_metrics, ncu_section_set};
pub use ncu::read_ncu_csv;
pub use nsys::read_nsys_stats;
pub use sanitizer::{SanitizerLog, read_sanitizer_log};
pub use torch::read_torch_trace;

use gbench_model::profiler_csv::DamagedCsv;

/// Why a profiler's text yields no profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileReadError {
    /// The profiler recorded no kernel, whatever its exit code.
    #[error("no kernel was seen")]
    Nothing,
    #[error("it says: {said}")]
    Said { said: String },
    /// From 1.
    #[error("line {line}: {what}")]
    Line { line: usize, what: String },
    /// An event of a trace, from 0.
    #[error("traceEvents[{event}]: {what}")]
    Event { event: usize, what: String },
}

impl ProfileReadError {
    fn line(line: usize, what: impl Into<String>) -> Self {
        Self::Line { line, what: what.into() }
    }
}

impl From<DamagedCsv> for ProfileReadError {
    fn from(damage: DamagedCsv) -> Self {
        Self::line(damage.line, damage.what)
    }
}
