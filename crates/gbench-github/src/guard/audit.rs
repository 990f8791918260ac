//! Checks that a job cannot reach the guard: the user that the runner runs as may change none of its files.

use std::ffi::CString;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Uid, User, getgrouplist};

use super::HOOK;
use super::install::{InstalledFiles, script};
use super::policy::GuardPolicy;
use gbench_model::{Fault, Result};

/// The user that the runner, and so every job, runs as.
#[derive(Clone, Debug)]
pub struct RunnerUser {
    pub name: String,
    uid: u32,
    gids: Vec<u32>,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditFinding {
    pub what: String,
    /// The next step, where it is not as it has to be.
    pub wrong: Option<String>,
}

impl RunnerUser {
    /// Errors: there is no such user.
    pub fn named(name: &str) -> Result<Self> {
        let found = User::from_name(name).ok().flatten();
        found.map(Self::from).ok_or_else(|| {
            let what = format!("there is no user `{}` here", name.escape_debug());
            Fault::at_flag("--runner-user", what, "name the user that the runner's service runs as")
        })
    }

    /// The owner of a file or folder, as a runner's folder is its user's; `None` where that has no name.
    pub fn owner_of(path: &Path) -> Option<Self> {
        let uid = std::fs::metadata(path).ok()?.uid();
        User::from_uid(Uid::from_raw(uid)).ok().flatten().map(Self::from)
    }

    pub fn ids(&self) -> (u32, Option<u32>) {
        (self.uid, self.gids.first().copied())
    }

    /// By owner and permission bits; access control lists are not looked at. An owner can give itself what it lacks.
    fn may_write(&self, of: &Metadata) -> bool {
        let bit = |bit: u32| of.mode() & bit != 0;
        self.uid == 0 || of.uid() == self.uid || (self.gids.contains(&of.gid()) && bit(0o020)) || bit(0o002)
    }

    fn may_read(&self, of: &Metadata) -> bool {
        let bit = |bit: u32| of.mode() & bit != 0;
        match () {
            () if self.uid == 0 => true,
            () if of.uid() == self.uid => bit(0o400),
            () if self.gids.contains(&of.gid()) => bit(0o040),
            () => bit(0o004),
        }
    }

    /// The path by which the user could change what is read at a place: itself, or a folder above it in which another
    /// file can take its place. `Err`: it cannot be looked at.
    fn way_to_change(&self, path: &Path) -> std::io::Result<Option<PathBuf>> {
        let whole = path.canonicalize()?;
        let mut inner = std::fs::metadata(&whole)?;
        if self.may_write(&inner) {
            return Ok(Some(whole));
        }
        for folder in whole.ancestors().skip(1) {
            let outer = std::fs::metadata(folder)?;
            // In a folder such as /tmp only its owner and the file's may take a file away.
            let is_sticky = outer.mode() & 0o1000 != 0 && outer.uid() != self.uid && inner.uid() != self.uid;
            if self.may_write(&outer) && (!is_sticky || self.uid == 0) {
                return Ok(Some(folder.to_owned()));
            }
            inner = outer;
        }
        Ok(None)
    }
}

impl From<User> for RunnerUser {
    fn from(user: User) -> Self {
        let of_name = CString::new(user.name.clone()).ok();
        let groups = of_name.and_then(|name| getgrouplist(&name, user.gid).ok());
        let gids = groups.unwrap_or_else(|| vec![user.gid]).into_iter().map(Gid::as_raw).collect();
        Self { name: user.name, uid: user.uid.as_raw(), gids }
    }
}

/// Looks at an installation. `env`: the runner's own file of variables.
pub fn findings(places: &InstalledFiles, env: Option<&Path>, user: &RunnerUser) -> Vec<AuditFinding> {
    let mut found = Vec::new();
    if user.uid == 0 {
        found.push(wrong(
            "the runner runs as root",
            "give it a separate user: a job can change everything here",
        ));
    }
    let policy = GuardPolicy::read(&places.policy);
    found.push(match &policy {
        Ok(_) => right(format!("the policy {} can be followed", places.policy.display())),
        Err(fault) => wrong(&format!("{}: {}", fault.place, fault.what), &fault.next),
    });
    found.push(of_script(places));
    match env {
        Some(env) => found.push(of_env(env, &places.script)),
        None => found.push(wrong(
            "the runner's own file of variables was not looked at",
            "name it with `--runner-env`: the file `.env` in the runner's folder",
        )),
    }
    let kept = [&places.script, &places.policy, &places.program].map(PathBuf::as_path);
    found.extend(kept.into_iter().chain(env).map(|path| unchangeable(path, user)));
    if let Ok(policy) = policy {
        found.extend(policy.log.as_deref().map(|log| of_log(log, user)));
        let token = policy.forks.and_then(|forks| forks.token_file);
        found.extend(token.map(|token| of_token(&token, user)));
    }
    found
}

fn right(what: String) -> AuditFinding {
    AuditFinding { what, wrong: None }
}

fn wrong(what: &str, next: &str) -> AuditFinding {
    AuditFinding { what: what.into(), wrong: Some(next.into()) }
}

fn of_script(places: &InstalledFiles) -> AuditFinding {
    let shown = places.script.display();
    let again = "write it again: `gbench-ci guard install`";
    match std::fs::read_to_string(&places.script) {
        Ok(text) if text == script(places) => {
            right(format!("the script {shown} is the one that install writes"))
        }
        Ok(_) => wrong(&format!("the script {shown} is not the one that this version writes"), again),
        Err(error) => wrong(&format!("the script {shown} cannot be read: {error}"), again),
    }
}

/// The line for the runner's own file.
pub fn line(script: &Path) -> String {
    format!("{HOOK}={}", script.display())
}

fn of_env(env: &Path, script: &Path) -> AuditFinding {
    let shown = env.display();
    let next = format!("put this line into it, and restart the runner: {}", line(script));
    let text = match std::fs::read_to_string(env) {
        Ok(text) => text,
        Err(error) => return wrong(&format!("{shown} cannot be read: {error}"), &next),
    };
    let values: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix(HOOK)?.strip_prefix('=')).collect();
    let [value] = values.as_slice() else {
        let what = if values.is_empty() {
            format!("{shown} does not set {HOOK}: nothing is guarded")
        } else {
            format!("{shown} sets {HOOK} more than once")
        };
        return wrong(&what, &next);
    };
    let path = Path::new(value);
    let same = |one: &Path| one.canonicalize().ok();
    match () {
        () if !path.is_absolute() || !value.ends_with(".sh") => {
            wrong(&format!("{shown} sets {HOOK} to no absolute path that ends in .sh"), &next)
        }
        () if same(path).is_none() || same(path) != same(script) => {
            wrong(&format!("{shown} sets {HOOK} to another file than {}", script.display()), &next)
        }
        () => right(format!("{shown} names the script")),
    }
}

fn unchangeable(path: &Path, user: &RunnerUser) -> AuditFinding {
    let (shown, name) = (path.display(), &user.name);
    match user.way_to_change(path) {
        Ok(None) => right(format!("{shown} cannot be changed by {name}")),
        Ok(Some(way)) if way == path => {
            let next = "give it to root: `chown root FILE && chmod go-w FILE`";
            wrong(&format!("{shown} can be changed by {name}, and so by a job"), next)
        }
        Ok(Some(way)) => {
            let what =
                format!("{shown} can be changed by {name}, and so by a job, because {} can", way.display());
            wrong(&what, "give that to root, or move the file where every folder above it is root's")
        }
        Err(error) => {
            wrong(&format!("{shown} cannot be looked at: {error}"), "make it readable, and check again")
        }
    }
}

fn of_log(log: &Path, user: &RunnerUser) -> AuditFinding {
    let (shown, name) = (log.display(), &user.name);
    let writable = std::fs::metadata(log).map(|metadata| metadata.is_file() && user.may_write(&metadata));
    match writable {
        Ok(true) => right(format!("{name} can append to the log {shown}")),
        _ => wrong(
            &format!("{name} cannot append to the log {shown}: refusals would not be kept"),
            &format!("`touch {shown} && chown {name} {shown} && chattr +a {shown}`"),
        ),
    }
}

fn of_token(token: &Path, user: &RunnerUser) -> AuditFinding {
    let (shown, name) = (token.display(), &user.name);
    match std::fs::metadata(token).map(|metadata| user.may_read(&metadata)) {
        Ok(true) => {
            right(format!("{name} can read the token in {shown}, and so can every job that runs here"))
        }
        _ => wrong(&format!("{name} cannot read the token in {shown}"), "make it readable for that user"),
    }
}
