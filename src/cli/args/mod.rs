//! The flags that several commands share, and the parts of requests that they become.

mod balance;
mod given;
mod ingest;
mod launcher;
mod measure;
mod profile;
mod rounds;
mod runs;
mod selection;
mod sweep;
mod words;

pub(super) use balance::BalanceArgs;
pub(super) use given::GivenFlags;
pub(super) use ingest::IngestArgs;
pub(super) use launcher::{LauncherArgs, words_of_jobs};
pub(super) use measure::{ArtifactsArgs, MeasureArgs};
pub(super) use profile::{ProfileArgs, metrics, profiler_or_sanitizer};
pub(super) use rounds::{RoundsArgs, budget};
pub(super) use runs::RunsArgs;
pub(super) use selection::{SelectionArgs, SettingsArgs};
pub(super) use sweep::{SweepArgs, SweepFilterArgs, check_sweep, sweep};
pub(super) use words::{PageFormat, format_parser, words};
