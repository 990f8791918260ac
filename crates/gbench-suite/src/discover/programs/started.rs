//! Programs and scripts that can be started directly and use no harness.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::calibrating::{self, calibrates};
use super::python_text::PythonText;
use crate::discover::files::{files, is_executable, text_of};
use crate::discover::findings::{Discovered, Findings, id_word, leaf, literal};
use gbench_formats::adapters::{Harness, Program, SourceTree};
use gbench_model::text::list;

const SCRIPT_FOLDERS: [&str; 8] =
    ["", "benchmarks", "benchmark", "bench", "benches", "scripts", "bin", "build"];

/// Bytes of a program that are searched for a harness.
const MAX_PROGRAM_BYTES: u64 = 64 << 20;

const NO_BENCHMARKS: [&str; 14] = [
    "plot",
    "plots",
    "plotting",
    "visualize",
    "visualizer",
    "visualise",
    "visualiser",
    "report",
    "summary",
    "summarize",
    "utils",
    "util",
    "config",
    "configs",
];

/// Words of scripts that prepare or deliver, unless they have the name of a benchmark.
const PREPARES: [&str; 13] = [
    "download", "prepare", "train", "convert", "export", "upload", "publish", "deploy", "install", "serve",
    "server", "setup", "build",
];

const MAX_NAMED: usize = 5;

enum NoEntry {
    Said(String),
    Calibrates(&'static str),
    Helps,
}

pub(crate) fn add(folder: &Path, tree: &dyn SourceTree, findings: &mut Findings) {
    let mut calibrating: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut helpers: Vec<String> = Vec::new();
    for place in SCRIPT_FOLDERS {
        for path in files(folder, place).filter(|path| !findings.claimed.contains(path)).collect::<Vec<_>>() {
            seen.insert(path.clone());
            match script(folder, place, &path, findings) {
                Some(Ok(found)) => findings.found.benchmarks.push(found),
                Some(Err(NoEntry::Said(why_not))) => findings.found.unclear.push(why_not),
                Some(Err(NoEntry::Calibrates(title))) => calibrating.entry(title).or_default().push(path),
                Some(Err(NoEntry::Helps)) => helpers.push(path),
                None => {}
            }
        }
    }
    if !helpers.is_empty() {
        findings.found.unclear.push(format!(
            "by their names, these scripts help others or show results: {}. Write an entry with `command` for \
                one that measures",
            list(&helpers, MAX_NAMED)
        ));
    }
    for (title, paths) in calibrating {
        let who = if paths.len() == 1 { paths[0].clone() } else { list(&paths, MAX_NAMED) };
        findings.found.unclear.push(calibrates(&who, title, paths.len()));
    }
    let deeper: Vec<String> = tree
        .files()
        .iter()
        .filter(|path| {
            !seen.contains(*path) && !findings.claimed.contains(*path) && is_deeper_script(tree, path)
        })
        .cloned()
        .collect();
    if !deeper.is_empty() {
        let scripts = match deeper.len() {
            1 => "1 Python script in another folder has the name of a benchmark".to_owned(),
            several => {
                format!("{several} Python scripts in other folders have names of benchmarks")
            }
        };
        findings.found.unclear.push(format!(
            "{scripts}, but their commands are unknown: {}. Write an entry with `command` for those to measure, \
                or run `init` in that folder",
            list(&deeper, MAX_NAMED),
        ));
    }
}

/// A script with a benchmark's name that runs by itself, in a deeper folder.
fn is_deeper_script(tree: &dyn SourceTree, path: &str) -> bool {
    let Some(stem) = leaf(path).strip_suffix(".py") else { return false };
    let runs = |text: &str| text.contains("__main__");
    is_named(stem) && !is_helper(stem) && tree.text(path).is_some_and(|text| runs(&text))
}

pub(super) fn is_named(stem: &str) -> bool {
    let ends = ["_bench", "-bench", "_benchmark", "-benchmark"];
    stem.starts_with("bench") || ends.iter().any(|end| stem.ends_with(end))
}

pub(super) fn is_helper(stem: &str) -> bool {
    let part_of = |part: &str| {
        let part = part.to_ascii_lowercase();
        NO_BENCHMARKS.contains(&part.as_str()) || PREPARES.contains(&part.as_str()) && !is_named(stem)
    };
    stem.starts_with(['_', '.']) || stem == "conftest" || stem.split(['_', '-']).any(part_of)
}

/// The harness with which a Python script calibrates itself, by its own text or those of the modules next to it that it
/// imports.
pub(super) fn calibrates_with(folder: &Path, path: &str, text: &str) -> Option<&'static str> {
    let beside = |line: &str| -> Option<String> {
        let mut words = line.split([' ', '.', ',']).filter(|word| !word.is_empty());
        let names = matches!(words.next()?, "import" | "from").then(|| words.next()).flatten()?;
        let name = format!("{}.py", names.trim());
        let file = path.rsplit_once('/').map_or(name.clone(), |(folder, _)| format!("{folder}/{name}"));
        text_of(&folder.join(file))
    };
    let own = calibrating::by_text("py", text);
    own.or_else(|| text.lines().filter_map(beside).find_map(|text| calibrating::by_text("py", &text)))
}

/// The entry of a file, or why it has none; `None`: it does not look like a benchmark, or already has an entry.
fn script(
    folder: &Path,
    place: &str,
    path: &str,
    findings: &Findings,
) -> Option<Result<Discovered, NoEntry>> {
    let file = leaf(path);
    let (stem, extension) = file.rsplit_once('.').unwrap_or((file, ""));
    let named = is_named(stem);
    let text = || text_of(&folder.join(path)).unwrap_or_default();
    let found = |command: &[&str], binary: &str, why: String| Discovered {
        name: id_word(stem),
        command: command.iter().map(|argument| literal(argument)).collect(),
        binaries: if binary.is_empty() { Vec::new() } else { vec![binary.to_owned()] },
        gpu: CUDA.iter().any(|word| text().contains(word)),
        why,
        ..Discovered::default()
    };
    match extension {
        "py" if stem == "__init__" => None,
        "py" if is_helper(stem) && (named || place.starts_with("benchmark")) => Some(Err(NoEntry::Helps)),
        "py" if named || place.starts_with("benchmark") => {
            let text = text();
            if has_tests(&text) {
                return Some(Err(NoEntry::Said(format!(
                    "{path} has pytest tests, but none with the fixture `benchmark`, so that it measures \
                        nothing. Write a test with `benchmark` of pytest-benchmark, or a program that does the \
                        work"
                ))));
            }
            if !named && !PythonText(&text).runs(true) {
                return None;
            }
            let entry = || found(&["python3", path], "python3", format!("{path} is a Python program"));
            let calibrates = calibrates_with(folder, path, &text);
            Some(calibrates.map_or_else(|| Ok(entry()), |title| Err(NoEntry::Calibrates(title))))
        }
        "sh" if named => Some(match calibrating::by_commands(&text()) {
            None => Ok(found(&["sh", path], "sh", format!("{path} is a shell script"))),
            Some((line, command)) => Err(NoEntry::Said(format!(
                "{path}:{line} starts `{command}`, which calibrates itself, so that its time from outside is \
                    meaningless: give that program an entry with its `harness`"
            ))),
        }),
        _ if named && is_executable(&folder.join(path)) => executable(folder, path, findings)
            .unwrap_or_else(|| Some(Ok(found(&[&format!("./{path}")], "", format!("{path} is executable"))))),
        _ => None,
    }
}

/// The message about a program that contains a harness; the inner `None`: it already has an entry. The outer `None`: it
/// contains no harness.
fn executable(folder: &Path, path: &str, findings: &Findings) -> Option<Option<Result<Discovered, NoEntry>>> {
    if findings.starts(path) {
        return Some(None);
    }
    let bytes = bytes_of(&folder.join(path)).unwrap_or_default();
    let harness = Harness::recognised(&Program { command: &[format!("./{path}")], bytes: &bytes })?;
    let (name, title) = (harness.0.name(), harness.0.about().title);
    // A build in another folder: the entry builds it again.
    if findings.of_program(leaf(path)).is_some() {
        return Some(None);
    }
    Some(Some(Err(NoEntry::Said(format!(
        "{path} is a program with {title}: write an entry with `harness = \"{name}\"`, `command = \
            [\"./{path}\"]` and its `build`"
    )))))
}

fn bytes_of(path: &Path) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(MAX_PROGRAM_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// True if a text in lower case has tests for pytest and does not run without it.
fn has_tests(text: &str) -> bool {
    let test = |line: &str| line.starts_with("def test_") || line.starts_with("class test");
    text.lines().any(test) && !text.contains("__main__")
}

/// Words in the text or among the linked libraries of a program that uses an NVIDIA GPU.
const CUDA: [&str; 5] = ["cuda", "cupy", "triton", "nvidia-smi", "nvcc"];
