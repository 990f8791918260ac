//! The use cases of the commands, a file each: a request in, a value out. Nothing here knows a command line's flags, prints
//! or picks an exit code: `cli` turns flags into a request, prints the value and picks the code.

pub mod builtins;
pub mod environment;
pub mod export;
pub mod github_client;
pub mod init;
pub mod paths;
pub mod stores;
