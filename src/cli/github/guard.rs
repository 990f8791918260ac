//! `gbench-ci guard`: the runner's hook that decides on the machine whether a job may run there.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::app::github::runner_guard::{InstallationRequest, audit, hook, install, try_job};
use crate::cli::terminal::write::wrote;
use crate::github::{WorkflowEvent, commands};
use crate::guard::audit::AuditFinding;
use crate::guard::install::Allowed;
use crate::model::{Exit, Result};

/// On a runner, decide before a job's first step whether it may run
///
/// A fork's pull request brings its own workflow file and can name any runner of the repository. The runner therefore starts
/// this command before a job's first step (ACTIONS_RUNNER_HOOK_JOB_STARTED), through a script and a policy on the machine
/// that no pull request can edit. The job fails if the policy does not allow it, or if the policy cannot be read.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct GuardArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Clone, Debug)]
enum What {
    /// Allow or refuse the job that called it; for the hook's script
    ///
    /// Exit codes: 0 allowed; 5 refused; any other: no decision was possible, and the job fails as well.
    Run {
        /// Policy file of this machine
        #[arg(long, value_name = "FILE")]
        policy: PathBuf,
    },
    Install(GuardInstallArgs),
    Check(GuardCheckArgs),
}

/// Write the hook's script and a policy, and list the remaining steps
///
/// Run it as root: a job can change everything that the runner's user can change.
#[derive(clap::Args, Clone, Debug)]
struct GuardInstallArgs {
    #[command(flatten)]
    places: GuardPlaceArgs,
    /// Repository that may use this machine; repeatable
    #[arg(long = "repository", value_name = "OWNER/NAME", required = true)]
    repositories: Vec<String>,
    /// Branches that may use it; for a pull request this is its target branch
    #[arg(long = "branch", value_name = "BRANCH", default_value = "main")]
    branches: Vec<String>,
    /// Workflow files that may use it
    #[arg(long = "workflow", value_name = "FILE", default_values = WORKFLOWS)]
    workflows: Vec<String>,
    /// Events whose jobs may use it
    #[arg(long = "event", value_name = "EVENT", default_values_t = EVENTS.map(|event| event.as_ref().to_owned()))]
    events: Vec<String>,
    /// Label with which a maintainer lets a fork's pull request run [default: forks never run]
    #[arg(long, value_name = "LABEL")]
    fork_label: Option<String>,
    /// Overwrite an existing policy
    #[arg(long)]
    force: bool,
}

/// Check that the guard is installed where no job can change it, and what it would decide about a job
///
/// Exit codes: 0 all checks passed, and the job of `--job` may run; 5 a check failed, or the job may not run.
#[derive(clap::Args, Clone, Debug)]
struct GuardCheckArgs {
    #[command(flatten)]
    places: GuardPlaceArgs,
    /// File with the variables of a job, one NAME=VALUE per line, including GITHUB_EVENT_PATH; report whether that job
    /// may run
    #[arg(long, value_name = "FILE")]
    job: Option<PathBuf>,
}

#[derive(clap::Args, Clone, Debug)]
struct GuardPlaceArgs {
    /// Folder of the script, the policy and the log
    #[arg(long, value_name = "FOLDER", default_value = "/etc/gbench-ci")]
    folder: PathBuf,
    /// Environment file of the runner: `.env` in its folder
    #[arg(long, value_name = "FILE")]
    runner_env: Option<PathBuf>,
    /// User that the runner runs as [default: the owner of the runner's folder]
    #[arg(long, value_name = "NAME")]
    runner_user: Option<String>,
}

/// The workflows of `gbench-ci init --github` that measure, and what starts them.
const WORKFLOWS: [&str; 3] = [
    ".github/workflows/gbench-pull-request.yml",
    ".github/workflows/gbench-nightly.yml",
    ".github/workflows/gbench-bisect.yml",
];
const EVENTS: [WorkflowEvent; 4] = [
    WorkflowEvent::PullRequest,
    WorkflowEvent::MergeGroup,
    WorkflowEvent::Schedule,
    WorkflowEvent::WorkflowDispatch,
];

pub(crate) fn run(args: &GuardArgs, out: &mut impl Write) -> Result<Exit> {
    match &args.what {
        What::Run { policy } => run_hook(policy, out),
        What::Install(args) => run_install(args, out),
        What::Check(args) => run_check(args, out),
    }
}

fn run_hook(policy: &Path, out: &mut impl Write) -> Result<Exit> {
    hook(policy, &mut |fault| {
        let _ =
            writeln!(std::io::stderr(), "{}", commands::line(&format!("{}: {}", fault.place, fault.what)));
    })?;
    let slug = std::env::var("GITHUB_REPOSITORY").unwrap_or_default();
    let words = format!("gbench-ci guard: this job of {slug} may run here");
    wrote(writeln!(out, "{}", commands::line(&words)))?;
    Ok(Exit::Pass)
}

impl GuardPlaceArgs {
    fn request(&self) -> InstallationRequest {
        let Self { folder, runner_env, runner_user } = self.clone();
        InstallationRequest { folder, runner_env, runner_user }
    }
}

fn run_install(args: &GuardInstallArgs, out: &mut impl Write) -> Result<Exit> {
    let GuardInstallArgs { repositories, branches, workflows, events, fork_label: label, .. } = args.clone();
    let allowed = Allowed { repositories, events, branches, workflows, label };
    let installed = install(&args.places.request(), &allowed, args.force)?;
    for path in &installed.written {
        wrote(writeln!(out, "wrote {}", path.display()))?;
    }
    if let Some(path) = &installed.kept {
        let shown = path.display();
        wrote(writeln!(out, "kept  {shown}: it is there already; `--force` writes it again"))?;
    }
    wrote(writeln!(
        out,
        "\nPut this line into the file `.env` in the runner's folder, and restart the runner:\n\n    {}\n",
        installed.line
    ))?;
    print_findings(&installed.findings, out)?;
    Ok(Exit::Pass)
}

fn print_findings(findings: &[AuditFinding], out: &mut impl Write) -> Result<()> {
    findings.iter().try_for_each(|finding| {
        wrote(match &finding.wrong {
            None => writeln!(out, "ok     {}", finding.what),
            Some(next) => writeln!(out, "WRONG  {}\n       {next}", finding.what),
        })
    })
}

fn run_check(args: &GuardCheckArgs, out: &mut impl Write) -> Result<Exit> {
    let request = args.places.request();
    let findings = audit(&request)?;
    print_findings(&findings, out)?;
    if let Some(path) = &args.job {
        try_job(&request, path)?;
        wrote(writeln!(out, "the job of {} may run here", path.display()))?;
    }
    let is_sound = findings.iter().all(|finding| finding.wrong.is_none());
    Ok(if is_sound { Exit::Pass } else { Exit::Machine })
}
