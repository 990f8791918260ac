//! Sources in CUDA, C++ and C that are a program by themselves: one file, one compiler.

use std::fs;
use std::io::Read;
use std::path::Path;

use super::entry::{Discovered, files, id_word, literal};

/// Folders that are looked into, and whether every program in them is a benchmark, whatever it is called.
const FOLDERS: [(&str, bool); 4] = [("", false), ("bench", true), ("benchmark", true), ("benchmarks", true)];

/// Bytes of a source that are searched for its `main`.
const MOST: u64 = 1 << 20;

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
pub(super) fn add(folder: &Path, found: &mut Vec<Discovered>) {
    let mut taken: Vec<String> = Vec::new();
    for (place, all) in FOLDERS {
        for file in files(&folder.join(place)) {
            let path = if place.is_empty() { file.clone() } else { format!("{place}/{file}") };
            let Some((stem, extension)) = path.rsplit_once('.') else { continue };
            let Some(compiler) = compiler(extension) else { continue };
            let named = all || file.to_ascii_lowercase().contains("bench");
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
                name: id_word(Path::new(stem).file_name().and_then(|name| name.to_str()).unwrap_or(stem)),
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
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(MOST).read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
    let begins_word = |before: &str| !before.ends_with(|c: char| c.is_ascii_alphanumeric());
    read.is_ok()
        && text.match_indices("main").any(|(at, found)| {
            begins_word(&text[..at]) && text[at + found.len()..].trim_start().starts_with('(')
        })
}
