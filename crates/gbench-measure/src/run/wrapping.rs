//! A process of a case under another program: its words come before the case's own.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::executor::{Launch, StagePlan};
use gbench_model::line::env::NVTX;
use gbench_model::{Setting, Stage};

/// Makes of a process of a case one under a profiler.
#[derive(Clone, Debug)]
pub(super) struct Wrapping {
    /// Before the case's own words.
    pub words: Vec<String>,
    /// Seconds for the whole process, before the multiplier.
    pub limit: Setting<f64>,
    /// Of the profiler that the Python driver has: where its trace goes, and its table.
    pub torch: Option<[PathBuf; 2]>,
    /// Where the reports go.
    pub folder: PathBuf,
}

impl Wrapping {
    /// All of it is one stage: a program that is watched takes so much longer that its own limits say nothing.
    pub(super) fn apply(&self, launch: &mut Launch) {
        launch.argv.splice(0..0, self.words.iter().cloned());
        launch.env.push((NVTX.into(), "1".into()));
        launch.stages = StagePlan {
            follows_events: false,
            first: Stage::Profile,
            deadlines: BTreeMap::from([(Stage::Profile, self.limit.clone())]),
            multiplier: launch.stages.multiplier,
        };
        launch.allow(&self.folder);
        // The profiler takes address space, too.
        launch.memory_limit = 0;
    }
}
