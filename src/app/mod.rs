//! The use cases of the commands, a file each: a request in, a value out. Nothing here knows a command line's flags or prints: `cli`
//! turns flags into a request and prints the value.

pub(crate) mod baselines;
pub(crate) mod bisect;
mod budgeted_time;
pub(crate) mod builtins;
pub(crate) mod calibrate;
pub(crate) mod calibration;
pub(crate) mod ci_job;
mod clocks;
pub(crate) mod compare_commits;
pub(crate) mod compare_records;
pub(crate) mod compare_target;
pub(crate) mod demo;
pub mod discover;
pub(crate) mod effective_settings;
pub(crate) mod environment;
pub(crate) mod executor;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod fail_on;
pub(crate) mod github_client;
pub(crate) mod history;
pub(crate) mod ingest;
pub(crate) mod init;
pub(crate) mod job_flags;
pub(crate) mod listing;
pub(crate) mod manifests;
pub(crate) mod matrix;
pub(crate) mod measure;
pub(crate) mod measuring_lock;
pub(crate) mod merge;
pub(crate) mod paths;
pub(crate) mod profile_request;
pub(crate) mod profiling;
pub(crate) mod progress;
pub(crate) mod publish;
pub(crate) mod replay;
pub(crate) mod request;
pub(crate) mod resume;
pub(crate) mod runner_guard;
pub(crate) mod scheduler;
pub(crate) mod selection_filter;
#[cfg(test)]
mod shared_screen_tests;
mod side_by_side;
pub(crate) mod side_suites;
pub(crate) mod site;
pub(crate) mod step_outputs;
pub(crate) mod stored_comparison;
pub(crate) mod stores;
pub(crate) mod subject;
mod trial_process;
pub mod untrusted;
pub(crate) mod verdict_files;
mod watch;

pub use builtins::micro_child;
