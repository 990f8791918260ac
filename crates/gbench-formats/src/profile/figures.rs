//! Maps `ncu`'s metrics to figures.
//!
//! The raw page has names of metrics, the details page labels, which changed: `SOL DRAM` and `SM [%]` until 2021,
//! `Compute (SM) [%]` in 2022, `Compute (SM) Throughput` since. With `--print-metric-name` it has names, or `Label
//! (name)`. A metric is a figure only in a unit of that figure: `Memory Throughput` in percent and in bytes per second
//! are different figures, and in an unknown unit it is neither.

use super::unit;
use gbench_model::ProfileFigure::{self, *};
use gbench_model::RawMetric;

struct Source {
    figure: ProfileFigure,
    names: &'static [&'static str],
    labels: &'static [&'static str],
}

const fn source(
    figure: ProfileFigure,
    names: &'static [&'static str],
    labels: &'static [&'static str],
) -> Source {
    Source { figure, names, labels }
}

const SOURCES: [Source; 19] = [
    source(KernelTime, &["gpu__time_duration.sum", "gpu__time_duration.avg"], &["Duration"]),
    source(
        SmThroughput,
        &["sm__throughput.avg.pct_of_peak_sustained_elapsed"],
        &["Compute (SM) Throughput", "Compute (SM) [%]", "SM [%]", "SOL SM"],
    ),
    source(
        MemoryThroughput,
        &["gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"],
        &["Memory Throughput", "Memory [%]"],
    ),
    source(
        DramThroughput,
        &[
            "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
            "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        ],
        &["DRAM Throughput", "SOL DRAM"],
    ),
    source(
        L2Throughput,
        &["lts__throughput.avg.pct_of_peak_sustained_elapsed"],
        &["L2 Cache Throughput", "SOL L2 Cache"],
    ),
    source(
        L1Throughput,
        &["l1tex__throughput.avg.pct_of_peak_sustained_active"],
        &["L1/TEX Cache Throughput", "SOL L1/TEX Cache"],
    ),
    source(Occupancy, &["sm__warps_active.avg.pct_of_peak_sustained_active"], &["Achieved Occupancy"]),
    source(TheoreticalOccupancy, &["sm__maximum_warps_per_active_cycle_pct"], &["Theoretical Occupancy"]),
    source(DramBytesRead, &["dram__bytes_read.sum", "dram__bytes_op_read.sum"], &[]),
    source(DramBytesWritten, &["dram__bytes_write.sum", "dram__bytes_op_write.sum"], &[]),
    source(DramBandwidth, &["dram__bytes.sum.per_second"], &["Memory Throughput"]),
    source(L2HitRate, &["lts__t_sector_hit_rate.pct"], &["L2 Hit Rate"]),
    source(L1HitRate, &["l1tex__t_sector_hit_rate.pct"], &["L1/TEX Hit Rate"]),
    source(Registers, &["launch__registers_per_thread"], &["Registers Per Thread"]),
    source(
        SmClock,
        &["gpc__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second"],
        &["SM Frequency"],
    ),
    source(DramClock, &["dram__cycles_elapsed.avg.per_second"], &["DRAM Frequency"]),
    source(Instructions, &["smsp__inst_executed.sum", "sm__inst_executed.sum"], &["Executed Instructions"]),
    source(InstructionsPerCycle, &["sm__inst_executed.avg.per_cycle_active"], &["Executed Ipc Active"]),
    source(Cycles, &["gpc__cycles_elapsed.max", "sm__cycles_elapsed.max"], &["Elapsed Cycles"]),
];

/// A program's request has two parts; `launch__shared_mem_per_block` also includes the driver's.
const SHARED: [(&str, &str); 2] = [
    ("launch__shared_mem_per_block_static", "Static Shared Memory Per Block"),
    ("launch__shared_mem_per_block_dynamic", "Dynamic Shared Memory Per Block"),
];

pub(super) type NamedMetric = (String, RawMetric);

/// The figures of one launch, and its remaining metrics.
pub(super) fn figures_of(mut metrics: Vec<NamedMetric>) -> (Vec<(ProfileFigure, f64)>, Vec<NamedMetric>) {
    let mut figures = Vec::new();
    for source in &SOURCES {
        let place = source.names.iter().chain(source.labels).find_map(|name| {
            metrics.iter().position(|(own, metric)| is_named(own, name) && in_figure(metric, source.figure))
        });
        if let Some((figure, value)) = place.and_then(|place| {
            let (_, metric) = metrics.remove(place);
            Some((source.figure, value(&metric)?))
        }) {
            figures.push((figure, value));
        }
    }
    let shared = |(name, label): (&str, &str)| {
        metrics.iter().position(|(own, metric)| {
            (is_named(own, name) || is_named(own, label)) && in_figure(metric, SharedBytes)
        })
    };
    if let [Some(own), Some(asked)] = SHARED.map(shared)
        && own != asked
    {
        let bytes = |place: usize| metrics.get(place).and_then(|(_, metric)| value(metric)).unwrap_or(0.0);
        figures.push((SharedBytes, bytes(own) + bytes(asked)));
        metrics.remove(own.max(asked));
        metrics.remove(own.min(asked));
    }
    (figures, metrics)
}

/// `Label (name)` contains both names.
fn is_named(own: &str, name: &str) -> bool {
    let inner = || own.strip_suffix(')')?.rsplit_once(" (").map(|(_, inner)| inner);
    own == name || inner() == Some(name)
}

fn in_figure(metric: &RawMetric, figure: ProfileFigure) -> bool {
    unit::scale(&metric.unit).is_some_and(|(_, base)| base == figure.unit())
}

fn value(metric: &RawMetric) -> Option<f64> {
    unit::scale(&metric.unit).map(|(power, _)| unit::shifted(metric.value, power))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(name: &str, value: f64, unit: &str) -> NamedMetric {
        (name.to_owned(), RawMetric { value, unit: unit.to_owned() })
    }

    #[test]
    fn a_label_in_two_units_is_two_figures_and_in_an_unknown_one_none() {
        let (figures, raw) = figures_of(vec![
            metric("Memory Throughput", 90.5, "%"),
            metric("Memory Throughput", 512.0, "Gbyte/second"),
            metric("Duration", 7.0, "fortnight"),
            metric("SM Frequency (gpc__cycles_elapsed.avg.per_second)", 1.5, "cycle/nsecond"),
        ]);
        assert_eq!(figures, [(MemoryThroughput, 90.5), (DramBandwidth, 512e9), (SmClock, 1.5e9)]);
        assert_eq!(raw, [metric("Duration", 7.0, "fortnight")]);
    }

    #[test]
    fn shared_memory_is_the_sum_of_what_the_program_asks_for() {
        let (figures, raw) = figures_of(vec![
            metric("launch__shared_mem_per_block_dynamic", 1.0, "Kbyte/block"),
            metric("launch__shared_mem_per_block_driver", 1.024, "Kbyte/block"),
            metric("launch__shared_mem_per_block_static", 512.0, "byte/block"),
        ]);
        assert_eq!(figures, [(SharedBytes, 1512.0)]);
        assert_eq!(raw.len(), 1);
        let (figures, raw) =
            figures_of(vec![metric("launch__shared_mem_per_block_static", 512.0, "byte/block")]);
        assert_eq!((figures.len(), raw.len()), (0, 1));
    }
}
