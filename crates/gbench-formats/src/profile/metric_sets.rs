//! The metrics that Nsight Compute counts on request.
//!
//! The names are those of compute capability 7.5 to 10.0 with dedicated memory, according to `ncu --query-metrics
//! --chips` of 2022.3 and 2024.1 (TU102 to GH100) and to the library of CUPTI 13.2 (TU102 to GB112). Cards of 12.0 have
//! `dram__bytes_op_read` and `dram__bytes_op_write` instead of `dram__bytes_read` and `dram__bytes_write`; chips that
//! share the processor's memory have no DRAM metric.
//!
//! `launch__` and `sm__maximum_warps_per_active_cycle_pct` follow from the launch and cost no pass.

use gbench_model::MetricSet;

/// Every figure of [`ProfileFigure`](gbench_model::ProfileFigure) that `ncu` has.
const FIGURES: [&str; 21] = [
    "gpu__time_duration.sum",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__maximum_warps_per_active_cycle_pct",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "dram__bytes.sum.per_second",
    "lts__t_sector_hit_rate.pct",
    "l1tex__t_sector_hit_rate.pct",
    "launch__registers_per_thread",
    "launch__shared_mem_per_block_static",
    "launch__shared_mem_per_block_dynamic",
    "gpc__cycles_elapsed.avg.per_second",
    "dram__cycles_elapsed.avg.per_second",
    "smsp__inst_executed.sum",
    "sm__inst_executed.avg.per_cycle_active",
    "gpc__cycles_elapsed.max",
];

/// The metrics for `ncu --metrics`, in addition to those of [`ncu_section_set`]: the figures, with each set.
pub fn ncu_metrics(set: MetricSet) -> &'static [&'static str] {
    match set {
        MetricSet::Minimal | MetricSet::Roofline | MetricSet::Deep => &FIGURES,
    }
}

/// The value of `--set`. `None`: no `--set`; `--metrics` alone requests no section then.
pub const fn ncu_section_set(set: MetricSet) -> Option<&'static str> {
    match set {
        MetricSet::Minimal => None,
        MetricSet::Roofline => Some("roofline"),
        MetricSet::Deep => Some("full"),
    }
}
