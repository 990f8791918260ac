//! `gbench-ci list`: what can be measured. Starts no child.

use std::io::Write;

use serde::Serialize;

use super::args::SelectionArgs;
use super::terminal::write::{table, write_json, wrote};
use crate::model::text::count;
use crate::model::{BenchmarkId, Component, Exit, Kind, Result};
use crate::suite::{Benchmark, Source, Suite};

/// List the benchmarks of the suite
#[derive(clap::Args, Clone, Debug, Default)]
pub struct ListArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// The document of `list --json`.
#[derive(Serialize)]
struct V1List<'a> {
    schema: &'static str,
    suite: &'a str,
    description: &'a str,
    /// Path of the suite file; absent for the built-in suite.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    benchmarks: Vec<V1Entry<'a>>,
}

#[derive(Serialize)]
struct V1Entry<'a> {
    id: &'a BenchmarkId,
    description: &'a str,
    components: &'a [Component],
    kind: Kind,
    tags: &'a [String],
    place: String,
    /// Points of its parameters.
    cases: usize,
    /// Points that its constraints remove.
    excluded: usize,
}

pub fn run(args: &ListArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    let request = args.selection.request()?;
    let registry = request.registry(builtins)?;
    let suite = request.select(&registry)?;
    if args.json {
        wrote(write_json(&document(&suite), out))?;
        return Ok(Exit::Pass);
    }
    let rows = suite.benchmarks.iter().map(|benchmark| {
        let words: Vec<_> = benchmark.components.iter().map(|component| component.into_str()).collect();
        let tags = benchmark.tags.iter().map(|tag| format!(" #{tag}")).collect::<String>();
        vec![
            benchmark.id.to_string(),
            benchmark.points.len().to_string(),
            words.join(" "),
            format!("{}{tags}", benchmark.description).trim_start().to_owned(),
        ]
    });
    let cases = suite.benchmarks.iter().map(|benchmark| benchmark.points.len()).sum();
    let text = table(&["benchmark", "cases", "components", "description"], rows);
    let counts = format!("{}, {}", count(suite.benchmarks.len(), "benchmark"), count(cases, "case"));
    let from = match &suite.source {
        Source::File { path, .. } => format!("of {}", path.display()),
        Source::Builtin => "built in".to_owned(),
    };
    wrote(write!(out, "{text}\n{counts} {from}\n"))?;
    let listed_builtins =
        suite.benchmarks.iter().any(|benchmark| benchmark.id.suite() == registry.builtin.name);
    if registry.file.is_some() && !listed_builtins && !registry.builtin.benchmarks.is_empty() {
        let members = count(registry.builtin.benchmarks.len(), "benchmark");
        wrote(writeln!(out, "and {members} built in: --suite {}", registry.builtin.name))?;
    }
    Ok(Exit::Pass)
}

fn document(suite: &Suite) -> V1List<'_> {
    let file = match &suite.source {
        Source::File { path, .. } => Some(path.display().to_string()),
        Source::Builtin => None,
    };
    V1List {
        schema: "gbench-ci/list/v1",
        suite: &suite.name,
        description: &suite.description,
        file,
        benchmarks: suite.benchmarks.iter().map(entry).collect(),
    }
}

fn entry(benchmark: &Benchmark) -> V1Entry<'_> {
    V1Entry {
        id: &benchmark.id,
        description: &benchmark.description,
        components: &benchmark.components,
        kind: benchmark.kind,
        tags: &benchmark.tags,
        place: benchmark.declared.to_string(),
        cases: benchmark.points.len(),
        excluded: benchmark.excluded,
    }
}
