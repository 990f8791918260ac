//! Publishing of the default branch alone: one open issue while it is not green, and a history that grows by a file a run.

use std::path::{Path, PathBuf};

use super::facts::shown;
use super::input::PublishInput;
use super::landing::Landed;
use super::local_branch;
use super::no_verdict::NoVerdict;
use super::target::{Log, PublishRequest, PublishTarget, unpublished};
use super::trends;
use crate::app::github::client::client_for;
use crate::app::paths::current_folder;
use crate::app::store::stores::history_of;
use crate::app::untrusted;
use crate::compare::{Conclusion, DecisionKind, Group, LandedDecision, Merged, VerdictDocument};
use crate::github::Context;
use crate::github::checks::CheckConclusion;
use crate::github::issues::{self, IssueSubject, IssueTopic};
use crate::history::{Address, BesideFile, HistoryBranch, HistoryEntry, accepted_path};
use crate::model::{Exit, Fault, Job, NoReference, Probe, Result, Side};
use crate::report::github::{self as render, PublishContext};
use crate::store::{ComparisonFolder, read_record};

/// The issue and the history, where they are asked for.
pub(super) fn carry_out(target: &PublishTarget<'_>, input: &PublishInput, landed: &Landed) -> Result<()> {
    let request = target.request;
    if !request.issue && request.history.is_none() {
        return Ok(());
    }
    only_default_branch(&target.context)?;
    // The issue first: it is waited for, and a record that cannot be stored is not a reason to be silent.
    let told = if request.issue {
        issue(target, input, landed).and_then(|()| trends::issue(target, input))
    } else {
        Ok(())
    };
    let appended = append(request, Some(&target.context), input, landed, &mut |line| target.log(line));
    told.and(appended)
}

/// A night without any verdict is red, too.
pub(super) fn without_verdict(target: &PublishTarget<'_>, ended: &NoVerdict) -> Result<()> {
    let name = &target.request.name;
    let is_due = target.request.issue && target.context.on_default_branch();
    if !is_due || ended.conclusion != CheckConclusion::Failure {
        return Ok(());
    }
    let title = format!("{name}: no verdict");
    let run = target.run_url().map_or(String::new(), |url| format!("\n\nSee the [run]({url})."));
    let body = |marker: &str| format!("{}{run}\n\n{marker}", ended.text);
    let done = issues::report(&target.client, subject(name), true, &title, &body, "", &target.me)?;
    target.log(&format!("issue: {done}"))
}

/// A run of anything but the default branch is refused: a pull request must not write the past.
pub(super) fn only_default_branch(context: &Context) -> Result<()> {
    if context.on_default_branch() {
        return Ok(());
    }
    if context.default_branch.is_none() {
        let what = "the event file does not say which branch is the default one: `repository.default_branch` is not in it";
        let next = "start it by schedule, or from a server that sends the field";
        return Err(unpublished("issue and history", what, next));
    }
    let what = format!("a run by {} on this branch must not write it", context.event.as_ref());
    let next = "keep `--issue` and `--history` to push, schedule and workflow_dispatch on the default branch";
    Err(unpublished("issue and history", what, next))
}

/// True if an issue is to be open. `Err`: why it is left as it is, since nothing new is known of what it is about.
pub(super) fn is_open(input: &PublishInput, landed: &Landed) -> std::result::Result<bool, &'static str> {
    let merged = &landed.applied.settled(&input.merged);
    // A commit against itself is how a maintainer accepts it; green against another chosen one says little.
    let accepts = merged.groups.iter().all(|group| group.verdict.base.commit == group.verdict.head.commit);
    match merged.conclusion {
        Conclusion::Inconclusive => Err("the verdict is inconclusive"),
        _ if input.job.as_ref().is_some_and(|job| job.base.by_hand) && !accepts => {
            Err("the base was chosen by hand")
        }
        conclusion => Ok(conclusion != Conclusion::Pass),
    }
}

fn issue(target: &PublishTarget<'_>, input: &PublishInput, landed: &Landed) -> Result<()> {
    let merged = &input.merged;
    let open = match is_open(input, landed) {
        Ok(false) => unproven(target, input)?.map_or(Ok(false), Err),
        open => open,
    };
    let open = match open {
        Ok(open) => open,
        Err(why) => return target.log(&format!("issue: left as it is, {why}")),
    };
    let shown = PublishContext { accepted: landed.applied.clone(), ..shown(target, Some(input), false) };
    let url = compare_url(target, merged.groups.first().map(|group| &group.verdict));
    let (title, text) = render::issue(merged, &shown, url.as_deref());
    let note = render::closing_note(merged, &shown);
    let body = |marker: &str| format!("{}\n\n{marker}", text.trim_end());
    let name = &target.request.name;
    let done = issues::report(&target.client, subject(name), open, &title, &body, &note, &target.me)?;
    target.log(&format!("issue: {done}"))
}

/// Why a green night does not close the open issue: the history begins after the issue was opened, so that it was lost, or
/// begun again, in between. The base of this night may be as slow as the commit that the issue is about. Only a maintainer who
/// accepts the commit can say that it is not.
fn unproven(target: &PublishTarget<'_>, input: &PublishInput) -> Result<Option<&'static str>> {
    let accepts = input.job.as_ref().is_some_and(|job| job.base.by_hand);
    let address = target.request.history.as_deref().filter(|_| !accepts);
    let Some(address) = address.map(history_of).transpose()? else { return Ok(None) };
    let opened = issues::opened(&target.client, subject(&target.request.name), &target.me)?;
    let Some(opened) = opened else { return Ok(None) };
    let client = client_for(&address)?;
    let began = HistoryBranch::open(&address, &current_folder()?, client.as_ref())?.began()?;
    Ok(began.is_none_or(|began| began >= opened).then_some(
        "the history begins after it was opened, and so does not show what was green before: restore the branch, or \
         accept this commit by hand",
    ))
}

fn subject(gate: &str) -> IssueSubject<'_> {
    IssueSubject { gate, topic: IssueTopic::Verdict }
}

fn compare_url(target: &PublishTarget<'_>, verdict: Option<&VerdictDocument>) -> Option<String> {
    let verdict = verdict?;
    let (base, head) = (verdict.base.commit.as_deref()?, verdict.head.commit.as_deref()?);
    let context = &target.context;
    Some(format!("{}/{}/compare/{base}...{head}", context.endpoint.server, context.slug))
}

/// A run that `--history` is about, and why it is not appended where it is not.
pub(super) struct HistoryCandidate {
    pub entry: HistoryEntry,
    pub refused: Option<&'static str>,
}

/// The runs that `--history` would append: the head's run of every comparison in the input.
pub(super) fn candidates(
    input: &PublishInput,
    context: Option<&Context>,
    landed: &Landed,
) -> Result<Vec<HistoryCandidate>> {
    let folders = input.folder.as_deref().map(comparisons).unwrap_or_default();
    if folders.is_empty() {
        let next = "name the comparison's folder with its records, or the folder of the parts";
        return Err(unpublished("the history", "a verdict alone has no record to append", next));
    }
    let candidate = |folder: &PathBuf| {
        let job = job(folder)?;
        let entry = entry(folder, job.as_ref(), context, landed)?;
        // Who compares a commit with itself accepts it as it is; any other base may be one that hides what got slower.
        let by_hand = job.is_some_and(|job| job.base.by_hand) && entry.base.as_ref() != Some(&entry.commit);
        Ok(HistoryCandidate { entry, refused: by_hand.then_some("a run against a base chosen by hand") })
    };
    folders.iter().map(candidate).collect()
}

/// Appends them. `context`: none outside of GitHub Actions.
pub(super) fn append(
    request: &PublishRequest,
    context: Option<&Context>,
    input: &PublishInput,
    landed: &Landed,
    log: &mut Log<'_>,
) -> Result<()> {
    let Some(address) = request.history.as_deref().map(history_of).transpose()? else { return Ok(()) };
    if input.merged.is_pending() {
        return log(&format!(
            "history {address}: parts are pending, and nothing is kept before all have come"
        ));
    }
    let candidates = candidates(input, context, landed)?;
    let client = client_for(&address)?;
    let history = HistoryBranch::open(&address, &current_folder()?, client.as_ref())?;
    let has_missed = |group: &Group| group.verdict.method.no_reference == Some(NoReference::NoBranch);
    if input.merged.groups.iter().any(has_missed) && history.is_there()? {
        let (there, next) = match address {
            Address::Bucket(_) => ("it", "it has to name the same address"),
            _ => ("the branch", "its checkout has to fetch the branch: `fetch-depth: 0`"),
        };
        log(&format!(
            "history {address}: {there} is there, and the job that measured did not see it; {next}"
        ))?;
    }
    let beside = beside(&history, landed)?;
    for decision in &beside {
        log(&format!("history {address}: {} comes with the next run", decision.path))?;
    }
    for HistoryCandidate { entry, refused } in &candidates {
        if let Some(why) = refused {
            log(&format!("history {address}: {} not kept: {why}", entry.run_id))?;
            continue;
        }
        let appended = match history.append_with(entry, &beside) {
            // A run that measured nothing is not a past; the others of the night are.
            Err(fault) if fault.exit == Exit::Failed => {
                log(&format!("history {address}: {} is not kept: {}", entry.run_id, fault.what))?;
                continue;
            }
            appended => appended?,
        };
        let already = if appended.already { " was there already:" } else { ":" };
        log(&format!("history {address}{already} {} in {}", appended.path, appended.version))?;
    }
    Ok(())
}

fn beside(history: &HistoryBranch<'_>, landed: &Landed) -> Result<Vec<BesideFile>> {
    let is_revoked = |decision: &LandedDecision| decision.decision.kind == DecisionKind::Revoke;
    let there = if landed.decisions.iter().any(is_revoked) { history.accepted()? } else { Vec::new() };
    let is_known = |decision: &LandedDecision| {
        let of_pull = accepted_path(decision.pull, decision.decision.comment);
        let folder = of_pull.rsplit_once('-').map(|(folder, _)| format!("{folder}-"));
        folder.is_some_and(|folder| there.iter().any(|file| file.path.starts_with(&folder)))
    };
    let mut files = Vec::new();
    for decision in landed.decisions.iter().filter(|it| !is_revoked(it) || is_known(it)) {
        let path = accepted_path(decision.pull, decision.decision.comment);
        let mut bytes = serde_json::to_vec_pretty(decision).map_err(|error| Fault::defect(&path, error))?;
        bytes.push(b'\n');
        files.push(BesideFile { path, bytes });
    }
    Ok(files)
}

/// The comparisons in a folder: itself, or those of the parts that it holds, `parts/ARTIFACT/COMPARISON`.
fn comparisons(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut level = vec![folder.to_owned()];
    for _ in 0..4 {
        let (here, deeper): (Vec<_>, Vec<_>) =
            level.into_iter().partition(|folder| ComparisonFolder::open(folder).is_ok());
        found.extend(here);
        let inside = |folder: &PathBuf| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path())
        };
        level = deeper.iter().flat_map(inside).collect();
    }
    found.sort();
    found
}

fn job(folder: &Path) -> Result<Option<Job>> {
    let text = std::fs::read_to_string(folder.join("job.json")).ok();
    text.map(|text| untrusted::job(&folder.display().to_string(), &text)).transpose()
}

fn entry(
    folder: &Path,
    job: Option<&Job>,
    context: Option<&Context>,
    landed: &Landed,
) -> Result<HistoryEntry> {
    let record = read_record(&ComparisonFolder::open(folder)?.side(Side::Head))?;
    let shown = folder.display().to_string();
    let verdict = std::fs::read_to_string(folder.join("reports/verdict.json")).ok();
    let verdict = verdict.map(|text| untrusted::verdict(&shown, &text)).transpose()?;
    let (commit, branch) = match &record.manifest.git {
        Probe::Known(git) => (git.commit.clone(), git.branch.clone()),
        _ => (None, None),
    };
    let nowhere = |what: &str, next: &str| unpublished(&shown, what, next);
    let commit = context.map(|context| context.head.to_string()).or(commit);
    let commit = commit.ok_or_else(|| nowhere("it is of no commit", "compare commits, not records"))?;
    // A comparison measures a detached work tree; outside of a job its own checkout has the branch.
    let here = local_branch::repository();
    let branch = context.and_then(|context| context.branch.clone()).or(branch);
    let branch = branch.or_else(|| here.as_ref().and_then(local_branch::checked_out));
    let branch =
        branch.ok_or_else(|| nowhere("it is of no branch", "check a branch out, and append again"))?;
    if context.is_none() {
        let here =
            here.ok_or_else(|| nowhere("no repository is here", "publish from within the repository"))?;
        if matches!(&record.manifest.git, Probe::Known(git) if git.dirty.any()) {
            let next = "commit the changes, or put them aside with `git stash --include-untracked`, and measure again";
            return Err(nowhere("it measured changes that are in no commit", next));
        }
        local_branch::refuse_other(&here, &branch, &commit)?;
    }
    let label = job.map_or_else(String::new, |job| job.label.clone());
    let base = verdict.as_ref().and_then(|verdict| verdict.base.commit.clone());
    let merged = verdict.map(|verdict| Merged::single(&label, verdict));
    let settled = merged.as_ref().map(|merged| landed.applied.settled(merged));
    let rows = merged.iter().flat_map(|merged| &merged.groups).flat_map(|group| &group.verdict.rows);
    let accepted = landed.applied.accepted_in(&label, rows);
    let event = context.map_or("none", |context| context.event.as_ref());
    Ok(HistoryEntry {
        label,
        shard: job.and_then(|job| job.shard),
        cut: job.and_then(|job| job.cut.clone()),
        conclusion: settled.as_ref().map(|settled| settled.conclusion.into_str().to_owned()),
        exit_code: settled.as_ref().map(|settled| settled.exit_code),
        base,
        accepted: accepted.into_iter().map(|(pull, comment)| accepted_path(pull, comment)).collect(),
        ..HistoryEntry::of_record(record, &branch, commit, event)
    })
}
