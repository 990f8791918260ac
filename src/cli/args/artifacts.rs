//! The flags that say where runs and comparisons lie.

use std::path::PathBuf;

use crate::app::kept_comparison::ArtifactsRequest;

/// Where comparisons lie.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct ArtifactsArgs {
    /// Suite file that says where artifacts are [default: gbench.toml of this folder]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder of run folders and comparisons [default: `artifacts` beside the suite file]
    #[arg(long, value_name = "DIR")]
    artifacts: Option<PathBuf>,
}

impl ArtifactsArgs {
    pub fn request(&self) -> ArtifactsRequest {
        ArtifactsRequest { config: self.config.clone(), artifacts: self.artifacts.clone() }
    }
}
