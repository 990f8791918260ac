//! Good suite files, read through the public door; and any text at all, which never makes the reader panic.

use std::path::{Path, PathBuf};

use gbench_ci::model::{Component, Kind, Origin, Stage, Thermal, Timing};
use gbench_ci::suite::{Action, Benchmark, ExtractFrom, Registry, Source, Strictness, Suite, substitute};
use proptest::prelude::*;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/suites").join(name).join("gbench.toml")
}

/// Stands in for the micro suite's member: it has things of its own that a file may build on.
fn builtins() -> Vec<Benchmark> {
    let action = Action::Builtin("cpu_flops".into());
    let mut member = Benchmark::new("micro/cpu_flops".parse().unwrap(), action, "/elsewhere".into());
    member.components = vec![Component::Cpu];
    member.description = "Matrix product".into();
    member.settings.iterations.value = 11;
    vec![member]
}

fn kernels() -> Suite {
    Suite::load(&fixture("kernels"), &builtins()).unwrap()
}

#[test]
fn every_key_of_a_full_file_arrives() {
    let suite = kernels();
    assert_eq!(suite.name, "kernels");
    assert_eq!(suite.description, "Kernels of the linear algebra library");
    let Source::File { sha256, .. } = &suite.source else { panic!("a file") };
    assert_eq!(sha256.len(), 64);
    assert_eq!(suite.run.deadline.value, 7200.0);
    assert_eq!(suite.run.artifacts.value, Path::new("out"));
    assert_eq!((suite.run.store.value.as_str(), suite.run.keep.value), ("dir:records", 3));
    assert_eq!(suite.gate.alpha.value, 0.01);
    assert!(suite.gate.inconclusive_fails.value && !suite.gate.failed_fails.value);
    assert_eq!(suite.gate.match_key.len(), 2);
    assert_eq!(suite.gate.match_key["driver"].value, Strictness::Annotate);
    assert_eq!(suite.components[&Component::Gpu][0].as_str(), "kernels/gemm");
    let ids: Vec<_> = suite.benchmarks.iter().map(|benchmark| benchmark.id.as_str()).collect();
    assert_eq!(ids, ["kernels/gemm", "kernels/softmax/fused", "kernels/flops"]);
}

#[test]
fn a_benchmark_holds_what_its_table_says() {
    let suite = kernels();
    let gemm = &suite.benchmarks[0];
    let folder = fixture("kernels").parent().unwrap().join("native");
    assert_eq!((&gemm.dir, gemm.kind, gemm.timing), (&folder, Kind::Application, Timing::Protocol));
    assert_eq!(gemm.components, [Component::Gpu, Component::Ram]);
    assert_eq!(gemm.tags, ["quick", "blas"]);
    assert_eq!(gemm.env["LANG"], "de_DE.UTF-8");
    assert_eq!(gemm.env["LD_LIBRARY_PATH"], "/opt/lib");
    assert_eq!(gemm.keep_env, ["HF_TOKEN", "OTHER_TOKEN"]);
    let build = gemm.build.as_ref().unwrap();
    assert_eq!(build.action, Action::Command(vec!["make".into(), "gemm".into()]));
    assert_eq!(build.dir, folder);
    assert_eq!((gemm.requires.gpus, gemm.requires.compute_capability), (1, Some((8, 0))));
    // 3 x 2 x 2 combinations; 16384 goes for bf16 by the first condition and for batch 4 by the second.
    assert_eq!((gemm.points.len(), gemm.excluded), (9, 3));
    let Action::Command(argv) = &gemm.action else { panic!("a command") };
    let expected = ["./gemm", "--n=1024", "--dtype=fp16", "{literal}"];
    assert_eq!(substitute(argv, &gemm.points[0]), expected);
}

#[test]
fn a_benchmark_wins_over_defaults_and_defaults_over_the_gate() {
    let suite = kernels();
    let [gemm, softmax, flops] = suite.benchmarks.as_slice() else { panic!("three") };
    let origin = |origin: &Origin| origin.to_string();
    assert_eq!((gemm.settings.threshold.value, softmax.settings.threshold.value), (0.02, 0.04));
    assert_eq!(origin(&softmax.settings.threshold.origin), "gbench.toml:17");
    assert_eq!(origin(&gemm.settings.threshold.origin), "gbench.toml:68");
    assert_eq!((gemm.settings.processes.value, gemm.settings.iterations.value), (7, 50));
    assert_eq!(gemm.settings.thermal.value, Thermal::Warm);
    assert_eq!(gemm.settings.percentiles.value, [10.0, 99.9]);
    assert_eq!(gemm.settings.memory_limit.value, 8 << 30);
    assert_eq!(gemm.settings.deadlines[&Stage::Measure].value, 90.0);
    assert_eq!(gemm.settings.deadlines[&Stage::Profile].value, 0.5);
    assert_eq!(softmax.settings.deadlines[&Stage::Profile].origin, Origin::Default);
    // The member's own value stays where the file is silent.
    assert_eq!((flops.settings.iterations.value, flops.settings.duration.value), (11, 0.5));
    assert_eq!((flops.description.as_str(), flops.timing), ("Matrix product", Timing::Protocol));
}

#[test]
fn numbers_from_stdout_and_rules_for_metrics_are_read() {
    let suite = kernels();
    let (gemm, softmax) = (&suite.benchmarks[0], &suite.benchmarks[1]);
    assert_eq!(softmax.timing, Timing::Stdout);
    let ways: Vec<_> = softmax.extract.iter().map(|extract| &extract.from).collect();
    let expected = [
        &ExtractFrom::JsonPath("$.gflops".into()),
        &ExtractFrom::Regex("time: ([0-9.]+) ms".into()),
        &ExtractFrom::CsvColumn { column: "val loss".into(), rows: Default::default() },
    ];
    assert_eq!(ways, expected);
    let (unit, declared) = gemm.declaration("peak_bytes", "");
    assert_eq!(unit.as_deref(), Some("B"));
    assert_eq!((declared.threshold, declared.gate), (Some(0.1), Some(false)));
    assert_eq!(softmax.declaration("peak_bytes", "").1.threshold, Some(0.01));
}

#[test]
fn a_declared_component_default_may_be_built_in() {
    let registry = Registry::new(Some(kernels()), &builtins());
    let mut selection = gbench_ci::suite::Selection::default();
    selection.add_components("cpu").unwrap();
    let suite = registry.select(&selection).unwrap();
    assert_eq!(suite.benchmarks[0].id.as_str(), "micro/cpu_flops");
}

#[test]
fn a_file_of_three_lines_is_a_suite_in_its_own_folder() {
    let suite = Suite::load(&fixture("least"), &[]).unwrap();
    let benchmark = &suite.benchmarks[0];
    assert_eq!(benchmark.id.as_str(), "suite/sleep");
    assert_eq!(benchmark.declared.to_string(), "gbench.toml:1");
    assert_eq!((benchmark.points.len(), benchmark.timing), (1, Timing::Process));
    assert!(benchmark.dir.is_absolute() && benchmark.dir.ends_with("fixtures/suites/least"));
}

#[test]
fn one_reading_finds_every_mistake_in_the_order_of_the_file() {
    let text = "[defaults]\nprocesses = 0\n\n[[benchmark]]\nid = 'a b'\nkind = 'x'\n\n[sweet]\n";
    let fault = Suite::parse(Path::new("gbench.toml"), text, &[]).unwrap_err();
    let places: Vec<_> = fault.each().map(|fault| fault.place.to_string()).collect();
    let expected = ["2:13", "4:1", "5:6", "6:8", "8:2"].map(|place| format!("gbench.toml:{place}"));
    assert_eq!(places, expected);
}

/// The small languages inside the file have parsers that recurse; none may run out of stack or time.
#[test]
fn deep_nesting_is_a_fault_like_any_other() {
    let benchmark = "[[benchmark]]\nid = 'x'\ncommand = ['true']\n";
    let condition = |text: String| format!("{benchmark}matrix = {{n = [1]}}\nwhere = ['{text}']");
    let extract =
        |way: &str, text: String| format!("{benchmark}[[benchmark.extract]]\nmetric = 'm'\n{way} = '{text}'");
    for count in [2, 3, 4, 8, 20, 60, 120, 160, 240, 100_000] {
        for text in [
            condition("(".repeat(count)),
            condition(format!("{}n", "not ".repeat(count))),
            condition(format!("{}n > 1", "1+".repeat(count))),
            condition(format!("n{} > 1", ".a".repeat(count))),
            condition(format!("n{}", "[n".repeat(count))),
            extract("json", format!("${}", "[?(@.a".repeat(count))),
            extract("json", format!("$[?{}@.a", "(".repeat(count))),
            extract("json", format!("$[?{}@.a", "!(@.b==".repeat(count))),
            extract("json", format!("${}", "[?!(".repeat(count))),
            extract("json", format!("$[?{}", "length(".repeat(count))),
            extract("regex", "(".repeat(count)),
            extract("regex", format!("(a{})", "{1000}".repeat(count))),
            format!("{benchmark}[benchmark.metrics.\"{}\"]", "{".repeat(count)),
            format!("x = {}", "[".repeat(count)),
            format!("{} = 1", vec!["a"; count].join(".")),
        ] {
            survives(&text);
        }
    }
}

/// A good file with a part cut out and other text put in its place.
fn mutated() -> impl Strategy<Value = String> {
    let text = std::fs::read_to_string(fixture("kernels")).unwrap();
    let other = prop_oneof![
        ".{0,12}",
        Just(" = [".to_owned()),
        Just("\n[[benchmark]]\n".to_owned()),
        Just("{n}".to_owned()),
        Just("-9223372036854775808".to_owned()),
        Just("1e308".to_owned()),
    ];
    (0..text.len(), 0..40_usize, other).prop_map(move |(start, length, other)| {
        let end = (start + length).min(text.len());
        let kept = [&text.as_bytes()[..start], other.as_bytes(), &text.as_bytes()[end..]].concat();
        String::from_utf8_lossy(&kept).into_owned()
    })
}

/// Reads the text; a fault has to be whole and renderable.
fn survives(text: &str) {
    let Err(fault) = Suite::parse(Path::new("gbench.toml"), text, &builtins()) else { return };
    for fault in fault.each() {
        assert!(!fault.what.is_empty() && !fault.next.is_empty());
    }
    let mut out = Vec::new();
    gbench_ci::cli::terminal::error::render_fault(&fault, true, &mut out).unwrap();
}

proptest! {
    #[test]
    fn any_text_is_a_suite_or_a_fault(text in "\\PC{0,200}") {
        survives(&text);
    }

    #[test]
    fn any_text_of_toml_characters_is_a_suite_or_a_fault(text in "[\\[\\]{}=\"'a-e0-9.,\n# -]{0,200}") {
        survives(&text);
    }

    #[test]
    fn any_mutation_of_a_good_file_is_a_suite_or_a_fault(text in mutated()) {
        survives(&text);
    }
}
