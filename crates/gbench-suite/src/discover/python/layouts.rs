//! Python benchmarks of known layouts: pairs, and kernels. One entry for each layout, with the narrowest folders that contain
//! the findings.

use std::collections::{BTreeMap, BTreeSet};

use strum::IntoEnumIterator;

use crate::discover::findings::{Discovered, Findings, leaf};
use crate::discover::found_layout::FoundLayout;
use gbench_formats::adapters::layouts::{
    CallWay, KERNEL_FUNCTIONS, Layout, LayoutCases, LayoutRequest, PassedOver, PythonCase, find,
};
use gbench_formats::adapters::{CaseName, SourceTree};
use gbench_model::text::{count, list};
use gbench_model::{ParamValue, Variant};

const MAX_SAID: usize = 5;
/// Maximum number of folders in an entry; with more, all folders are searched.
const MAX_ROOTS: usize = 8;

pub(crate) fn add(tree: &dyn SourceTree, findings: &mut Findings) {
    for layout in Layout::iter() {
        let everywhere = match layout {
            Layout::Pairs => Vec::new(),
            Layout::Kernels => folders_of_kernels(tree),
        };
        let all = find(&LayoutRequest { layout, roots: &everywhere, ignore: &[] }, tree);
        findings.found.orphans.extend(all.orphans.iter().cloned());
        let (folders, ignore) = match layout {
            Layout::Pairs => (folders_of_pairs(&all), Vec::new()),
            Layout::Kernels => kernels(tree, &all, findings),
        };
        if folders.is_empty() {
            if layout == Layout::Pairs {
                say_lone(&all.cases.iter().map(|case| case.call.file.clone()).collect::<Vec<_>>(), findings);
            }
            say_orphans(&all.orphans, &all.warnings, findings);
            findings.found.passed_over.extend(all.passed_over);
            continue;
        }
        let roots = match layout {
            Layout::Pairs => roots(&folders),
            Layout::Kernels => roots_of_kernels(&all, &folders),
        };
        let cases = find(&LayoutRequest { layout, roots: &roots, ignore: &ignore }, tree);
        findings.claimed.extend(all.orphans.iter().cloned());
        findings.claimed.extend(cases.cases.iter().map(|case| case.call.file.clone()));
        findings.has_harness = true;
        match layout {
            Layout::Pairs => {
                pass_over_outside(&all, &cases, findings);
                say_orphans(&all.orphans, &all.warnings, findings);
            }
            Layout::Kernels => say_warnings(&cases, findings),
        }
        // Files in its own `ignore` already have a better reason.
        let own = |over: &&PassedOver| !ignore.contains(&globset::escape(&over.path));
        findings.found.passed_over.extend(cases.passed_over.iter().filter(own).cloned());
        findings.found.benchmarks.push(Discovered {
            name: layout.into_str().to_owned(),
            why: why(layout, &cases),
            python: Some(FoundLayout { layout, roots, ignore, cases }),
            ..Discovered::default()
        });
    }
}

fn why(layout: Layout, found: &LayoutCases) -> String {
    let folders: BTreeSet<&str> = found.cases.iter().map(|case| folder(&case.call.file)).collect();
    let folders = count(folders.len(), "folder");
    match layout {
        Layout::Pairs => {
            let (baselines, optimized): (Vec<&PythonCase>, Vec<&PythonCase>) =
                found.cases.iter().partition(|case| is_baseline(&case.name));
            let files = count(optimized.len(), "optimized file");
            format!("{} with {files} in {folders}", count(baselines.len(), "baseline"))
        }
        Layout::Kernels => format!("{} in {folders}", count(found.kernels.len(), "kernel")),
    }
}

pub(crate) fn is_baseline(name: &CaseName) -> bool {
    name.params.get("variant") == Some(&ParamValue::Text(Variant::Baseline.into_str().to_owned()))
}

fn folders_of_pairs(found: &LayoutCases) -> Vec<String> {
    let optimized = found.cases.iter().filter(|case| !is_baseline(&case.name));
    distinct(optimized.map(|case| folder(&case.call.file)))
}

/// Folders of kernels, and files in them that are certainly not kernels: no `bench.yaml` names them, they lack the functions
/// that are called, and no harness has claimed them.
fn kernels(tree: &dyn SourceTree, all: &LayoutCases, findings: &mut Findings) -> (Vec<String>, Vec<String>) {
    let (mut folders, mut left_out) = (Vec::new(), Vec::new());
    for kernel in &all.kernels {
        let described = tree.files().binary_search(&beside(&kernel.path, "bench.yaml")).is_ok();
        let claimed = findings.claimed.contains(&kernel.path);
        if !claimed && (described || has_function(tree, &kernel.path, &kernel.name)) {
            folders.push(folder(&kernel.path));
            continue;
        }
        let why =
            if claimed { "a harness has it" } else { "it has neither a kernel's function nor a bench.yaml" };
        findings.found.passed_over.push(PassedOver { path: kernel.path.clone(), why: why.to_owned() });
        left_out.push(kernel.path.clone());
    }
    let folders = distinct(folders.into_iter());
    let ignore: Vec<String> = left_out.iter().map(|path| globset::escape(path)).collect();
    if !folders.is_empty() && !ignore.is_empty() {
        findings.found.unclear.push(format!(
            "{} in folders of kernels without {} or `NAME_kernel` and without a bench.yaml: `ignore` leaves out {}",
            count(left_out.len(), "file"),
            KERNEL_FUNCTIONS.map(|name| format!("`{name}`")).join(", "),
            list(&left_out, MAX_SAID),
        ));
    }
    (folders, ignore)
}

/// True if a source defines, imports or assigns one of the functions that a kernel is called by.
fn has_function(tree: &dyn SourceTree, path: &str, name: &str) -> bool {
    let Some(text) = tree.text(path) else { return false };
    let own = format!("{name}_kernel");
    let named = |word: &str| word == own || KERNEL_FUNCTIONS.contains(&word);
    let words = |text: &str| -> Vec<String> {
        let parts = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let lines: Vec<&str> = text.lines().collect();
    lines.iter().enumerate().any(|(at, line)| {
        let words = words(line);
        let first: Vec<&str> = words.iter().map(String::as_str).collect();
        match first.as_slice() {
            ["def", name, ..] | ["async", "def", name, ..] => {
                let is_called = *name == own || named(name) && is_called_plainly(&lines[at..].join("\n"));
                line.starts_with(['d', 'a']) && is_called
            }
            ["from", rest @ ..] => rest.iter().any(|word| named(word)),
            [name, ..] => {
                named(name) && line.starts_with(name) && line[name.len()..].trim_start().starts_with('=')
            }
            [] => false,
        }
    })
}

/// True if a function can be called without a `problem_size`: all of its other parameters have defaults.
fn is_called_plainly(definition: &str) -> bool {
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in definition.chars().skip_while(|c| *c != '(') {
        depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
        match (c, depth) {
            (_, 0) => break,
            ('(', 1) => {}
            (',', 1) => parts.push(String::new()),
            (c, _) => parts.last_mut().into_iter().for_each(|part| part.push(c)),
        }
    }
    let given = |part: &String| {
        let name = part.split(':').next().unwrap_or_default().trim();
        name.is_empty()
            || part.contains('=')
            || name.starts_with('*')
            || name == "/"
            || ["precision", "dtype", "backend", "device"].contains(&name)
    };
    parts.iter().all(given)
}

/// The layout's own folders, and folders with a `bench.yaml` of this kind.
fn folders_of_kernels(tree: &dyn SourceTree) -> Vec<String> {
    let usual = Layout::Kernels.default_roots().iter();
    let is_usual = |folder: &str| usual.clone().any(|root| folder == *root || is_below(root, folder));
    let described = tree.files().iter().filter(|path| {
        let of_kernels = |text: &str| {
            let has = |key: &str| text.lines().any(|line| line.starts_with(key));
            let known = ["function_name:", "precisions:", "backends:", "skip_conditions:", "tolerances:"];
            has("problem_size:") || known.iter().filter(|key| has(key)).count() > 1
        };
        leaf(path) == "bench.yaml"
            && !is_usual(folder(path))
            && tree.text(path).is_some_and(|text| of_kernels(&text))
    });
    let own = described.map(|path| globset::escape(folder(path)));
    let own: BTreeSet<String> = own.filter(|path| !path.is_empty()).collect();
    usual.clone().map(|root| (*root).to_owned()).chain(own).collect()
}

fn is_below(root: &str, path: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'))
}

fn roots_of_kernels(all: &LayoutCases, folders: &[String]) -> Vec<String> {
    let own = all.kernels.iter().filter(|kernel| folders.contains(&folder(&kernel.path).to_owned()));
    let own: Vec<&str> = own.map(|kernel| kernel.path.as_str()).collect();
    let usual = Layout::Kernels.default_roots().iter();
    let used = usual.clone().filter(|root| own.iter().any(|path| is_below(root, path)));
    let elsewhere = own.iter().filter(|path| !usual.clone().any(|root| is_below(root, path)));
    let elsewhere: BTreeSet<String> = elsewhere.map(|path| globset::escape(folder(path))).collect();
    used.map(|root| (*root).to_owned()).chain(elsewhere).collect()
}

/// The fewest folder globs that match these folders and few others. A glob also matches the folders below it.
pub(crate) fn roots(folders: &[String]) -> Vec<String> {
    let below = |folder: &str, other: &str| {
        other.is_empty() || folder.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'))
    };
    if folders.iter().any(String::is_empty) {
        return vec![".".into()];
    }
    let tops = folders.iter().filter(|folder| !folders.iter().any(|other| below(folder, other)));
    let mut groups: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
    for top in tops {
        let (parent, name) = top.rsplit_once('/').unwrap_or(("", top));
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let numbered = stem.len() < name.len();
        let stem = if numbered {
            stem
        } else if parent.is_empty() {
            name
        } else {
            ""
        };
        groups.entry((parent.to_owned(), stem.to_owned())).or_default().push(top);
    }
    let mut found = Vec::new();
    for ((parent, stem), members) in groups {
        match members.as_slice() {
            [only] => found.push(globset::escape(only)),
            _ if parent.is_empty() => found.push(format!("{}*", globset::escape(&stem))),
            _ => found.push(format!("{}/{}*", globset::escape(&parent), globset::escape(&stem))),
        }
    }
    found.sort();
    if found.len() > MAX_ROOTS { vec!["**".into()] } else { found }
}

fn pass_over_outside(all: &LayoutCases, taken: &LayoutCases, findings: &mut Findings) {
    let taken: BTreeSet<&str> = taken.cases.iter().map(|case| case.call.file.as_str()).collect();
    let outside =
        all.cases.iter().filter(|case| is_baseline(&case.name) && !taken.contains(case.call.file.as_str()));
    let outside: Vec<String> = outside.map(|case| case.call.file.clone()).collect();
    say_lone(&outside, findings);
    findings.found.passed_over.extend(
        outside
            .into_iter()
            .map(|path| PassedOver { path, why: "its folder has no optimized_ file with a baseline".into() }),
    );
}

fn say_lone(files: &[String], findings: &mut Findings) {
    let (what, have) = match files.len() {
        0 => return,
        1 => ("1 baseline_ file has".to_owned(), "it is not proposed"),
        several => (format!("{several} baseline_ files have"), "they are not proposed"),
    };
    findings.found.unclear.push(format!(
        "{what} no optimized_ file in the same folder, so that {have}: {}; name the folder in `roots` to measure \
            its files",
        list(files, MAX_SAID)
    ));
}

/// One sentence about the `optimized_` files without a `baseline_` file, whatever their number.
pub(crate) fn say_orphans(orphans: &[String], warnings: &[String], findings: &mut Findings) {
    findings.found.unclear.extend(match orphans {
        [] => None,
        [_] => warnings.first().cloned(),
        several => Some(format!(
            "{} are not measured: their folders have no baseline_ file whose name they begin with: {}",
            count(several.len(), "optimized_ file"),
            list(several, MAX_SAID)
        )),
    });
}

fn say_warnings(found: &LayoutCases, findings: &mut Findings) {
    let mut broken: BTreeMap<&str, usize> = BTreeMap::new();
    for case in found.cases.iter().filter(|case| case.call.way == CallWay::Fault) {
        *broken.entry(case.call.message.as_deref().unwrap_or_default()).or_default() += 1;
    }
    let broken = broken.iter().map(|(message, kernels)| {
        format!("{message}; until then {} next to it will fail", count(*kernels, "kernel"))
    });
    let sentences: Vec<String> = broken.chain(found.warnings.iter().cloned()).collect();
    findings.found.unclear.extend(sentences.iter().take(MAX_SAID).cloned());
    if sentences.len() > MAX_SAID {
        let more = count(sentences.len() - MAX_SAID, "more remark");
        findings
            .found
            .more
            .push(format!("{more} about files of bench.yaml: `gbench-ci discover` lists them"));
    }
}

pub(crate) fn distinct<'a>(folders: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for folder in folders {
        if !found.iter().any(|other| other == folder) {
            found.push(folder.to_owned());
        }
    }
    found
}

pub(crate) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn beside(path: &str, name: &str) -> String {
    match folder(path) {
        "" => name.to_owned(),
        folder => format!("{folder}/{name}"),
    }
}
