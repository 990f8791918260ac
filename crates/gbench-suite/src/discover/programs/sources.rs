//! Sources with a `main`, and how a compiler or CMake builds them.

use std::path::Path;

use super::calibrating::{self, calibrates};
use crate::discover::files::{files, text_of};
use crate::discover::findings::{Discovered, Findings, leaf, literal};
use gbench_formats::adapters::{BuildStep, CMakePrograms, NoPlace};

/// Searched folders; true if every program in them is a benchmark, whatever its name.
const SOURCE_FOLDERS: [(&str, bool); 4] =
    [("", false), ("bench", true), ("benchmark", true), ("benchmarks", true)];

fn compiler(extension: &str) -> Option<&'static [&'static str]> {
    match extension {
        "cu" => Some(&["nvcc", "-O3", "-o"]),
        "cpp" | "cc" | "cxx" => Some(&["c++", "-O2", "-o"]),
        "c" => Some(&["cc", "-O2", "-o"]),
        _ => None,
    }
}

/// Adds an entry with a build step for each unclaimed source. It replaces the entry of a program that was built by hand, which
/// would be outdated after a change of the source.
pub(crate) fn add(folder: &Path, cmake: &CMakePrograms, findings: &mut Findings) {
    let mut misplaced: Vec<NoPlace> = Vec::new();
    let mut taken: Vec<String> = Vec::new();
    for (place, all) in SOURCE_FOLDERS {
        for path in files(folder, place) {
            let Some((stem, extension)) = path.rsplit_once('.') else { continue };
            let Some(compiler) = compiler(extension) else { continue };
            let named = all || leaf(&path).to_ascii_lowercase().contains("bench");
            if !named || findings.claimed.contains(&path) {
                continue;
            }
            let Some(text) = text_of(&folder.join(&path)).filter(|text| is_program(text)) else { continue };
            if let Some(title) = calibrating::by_text(extension, &text) {
                findings.found.unclear.push(calibrates(&path, title, 1));
                continue;
            }
            match by_cmake(cmake, &path, extension) {
                Some(Ok(entry)) => {
                    findings.found.benchmarks.retain(|other| other.command != entry.command);
                    findings.found.benchmarks.push(entry);
                    continue;
                }
                Some(Err(no_place)) => {
                    misplaced.push(no_place);
                    continue;
                }
                None => {}
            }
            let mut output = stem.to_owned();
            if taken.contains(&output) || folder.join(&output).is_dir() {
                output = format!("{stem}-{extension}");
            }
            taken.push(output.clone());
            let command = vec![literal(&format!("./{output}"))];
            findings.found.benchmarks.retain(|entry| entry.command != command);
            let mut build: Vec<String> = compiler.iter().map(|&argument| argument.to_owned()).collect();
            build.extend([literal(&output), literal(&path)]);
            if extension == "c" {
                build.push("-lm".into());
            }
            findings.found.benchmarks.push(Discovered {
                name: leaf(stem).to_owned(),
                command,
                binaries: build[..1].to_vec(),
                build: Some(BuildStep::Command(build)),
                gpu: extension == "cu",
                why: format!("{path} has a main function; complete the `build` command"),
                ..Discovered::default()
            });
        }
    }
    findings.found.unclear.extend(NoPlace::sentence(&misplaced, "a target of CMake has a main function"));
}

fn by_cmake(cmake: &CMakePrograms, path: &str, extension: &str) -> Option<Result<Discovered, NoPlace>> {
    let found = match cmake.program(path)? {
        Ok(found) => found,
        Err(no_place) => return Some(Err(no_place)),
    };
    let cuda = extension == "cu";
    Some(Ok(Discovered {
        name: found.name,
        command: found.command.iter().map(|word| literal(word)).collect(),
        build: found.build,
        binaries: found.binaries.into_iter().chain(cuda.then(|| "nvcc".to_owned())).collect(),
        gpu: cuda,
        why: found.why,
        ..Discovered::default()
    }))
}

/// True if the text has a `main`, or a macro that expands to one.
pub(crate) fn is_program(text: &str) -> bool {
    let begins_word = |before: &str| !before.ends_with(|c: char| c.is_ascii_alphanumeric());
    text.match_indices("main")
        .any(|(at, found)| begins_word(&text[..at]) && text[at + found.len()..].trim_start().starts_with('('))
}
