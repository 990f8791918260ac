//! The functions of `cuda.h`, as a program calls them.
//!
//! # Safety
//! Each asks of its caller what `cuda.h` asks: places for answers are null or can be written, and ranges of the host's memory are
//! there. Handles and device addresses are checked.

mod contexts;
mod devices;
mod events;
mod graphs;
mod hip;
mod library;
mod memory;
mod modules;
mod streams;
mod tensors;

pub use contexts::*;
pub use devices::*;
pub use events::*;
pub use graphs::*;
use library::name;
pub use library::*;
pub use memory::*;
pub use modules::*;
pub use streams::*;
#[cfg(not(old_driver))]
pub use tensors::*;

type Code = std::ffi::c_uint;
type Handle = usize;
type Address = u64;

/// A call that a stream does not take while it is captured.
const CAPTURE_UNSUPPORTED: Code = 900;
