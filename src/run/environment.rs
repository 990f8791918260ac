//! What a child may know: the user's environment without secrets, and the gate's request.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use crate::model::line::{self, PROTOCOL, Request};
use crate::model::{Origin, PlannedProcess, Thermal, scrubbed};
use crate::suite::Benchmark;

/// Folders that hold compiled kernels and other things that make a second run faster than the first.
const CACHES: [&str; 6] = [
    "CUDA_CACHE_PATH",
    "TRITON_CACHE_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_EXTENSIONS_DIR",
    "NUMBA_CACHE_DIR",
    "XDG_CACHE_HOME",
];
