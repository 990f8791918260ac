//! Process control: a small supervisor between the gate and every child.
//!
//! ```text
//! gate --socket--> supervisor (own session, subreaper) --> child (own process group) --> whatever it starts
//! ```
//!
//! Why a process of its own: as a subreaper it inherits every orphan of the child, also those that changed
//! their session, so that "kill everything" is a walk over its own descendants; and it lives on when the
//! gate is killed with SIGKILL, sees the socket close, and takes the child down. It is the same binary,
//! started with a hidden first argument. All `unsafe` of process control is in this module.
//!
//! Starting a supervisor costs more than starting most children. It therefore serves one child after the other, as long as
//! nothing remarkable happens: the gate dismisses one that it had to stop, or below which something survives.

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

/// Makes this process's memory and environment unreadable for its children, which run as the same user and could
/// otherwise read the tokens that their own environment was scrubbed of. Root reads everything all the same.
pub fn hide_from_children() -> nix::Result<()> {
    nix::sys::prctl::set_dumpable(false)
}
