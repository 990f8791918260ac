//! A verdict on a pull request or a commit: one comment, one check for each machine.

use super::input::{FoundInput, PublishInput};
use super::no_verdict::{self, NoVerdict};
use super::recipients::{CheckEnd, Recipients, conclude, is_overtaken, unnamed, where_reported};
use super::request::{Log, PublishRequest};
use super::target::{PublishTarget, check_name, run_url, unpublished};
use crate::app::job_flags::shell_job_flags;
use crate::app::step_outputs;
use crate::app::untrusted::{Contents, read_artifact};
use crate::compare::{Conclusion, Merged, Verdict, regenerate_text};
use crate::github::checks::{Annotation, AnnotationLevel, CheckConclusion, CheckOutput, CheckReport};
use crate::github::comments::{self, CommentRequest, Marker, Posted};
use crate::github::{Context, Sha, WorkflowEvent, WorkflowRun, artifacts, commands, pulls};
use crate::model::{BaseChoice, Fault, Job, Result};
use crate::report::github::{self as render, CheckPage, CheckState, PublishContext};

/// Bytes of all artifacts of one run, packed.
const MOST_BYTES: usize = 64 << 20;

/// Artifacts of one run that are looked at: no matrix has more jobs.
const MOST_ARTIFACTS: usize = 256;

/// The check of this job, or of the run that a `workflow_run` event is about, in progress.
pub(super) fn begin(request: &PublishRequest, target: &PublishTarget, log: &mut Log<'_>) -> Result<()> {
    let begun = render::begun(&publish_context(request, Some(&target.context), None, false));
    let name = target.check_name(&request.name, &request.label);
    let url = target.run_url();
    let report = CheckReport {
        client: &target.client,
        name: &name,
        head: &target.context.head,
        external: &target.external(),
        details_url: url.as_deref(),
        output: &output(begun),
        conclusion: None,
    };
    log(&format!("{name}: in progress, {}", where_reported(&report.send()?, report.head)))
}

/// After a job of this event has measured.
pub(super) fn for_event(
    request: &PublishRequest,
    target: &PublishTarget,
    input: &PublishInput,
    log: &mut Log<'_>,
) -> Result<()> {
    same_head(&input.merged, &target.context.head)?;
    tell(request, target, input, &Recipients::of_event(target)?, false, log)
}

/// For the run that a `workflow_run` event tells of. Nothing that the run left behind is believed about what it is for:
/// that comes from the event and the API.
pub(super) fn for_run(
    request: &PublishRequest,
    target: &PublishTarget,
    run: &WorkflowRun,
    log: &mut Log<'_>,
) -> Result<()> {
    if !matches!(run.event.as_str(), "pull_request" | "merge_group") {
        return log(&format!("run {} was started by {}: nothing to publish", run.id, run.event));
    }
    if request.start || run.action != "completed" {
        return begin(request, target, log);
    }
    if target.context.is_fork() && !request.allow_forks {
        // The author of a fork can change the workflow file, and so write any result.
        without_verdict(request, target, &no_verdict::of_fork(), &Recipients::default(), log)?;
        return log("a fork's result is not published: `--allow-forks` does, and calls it unverified");
    }
    let found = match run.event.as_str() {
        "pull_request" => pulls::of_run(&target.client, run)?.map(|found| Recipients::of_run(&found)),
        // A merge queue has a commit to mark and nobody to tell.
        _ => pulls::confirmed(&target.client, run)?.map(|()| Recipients::default()),
    };
    let recipients = match found {
        Ok(recipients) => recipients,
        // The finding about the commit stays true; no pull request waits for it.
        Err(no) if no.is_over => {
            log(&format!("no comment: {}", no.why))?;
            Recipients::default()
        }
        Err(no) => {
            let ended = NoVerdict::failed(format!("Nothing is published: {}.", no.why));
            without_verdict(request, target, &ended, &Recipients::default(), log)?;
            return log(&format!("no comment: {}", no.why));
        }
    };
    // Its words may quote the artifact; the log's are escaped, the check's are ours alone.
    let mut refused = |text: &str, fault: Fault| {
        without_verdict(request, target, &NoVerdict::failed(text), &recipients, log)?;
        Err(fault)
    };
    let found = match fetched(request, target, run) {
        Ok(Some(found)) => found,
        Ok(None) => return without_verdict(request, target, &no_verdict::of_run(run), &recipients, log),
        Err(fault) => return refused("The run's artifact is refused. The log says why.", fault),
    };
    let (about, named) = match &found {
        FoundInput::Verdict(input) => {
            (same_head(&input.merged, &run.head), input.job.as_ref().and_then(|job| job.pull_request))
        }
        FoundInput::Untouched(job) => (same_commit(job, &run.head), job.pull_request),
    };
    if let Err(fault) = about {
        return refused("The run's artifact is about another commit.", fault);
    }
    let Some(recipients) = recipients.narrowed(named) else {
        return refused(
            "Several pull requests are of this branch, and the run's artifact does not say for which it is.",
            unnamed(&recipients),
        );
    };
    match found {
        FoundInput::Verdict(input) => {
            tell(request, target, &input, &recipients, target.context.is_fork(), log)
        }
        FoundInput::Untouched(job) => untouched(request, target, &job, &recipients, log),
    }
}

/// The verdicts in a run's artifacts, as one. `None`: it left none.
fn fetched(
    request: &PublishRequest,
    target: &PublishTarget,
    run: &WorkflowRun,
) -> Result<Option<FoundInput>> {
    let mut ours = artifacts::list(&target.client, run.id)?;
    ours.retain(|artifact| artifact.name.starts_with(&request.artifact) && !artifact.expired);
    if ours.len() > MOST_ARTIFACTS {
        let next = "choose a longer beginning of their names with `--artifact`";
        return Err(unpublished("artifacts", format!("the run has {}", ours.len()), next));
    }
    let mut left = MOST_BYTES;
    let mut contents = Contents::default();
    for artifact in &ours {
        let bytes = artifacts::fetch(&target.client, artifact, left)?;
        left = left.saturating_sub(bytes.len());
        contents.extend(read_artifact(&artifact.name, &bytes)?);
    }
    // The parts are merged anew here, out of its parts, and held to how the run ended.
    contents.merged.clear();
    if let Some(job) = contents.all_untouched(request.expect, run.conclusion.as_deref()) {
        return Ok(Some(FoundInput::Untouched(Box::new(job))));
    }
    if contents.parts.is_empty() {
        return Ok(None);
    }
    let contents = contents.held_to(request.expect, run.conclusion.as_deref())?;
    let mut input = PublishInput::of(contents, None)?;
    input.merged = regenerate_text(input.merged);
    Ok(Some(FoundInput::Verdict(Box::new(input))))
}

/// A verdict about another commit must not stand on this one.
fn same_head(merged: &Merged, head: &Sha) -> Result<()> {
    for group in &merged.groups {
        let judged = &group.verdict.head;
        let commit = judged.commit.as_deref().unwrap_or("no commit");
        if !judged.dirty && commit.eq_ignore_ascii_case(head.as_str()) {
            continue;
        }
        let what = if judged.dirty {
            format!("it judges {commit} with changes that are not committed")
        } else {
            format!("it judges {commit}, and the event is about {head}")
        };
        return Err(unpublished("the verdict", what, "measure the event's own head: `gbench-ci ci` does"));
    }
    Ok(())
}

/// The same of a job that measured nothing.
pub(super) fn same_commit(job: &Job, head: &Sha) -> Result<()> {
    let commit = job.head.as_deref().unwrap_or("no commit");
    if commit.eq_ignore_ascii_case(head.as_str()) {
        return Ok(());
    }
    let what = format!("it is about {commit}, and the event is about {head}");
    Err(unpublished("job.json", what, "measure the event's own head: `gbench-ci ci` does"))
}

/// That nothing was measured: the check says so, and a comment that is there, which would else speak of another commit.
pub(super) fn untouched(
    request: &PublishRequest,
    target: &PublishTarget,
    job: &Job,
    recipients: &Recipients,
    log: &mut Log<'_>,
) -> Result<()> {
    let Some(untouched) = &job.untouched else { return Ok(()) };
    let shown = publish_context(request, Some(&target.context), None, false);
    summarize(request, &render::untouched(untouched, &shown, ""))?;
    step_outputs::of_untouched()?;
    let name = target.check_name(&request.name, &request.label);
    let check = render::check_untouched(untouched, &shown);
    let end = CheckEnd { conclusion: conclusion(check.state, false), output: &output(check) };
    for number in conclude(target, &name, recipients, &end, log)? {
        let body = |marker: &Marker| render::untouched(untouched, &shown, &marker.comment());
        let words =
            CommentContent { state: render::untouched_fingerprint(), should_comment: false, body: &body };
        comment(request, target, (number, &recipients.name_for(&name, number)), &words, log)?;
    }
    Ok(())
}

fn summarize(request: &PublishRequest, page: &str) -> Result<()> {
    let file = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|file| request.summary && !file.is_empty());
    file.map_or(Ok(()), |file| commands::append_summary(file.as_ref(), page))
}

/// Checks first: the comment is the louder of the two, and what it links to should be there.
fn tell(
    request: &PublishRequest,
    target: &PublishTarget,
    input: &PublishInput,
    recipients: &Recipients,
    unverified: bool,
    log: &mut Log<'_>,
) -> Result<()> {
    let shown = publish_context(request, Some(&target.context), Some(input), unverified);
    summarize(request, &render::step_summary(&input.merged, &shown))?;
    let merged = &input.merged;
    step_outputs::of_answer(merged.conclusion, &merged.counts)?;
    let all = checks(request, Some(&target.context), merged, &shown);
    let last = all.len().saturating_sub(1);
    for (index, (name, check)) in all.into_iter().enumerate() {
        let conclusion = conclusion(check.state, unverified);
        let output = output(check);
        let end = CheckEnd { conclusion, output: &output };
        // The last one stands for all.
        if index < last {
            conclude(target, &name, &Recipients::default(), &end, log)?;
            continue;
        }
        let heard = conclude(target, &name, recipients, &end, log)?;
        for number in recipients.unheard(&heard) {
            log(&format!("comment on #{number}: {OVERTAKEN}"))?;
        }
        for number in &heard {
            let body = |marker: &Marker| render::comment(merged, &shown, &marker.comment());
            let words = CommentContent {
                state: render::fingerprint(merged),
                should_comment: should_comment(merged),
                body: &body,
            };
            comment(request, target, (*number, &recipients.name_for(&name, *number)), &words, log)?;
        }
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

/// The content of a comment.
struct CommentContent<'a> {
    /// Digest of what is said.
    state: String,
    should_comment: bool,
    body: &'a dyn Fn(&Marker) -> String,
}

/// `pull`: its number, and the check by which it is known whether a later run has spoken.
fn comment(
    request: &PublishRequest,
    target: &PublishTarget,
    (number, check): (u64, &str),
    words: &CommentContent,
    log: &mut Log<'_>,
) -> Result<()> {
    let (run, attempt) = target.run();
    let marker = Marker {
        gate: request.name.clone(),
        head: target.context.head.clone(),
        run,
        attempt,
        state: words.state.clone(),
    };
    let is_overtaken = || is_overtaken(target, check);
    let saying = CommentRequest {
        body: words.body,
        should_comment: words.should_comment,
        is_overtaken: &is_overtaken,
    };
    let posted = comments::post(&target.client, number, request.comment, &marker, &saying, &target.me)?;
    let what = match posted {
        Posted::Created(url) => format!("created {url}"),
        Posted::Updated(url) => format!("updated {url}"),
        Posted::Unchanged => "it says so already".into(),
        Posted::Quiet => "none: nothing changed".into(),
        Posted::Stale => OVERTAKEN.into(),
        Posted::Never => "none, as asked".into(),
    };
    log(&format!("comment on #{number}: {what}"))
}

/// Whether somebody should read it: all but plain green.
pub(super) fn should_comment(merged: &Merged) -> bool {
    let improved = merged.counts.get(&Verdict::Improved).is_some_and(|count| *count > 0);
    merged.conclusion != Conclusion::Pass || improved
}

/// A check that ends without a verdict. What a comment said before is about another run, and must not stand there as the
/// answer to this one; where there is no comment, the check says enough.
pub(super) fn without_verdict(
    request: &PublishRequest,
    target: &PublishTarget,
    ended: &NoVerdict,
    recipients: &Recipients,
    log: &mut Log<'_>,
) -> Result<()> {
    let name = target.check_name(&request.name, &request.label);
    let output =
        CheckOutput { title: "No verdict".into(), summary: ended.text.clone(), ..CheckOutput::default() };
    let end = CheckEnd { conclusion: ended.conclusion, output: &output };
    let shown = publish_context(request, Some(&target.context), None, false);
    for number in conclude(target, &name, recipients, &end, log)? {
        let body = |marker: &Marker| render::no_verdict(&ended.text, &shown, &marker.comment());
        let words = CommentContent {
            state: render::no_verdict_fingerprint(&ended.text),
            should_comment: false,
            body: &body,
        };
        comment(request, target, (number, &recipients.name_for(&name, number)), &words, log)?;
    }
    Ok(())
}

/// The publishing side beside the verdict. Of another workflow's job only what cannot mislead is taken: the policy is this
/// command line's, the links are ours.
pub(super) fn publish_context(
    request: &PublishRequest,
    context: Option<&Context>,
    input: Option<&PublishInput>,
    unverified: bool,
) -> PublishContext {
    let job = input.and_then(|input| input.job.as_ref());
    let ours = context.is_none_or(|context| context.event != WorkflowEvent::WorkflowRun);
    let fail_on = match job {
        _ if !request.fail_on.is_empty() => {
            request.fail_on.iter().map(|class| class.into_str().to_owned()).collect()
        }
        Some(job) if ours => job.fail_on.clone(),
        _ => Vec::new(),
    };
    let run_url = context.and_then(run_url);
    PublishContext {
        gate: request.name.clone(),
        head: context
            .map(|context| context.head.to_string())
            .or_else(|| job.and_then(|job| job.head.clone())),
        base: job.map_or_else(BaseChoice::default, |job| job.base.clone()),
        report_url: run_url.clone(),
        run_url,
        unverified,
        flags: job.map_or_else(String::new, |job| shell_job_flags(&job.flags)),
        sources: job.map_or_else(Vec::new, |job| job.sources.clone()),
        fail_on,
        server: context
            .map_or_else(|| "https://github.com".into(), |context| context.endpoint.server.clone()),
        slug: context.map(|context| context.slug.to_string()),
    }
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

/// A finished check that is still in progress would be a lie: it counts as failed. Green that nobody here has verified is
/// no green.
fn conclusion(standing: CheckState, unverified: bool) -> CheckConclusion {
    match standing {
        CheckState::Success if unverified => CheckConclusion::Neutral,
        CheckState::Success => CheckConclusion::Success,
        CheckState::Failure | CheckState::InProgress => CheckConclusion::Failure,
        CheckState::Neutral => CheckConclusion::Neutral,
        CheckState::ActionRequired => CheckConclusion::ActionRequired,
    }
}
