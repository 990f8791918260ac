//! NVIDIA's own `libcuda` and `libnvidia-ml`, from a distribution's packages, on a machine without the driver's module: each
//! path ends with what is missing.
//!
//! As root these libraries make `/dev/nvidiactl` by themselves, so the gate runs as nobody here: a copy of it, in a folder
//! that everyone may read and write. Where there is a driver nothing is missing, and the tests say that they go without.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::support::cli::{Ran, ended};
use crate::support::{copy_program, gbench, tools};

const NODE: &str = "/dev/nvidiactl";

/// The gate and the libraries, where nobody can read them.
struct Place {
    folder: TempDir,
}

impl Place {
    /// `None` without the libraries, and on a machine with a driver.
    fn new() -> Option<Self> {
        let libraries = tools::driver()?;
        if [NODE, "/proc/driver/nvidia"].iter().any(|path| Path::new(path).exists()) {
            tools::goes_without("this machine has NVIDIA's driver");
            return None;
        }
        // In the system's folder for such: the build folder may lie where nobody else may look.
        let folder =
            tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o777)).tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
        for name in ["libcuda.so.1", "libnvidia-ml.so.1"] {
            std::fs::copy(libraries.join(name), folder.path().join(name)).unwrap();
        }
        let program = folder.path().join("gbench-ci");
        copy_program(&gbench(), &program);
        for name in ["gbench-ci", "libcuda.so.1", "libnvidia-ml.so.1"] {
            let path = folder.path().join(name);
            std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        Some(Self { folder })
    }

    fn write(&self, name: &str, text: &str) {
        let path: PathBuf = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o644)).unwrap();
    }

    /// `None` where the tests run as root and cannot stop being it.
    fn ran(&self, line: &str) -> Option<Ran> {
        let folder = self.folder.path();
        let mut command = tools::without_root(&folder.join("gbench-ci"))?;
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if ["CUDA_", "GITHUB_", "GBENCH_"].iter().any(|prefix| name.starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        command.args(line.split_whitespace()).current_dir(folder).env("LC_ALL", "C.UTF-8");
        command.env("HOME", folder).env("TMPDIR", folder).env("LD_LIBRARY_PATH", folder);
        command.env("GBENCH_NVML_LIBRARY", folder.join("libnvidia-ml.so.1"));
        let ran = ended(command);
        assert!(!Path::new(NODE).exists(), "{NODE} was made");
        Some(ran)
    }
}

#[test]
fn d4_the_real_management_library_without_a_driver_says_that_the_driver_is_not_loaded() {
    let Some(place) = Place::new() else { return };
    let Some(ran) = place.ran("doctor --require-gpu") else { return };
    ran.exits(5).says("the NVIDIA driver is not loaded").says("one is required");
    // Where no GPU is asked for, none is missed.
    place.ran("doctor").unwrap().exits(0).says("No GPU can be measured here.");
    place
        .ran("manifest show --json")
        .unwrap()
        .exits(0)
        .says(r#""failed": "the NVIDIA driver is not loaded""#);
}

#[test]
fn d4_a_benchmark_that_needs_a_gpu_is_not_started_where_the_real_library_finds_none() {
    let Some(place) = Place::new() else { return };
    place.write(
        "gbench.toml",
        "[suite]\nname = 's'\n[[benchmark]]\nid = 'kernel'\ncommand = ['touch', 'started']\ntiming = 'process'\n\
         components = ['gpu']\nrequires = { gpus = 1 }\n",
    );
    let Some(ran) = place.ran("run") else { return };
    ran.exits(5).says("the NVIDIA driver is not loaded");
    assert!(!place.folder.path().join("started").exists());
}

/// The suite's own workloads load the real `libcuda`, which initialises and finds no device.
#[test]
fn d4_the_built_in_gpu_workloads_end_with_what_is_missing() {
    let Some(place) = Place::new() else { return };
    let Some(listed) = place.ran("list --suite micro") else { return };
    listed.exits(0).says("micro/gpu_");
    let ran = place.ran("run --suite micro --component gpu").unwrap().exits(5);
    let said = format!("{}{}", ran.out, ran.err).to_lowercase();
    assert!(
        ["driver", "no cuda device", "no device", "no gpu"].iter().any(|words| said.contains(words)),
        "{said}"
    );
}
