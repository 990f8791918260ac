//! The Python package that runs in a user's interpreter: it uses only the standard library, imports a benchmark's module,
//! measures it and speaks the child protocol. Its files are embedded in the binary.

use std::fs;
use std::io;
use std::path::Path;

/// The file to start the interpreter with, in the folder of [`fn@write`].
pub const START: &str = "start.py";

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        const FILES: &[(&str, &str)] = &[$(($path, include_str!(concat!("python/", $path)))),*];
    };
}

files! {
    "start.py",
    "gbench_driver/__init__.py",
    "gbench_driver/accuracy.py",
    "gbench_driver/author.py",
    "gbench_driver/calls.py",
    "gbench_driver/case_run.py",
    "gbench_driver/channel.py",
    "gbench_driver/class_way.py",
    "gbench_driver/conditions.py",
    "gbench_driver/cuda_events.py",
    "gbench_driver/determinism.py",
    "gbench_driver/device.py",
    "gbench_driver/failures.py",
    "gbench_driver/function_way.py",
    "gbench_driver/gpu.py",
    "gbench_driver/isolation.py",
    "gbench_driver/leftovers.py",
    "gbench_driver/libraries.py",
    "gbench_driver/loading.py",
    "gbench_driver/main.py",
    "gbench_driver/originals.py",
    "gbench_driver/other_devices.py",
    "gbench_driver/other_timers.py",
    "gbench_driver/outcome.py",
    "gbench_driver/plain.py",
    "gbench_driver/provenance.py",
    "gbench_driver/request.py",
    "gbench_driver/results.py",
    "gbench_driver/samples.py",
    "gbench_driver/seeds.py",
    "gbench_driver/self_timed_way.py",
    "gbench_driver/settings.py",
    "gbench_driver/standard.py",
    "gbench_driver/sweep_way.py",
    "gbench_driver/timers.py",
    "gbench_driver/versions.py",
    "gbench_driver/wall.py",
    "gbench_driver/watched.py",
}

/// Writes the driver's files below a folder. Errors: the folder cannot be written.
pub fn write(folder: &Path) -> io::Result<()> {
    for (path, text) in FILES {
        let file = folder.join(path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(file, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_of_the_driver_is_in_the_binary() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/driver/python");
        let mut found = BTreeSet::from([START.to_owned()]);
        for entry in fs::read_dir(folder.join("gbench_driver")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".py") {
                found.insert(format!("gbench_driver/{name}"));
            }
        }
        let named: BTreeSet<String> = FILES.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(named, found);
        let written = tempfile::tempdir().unwrap();
        write(written.path()).unwrap();
        assert!(written.path().join(START).is_file());
    }

    #[test]
    fn the_driver_knows_the_caches_of_kernels_that_each_side_has() {
        let provenance = FILES.iter().find(|(path, _)| path.ends_with("provenance.py")).unwrap().1;
        for cache in gbench_model::KERNEL_CACHES {
            assert!(provenance.contains(&format!("\"{cache}\"")), "{cache}");
        }
    }
}
