//! Process control: a small supervisor between the gate and every child.
//!
//! ```text
//! gate --socket--> supervisor (own session, subreaper) --> child (own process group) --> whatever it starts
//! ```
//!
//! It is a separate process for two reasons. As a subreaper it inherits every orphan of the child, even one that
//! changed its session, so that "kill everything" is a walk over its own descendants. And if the gate is killed with
//! SIGKILL, the supervisor survives, sees the socket close, and ends the child. It is the same binary, started with a
//! hidden first argument. All `unsafe` of process control is in this module.
//!
//! Starting a supervisor costs more than starting most children, so it serves one child after the other. The gate
//! dismisses a supervisor that it had to stop, or that has surviving descendants.

mod confine;
mod count;
mod descendants;
mod handle;
mod order;
mod reap;
mod standing;
mod supervisor;
mod wire;

pub use confine::landlock_version;
pub use count::{
    COUNT_ARGUMENT, COUNT_FILE, Count, CountReport, CountedEvent, instruction_counter, main as count,
    state_of,
};
pub use descendants::{adopt_orphans, end_strangers, kill_descendants};
pub use handle::Supervisor;
pub use standing::ProcessStanding;
pub use supervisor::main;
pub use wire::{ARGUMENT, Assignment, KILL, Report, STOP};

/// Makes this process's memory and environment unreadable for its children. They run as the same user, and could
/// otherwise read the tokens that were removed from their environment. Root can still read everything.
pub fn hide_from_children() -> nix::Result<()> {
    nix::sys::prctl::set_dumpable(false)
}
