//! The machine code of a file: a hash and the resource usage of each kernel.

use std::collections::BTreeMap;

/// The code of all kernels for one architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchCode {
    /// `sm_90`.
    pub arch: String,
    /// The compiler, if known: `CUDA 12.9`. Another compiler generates other code from the same source.
    pub compiler: Option<String>,
    /// By the kernel's name as the code has it, C++ names mangled.
    pub kernels: BTreeMap<String, ArchKernel>,
}

/// One kernel's code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchKernel {
    /// SHA-256, hexadecimal; see the crate's documentation for its input.
    pub sha256: String,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Static shared memory of a block, in bytes.
    pub shared_bytes: Option<u64>,
    /// Stack frame of a thread in local memory, in bytes; it contains spilled registers.
    pub frame_bytes: Option<u64>,
}
