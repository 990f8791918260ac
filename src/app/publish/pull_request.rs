//! A verdict on a pull request or a commit: one comment, one check for each machine.

use super::announcement::{Announcement, CheckEnd, Delivery, Note, output};
use super::decisions;
use super::facts::shown;
use super::input::{FoundInput, PublishInput};
use super::no_verdict::{self, NoVerdict};
use super::receivers;
use super::recent;
use super::recipients::{Recipients, conclude, is_overtaken, report, unnamed, where_reported};
use super::target::{PublishTarget, unpublished};
use crate::app::github::step_outputs;
use crate::app::untrusted::{Contents, read_artifact};
use crate::compare::{AppliedAcceptances, regenerate_text};
use crate::github::checks::{CheckConclusion, CheckOutput, Reported};
use crate::github::comments::{self, CommentRequest, Marker, Posted};
use crate::github::{WorkflowEvent, WorkflowRun, artifacts, pulls};
use crate::model::{Fault, Result, Untouched};
use crate::report::github::{self as render, PublishContext};

/// Bytes of all artifacts of one run, packed.
const MAX_BYTES: usize = 64 << 20;

/// Times that a verdict is given again because a user has decided about it meanwhile.
const DECISIONS_MEANWHILE: u32 = 3;

/// Artifacts of one run that are looked at: no matrix has more jobs.
const MAX_ARTIFACTS: usize = 256;

/// The check of this job, or of the run that a `workflow_run` event is about, in progress.
pub(super) fn begin(target: &PublishTarget<'_>) -> Result<()> {
    let begun = output(render::begun(&shown(target, None, false)));
    let name = target.check_name();
    let reported = report(target, &name, target.run(), None, &begun)?;
    target.log(&format!("{name}: in progress, {}", where_reported(&reported, &target.context)))
}

/// For the run that a `workflow_run` event tells of. Nothing that the run left behind is believed about what it is for:
/// that comes from the event and the API.
pub(super) fn for_run(target: &PublishTarget<'_>, run: &WorkflowRun) -> Result<()> {
    let is_fork = target.context.is_fork();
    if !matches!(run.started_by(), WorkflowEvent::PullRequest | WorkflowEvent::MergeGroup) {
        return target.log(&format!("run {} was started by {}: nothing to publish", run.id, run.event));
    }
    if target.request.start || run.action != "completed" {
        return begin(target);
    }
    if is_fork && !target.request.allow_forks {
        // The author of a fork can change the workflow file, and so write any result.
        without_verdict(target, &no_verdict::of_fork(), &Recipients::default())?;
        return target.log("a fork's result is not published: `--allow-forks` does, and calls it unverified");
    }
    let found = match run.started_by() {
        WorkflowEvent::PullRequest => {
            pulls::of_run(&target.client, run)?.map(|found| Recipients::of_run(&found))
        }
        // A merge queue has a commit to mark and no author to tell.
        _ => pulls::confirmed(&target.client, run)?.map(|()| Recipients::of_queue(&run.head_branch)),
    };
    let recipients = match found {
        Ok(recipients) => recipients,
        // The finding about the commit stays true; no pull request waits for it.
        Err(no) if no.is_over => {
            target.log(&format!("no comment: {}", no.why))?;
            Recipients::default()
        }
        Err(no) => {
            let ended =
                NoVerdict::new(CheckConclusion::Failure, format!("Nothing is published: {}.", no.why));
            without_verdict(target, &ended, &Recipients::default())?;
            return target.log(&format!("no comment: {}", no.why));
        }
    };
    // Its words may quote the artifact; the log's are escaped, the check's are ours alone.
    let refused = |text: &str, fault: Fault| {
        without_verdict(target, &NoVerdict::new(CheckConclusion::Failure, text), &recipients)?;
        Err(fault)
    };
    let found = match fetched(target, run, &target.request.artifact) {
        Ok(Some(found)) => found,
        Ok(None) => return without_verdict(target, &no_verdict::of_run(run), &recipients),
        Err(fault) => return refused("The run's artifact is refused. The log says why.", fault),
    };
    if let Err(fault) = found.is_about(&run.head) {
        return refused("The run's artifact is about another commit.", fault);
    }
    let Some(recipients) = recipients.narrowed(found.job().and_then(|job| job.pull_request)) else {
        return refused(
            "Several pull requests are of this branch, and the run's artifact does not say for which it is.",
            unnamed(&recipients),
        );
    };
    tell(target, &found, &recipients, is_fork)
}

/// The verdicts in a run's artifacts whose names begin so, as one. `None`: it left none.
pub(super) fn fetched(
    target: &PublishTarget<'_>,
    run: &WorkflowRun,
    prefix: &str,
) -> Result<Option<FoundInput>> {
    let mut ours = artifacts::list(&target.client, run.id)?;
    ours.retain(|artifact| artifact.name.starts_with(prefix) && !artifact.expired);
    if ours.len() > MAX_ARTIFACTS {
        let next = "choose a longer beginning of their names with `--artifact`";
        return Err(unpublished("artifacts", format!("the run has {}", ours.len()), next));
    }
    let mut left = MAX_BYTES;
    let mut contents = Contents::default();
    for artifact in &ours {
        let bytes = artifacts::fetch(&target.client, artifact, left)?;
        left = left.saturating_sub(bytes.len());
        contents.extend(read_artifact(&artifact.name, &bytes)?);
    }
    // The parts are merged again here, out of its parts, and held to how the run ended.
    contents.merged.clear();
    let mut found = FoundInput::new(contents, target.request.expect, run.conclusion.as_deref(), None)?;
    if let Some(FoundInput::Verdict(input)) = &mut found {
        input.merged = regenerate_text(input.merged.clone());
    }
    Ok(found)
}

/// Publishes the result: in the summary, in the outputs of the step, as checks and as comments. Accepted changes
/// are asked for first, and once more in the end: a user may have decided meanwhile.
pub(super) fn tell(
    target: &PublishTarget<'_>,
    found: &FoundInput,
    recipients: &Recipients,
    unverified: bool,
) -> Result<()> {
    match found {
        FoundInput::Verdict(input) => {
            let input = &recent::with_trends(target, input, recipients)?;
            let mut accepted = decisions::applied(target, recipients, &input.merged)?;
            summarize_verdict(target, input, unverified, &accepted)?;
            for _ in 0..DECISIONS_MEANWHILE {
                tell_verdict(target, input, recipients, unverified, &accepted)?;
                let now = decisions::applied(target, recipients, &input.merged)?;
                if now == accepted {
                    break;
                }
                accepted = now;
            }
            receivers::notify(target.request, Some(&target.context), input, &|line| target.log(line))
        }
        FoundInput::Untouched(job) => {
            job.untouched.as_ref().map_or(Ok(()), |untouched| tell_untouched(target, untouched, recipients))
        }
    }
}

fn tell_untouched(target: &PublishTarget<'_>, untouched: &Untouched, recipients: &Recipients) -> Result<()> {
    summarize(target, &render::untouched(untouched, &shown(target, None, false), ""))?;
    step_outputs::of_untouched()?;
    announcement(target, false).untouched(untouched, &Posts { target, recipients })
}

pub(super) fn without_verdict(
    target: &PublishTarget<'_>,
    ended: &NoVerdict,
    recipients: &Recipients,
) -> Result<()> {
    announcement(target, false).no_verdict(ended, &Posts { target, recipients })
}

fn announcement<'t>(target: &'t PublishTarget<'_>, unverified: bool) -> Announcement<'t> {
    Announcement { request: target.request, context: Some(&target.context), unverified }
}

fn summarize(target: &PublishTarget<'_>, page: &str) -> Result<()> {
    if target.request.summary { step_outputs::append_summary(page) } else { Ok(()) }
}

pub(super) fn summarize_verdict(
    target: &PublishTarget<'_>,
    input: &PublishInput,
    unverified: bool,
    accepted: &AppliedAcceptances,
) -> Result<()> {
    let shown = PublishContext { accepted: accepted.clone(), ..shown(target, Some(input), unverified) };
    summarize(target, &render::step_summary(&input.merged, &shown))?;
    step_outputs::answer(input.merged.conclusion.into_str(), &input.merged.counts)
}

pub(super) fn tell_verdict(
    target: &PublishTarget<'_>,
    input: &PublishInput,
    recipients: &Recipients,
    unverified: bool,
    accepted: &AppliedAcceptances,
) -> Result<()> {
    announcement(target, unverified).verdict(input, accepted, &Posts { target, recipients })
}

const OVERTAKEN: &str = "left alone: a newer commit or run speaks already";

/// A host that keeps the repository: a check or a status, and one comment for each recipient.
struct Posts<'t, 'r> {
    target: &'t PublishTarget<'r>,
    recipients: &'t Recipients,
}

impl Delivery for Posts<'_, '_> {
    fn answer(&self, name: &str, end: &CheckEnd, note: Option<&Note<'_>>) -> Result<()> {
        let nobody = Recipients::default();
        let recipients = if note.is_some() { self.recipients } else { &nobody };
        let heard = conclude(self.target, name, recipients, end)?;
        for number in recipients.unheard(&heard) {
            self.target.log(&format!("comment on #{number}: {OVERTAKEN}"))?;
        }
        let Some(note) = note else { return Ok(()) };
        heard
            .iter()
            .try_for_each(|number| comment(self.target, *number, &recipients.name_for(name, *number), note))
    }

    /// The publication of the last part ends the check, and writes over the comment.
    fn pending(&self, name: &str, output: &CheckOutput, note: Option<&Note<'_>>) -> Result<()> {
        let reported = report(self.target, name, self.target.run(), None, output)?;
        let place = where_reported(&reported, &self.target.context);
        self.target.log(&format!("{name}: in progress, {place}"))?;
        // A run that has ended its check, or a later one, has said more.
        let (Some(note), false) = (note, matches!(reported, Reported::Ended | Reported::Superseded)) else {
            return Ok(());
        };
        self.recipients.told().iter().try_for_each(|number| {
            comment(self.target, *number, &self.recipients.name_for(name, *number), note)
        })
    }
}

/// `check`: the name of the check by which it is known whether a later run has spoken.
fn comment(target: &PublishTarget<'_>, number: u64, check: &str, note: &Note<'_>) -> Result<()> {
    let (run, attempt) = target.run();
    let marker = Marker {
        gate: target.request.name.clone(),
        head: target.context.head.clone(),
        run,
        attempt,
        state: note.state.clone(),
    };
    let request = CommentRequest {
        body: &|marker: &Marker| (note.body)(&marker.comment()),
        should_comment: note.should_comment,
        is_overtaken: &|| is_overtaken(target, check),
    };
    let mode = target.request.comment;
    let what = match comments::post(&target.client, number, mode, &marker, &request, &target.me)? {
        Posted::Created(url) => format!("created {url}"),
        Posted::Updated(url) => format!("updated {url}"),
        Posted::Unchanged => "it is up to date".into(),
        Posted::Quiet => "none: nothing changed".into(),
        Posted::Stale => OVERTAKEN.into(),
        Posted::Never => "none, as asked".into(),
    };
    target.log(&format!("comment on #{number}: {what}"))
}
