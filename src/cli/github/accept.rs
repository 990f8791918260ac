//! `gbench-ci accept`: carries out what a person with write access wrote as a comment on a pull request.

use std::io::Write;

use crate::app::compare::fail_on::FailOn;
use crate::app::publish::{ATTEMPT, PublishRequest, accept, check, gate_name};
use crate::cli::terminal::write::wrote;
use crate::github::comments::CommentMode;
use crate::github::{Context, commands};
use crate::model::{Exit, Result};

/// Accept rows of a pull request's verdict, or take that back, as a comment says
///
/// For a job that `on: issue_comment` starts; it checks nothing out. The comment is asked of GitHub, and has to be one
/// command: `/gbench accept CASE... -- REASON` or `/gbench revoke [CASE...]`. It counts if a person with write access wrote
/// it and it was never edited. Acceptable rows are those that are slower or missing in the verdict that was published for
/// the pull request's head. The token comes from GBENCH_TOKEN, else GITHUB_TOKEN.
///
/// Exit codes: 0 when the command is answered, also where it is refused; 2 without such an event; 6 when GitHub could not be
/// asked or told.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct AcceptArgs {
    /// Name of the check, as `publish` has it
    #[arg(long, value_name = "NAME", default_value = "gbench-ci", value_parser = gate_name)]
    pub name: String,
    /// Classes that make the check fail, as in `publish`: regression, inconclusive, failed; `none` for no class
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// Also rows that forks measured: their check is never green
    #[arg(long)]
    pub allow_forks: bool,
    /// How many parts there must be
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub expect: Option<u32>,
    /// Beginning of the artifacts' names; `{attempt}` stands for the attempt of the run that measured
    #[arg(long, value_name = "PREFIX", default_value_t = format!("gbench-ci-attempt-{ATTEMPT}-result"))]
    pub artifact: String,
    /// Address of the pages that `gbench-ci site` writes: cases are linked there
    #[arg(long, value_name = "URL")]
    pub pages: Option<String>,
    /// Whose comments and checks are ours [default: who the token says]
    #[arg(long, value_name = "LOGIN")]
    pub login: Option<String>,
    /// Ask GitHub, and print the answer instead of giving it
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
