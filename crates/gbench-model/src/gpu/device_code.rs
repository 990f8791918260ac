//! The GPU machine code that a case ran: a hash and the resource usage of each kernel.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// The code of all kernels that a case loaded or declared.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeviceCode {
    /// `sm_90`.
    pub arch: String,
    /// The compiler, if known: `NVRTC 13.5`. Another compiler produces other code from the same source.
    pub compiler: Option<String>,
    /// By the kernel's name as the code has it, C++ names mangled.
    pub kernels: BTreeMap<String, KernelCode>,
}

/// One kernel's code.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KernelCode {
    /// SHA-256, hexadecimal, over the instructions, their relocations, constants and launch attributes. It does not cover
    /// file names and line numbers.
    pub sha256: String,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Static shared memory of a block, in bytes.
    pub shared_bytes: Option<u64>,
    /// Stack frame of a thread in local memory, in bytes; it contains the spilled registers.
    pub frame_bytes: Option<u64>,
    /// Bytes of a thread that the compiler stores and loads because registers ran out; only the compiler's log contains
    /// them.
    pub spill_store_bytes: Option<u64>,
    pub spill_load_bytes: Option<u64>,
}
