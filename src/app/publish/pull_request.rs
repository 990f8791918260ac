//! A verdict on a pull request or a commit: one comment, one check for each machine.

use super::decisions;
use super::facts::shown;
use super::input::{FoundInput, PublishInput};
use super::no_verdict::{self, NoVerdict};
use super::recent;
use super::recipients::{CheckEnd, Recipients, conclude, is_overtaken, report, unnamed, where_reported};
use super::target::{PublishRequest, PublishTarget, check_name, unpublished};
use crate::app::github::step_outputs;
use crate::app::untrusted::{Contents, read_artifact};
use crate::compare::{AppliedAcceptances, Conclusion, Merged, Verdict, Warning, regenerate_text};
use crate::github::checks::{Annotation, AnnotationLevel, CheckConclusion, CheckOutput, Reported};
use crate::github::comments::{self, CommentRequest, Marker, Posted};
use crate::github::{Context, WorkflowEvent, WorkflowRun, artifacts, pulls};
use crate::model::{Fault, Result, Untouched};
use crate::report::github::{self as render, CheckPage, CheckState, PublishContext};

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
    target.log(&format!("{name}: in progress, {}", where_reported(&reported, &target.context.head)))
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
            Ok(())
        }
        FoundInput::Untouched(job) => {
            job.untouched.as_ref().map_or(Ok(()), |untouched| tell_untouched(target, untouched, recipients))
        }
    }
}

/// That nothing was measured: the check records that, and a comment that is there, which would else speak of another commit.
fn tell_untouched(target: &PublishTarget<'_>, untouched: &Untouched, recipients: &Recipients) -> Result<()> {
    let shown = shown(target, None, false);
    summarize(target, &render::untouched(untouched, &shown, ""))?;
    step_outputs::of_untouched()?;
    let content = CommentContent {
        state: render::untouched_fingerprint(),
        should_comment: false,
        body: &|marker| render::untouched(untouched, &shown, &marker.comment()),
    };
    let end = end_of(render::check_untouched(untouched, &shown), false);
    answer(target, &target.check_name(), recipients, &end, &content)
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

/// Checks first: the comment is the louder of the two, and what it links to should be there.
pub(super) fn tell_verdict(
    target: &PublishTarget<'_>,
    input: &PublishInput,
    recipients: &Recipients,
    unverified: bool,
    accepted: &AppliedAcceptances,
) -> Result<()> {
    let merged = &input.merged;
    let shown = PublishContext { accepted: accepted.clone(), ..shown(target, Some(input), unverified) };
    let content = CommentContent {
        state: render::fingerprint(merged, accepted),
        should_comment: should_comment(merged),
        body: &|marker| render::comment(merged, &shown, &marker.comment()),
    };
    let all = checks(target.request, Some(&target.context), merged, &shown);
    let last = all.len().saturating_sub(1);
    for (index, (name, check)) in all.into_iter().enumerate() {
        // The last one stands for all.
        let nobody = Recipients::default();
        let recipients = if index == last { recipients } else { &nobody };
        if check.state == CheckState::InProgress {
            pending(target, &name, recipients, check, &content)?;
            continue;
        }
        answer(target, &name, recipients, &end_of(check, unverified), &content)?;
    }
    Ok(())
}

/// The checks of a verdict, with their names: one for each machine that has a label, and one for all, the name that branch
/// protection can ask for. A machine's own job has only its own.
pub(super) fn checks(
    request: &PublishRequest,
    context: Option<&Context>,
    merged: &Merged,
    shown: &PublishContext,
) -> Vec<(String, CheckPage)> {
    let name = |label: &str| check_name(context, &request.name, label);
    let labelled = merged.groups.iter().filter(|group| !group.label.is_empty());
    let mut checks: Vec<(String, CheckPage)> = labelled
        .map(|group| {
            let alone = Merged::single(&group.label, group.verdict.clone());
            (name(&group.label), render::check(&alone, shown))
        })
        .collect();
    let is_own =
        !request.label.is_empty() && merged.groups.len() == 1 && merged.groups[0].label == request.label;
    if !is_own {
        checks.push((name(&request.label), render::check(merged, shown)));
    }
    checks
}

const OVERTAKEN: &str = "left alone: a newer commit or run speaks already";

struct CommentContent<'a> {
    /// Digest of what is said.
    state: String,
    should_comment: bool,
    body: &'a dyn Fn(&Marker) -> String,
}

fn answer(
    target: &PublishTarget<'_>,
    name: &str,
    recipients: &Recipients,
    end: &CheckEnd,
    content: &CommentContent<'_>,
) -> Result<()> {
    let heard = conclude(target, name, recipients, end)?;
    for number in recipients.unheard(&heard) {
        target.log(&format!("comment on #{number}: {OVERTAKEN}"))?;
    }
    heard.iter().try_for_each(|number| comment(target, *number, &recipients.name_for(name, *number), content))
}

/// The check stays in progress, and the comment says what is pending: the publication of the last part ends the check, and
/// writes over the comment.
fn pending(
    target: &PublishTarget<'_>,
    name: &str,
    recipients: &Recipients,
    check: CheckPage,
    content: &CommentContent<'_>,
) -> Result<()> {
    let reported = report(target, name, target.run(), None, &output(check))?;
    target.log(&format!("{name}: in progress, {}", where_reported(&reported, &target.context.head)))?;
    // A run that has ended its check, or a later one, has said more.
    if matches!(reported, Reported::Ended | Reported::Superseded) {
        return Ok(());
    }
    recipients.told().iter().try_for_each(|number| comment(target, *number, name, content))
}

/// `check`: the name of the check by which it is known whether a later run has spoken.
fn comment(target: &PublishTarget<'_>, number: u64, check: &str, content: &CommentContent<'_>) -> Result<()> {
    let (run, attempt) = target.run();
    let marker = Marker {
        gate: target.request.name.clone(),
        head: target.context.head.clone(),
        run,
        attempt,
        state: content.state.clone(),
    };
    let request = CommentRequest {
        body: content.body,
        should_comment: content.should_comment,
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

/// True if it deserves a comment: all but plain green of benchmarks that both sides define alike.
pub(super) fn should_comment(merged: &Merged) -> bool {
    let is_better = |verdict| merged.counts.get(verdict).is_some_and(|count| *count > 0);
    let better = [Verdict::Improved, Verdict::Mended].iter().any(is_better);
    let mut warnings = merged.groups.iter().flat_map(|group| &group.verdict.warning_codes);
    merged.conclusion != Conclusion::Pass || better || warnings.any(Warning::is_of_definitions)
}

/// A check that ends without a verdict. An earlier comment is about another run, and must not remain as the
/// answer to this one; where there is no comment, the check records enough.
pub(super) fn without_verdict(
    target: &PublishTarget<'_>,
    ended: &NoVerdict,
    recipients: &Recipients,
) -> Result<()> {
    let output =
        CheckOutput { title: "No verdict".into(), summary: ended.text.clone(), ..CheckOutput::default() };
    let end = CheckEnd { conclusion: ended.conclusion, output };
    let shown = shown(target, None, false);
    let content = CommentContent {
        state: render::no_verdict_fingerprint(&ended.text),
        should_comment: false,
        body: &|marker| render::no_verdict(&ended.text, &shown, &marker.comment()),
    };
    answer(target, &target.check_name(), recipients, &end, &content)
}

fn output(check: CheckPage) -> CheckOutput {
    let annotation = |it: render::BenchmarkAnnotation| {
        let (path, line) = it.place?;
        let level = if it.failure { AnnotationLevel::Failure } else { AnnotationLevel::Warning };
        Some(Annotation { path, line, level, title: it.title, message: it.message })
    };
    CheckOutput {
        title: check.title,
        summary: check.summary,
        text: check.text,
        annotations: check.annotations.into_iter().filter_map(annotation).collect(),
    }
}

/// A finished check that is still in progress would be a lie: it counts as failed. Green that is not verified here is not
/// green.
fn end_of(check: CheckPage, unverified: bool) -> CheckEnd {
    let conclusion = match check.state {
        CheckState::Success if unverified => CheckConclusion::Neutral,
        CheckState::Success => CheckConclusion::Success,
        CheckState::Failure | CheckState::InProgress => CheckConclusion::Failure,
        CheckState::Neutral => CheckConclusion::Neutral,
        CheckState::ActionRequired => CheckConclusion::ActionRequired,
    };
    CheckEnd { conclusion, output: output(check) }
}
