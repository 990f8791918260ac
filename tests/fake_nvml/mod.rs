//! Builds the stand-in library, once for each kind of driver and test run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

/// The library's path. `cfg` is empty for a present-day driver; see `nvml.rs` for the others.
pub fn library(cfg: &'static str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    static BUILT: Mutex<BTreeMap<&str, PathBuf>> = Mutex::new(BTreeMap::new());
    // Below the target folder, since nothing removes a temporary folder at the end of a test run.
    let folder = FOLDER.get_or_init(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("fake_nvml"));
    let mut built = BUILT.lock().unwrap();
    if let Some(path) = built.get(cfg) {
        return path.clone();
    }
    let own = folder.join(if cfg.is_empty() { "present" } else { cfg });
    std::fs::create_dir_all(&own).unwrap();
    let path = own.join("libnvidia-ml.so.1");
    let mut command = rustc(cfg);
    let output = command.arg("-o").arg(&path).arg(source("nvml.rs")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    built.insert(cfg, path.clone());
    path
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
