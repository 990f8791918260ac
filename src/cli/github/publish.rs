//! `gbench-ci publish`: tells a verdict to the service that started the job, and to webhooks.
//!
//! Measuring and publishing are two processes: the one that runs benchmarks has no token, because a child of the same user
//! can read its parent's environment.

use std::io::Write;
use std::path::PathBuf;

use crate::app::compare::fail_on::FailOn;
use crate::app::publish::{Destination, PublishRequest, check, dry_run, gate_name, publish};
use crate::cli::terminal::write::wrote;
use crate::github::comments::CommentMode;
use crate::github::{Context, commands};
use crate::model::{Exit, Fault, Result};
use crate::suite::Benchmark;

/// Publish a verdict: comment, check, summary or issue; JSON to a webhook
///
/// The event decides what is published. On a pull request: one comment, and one check per machine. In a `workflow_run`
/// workflow: the same for the run that triggered it, whose artifacts are fetched, treated as untrusted and merged.
/// Elsewhere: a check, and what --issue and --history request. The token comes from GBENCH_TOKEN, else GITHUB_TOKEN,
/// GITLAB_TOKEN, GITEA_TOKEN or FORGEJO_TOKEN, as the service that started the job requires. Buildkite needs no token.
/// The secret of webhooks comes from GBENCH_WEBHOOK_SECRET.
///
/// Exit codes: 0 when everything was published; 6 when publishing failed; 2 and 5 when publishing is not allowed.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct PublishArgs {
    /// A comparison's folder, a verdict, or the folder that `merge` wrote [default: the latest comparison]
    pub what: Option<PathBuf>,
    /// Only start the check, before anything is measured
    #[arg(long, conflicts_with_all = ["what", "ended", "issue", "history", "dry_run"])]
    pub start: bool,
    /// Exit code of the gate; the check reports it if there is no verdict
    #[arg(long, value_name = "CODE")]
    pub ended: Option<u8>,
    /// When to comment: on-change, always or never
    #[arg(long, value_name = "MODE", default_value = "on-change", value_parser = mode)]
    pub comment: CommentMode,
    /// Name of the check; it distinguishes several gates of one pull request. A label is added to it
    #[arg(long, value_name = "NAME", default_value = "gbench-ci", value_parser = gate_name)]
    pub name: String,
    /// Label of the machine in a matrix, for a check without a verdict
    #[arg(long, value_name = "LABEL", default_value = "", hide_default_value = true)]
    pub label: String,
    /// Classes of results that make the check fail: regression, inconclusive, failed; `none` for no class [default:
    /// as in the measuring job]
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// In a `workflow_run` workflow, and in jobs of other services than GitHub: also publish results that forks measured,
    /// marked as unverified
    #[arg(long)]
    pub allow_forks: bool,
    /// Number of parts (results of matrix jobs) that must be present
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub expect: Option<u32>,
    /// Result of the measuring jobs as GitHub reports it: if it is not `success` and no part explains why, the merged
    /// verdict counts as incomplete
    #[arg(long, value_name = "RESULT")]
    pub measured: Option<String>,
    /// Keep one issue open while the default branch is not green
    #[arg(long)]
    pub issue: bool,
    /// Append the measured run to a history: git:BRANCH, github:OWNER/REPO@BRANCH or s3://BUCKET/PREFIX; only on the default branch
    #[arg(long, value_name = "ADDRESS")]
    pub history: Option<String>,
    /// Prefix of the names of the artifacts to fetch in a `workflow_run` workflow
    #[arg(long, value_name = "PREFIX", default_value = "gbench-ci")]
    pub artifact: String,
    /// Also write the step summary; for jobs other than the one that measured
    #[arg(long)]
    pub summary: bool,
    /// URL of the pages that `gbench-ci site` writes; cases link to them
    #[arg(long, value_name = "URL")]
    pub pages: Option<String>,
    /// Account whose comments and issues are treated as the gate's own [default: the token's user]
    #[arg(long, value_name = "LOGIN")]
    pub login: Option<String>,
    /// Where to send the verdict: github, gitlab, gitea, forgejo or buildkite, which has to be the service that started
    /// this job, or webhook=URL; can be repeated [default: the service that started this job]
    #[arg(long, value_name = "PLACE")]
    pub to: Vec<String>,
    /// Send nothing; print the comment, and on standard error what else would be done
    #[arg(long)]
    pub dry_run: bool,
}

fn mode(word: &str) -> std::result::Result<CommentMode, String> {
    match word {
        "on-change" => Ok(CommentMode::OnChange),
        "always" => Ok(CommentMode::Always),
        "never" => Ok(CommentMode::Never),
        _ => Err("write on-change, always or never".into()),
    }
}

impl PublishArgs {
    /// Errors: a place that is not known. The address of a webhook, which may have a key in it, is not shown.
    fn request(&self) -> Result<PublishRequest> {
        let args = self.clone();
        let place = |text: String| {
            let next = "write github, gitlab, gitea, forgejo, buildkite, or webhook=https://HOST/PATH";
            text.parse::<Destination>().map_err(|what| Fault::at_flag("--to", what, next))
        };
        let to = args.to.into_iter().map(place).collect::<Result<_>>()?;
        Ok(PublishRequest {
            what: args.what,
            start: args.start,
            ended: args.ended,
            comment: args.comment,
            name: args.name,
            label: args.label,
            fail_on: args.fail_on,
            allow_forks: args.allow_forks,
            expect: args.expect,
            measured: args.measured,
            issue: args.issue,
            history: args.history,
            artifact: args.artifact,
            summary: args.summary,
            login: args.login,
            pages: args.pages,
            to,
        })
    }
}

pub(crate) fn run(args: &PublishArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    let request = args.request()?;
    check(&request)?;
    let context = Context::read(&|name| std::env::var(name).ok())?;
    if !args.dry_run {
        let mut log = |line: &str| wrote(writeln!(out, "{}", commands::line(line)));
        publish(&request, context, builtins, &mut log)?;
        return Ok(Exit::Pass);
    }
    let mut log = |line: &str| {
        // Lost with standard error, which is not a reason to fail.
        let _ = writeln!(std::io::stderr(), "{}", commands::line(line));
        Ok(())
    };
    if let Some((page, plan)) = dry_run(&request, context.as_ref(), builtins, &mut log)? {
        wrote(writeln!(out, "{}", page.trim_end()).and_then(|()| out.flush()))?;
        plan.iter().try_for_each(|line| log(line))?;
    }
    Ok(Exit::Pass)
}
