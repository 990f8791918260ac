//! `gbench-ci run`: measure the suite, keep the record, say what came of it.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use strum::IntoEnumIterator;

use crate::app::measuring::session::measure_and_profile;
use crate::app::paths::shown;
use crate::app::reports::export::Pattern;
use crate::app::reports::verdict_files::json_of;
use crate::app::request::profile::profiles_of;
use crate::cli::args::sweep;
use crate::cli::args::{MeasureArgs, ProfileArgs, SweepArgs, SweepFilterArgs, check_sweep};
use crate::cli::exit::{of_run, with_profiles};
use crate::cli::terminal::progress::{planned, reporter};
use crate::cli::terminal::style;
use crate::cli::terminal::write::{check_place, table, wrote};
use crate::model::text::count;
use crate::model::{Exit, KernelCall, Result, Stage, Timing, format_duration};
use crate::report::{self, Format, Options, SweepTables, paragraph};
use crate::run::{Finished, PlannedProcesses, find_interpreter};
use crate::store::write_atomically;
use crate::suite::plan::Plan;
use crate::suite::words::format_size;
use crate::suite::{Action, Benchmark, CudaEntry, Suite, shown_axes};

/// Measure the suite and keep a record of it
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    profile: ProfileArgs,
    #[command(flatten)]
    measure: MeasureArgs,
    #[command(flatten)]
    sweep: SweepArgs,
    #[command(flatten)]
    filter: SweepFilterArgs,
    /// Also write the record to this file; {suite} and {run_id} in its name are replaced
    #[arg(long, value_name = "PATTERN")]
    export: Option<PathBuf>,
    /// Measure at most N cases at once, each on separate GPUs; only cases that `device` binds to different GPUs run together
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64), conflicts_with = "dry_run")]
    jobs: u32,
    /// Show what would run, with which parameters and limits, and start nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &RunArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    let export = args.export.as_deref().map(Pattern::new).transpose()?;
    let sweep_request = args.sweep.request(&args.filter)?;
    let mut suite = args.measure.request()?.suite(builtins)?;
    let profile = args.profile.request();
    profile.apply(&mut suite);
    suite.run.jobs.set_by_flag("--jobs", (args.jobs > 1).then_some(args.jobs));
    if let Some(request) = &sweep_request {
        check_sweep(&Plan::single(&suite), request)?;
    }
    if args.dry_run {
        wrote(write!(out, "{}", dry_run(&suite)))?;
        return Ok(Exit::Pass);
    }
    let place = export.as_ref().map(|pattern| pattern.path(&suite.name, "{run_id}"));
    check_place("--export", place.as_deref())?;
    let reporter = reporter(args.measure.is_quiet());
    profile.check(&suite.profile, &reporter)?;
    let finished = measure_and_profile(&suite, &suite.profile, &reporter)?;
    print(&finished, out)?;
    if let Some(pattern) = export {
        let path = pattern.path(&suite.name, finished.record.run_id.as_str());
        write_atomically(&path, &json_of(&finished.record)?)?;
    }
    if let Some(request) = &sweep_request {
        let tables = sweep(SweepTables::of_record(&finished.record, request), Format::Terminal)?;
        let options = Options { format: Format::Terminal, style: style::of_stdout(), all: false };
        wrote(tables.write(&options, out))?;
    }
    Ok(with_profiles(of_run(&finished), &profile, profiles_of(&finished.record)))
}

fn print(finished: &Finished, out: &mut impl Write) -> Result<()> {
    let options = Options { format: Format::Terminal, style: style::of_stdout(), all: false };
    wrote(report::record(&finished.record, &options, out))?;
    let root = finished.folder.root();
    wrote(writeln!(
        out,
        "\nrecord  {}\nreport  {}\nlogs    {}",
        shown(&finished.folder.record_path()),
        shown(&root.join("reports/summary.md")),
        shown(&root.join("logs"))
    ))
}

fn dry_run(suite: &Suite) -> String {
    let plan = Plan::single(suite);
    let interpreters: BTreeMap<&str, String> = suite
        .benchmarks
        .iter()
        .filter_map(|benchmark| {
            let found = find_interpreter(&benchmark.python()?.interpreter, &benchmark.dir);
            let words = found.map_or_else(|cause| format!("({cause})"), |words| words.join(" "));
            Some((benchmark.id.as_str(), words))
        })
        .collect();
    let rows = plan.cases.iter().map(|case| {
        let settings = &case.benchmark.settings;
        let command = match &case.benchmark.action {
            Action::Command(_) => case.benchmark.argv(&case.id.params, &[]).join(" "),
            Action::Shell(line) => format!("sh -c '{line}'"),
            Action::Builtin(name) => format!("built-in {name}"),
            Action::Cuda(entry) => match case.benchmark.kernel_call(&case.id.params) {
                Some(Ok(call)) => kernel(entry, &call),
                _ => entry.file.clone(),
            },
            Action::Python(_) => {
                let file = case.benchmark.python_file(&case.id.params).unwrap_or_default();
                let interpreter = interpreters.get(case.benchmark.id.as_str()).map_or("", String::as_str);
                format!("{interpreter} {file}")
            }
        };
        [case.id.to_string(), settings.processes.value.to_string(), limits(&case.benchmark), command]
    });
    let rows: Vec<[String; 4]> = rows.collect();
    // A value that all cases share is printed once.
    let common = rows.first().map(|row| row[2].clone());
    let common = common.filter(|limits| rows.iter().all(|row| row[2] == *limits));
    let columns: &[usize] = if common.is_some() { &[0, 1, 3] } else { &[0, 1, 2, 3] };
    let cells = |row: [String; 4]| columns.iter().map(|at| row[*at].clone()).collect();
    let header: Vec<&str> =
        columns.iter().map(|at| ["case", "processes", "limits", "command"][*at]).collect();
    let common = common.map(|limits| paragraph("", &format!("limits of each process: {limits}")) + "\n");
    let excluded: usize = suite.benchmarks.iter().map(|benchmark| benchmark.excluded).sum();
    let PlannedProcesses { least, shared } = PlannedProcesses::of(&plan);
    let text = table(&header, rows.into_iter().map(cells));
    let summary = format!(
        "{} in {}; {} left out by `where` or `--preset quick`; nothing was started",
        count(plan.cases.len(), "case"),
        planned(least, shared),
        count(excluded, "combination"),
    );
    text + "\n" + &common.unwrap_or_default() + &paragraph("", &summary)
}

/// `saxpy of saxpy.cu, grid 4096, block 256`, with what its options are.
fn kernel(entry: &CudaEntry, call: &KernelCall) -> String {
    let launch = &call.launch;
    let shared = match launch.shared_bytes {
        0 => String::new(),
        bytes => format!(", shared {}", format_size(u64::from(bytes))),
    };
    let block = shown_axes(launch.block);
    let grid = if call.grids.is_empty() { shown_axes(launch.grid) } else { entry.launch.grid() };
    let file = &entry.file;
    let cluster = launch.cluster.map(|it| format!(", cluster {}", shown_axes(it))).unwrap_or_default();
    let cooperative = if launch.cooperative { ", cooperative" } else { "" };
    let options: String = call.options.iter().map(|option| format!(" {option}")).collect();
    format!("{} of {file}{options}, grid {grid}, block {block}{shared}{cluster}{cooperative}", call.entry)
}

fn limits(benchmark: &Benchmark) -> String {
    let deadlines = benchmark.settings.effective_deadlines();
    let stages: Vec<Stage> = match benchmark.timing {
        Timing::Protocol => {
            // Only the driver distinguishes these two.
            let unusual = |stage: &Stage| matches!(stage, Stage::Import | Stage::Load);
            let by_driver = benchmark.python().is_some();
            Stage::iter().filter(|stage| *stage != Stage::Build && (by_driver || !unusual(stage))).collect()
        }
        Timing::Process | Timing::Stdout | Timing::Harness => vec![Stage::Measure],
    };
    let build = benchmark.build.is_some().then_some(Stage::Build);
    let stages = build.into_iter().chain(stages);
    let limit = |stage: Stage| format!("{stage} {}", format_duration(deadlines.get(stage)));
    stages.map(limit).collect::<Vec<_>>().join(", ")
}
