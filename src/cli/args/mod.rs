//! The flags that several commands share, and the parts of requests that they become.

mod ingest;
mod measure;
mod profile;
mod rounds;
mod runs;
mod selection;
mod sweep;
mod words;

pub use ingest::IngestArgs;
pub use measure::{ArtifactsArgs, MeasureArgs};
pub use profile::{ProfileArgs, metrics, profiler};
pub use rounds::{RoundsArgs, budget};
pub use runs::RunsArgs;
pub use selection::{SelectionArgs, SettingsArgs};
pub use sweep::{SweepArgs, SweepFilterArgs, check_sweep, sweep};
pub use words::{PageFormat, format_parser};
