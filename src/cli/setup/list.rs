//! `gbench-ci list`: what can be measured. Starts no child, unless it is asked for the cases of harnesses.

use std::io::Write;

use serde::Serialize;

use crate::app::measuring::listing::{list_cases, said_of_files};
use crate::app::paths::project_root;
use crate::cli::args::SelectionArgs;
use crate::cli::terminal::progress::reporter;
use crate::cli::terminal::write::{table, write_json, wrote};
use crate::model::text::count;
use crate::model::{BenchmarkId, Component, Exit, Kind, Params, Result};
use crate::suite::plan::case_id;
use crate::suite::{Benchmark, Declared, FailedBuild, Listing, Source, Suite};

/// List the benchmarks of the suite
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// List every case; builds benchmarks with a harness (`harness = "..."`) and asks each for its cases
    #[arg(long)]
    pub cases: bool,
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
    /// Points of its parameters; of a harness that was not asked yet, 0.
    cases: usize,
    /// Points that its constraints remove.
    excluded: usize,
    /// The harness whose cases it has, where it has one; `python`: modules.
    #[serde(skip_serializing_if = "Option::is_none")]
    harness: Option<&'static str>,
    /// The CUDA kernel that it measures, with its file and its launch.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
    /// With `--cases`: the parameters of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    points: Option<&'a [Params]>,
    /// With `--cases`, where its harness could not be asked or gave no answer: why.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_listed: Option<V1NotListed>,
}

#[derive(Serialize)]
struct V1NotListed {
    cause: String,
    advice: String,
}

pub(crate) fn run(args: &ListArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    let request = args.selection.request()?;
    let registry = request.registry(builtins)?;
    let mut suite = request.select(&registry)?;
    if args.cases {
        let folder = project_root(&suite)?;
        list_cases(vec![(&mut suite, None, &folder)], &reporter(args.json))?;
    }
    if !args.cases {
        let told = reporter(args.json);
        said_of_files(&suite, None).iter().for_each(|text| told.note(text));
    }
    if args.json {
        wrote(write_json(&document(&suite, args.cases), out))?;
        return Ok(exit(&suite, args.cases));
    }
    let rows = suite.benchmarks.iter().map(|benchmark| {
        let words: Vec<_> = benchmark.components.iter().map(|component| component.into_str()).collect();
        let tags = benchmark.tags.iter().map(|tag| format!(" #{tag}")).collect::<String>();
        vec![
            benchmark.id.to_string(),
            if is_known(benchmark) { benchmark.points.len().to_string() } else { "?".into() },
            words.join(" "),
            format!("{}{tags}", description(benchmark)).trim_start().to_owned(),
        ]
    });
    let cases = suite.benchmarks.iter().map(cases_of).sum();
    let text = table(&["benchmark", "cases", "components", "description"], rows);
    let unlisted = suite.benchmarks.iter().filter(|benchmark| !is_known(benchmark)).count();
    let beside = match (unlisted, args.cases) {
        (0, _) => String::new(),
        (_, false) => format!(" and those of {} (`--cases` asks)", count(unlisted, "harness")),
        (_, true) => format!(" and those of {} that could not be listed", count(unlisted, "harness")),
    };
    let counts = format!("{}, {}{beside}", count(suite.benchmarks.len(), "benchmark"), count(cases, "case"));
    let from = match &suite.source {
        Source::File { path, .. } if !all_built_in(&suite) => format!("of {}", path.display()),
        Source::File { .. } | Source::Builtin => "built in".to_owned(),
    };
    wrote(write!(out, "{text}\n{counts} {from}\n"))?;
    if args.cases {
        let names =
            suite.benchmarks.iter().filter(|benchmark| is_known(benchmark)).flat_map(|benchmark| {
                benchmark.points.iter().map(|point| case_id(benchmark, point).to_string())
            });
        wrote(write!(out, "\n{}", names.map(|name| format!("{name}\n")).collect::<String>()))?;
        for benchmark in &suite.benchmarks {
            if let Some(V1NotListed { cause, advice }) = not_listed(benchmark) {
                wrote(writeln!(out, "{}: {cause}; {advice}", benchmark.id))?;
            }
        }
        let exit = exit(&suite, true);
        if exit != Exit::Pass {
            return Ok(exit);
        }
    }
    let listed_builtins =
        suite.benchmarks.iter().any(|benchmark| benchmark.id.suite() == registry.builtin.name);
    if registry.file.is_some() && !listed_builtins && !registry.builtin.benchmarks.is_empty() {
        let members = count(registry.builtin.benchmarks.len(), "benchmark");
        wrote(writeln!(out, "and {members} built in: --suite {}", registry.builtin.name))?;
    }
    Ok(Exit::Pass)
}

fn all_built_in(suite: &Suite) -> bool {
    suite.benchmarks.iter().all(|benchmark| matches!(benchmark.declared, Declared::BuiltIn))
}

fn description(benchmark: &Benchmark) -> String {
    match kernel(benchmark) {
        Some(kernel) if benchmark.description.is_empty() => kernel,
        _ => benchmark.description.clone(),
    }
}

/// `saxpy of saxpy.cu, grid ceil_div(n, 256), block 256`
fn kernel(benchmark: &Benchmark) -> Option<String> {
    benchmark.cuda().map(|entry| format!("{} of {}, {}", entry.entry, entry.file, entry.launch))
}

fn is_known(benchmark: &Benchmark) -> bool {
    benchmark.harness.is_none() || benchmark.is_listed()
}

fn cases_of(benchmark: &Benchmark) -> usize {
    known_points(benchmark).len()
}

fn known_points(benchmark: &Benchmark) -> &[Params] {
    if is_known(benchmark) { &benchmark.points } else { &[] }
}

/// Why the harness of a benchmark has no cases, once it was to be asked.
fn not_listed(benchmark: &Benchmark) -> Option<V1NotListed> {
    match &benchmark.harness.as_ref()?.listing {
        Listing::Failed { cause, advice } => {
            Some(V1NotListed { cause: cause.clone(), advice: advice.clone() })
        }
        Listing::Unmet { outcome, .. } | Listing::NotBuilt(FailedBuild { outcome, .. }) => {
            Some(V1NotListed { cause: outcome.cause(), advice: outcome.advice().to_owned() })
        }
        Listing::Listed(_) | Listing::Unlisted => None,
    }
}

/// By the rule for a run: a failure is 4; a benchmark that is skipped here does not fail as long as another has cases; a GPU
/// that alone is missing is 5. `asked`: with `--cases`.
fn exit(suite: &Suite, asked: bool) -> Exit {
    let listings = || suite.benchmarks.iter().filter_map(|it| Some(&it.harness.as_ref()?.listing));
    let failed = |listing: &Listing| match listing {
        Listing::Failed { .. } | Listing::NotBuilt(_) => true,
        Listing::Unmet { outcome, .. } => outcome.is_failure(),
        Listing::Listed(_) | Listing::Unlisted => false,
    };
    let only_gpus = || {
        let mut kept = listings().filter(|listing| !matches!(listing, Listing::Listed(_)));
        kept.all(|listing| matches!(listing, Listing::Unmet { gpu: true, .. }))
    };
    let nothing = || !suite.benchmarks.iter().any(is_known);
    if !asked || !(listings().any(failed) || nothing()) {
        Exit::Pass
    } else if only_gpus() {
        Exit::Machine
    } else {
        Exit::Failed
    }
}

fn document(suite: &Suite, points: bool) -> V1List<'_> {
    let file = match &suite.source {
        Source::File { path, .. } => Some(path.display().to_string()),
        Source::Builtin => None,
    };
    V1List {
        schema: "gbench-ci/list/v1",
        suite: &suite.name,
        description: &suite.description,
        file,
        benchmarks: suite.benchmarks.iter().map(|benchmark| entry(benchmark, points)).collect(),
    }
}

fn entry(benchmark: &Benchmark, points: bool) -> V1Entry<'_> {
    V1Entry {
        id: &benchmark.id,
        description: &benchmark.description,
        components: &benchmark.components,
        kind: benchmark.kind,
        tags: &benchmark.tags,
        place: benchmark.declared.to_string(),
        cases: cases_of(benchmark),
        excluded: benchmark.excluded,
        harness: benchmark.measured_by(),
        kernel: kernel(benchmark),
        points: points.then_some(known_points(benchmark)),
        not_listed: not_listed(benchmark),
    }
}
