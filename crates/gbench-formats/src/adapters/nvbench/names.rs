//! Names that NVBench and the gate agree on.

pub(super) const FILE: &str = "nvbench.json";

/// Where several devices are measured, their number stands before the axes like one of them.
pub(super) const DEVICE: &str = "Device";
