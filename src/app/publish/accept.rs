//! `gbench-ci accept`: a command that a person wrote as a comment on a pull request.
//!
//! Only the comment's number is read from the event. Its text, its author and their rights, its pull request and the
//! measurements of its head: GitHub is asked for all of these. The rows are judged again from the artifact of the run whose
//! verdict was published, as the report does; nothing that the pull request wrote decides whether a row is accepted.

use std::time::SystemTime;

use super::command::{self, AcceptCommand, CasePattern};
use super::decisions;
use super::facts::shown;
use super::input::FoundInput;
use super::pull_request;
use super::recipients::{Recipients, report, where_reported};
use super::target::{Log, PublishRequest, PublishTarget, unpublished};
use crate::compare::{
    AcceptanceDecision, AcceptanceLedger, AcceptedFinding, AcceptedRow, DecisionKind, Group, Merged, Row,
    StandingAcceptance,
};
use crate::github::checks::{CheckConclusion, CheckOutput};
use crate::github::people::{self, WrittenComment};
use crate::github::pulls::{self, KnownPull};
use crate::github::{Context, Host, Sha, WorkflowEvent, answers, checks, comments};
use crate::model::{CaseId, Exit, Fault, Result};
use crate::report::github::{self as render, AcceptanceAnswer, AcceptanceOutcome};

/// Stands for the attempt of the run in the beginning of the artifacts' names.
pub(crate) const ATTEMPT: &str = "{attempt}";

struct Decided {
    outcome: AcceptanceOutcome,
    ledger: AcceptanceLedger,
    /// The commit with which the decisions were kept before.
    kept_at: Option<Sha>,
    /// The verdict to publish again, where the decision changes it.
    found: Option<(FoundInput, Recipients)>,
}

/// Carries out the command of an `issue_comment` event. `dry_run`: asks all the same, and only logs what would be answered.
///
/// Errors: no such event, exit code 2; what GitHub does not answer or take, exit code 6. A command that is refused is
/// answered, and no error.
pub(crate) fn accept<'a>(
    request: &'a PublishRequest,
    context: Option<Context>,
    dry_run: bool,
    log: &'a mut Log<'a>,
) -> Result<()> {
    let Some((context, id)) = context.and_then(|context| context.comment.map(|id| (context, id))) else {
        let what = "this job was not started by a comment";
        let next = "start it by `on: issue_comment`: `gbench-ci init --github` writes the workflow";
        return Err(Fault::at("the event", what, next));
    };
    if context.host() != Host::GitHub {
        let what = format!("changes are accepted on GitHub alone, and this job is one of {}", context.host());
        let next = "merge the change: the next comparison takes its commit as the base";
        return Err(Fault::at("the event", what, next));
    }
    let mut target = PublishTarget::open(request, context, log)?;
    let Some(comment) = people::comment(&target.client, id)? else {
        return target.log("the comment is gone: nothing is done");
    };
    let Some(command) = command::parse(&comment.body) else {
        return target.log("the comment is not a command: nothing is done");
    };
    let Some(pull) = pulls::known(&target.client, comment.number)? else {
        return target.log(&format!("#{} is not a pull request: nothing is done", comment.number));
    };
    // From here on this is about the pull request's head.
    target.context.event = WorkflowEvent::WorkflowRun;
    target.context.head = pull.head.clone();
    let decided = decide(&mut target, &comment, &pull, command)?;
    if dry_run {
        let text = answer(&target, &comment, &pull, &decided.outcome, &decided.ledger);
        return text.lines().try_for_each(|line| target.log(line));
    }
    carry_out(&target, &comment, &pull, &decided)
}

fn answer(
    target: &PublishTarget<'_>,
    comment: &WrittenComment,
    pull: &KnownPull,
    outcome: &AcceptanceOutcome,
    ledger: &AcceptanceLedger,
) -> String {
    let answer = AcceptanceAnswer {
        pull: pull.number,
        comment: comment.id,
        by: comment.author.clone(),
        outcome: outcome.clone(),
        standing: ledger.standing(),
    };
    render::acceptance_answer(&answer, &shown(target, None, false))
}

fn decide(
    target: &mut PublishTarget<'_>,
    comment: &WrittenComment,
    pull: &KnownPull,
    command: std::result::Result<AcceptCommand, String>,
) -> Result<Decided> {
    let (mut ledger, kept_at) = decisions::ledger(target, pull.number)?;
    let place = kept_at.clone();
    let refused = |why: String, names: Vec<String>, ledger: AcceptanceLedger| {
        Ok(Decided { outcome: AcceptanceOutcome::Refused(why, names), ledger, kept_at: place, found: None })
    };
    if let Some(why) = who_may_not(target, comment, pull)? {
        return refused(why, Vec::new(), ledger);
    }
    let command = match command {
        Ok(command) => command,
        Err(why) => return refused(why, Vec::new(), ledger),
    };
    let measured = measured(target, comment, pull)?;
    let (rows, found) = match (command.kind, measured) {
        (DecisionKind::Accept, Err(why)) => return refused(why, Vec::new(), ledger),
        (DecisionKind::Accept, Ok(measured)) => match meant(&measured.merged, &command.cases) {
            Ok(rows) => (rows, Some(measured)),
            Err(why) => return refused(why, render::acceptable(&measured.merged), ledger),
        },
        (DecisionKind::Revoke, measured) => match revoked(&ledger, &command.cases) {
            Ok(rows) => (rows, measured.ok()),
            Err(why) => return refused(why, Vec::new(), ledger),
        },
    };
    let decision = AcceptanceDecision {
        kind: command.kind,
        comment: comment.id,
        by: comment.author.clone(),
        at: comment.at.clone(),
        head: pull.head.to_string(),
        reason: command.reason,
        rows: rows.clone(),
    };
    // The job may run again.
    if !ledger.decisions.iter().any(|earlier| earlier.comment == comment.id) {
        ledger.decisions.push(decision);
    }
    let found = found.map(|measured| (measured.found, measured.recipients));
    Ok(Decided { outcome: AcceptanceOutcome::Done(command.kind, rows), ledger, kept_at, found })
}

/// The reason that the comment counts for nothing, as part of a sentence; `None` where its author may decide.
fn who_may_not(
    target: &PublishTarget<'_>,
    comment: &WrittenComment,
    pull: &KnownPull,
) -> Result<Option<String>> {
    if !comment.by_a_person {
        return Ok(Some("only a person can accept, and no app".into()));
    }
    if comment.is_edited {
        return Ok(Some("the comment was edited: write a new one".into()));
    }
    if !people::may_write(&target.client, &comment.author)? {
        return Ok(Some("its author may not write to this repository".into()));
    }
    let is_over = !pull.is_open && !pull.is_merged;
    Ok(is_over.then(|| "the pull request is closed and was not merged".into()))
}

/// The verdict that was published for the head, judged again.
struct Measured {
    found: FoundInput,
    merged: Merged,
    recipients: Recipients,
}

/// Reads the result that the check of the pull request's head is about. Inner error: why there is none, as part of a sentence.
fn measured(
    target: &mut PublishTarget<'_>,
    comment: &WrittenComment,
    pull: &KnownPull,
) -> Result<std::result::Result<Measured, String>> {
    let head = pull.head.short();
    let no = |why: String| Ok(Err(why));
    let name = target.check_name();
    let Some(status) = checks::stand(&target.client, &name, &pull.head)? else {
        return no(format!("no verdict was published for its head, {head}"));
    };
    if status.conclusion.is_none() {
        return no(format!("its head, {head}, is being measured: wait for the verdict"));
    }
    let (run, attempt) = status.run;
    let Some(finished) = pulls::finished_run(&target.client, run)? else {
        return no(format!("run {run} that measured its head is not finished, or gone"));
    };
    let is_of_it = finished.run.head == pull.head
        && finished.run.head_branch == pull.head_branch
        && finished.run.head_repository == pull.head_repository
        && finished.run.started_by() == WorkflowEvent::PullRequest;
    if !is_of_it {
        return no(format!("run {run} that measured {head} is not one of this pull request"));
    }
    if seconds(comment.written) < seconds(finished.created) {
        return no(format!("{head} was pushed after it was written: look at the new verdict first"));
    }
    let said = comments::find(&target.client, pull.number, &target.request.name, &target.me)?;
    if said.is_some_and(|(_, marker)| marker.head != pull.head) {
        return no(format!("the verdict in the comment is not about its head, {head}, yet"));
    }
    let mut run = finished.run;
    run.attempt = attempt;
    target.context.workflow_run = Some(run.clone());
    let is_fork = target.context.is_fork();
    if is_fork && !target.request.allow_forks {
        return no("the pull request comes from a fork, whose results are not trusted here".into());
    }
    let artifact = target.request.artifact.replace(ATTEMPT, &attempt.to_string());
    let found = match pull_request::fetched(target, &run, &artifact) {
        Ok(found) => found,
        Err(fault) if fault.exit == Exit::Unpublished => return Err(fault),
        Err(_) => return no(format!("the result of run {run} cannot be read", run = run.id)),
    };
    let Some(FoundInput::Verdict(input)) = found else {
        return no(format!("run {} has left no verdict that is still kept", run.id));
    };
    let merged = input.merged.clone();
    let found = FoundInput::Verdict(input);
    if found.is_about(&pull.head).is_err() {
        return no(format!("the result of run {} is about another commit", run.id));
    }
    let recipients = match (&pull.head_repository, pull.is_open) {
        (Some(from), true) => {
            let sharing = pulls::sharing(&target.client, from, &pull.head_branch, &pull.head)?;
            Recipients::of_run(&sharing).narrowed(found.job().and_then(|job| job.pull_request))
        }
        _ => Some(Recipients::of_merged(pull.number)),
    };
    match recipients.filter(|recipients| recipients.only() == Some(pull.number)) {
        Some(recipients) => Ok(Ok(Measured { found, merged, recipients })),
        None => no(format!("run {} measured {head} for another pull request of the same branch", run.id)),
    }
}

/// GitHub's times are of whole seconds.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The names by which a command may mean a row: its case with or without the notes behind it, its benchmark, and any of
/// them with the metric.
fn names_of(case: &CaseId, metric: &str) -> Vec<String> {
    let whole = case.to_string();
    let without_notes = whole.rsplit_once(" (").map(|(name, _)| name.to_owned());
    let mut names: Vec<String> =
        [Some(whole), without_notes, Some(case.benchmark.to_string())].into_iter().flatten().collect();
    if !metric.is_empty() {
        names.extend(names.clone().iter().map(|name| format!("{name}::{metric}")));
    }
    names
}

fn is_meant(pattern: &CasePattern, case: &CaseId, metric: &str) -> bool {
    names_of(case, metric).iter().any(|name| pattern.fits(name))
}

/// The rows that a command accepts. Errors: a name that means none that can be accepted, part of a sentence.
fn meant(merged: &Merged, patterns: &[CasePattern]) -> std::result::Result<Vec<AcceptedRow>, String> {
    let all = || {
        let of = |group: &'_ Group| -> Vec<(String, Row)> {
            group.verdict.rows.iter().map(|row| (group.label.clone(), row.clone())).collect()
        };
        merged.groups.iter().flat_map(of)
    };
    let can = |(label, row): (String, Row)| {
        let finding = AcceptedFinding::of(&row)?;
        Some(AcceptedRow { label, case: row.case, metric: row.metric, finding })
    };
    let accepted: Vec<AcceptedRow> = all().filter_map(can).collect();
    for pattern in patterns {
        if accepted.iter().any(|row| is_meant(pattern, &row.case, &row.metric)) {
            continue;
        }
        let is_there = all().any(|(_, row)| is_meant(pattern, &row.case, &row.metric));
        return Err(if is_there {
            format!("`{}` is neither slower nor missing: only that can be accepted", pattern.0)
        } else {
            format!("no row of the verdict is called `{}`", pattern.0)
        });
    }
    let is_asked = |row: &AcceptedRow| patterns.iter().any(|it| is_meant(it, &row.case, &row.metric));
    Ok(accepted.into_iter().filter(is_asked).collect())
}

/// The rows that a command takes back; without a name, all. Errors likewise.
fn revoked(
    ledger: &AcceptanceLedger,
    patterns: &[CasePattern],
) -> std::result::Result<Vec<AcceptedRow>, String> {
    let standing = ledger.standing();
    let is_of =
        |pattern: &CasePattern, it: &StandingAcceptance| is_meant(pattern, &it.row.case, &it.row.metric);
    if let Some(unknown) = patterns.iter().find(|pattern| !standing.iter().any(|it| is_of(pattern, it))) {
        return Err(format!("no accepted change is called `{}`", unknown.0));
    }
    let asked =
        |it: &StandingAcceptance| patterns.is_empty() || patterns.iter().any(|pattern| is_of(pattern, it));
    let rows: Vec<AcceptedRow> = standing.iter().filter(|it| asked(it)).map(|it| it.row.clone()).collect();
    if rows.is_empty() { Err("nothing stands accepted".into()) } else { Ok(rows) }
}

/// How often a job tells everything again because other jobs have decided something meanwhile.
const MOST_TELLINGS: usize = 4;

/// Keeps what was decided, answers, and publishes the verdict again; once more if another job has decided something
/// meanwhile, which published its own before it could know of this one.
fn carry_out(
    target: &PublishTarget<'_>,
    comment: &WrittenComment,
    pull: &KnownPull,
    decided: &Decided,
) -> Result<()> {
    let gate = &target.request.name;
    let is_done = matches!(decided.outcome, AcceptanceOutcome::Done(..));
    let kept_at: Option<Sha> = if is_done {
        // The head may have moved since it was asked for; a decision is about the one that was measured.
        if pulls::head_of(&target.client, pull.number)? != pull.head {
            let next = "look at the verdict of the new head, and write the command again";
            return Err(unpublished("the command", "the pull request was pushed to meanwhile", next));
        }
        decisions::keep(target, &decided.ledger, &pull.head, comment.id)?;
        Some(pull.head.clone())
    } else {
        decided.kept_at.clone()
    };
    let mut ledger = decided.ledger.clone();
    for _ in 0..MOST_TELLINGS {
        let text = answer(target, comment, pull, &decided.outcome, &ledger);
        let page = answers::post(&target.client, pull.number, gate, kept_at.as_ref(), &text, &target.me)?;
        target.log(&format!("answer on #{}: {page}", pull.number))?;
        match &decided.found {
            Some((found, recipients)) => {
                let is_fork = target.context.is_fork();
                pull_request::tell(target, found, recipients, is_fork)?;
            }
            None if is_done => unread(target, pull)?,
            None => {}
        }
        let (now, _) = decisions::ledger(target, pull.number)?;
        if now.decisions.len() <= ledger.decisions.len() {
            break;
        }
        ledger = now;
    }
    Ok(())
}

/// Something was taken back, and the verdict that it was accepted in cannot be read any more: it must not stay green.
fn unread(target: &PublishTarget<'_>, pull: &KnownPull) -> Result<()> {
    let name = target.check_name();
    let ended = checks::stand(&target.client, &name, &pull.head)?.filter(|stand| stand.conclusion.is_some());
    let Some(stand) = ended else { return Ok(()) };
    let summary =
        "An acceptance was revoked, and the result that it was about is not kept any more. Measure again.";
    let output =
        CheckOutput { title: "No verdict".into(), summary: summary.into(), ..CheckOutput::default() };
    let reported = report(target, &name, stand.run, Some(CheckConclusion::Failure), &output)?;
    target.log(&format!("{name}: failure, {}", where_reported(&reported, &target.context)))
}
