//! A process of a case under another program, whose words precede the case's command.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::executor::{Launch, StagePlan};
use gbench_model::line::env::NVTX;
use gbench_model::{Setting, Stage};

#[derive(Clone, Debug)]
pub(crate) struct Wrapping {
    pub words: Vec<String>,
    /// Seconds for the whole process, before the multiplier.
    pub limit: Setting<f64>,
    /// For the profiler in the Python driver: the paths of its trace and its table.
    pub torch: Option<[PathBuf; 2]>,
    pub folder: PathBuf,
    /// Variables of the process.
    pub env: Vec<(&'static str, &'static str)>,
}

impl Wrapping {
    /// There is a single stage: a watched program takes so much longer that its own limits are meaningless.
    pub(crate) fn apply(&self, launch: &mut Launch) {
        launch.argv.splice(0..0, self.words.iter().cloned());
        launch.env.push((NVTX.into(), "1".into()));
        launch.env.extend(self.env.iter().map(|(name, value)| ((*name).into(), (*value).into())));
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
