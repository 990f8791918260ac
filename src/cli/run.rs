//! `gbench-ci run`: measure the suite, keep the record, say what came of it.

use std::io::Write;
use std::path::PathBuf;

use super::args::selection::{SelectionArgs, SettingsArgs};
use super::measure::{Measuring, exit_of};
use super::terminal::style;
use super::terminal::write::{check_place, table, wrote};
use crate::app::environment;
use crate::app::export::Pattern;
use crate::app::paths::{current_folder, project_root, shown};
use crate::model::text::count;
use crate::model::{Exit, Fault, Origin, Result, RunRecord, Stage, Timing, format_duration};
use crate::report::{self, Format, Options, Style};
use crate::run::Finished;
use crate::store::write_atomically;
use crate::suite::plan::Plan;
use crate::suite::words::parse_seconds;
use crate::suite::{Action, Benchmark, Suite, substitute};

/// Measure the suite and keep a record of it
#[derive(clap::Args, Clone, Debug, Default)]
pub struct RunArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub settings: SettingsArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Also write the record to this file; {suite} and {run_id} in its name are replaced
    #[arg(long, value_name = "PATTERN")]
    pub export: Option<PathBuf>,
    /// Say what would be run, with which parameters and limits, and start nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Where results go and how much is said; shared with `compare`.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Folder for run folders [default: `artifacts` beside the suite file]
    #[arg(long, value_name = "DIR")]
    pub artifacts: Option<PathBuf>,
    /// Time for the whole run; 0: no limit [default: 4h, or the suite file's]
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true)]
    pub deadline: Option<String>,
    /// No progress on standard error
    #[arg(long, short)]
    pub quiet: bool,
}

impl OutputArgs {
    /// Lets the environment speak over the suite file, and the flags over both.
    pub fn apply(&self, suite: &mut Suite) -> Result<()> {
        environment::read()?.apply_run(&mut suite.run, &current_folder()?);
        if let Some(text) = &self.deadline {
            let flag = format!("--deadline {text}");
            let seconds = parse_seconds(text)
                .map_err(|what| Fault::at_flag(&flag, what, "give a duration such as 90s or 2h"))?;
            suite.run.deadline.set(seconds, Origin::Cli("--deadline".into()));
        }
        if let Some(folder) = &self.artifacts {
            let folder = std::path::absolute(folder).map_err(|error| {
                Fault::at_flag(format!("--artifacts {}", folder.display()), error, "give another folder")
            })?;
            suite.run.artifacts.set(folder, Origin::Cli("--artifacts".into()));
        }
        Ok(())
    }
}

pub fn run(args: &RunArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    let export = args.export.as_deref().map(Pattern::new).transpose()?;
    let mut suite = args.selection.suite(builtins)?;
    args.settings.apply(&mut suite)?;
    args.output.apply(&mut suite)?;
    if args.dry_run {
        wrote(write!(out, "{}", dry_run(&suite)))?;
        return Ok(Exit::Pass);
    }
    let place = export.as_ref().map(|pattern| pattern.path(&suite.name, "{run_id}"));
    check_place("--export", place.as_deref())?;
    let finished = measure(&suite, &args.output)?;
    let exit = exit_of(&finished);
    tell(&finished, out)?;
    if let Some(pattern) = export {
        let path = pattern.path(&suite.name, finished.record.run_id.as_str());
        let text = serde_json::to_vec_pretty(&finished.record)
            .map_err(|error| Fault::defect(path.display().to_string(), error))?;
        write_atomically(&path, &text)?;
    }
    Ok(exit)
}

/// Runs one suite in the folder that it belongs to and writes its Markdown summary beside the record.
pub fn measure(suite: &Suite, output: &OutputArgs) -> Result<Finished> {
    let folder = project_root(suite)?;
    let artifacts = folder.join(&suite.run.artifacts.value);
    let plan = Plan::single(suite);
    let measuring = Measuring { artifacts: &artifacts, quiet: output.quiet };
    let finished = measuring.carry_out(&plan, suite, &folder)?;
    finished.folder.report("summary.md", &rendered(&finished.record)?)?;
    Ok(finished)
}

fn rendered(record: &RunRecord) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let options = Options { format: Format::Markdown, style: Style::PLAIN, all: true };
    wrote(report::record(record, &options, &mut bytes))?;
    Ok(bytes)
}

fn tell(finished: &Finished, out: &mut impl Write) -> Result<()> {
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

/// What a run would do, case by case, and nothing started.
fn dry_run(suite: &Suite) -> String {
    let plan = Plan::single(suite);
    let rows = plan.steps.iter().flat_map(|step| &step.cases).map(|case| {
        let settings = &case.benchmark.settings;
        let command = match &case.benchmark.action {
            Action::Command(argv) => substitute(argv, &case.id.params).join(" "),
            Action::Shell(line) => format!("sh -c '{line}'"),
            Action::Builtin(name) => format!("built-in {name}"),
        };
        vec![case.id.to_string(), settings.processes.value.to_string(), limits(&case.benchmark), command]
    });
    let excluded: usize = suite.benchmarks.iter().map(|benchmark| benchmark.excluded).sum();
    let mut text = table(&["case", "processes", "limits", "command"], rows);
    text += &format!(
        "\n{} in {}; {} left out by `where`; nothing was started\n",
        count(plan.steps.len(), "case"),
        count(plan.processes(), "process"),
        count(excluded, "combination"),
    );
    text
}

/// The deadlines that a process of this benchmark can meet.
fn limits(benchmark: &Benchmark) -> String {
    let deadlines = benchmark.settings.effective_deadlines();
    let stages: Vec<Stage> = match benchmark.timing {
        Timing::Protocol => Stage::ALL.into_iter().filter(|stage| *stage != Stage::Build).collect(),
        Timing::Process | Timing::Stdout => vec![Stage::Measure],
    };
    let build = benchmark.build.is_some().then_some(Stage::Build);
    let stages = build.into_iter().chain(stages);
    let limit = |stage: Stage| format!("{stage} {}", format_duration(deadlines.get(stage)));
    stages.map(limit).collect::<Vec<_>>().join(", ")
}
