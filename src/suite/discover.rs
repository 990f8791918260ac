//! Finds what looks like a benchmark in a folder: programs, scripts, benches of a Cargo package, targets of a makefile, and
//! sources that are a program by themselves. Names and file modes only: nothing is started.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A `[[benchmark]]` that lies in a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Discovered {
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

/// Everything in `folder` that looks like a benchmark, by name. What cannot be read is not there.
pub fn discover(folder: &Path) -> Vec<Discovered> {
    let mut found = scripts(folder);
    found.extend(cargo(folder));
    match make(folder) {
        // The makefile knows how they are built.
        Some(target) => found.push(target),
        None => add_sources(folder, &mut found),
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

/// Folders beside the suite file that are looked into.
const SCRIPT_FOLDERS: [&str; 8] =
    ["", "benchmarks", "benchmark", "bench", "benches", "scripts", "bin", "build"];

/// Programs and scripts that can be started as they are.
fn scripts(folder: &Path) -> Vec<Discovered> {
    let of_place = |place| files(folder, place).filter_map(move |path| script(folder, place, &path));
    SCRIPT_FOLDERS.into_iter().flat_map(of_place).collect()
}

fn script(folder: &Path, place: &str, path: &str) -> Option<Discovered> {
    let file = leaf(path);
    let (stem, extension) = file.rsplit_once('.').unwrap_or((file, ""));
    let named = stem.starts_with("bench") || stem.ends_with("_bench") || stem.ends_with("-bench");
    let helper = stem.starts_with('_') || stem.starts_with('.') || stem == "conftest";
    let found = |command: &[&str], binary: &str, why: String| {
        Some(Discovered {
            name: id_word(stem),
            command: command.iter().map(|argument| literal(argument)).collect(),
            binaries: if binary.is_empty() { Vec::new() } else { vec![binary.to_owned()] },
            gpu: text_of(&folder.join(path)).is_some_and(|text| CUDA.iter().any(|word| text.contains(word))),
            why,
            ..Discovered::default()
        })
    };
    match extension {
        "py" if !helper && (named || place.starts_with("benchmark")) => {
            found(&["python3", path], "python3", format!("{path} is a Python program"))
        }
        "sh" if named => found(&["sh", path], "sh", format!("{path} is a shell script")),
        _ if named && is_executable(&folder.join(path)) => {
            found(&[&format!("./{path}")], "", format!("{path} is executable"))
        }
        _ => None,
    }
}

/// Words by which a program shows that it works on an NVIDIA GPU: in its text, or in what it is linked with.
const CUDA: [&str; 5] = ["cuda", "cupy", "triton", "nvidia-smi", "nvcc"];

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

/// One entry for every `benches/*.rs` of a Cargo package.
fn cargo(folder: &Path) -> Vec<Discovered> {
    if !folder.join("Cargo.toml").is_file() {
        return Vec::new();
    }
    let entry = |path: String| {
        let name = leaf(&path).strip_suffix(".rs")?;
        Some(Discovered {
            name: id_word(name),
            command: ["cargo", "bench", "--offline", "--bench", name].map(literal).to_vec(),
            build: ["cargo", "bench", "--no-run", "--bench", name].map(str::to_owned).to_vec(),
            binaries: vec!["cargo".into()],
            why: format!("{path} is a bench of this Cargo package"),
            ..Discovered::default()
        })
    };
    files(folder, "benches").filter_map(entry).collect()
}

/// One entry for a `bench` or `benchmark` target of a makefile.
fn make(folder: &Path) -> Option<Discovered> {
    let names = ["GNUmakefile", "makefile", "Makefile"];
    let text = names.iter().find_map(|file| fs::read_to_string(folder.join(file)).ok())?;
    let target = ["bench", "benchmark"]
        .into_iter()
        .find(|target| text.lines().any(|line| line.starts_with(&format!("{target}:"))))?;
    Some(Discovered {
        name: target.into(),
        command: vec!["make".into(), target.into()],
        binaries: vec!["make".into()],
        why: format!("the makefile has a target `{target}`"),
        ..Discovered::default()
    })
}

/// Folders that are looked into, and whether every program in them is a benchmark, whatever it is called.
const SOURCE_FOLDERS: [(&str, bool); 4] =
    [("", false), ("bench", true), ("benchmark", true), ("benchmarks", true)];

/// Compiler and flags by the file's extension.
fn compiler(extension: &str) -> Option<&'static [&'static str]> {
    match extension {
        "cu" => Some(&["nvcc", "-O3", "-o"]),
        "cpp" | "cc" | "cxx" => Some(&["c++", "-O2", "-o"]),
        "c" => Some(&["cc", "-O2", "-o"]),
        _ => None,
    }
}

/// Adds an entry with a build step for each source. A program that was built from one by hand gives way to it: after a
/// change of the source it would still be the old one.
fn add_sources(folder: &Path, found: &mut Vec<Discovered>) {
    let mut taken: Vec<String> = Vec::new();
    for (place, all) in SOURCE_FOLDERS {
        for path in files(folder, place) {
            let Some((stem, extension)) = path.rsplit_once('.') else { continue };
            let Some(compiler) = compiler(extension) else { continue };
            let named = all || leaf(&path).to_ascii_lowercase().contains("bench");
            if !named || !is_program(&folder.join(&path)) {
                continue;
            }
            let mut output = stem.to_owned();
            if taken.contains(&output) || folder.join(&output).is_dir() {
                output = format!("{stem}-{extension}");
            }
            taken.push(output.clone());
            let command = vec![literal(&format!("./{output}"))];
            found.retain(|entry| entry.command != command);
            let mut build: Vec<String> = compiler.iter().map(|&argument| argument.to_owned()).collect();
            build.extend([output, path.clone()]);
            if extension == "c" {
                build.push("-lm".into());
            }
            found.push(Discovered {
                name: id_word(leaf(stem)),
                command,
                binaries: build[..1].to_vec(),
                build,
                gpu: extension == "cu",
                why: format!("{path} has a main function; give `build` what else it takes"),
            });
        }
    }
}

/// Whether the text has a `main`, or a macro that stands for one: parts of a program are none.
fn is_program(path: &Path) -> bool {
    let begins_word = |before: &str| !before.ends_with(|c: char| c.is_ascii_alphanumeric());
    text_of(path).is_some_and(|text| {
        text.match_indices("main").any(|(at, found)| {
            begins_word(&text[..at]) && text[at + found.len()..].trim_start().starts_with('(')
        })
    })
}

/// Paths of the regular files in a place of the folder whose names are text, sorted.
fn files(folder: &Path, place: &'static str) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(folder.join(place)).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.path().is_file());
    let mut names: Vec<String> = files.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| !name.contains(char::is_control));
    names.sort();
    names.into_iter().map(move |name| if place.is_empty() { name } else { format!("{place}/{name}") })
}

fn leaf(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Bytes of a program that are searched for words.
const MAX_SEARCHED_BYTES: u64 = 1 << 20;

/// The beginning of a file in lower case, whatever its bytes.
fn text_of(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(MAX_SEARCHED_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).to_lowercase())
}

/// An argument in which braces mean themselves.
fn literal(argument: &str) -> String {
    argument.replace('{', "{{").replace('}', "}}")
}

/// The characters of a benchmark's id.
pub fn id_word(text: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "_-.+".contains(c) { c } else { '_' };
    let word: String = text.chars().take(60).map(allowed).collect();
    match word.trim_matches('.') {
        "" => "suite".into(),
        word => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
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
        let found = discover(folder.path());
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
        let gpus: Vec<_> = discover(folder.path()).into_iter().map(|entry| (entry.name, entry.gpu)).collect();
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
        let found = discover(folder.path());
        assert_eq!(found[0].command, ["cargo", "bench", "--offline", "--bench", "sort"]);
        assert_eq!(found[1].command, ["make", "bench"]);
    }

    #[test]
    fn an_empty_or_missing_folder_holds_nothing() {
        assert_eq!(discover(folder(&[]).path()), []);
        assert_eq!(discover(Path::new("/nowhere/at/all")), []);
    }

    #[test]
    fn any_name_becomes_a_word() {
        for (text, expected) in
            [("my suite!", "my_suite_"), ("", "suite"), ("..", "suite"), ("größe", "gr__e")]
        {
            assert_eq!(id_word(text), expected);
            assert!(format!("{}/x", id_word(text)).parse::<crate::model::BenchmarkId>().is_ok());
        }
    }

    const MAIN: &str = "int main(int argc, char **argv) { return 0; }\n";

    fn told(files: &[(&str, &str, u32)]) -> Vec<String> {
        let folder = folder(files);
        let line = |entry: Discovered| {
            format!(
                "{}: {} <- {}{}",
                entry.name,
                entry.command.join(" "),
                entry.build.join(" "),
                if entry.gpu { " gpu" } else { "" }
            )
        };
        discover(folder.path()).into_iter().map(line).collect()
    }

    #[test]
    fn sources_with_a_main_are_built_and_run() {
        let told = told(&[
            ("gemm_bench.cu", MAIN, 0o644),
            ("kernels.cu", MAIN, 0o644),
            ("bench/softmax.cu", MAIN, 0o644),
            ("bench/timer.cpp", "void domain() { remain(); }\n", 0o644),
            ("benchmarks/io.c", "int\nmain (void)\n{}\n", 0o644),
            ("benchmarks/map.cpp", "BENCHMARK_MAIN();\n", 0o644),
        ]);
        assert_eq!(
            told,
            [
                "gemm_bench: ./gemm_bench <- nvcc -O3 -o gemm_bench gemm_bench.cu gpu",
                "softmax: ./bench/softmax <- nvcc -O3 -o bench/softmax bench/softmax.cu gpu",
                "io: ./benchmarks/io <- cc -O2 -o benchmarks/io benchmarks/io.c -lm",
                "map: ./benchmarks/map <- c++ -O2 -o benchmarks/map benchmarks/map.cpp",
            ]
        );
    }

    #[test]
    fn what_was_built_by_hand_gives_way_to_its_source_and_no_two_share_an_output() {
        let told = told(&[("bench_a.c", MAIN, 0o644), ("bench_a.cu", MAIN, 0o644), ("bench_a", "", 0o755)]);
        assert_eq!(
            told,
            [
                "bench_a: ./bench_a <- cc -O2 -o bench_a bench_a.c -lm",
                "bench_a-2: ./bench_a-cu <- nvcc -O3 -o bench_a-cu bench_a.cu gpu",
            ]
        );
    }

    #[test]
    fn a_makefile_that_knows_benchmarks_knows_how_they_are_built() {
        let told = told(&[("bench/gemm.cu", MAIN, 0o644), ("Makefile", "bench:\n\ttrue\n", 0o644)]);
        assert_eq!(told, ["bench: make bench <- "]);
    }
}
