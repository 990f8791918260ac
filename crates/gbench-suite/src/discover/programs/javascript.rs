//! JavaScript benchmarks that no adapter knows: scripts of a `package.json`, and files that are named like benchmarks or use a
//! library that calibrates itself. They are reported, not proposed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::discover::files::is_executable;
use crate::discover::findings::{Findings, leaf};
use gbench_formats::adapters::{Harness, Program, SourceTree, javascript_imports};

const FILE: &str = "package.json";
const ENDS: [&str; 6] = ["js", "mjs", "cjs", "ts", "mts", "cts"];
const LIBRARIES: [(&str, &str); 3] =
    [("benchmark", "Benchmark.js"), ("tinybench", "tinybench"), ("benny", "benny")];

#[derive(Default)]
struct Told {
    scripts: Vec<(String, String)>,
    /// Files that no script starts, with their library.
    files: Vec<(String, Option<&'static str>)>,
}

pub(crate) fn add(folder: &Path, tree: &dyn SourceTree, findings: &mut Findings) {
    let mut packages: BTreeMap<String, Told> = BTreeMap::new();
    let mut named = BTreeSet::new();
    for path in tree.files().iter().filter(|path| leaf(path) == FILE) {
        let place = path.strip_suffix(FILE).unwrap_or_default().trim_end_matches('/').to_owned();
        let text = tree.text(path).unwrap_or_default();
        let Ok(package) = serde_json::from_str::<Value>(&text) else { continue };
        let told = packages.entry(place.clone()).or_default();
        for (name, line) in package["scripts"].as_object().into_iter().flatten() {
            let Some(line) = line.as_str().filter(|_| name.starts_with("bench")) else { continue };
            let files = starts(tree, &place, line);
            let known =
                files.iter().any(|file| findings.claimed.contains(file)) || has_entry(findings, &place, line);
            named.extend(files);
            if !known {
                told.scripts.push((name.clone(), line.to_owned()));
            }
        }
    }
    for path in tree.files() {
        let Some((stem, end)) = leaf(path).rsplit_once('.').filter(|(_, end)| ENDS.contains(end)) else {
            continue;
        };
        let called = ["bench", "benchmark", "benchmarks"].iter().any(|word| {
            stem == *word || stem.ends_with(&format!(".{word}")) || stem.ends_with(&format!("-{word}"))
        });
        if findings.claimed.contains(path)
            || named.contains(path)
            || end.ends_with("ts") && stem.ends_with(".d")
        {
            continue;
        }
        let library = library(tree, path);
        if library.is_none() && (!called || is_executable(&folder.join(path))) {
            continue;
        }
        findings.claimed.insert(path.clone());
        packages.entry(above(&packages, path)).or_default().files.push((path.clone(), library));
    }
    // A program that a script also starts is examined by itself.
    let is_source = |path: &String| path.rsplit_once('.').is_some_and(|(_, end)| ENDS.contains(&end));
    findings.claimed.extend(named.into_iter().filter(is_source));
    for (place, told) in packages {
        let inside = |words: &str| {
            if place.is_empty() { words.to_owned() } else { format!("{words}, `dir = \"{place}\"`") }
        };
        if let [(name, line), rest @ ..] = told.scripts.as_slice() {
            let library = starts(tree, &place, line).iter().find_map(|file| library(tree, file));
            let manifest = if place.is_empty() { FILE.to_owned() } else { format!("{place}/{FILE}") };
            let what = format!("the script `{name}` of {manifest}{} (`{line}`)", others(rest.len()));
            findings.found.unclear.push(sentence(&what, library, &inside(&shown(&words(name, line)))));
        }
        if let [(path, library), rest @ ..] = told.files.as_slice() {
            let what = format!("{path}{}", others(rest.len()));
            let file = path.strip_prefix(place.as_str()).unwrap_or(path).trim_start_matches('/');
            let runner: &[&str] = if path.ends_with("ts") { &["npx", "tsx"] } else { &["node"] };
            let words: Vec<String> = runner.iter().copied().chain([file]).map(str::to_owned).collect();
            findings.found.unclear.push(sentence(&what, *library, &inside(&shown(&words))));
        }
    }
}

fn sentence(what: &str, library: Option<&str>, command: &str) -> String {
    match library {
        Some(title) => format!(
            "{what} calibrates itself ({title}), so that timed from outside it always takes the same time. Let \
                it print its results, and write {command}, a `build` that installs its packages, and `extract`; \
                or use the protocol (docs/protocol.md)"
        ),
        None => format!(
            "the harness of {what} is unknown. If it does the same work each time, write {command} and a `build` \
                that installs its packages. If it measures until a time has passed, read its results with \
                `extract`, or use the protocol (docs/protocol.md)"
        ),
    }
}

fn others(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" (and {more} more there)") }
}

fn shown(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| Value::from(word.as_str()).to_string()).collect();
    format!("`command = [{}]`", words.join(", "))
}

/// A simple script's own words, because npm takes a second to start.
fn words(name: &str, line: &str) -> Vec<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || " _-./:=@,+".contains(c);
    let own: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let program = own.first().is_some_and(|word| ["node", "bun", "deno", "npx"].contains(&word.as_str()));
    if program && line.chars().all(plain) {
        return own;
    }
    ["npm", "run", "--silent", name].map(str::to_owned).to_vec()
}

fn starts(tree: &dyn SourceTree, place: &str, line: &str) -> Vec<String> {
    let words = line.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    let paths = words.flat_map(|word| {
        let word = word.trim_start_matches("./");
        let path = if place.is_empty() { word.to_owned() } else { format!("{place}/{word}") };
        [path.clone(), format!("{path}.js"), format!("{path}/index.js")]
    });
    paths.filter(|path| tree.files().binary_search(path).is_ok()).collect()
}

fn has_entry(findings: &Findings, place: &str, line: &str) -> bool {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let harness = Harness::recognised(&Program { command: &words, bytes: b"" });
    harness.is_some()
        && findings.found.benchmarks.iter().any(|entry| entry.harness == harness && entry.dir == place)
}

fn library(tree: &dyn SourceTree, path: &str) -> Option<&'static str> {
    let text = tree.text(path)?;
    // A word is cheaper to search than an expression, and most files have none.
    let uses = |(package, _): &&(&str, &str)| text.contains(package) && javascript_imports(&text, package);
    LIBRARIES.iter().find(uses).map(|(_, title)| *title)
}

fn above(packages: &BTreeMap<String, Told>, path: &str) -> String {
    let inside =
        |place: &&String| path.strip_prefix(place.as_str()).is_some_and(|rest| rest.starts_with('/'));
    packages.keys().filter(inside).max_by_key(|place| place.len()).cloned().unwrap_or_default()
}
