//! Device code files named in the suite file: found by pattern and read once, after the build. An unreadable file makes the
//! information about the code less complete, and is not a failure.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use gbench_device_code as device_code;
use gbench_model::{DeviceCode, KernelCode, Manifest};

const MAX_BYTES: u64 = 256 << 20;
const MAX_ALL: u64 = 1 << 30;

const MAX_FILES: usize = 200;
const MAX_ENTRIES: usize = 100_000;

#[derive(Debug, Default)]
pub(crate) struct FilesCode {
    pub code: Option<DeviceCode>,
    pub warnings: Vec<String>,
}

/// Reads the files below the folder that match. If a file has code for several architectures, the code that the machine's GPUs
/// run is used; all of it if none fits, or if the machine has no GPU or several kinds.
pub(crate) fn read(patterns: &[String], folder: &Path, manifest: &Manifest) -> FilesCode {
    let (files, mut warnings) = find(patterns, folder);
    let capability = capability(manifest);
    let mut left = MAX_ALL;
    let mut codes = Vec::new();
    for file in files {
        match read_file(&folder.join(&file), &mut left) {
            Ok(found) => codes.extend(fitting(found, capability)),
            Err(why) => {
                warnings.push(format!("`device_code`: {} cannot be used: {why}", file.display()));
            }
        }
    }
    FilesCode { code: DeviceCode::union(codes), warnings }
}

fn read_file(path: &Path, left: &mut u64) -> Result<Vec<DeviceCode>, String> {
    let size = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > MAX_BYTES {
        return Err(format!("it is larger than {} MiB", MAX_BYTES >> 20));
    }
    *left = left
        .checked_sub(size)
        .ok_or_else(|| format!("the files before it have {} MiB already", MAX_ALL >> 20))?;
    let mut bytes = Vec::new();
    // The file may grow while it is read.
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(size).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let codes = device_code::read(&bytes).map_err(|error| error.to_string())?;
    Ok(codes.into_iter().map(recorded).collect())
}

fn recorded(code: device_code::ArchCode) -> DeviceCode {
    let kernel = |kernel: device_code::ArchKernel| KernelCode {
        sha256: kernel.sha256,
        registers: kernel.registers,
        shared_bytes: kernel.shared_bytes,
        frame_bytes: kernel.frame_bytes,
        ..KernelCode::default()
    };
    DeviceCode {
        arch: code.arch,
        compiler: code.compiler,
        kernels: code.kernels.into_iter().map(|(name, code)| (name, kernel(code))).collect(),
    }
}

/// The compute capability of all GPUs of the machine; `None` if they differ or there is none.
fn capability(manifest: &Manifest) -> Option<(u32, u32)> {
    let mut known = manifest.gpu.known()?.devices.iter().map(|gpu| {
        let (major, minor) = gpu.compute_capability.known()?.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    let first = known.next()??;
    known.all(|other| other == Some(first)).then_some(first)
}

/// The code in a file that a GPU of this capability runs: the newest for its major version. A letter after the number
/// restricts code to that exact number; such code is preferred.
fn fitting(codes: Vec<DeviceCode>, capability: Option<(u32, u32)>) -> Vec<DeviceCode> {
    let Some((major, minor)) = capability.filter(|_| codes.len() > 1) else { return codes };
    let rank = |code: &DeviceCode| {
        let version = code.arch.strip_prefix("sm_")?;
        let number = version.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let tied = version.len() > number.len();
        let number: u32 = number.parse().ok()?;
        let runs = number / 10 == major && number % 10 <= minor && (!tied || number % 10 == minor);
        runs.then_some((number, tied))
    };
    match codes.iter().filter_map(rank).max() {
        None => codes,
        best => codes.into_iter().filter(|code| rank(code) == best).collect(),
    }
}

/// The files that match, sorted and distinct, as paths from the folder; and warnings about patterns that match nothing.
fn find(patterns: &[String], folder: &Path) -> (Vec<PathBuf>, Vec<String>) {
    let (mut files, mut warnings) = (Vec::new(), Vec::new());
    for pattern in patterns {
        let before = files.len();
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        let Ok(glob) = glob.map(|glob| glob.compile_matcher()) else { continue };
        let parts: Vec<&str> = pattern.split('/').collect();
        let plain = parts.iter().take_while(|part| !part.contains(['*', '?', '[', '{', '\\'])).count();
        let start: PathBuf = parts[..plain].iter().collect();
        let depth = if pattern.contains("**") { MAX_DEPTH } else { parts.len() - plain };
        let mut entries = MAX_ENTRIES;
        if plain == parts.len() {
            files.extend(folder.join(&start).is_file().then_some(start));
        } else {
            walk(folder, &start, &glob, (depth, &mut entries), &mut files);
        }
        if entries == 0 {
            warnings.push(format!("`device_code`: not every file that `{pattern}` may fit was looked at"));
        }
        if files.len() == before {
            warnings.push(format!("`device_code`: no file fits `{pattern}`"));
        }
    }
    files.sort();
    files.dedup();
    if files.len() > MAX_FILES {
        warnings.push(format!("`device_code`: its patterns fit {} files; {MAX_FILES} are read", files.len()));
        files.truncate(MAX_FILES);
    }
    (files, warnings)
}

const MAX_DEPTH: usize = 32;

/// Adds the matching files below `folder`/`below`. Links to folders are not followed, since they may form cycles.
fn walk(
    folder: &Path,
    below: &Path,
    glob: &GlobMatcher,
    (depth, entries): (usize, &mut usize),
    files: &mut Vec<PathBuf>,
) {
    let Some(deeper) = depth.checked_sub(1) else { return };
    let Ok(listed) = fs::read_dir(folder.join(below)) else { return };
    for entry in listed.flatten() {
        if *entries == 0 {
            return;
        }
        *entries -= 1;
        let path = below.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(folder, &path, glob, (deeper, entries), files),
            Ok(_) if glob.is_match(&path) && folder.join(&path).is_file() => files.push(path),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(arch: &str) -> DeviceCode {
        DeviceCode { arch: arch.into(), ..DeviceCode::default() }
    }

    #[test]
    fn of_several_architectures_the_one_that_the_gpu_runs_counts() {
        let archs = |capability| -> Vec<String> {
            let all = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_90a", "sm_103a"].map(code).to_vec();
            fitting(all, capability).into_iter().map(|code| code.arch).collect()
        };
        assert_eq!(archs(Some((8, 0))), ["sm_80"]);
        assert_eq!(archs(Some((8, 9))), ["sm_86"]);
        assert_eq!(archs(Some((9, 0))), ["sm_90a"]);
        assert_eq!(archs(Some((10, 3))), ["sm_103a"]);
        assert_eq!(archs(Some((12, 0))).len(), 6);
        assert_eq!(archs(None).len(), 6);
        assert_eq!(fitting(vec![code("sm_80")], Some((9, 0))).len(), 1);
    }

    #[test]
    fn patterns_find_files_below_their_folder_and_say_where_they_find_none() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["build/a.cubin", "build/deep/b.cubin", "build/c.txt", "lib.so"] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "no code").unwrap();
        }
        let found = |patterns: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(|it| it.to_string()).collect();
            let (files, warnings) = find(&patterns, folder.path());
            (files.iter().map(|it| it.display().to_string()).collect::<Vec<_>>(), warnings)
        };
        assert_eq!(found(&["build/*.cubin"]).0, ["build/a.cubin"]);
        assert_eq!(found(&["**/*.cubin", "build/*.cubin"]).0, ["build/a.cubin", "build/deep/b.cubin"]);
        assert_eq!(found(&["lib.so"]), (vec!["lib.so".into()], Vec::new()));
        let (files, warnings) = found(&["lib.so", "build/*.fatbin", "none.so", "build"]);
        assert_eq!((files.len(), warnings.len()), (1, 3));
        assert_eq!(warnings[0], "`device_code`: no file fits `build/*.fatbin`");
        let read = read(&["lib.so".into()], folder.path(), &gbench_model::test_support::manifest());
        assert!(read.code.is_none());
        assert!(
            read.warnings[0].starts_with("`device_code`: lib.so cannot be used: "),
            "{:?}",
            read.warnings
        );
    }
}
