//! A first suite file from what lies in a folder, and the workflows for GitHub Actions. Starts no child.

mod action_ref;
mod dependencies;
mod next_steps;
mod suite_file;
mod template;
mod workflows;

pub use action_ref::ActionRef;
pub use dependencies::dependencies;
pub use next_steps::NextSteps;
pub use suite_file::{PreparedSuite, folder_of};
pub use template::{USUAL_LABELS, WorkflowsRequest};
pub use workflows::{ActionlintFile, PreparedWorkflows};
