//! Iai-Callgrind: instructions under Valgrind, one JSON document per benchmark on stdout.
//! <https://docs.rs/iai-callgrind>.
//!
//! It needs `valgrind`, and `iai-callgrind-runner` of the same version as the library. It has no filter: the option that
//! resembles one selects whole files. A benchmark that fails ends the process, and stdout does not name it.

use super::interface::prelude::*;
use super::readers::callgrind_summary;
use super::source::cargo::{self, DeclaredTarget, TargetKind};

pub(crate) struct IaiCallgrind;

/// Must have the version of the library.
const RUNNER: &str = "iai-callgrind-runner";

impl Adapter for IaiCallgrind {
    fn about(&self) -> About {
        About {
            name: "iai-callgrind",
            title: "Iai-Callgrind",
            language: Language::Rust,
            lists: Lists::ByRunning,
            reads: Reads::Counts,
            tried: &["0.12.3", "0.14.0", "0.16.1"],
            needs: &[Need::CargoProgram { name: RUNNER }],
            ..About::PLAIN
        }
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        detect(tree, "iai_callgrind", RUNNER)
    }

    fn recognises(&self, program: &Program) -> bool {
        program.holds("IAI_CALLGRIND_RUNNER") && !program.holds("GUNGRAUN_RUNNER")
    }

    fn calibrates(&self, _program: &Program) -> bool {
        false
    }

    /// `--list` came late: the least that every version can do is a run.
    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        self.run(ask)
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        Some(cargo::invocation(ask.command, words(ask)))
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        callgrind_summary::read(output, &["2", "3", "6"])
    }
}

/// Keeps its files in our folder: files in `target` would be compared with.
pub(super) fn words(ask: &CaseRequest) -> Vec<String> {
    vec![format!("--home={}", ask.out), "--output-format=json".into()]
}

/// Targets with a library's `main!` macro, which needs that library's runner.
pub(super) fn detect(tree: &dyn SourceTree, library: &str, runner: &str) -> Detected {
    let mut detected = cargo::detect(tree, |target| kind(target, library));
    for found in &mut detected.found {
        found.binaries.extend(["valgrind".to_owned(), runner.to_owned()]);
    }
    detected
}

fn kind(target: &DeclaredTarget, library: &str) -> TargetKind {
    let holds = |text: &str| target.text.contains(text);
    // `main!` alone, or by the library's name; not `criterion_main!`.
    let main = target.text.match_indices("main!").any(|(at, _)| {
        !target.text[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_')
    });
    if !holds(library) || !main {
        return TargetKind::NotOurs;
    }
    if target.harness {
        return target.with_harness(library);
    }
    TargetKind::Ours(format!("{} has a main of {library}", target.path))
}
