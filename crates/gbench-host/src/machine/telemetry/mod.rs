//! What the machine and its GPUs do while processes run: sampled at an interval by a thread, summed up by windows of time.

mod amd;
mod calm;
mod host;
mod nvidia_smi;
mod probe;
mod reading;
mod sampler;
mod source;
mod window;

pub(super) use calm::CalmCheck;
pub use sampler::{MachineSampler, Timeline};
