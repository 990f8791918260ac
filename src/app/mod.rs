//! The use cases of the commands, a file each: a request in, a value out. Nothing here knows a command line's flags, prints
//! or picks an exit code: `cli` turns flags into a request, prints the value and picks the code.

pub mod builtins;
pub mod calibration;
pub mod ci_job;
pub mod compare_commits;
pub mod compare_records;
pub mod compare_target;
pub mod effective_settings;
pub mod environment;
pub mod export;
pub mod fail_on;
pub mod github_client;
pub mod init;
pub mod job_flags;
pub mod kept_comparison;
pub mod matrix;
pub mod measure;
pub mod merge;
pub mod paths;
pub mod positive_control;
pub mod progress;
pub mod publish;
pub mod random;
pub mod request;
pub mod resume;
pub mod runner_guard;
pub mod scheduler;
pub mod selection_filter;
pub mod side_suites;
pub mod step_outputs;
pub mod stores;
pub mod subject;
pub mod untrusted;
pub mod verdict_files;
