//! Which commit is judged, against which, and why: by the event in a job of GitHub Actions, by git elsewhere.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use git2::{Oid, Repository};

use super::last_green::HistoryBase;
use crate::github::{Context, PullRequest, Sha, WorkflowEvent};
use crate::machine::open_repository;
use crate::model::text::{count, short_commit};
use crate::model::{BaseChoice, Fault, NoReference, Result};
use crate::trees::{self, Range};

pub(crate) struct BaseSelection {
    pub base: Sha,
    /// The commit that is judged, or that the working tree is on top of.
    pub head: Sha,
    is_working_tree: bool,
    pub choice: BaseChoice,
    /// The missing reference, where the job found no other commit and compares this one with itself; none where the user
    /// asks for that.
    pub missing: Option<NoReference>,
}

impl BaseSelection {
    /// As `gbench-ci compare` takes it; names have no place in it, so that none is misread.
    pub(crate) fn range(&self) -> String {
        let head = if self.is_working_tree { "" } else { self.head.as_str() };
        format!("{}..{head}", self.base)
    }
}

pub(super) struct BaseRequest<'a> {
    pub base: Option<&'a str>,
    pub history: Option<&'a str>,
}

type Ask<'a> = dyn Fn(&str) -> Result<HistoryBase> + 'a;

struct Found {
    base: Oid,
    why: String,
    /// The missing reference, where the base is the commit itself for want of another.
    missing: Option<NoReference>,
}

fn found(base: Oid, why: impl Into<String>) -> Found {
    Found { base, why: why.into(), missing: None }
}

/// Chooses by the event, or by git where there is none. `newest`: what a history has to be judged against.
///
/// Errors: a commit that this clone does not hold, most often because the checkout was cut short; exit code 2.
pub(super) fn choose(
    folder: &Path,
    context: Option<&Context>,
    asked: &BaseRequest<'_>,
    newest: &Ask<'_>,
) -> Result<BaseSelection> {
    if let Some(base) = asked.base.filter(|base| base.trim().is_empty() || base.contains("..")) {
        let next = "name one branch, tag or commit, or take the flag out";
        return Err(Fault::at_flag(format!("--base '{base}'"), "this is not a single revision", next));
    }
    let Some(context) = context else { return by_git(folder, asked.base) };
    let repository = open_repository(folder).map_err(|error| {
        let what = format!("the checkout cannot be read: {}", error.message());
        Fault::at_path(folder, what, "run actions/checkout before this step")
    })?;
    let commits = Commits { repository: &repository, head: commit_id(&context.head)? };
    commits.need(commits.head, "the commit that is judged")?;
    let found = match asked.base {
        Some(name) => commits.named(name)?,
        None => commits.by_event(context, asked.history, newest)?,
    };
    let choice = BaseChoice { by_hand: asked.base.is_some(), ..commits.choice(found.base, &found.why) };
    let (base, head) = (sha(found.base)?, context.head.clone());
    Ok(BaseSelection { base, head, is_working_tree: false, choice, missing: found.missing })
}

/// As `gbench-ci compare` without words, or with one.
fn by_git(folder: &Path, asked: Option<&str>) -> Result<BaseSelection> {
    let sides = trees::resolve(folder, &Range::parse(asked))?;
    let (base, head) = (parsed(&sides.base.commit)?, parsed(&sides.head.commit)?);
    let repository = open_repository(folder)
        .map_err(|error| Fault::at_path(folder, error.message(), "see whether `git status` works here"))?;
    let commits = Commits { repository: &repository, head: commit_id(&head)? };
    let name = sides.base.name.as_deref().unwrap_or(&sides.base.words);
    let why = match asked {
        _ if sides.are_the_same() => {
            let relation = if sides.base.is_merge_base { "merge base with " } else { "" };
            format!("{relation}{name}, which is what is judged, so that this shows noise alone")
        }
        Some(_) => of_asked(name, !sides.base.is_merge_base),
        // The remote's branch of the same name is meant, as in a job.
        None => of_branch(name.strip_prefix("origin/").unwrap_or(name)),
    };
    let by_hand = asked.is_some();
    let choice = BaseChoice { by_hand, ..commits.choice(commit_id(&base)?, &why) };
    let missing = (sides.are_the_same() && !by_hand).then_some(NoReference::NoChange);
    Ok(BaseSelection { base, head, is_working_tree: true, choice, missing })
}

fn of_branch(name: &str) -> String {
    format!("the merge base of {name} and this branch")
}

/// `exactly`: the name's own commit is the base.
fn of_asked(name: &str, exactly: bool) -> String {
    if exactly {
        format!("{name}, as asked for by `--base`")
    } else {
        format!("the merge base of {name}, as asked for by `--base`, and this branch")
    }
}

struct Commits<'r> {
    repository: &'r Repository,
    head: Oid,
}

impl Commits<'_> {
    fn has(&self, id: Oid) -> bool {
        self.repository.find_commit(id).is_ok()
    }

    fn need(&self, id: Oid, what: &str) -> Result<()> {
        if self.has(id) { Ok(()) } else { Err(self.missing(&format!("{what} ({})", short(id)))) }
    }

    fn missing(&self, what: &str) -> Fault {
        // Everything is all branches: the history's, too.
        let (shallow, next) = if self.repository.is_shallow() {
            let next =
                "fetch more: a larger `fetch-depth` of actions/checkout, or 0, which brings every branch";
            (", which is shallow", next)
        } else {
            ("", "fetch every branch: `fetch-depth: 0` of actions/checkout")
        };
        Fault::at(what, format!("not in this clone{shallow}"), next)
    }

    fn common(&self, other: Oid, what: &str) -> Result<Oid> {
        self.repository.merge_base(other, self.head).map_err(|_| {
            let both = format!("the merge base of {what} and {}", short(self.head));
            if self.repository.is_shallow() {
                self.missing(&both)
            } else {
                Fault::at(both, "they have no history in common", "name another base with `--base`")
            }
        })
    }

    /// The commit of a name in this checkout. The remote's branch comes first: a local one of the same name may be of
    /// another day.
    fn find(&self, name: &str) -> Option<Oid> {
        let of = |reference: &str| self.repository.find_reference(reference).ok()?.peel_to_commit().ok();
        let branch = of(&format!("refs/remotes/origin/{name}")).or_else(|| of(&format!("refs/heads/{name}")));
        branch.map(|commit| commit.id())
    }

    fn named(&self, name: &str) -> Result<Found> {
        let id = self.find(name).or_else(|| {
            let object = self.repository.revparse_single(name).ok()?;
            Some(object.peel_to_commit().ok()?.id())
        });
        let Some(id) = id else {
            let fault = self.missing(&format!("`{name}`, the base of `--base`,"));
            let next = format!("name a branch, a tag or a commit that is there, or {}", fault.next);
            return Err(Fault { next, ..fault });
        };
        let base = self.common(id, name)?;
        Ok(found(base, of_asked(name, base == id)))
    }

    fn by_event(&self, context: &Context, history: Option<&str>, newest: &Ask<'_>) -> Result<Found> {
        match (&context.pull_request, &context.event) {
            (Some(pull), _) => self.of_pull_request(pull, &context.sha),
            (None, WorkflowEvent::MergeGroup) => {
                let base = context.before.as_ref().unwrap_or(&context.head);
                let base = commit_id(base)?;
                self.need(base, "the commit that the merge group was put on")?;
                Ok(found(base, "what the merge group was put on"))
            }
            (None, WorkflowEvent::Push) => self.of_push(context),
            (None, _) => self.of_schedule(context, history, newest),
        }
    }

    /// `run`: the commit of the run, which GitHub makes to test the merge.
    fn of_pull_request(&self, pull: &PullRequest, run: &Sha) -> Result<Found> {
        let name = &pull.base_branch;
        let told = pull.base.as_ref().map(commit_id).transpose()?;
        let merged = self.merged_with(commit_id(run)?);
        let tips = [self.find(name), told, merged];
        let tips: Vec<Oid> = tips.into_iter().flatten().filter(|id| self.has(*id)).collect();
        let Some(first) = tips.first() else {
            let told = told.map_or(String::new(), |told| format!(" ({})", short(told)));
            return Err(self.missing(&format!("{name}, the base of the pull request{told},")));
        };
        let mut base = self.common(*first, name)?;
        for tip in &tips[1..] {
            // The host may name an older point of the base branch than the checkout has, or a newer one: the later one is used.
            let other = self.common(*tip, name)?;
            if self.repository.graph_descendant_of(other, base).unwrap_or(false) {
                base = other;
            }
        }
        Ok(found(base, of_branch(name)))
    }

    /// The tip of the base branch that the head is merged with in a commit, if it is such a one. A checkout that brought this
    /// commit brought both sides, and needs no branch.
    fn merged_with(&self, merge: Oid) -> Option<Oid> {
        let merge = self.repository.find_commit(merge).ok()?;
        let parents: Vec<Oid> = merge.parent_ids().collect();
        match parents.as_slice() {
            [base, head] if *head == self.head => Some(*base),
            _ => None,
        }
    }

    fn of_push(&self, context: &Context) -> Result<Found> {
        let before = context.before.as_ref().map(commit_id).transpose()?;
        match before {
            Some(before) if self.has(before) => Ok(found(before, "what the branch was before this push")),
            // After a forced push nothing leads to it any more.
            Some(before) if self.repository.is_shallow() => {
                Err(self.missing(&format!("the commit before this push ({})", short(before))))
            }
            Some(_) => {
                let Found { base, why, .. } = self.beside_default(context)?;
                Ok(found(base, format!("{why}; the commit before this push is gone")))
            }
            None => self.beside_default(context),
        }
    }

    /// For what has no commit before it: where it left the default branch, else the parent.
    fn beside_default(&self, context: &Context) -> Result<Found> {
        let default = context.default_branch.as_deref().filter(|_| !context.on_default_branch());
        if let Some((name, tip)) = default.and_then(|name| Some((name, self.find(name)?))) {
            let base = self.common(tip, name)?;
            if base != self.head {
                return Ok(found(base, of_branch(name)));
            }
        }
        let parent = self.repository.find_commit(self.head).and_then(|commit| commit.parent_id(0));
        match parent {
            Ok(parent) => {
                self.need(parent, "the parent of the commit that is judged")?;
                Ok(found(parent, "the parent of this commit"))
            }
            Err(_) if self.repository.is_shallow() => {
                Err(self.missing(&format!("the parent of {}", short(self.head))))
            }
            Err(_) => Ok(self.itself(NoReference::NoParent, "it has no parent")),
        }
    }

    fn of_schedule(&self, context: &Context, history: Option<&str>, newest: &Ask<'_>) -> Result<Found> {
        let Some(address) = history else {
            let missing = NoReference::NoHistoryNamed;
            return Ok(self.itself(missing, missing.words()));
        };
        let of = context.branch.as_deref().map_or(String::new(), |branch| format!(" of {branch}"));
        let reference = newest(address)?;
        let (commit, what, mut why) = match &reference {
            HistoryBase::Green(commit) => {
                let what = "the newest green commit of the history";
                (commit, what, what.to_owned())
            }
            HistoryBase::Retained(commit) => {
                let what = "the commit that the newest run in the history was judged against";
                let why = "in the history was judged against, because that run is not green";
                (commit, what, format!("what the newest run{of} {why}"))
            }
            HistoryBase::Oldest(commit) => {
                let why =
                    format!("the commit of the oldest run in the history, because no run{of} is green yet");
                (commit, "the oldest commit of the history", why)
            }
            HistoryBase::Missing(NoReference::NoRun) => {
                let because = format!("the history has no run{of} yet, or no more");
                return Ok(self.itself(NoReference::NoRun, &because));
            }
            HistoryBase::Missing(missing) => return Ok(self.itself(*missing, missing.words())),
        };
        let base = commit_id(&parsed(commit)?)?;
        self.need(base, what)?;
        match reference {
            HistoryBase::Oldest(_) if base == self.head => {
                let because =
                    format!("no run{of} in the history is green yet, and the oldest is of this commit");
                return Ok(self.itself(NoReference::OwnCommit, &because));
            }
            HistoryBase::Green(_) if base == self.head => why += ", which is this one: already judged green",
            _ if base == self.head => why += ", which is this commit",
            _ => {}
        }
        Ok(found(base, why))
    }

    fn itself(&self, missing: NoReference, because: &str) -> Found {
        let why = format!("the commit itself, so that this shows noise alone: {because}");
        Found { missing: Some(missing), ..found(self.head, why) }
    }

    fn choice(&self, base: Oid, why: &str) -> BaseChoice {
        let seconds = self.repository.find_commit(base).ok().map(|commit| commit.time().seconds());
        let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let committed = seconds.filter(|seconds| *seconds < YEAR_10000);
        let committed = committed.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds));
        let age = committed.map_or(String::new(), |at| format!(", {}", age(at, SystemTime::now())));
        BaseChoice {
            commit: Some(base.to_string()),
            committed: committed.map(|at| humantime::format_rfc3339_seconds(at).to_string()),
            why: format!("{why}{age}"),
            by_hand: false,
        }
    }
}

/// In seconds since 1970: RFC 3339 cannot write later times, which a commit may claim.
const YEAR_10000: u64 = 253_402_300_800;

/// `3 days old`.
fn age(at: SystemTime, now: SystemTime) -> String {
    // A clock that is behind makes nothing older than new.
    let minutes = now.duration_since(at).unwrap_or_default().as_secs() / 60;
    let (age, unit) = match minutes {
        0 => return "less than a minute old".into(),
        1..60 => (minutes, "minute"),
        60..2880 => (minutes / 60, "hour"),
        _ => (minutes / 1440, "day"),
    };
    format!("{} old", count(age as usize, unit))
}

fn commit_id(sha: &Sha) -> Result<Oid> {
    Oid::from_str(sha.as_str())
        .map_err(|error| Fault::at(sha.as_str(), error.message(), "use a repository with SHA-1 commits"))
}

fn parsed(text: &str) -> Result<Sha> {
    text.parse().map_err(|what| Fault::at("a commit", what, "name a commit by all its digits"))
}

fn sha(id: Oid) -> Result<Sha> {
    parsed(&id.to_string())
}

fn short(id: Oid) -> String {
    short_commit(&id.to_string()).to_owned()
}

#[cfg(test)]
mod tests;
