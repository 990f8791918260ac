//! Names of figures, values in their units, and the outcome of a profile.

use crate::layout::number;
use gbench_model::{Profile, ProfileFigure, ProfileOutcome, Profiler, format_duration};

pub(crate) fn named(figure: ProfileFigure) -> &'static str {
    match figure {
        ProfileFigure::KernelTime => "time of a launch",
        ProfileFigure::Launches => "launches",
        ProfileFigure::SmThroughput => "SM throughput",
        ProfileFigure::MemoryThroughput => "memory throughput",
        ProfileFigure::DramThroughput => "DRAM throughput",
        ProfileFigure::L2Throughput => "L2 throughput",
        ProfileFigure::L1Throughput => "L1 throughput",
        ProfileFigure::Occupancy => "occupancy",
        ProfileFigure::TheoreticalOccupancy => "theoretical occupancy",
        ProfileFigure::DramBytesRead => "DRAM read",
        ProfileFigure::DramBytesWritten => "DRAM written",
        ProfileFigure::DramBandwidth => "DRAM bandwidth",
        ProfileFigure::L2HitRate => "L2 hit rate",
        ProfileFigure::L1HitRate => "L1 hit rate",
        ProfileFigure::Registers => "registers of a thread",
        ProfileFigure::SharedBytes => "shared memory of a block",
        ProfileFigure::SmClock => "SM clock",
        ProfileFigure::DramClock => "DRAM clock",
        ProfileFigure::Instructions => "instructions",
        ProfileFigure::InstructionsPerCycle => "instructions per cycle",
        ProfileFigure::Cycles => "cycles",
    }
}

/// The unit after a value; empty if the figure's name is a count.
pub(crate) fn unit(figure: ProfileFigure) -> &'static str {
    match figure.unit() {
        unit @ ("s" | "%" | "B" | "B/s" | "Hz" | "cycles") => unit,
        _ => "",
    }
}

pub(crate) fn value(figure: ProfileFigure, value: f64) -> String {
    number::value(value, unit(figure))
}

pub(crate) fn by(profile: &Profile) -> String {
    let version = profile.version.as_deref().map_or(String::new(), |version| format!(" {version}"));
    format!("{}{version}", profile.profiler.into_str())
}

/// True for a sanitizer that found nothing.
pub(crate) fn is_clean(profile: &Profile) -> bool {
    profile.profiler.is_sanitizer() && profile.outcome == ProfileOutcome::Taken
}

/// Why there is no profile; `None` if there is one.
pub(crate) fn not_taken(profile: &Profile) -> Option<String> {
    match &profile.outcome {
        ProfileOutcome::Taken => None,
        ProfileOutcome::Missing { program } => Some(format!("not taken: `{program}` is not here")),
        ProfileOutcome::TimedOut { limit } => {
            Some(format!("not taken: it was stopped at its limit of {}", format_duration(*limit)))
        }
        ProfileOutcome::Failed { cause } if profile.profiler.is_sanitizer() => Some(cause.clone()),
        ProfileOutcome::Failed { cause } => Some(format!("not taken: {cause}")),
    }
}

/// The program that opens one of its reports.
pub(crate) fn opened_with(profiler: Profiler, report: &str) -> &'static str {
    match profiler {
        Profiler::Nsys => "nsys-ui",
        Profiler::Ncu => "ncu-ui",
        Profiler::Torch if !report.ends_with(".txt") => "ui.perfetto.dev, or chrome://tracing",
        _ => "a text editor",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b19_a_table_of_text_is_not_opened_with_a_viewer_of_traces() {
        assert!(opened_with(Profiler::Torch, "profiles/a_torch_trace.json").contains("perfetto"));
        assert_eq!(opened_with(Profiler::Torch, "profiles/a_torch_table.txt"), "a text editor");
    }
}
