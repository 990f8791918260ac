//! Exclusive use of the machine: gates that measure take turns.
//!
//! | file | is held |
//! |---|---|
//! | `gbench-ci.queue.lock` | by the gate that is the next to get the machine, until it has it |
//! | `gbench-ci.machine.lock` | by a gate that measures on the whole machine alone, or shared by those that measure on named GPUs |
//! | `gbench-ci.gpu-UUID.lock` | by the gate that measures on that GPU |
//!
//! A gate takes them in this order, and GPUs in the order of their UUIDs, so that no two gates wait for each other.
//! The queue keeps gates that share the machine from overtaking one that needs it whole. A gate leaves the queue
//! before it waits for GPUs, so that it does not keep others from free GPUs.
//!
//! These are flock(2) locks: the kernel releases them when a gate dies, and children do not inherit them. The holder
//! writes its identity into the file. That text only informs people, and may be false.

mod attempt;
mod file;
mod folder;
mod holder;
mod holders;

pub use attempt::{LockAttempt, LockScope, MeasuringLock};
pub use folder::lock_folder;
pub use holder::LockHolder;
pub use holders::holders;
