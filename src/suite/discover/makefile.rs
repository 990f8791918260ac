//! The target of a makefile that measures, where nothing says that it starts a harness.

use super::{Discovered, Findings, calibrating};
use crate::adapters::SourceTree;

const FILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
const TARGETS: [&str; 2] = ["bench", "benchmark"];

/// Adds an entry for a target `bench` or `benchmark`. Says whether the makefile knows the benchmarks here: then their sources are not
/// compiled one by one.
pub(super) fn add(tree: &dyn SourceTree, findings: &mut Findings) -> bool {
    let Some((file, text)) = FILES.into_iter().find_map(|file| Some((file, tree.text(file)?))) else {
        return false;
    };
    let Some((target, recipe)) = TARGETS.iter().find_map(|target| Some((*target, recipe(&text, target)?)))
    else {
        return false;
    };
    let say = |what: &str| {
        format!(
            "the target `{target}` of {file} {what}; a target that does the same work each time is `command = [\"make\", \"{target}\"]`"
        )
    };
    if let Some((_, command)) = calibrating::by_commands(&recipe) {
        findings.found.unclear.push(say(&format!(
            "starts `{command}`, which calibrates itself, so that its time from outside tells nothing: give that program an entry with its `harness`"
        )));
    } else if findings.has_harness() {
        findings.found.unclear.push(say("may start the harness that was found here, whose time from outside tells nothing: it is not proposed"));
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

/// The lines below a target, and those of the targets that it needs, one step deep.
fn recipe(text: &str, target: &str) -> Option<String> {
    let (needs, mut lines) = rule(text, target)?;
    for need in needs {
        lines.extend(rule(text, need).into_iter().flat_map(|(_, lines)| lines));
    }
    Some(lines.join("\n"))
}

/// What a target needs, and the lines of its recipe.
fn rule<'t>(text: &'t str, target: &str) -> Option<(Vec<&'t str>, Vec<&'t str>)> {
    let mut lines = text.lines();
    let needs = lines.find_map(|line| {
        let rest = line.strip_prefix(target)?.trim_start().strip_prefix(':')?;
        (!rest.starts_with('=')).then_some(rest)
    })?;
    // A recipe may stand behind `;` on the same line.
    let (needs, first) = needs.split_once(';').unwrap_or((needs, ""));
    let below = lines.take_while(|line| line.starts_with('\t') || line.trim().is_empty());
    Some((needs.split_whitespace().collect(), std::iter::once(first).chain(below).collect()))
}
