//! For whom a verdict is. A check is a commit's, and one branch may be the head of several pull requests: each of them then has
//! its own check, and the one that branch protection asks for says the most severe of them all.

use super::announcement::CheckEnd;
use super::target::{PublishTarget, unpublished};
use crate::github::checks::{self, CheckConclusion, CheckOutput, CheckReport, CheckStatus, Reported};
use crate::github::pulls::{self, OpenPull};
use crate::github::{ApiResult, Context};
use crate::model::{Fault, Host, Result};

/// The pull requests that an answer is about, none for a run that no pull request started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Recipients {
    /// Those that it is an answer to.
    told: Vec<u64>,
    /// All whose head is the same commit of the same branch.
    all: Vec<u64>,
    /// The one whose turn it is in a merge queue. It is not told: the queue's commit is not its head.
    queued: Option<u64>,
}

impl Recipients {
    /// The pull requests that are commented on.
    pub(super) fn told(&self) -> &[u64] {
        &self.told
    }

    pub(super) fn of_event(target: &PublishTarget<'_>) -> Result<Self> {
        let Some(pull) = &target.context.pull_request else { return Ok(Self::default()) };
        let sharing = match &pull.head_repository {
            // Each merge request has its own pipeline, and the status is of that.
            _ if target.context.host() == Host::GitLab => Vec::new(),
            Some(from) => match pulls::sharing(&target.client, from, &pull.head_branch, &pull.head) {
                // Without the right to look, it is alone as far as anybody can say.
                Err(refused) if matches!(refused.status(), Some(403 | 404)) => Vec::new(),
                sharing => sharing?,
            },
            None => Vec::new(),
        };
        let mut all: Vec<u64> = sharing.iter().map(|pull| pull.number).collect();
        if !all.contains(&pull.number) {
            all.push(pull.number);
        }
        Ok(Self { told: vec![pull.number], all, queued: None })
    }

    /// Those that a finished run may have measured: GitHub does not say for which of several it was.
    pub(super) fn of_run(found: &[OpenPull]) -> Self {
        let all: Vec<u64> = found.iter().map(|pull| pull.number).collect();
        Self { told: all.clone(), all, queued: None }
    }

    /// The pull request of a merge queue's commit, by the branch that GitHub made for it:
    /// `gh-readonly-queue/main/pr-7-0123abcd`.
    pub(super) fn of_queue(branch: &str) -> Self {
        let last = branch.strip_prefix("gh-readonly-queue/").and_then(|rest| rest.rsplit('/').next());
        let number = last.and_then(|last| last.strip_prefix("pr-")?.split('-').next()?.parse().ok());
        Self { queued: number, ..Self::default() }
    }

    /// The one pull request of a measurement that was made of it before it was merged.
    pub(super) fn of_merged(number: u64) -> Self {
        Self { told: vec![number], all: vec![number], queued: None }
    }

    /// The pull request that it is about, where that is one.
    pub(super) fn only(&self) -> Option<u64> {
        match self.told.as_slice() {
            [only] => Some(*only),
            [] => self.queued,
            _ => None,
        }
    }

    /// The one of several that the measuring job names. All of them are the same branch and commit, so that the author of that
    /// job's file is in all of them anyway. `None`: it names none of them.
    pub(super) fn narrowed(&self, named: Option<u64>) -> Option<Self> {
        match self.all.as_slice() {
            [] | [_] => Some(self.clone()),
            all => named
                .filter(|number| all.contains(number))
                .map(|one| Self { told: vec![one], ..self.clone() }),
        }
    }

    /// Those of the told that a later run speaks for.
    pub(super) fn unheard(&self, heard: &[u64]) -> Vec<u64> {
        self.told.iter().filter(|number| !heard.contains(number)).copied().collect()
    }

    fn numbers(&self) -> Vec<String> {
        self.all.iter().map(|number| format!("#{number}")).collect()
    }

    fn is_shared(&self) -> bool {
        self.all.len() > 1
    }

    /// The name of the check by which the order of runs for this pull request is kept.
    pub(super) fn name_for(&self, name: &str, number: u64) -> String {
        if self.is_shared() { own_name(name, number) } else { name.to_owned() }
    }
}

/// No gate can be called so: a name has no `#`.
fn own_name(name: &str, number: u64) -> String {
    format!("{name} #{number}")
}

/// Ends the check of this name, and gives the pull requests that may still be commented on: a later run has taken over the
/// others.
pub(super) fn conclude(
    target: &PublishTarget<'_>,
    name: &str,
    recipients: &Recipients,
    end: &CheckEnd,
) -> Result<Vec<u64>> {
    let mine = target.run();
    if !recipients.is_shared() {
        let reported = finish(target, name, mine, end)?;
        return Ok(if reported == Reported::Superseded { Vec::new() } else { recipients.told.clone() });
    }
    let mut heard = Vec::new();
    for number in &recipients.told {
        if finish(target, &own_name(name, *number), mine, end)? != Reported::Superseded {
            heard.push(*number);
        }
    }
    if heard.is_empty() {
        return Ok(heard);
    }
    let stand = |name: &str| checks::stand(&target.client, name, target.context.reported());
    let last = match stand(name)? {
        Some(CheckStatus { run, conclusion: None }) if run > mine => {
            target.log(&format!("{name}: left in progress, run {} measures the same commit", run.0))?;
            return Ok(heard);
        }
        last => last.map_or(mine, |last| last.run.max(mine)),
    };
    let mut gravest = (end.conclusion, None);
    for number in recipients.all.iter().filter(|number| !heard.contains(number)) {
        let other = stand(&own_name(name, *number))?.and_then(|stand| stand.conclusion);
        let other = other.map(|word| word.parse().unwrap_or(CheckConclusion::Failure));
        if let Some(other) = other.filter(|other| *other > gravest.0) {
            gravest = (other, Some(*number));
        }
    }
    let output = shared(name, recipients, gravest.1, &end.output);
    finish(target, name, last, &CheckEnd { conclusion: gravest.0, output })?;
    Ok(heard)
}

/// The output of the check of all. `gravest`: of which other pull request its conclusion is.
fn shared(name: &str, recipients: &Recipients, gravest: Option<u64>, own: &CheckOutput) -> CheckOutput {
    let numbers = recipients.numbers();
    let (last, rest) =
        numbers.split_last().map_or(("", String::new()), |(last, rest)| (last, rest.join(", ")));
    let several = format!(
        "This commit is the head of {rest} and {last}. Each has its own check, and this one shows the most severe of \
         them.\n\n"
    );
    match gravest {
        None => CheckOutput { summary: several + &own.summary, ..own.clone() },
        Some(number) => CheckOutput {
            title: format!("Of #{number}: see the check {}", own_name(name, number)),
            summary: format!("{several}It is that of #{number} now.\n"),
            ..CheckOutput::default()
        },
    }
}

fn finish(target: &PublishTarget<'_>, name: &str, run: (u64, u32), end: &CheckEnd) -> Result<Reported> {
    let reported = report(target, name, run, Some(end.conclusion), &end.output)?;
    let place = where_reported(&reported, &target.context);
    target.log(&format!("{name}: {}, {place}", end.conclusion.into_str()))?;
    Ok(reported)
}

/// Writes a check of a run. `conclusion`: none while it is in progress.
pub(super) fn report(
    target: &PublishTarget<'_>,
    name: &str,
    run: (u64, u32),
    conclusion: Option<CheckConclusion>,
    output: &CheckOutput,
) -> Result<Reported> {
    let url = target.run_url();
    let report = CheckReport {
        client: &target.client,
        name,
        head: target.context.reported(),
        external: &checks::external(run.0, run.1),
        details_url: url.as_deref(),
        output,
        conclusion,
    };
    Ok(report.send()?)
}

/// Where a check was reported, for the log.
pub(super) fn where_reported(reported: &Reported, context: &Context) -> String {
    let head = context.reported();
    match reported {
        Reported::Status if context.host() != Host::GitHub => format!("a status of {}", head.short()),
        Reported::Check(_, url) if url.is_empty() => format!("a check of {}", head.short()),
        Reported::Check(_, url) => format!("a check of {}: {url}", head.short()),
        Reported::Status => format!("a status of {}: the token may write no checks", head.short()),
        Reported::Ended => format!("left alone: this run has ended the check of {}", head.short()),
        Reported::Superseded => format!("left alone: a later run has the check of {}", head.short()),
    }
}

/// True if a later run has spoken for a pull request since.
pub(super) fn is_overtaken(target: &PublishTarget<'_>, name: &str) -> ApiResult<bool> {
    let stand = checks::stand(&target.client, name, target.context.reported())?;
    Ok(stand.is_some_and(|stand| stand.run > target.run()))
}

/// The result of a run that names none of several pull requests.
pub(super) fn unnamed(recipients: &Recipients) -> Fault {
    let all = recipients.numbers().join(" and ");
    let what = format!("{all} are of one branch and commit: which is meant?");
    let next = "measure with the version of gbench-ci that publishes: its `job.json` says for which it was";
    unpublished("the run's artifact", what, next)
}
