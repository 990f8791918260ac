//! The flag that gives both sides of a comparison one suite file.

use std::path::PathBuf;

/// One suite file for both sides.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Between commits")]
pub struct SuiteFileArgs {
    /// Measure both sides with this suite file instead of their own; the base's own still judges, where it has one
    /// [default: the checkout's, where no commit to be compared has any]
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    pub suite_file: Option<PathBuf>,
}

impl SuiteFileArgs {
    pub fn flag(&self) -> Option<&'static str> {
        self.suite_file.is_some().then_some("--suite-file")
    }
}
