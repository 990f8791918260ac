//! Benchmarks of the harnesses that the adapters know, each proposed once.

use std::collections::BTreeMap;

use super::findings::{Discovered, Findings, literal};
use gbench_formats::adapters::{
    ALL, BenchTarget, BuildStep, FoundBenchmark, Harness, SourceTree, cargo_benches,
};

pub(super) fn add(tree: &dyn SourceTree, findings: &mut Findings) {
    for adapter in ALL {
        let detected = adapter.detect(tree);
        findings.claimed.extend(detected.seen);
        findings.found.unclear.extend(detected.unclear);
        for found in detected.found {
            findings.claimed.extend(found.files.iter().cloned());
            let entry = entry(Harness(*adapter), found);
            let same = |other: &&Discovered| (&other.command, &other.dir) == (&entry.command, &entry.dir);
            let Some(other) = findings.found.benchmarks.iter().find(same) else {
                findings.found.benchmarks.push(entry);
                continue;
            };
            let [first, second] = [other.harness, entry.harness].map(|it| it.map_or("", |it| it.0.name()));
            findings.found.unclear.push(format!(
                "`{}` could belong to {first} or {second}; if it is the latter, change its `harness`",
                entry.command.join(" ")
            ));
        }
    }
    add_benches(tree, findings);
    findings.has_harness = !findings.claimed.is_empty();
}

fn entry(harness: Harness, found: FoundBenchmark) -> Discovered {
    let build = found.build.map(|build| match build {
        BuildStep::Command(words) => BuildStep::Command(words.iter().map(|word| literal(word)).collect()),
        shell @ BuildStep::Shell(_) => shell,
    });
    Discovered {
        name: found.name,
        harness: Some(harness),
        command: found.command.iter().map(|word| literal(word)).collect(),
        dir: found.dir,
        build,
        binaries: found.binaries,
        gpu: found.gpu,
        why: found.why,
        ..Discovered::default()
    }
}

/// Reports a package's benches that no adapter knows. Most hand-written ones calibrate themselves, too.
fn add_benches(tree: &dyn SourceTree, findings: &mut Findings) {
    let mut packages: BTreeMap<String, Vec<BenchTarget>> = BTreeMap::new();
    for bench in cargo_benches(tree).into_iter().filter(|bench| !findings.claimed.contains(&bench.path)) {
        packages.entry(bench.dir.clone()).or_default().push(bench);
    }
    for (dir, benches) in packages {
        let [first, rest @ ..] = benches.as_slice() else { continue };
        let others = match rest.len() {
            0 => String::new(),
            more => format!(" (and {more} more there)"),
        };
        let place = if dir.is_empty() { String::new() } else { format!(", `dir = \"{dir}\"`") };
        let name = &first.name;
        findings.found.unclear.push(format!(
            "the harness of the bench {}{others} is unknown. If it does the same work each time, write `command \
                = [\"cargo\", \"bench\", \"--offline\", \"--bench\", \"{name}\"]`{place}. If it measures until a \
                time has passed, read its results with `extract`, or use the protocol (docs/protocol.md)",
            first.path
        ));
        findings.claimed.extend(benches.into_iter().map(|bench| bench.path));
    }
}
