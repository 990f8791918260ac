//! Exclusive use of the machine: gates that measure take turns.
//!
//! | file | is held |
//! |---|---|
//! | `gbench-ci.queue.lock` | by the gate that is the next to get the machine, until it has it |
//! | `gbench-ci.machine.lock` | by a gate that measures on the whole machine alone, or shared by those that measure on named GPUs |
//! | `gbench-ci.gpu-UUID.lock` | by the gate that measures on that GPU |
//!
//! They are taken in this order, and GPUs in the order of their UUIDs, so that no two gates wait for each other. Because of the queue, a gate that
//! needs the whole machine is not overtaken without end by those that share it; it is left before the GPUs are waited for, so that
//! who waits for a GPU keeps nobody from another.
//!
//! The locks are those of flock(2): the kernel gives them back when a gate dies, however it dies, and children do not inherit
//! them. Who holds a lock writes into its file who it is. That is for readers alone, and may be a lie.

mod attempt;
mod file;
mod folder;
mod holder;
mod holders;

pub use attempt::{LockAttempt, LockScope, MeasuringLock};
pub use folder::lock_folder;
pub use holder::LockHolder;
pub use holders::holders;
