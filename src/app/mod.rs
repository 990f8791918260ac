//! The use cases of the commands, a file each: a request in, a value out. Nothing here knows a command line's flags, prints
//! or picks an exit code: `cli` turns flags into a request, prints the value and picks the code.

pub mod baselines;
pub mod builtins;
pub mod calibrate;
pub mod calibration;
pub mod compare_commits;
pub mod compare_records;
pub mod compare_target;
pub mod demo;
pub mod effective_settings;
pub mod environment;
pub mod explain;
pub mod export;
pub mod github_client;
pub mod init;
pub mod job_flags;
pub mod kept_comparison;
pub mod manifests;
pub mod measure;
pub mod paths;
pub mod positive_control;
pub mod progress;
pub mod random;
pub mod replay;
pub mod request;
pub mod resume;
pub mod scheduler;
pub mod selection_filter;
pub mod side_suites;
pub mod stores;
pub mod subject;
pub mod verdict_files;
