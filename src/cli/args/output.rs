//! The flags that say where results go, and how much is reported on the way.

use std::path::PathBuf;

use super::rounds::duration;
use crate::app::request::OutputRequest;
use crate::model::Result;

/// Where results go and how much progress is shown.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Folder for run folders [default: `artifacts` beside the suite file]
    #[arg(long, value_name = "DIR")]
    pub artifacts: Option<PathBuf>,
    /// Time for the whole run; 0: no limit [default: 4h, or the suite file's]
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true)]
    pub deadline: Option<String>,
    /// No progress on standard error
    #[arg(long, short)]
    pub quiet: bool,
}

impl OutputArgs {
    /// Errors: a deadline that is no duration.
    pub fn request(&self) -> Result<OutputRequest> {
        let next = "give a duration such as 90s or 2h";
        let deadline = duration("--deadline", self.deadline.as_deref(), next)?;
        Ok(OutputRequest { artifacts: self.artifacts.clone(), deadline })
    }
}
