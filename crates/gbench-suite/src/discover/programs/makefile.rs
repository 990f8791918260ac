//! The target of a makefile that measures without a harness.

use super::calibrating;
use crate::discover::findings::{Discovered, Findings};
use gbench_formats::adapters::SourceTree;

const FILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
const TARGETS: [&str; 2] = ["bench", "benchmark"];

/// Adds an entry for a target `bench` or `benchmark`. True if the makefile builds the benchmarks here: their sources are then
/// not compiled one by one.
pub(crate) fn add(tree: &dyn SourceTree, findings: &mut Findings) -> bool {
    let Some((file, target, recipe)) = benchmarks(tree) else { return false };
    if findings.claimed.contains(file) {
        return true;
    }
    let starts = calibrating::by_commands(&recipe).map(|(_, command)| command);
    let by_hand =
        format!("`command = [\"make\", \"{target}\"]` measures a target that does the same work each time");
    if let Some(command) = starts {
        let next = if findings.has_harness {
            "the harness that was found here has its own entries"
        } else {
            "give its program an entry with its `harness`"
        };
        findings.found.unclear.push(format!(
            "the target `{target}` of {file} starts `{command}`, which calibrates itself, so that its time from \
                outside is meaningless: {next}"
        ));
    } else if findings.has_harness {
        findings.found.unclear.push(format!(
            "the target `{target}` of {file} may start the harness that was found here, whose time from outside \
                is meaningless; {by_hand}"
        ));
    } else {
        findings.found.benchmarks.push(Discovered {
            name: target.into(),
            command: vec!["make".into(), target.into()],
            binaries: vec!["make".into()],
            why: format!("the makefile has a target `{target}`"),
            ..Discovered::default()
        });
    }
    true
}

/// The makefile that has a target for benchmarks, the target, and its recipe.
fn benchmarks(tree: &dyn SourceTree) -> Option<(&'static str, &'static str, String)> {
    let (file, text) = FILES.into_iter().find_map(|file| Some((file, tree.text(file)?)))?;
    TARGETS.into_iter().find_map(|target| Some((file, target, recipe(&text, target)?)))
}

pub(super) fn has_benchmarks(tree: &dyn SourceTree) -> bool {
    benchmarks(tree).is_some()
}

/// The command, in the root of the tree, by which a folder's makefile builds a CUDA program: its rule has that name, or makes
/// programs of sources. `None`: no makefile is known to build it.
pub(super) fn builds(tree: &dyn SourceTree, dir: &str, program: &str) -> Option<Vec<String>> {
    let beside = |file: &str| if dir.is_empty() { file.to_owned() } else { format!("{dir}/{file}") };
    let text = FILES.into_iter().find_map(|file| tree.text(&beside(file)))?;
    let has_pattern = text.lines().any(|line| line.replace(' ', "").starts_with("%:%.cu"));
    if rule(&text, program).is_none() && !has_pattern {
        return None;
    }
    let place = if dir.is_empty() { Vec::new() } else { vec!["-C".to_owned(), dir.to_owned()] };
    Some(["make".to_owned()].into_iter().chain(place).chain([program.to_owned()]).collect())
}

fn recipe(text: &str, target: &str) -> Option<String> {
    let (needs, mut lines) = rule(text, target)?;
    for need in needs {
        lines.extend(rule(text, need).into_iter().flat_map(|(_, lines)| lines));
    }
    Some(lines.join("\n"))
}

fn rule<'t>(text: &'t str, target: &str) -> Option<(Vec<&'t str>, Vec<&'t str>)> {
    let mut lines = text.lines();
    let needs = lines.find_map(|line| {
        let rest = line.strip_prefix(target)?.trim_start().strip_prefix(':')?;
        (!rest.starts_with('=')).then_some(rest)
    })?;
    let (needs, first) = needs.split_once(';').unwrap_or((needs, ""));
    let below = lines.take_while(|line| line.starts_with('\t') || line.trim().is_empty());
    Some((needs.split_whitespace().collect(), std::iter::once(first).chain(below).collect()))
}
