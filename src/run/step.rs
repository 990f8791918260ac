//! The launch of a step beside the measurements: a build, the start of an interpreter, the command after a timeout.

use std::time::Instant;

use super::environment;
use super::executor::{Launch, StagePlan};
use crate::model::Stage;
use crate::suite::Benchmark;

/// Bytes kept of each stream of a step: all of it, unless its output has no end.
const MAX_OUTPUT: usize = 32 << 20;

/// A process beside the measured ones, all of it one stage.
pub(super) fn step_launch(
    benchmark: &Benchmark,
    argv: Vec<String>,
    dir: std::path::PathBuf,
    stage: Stage,
    until: Option<Instant>,
) -> Launch {
    let settings = &benchmark.settings;
    Launch {
        argv,
        dir,
        env: environment::of_benchmark(benchmark),
        stages: StagePlan {
            follows_events: false,
            first: stage,
            deadlines: settings.deadlines.clone(),
            multiplier: settings.deadline_multiplier.value,
        },
        memory_limit: 0,
        stdout_limit: MAX_OUTPUT,
        stderr_limit: MAX_OUTPUT,
        until,
    }
}
