//! The base's options and the ids of both commits, for a launch.

use std::path::Path;

use crate::app::compare::suite_of_commit::{path_in, suite_of_commit};
use crate::app::request::CommitsRequest;
use crate::machine::open_repository;
use crate::model::{Fault, Result};
use crate::suite::{Benchmark, LauncherOptions};
use crate::trees::{self, Range, Sides};

/// `[launcher]` of the base's suite file: a change does not choose who runs it. Only where a comparison begins: a job of a
/// launch, and a comparison that is resumed, measure.
pub(crate) fn launcher_options(request: &CommitsRequest, builtins: &[Benchmark]) -> Result<LauncherOptions> {
    let goes_on = request.resume.is_some() || request.suite_file.is_some();
    if goes_on || request.run.selection.shard.is_some() {
        return Ok(LauncherOptions::default());
    }
    let config = request.run.selection.suite_path()?;
    let folder = config.parent().unwrap_or(&config);
    let Ok(repository) = open_repository(folder) else { return Ok(LauncherOptions::default()) };
    // Commits and files that are not there or cannot be read are a matter of the comparison.
    let Ok(Sides { base, .. }) = trees::resolve(folder, &Range::parse(request.range.as_deref())) else {
        return Ok(LauncherOptions::default());
    };
    let suite = path_in(&repository, &config)
        .and_then(|file| suite_of_commit(&repository, &base.commit, &file, builtins));
    Ok(suite.map_or_else(LauncherOptions::default, |suite| suite.launcher))
}

/// The range with both commits in full. Errors: a side is the working tree, which a job elsewhere may find changed.
pub(crate) fn full_range(request: &CommitsRequest, home: &Path) -> Result<String> {
    let Sides { base, head } = trees::resolve(home, &Range::parse(request.range.as_deref()))?;
    if base.is_working_tree || head.is_working_tree {
        let what = "a job starts later, and would measure what your working tree is then";
        return Err(Fault::at(
            "--launcher",
            what,
            "commit, and compare commits: `BASE..HEAD`; or measure here: `--launcher none`",
        ));
    }
    Ok(format!("{}..{}", base.commit, head.commit))
}
