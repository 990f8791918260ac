//! Gungraun, the former Iai-Callgrind: instructions under Valgrind, one JSON document per benchmark on stdout.
//! <https://docs.rs/gungraun>.
//!
//! It needs `valgrind`, and `gungraun-runner` of the same version as the library. Its filter is one wildcard pattern,
//! which can select one case exactly; for several cases, all are run. A benchmark that fails is named and ends the
//! process.

use super::iai_callgrind::{detect, words};
use super::interface::prelude::*;
use super::readers::callgrind_summary;
use super::source::cargo;

pub(crate) struct Gungraun;

/// Must have the version of the library.
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

/// A wildcard pattern for one name: each special character becomes a class.
fn pattern(native: &str) -> String {
    let class = |c: char| if "*?[]!".contains(c) { format!("[{c}]") } else { c.to_string() };
    native.chars().map(class).collect()
}
