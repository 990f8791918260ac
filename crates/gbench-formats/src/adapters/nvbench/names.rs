//! Names that NVBench and the gate share.

pub(super) const FILE: &str = "nvbench.json";

/// With several devices, their number precedes the axes as another axis.
pub(super) const DEVICE: &str = "Device";
