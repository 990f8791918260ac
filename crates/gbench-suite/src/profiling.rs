//! `[profile]`: which profilers watch a case after it was measured, and how much they look at.

use gbench_model::{MetricSet, Profiler, Setting};

/// `[profile]`: what runs under profilers once all is measured. Only the table of the whole file and a flag say it: no benchmark can.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileOptions {
    /// Each takes a process of its own of every case; empty: nothing is profiled.
    pub profilers: Setting<Vec<Profiler>>,
    /// How much Nsight Compute counts.
    pub metrics: Setting<MetricSet>,
    /// What Nsight Systems traces, by its own words.
    pub trace: Setting<Vec<String>>,
}

impl Default for ProfileOptions {
    fn default() -> Self {
        Self {
            profilers: Setting::default(Vec::new()),
            metrics: Setting::default(MetricSet::default()),
            trace: Setting::default(["cuda", "nvtx", "osrt"].map(str::to_owned).to_vec()),
        }
    }
}
