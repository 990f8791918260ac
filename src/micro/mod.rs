//! The built-in workloads: what a machine can do before anyone's code is asked.
//!
//! Each runs as a child of the same binary (`gbench-ci __micro NAME`) and speaks the child protocol like any
//! other benchmark, so that the gate has one way of measuring and the protocol a steady user. [`mod@catalog`]
//! lists them as plain data; a workload is one file and one line of that list.

pub mod catalog;
pub mod channel;
mod cpu;
mod disk;
mod gemm;
mod host;
pub mod injected;
mod memory;
mod network;
mod pace;

use std::io;

use crate::model::{Better, Component, line::Request};
use channel::Channel;

pub use catalog::{catalog, main};

/// One built-in workload as `list` and the planner need it.
#[derive(Clone, Copy)]
pub struct Workload {
    /// The benchmark's id is `micro/<name>`.
    pub name: &'static str,
    pub description: &'static str,
    pub components: &'static [Component],
    /// In the order in which the child sends them.
    pub metrics: &'static [MetricSpec],
    /// Name and values; every combination is a case. The first value is the one taken by hand.
    pub params: &'static [(&'static str, &'static [&'static str])],
    pub defaults: Defaults,
    run: fn(&Request, &mut Channel) -> Result<(), MicroError>,
}

impl Workload {
    /// Does the whole work in this process and sends every event but the last. Errors: see [`MicroError`].
    pub fn run(&self, request: &Request, channel: &mut Channel) -> Result<(), MicroError> {
        (self.run)(request, channel)
    }
}

/// A metric that a member sends with every iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricSpec {
    pub name: &'static str,
    pub unit: &'static str,
    pub better: Better,
    /// The least relative change that stands out of the spread stated in `docs/micro.md`.
    pub threshold: f64,
}

/// The request to a workload where neither suite nor user says otherwise: about a second a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Defaults {
    pub processes: u32,
    pub iterations: u32,
    pub warmup: u32,
}

/// Why a member did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum MicroError {
    /// This machine cannot run it: no failure.
    #[error("{0}")]
    Skip(String),
    #[error("no memory for {bytes} bytes of {what}")]
    OutOfMemory { what: &'static str, bytes: usize },
    #[error("{doing}: {source}")]
    Io { doing: &'static str, source: io::Error },
    #[error("parameter {name}={value} is not one of {known}")]
    Param { name: &'static str, value: String, known: String },
    /// The gate no longer listens.
    #[error("the channel to the gate: {0}")]
    Channel(io::Error),
}

/// Adds what was being done to an I/O error.
trait Doing<T> {
    fn doing(self, doing: &'static str) -> Result<T, MicroError>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, doing: &'static str) -> Result<T, MicroError> {
        self.map_err(|source| MicroError::Io { doing, source })
    }
}

/// `length` copies of `value`, or an error where the allocator says no; a limit on the address space must not
/// become an abort.
fn allocate<T: Clone>(what: &'static str, length: usize, value: T) -> Result<Vec<T>, MicroError> {
    let mut buffer = Vec::new();
    let bytes = length.saturating_mul(size_of::<T>());
    buffer.try_reserve_exact(length).map_err(|_| MicroError::OutOfMemory { what, bytes })?;
    buffer.resize(length, value);
    Ok(buffer)
}
