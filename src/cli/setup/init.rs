//! `gbench-ci init`: writes a first suite file, and workflows for GitHub Actions where they are asked for.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::app::github::matrix::{jobs, runner_labels};
use crate::app::init::{
    ActionRef, ActionlintFile, NextSteps, PreparedSuite, PreparedWorkflows, USUAL_LABELS, WorkflowsRequest,
    dependencies, folder_of,
};
use crate::app::paths::shown_from_here;
use crate::cli::terminal::write::wrote;
use crate::model::text::count;
use crate::model::{Exit, Fault, Result, Shard};
use crate::report::paragraph;
use crate::suite::{Action, Benchmark, FILE_NAME, Suite};

/// Write a first gbench.toml for the benchmarks of this folder
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct InitArgs {
    /// File to write; its folder is searched for benchmarks
    #[arg(long, value_name = "FILE", default_value = FILE_NAME)]
    config: PathBuf,
    /// Overwrite existing files; with --github only the workflows, never the suite file
    #[arg(long)]
    force: bool,
    /// Also write workflows for GitHub Actions: pull requests, their report, a nightly run
    #[arg(long)]
    github: bool,
    /// Labels of the runner that measures, separated by commas; if they are not given, the command asks on a terminal
    #[arg(long, value_name = "LABELS", requires = "github")]
    runner: Option<String>,
    /// The gbench-ci action with its full commit: OWNER/REPO@SHA, or 'OWNER/REPO@SHA # v1.2.3'
    #[arg(long, value_name = "ACTION", requires = "github")]
    action: Option<String>,
    /// What to do with pull requests from forks
    #[arg(long, value_enum, default_value = "refuse", requires = "github")]
    forks: Forks,
    /// Also write a workflow that publishes the history on GitHub Pages, and link its pages
    #[arg(long, requires = "github")]
    pages: bool,
    /// Number of jobs to split the suite into
    #[arg(long, value_name = "N", requires = "github", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=Shard::MAX as i64))]
    shards: u32,
    /// Measure on several machines, each given by a name and the labels of its runner: h100=self-hosted,gpu,h100
    #[arg(long = "machine", value_name = "NAME=LABELS", requires = "github", num_args = 1.., conflicts_with = "runner")]
    machines: Vec<String>,
}

/// The code of forks' pull requests
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Forks {
    /// None of their code runs on the runner
    #[default]
    Refuse,
    /// Their code runs on the runner; only for machines that are discarded after each job
    Allow,
}

impl InitArgs {
    /// `None`: no workflows are asked for. `suite`: what they measure.
    fn workflows(&self, folder: &Path, suite: Option<&Suite>) -> Result<Option<PreparedWorkflows>> {
        if !self.github {
            return Ok(None);
        }
        let action = ActionRef::choose(self.action.as_deref())?;
        let labels_assumed = self.runner.is_none() && self.machines.is_empty();
        let runner = match &self.runner {
            Some(labels) => runner_labels(labels)?,
            None if labels_assumed => runner_labels(&asked()?)?,
            None => Vec::new(),
        };
        let jobs = jobs(&runner, &self.machines, self.shards)?;
        let request = WorkflowsRequest {
            action,
            allow_forks: matches!(self.forks, Forks::Allow),
            jobs,
            dependencies: suite.map(dependencies).unwrap_or_default(),
            pages: self.pages,
        };
        PreparedWorkflows::new(&request, labels_assumed, self.force, &self.config, folder).map(Some)
    }
}

pub(crate) fn run(args: &InitArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    let folder = folder_of(&args.config)?;
    let kept = args.github && args.config.exists();
    // One that cannot be read is its owner's to mend; the workflows do without its dependencies.
    let there = kept.then(|| Suite::load(&args.config, builtins).ok()).flatten();
    let prepared = (!kept).then(|| PreparedSuite::new(&args.config, builtins)).transpose()?;
    let suite = there.as_ref().or(prepared.as_ref().map(|prepared| &prepared.suite));
    let workflows = args.workflows(&folder, suite)?;
    match &prepared {
        Some(prepared) => {
            prepared.write(&args.config, builtins, args.force && workflows.is_none())?;
            tell_suite(prepared, &shown_from_here(&args.config), out)?;
        }
        None => wrote(writeln!(out, "kept  {}: it is there already", shown_from_here(&args.config)))?,
    }
    let has_own = prepared.as_ref().is_none_or(|prepared| prepared.has_own);
    match &workflows {
        Some(workflows) => write_workflows(workflows, out)?,
        None => {
            if has_own && prepared.as_ref().is_some_and(PreparedSuite::times_processes) {
                wrote(write!(out, "{}", paragraph("", CHECK)))?;
            }
            let harness = suite.is_some_and(|suite| suite.benchmarks.iter().any(|it| it.harness.is_some()));
            let list = if harness { "gbench-ci list --cases" } else { "gbench-ci list" };
            wrote(writeln!(out, "next: read it, then run `{list}` and `gbench-ci run`"))?;
        }
    }
    // A gate that guards nothing must not look like one that does.
    let is_builtin = |it: &Benchmark| matches!(it.action, Action::Builtin(_));
    let kept_builtin = there.as_ref().is_some_and(|suite| suite.benchmarks.iter().all(is_builtin));
    let written = prepared.as_ref().filter(|prepared| !prepared.has_own);
    if written.is_some() || kept_builtin {
        let nothing = match written {
            None => NOTHING_MEASURED,
            Some(prepared) if prepared.unclear.is_empty() => NOTHING_OF_YOURS,
            Some(_) => NOTHING_UNDERSTOOD,
        };
        wrote(write!(out, "\n{}{OF_YOURS}", paragraph("", &format!("{nothing} {BUILT_IN}"))))?;
    }
    Ok(Exit::Pass)
}

fn tell_suite(prepared: &PreparedSuite, shown: &str, out: &mut impl Write) -> Result<()> {
    let benchmarks = &prepared.suite.benchmarks;
    wrote(writeln!(out, "wrote {shown} with {}:", count(benchmarks.len(), "benchmark")))?;
    for benchmark in benchmarks {
        let modules = prepared.modules.get(benchmark.id.name()).map(String::as_str);
        let of = modules.or(benchmark.measured_by()).or(benchmark.cuda().map(|_| "CUDA kernel"));
        let of = of.map_or_else(String::new, |of| format!("  ({of})"));
        wrote(writeln!(out, "  {}{of}", benchmark.id))?;
    }
    if !prepared.unclear.is_empty() {
        wrote(writeln!(out, "seen and left out, as noted at its end:"))?;
    }
    for sentence in prepared.unclear.iter().take(MAX_SAID) {
        wrote(write!(out, "{}", paragraph("  - ", sentence)))?;
    }
    if prepared.unclear.len() > MAX_SAID {
        wrote(writeln!(out, "  - and {} more, in {shown}", prepared.unclear.len() - MAX_SAID))?;
    }
    Ok(())
}

fn write_workflows(workflows: &PreparedWorkflows, out: &mut impl Write) -> Result<()> {
    let files = workflows.write()?;
    let actionlint = workflows.write_for_actionlint()?;
    if let Some(suite) = &workflows.deeper {
        let words = format!(
            "The workflows go to the repository's root, {}, and name the suite file as `{suite}`.",
            shown_from_here(&workflows.root),
        );
        wrote(write!(out, "{}", paragraph("", &words)))?;
    }
    for path in &files {
        wrote(writeln!(out, "wrote {}", shown_from_here(path)))?;
    }
    if let Some((path, state)) = &actionlint {
        let shown = shown_from_here(path);
        wrote(match state {
            ActionlintFile::Written => writeln!(out, "wrote {shown}"),
            ActionlintFile::Complete => writeln!(out, "kept  {shown}: it lists the labels already"),
            ActionlintFile::Lacks(labels) => {
                writeln!(out, "kept  {shown}: it should list the labels {}, too", labels.join(", "))
            }
        })?;
    }
    let NextSteps { notes, steps, warning } = &workflows.next;
    for note in notes {
        wrote(write!(out, "\n{}", paragraph("", note)))?;
    }
    wrote(writeln!(out, "\nNext:"))?;
    for (step, number) in steps.iter().zip(1..) {
        wrote(write!(out, "{}", paragraph(&format!("  {number}. "), step)))?;
    }
    if let Some(warning) = warning {
        wrote(write!(out, "\n{}", paragraph("", warning)))?;
    }
    Ok(())
}

fn asked() -> Result<String> {
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Ok(USUAL_LABELS.into());
    }
    let mut line = String::new();
    let mut err = std::io::stderr();
    let typed = write!(err, "Labels of the runner that measures [{USUAL_LABELS}]: ")
        .and_then(|()| err.flush())
        .and_then(|()| std::io::stdin().lock().read_line(&mut line));
    typed.map_err(|error| {
        let next = "give the labels with `--runner LABELS`";
        Fault::at("the terminal", format!("cannot be read: {error}"), next)
    })?;
    Ok(match line.trim() {
        "" => USUAL_LABELS.into(),
        labels => labels.to_owned(),
    })
}

/// Sentences about what was left out; the file has all.
const MAX_SAID: usize = 20;

const CHECK: &str = "check `requires` of each: a program that declines and ends well is timed all the same";

const NOTHING_OF_YOURS: &str = "Nothing here looks like a benchmark.";
const NOTHING_MEASURED: &str = "No line of the repository is measured by this suite file.";
const NOTHING_UNDERSTOOD: &str = "None of these was understood well enough to be measured.";
const BUILT_IN: &str = "The built-in ones in the suite file measure the machine and run none of your code: no change of yours can \
                        make them slower. Put programs of yours in their place:";

const OF_YOURS: &str = r#"
  [[benchmark]]
  id = "gemm"
  command = ["./gemm", "--n=4096"]
  build = ["make", "gemm"]
"#;
