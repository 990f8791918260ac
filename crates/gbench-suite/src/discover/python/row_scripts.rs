//! Python scripts that write rows of a known format: a sweep over operators, or attention kernels.
//!
//! A script only gets an entry if its text is unambiguous: it builds every key of the format's rows, and has one destination
//! for them, a file with a fixed name or stdout. `init` explains what to write for others.

use crate::discover::findings::{Discovered, Findings, id_word, leaf, literal};
use gbench_formats::adapters::{Harness, SourceTree};

/// A format, and the keys that a script builds for its rows.
struct RowScript {
    format: &'static str,
    keys: &'static [&'static str],
    lines: bool,
}

const SCRIPTS: [RowScript; 3] = [
    RowScript {
        format: "operator-list",
        keys: &["operation", "implementation", "batch_size", "time_ms", "memory_mb", "inference_speed"],
        lines: false,
    },
    RowScript {
        format: "attention-jsonl",
        keys: &["impl", "B", "H", "S", "d", "dtype", "causal", "ms_mean", "qps"],
        lines: true,
    },
    RowScript {
        format: "attention-harness",
        keys: &["kernel_name", "metrics", "mean_time_ms", "median_time_ms", "throughput_gflops"],
        lines: false,
    },
];

const NAMED: [&str; 4] = ["bench", "harness", "sweep", "perf"];

pub(crate) fn add(tree: &dyn SourceTree, findings: &mut Findings) {
    for path in tree.files().iter().filter(|path| path.ends_with(".py")) {
        let small = path.to_lowercase();
        let named = NAMED.iter().any(|word| small.contains(word)) && !leaf(path).starts_with("test_");
        if !named || findings.claimed.contains(path) {
            continue;
        }
        let Some(text) = tree.text(path) else { continue };
        let builds = |script: &&RowScript| script.keys.iter().all(|key| builds_key(&text, key));
        let Some(script) = SCRIPTS.iter().find(builds) else { continue };
        let Some(harness) = Harness::named(script.format) else { continue };
        findings.claimed.insert(path.clone());
        match destination(&text, script.lines) {
            Ok(destination) => findings.found.benchmarks.push(entry(path, &text, harness, destination)),
            Err(unclear) => findings.found.unclear.push(sentence(path, harness, unclear)),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Destination {
    Stdout,
    File(String),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Unclear {
    NoProgram,
    Place,
}

fn entry(path: &str, text: &str, harness: Harness, destination: Destination) -> Discovered {
    let format = harness.0.name();
    let (file, place) = match destination {
        Destination::Stdout => (None, "prints them".to_owned()),
        Destination::File(name) => (Some(name.clone()), format!("writes them to {name}")),
    };
    Discovered {
        name: id_word(leaf(path).trim_end_matches(".py")),
        harness: Some(harness),
        command: vec!["python3".into(), literal(path)],
        file,
        binaries: vec!["python3".into()],
        gpu: text.to_lowercase().contains("cuda"),
        why: format!("{path} builds every key of the rows of {format} and {place}"),
        ..Discovered::default()
    }
}

fn sentence(path: &str, harness: Harness, unclear: Unclear) -> String {
    let format = harness.0.name();
    match unclear {
        Unclear::NoProgram => format!(
            "{path} builds every key of the rows of {format} but is not a program. Give the script that uses it \
                an entry with `harness = \"{format}\"` and, in `file`, its output"
        ),
        Unclear::Place => format!(
            "{path} builds every key of the rows of {format}, but their destination is unclear. Write `harness = \
                \"{format}\"` and `command = [\"python3\", \"{path}\"]`; unless it prints only the rows, add \
                `file = \"...\"`"
        ),
    }
}

/// True if a text builds a key: in a dictionary (`"key": value`), or as the field of a class (`key: type` at the start of a
/// line). Reading it (`row["key"]`) is not building it.
fn builds_key(text: &str, key: &str) -> bool {
    let field = |line: &str| {
        line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
    let quoted = ['"', '\''].iter().any(|quote| {
        let word = format!("{quote}{key}{quote}");
        text.match_indices(&word).any(|(at, _)| text[at + word.len()..].trim_start().starts_with(':'))
    });
    quoted || text.lines().any(field)
}

fn destination(text: &str, lines: bool) -> Result<Destination, Unclear> {
    if !text.contains("__main__") {
        return Err(Unclear::NoProgram);
    }
    let prints: Vec<&str> = text.match_indices("print(").map(|(at, word)| &text[at + word.len()..]).collect();
    let is_error = |call: &&str| call.lines().next().is_some_and(|line| line.contains("sys.stderr"));
    let said: Vec<&str> = prints.into_iter().filter(|call| !is_error(call)).collect();
    let all_json = said.iter().all(|call| call.trim_start().starts_with("json.dumps("));
    let one_document = lines || said.len() == 1;
    if !said.is_empty() && all_json && one_document && !text.contains("sys.stdout") {
        return Ok(Destination::Stdout);
    }
    let mut names = literals(text, if lines { ".jsonl" } else { ".json" }).ok_or(Unclear::Place)?;
    names.dedup();
    let writes = ["'w'", "\"w\"", "mode=", "write_text("].iter().any(|word| text.contains(word));
    match names.as_slice() {
        [name] if writes && text.contains("json.dump") => Ok(Destination::File(name.clone())),
        _ => Err(Unclear::Place),
    }
}

/// The literal file names with that ending that are assigned or opened, sorted. `None`: one is built from parts, or is in
/// another folder.
fn literals(text: &str, end: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for line in text.lines() {
        for (at, _) in line.match_indices(end) {
            let behind = &line[at + end.len()..];
            let Some(quote) = behind.chars().next().filter(|c| "\"'".contains(*c)) else { continue };
            let begin = line[..at].rfind(quote)?;
            let (before, name) = (line[..begin].trim_end(), format!("{}{end}", &line[begin + 1..at]));
            let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
            let below = !name.starts_with('/') && !name.split('/').any(|part| part == "..");
            let taken = before.ends_with("open(")
                || before.ends_with("Path(")
                || before.ends_with('=') && !before.ends_with("==");
            let joined = behind[1..].trim_start().starts_with(['/', '+', '.', '%']);
            if !(plain && below && taken) || joined {
                return None;
            }
            found.push(name);
        }
    }
    found.sort();
    Some(found)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use case_files::Given;

    /// Input: with `key`, whether the script writes that key. Otherwise the destination of its rows; `lines` means one JSON
    /// object on each line.
    pub(crate) fn answer(given: &Given) -> String {
        match given.get("key") {
            Some(key) => format!("{:?}", builds_key(&given.text(), key.trim_end())),
            None => format!("{:?}", destination(&given.text(), given.get("lines").is_some())),
        }
    }
}
