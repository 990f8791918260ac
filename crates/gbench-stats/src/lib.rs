//! Statistics of the gate: numbers in, numbers out, without any of the project's types.
//!
//! Every figure is checked against NumPy, SciPy or statsmodels in `fixtures/statistics`.

#![forbid(unsafe_code)]
// User input never causes a panic. Where a panic is impossible, `#[expect]` gives the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

pub mod change_points;
mod components;
pub mod drift;
mod location;
mod multiple;
pub mod noisy_bisection;
mod order_statistics;
mod prior;
pub mod prospect;
pub mod resample;
pub mod seq_e;
pub mod spread;
mod student;
mod welch;

pub use change_points::{ChangePoint, ChangeRevision, change_points, revise};
pub use components::{Components, Within, best_iterations, lag_1};
pub use drift::{Drift, drift};
pub use location::{ln_midmean, midmean};
pub use multiple::{HolmStep, holm};
pub use order_statistics::{Description, mean, median, quantile, sample_stddev, summarize};
pub use prior::Prior;
pub use student::{TQuantiles, t_tail};
pub use welch::{SampleGroup, Welch};

#[cfg(test)]
mod test_support;
