//! Numbers in, numbers out: the statistics of the gate, free of any noun of ours.
//!
//! Every figure is held against NumPy, SciPy or statsmodels in `fixtures/statistics`.

#![forbid(unsafe_code)]
// A user's input never ends in a panic; where one is impossible, `#[expect]` stands beside the proof.
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

/// Reference figures for the tests of this crate.
#[cfg(test)]
mod figures {
    use serde::de::DeserializeOwned;

    #[derive(serde::Deserialize)]
    struct Figures<T> {
        cases: Vec<T>,
    }

    pub(crate) fn read<T: DeserializeOwned>(name: &str) -> Vec<T> {
        let path = format!("{}/../../fixtures/statistics/{name}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let figures: Figures<T> = serde_json::from_str(&text).unwrap();
        assert!(!figures.cases.is_empty());
        figures.cases
    }

    /// Fails unless `ours` is within `tolerance` of `theirs`, relative to it.
    pub(crate) fn close(ours: f64, theirs: f64, tolerance: f64, what: &str) {
        let off = (ours - theirs).abs();
        assert!(off <= tolerance * theirs.abs(), "{what}: {ours:e} is not {theirs:e} (off by {off:e})");
    }
}
