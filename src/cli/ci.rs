//! `gbench-ci ci`: the measuring job. It finds out from the event what is judged and against what, compares the two
//! commits, and leaves behind what the job that publishes needs. Without a token: a benchmark runs as the same user.

mod after;
mod base;
mod fail_on;
mod guard;
mod reference;
mod sources;
mod tell;
mod untouched;

use std::io::Write;
use std::path::PathBuf;

use super::args::{OutputArgs, RoundsArgs, SelectionArgs, SettingsArgs};
use super::terminal::progress::{reporter, runner_reporter};
use super::terminal::style;
use super::terminal::write::wrote;
use crate::app::compare_commits;
use crate::app::job_flags::job_flags;
use crate::app::paths::shown;
use crate::app::request::{Audience, CommitsRequest};
use crate::app::stores::{history_of, store_of};
use crate::app::verdict_files::{exit_from, rendered, write_reports};
use crate::compare::VerdictDocument;
use crate::github::Context;
use crate::github::commands::{self, CommandEscaper};
use crate::model::{Exit, Fault, Job, NoReference, Result, SCHEMA_JOB};
use crate::report::Format;
use crate::store::write_atomically;
use crate::suite::Benchmark;
use base::Chosen;
pub use fail_on::{FailOn, decide_by, refuse_contradiction};

/// Judge what a CI job is about, and leave the verdict for publishing
///
/// In GitHub Actions the event says what is judged and against what: of a pull request its own head and the merge base, of a
/// push what was there before, of a scheduled run the newest green commit of the history. Elsewhere it compares as
/// `gbench-ci compare` does. Where there is nothing to compare with, the commit is compared with itself, and the verdict is
/// inconclusive. Code of forks is not run unless `--allow-forks` is given.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct CiArgs {
    /// Base instead of the event's: the merge base of this branch, tag or commit and what is judged
    #[arg(long, value_name = "REV")]
    pub base: Option<String>,
    /// What fails the job, and nothing else: regression, inconclusive, failed; or none [default: what the gate says]
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// Run the code of forks' pull requests, too: only where anybody may run anything
    #[arg(long)]
    pub allow_forks: bool,
    /// Which machine of a matrix this is: names its check and its section in the comment
    #[arg(long, value_name = "NAME", value_parser = label)]
    pub label: Option<String>,
    /// History whose newest green commit is the base of scheduled runs: git:BRANCH or github:OWNER/REPO@BRANCH
    #[arg(long, value_name = "ADDRESS")]
    pub history: Option<String>,
    /// Store instead of the suite file's: dir:PATH, git:BRANCH or github:OWNER/REPO@BRANCH
    #[arg(long, value_name = "ADDRESS")]
    pub store: Option<String>,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub settings: SettingsArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub rounds: RoundsArgs,
}

impl CiArgs {
    /// The comparison of what the event chose.
    fn request(&self) -> Result<CommitsRequest> {
        Ok(CommitsRequest {
            store: self.store.clone(),
            selection: self.selection.request()?,
            settings: self.settings.request()?,
            output: self.output.request()?,
            rounds: self.rounds.request()?,
            ..CommitsRequest::default()
        })
    }

    fn label(&self) -> &str {
        self.label.as_deref().unwrap_or_default()
    }
}

/// A name that can stand in a check's name.
fn label(text: &str) -> std::result::Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || " ._+-".contains(c);
    let whole = text.trim() == text && !text.is_empty() && text.len() <= 50;
    match whole && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err("a label is up to 50 letters, digits, blanks and any of `._+-`".into()),
    }
}

pub fn run(args: &CiArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    guard::shed_tokens(out)?;
    let context = Context::read(&|name| std::env::var(name).ok());
    let announced = super::announce_environment();
    let in_actions = !matches!(context, Ok(None));
    let context = announced.and(context);
    let done = context.and_then(|context| match context {
        Some(context) => in_job(args, &context, builtins, out),
        None => judge(args, None, builtins, out).map(|done| done.exit),
    });
    if let (Err(fault), true) = (&done, in_actions) {
        tell::fault(fault, out)?;
    }
    done
}

/// What one call came to.
struct Done {
    exit: Exit,
    came_to: CameTo,
}

enum CameTo {
    Verdict(Box<Judged>),
    /// The change touches nothing that is measured: the job's file, and its folder.
    Untouched(Box<Job>, PathBuf),
    Interrupted,
}

/// A comparison that was decided.
struct Judged {
    document: VerdictDocument,
    job: Job,
    folder: PathBuf,
    /// What was missing, where its commit was compared with itself for want of another.
    missing: Option<NoReference>,
}

/// In a job of GitHub Actions: all that comes from the repository stands where no command is obeyed.
fn in_job(args: &CiArgs, context: &Context, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    guard::refuse(context, args.allow_forks)?;
    guard::warn_of_credentials(out)?;
    let token = commands::stop(out);
    let token = token.map_err(tell::unheard)?;
    let mut tame = CommandEscaper::new(&mut *out);
    let done = judge(args, Some(context), builtins, &mut tame);
    let tamed = tame.finish().and_then(|out| out.flush());
    wrote(tamed.and_then(|()| commands::resume(out, &token)))?;
    let done = done?;
    tell::verdict(&done, context, out)?;
    Ok(done.exit)
}

/// From the event to the verdict.
fn judge(
    args: &CiArgs,
    context: Option<&Context>,
    builtins: &[Benchmark],
    out: &mut impl Write,
) -> Result<Done> {
    let mut request = args.request()?;
    request.settings.refuse_between_commits()?;
    // Also where this event asks neither: a mistake in a workflow is found in the first run and not at night.
    refuse_contradiction(&args.fail_on)?;
    args.history.as_deref().map(history_of).transpose()?;
    args.store.as_deref().map(store_of).transpose()?;
    let config = request.selection.suite_path()?;
    let home = config.parent().unwrap_or(&config);
    let newest = |address: &str| reference::newest(address, home, context, args.label());
    let asked = base::Asked { base: args.base.as_deref(), history: args.history.as_deref() };
    let chosen = base::choose(home, context, &asked, &newest)?;
    request.no_reference = chosen.missing;
    wrote(writeln!(out, "base {}: {}", chosen.base.short(), chosen.choice.why).and_then(|()| out.flush()))?;
    if let Some(missing) = chosen.missing {
        let words = format!("nothing will be decided; next: {}", missing.next());
        wrote(writeln!(out, "{words}").and_then(|()| out.flush()))?;
    }

    if let Some(untouched) = untouched::of(&config, context, &chosen, builtins)? {
        let job =
            Job { untouched: Some(untouched), ..job_of(args, &request, context, &chosen, Exit::Pass.code()) };
        let page = after::untouched_page(&job, context);
        let folder = untouched::leave(&config, args.output.artifacts.as_deref(), &job, &page, builtins, out)?;
        return Ok(Done { exit: Exit::Pass, came_to: CameTo::Untouched(Box::new(job), folder) });
    }

    let quiet = args.output.quiet;
    let reporter = if context.is_some() { runner_reporter(quiet) } else { reporter(quiet) };
    let is_pull = context.is_some_and(|context| context.pull_request.is_some());
    request.audience = if is_pull { Audience::PullRequest } else { Audience::Job };
    request.range = Some(chosen.range());
    let measured = compare_commits::measure(&request, builtins, &reporter)?;
    if let Some(signal) = measured.interrupted() {
        let folder = shown(measured.folder.root());
        wrote(writeln!(out, "interrupted: nothing is decided; what was measured is in {folder}"))?;
        let exit = if signal == 2 { Exit::Interrupted } else { Exit::Terminated };
        return Ok(Done { exit, came_to: CameTo::Interrupted });
    }
    let document = measured.verdict()?;
    write_reports(&document, &measured.reports())?;
    wrote(out.write_all(&rendered(&document, Format::Terminal, style::of_stdout(), false)?))?;
    let (suite, root) = &measured.head;
    let job = Job {
        sources: sources::of(suite, root, chosen.head.commit()),
        ..job_of(args, &request, context, &chosen, document.exit_code)
    };
    let folder = measured.folder.root().to_owned();
    let bytes = serde_json::to_vec_pretty(&job).map_err(|error| Fault::defect("job.json", error))?;
    write_atomically(&folder.join("job.json"), &bytes)?;
    let gate = exit_from(&document);
    let exit = fail_on::decide(&args.fail_on, &document, gate);
    wrote(writeln!(out, "\nverdict {}", shown(&folder.join("reports/verdict.json"))))?;
    if exit != gate {
        let classes = job.fail_on.join(", ");
        wrote(writeln!(
            out,
            "exit    {}: the gate says {}, and the job fails on {classes}",
            exit.code(),
            gate.code()
        ))?;
    }
    let judged = Judged { document, job, folder, missing: chosen.missing };
    Ok(Done { exit, came_to: CameTo::Verdict(Box::new(judged)) })
}

/// What the job knows beside its verdict, without the places of what it measured.
fn job_of(
    args: &CiArgs,
    request: &CommitsRequest,
    context: Option<&Context>,
    chosen: &Chosen,
    exit_code: u8,
) -> Job {
    Job {
        schema: SCHEMA_JOB.into(),
        event: context.map_or("none", |context| context.event.word()).to_owned(),
        head: Some(chosen.head.commit().to_owned()),
        pull_request: context.and_then(|context| context.pull_request.as_ref()).map(|pull| pull.number),
        base: chosen.choice.clone(),
        label: args.label().to_owned(),
        shard: args.selection.shard,
        exit_code,
        fail_on: args.fail_on.iter().map(|class| class.word().to_owned()).collect(),
        flags: job_flags(&request.selection, &request.settings),
        sources: Vec::new(),
        fork: context.is_some_and(Context::is_fork),
        untouched: None,
    }
}
