//! The program under which a benchmark runs whose cases are its kernels.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::binaries::find_named;

pub(crate) enum Tracer {
    Nsys(PathBuf),
    Rocprof(PathBuf),
}

/// The lack of both, and how to get one.
pub(crate) const NO_TRACER: [&str; 2] = [
    "neither `nsys` nor `rocprofv3` is on PATH",
    "install Nsight Systems for NVIDIA, or rocprofiler-sdk for AMD, or name the program by GBENCH_NSYS or GBENCH_ROCPROFV3",
];

impl Tracer {
    /// Nsight Systems if it is here, else that of AMD.
    pub(crate) fn find() -> Option<Self> {
        let named = |name, variable| find_named(name, std::env::var_os(variable)).ok();
        let of_amd = || named("rocprofv3", "GBENCH_ROCPROFV3").map(Self::Rocprof);
        named("nsys", "GBENCH_NSYS").map(Self::Nsys).or_else(of_amd)
    }

    /// As the script that runs it takes it.
    pub(crate) fn word(&self) -> OsString {
        let kind = if matches!(self, Self::Rocprof(_)) { "rocprof:" } else { "" };
        let mut word = OsString::from(kind);
        word.push(self.path());
        word
    }

    pub(crate) fn path(&self) -> &Path {
        let (Self::Nsys(path) | Self::Rocprof(path)) = self;
        path
    }
}
