//! The parts of a built-in workload's description, and its errors.

use std::io;

use super::cuda::{CudaError, next};
use gbench_model::Better;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricSpec {
    pub name: &'static str,
    pub unit: &'static str,
    pub better: Better,
    /// The least relative change that exceeds the spread stated in `docs/micro.md`.
    pub threshold: f64,
    /// `false`: shown in addition to judged metrics, such as the clock of a time.
    pub judged: bool,
}

/// The default request of a workload: about a second per process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Defaults {
    pub processes: u32,
    pub iterations: u32,
    pub warmup: u32,
}

/// Why a workload did not finish.
#[derive(Debug, thiserror::Error)]
pub enum MicroError {
    /// This machine cannot run it; not a failure.
    #[error("{0}")]
    Skip(String),
    #[error("no memory for {bytes} bytes of {what}")]
    OutOfMemory { what: &'static str, bytes: usize },
    #[error("{doing}: {source}")]
    Io { doing: &'static str, source: io::Error },
    #[error("parameter {name}={value} is not one of {known}")]
    Param { name: &'static str, value: String, known: String },
    #[error("{file} cannot be read: {source}")]
    Source { file: String, source: io::Error },
    /// The GPU, its driver or its compiler.
    #[error(transparent)]
    Cuda(#[from] CudaError),
    /// Faster than the card can be.
    #[error("{0}")]
    Impossible(String),
    /// The gate no longer listens.
    #[error("the channel to the gate: {0}")]
    Channel(io::Error),
}

impl MicroError {
    /// The next step, if it is known.
    pub fn next(&self) -> Option<String> {
        match self {
            MicroError::Cuda(error) => next(error),
            _ => None,
        }
    }

    /// True if the machine lacks something, which no benchmark can change.
    pub fn is_of_machine(&self) -> bool {
        matches!(self, MicroError::Skip(_))
            || matches!(self, MicroError::Cuda(error) if error.is_of_machine())
    }
}

pub(super) trait Doing<T> {
    fn doing(self, doing: &'static str) -> Result<T, MicroError>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, doing: &'static str) -> Result<T, MicroError> {
        self.map_err(|source| MicroError::Io { doing, source })
    }
}

/// `length` copies of `value`, or an error if the allocation fails: a limit on the address space must not become an abort.
pub(super) fn allocate<T: Clone>(what: &'static str, length: usize, value: T) -> Result<Vec<T>, MicroError> {
    let mut buffer = Vec::new();
    let bytes = length.saturating_mul(size_of::<T>());
    buffer.try_reserve_exact(length).map_err(|_| MicroError::OutOfMemory { what, bytes })?;
    buffer.resize(length, value);
    Ok(buffer)
}
