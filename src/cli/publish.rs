//! `gbench-ci publish`: a verdict becomes a comment, a check, a summary; at night an issue and a line of history.
//!
//! Measuring and publishing are two processes: whoever runs benchmarks holds no token, because a child of the same user
//! can read its parent's environment.

mod dry;
mod ended;
mod local;
mod nightly;
mod place;
mod post;
mod source;
mod waiting;

use std::io::Write;
use std::path::PathBuf;

use super::ci::{FailOn, refuse_contradiction};
use super::terminal::write::wrote;
use crate::app::stores::history_of;
use crate::github::comments::CommentMode;
use crate::github::{Context, WorkflowEvent, commands};
use crate::model::{Exit, Fault, Result};
use crate::suite::Benchmark;
use place::Place;
use source::Found;
use waiting::Waiting;

/// Tell GitHub a verdict: a comment, a check, a summary; at night an issue
///
/// What it does follows from the event. On a pull request: one comment and one check for each machine. In a `workflow_run`
/// workflow the same for the run that it is about, whose artifacts are fetched, distrusted and merged. Elsewhere a check,
/// and what --issue and --history ask for. The token comes from GBENCH_TOKEN, else GITHUB_TOKEN.
///
/// Exit codes: 0 when everything is told; 6 when it could not be; 2 and 5 for what may not be published.
#[derive(clap::Args, Clone, Debug)]
pub struct PublishArgs {
    /// A comparison's folder, a verdict, or the folder that `merge` wrote [default: the latest comparison]
    pub what: Option<PathBuf>,
    /// Only begin the check, before anything is measured
    #[arg(long, conflicts_with_all = ["what", "ended", "issue", "history", "dry_run"])]
    pub start: bool,
    /// The gate ended with this exit code; where it left no verdict the check says so
    #[arg(long, value_name = "CODE")]
    pub ended: Option<u8>,
    /// When to comment: on-change, always or never
    #[arg(long, value_name = "MODE", default_value = "on-change", value_parser = mode)]
    pub comment: CommentMode,
    /// Name of the check; several gates of one pull request are told apart by it. A label is added to it
    #[arg(long, value_name = "NAME", default_value = "gbench-ci", value_parser = place::gate_name)]
    pub name: String,
    /// Machine of a matrix, for a check without a verdict
    #[arg(long, value_name = "LABEL", default_value = "", hide_default_value = true)]
    pub label: String,
    /// What makes the check fail: regression, inconclusive, failed; or none [default: what the measuring job was told]
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// In a `workflow_run` workflow: publish what forks measured, too, and call it unverified
    #[arg(long)]
    pub allow_forks: bool,
    /// How many parts there must be
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub expect: Option<u32>,
    /// How the measuring jobs ended, as GitHub has it: where it is not `success` and no part says why, something is missing
    #[arg(long, value_name = "RESULT")]
    pub measured: Option<String>,
    /// Keep one issue open while the default branch is not green
    #[arg(long)]
    pub issue: bool,
    /// Append what was measured to a history: git:BRANCH or github:OWNER/REPO@BRANCH; on the default branch only
    #[arg(long, value_name = "ADDRESS")]
    pub history: Option<String>,
    /// Beginning of the artifacts' names that are fetched in a `workflow_run` workflow
    #[arg(long, value_name = "PREFIX", default_value = "gbench-ci")]
    pub artifact: String,
    /// Also write the step's summary, where this is not a step of the job that measured
    #[arg(long)]
    pub summary: bool,
    /// Whose comments and issues are ours [default: who the token says]
    #[arg(long, value_name = "LOGIN")]
    pub login: Option<String>,
    /// Print the comment instead of sending anything, and on standard error what else would be done
    #[arg(long)]
    pub dry_run: bool,
}

/// The words of [`CommentMode`].
fn mode(word: &str) -> std::result::Result<CommentMode, String> {
    match word {
        "on-change" => Ok(CommentMode::OnChange),
        "always" => Ok(CommentMode::Always),
        "never" => Ok(CommentMode::Never),
        _ => Err("write on-change, always or never".into()),
    }
}

pub fn run(args: &PublishArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    // Before anything is told: what comes last must not fail for a typing mistake.
    refuse_contradiction(&args.fail_on)?;
    args.history.as_deref().map(history_of).transpose()?;
    let variable = |name: &str| std::env::var(name).ok();
    let context = Context::read(&variable)?;
    if args.dry_run {
        dry::run(args, context.as_ref(), builtins, out)?;
        return Ok(Exit::Pass);
    }
    let mut say = |line: &str| wrote(writeln!(out, "{}", commands::line(line)));
    let Some(context) = context else {
        outside(args, builtins, &mut say)?;
        return Ok(Exit::Pass);
    };
    if context.event == WorkflowEvent::PullRequestTarget {
        let what = "pull_request_target runs beside a stranger's code with the rights of the base";
        let next = "publish from a `workflow_run` workflow: `gbench-ci init --github` writes one";
        return Err(Fault::at("the event", what, next).exits(Exit::Machine));
    }
    if context.event == WorkflowEvent::PullRequest && context.is_fork() {
        say("nothing is published: a fork's run may only read; the `workflow_run` workflow publishes it")?;
        return Ok(Exit::Pass);
    }
    let place = Place::open(args, context)?;
    match &place.context.workflow_run {
        Some(run) => post::for_run(args, &place, run, &mut say)?,
        None if args.start => post::begin(args, &place, &mut say)?,
        None => for_job(args, &place, builtins, &mut say)?,
    }
    Ok(Exit::Pass)
}

/// After the job that measured, or a part of it.
fn for_job(args: &PublishArgs, place: &Place, builtins: &[Benchmark], say: &mut post::Say<'_>) -> Result<()> {
    // A gate that failed early leaves nothing, and its check must not stay in progress for ever. What an earlier run left on
    // the same machine is not its answer.
    let material = match (&args.what, args.ended) {
        (None, Some(code)) => return nothing(args, place, code, say),
        (what, code) => match (source::here(what.as_deref(), args, builtins), code) {
            (Err(fault), Some(code)) => {
                nothing(args, place, code, say)?;
                return Err(fault);
            }
            (material, _) => material?,
        },
    };
    match material {
        Found::Verdict(material) => {
            post::for_event(args, place, &material, say)?;
            nightly::carry_out(args, place, &material, say)
        }
        Found::Untouched(job) => {
            post::same_commit(&job, &place.context.head)?;
            post::untouched(args, place, &job, &Waiting::of_event(place)?, say)
        }
    }
}

/// There is no verdict, and who waits for one has to hear it.
fn nothing(args: &PublishArgs, place: &Place, code: u8, say: &mut post::Say<'_>) -> Result<()> {
    let ended = ended::of_code(code);
    post::without_verdict(args, place, &ended, &Waiting::of_event(place)?, say)?;
    nightly::without_verdict(args, place, &ended, say)
}

/// On a laptop or another CI there is no pull request to speak to; a history may be there all the same.
fn outside(args: &PublishArgs, builtins: &[Benchmark], say: &mut post::Say<'_>) -> Result<()> {
    // What was named wrongly is named wrongly here as anywhere.
    let named = args.what.as_deref().map(|what| source::here(Some(what), args, builtins)).transpose()?;
    if args.history.is_none() || args.issue || args.start || args.ended.is_some() {
        let what = "this is no job of GitHub Actions: there is no pull request and no commit to publish to";
        let next =
            "look at what would be said with `--dry-run`, or append to a branch with `--history git:BRANCH`";
        return Err(Fault::at("publish", what, next));
    }
    match named.map_or_else(|| source::here(None, args, builtins), Ok)? {
        Found::Verdict(material) => nightly::append(args, None, &material, say),
        Found::Untouched(_) => say("nothing was measured, and nothing is kept"),
    }
}
