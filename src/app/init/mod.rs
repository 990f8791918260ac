//! A first suite file from what lies in a folder, and the workflows for GitHub Actions. Starts no child.

mod action_ref;
mod actionlint;
mod jobs;
mod next_steps;
mod suite_file;
mod template;
mod workflows;

pub use action_ref::ActionRef;
pub use jobs::{MeasuringJob, USUAL_LABELS, jobs, runner_labels};
pub use next_steps::NextSteps;
pub use suite_file::{WrittenSuite, folder_of, write_suite};
pub use template::ForkRuns;
pub use workflows::{ActionlintFile, PreparedWorkflows, WorkflowsRequest, WrittenWorkflows};
