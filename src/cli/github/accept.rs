//! `gbench-ci accept`: carries out what a person with write access wrote as a comment on a pull request.

use std::io::Write;

use crate::app::compare::fail_on::FailOn;
use crate::app::publish::{ATTEMPT, PublishRequest, accept, check, gate_name};
use crate::cli::terminal::write::wrote;
use crate::github::comments::CommentMode;
use crate::github::{Context, commands};
use crate::model::{Exit, Result};

/// Accept regressions in a pull request, or withdraw an acceptance
///
/// For a job that `on: issue_comment` starts; it checks out no code. The comment is read from GitHub, and must be a single
/// command: `/gbench accept CASE... -- REASON` or `/gbench revoke [CASE...]`. It is obeyed only if a person with write
/// access wrote it and it was never edited. Rows can be accepted if they are slower or missing in the verdict that was
/// published for the pull request's head. The token comes from GBENCH_TOKEN, else GITHUB_TOKEN.
///
/// Exit codes: 0 when the command is answered, even if it is refused; 2 without such an event; 6 when a request to GitHub
/// failed.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct AcceptArgs {
    /// Name of the check, the same as for `publish`
    #[arg(long, value_name = "NAME", default_value = "gbench-ci", value_parser = gate_name)]
    pub name: String,
    /// Classes of results that make the check fail, as for `publish`: regression, inconclusive, failed; `none` for no class
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// Also accept rows that forks measured; their check is never green
    #[arg(long)]
    pub allow_forks: bool,
    /// Number of parts (results of matrix jobs) that must be present
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub expect: Option<u32>,
    /// Prefix of the artifacts' names; `{attempt}` is replaced by the attempt number of the run that measured
    #[arg(long, value_name = "PREFIX", default_value_t = format!("gbench-ci-attempt-{ATTEMPT}-result"))]
    pub artifact: String,
    /// URL of the pages that `gbench-ci site` writes; cases link to them
    #[arg(long, value_name = "URL")]
    pub pages: Option<String>,
    /// Account whose comments and checks are treated as the gate's own [default: the token's user]
    #[arg(long, value_name = "LOGIN")]
    pub login: Option<String>,
    /// Read from GitHub, and print the answer instead of posting it
    #[arg(long)]
    pub dry_run: bool,
}

impl AcceptArgs {
    fn request(&self) -> PublishRequest {
        let args = self.clone();
        PublishRequest {
            what: None,
            start: false,
            ended: None,
            comment: CommentMode::OnChange,
            name: args.name,
            label: String::new(),
            fail_on: args.fail_on,
            allow_forks: args.allow_forks,
            expect: args.expect,
            measured: None,
            issue: false,
            history: None,
            artifact: args.artifact,
            summary: false,
            login: args.login,
            pages: args.pages,
            to: Vec::new(),
        }
    }
}

pub(crate) fn run(args: &AcceptArgs, out: &mut impl Write) -> Result<Exit> {
    let request = args.request();
    check(&request)?;
    let context = Context::read(&|name| std::env::var(name).ok())?;
    let mut log = |line: &str| wrote(writeln!(out, "{}", commands::line(line)));
    accept(&request, context, args.dry_run, &mut log)?;
    Ok(Exit::Pass)
}
