//! Gungraun, which was Iai-Callgrind: instructions under Valgrind, a JSON document a benchmark on stdout.
//!
//! <https://docs.rs/gungraun>. It needs `valgrind`, and `gungraun-runner` of the same version as the library. Its filter is one
//! wildcard pattern, which can be exact for one case alone: several are asked for as all. A benchmark that fails is named, and ends all.

use super::iai_callgrind::{detect, words};
use super::interface::prelude::*;
use super::readers::callgrind_summary;
use super::source::cargo;

pub(crate) struct Gungraun;

/// Of the same version as the library.
const RUNNER: &str = "gungraun-runner";

impl Adapter for Gungraun {
    fn about(&self) -> About {
        About {
            name: "gungraun",
            title: "Gungraun",
            language: Language::Rust,
            lists: Lists::Named,
            reads: Reads::Counts,
            tried: &["0.17.2", "0.20.0"],
            needs: &[Need::CargoProgram { name: RUNNER }],
            ..About::PLAIN
        }
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        detect(tree, "gungraun", RUNNER)
    }

    fn recognises(&self, program: &Program) -> bool {
        program.holds("GUNGRAUN_RUNNER")
    }

    /// It runs each benchmark once.
    fn calibrates(&self, _program: &Program) -> bool {
        false
    }

    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        let home = format!("--home={}", ask.out);
        Some(cargo::invocation(ask.command, vec![home, "--list".into()]))
    }

    fn read_list(&self, output: &HarnessOutput) -> Result<Vec<CaseName>, ReadError> {
        let text = output.text()?;
        Ok(text.lines().filter_map(|line| line.strip_suffix(": benchmark")).map(CaseName::plain).collect())
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        let mut more = words(ask);
        if let [case] = ask.cases {
            more.push(pattern(case));
        }
        Some(cargo::invocation(ask.command, more))
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        callgrind_summary::read(output, &["6", "7"])
    }
}

/// A wildcard pattern of one name: what has a meaning in it stands in a class of its own.
fn pattern(native: &str) -> String {
    let class = |c: char| if "*?[]!".contains(c) { format!("[{c}]") } else { c.to_string() };
    native.chars().map(class).collect()
}
