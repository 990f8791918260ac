//! Programs and scripts that can be started as they are, and are no harness's.

use std::fs;
use std::path::Path;

use super::calibrating::{self, calibrates};
use super::files::{files, is_executable, text_of};
use super::findings::{Discovered, Findings, id_word, leaf, literal};
use crate::adapters::{Harness, Program};

/// Folders beside the suite file that are looked into.
const SCRIPT_FOLDERS: [&str; 8] =
    ["", "benchmarks", "benchmark", "bench", "benches", "scripts", "bin", "build"];

/// Bytes of a program in which a harness is looked for.
const MAX_PROGRAM_BYTES: u64 = 64 << 20;

pub(super) fn add(folder: &Path, findings: &mut Findings) {
    for place in SCRIPT_FOLDERS {
        for path in files(folder, place).filter(|path| !findings.claimed.contains(path)).collect::<Vec<_>>() {
            match script(folder, place, &path, findings) {
                Some(Ok(found)) => findings.found.benchmarks.push(found),
                Some(Err(why_not)) => findings.found.unclear.push(why_not),
                None => {}
            }
        }
    }
}

/// The entry of a file, or why there is none; `None`: it does not look like a benchmark, or has an entry already.
fn script(folder: &Path, place: &str, path: &str, findings: &Findings) -> Option<Result<Discovered, String>> {
    let file = leaf(path);
    let (stem, extension) = file.rsplit_once('.').unwrap_or((file, ""));
    let named = stem.starts_with("bench") || stem.ends_with("_bench") || stem.ends_with("-bench");
    let helper = stem.starts_with('_') || stem.starts_with('.') || stem == "conftest";
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
        "py" if !helper && (named || place.starts_with("benchmark")) => {
            let text = text();
            if has_tests(&text) {
                return Some(Err(format!(
                    "{path} has tests of pytest, and none with the fixture `benchmark`: run by itself it measures nothing. Write a \
                     test with `benchmark` of pytest-benchmark, or a program that does the work"
                )));
            }
            let entry = || found(&["python3", path], "python3", format!("{path} is a Python program"));
            Some(
                calibrating::by_text("py", &text)
                    .map_or_else(|| Ok(entry()), |title| Err(calibrates(path, title))),
            )
        }
        "sh" if named => Some(match calibrating::by_commands(&text()) {
            None => Ok(found(&["sh", path], "sh", format!("{path} is a shell script"))),
            Some((line, command)) => Err(format!(
                "{path}:{line} starts `{command}`, which calibrates itself, so that its time from outside tells nothing: give that \
                 program an entry with its `harness`"
            )),
        }),
        _ if named && is_executable(&folder.join(path)) => executable(folder, path, findings)
            .unwrap_or_else(|| Some(Ok(found(&[&format!("./{path}")], "", format!("{path} is executable"))))),
        _ => None,
    }
}

/// What is to be said of a program that has a harness inside; the inner `None`: nothing, it has an entry. The outer: it has none inside.
fn executable(folder: &Path, path: &str, findings: &Findings) -> Option<Option<Result<Discovered, String>>> {
    if findings.starts(path) {
        return Some(None);
    }
    let bytes = bytes_of(&folder.join(path)).unwrap_or_default();
    let harness = Harness::recognised(&Program { command: &[format!("./{path}")], bytes: &bytes })?;
    let (name, title) = (harness.0.name(), harness.0.about().title);
    // The build folder of somebody else's choice: the entry builds it anew.
    if findings.of_program(leaf(path)).is_some() {
        return Some(None);
    }
    Some(Some(Err(format!(
        "{path} is a program with {title} inside: write an entry with `harness = \"{name}\"`, `command = [\"./{path}\"]` and, in `build`, \
         what makes it"
    ))))
}

fn bytes_of(path: &Path) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(MAX_PROGRAM_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Whether a text, in small letters, has tests that pytest runs and nothing that runs without it.
fn has_tests(text: &str) -> bool {
    let test = |line: &str| line.starts_with("def test_") || line.starts_with("class test");
    text.lines().any(test) && !text.contains("__main__")
}

/// Words by which a program shows that it works on an NVIDIA GPU: in its text, or in what it is linked with.
const CUDA: [&str; 5] = ["cuda", "cupy", "triton", "nvidia-smi", "nvcc"];
