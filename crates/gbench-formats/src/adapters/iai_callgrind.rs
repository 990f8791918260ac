//! Iai-Callgrind: instructions under Valgrind, a JSON document a benchmark on stdout.
//!
//! <https://docs.rs/iai-callgrind>. It needs `valgrind`, and `iai-callgrind-runner` of the same version as the library. It
//! cannot filter: the word that looks like it picks whole files. A benchmark that fails ends all, and is not named on stdout.

use super::callgrind_summary;
use super::cargo::{self, DeclaredTarget, TargetKind};
use super::{
    About, Adapter, CaseRequest, Detected, HarnessOutput, Invocation, Language, Lists, Need, Program,
    ReadError, Reading, Reads, SourceTree,
};

pub struct IaiCallgrind;

/// Of the same version as the library.
const RUNNER: &str = "iai-callgrind-runner";

impl Adapter for IaiCallgrind {
    fn name(&self) -> &'static str {
        "iai-callgrind"
    }

    fn about(&self) -> About {
        About {
            title: "Iai-Callgrind",
            language: Language::Rust,
            lists: Lists::ByRunning,
            filters: false,
            orders: false,
            reads: Reads::Counts,
            tried: &["0.12.3", "0.14.0", "0.16.1"],
        }
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::CargoProgram { name: RUNNER }]
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        detect(tree, "iai_callgrind", RUNNER)
    }

    fn recognises(&self, program: &Program) -> bool {
        program.holds("IAI_CALLGRIND_RUNNER") && !program.holds("GUNGRAUN_RUNNER")
    }

    /// It runs each benchmark once.
    fn calibrates(&self, _program: &Program) -> bool {
        false
    }

    /// `--list` came late: the least that every version has is a run.
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

/// Its files below ours: what lies in `target` would be compared with.
pub(super) fn words(ask: &CaseRequest) -> Vec<String> {
    vec![format!("--home={}", ask.out), "--output-format=json".into()]
}

/// Targets with the `main!` of a library, which needs its runner.
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
    let (path, manifest, name) = (&target.path, &target.manifest, &target.name);
    if target.harness {
        return TargetKind::Unclear(format!(
            "{path} uses {library}, but {manifest} does not say `harness = false` for it: add `[[bench]]` with `name = \"{name}\"` and \
             `harness = false`"
        ));
    }
    TargetKind::Ours(format!("{path} has a main of {library}"))
}

#[cfg(test)]
mod tests {
    use super::super::{Amount, MemoryTree, OutputFiles};
    use super::*;

    fn read(stdout: &str) -> Result<Vec<Reading>, ReadError> {
        let files = OutputFiles::default();
        super::super::read(&IaiCallgrind, &HarnessOutput { stdout: stdout.as_bytes(), files: &files })
    }

    fn summary(version: &str, rest: &str) -> String {
        format!(r#"{{"version":"{version}","module_path":"x::g::f","id":"small",{rest}}}"#) + "\n"
    }

    const NEW: &str =
        r#""callgrind_summary":{"summaries":[{"events":{"Ir":{"new":600}}},{"events":{"Ir":{"new":17}}}]}"#;

    fn profiles(tool: &str, metrics: &str) -> String {
        format!(
            r#""profiles":[{{"tool":"{tool}","summaries":{{"total":{{"summary":{{"{tool}":{{"Ir":{{"metrics":{metrics}}}}}}}}}}}}}]"#
        )
    }

    #[test]
    fn nothing_is_left_of_an_earlier_run_to_compare_with() {
        let command = ["cargo", "bench", "--bench", "x"].map(str::to_owned);
        let ask = CaseRequest { command: &command, cases: &["x::g::f"], out: "/out", amount: Amount::LEAST };
        let argv = IaiCallgrind.run(&ask).unwrap().argv;
        assert_eq!(argv[4..], ["--", "--home=/out", "--output-format=json"]);
    }

    #[test]
    fn the_instructions_of_all_its_processes_are_one_count() {
        let reading = &read(&summary("2", NEW)).unwrap()[0];
        assert_eq!(reading.case.native, "x::g::f::small");
        assert_eq!(reading.metrics[0].values, [617.0]);
        assert_eq!((reading.metrics[0].name.as_str(), reading.metrics[0].judged), ("instructions", true));
    }

    #[test]
    fn version_3_counts_without_a_type_around_the_number() {
        let text =
            r#""callgrind_summary":{"callgrind_run":{"total":{"summary":{"Ir":{"metrics":{"Left":5}}}}}}"#;
        assert_eq!(read(&summary("3", text)).unwrap()[0].metrics[0].values, [5.0]);
        assert!(read(&summary("3", &text.replace("Left", "Right"))).is_err());
    }

    #[test]
    fn what_was_counted_before_is_not_taken() {
        let count = |metrics: &str| read(&summary("6", &profiles("Callgrind", metrics)));
        assert_eq!(count(r#"{"Left":{"Int":5}}"#).unwrap()[0].metrics[0].values, [5.0]);
        assert_eq!(count(r#"{"Both":[{"Int":6},{"Int":7}]}"#).unwrap()[0].metrics[0].values, [6.0]);
        for old in [r#"{"Right":{"Int":5}}"#, r#"{"Left":{"Float":5.5}}"#, r#"{"Left":{"Int":0}}"#, "{}"] {
            assert!(count(old).is_err(), "{old}");
        }
    }

    #[test]
    fn other_tools_and_versions_are_refused() {
        let refused = |text: String| read(&text).unwrap_err().to_string();
        let dhat = summary("6", &profiles("DHAT", r#"{"Left":{"Int":5}}"#));
        assert_eq!(refused(dhat), "stdout:1: neither Callgrind nor Cachegrind ran");
        assert_eq!(
            refused(summary("7", NEW)),
            "stdout:1: summaries of version 7 are not known: 2 and 3 and 6 are"
        );
        assert_eq!(refused(summary("2", NEW).trim_end().to_owned()), "stdout:1: it does not end");
        assert!(refused(summary("2", NEW).repeat(2)).contains("stands there twice"));
    }

    #[test]
    fn its_main_is_found_and_that_of_criterion_is_not() {
        let manifest = "[package]\nname = 'a'\n[[bench]]\nname = 'x'\nharness = false\n[[bench]]\nname = 'y'\nharness = false";
        let ours =
            "use iai_callgrind::{library_benchmark_group, main};\nmain!(library_benchmark_groups = g);";
        let theirs = "// like iai_callgrind\nuse criterion::*; criterion_main!(g);";
        let tree =
            MemoryTree::of([("Cargo.toml", manifest), ("benches/x.rs", ours), ("benches/y.rs", theirs)]);
        let detected = IaiCallgrind.detect(&tree);
        assert_eq!(detected.found.len(), 1);
        assert_eq!(detected.found[0].binaries, ["cargo", "valgrind", "iai-callgrind-runner"]);
        assert_eq!(detected.unclear, Vec::<String>::new());
    }
}
