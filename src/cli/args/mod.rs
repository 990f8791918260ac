//! The flags that several commands share, and the parts of requests that they become.

mod artifacts;
mod fail_on;
mod format;
mod output;
mod rounds;
mod selection;
mod suite_file;

pub use artifacts::ArtifactsArgs;
pub use format::format_parser;
pub use output::OutputArgs;
pub use rounds::{RoundsArgs, budget};
pub use selection::{SelectionArgs, SettingsArgs};
pub use suite_file::SuiteFileArgs;
