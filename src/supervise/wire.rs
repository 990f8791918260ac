//! The messages of gate and supervisor over their socket: one JSON line each way, then signals of intent.
//!
//! gate -> supervisor: an [`Assignment`] line, then `env_bytes` bytes of `KEY=VALUE\0`; later the byte
//! [`STOP`] (SIGTERM, grace, SIGKILL) or [`KILL`] (at once). End of file means that the gate is gone: kill at once.
//! supervisor -> gate: one [`Report`] line when nothing of the child is left.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use crate::model::ProcessEnd;

/// First argument that makes the binary a supervisor.
pub const ARGUMENT: &str = "__supervise";
pub const STOP: u8 = b'T';
pub const KILL: u8 = b'K';

/// The process to start. Paths are the bytes that they are: a name need not be UTF-8.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Assignment {
    pub argv: Vec<String>,
    pub dir: OsString,
    /// Length of the environment that follows this line. Bytes, because names and values need not be UTF-8.
    pub env_bytes: usize,
    /// A FIFO that the child gets as an inherited descriptor, its number in `GBENCH_FD`.
    pub events: OsString,
    /// A FIFO that the child gets as a descriptor to read from, its number in `GBENCH_TURN_FD`.
    pub turns: Option<OsString>,
    /// Address space in bytes; 0: no limit.
    pub memory_limit: u64,
    /// Seconds between SIGTERM and SIGKILL.
    pub grace: f64,
}

/// How it went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Report {
    /// The program could not be started; `not_found` tells a missing program from other reasons.
    NotStarted { cause: String, not_found: bool },
    Ended {
        end: ProcessEnd,
        /// From just before the spawn to the child's exit, monotonic.
        seconds: f64,
        /// Largest resident set of the child or of a descendant that was waited for.
        peak_rss_bytes: u64,
        /// User and system time of the child and its descendants.
        cpu_seconds: f64,
        /// Descendants alive after the child's end, which were killed.
        leftovers: u32,
        /// Descendants that even SIGKILL did not end within five seconds: stuck in the kernel.
        survivors: u32,
    },
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn n30_paths_that_are_not_utf8_reach_the_supervisor_as_they_are() {
        let path = OsString::from_vec(b"/a\xff b".to_vec());
        let assignment = Assignment {
            argv: vec!["true".into()],
            dir: path.clone(),
            env_bytes: 0,
            events: path.clone(),
            turns: None,
            memory_limit: 0,
            grace: 0.0,
        };
        let text = serde_json::to_string(&assignment).unwrap();
        let back: Assignment = serde_json::from_str(&text).unwrap();
        assert_eq!((back.dir, back.events, back.turns), (path.clone(), path, None));
    }
}
