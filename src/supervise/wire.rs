//! What gate and supervisor say to each other over their socket: one JSON line each way, then signals of intent.
//!
//! gate -> supervisor: an [`Assignment`] line, then `env_bytes` bytes of `KEY=VALUE\0`; later the byte
//! [`STOP`] (SIGTERM, grace, SIGKILL) or [`KILL`] (at once). End of file means that the gate is gone: kill at once.
//! supervisor -> gate: one [`Report`] line when nothing of the child is left.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::model::ProcessEnd;

/// First argument that makes the binary a supervisor.
pub const ARGUMENT: &str = "__supervise";
pub const STOP: u8 = b'T';
pub const KILL: u8 = b'K';

/// What to start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Assignment {
    pub argv: Vec<String>,
    pub dir: PathBuf,
    /// Length of the environment that follows this line. Bytes, because names and values need not be UTF-8.
    pub env_bytes: usize,
    /// A FIFO that the child gets as an inherited descriptor, its number in `GBENCH_FD`.
    pub events: Option<PathBuf>,
    /// A FIFO that the child gets as a descriptor to read from, its number in `GBENCH_TURN_FD`.
    pub turns: Option<PathBuf>,
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
