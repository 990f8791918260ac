//! The machine code of a GPU, told apart: which kernels a file holds, and one hash for each that stays the same as long
//! as the kernel runs the same instructions on the same constants.
//!
//! [`read`] takes a cubin, a fatbin, or an object, library or program of the host with fatbins inside, packed or not. It
//! is a reader of bytes and asks no tool. [`spills`] reads what only the assembler's log says. [`difference`] compares two
//! sides.
//!
//! Read so far: cubins of CUDA 11.8, 12.9, 13.4 and 13.5, for sm_50 to sm_121.
//!
//! # What the hash of a kernel says
//!
//! | takes part | does not |
//! |---|---|
//! | its instructions, and those of the functions that they call | names of kernels, functions and variables |
//! | their relocations: place, type, addend, and the content of what they point to | numbers of symbols and sections |
//! | the name of what the file only refers to, such as `vprintf` | file names, line numbers, debug information |
//! | its constants in its own banks (`.nv.constantN.KERNEL`) | other kernels of the file, their number and order |
//! | the module's banks (`.nv.constant3`, `.nv.constant4`) that an instruction may read, whole; through them the data they point to, with its initial values | banks and data that no instruction can reach |
//! | registers, stack, static shared memory, parameters, launch bounds, clusters | toolkit's version, the tool (NVRTC, ptxas, nvcc), its options |
//!
//! So a comment, another file name, `-lineinfo`, or a kernel added before it leave a kernel's hash as it is;
//! `--maxrregcount`, fast math or a change of the source change it where, and only where, the code changes. One
//! exception: a kernel that reads the module's constants or global variables by name sees a whole bank. When another
//! kernel of the file adds one, the bank changes and the hash with it: the same code may be called changed, so that changed
//! code is not called the same.
//!
//! Two attributes are left out although they say something of the kernel: the cap on registers that was asked for (the
//! registers that it got take part) and, on Blackwell, the second form of the code (`.nv.capmerc`) that relatives of the
//! card load. [`CodeDifference::same_toolkit`] says whether a toolkit may have changed the code: CUDA 12.9 and 13.5 make the
//! same of some kernels and not of others.
//!
//! The hash is over the code for one architecture. What the driver makes of PTX when it loads it is not in any file;
//! neither is what the host writes into constants at run time.

#![forbid(unsafe_code)]
// A user's input never ends in a panic; where one is impossible, `#[expect]` stands beside the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

mod attributes;
mod code;
mod code_difference;
mod cubin;
mod display_name;
mod elf;
mod error;
mod fatbin;
mod identity;
mod log;
mod parameters;
mod read;
#[cfg(test)]
mod tests;

pub use code::{ArchCode, ArchKernel};
pub use code_difference::{CodeDifference, difference};
pub use display_name::display_name;
pub use error::CodeError;
pub use log::{Spills, spills};
pub use parameters::parameter_sizes;
pub use read::read;
