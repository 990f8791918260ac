//! The guard of a runner: whether a job may run on this machine, and the files that ask for it.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::app::measuring::executor::own_binary;
use crate::github::{ApiError, Client, ClientLimits, Token, approval};
use crate::guard::audit::{AuditFinding, RunnerUser, findings, line};
use crate::guard::install::{Allowed, InstalledFiles, policy, script};
use crate::guard::{GuardPolicy, GuardedJob, decide, log};
use crate::model::{Exit, Fault, Result};
use crate::store::write_atomically;

/// Where the guard is installed, and for which runner.
#[derive(Clone, Debug)]
pub(crate) struct InstallationRequest {
    pub folder: PathBuf,
    /// The runner's own file of variables.
    pub runner_env: Option<PathBuf>,
    /// The user of the runner; `None`: the owner of the runner's folder.
    pub runner_user: Option<String>,
}

pub(crate) struct Installed {
    pub written: Vec<PathBuf>,
    pub kept: Option<PathBuf>,
    /// The line for the runner's own file of variables.
    pub line: String,
    pub findings: Vec<AuditFinding>,
}

/// The hook of the runner. Whatever goes wrong is an error, and every error fails the job. The refusal is valid, whatever
/// becomes of the log: `log_failed` is given why a line could not be written.
pub(crate) fn hook(policy: &Path, log_failed: &mut dyn FnMut(&Fault)) -> Result<()> {
    let variable = |name: &str| std::env::var(name).ok();
    let policy = GuardPolicy::read(policy)?;
    judge(&policy, &variable).inspect_err(|fault| {
        let Some(path) = &policy.log else { return };
        if let Err(fault) = log::append(path, &fault.what, &log_fields(&variable)) {
            log_failed(&fault);
        }
    })
}

fn log_fields(variable: &dyn Fn(&str) -> Option<String>) -> Vec<(&'static str, Option<String>)> {
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

impl InstallationRequest {
    pub(crate) fn files(&self) -> Result<InstalledFiles> {
        let folder = std::path::absolute(&self.folder)
            .map_err(|error| Fault::at_path(&self.folder, error, "name a folder"))?;
        // The runner puts the path into a line of arguments, where a blank would end it.
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._+-".contains(c);
        if !folder.to_str().is_some_and(|text| text.chars().all(plain)) {
            let next = "use a path of letters, digits, `.`, `_`, `/`, `+` and `-`";
            return Err(Fault::at_path(folder, "a runner cannot start a script by this path", next));
        }
        Ok(InstalledFiles::new(&folder, &own_binary()?))
    }

    pub(crate) fn user(&self) -> Result<RunnerUser> {
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

/// Writes the script, and policy and log where they are not there. `force`: the policy also where it is.
pub(crate) fn install(request: &InstallationRequest, allowed: &Allowed, force: bool) -> Result<Installed> {
    let (files, user) = (request.files()?, request.user()?);
    let text = policy(allowed, &files);
    // A policy that cannot be followed is not written.
    GuardPolicy::parse(&files.policy, &text)?;
    let fault = |path: &Path, error: std::io::Error| {
        let next = "run it as root, or name another place with `--folder`";
        Fault::at_path(path, format!("cannot be written: {error}"), next)
    };
    if !request.folder.is_dir() {
        std::fs::create_dir_all(&request.folder).map_err(|error| fault(&request.folder, error))?;
        set_mode(&request.folder, 0o755).map_err(|error| fault(&request.folder, error))?;
    }
    let mut written = Vec::new();
    let mut put = |path: &Path, text: &str, mode: u32| -> Result<()> {
        write_atomically(path, text.as_bytes())?;
        set_mode(path, mode).map_err(|error| fault(path, error))?;
        written.push(path.to_owned());
        Ok(())
    };
    put(&files.script, &script(&files), 0o755)?;
    let is_kept = files.policy.exists() && !force;
    if !is_kept {
        put(&files.policy, &text, 0o644)?;
    }
    if !files.log.exists() {
        put(&files.log, "", 0o640)?;
        let (uid, gid) = user.ids();
        // Only root may give a file away; if it could not, the findings record that.
        let _ = chown(&files.log, Some(uid), gid);
    }
    let findings = findings(&files, request.runner_env.as_deref(), &user);
    let line = line(&files.script);
    Ok(Installed { written, kept: is_kept.then_some(files.policy), line, findings })
}

fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

pub(crate) fn audit(request: &InstallationRequest) -> Result<Vec<AuditFinding>> {
    Ok(findings(&request.files()?, request.runner_env.as_deref(), &request.user()?))
}

/// True if a job may run, of which a file has a line NAME=VALUE for each variable.
pub(crate) fn try_job(request: &InstallationRequest, job: &Path) -> Result<()> {
    let text = std::fs::read_to_string(job).map_err(|error| {
        let next = "give a file with a line NAME=VALUE for each variable of the job";
        Fault::at_path(job, format!("cannot be read: {error}"), next)
    })?;
    let value = |name: &str| {
        let of_line = |line: &str| line.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
        text.lines().find_map(of_line)
    };
    judge(&GuardPolicy::read(&request.files()?.policy)?, &value)
}
