//! What a folder holds that looks like a benchmark. Names and file modes only: nothing is started.

mod compiled;

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A `[[benchmark]]` that init proposes.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Name within the suite, unlike every other found one.
    pub name: String,
    pub command: Vec<String>,
    pub build: Vec<String>,
    /// Programs that have to be there.
    pub binaries: Vec<String>,
    /// It needs a GPU.
    pub gpu: bool,
    /// Why it was proposed, as a sentence fragment.
    pub why: String,
}

/// Folders beside the suite file that are looked into.
const FOLDERS: [&str; 8] = ["", "benchmarks", "benchmark", "bench", "benches", "scripts", "bin", "build"];

/// Everything in `folder` that looks like a benchmark, by name. What cannot be read is not there.
pub fn look(folder: &Path) -> Vec<Found> {
    let mut found = Vec::new();
    for place in FOLDERS {
        for file in files(&folder.join(place)) {
            let path = if place.is_empty() { file.clone() } else { format!("{place}/{file}") };
            found.extend(program(folder, place, &file, &path));
        }
    }
    found.extend(cargo(folder));
    match make(folder) {
        // It knows how they are built.
        Some(target) => found.push(target),
        None => compiled::add(folder, &mut found),
    }
    let mut names = BTreeSet::new();
    for entry in &mut found {
        let plain = entry.name.clone();
        let mut number = 2;
        while !names.insert(entry.name.clone()) {
            entry.name = format!("{plain}-{number}");
            number += 1;
        }
    }
    found
}

/// Names of the regular files in a folder that are text, sorted.
fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.path().is_file());
    let mut names: Vec<String> = files.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| !name.contains(char::is_control));
    names.sort();
    names
}

fn program(folder: &Path, place: &str, file: &str, path: &str) -> Option<Found> {
    let (stem, extension) = file.rsplit_once('.').unwrap_or((file, ""));
    let named = stem.starts_with("bench") || stem.ends_with("_bench") || stem.ends_with("-bench");
    let helper = stem.starts_with('_') || stem.starts_with('.') || stem == "conftest";
    let found = |command: &[&str], binary: &str, why: String| {
        Some(Found {
            name: word(stem),
            command: command.iter().map(|argument| literal(argument)).collect(),
            build: Vec::new(),
            binaries: if binary.is_empty() { Vec::new() } else { vec![binary.to_owned()] },
            gpu: mentions_cuda(&folder.join(path)),
            why,
        })
    };
    match extension {
        "py" if !helper && (named || place.starts_with("benchmark")) => {
            found(&["python3", path], "python3", format!("{path} is a Python program"))
        }
        "sh" if named => found(&["sh", path], "sh", format!("{path} is a shell script")),
        _ if named && executable(&folder.join(path)) => {
            found(&[&format!("./{path}")], "", format!("{path} is executable"))
        }
        _ => None,
    }
}

/// Words by which a program shows that it works on an NVIDIA GPU: in its text, or in what it is linked with.
const CUDA: [&str; 5] = ["cuda", "cupy", "triton", "nvidia-smi", "nvcc"];

/// Bytes of a program that are searched for them.
const MOST: u64 = 1 << 20;

fn mentions_cuda(path: &Path) -> bool {
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(MOST).read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes).to_lowercase();
    read.is_ok() && CUDA.iter().any(|word| text.contains(word))
}

fn executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

/// One entry for every `benches/*.rs` of a Cargo package.
fn cargo(folder: &Path) -> Vec<Found> {
    if !folder.join("Cargo.toml").is_file() {
        return Vec::new();
    }
    let benches = files(&folder.join("benches"));
    let names = benches.iter().filter_map(|file| file.strip_suffix(".rs"));
    let entry = |name: &str| Found {
        name: word(name),
        command: ["cargo", "bench", "--offline", "--bench", name].map(literal).to_vec(),
        build: ["cargo", "bench", "--no-run", "--bench", name].map(str::to_owned).to_vec(),
        binaries: vec!["cargo".into()],
        gpu: false,
        why: format!("benches/{name}.rs is a bench of this Cargo package"),
    };
    names.map(entry).collect()
}

/// One entry for a `bench` or `benchmark` target of a makefile.
fn make(folder: &Path) -> Option<Found> {
    let files = ["GNUmakefile", "makefile", "Makefile"];
    let text = files.iter().find_map(|file| fs::read_to_string(folder.join(file)).ok())?;
    let target = ["bench", "benchmark"]
        .into_iter()
        .find(|target| text.lines().any(|line| line.starts_with(&format!("{target}:"))))?;
    Some(Found {
        name: target.into(),
        command: vec!["make".into(), target.into()],
        build: Vec::new(),
        binaries: vec!["make".into()],
        gpu: false,
        why: format!("the makefile has a target `{target}`"),
    })
}

/// An argument in which braces mean themselves.
fn literal(argument: &str) -> String {
    argument.replace('{', "{{").replace('}', "}}")
}

/// What may stand in a benchmark's id.
pub fn word(text: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "_-.+".contains(c) { c } else { '_' };
    let word: String = text.chars().take(60).map(allowed).collect();
    match word.trim_matches('.') {
        "" => "suite".into(),
        word => word.to_owned(),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn folder(files: &[(&str, &str, u32)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text, mode) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
        }
        folder
    }

    #[test]
    fn programs_are_known_by_their_names_and_modes() {
        let folder = folder(&[
            ("bench_gemm.py", "", 0o644),
            ("setup.py", "", 0o644),
            ("benchmarks/softmax.py", "", 0o644),
            ("benchmarks/__init__.py", "", 0o644),
            ("bench_gemm", "", 0o755),
            ("bench_notes", "", 0o644),
            ("scripts/io-bench.sh", "", 0o644),
        ]);
        let found = look(folder.path());
        let commands: Vec<_> =
            found.iter().map(|entry| (entry.name.as_str(), entry.command.join(" "))).collect();
        let expected = [
            ("bench_gemm", "./bench_gemm"),
            ("bench_gemm-2", "python3 bench_gemm.py"),
            ("softmax", "python3 benchmarks/softmax.py"),
            ("io-bench", "sh scripts/io-bench.sh"),
        ];
        assert_eq!(commands, expected.map(|(name, command)| (name, command.to_owned())));
    }

    #[test]
    fn n19_a_program_that_speaks_of_cuda_needs_a_gpu() {
        let folder = folder(&[
            ("bench_gpu.py", "import torch\nx = torch.empty(8).cuda()\n", 0o644),
            ("bench_cpu.py", "import numpy\n", 0o644),
            ("bench_run.sh", "nvidia-smi && ./x\n", 0o644),
        ]);
        let gpus: Vec<_> = look(folder.path()).into_iter().map(|entry| (entry.name, entry.gpu)).collect();
        let expected = [("bench_cpu", false), ("bench_gpu", true), ("bench_run", true)];
        assert_eq!(gpus, expected.map(|(name, gpu)| (name.to_owned(), gpu)));
    }

    #[test]
    fn cargo_benches_and_make_targets_are_found() {
        let folder = folder(&[
            ("Cargo.toml", "", 0o644),
            ("benches/sort.rs", "", 0o644),
            ("Makefile", "all:\n\nbench: all\n", 0o644),
        ]);
        let found = look(folder.path());
        assert_eq!(found[0].command, ["cargo", "bench", "--offline", "--bench", "sort"]);
        assert_eq!(found[1].command, ["make", "bench"]);
    }

    #[test]
    fn an_empty_or_missing_folder_holds_nothing() {
        assert_eq!(look(folder(&[]).path()), []);
        assert_eq!(look(Path::new("/nowhere/at/all")), []);
    }

    #[test]
    fn any_name_becomes_a_word() {
        for (text, expected) in
            [("my suite!", "my_suite_"), ("", "suite"), ("..", "suite"), ("größe", "gr__e")]
        {
            assert_eq!(word(text), expected);
            assert!(format!("{}/x", word(text)).parse::<crate::model::BenchmarkId>().is_ok());
        }
    }
}
