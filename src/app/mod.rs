//! The use cases of the commands, a file each: a request in, a value out. Nothing here knows a command line's flags or
//! prints: `cli` turns flags into a request and prints the value.

pub(crate) mod bisect;
pub(crate) mod builtins;
pub(crate) mod calibration;
pub(crate) mod ci_job;
pub(crate) mod compare;
pub(crate) mod demo;
pub mod discover;
pub(crate) mod github;
pub(crate) mod history;
pub(crate) mod ingest;
pub(crate) mod init;
pub(crate) mod launch;
pub(crate) mod measuring;
pub(crate) mod paths;
pub(crate) mod progress;
pub(crate) mod publish;
pub(crate) mod reports;
pub(crate) mod request;
pub(crate) mod rounds;
pub(crate) mod shards;
pub(crate) mod store;
pub mod untrusted;

pub use builtins::micro_child;
