//! A first suite file from what is in a folder, and the workflows for GitHub Actions. Starts no child.

mod action_ref;
mod dependencies;
mod next_steps;
mod suite_file;
mod template;
mod workflows;

pub(crate) use action_ref::ActionRef;
pub(crate) use dependencies::dependencies;
pub(crate) use next_steps::NextSteps;
pub(crate) use suite_file::{PreparedSuite, folder_of};
pub(crate) use template::{USUAL_LABELS, WorkflowsRequest};
pub(crate) use workflows::{ActionlintFile, PreparedWorkflows};
