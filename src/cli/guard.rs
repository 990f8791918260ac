//! `gbench-ci guard`: the runner's hook that decides on the machine whether a job may run there.

use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use super::terminal::write::wrote;
use crate::app::measure::own_binary;
use crate::github::{ApiError, Client, ClientLimits, Token, approval, commands};
use crate::guard::audit::{RunnerUser, findings, line};
use crate::guard::install::{Allowed, InstalledFiles, policy, script};
use crate::guard::{GuardPolicy, GuardedJob, decide, log};
use crate::model::{Exit, Fault, Result};
use crate::store::write_atomically;

/// Decide on the machine which jobs may run there, before their first step
///
/// A fork's pull request brings its own workflow file and can name any runner of the repository. The runner starts this before a
/// job's first step (ACTIONS_RUNNER_HOOK_JOB_STARTED), by a script and a policy on the machine that no pull request can edit.
/// What the policy does not allow, and what cannot be read, fails the job.
#[derive(clap::Args, Clone, Debug)]
pub struct GuardArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Clone, Debug)]
enum What {
    Run(GuardRunArgs),
    Install(GuardInstallArgs),
    Check(GuardCheckArgs),
}

/// Allow or refuse the job that this is started in; for the hook's script
///
/// Exit codes: 0 allowed; 5 refused; any other: it could not be decided, which fails the job as well.
#[derive(clap::Args, Clone, Debug)]
struct GuardRunArgs {
    /// The policy of this machine
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,
}

/// Write the hook's script and a policy, and say what is left to do
///
/// Run it as root: what the runner's user can change, a job can change.
#[derive(clap::Args, Clone, Debug)]
struct GuardInstallArgs {
    #[command(flatten)]
    places: GuardPlaceArgs,
    /// A repository that may use this machine; may be given several times
    #[arg(long = "repository", value_name = "OWNER/NAME", required = true)]
    repositories: Vec<String>,
    /// Branches that may: of a pull request the one that it goes to
    #[arg(long = "branch", value_name = "BRANCH", default_value = "main")]
    branches: Vec<String>,
    /// Files of workflows that may
    #[arg(long = "workflow", value_name = "FILE", default_values = WORKFLOWS)]
    workflows: Vec<String>,
    /// Events that may
    #[arg(long = "event", value_name = "EVENT", default_values = EVENTS)]
    events: Vec<String>,
    /// The label by which a maintainer lets a fork's pull request run [default: none runs]
    #[arg(long, value_name = "LABEL")]
    fork_label: Option<String>,
    /// Overwrite a policy that is there
    #[arg(long)]
    force: bool,
}

/// Say whether the guard is installed so that no job can change it, and what it would do with a job
///
/// Exit codes: 0 all is as it has to be, and the job of `--job` may run; 5 it is not, or the job may not run.
#[derive(clap::Args, Clone, Debug)]
struct GuardCheckArgs {
    #[command(flatten)]
    places: GuardPlaceArgs,
    /// Variables of a job, a line NAME=VALUE each, GITHUB_EVENT_PATH among them: say whether it may run
    #[arg(long, value_name = "FILE")]
    job: Option<PathBuf>,
}

#[derive(clap::Args, Clone, Debug)]
struct GuardPlaceArgs {
    /// Where script, policy and log are
    #[arg(long, value_name = "FOLDER", default_value = "/etc/gbench-ci")]
    folder: PathBuf,
    /// The runner's own file of variables: `.env` in its folder
    #[arg(long, value_name = "FILE")]
    runner_env: Option<PathBuf>,
    /// The user that the runner runs as [default: the owner of the runner's folder]
    #[arg(long, value_name = "NAME")]
    runner_user: Option<String>,
}

/// The workflows of `gbench-ci init --github` that measure, and what starts them.
const WORKFLOWS: [&str; 2] =
    [".github/workflows/gbench-pull-request.yml", ".github/workflows/gbench-nightly.yml"];
const EVENTS: [&str; 4] = ["pull_request", "merge_group", "schedule", "workflow_dispatch"];

pub fn run(args: &GuardArgs, out: &mut impl Write) -> Result<Exit> {
    match &args.what {
        What::Run(args) => hook(&args.policy, out),
        What::Install(args) => install(args, out),
        What::Check(args) => check(args, out),
    }
}

/// The hook itself. Whatever goes wrong is an error, and every error fails the job.
fn hook(policy: &Path, out: &mut impl Write) -> Result<Exit> {
    let variable = |name: &str| std::env::var(name).ok();
    let policy = GuardPolicy::read(policy)?;
    let judged = judge(&policy, &variable);
    let Err(fault) = &judged else {
        let slug = variable("GITHUB_REPOSITORY").unwrap_or_default();
        wrote(writeln!(
            out,
            "{}",
            commands::line(&format!("gbench-ci guard: this job of {slug} may run here"))
        ))?;
        return Ok(Exit::Pass);
    };
    if let Some(path) = &policy.log {
        // The refusal stands, whatever becomes of the log.
        if let Err(fault) = log::append(path, &fault.what, &told(&variable)) {
            let _ = writeln!(
                std::io::stderr(),
                "{}",
                commands::line(&format!("{}: {}", fault.place, fault.what))
            );
        }
    }
    judged.map(|()| Exit::Pass)
}

/// What the log says of a job beside why it was refused.
fn told(variable: &dyn Fn(&str) -> Option<String>) -> Vec<(&'static str, Option<String>)> {
    [
        ("repository", "GITHUB_REPOSITORY"),
        ("event", "GITHUB_EVENT_NAME"),
        ("ref", "GITHUB_REF"),
        ("sha", "GITHUB_SHA"),
        ("workflow", "GITHUB_WORKFLOW_REF"),
        ("actor", "GITHUB_ACTOR"),
        ("run", "GITHUB_RUN_ID"),
        ("attempt", "GITHUB_RUN_ATTEMPT"),
    ]
    .map(|(name, from)| (name, variable(from)))
    .into()
}

/// Errors: the job may not run here, with exit code 5, or that could not be found out.
fn judge(policy: &GuardPolicy, variable: &dyn Fn(&str) -> Option<String>) -> Result<()> {
    let job = GuardedJob::read(variable)?;
    match decide(policy, &job, &|job, label| ask(policy, job, label))? {
        Ok(()) => Ok(()),
        Err(refusal) => Err(Fault::at("gbench-ci guard", refusal.what, refusal.next).exits(Exit::Machine)),
    }
}

/// Asks GitHub for the label. A job waits for the answer, but not for long.
fn ask(policy: &GuardPolicy, job: &GuardedJob, label: &str) -> Result<std::result::Result<(), String>> {
    use std::time::Duration;
    let context = &job.context;
    let (Some(pull), Some(run)) = (&context.pull_request, &context.run) else {
        return Ok(Err("GITHUB_RUN_ID does not say which run this is".into()));
    };
    let file = policy.forks.as_ref().and_then(|forks| forks.token_file.as_deref());
    let token = file.map(token).transpose()?;
    let limits = ClientLimits {
        requests: 60,
        attempts: 2,
        max_wait: Duration::from_secs(5),
        timeout: Duration::from_secs(5),
        answer: 16 << 20,
        ..ClientLimits::default()
    };
    let by_label = job.labelled.as_ref().is_some_and(|put_on| put_on.to_lowercase() == label.to_lowercase());
    let asked = approval::ApprovalRequest { number: pull.number, head: &pull.head, run: run.id, by_label };
    let answer = Client::new(&context.endpoint, &context.slug, token.as_ref(), limits)
        .and_then(|client| approval::labelled(&client, asked, label));
    answer.map_err(|error: ApiError| {
        let fault = Fault::from(error);
        let what = format!("GitHub could not be asked for the label: {}", fault.what);
        let next =
            "run the job again when GitHub answers; for a private repository see `token_file` in the policy"
                .into();
        Fault { what, next, ..fault }.exits(Exit::Machine)
    })
}

fn token(path: &Path) -> Result<Token> {
    let fault = |what: String| Fault::at_path(path, what, "put a token into it, or take `token_file` out");
    let text = std::fs::read_to_string(path).map_err(|error| fault(format!("cannot be read: {error}")))?;
    Token::new(&text).map_err(fault)
}

impl GuardPlaceArgs {
    fn places(&self) -> Result<InstalledFiles> {
        let folder = std::path::absolute(&self.folder)
            .map_err(|error| Fault::at_path(&self.folder, error, "name a folder"))?;
        // The runner puts the path into a line of arguments, where a blank would end it.
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._+-".contains(c);
        match folder.to_str().is_some_and(|text| text.chars().all(plain)) {
            true => Ok(InstalledFiles::new(&folder, &own_binary()?)),
            false => {
                let next = "use a path of letters, digits, `.`, `_`, `/`, `+` and `-`";
                Err(Fault::at_path(folder, "a runner cannot start a script by this path", next))
            }
        }
    }

    fn user(&self) -> Result<RunnerUser> {
        if let Some(name) = &self.runner_user {
            return RunnerUser::named(name);
        }
        let folder = self.runner_env.as_deref().and_then(Path::parent);
        let folder = folder.map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        folder.and_then(RunnerUser::owner_of).ok_or_else(|| {
            let what = "it is not known as which user the runner runs";
            Fault::at_flag("--runner-user", what, "name the user, or the runner's file with `--runner-env`")
        })
    }
}

fn install(args: &GuardInstallArgs, out: &mut impl Write) -> Result<Exit> {
    let (places, user) = (args.places.places()?, args.places.user()?);
    let allowed = Allowed {
        repositories: args.repositories.clone(),
        events: args.events.clone(),
        branches: args.branches.clone(),
        workflows: args.workflows.clone(),
        label: args.fork_label.clone(),
    };
    let text = policy(&allowed, &places);
    // What cannot be followed is not written either.
    GuardPolicy::parse(&places.policy, &text)?;
    let fault = |path: &Path, error: std::io::Error| {
        let next = "run it as root, or name another place with `--folder`";
        Fault::at_path(path, format!("cannot be written: {error}"), next)
    };
    if !args.places.folder.is_dir() {
        std::fs::create_dir_all(&args.places.folder).map_err(|error| fault(&args.places.folder, error))?;
        set_mode(&args.places.folder, 0o755).map_err(|error| fault(&args.places.folder, error))?;
    }
    let mut put = |path: &Path, text: &str, mode: u32| -> Result<()> {
        write_atomically(path, text.as_bytes())?;
        set_mode(path, mode).map_err(|error| fault(path, error))?;
        wrote(writeln!(out, "wrote {}", path.display()))
    };
    put(&places.script, &script(&places), 0o755)?;
    let is_kept = places.policy.exists() && !args.force;
    if !is_kept {
        put(&places.policy, &text, 0o644)?;
    }
    if !places.log.exists() {
        put(&places.log, "", 0o640)?;
        let (uid, gid) = user.ids();
        // Only root may give a file away; if it could not, the findings say so.
        let _ = chown(&places.log, Some(uid), gid);
    }
    if is_kept {
        let shown = places.policy.display();
        wrote(writeln!(out, "kept  {shown}: it is there already; `--force` writes it anew"))?;
    }
    wrote(writeln!(
        out,
        "\nPut this line into the file `.env` in the runner's folder, and start the runner anew:\n\n    {}\n",
        line(&places.script)
    ))?;
    say_findings(&places, &args.places, &user, out)?;
    Ok(Exit::Pass)
}

fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// Whether all is as it has to be.
fn say_findings(
    places: &InstalledFiles,
    args: &GuardPlaceArgs,
    user: &RunnerUser,
    out: &mut impl Write,
) -> Result<bool> {
    let found = findings(places, args.runner_env.as_deref(), user);
    for finding in &found {
        wrote(match &finding.wrong {
            None => writeln!(out, "ok     {}", finding.what),
            Some(next) => writeln!(out, "WRONG  {}\n       {next}", finding.what),
        })?;
    }
    Ok(found.iter().all(|finding| finding.wrong.is_none()))
}

fn check(args: &GuardCheckArgs, out: &mut impl Write) -> Result<Exit> {
    let (places, user) = (args.places.places()?, args.places.user()?);
    let is_sound = say_findings(&places, &args.places, &user, out)?;
    if let Some(path) = &args.job {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let next = "give a file with a line NAME=VALUE for each variable of the job";
            Fault::at_path(path, format!("cannot be read: {error}"), next)
        })?;
        let value = |name: &str| {
            let of_line = |line: &str| line.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
            text.lines().find_map(of_line)
        };
        judge(&GuardPolicy::read(&places.policy)?, &value)?;
        wrote(writeln!(out, "the job of {} may run here", path.display()))?;
    }
    Ok(if is_sound { Exit::Pass } else { Exit::Machine })
}
