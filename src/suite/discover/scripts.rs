//! Programs, scripts, benches of a Cargo package and targets of a makefile.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::entry::{Discovered, files, id_word, literal};

/// Folders beside the suite file that are looked into.
const FOLDERS: [&str; 8] = ["", "benchmarks", "benchmark", "bench", "benches", "scripts", "bin", "build"];

/// Adds what can be started as it is, and the benches of a Cargo package.
pub(super) fn add(folder: &Path, found: &mut Vec<Discovered>) {
    for place in FOLDERS {
        for file in files(&folder.join(place)) {
            let path = if place.is_empty() { file.clone() } else { format!("{place}/{file}") };
            found.extend(program(folder, place, &file, &path));
        }
    }
    found.extend(cargo(folder));
}

fn program(folder: &Path, place: &str, file: &str, path: &str) -> Option<Discovered> {
    let (stem, extension) = file.rsplit_once('.').unwrap_or((file, ""));
    let named = stem.starts_with("bench") || stem.ends_with("_bench") || stem.ends_with("-bench");
    let helper = stem.starts_with('_') || stem.starts_with('.') || stem == "conftest";
    let found = |command: &[&str], binary: &str, why: String| {
        Some(Discovered {
            name: id_word(stem),
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
fn cargo(folder: &Path) -> Vec<Discovered> {
    if !folder.join("Cargo.toml").is_file() {
        return Vec::new();
    }
    let benches = files(&folder.join("benches"));
    let names = benches.iter().filter_map(|file| file.strip_suffix(".rs"));
    let entry = |name: &str| Discovered {
        name: id_word(name),
        command: ["cargo", "bench", "--offline", "--bench", name].map(literal).to_vec(),
        build: ["cargo", "bench", "--no-run", "--bench", name].map(str::to_owned).to_vec(),
        binaries: vec!["cargo".into()],
        gpu: false,
        why: format!("benches/{name}.rs is a bench of this Cargo package"),
    };
    names.map(entry).collect()
}

/// One entry for a `bench` or `benchmark` target of a makefile.
pub(super) fn make(folder: &Path) -> Option<Discovered> {
    let files = ["GNUmakefile", "makefile", "Makefile"];
    let text = files.iter().find_map(|file| fs::read_to_string(folder.join(file)).ok())?;
    let target = ["bench", "benchmark"]
        .into_iter()
        .find(|target| text.lines().any(|line| line.starts_with(&format!("{target}:"))))?;
    Some(Discovered {
        name: target.into(),
        command: vec!["make".into(), target.into()],
        build: Vec::new(),
        binaries: vec!["make".into()],
        gpu: false,
        why: format!("the makefile has a target `{target}`"),
    })
}
