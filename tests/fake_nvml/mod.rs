//! Builds the stand-in library, once for each kind of driver and test run.

#[path = "../support/built.rs"]
mod built;

use std::path::{Path, PathBuf};
use std::process::Command;

use built::built;

const LIBRARY: &str = "libnvidia-ml.so.1";

/// The library's path. `cfg` is empty for a present-day driver; see `nvml.rs` for the others.
pub fn library(cfg: &'static str) -> PathBuf {
    let folder = built("fake_nvml", &[&source("")], cfg, |folder| {
        let output = rustc(cfg).arg("-o").arg(folder.join(LIBRARY)).arg(source("nvml.rs")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    });
    folder.join(LIBRARY)
}

/// A file of the stand-in.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_nvml").join(name)
}

/// The compiler with what the library is built by, but for its source and its place.
pub fn rustc(cfg: &str) -> Command {
    // A neighbour of the cargo that runs the tests: the same toolchain, also where several are installed.
    let neighbour = std::env::var_os("CARGO").map(|cargo| PathBuf::from(cargo).with_file_name("rustc"));
    let rustc = neighbour.filter(|rustc| rustc.exists()).unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.args([
        "--edition",
        "2024",
        "--crate-type",
        "cdylib",
        "--crate-name",
        "fake_nvml",
        "-Cpanic=abort",
        // `benches/monitoring.rs` reads the gate's cost with it, which is to be the gate's own.
        "-Copt-level=2",
    ]);
    command.args(["-Adead_code", "-Aunsafe_op_in_unsafe_fn"]);
    if !cfg.is_empty() {
        command.args(["--cfg", cfg]);
    }
    command
}
