//! Identifies GPU machine code: the kernels in a file, and a hash for each that stays the same as long as the kernel runs
//! the same instructions on the same constants.
//!
//! [`read`] takes a cubin, a fatbin, or an object, library or program of the host with fatbins inside, compressed or not.
//! It reads bytes and runs no tool. [`spills`] reads register spills, which only the assembler's log contains.
//! [`difference`] compares two sides. [`images`] takes apart what a driver loads as it is: cubins, fatbins and PTX.
//!
//! Tested with cubins of CUDA 11.8, 12.9, 13.4 and 13.5, for sm_50 to sm_121. [`read`] and [`parameter_sizes`] also take a code
//! object of AMD's compilers, whose hash covers all of its code.
//!
//! # The hash of a kernel
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
//! So a comment, another file name, `-lineinfo`, or a kernel added before it leave a kernel's hash as it is.
//! `--maxrregcount`, fast math or a change of the source change it if, and only if, the code changes. One exception: a
//! kernel that reads the module's constants or global variables by name depends on a whole bank. If another kernel of the
//! file adds one, the bank changes and the hash with it. The same code may thus be called changed, but changed code is
//! never called the same.
//!
//! Two attributes are left out although they describe the kernel: the requested cap on registers (the allocated registers
//! take part) and, on Blackwell, the second form of the code (`.nv.capmerc`) that relatives of the card load.
//! [`CodeDifference::same_toolkit`] shows whether a toolkit may have changed the code: CUDA 12.9 and 13.5 compile some
//! kernels to the same code and others not.
//!
//! The hash is over the code for one architecture. It does not cover values that the host writes into constants at run time.
//! For code that the driver compiles from PTX there is only a hash over all of that text, without comments and places in sources.

#![forbid(unsafe_code)]
// User input never causes a panic. Where a panic is impossible, `#[expect]` gives the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

mod amdgpu;
mod attributes;
mod code;
mod code_difference;
mod constants;
mod cubin;
mod display_name;
mod elf;
mod error;
mod fatbin;
mod identity;
mod image;
mod log;
mod msgpack;
mod parameters;
mod ptx;
mod read;
#[cfg(test)]
mod tests;

pub use code::{ArchCode, ArchKernel};
pub use code_difference::{CodeDifference, difference};
pub use constants::{unset_constants, variables};
pub use display_name::{display_name, named};
pub use error::CodeError;
pub use image::{Image, fitting, images};
pub use log::{Spills, spills};
pub use parameters::parameter_sizes;
pub use read::read;
