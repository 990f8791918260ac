//! Which benchmarks a selection leaves, below `fixtures/selections`.

use super::*;
use crate::benchmark::launch::Action;
use crate::suite_case_tests::fault_text;
use case_files::Given;
use gbench_model::ParamValue;

fn builtins() -> [Benchmark; 3] {
    [("cpu_flops", Component::Cpu), ("mem_bandwidth", Component::Ram), ("disk_io", Component::Storage)].map(
        |(name, component)| {
            let id = format!("micro/{name}").parse().unwrap();
            let mut benchmark = Benchmark::new(id, Action::Builtin(name.into()), "/".into());
            benchmark.components = vec![component];
            benchmark
        },
    )
}

/// Of flags, which select from a `suite` and the built-in benchmarks, or from those alone.
pub(crate) fn answer(given: &Given) -> String {
    let parse = |text: String| Suite::parse("/suite/gbench.toml".as_ref(), &text, &builtins()).unwrap();
    let file = given.get("suite").map(parse);
    let registry = Registry::new(file, &builtins());
    let flags = given.text();
    match selection(&flags).and_then(|selection| registry.select(&selection)) {
        Ok(suite) => {
            let ids: Vec<String> = suite.benchmarks.iter().map(benchmark_text).collect();
            format!("{}: {}", suite.name, ids.join("; "))
        }
        Err(fault) => fault_text(&fault),
    }
}

/// Of `--suite a --param n=1, 2`.
fn selection(flags: &str) -> Result<Selection> {
    let mut selection = Selection::default();
    for flag in flags.split("--").skip(1) {
        let (name, value) = flag.trim_end().split_once(' ').unwrap();
        match name {
            "benchmark" => selection.benchmarks.push(value.to_owned()),
            "suite" => selection.suites.push(value.to_owned()),
            "tag" => selection.tags.push(value.to_owned()),
            "exclude" => selection.exclude.push(value.to_owned()),
            "component" => selection.add_components(value)?,
            "param" => selection.add_param(value)?,
            _ => panic!("{name}"),
        }
    }
    Ok(selection)
}

fn benchmark_text(benchmark: &Benchmark) -> String {
    format!("{} tagged {:?} at {:?}", benchmark.id, benchmark.tags, benchmark.points)
}

#[test]
fn a_number_is_compared_as_a_number() {
    assert!(ParamValue::Float(0.5).is_written("0.50"));
    assert!(ParamValue::Int(8).is_written("8"));
    assert!(!ParamValue::Text("8".into()).is_written("8.0"));
    assert!(ParamValue::Bool(true).is_written("true"));
}
