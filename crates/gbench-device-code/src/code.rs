//! The machine code of a file: one hash a kernel, and what the kernel takes of the device.

use std::collections::BTreeMap;

/// The code of all kernels for one architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchCode {
    /// `sm_90`.
    pub arch: String,
    /// What compiled it, where it is known: `CUDA 12.9`. Another compiler gives other code for the same source.
    pub compiler: Option<String>,
    /// By the kernel's name as the code has it, C++ names mangled.
    pub kernels: BTreeMap<String, ArchKernel>,
}

/// One kernel's code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchKernel {
    /// SHA-256, hexadecimal: the crate's documentation says over what.
    pub sha256: String,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Static shared memory of a block, in bytes.
    pub shared_bytes: Option<u64>,
    /// Stack frame of a thread in local memory, in bytes; spilled registers lie there.
    pub frame_bytes: Option<u64>,
}
