//! A verdict on a pull request or a commit: one comment, one check for each machine.

use super::PublishArgs;
use super::ended::{self, Ended};
use super::place::{Place, check_name, run_url, unpublished};
use super::source::{Found, Material};
use super::waiting::{End, Waiting, conclude, is_overtaken, unnamed};
use crate::app::job_flags::shell_job_flags;
use crate::cli::artifact::{Contents, read_hostile};
use crate::cli::outputs;
use crate::compare::{Conclusion, Merged, Verdict, regenerate_text};
use crate::github::checks::{self, Annotation, AnnotationLevel, CheckConclusion, CheckOutput, Reported};
use crate::github::comments::{self, CommentRequest, Marker, Posted};
use crate::github::{Context, Sha, WorkflowEvent, WorkflowRun, artifacts, commands, pulls};
use crate::model::{BaseChoice, Fault, Job, Result};
use crate::report::github::{self as render, CheckPage, CheckState, PublishContext};

/// Bytes of all artifacts of one run, packed.
const MOST_BYTES: usize = 64 << 20;

/// Artifacts of one run that are looked at: no matrix has more jobs.
const MOST_ARTIFACTS: usize = 256;

/// Takes lines for the log.
pub type Say<'a> = dyn FnMut(&str) -> Result<()> + 'a;

/// The check of this job, or of the run that a `workflow_run` event is about, in progress.
pub fn begin(args: &PublishArgs, place: &Place, say: &mut Say<'_>) -> Result<()> {
    let begun = render::begun(&facts(args, Some(&place.context), None, false));
    let name = place.check_name(&args.name, &args.label);
    let head = &place.context.head;
    let url = place.run_url();
    let reported =
        checks::begin(&place.client, &name, head, &place.external(), url.as_deref(), &output(begun))?;
    say(&format!("{name}: in progress, {}", where_it_stands(&reported, head)))
}

/// After a job of this event has measured.
pub fn for_event(args: &PublishArgs, place: &Place, material: &Material, say: &mut Say<'_>) -> Result<()> {
    same_head(&material.merged, &place.context.head)?;
    tell(args, place, material, &Waiting::of_event(place)?, false, say)
}

/// For the run that a `workflow_run` event tells of. Nothing that the run left behind is believed about what it is for:
/// that comes from the event and the API.
pub fn for_run(args: &PublishArgs, place: &Place, run: &WorkflowRun, say: &mut Say<'_>) -> Result<()> {
    if !matches!(run.event.as_str(), "pull_request" | "merge_group") {
        return say(&format!("run {} was started by {}: nothing to publish", run.id, run.event));
    }
    if args.start || run.action != "completed" {
        return begin(args, place, say);
    }
    if place.context.is_fork() && !args.allow_forks {
        // Whoever can change the workflow file can write any result.
        without_verdict(args, place, &ended::of_fork(), &Waiting::default(), say)?;
        return say("a fork's result is not published: `--allow-forks` does, and calls it unverified");
    }
    let found = match run.event.as_str() {
        "pull_request" => pulls::of_run(&place.client, run)?.map(|found| Waiting::of_run(&found)),
        // A merge queue has a commit to mark and nobody to tell.
        _ => pulls::confirmed(&place.client, run)?.map(|()| Waiting::default()),
    };
    let waiting = match found {
        Ok(waiting) => waiting,
        // What was found of the commit stays true; nobody waits to be told.
        Err(no) if no.is_over => {
            say(&format!("no comment: {}", no.why))?;
            Waiting::default()
        }
        Err(no) => {
            let ended = Ended::failed(format!("Nothing is published: {}.", no.why));
            without_verdict(args, place, &ended, &Waiting::default(), say)?;
            return say(&format!("no comment: {}", no.why));
        }
    };
    // Its words may quote the artifact; the log's are escaped, the check's are ours alone.
    let mut refused = |text: &str, fault: Fault| {
        without_verdict(args, place, &Ended::failed(text), &waiting, say)?;
        Err(fault)
    };
    let found = match fetched(args, place, run) {
        Ok(Some(found)) => found,
        Ok(None) => return without_verdict(args, place, &ended::of_run(run), &waiting, say),
        Err(fault) => return refused("The run's artifact is refused. The log says why.", fault),
    };
    let (about, named) = match &found {
        Found::Verdict(material) => {
            (same_head(&material.merged, &run.head), material.job.as_ref().and_then(|job| job.pull_request))
        }
        Found::Untouched(job) => (same_commit(job, &run.head), job.pull_request),
    };
    if let Err(fault) = about {
        return refused("The run's artifact is about another commit.", fault);
    }
    let Some(waiting) = waiting.narrowed(named) else {
        return refused(
            "Several pull requests are of this branch, and the run's artifact does not say for which it is.",
            unnamed(&waiting),
        );
    };
    match found {
        Found::Verdict(material) => tell(args, place, &material, &waiting, place.context.is_fork(), say),
        Found::Untouched(job) => untouched(args, place, &job, &waiting, say),
    }
}

/// The verdicts in a run's artifacts, as one. `None`: it left none.
fn fetched(args: &PublishArgs, place: &Place, run: &WorkflowRun) -> Result<Option<Found>> {
    let mut ours = artifacts::list(&place.client, run.id)?;
    ours.retain(|artifact| artifact.name.starts_with(&args.artifact) && !artifact.expired);
    if ours.len() > MOST_ARTIFACTS {
        let next = "choose a longer beginning of their names with `--artifact`";
        return Err(unpublished("artifacts", format!("the run has {}", ours.len()), next));
    }
    let mut left = MOST_BYTES;
    let mut contents = Contents::default();
    for artifact in &ours {
        let bytes = artifacts::fetch(&place.client, artifact, left)?;
        left = left.saturating_sub(bytes.len());
        contents.extend(read_hostile(&artifact.name, &bytes)?);
    }
    // What was merged over there is merged anew here, out of its parts, and held to how the run ended.
    contents.merged.clear();
    if let Some(job) = contents.all_untouched(args.expect, run.conclusion.as_deref()) {
        return Ok(Some(Found::Untouched(Box::new(job))));
    }
    if contents.parts.is_empty() {
        return Ok(None);
    }
    let contents = contents.held_to(args.expect, run.conclusion.as_deref())?;
    let mut material = Material::of(contents, None)?;
    material.merged = regenerate_text(material.merged);
    Ok(Some(Found::Verdict(Box::new(material))))
}

/// A verdict about another commit must not stand on this one.
fn same_head(merged: &Merged, head: &Sha) -> Result<()> {
    for group in &merged.groups {
        let judged = &group.verdict.head;
        let commit = judged.commit.as_deref().unwrap_or("no commit");
        let what = match judged.dirty {
            true => format!("it judges {commit} with changes that are not committed"),
            false if commit.eq_ignore_ascii_case(head.as_str()) => continue,
            false => format!("it judges {commit}, and the event is about {head}"),
        };
        return Err(unpublished("the verdict", what, "measure the event's own head: `gbench-ci ci` does"));
    }
    Ok(())
}

/// The same of a job that measured nothing.
pub fn same_commit(job: &Job, head: &Sha) -> Result<()> {
    let commit = job.head.as_deref().unwrap_or("no commit");
    if commit.eq_ignore_ascii_case(head.as_str()) {
        return Ok(());
    }
    let what = format!("it is about {commit}, and the event is about {head}");
    Err(unpublished("job.json", what, "measure the event's own head: `gbench-ci ci` does"))
}

/// That nothing was measured: the check says so, and a comment that is there, which would else speak of another commit.
pub fn untouched(
    args: &PublishArgs,
    place: &Place,
    job: &Job,
    waiting: &Waiting,
    say: &mut Say<'_>,
) -> Result<()> {
    let Some(untouched) = &job.untouched else { return Ok(()) };
    let facts = facts(args, Some(&place.context), None, false);
    summarize(args, &render::untouched(untouched, &facts, ""))?;
    outputs::of_untouched()?;
    let name = place.check_name(&args.name, &args.label);
    let check = render::check_untouched(untouched, &facts);
    let end = End { conclusion: conclusion(check.state, false), output: &output(check) };
    for number in conclude(place, &name, waiting, &end, say)? {
        let body = |marker: &Marker| render::untouched(untouched, &facts, &marker.comment());
        let words = Words { state: render::untouched_fingerprint(), should_comment: false, body: &body };
        comment(args, place, (number, &waiting.name_for(&name, number)), &words, say)?;
    }
    Ok(())
}

fn summarize(args: &PublishArgs, page: &str) -> Result<()> {
    let file = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|file| args.summary && !file.is_empty());
    file.map_or(Ok(()), |file| commands::append_summary(file.as_ref(), page))
}

/// Checks first: the comment is the louder of the two, and what it links to should be there.
fn tell(
    args: &PublishArgs,
    place: &Place,
    material: &Material,
    waiting: &Waiting,
    unverified: bool,
    say: &mut Say<'_>,
) -> Result<()> {
    let facts = facts(args, Some(&place.context), Some(material), unverified);
    summarize(args, &render::step_summary(&material.merged, &facts))?;
    let merged = &material.merged;
    outputs::of_answer(merged.conclusion, &merged.counts)?;
    let all = checks(args, Some(&place.context), merged, &facts);
    let last = all.len().saturating_sub(1);
    for (index, (name, check)) in all.into_iter().enumerate() {
        let conclusion = conclusion(check.state, unverified);
        let output = output(check);
        let end = End { conclusion, output: &output };
        // The last one stands for all.
        if index < last {
            conclude(place, &name, &Waiting::default(), &end, say)?;
            continue;
        }
        let heard = conclude(place, &name, waiting, &end, say)?;
        for number in waiting.unheard(&heard) {
            say(&format!("comment on #{number}: {OVERTAKEN}"))?;
        }
        for number in &heard {
            let body = |marker: &Marker| render::comment(merged, &facts, &marker.comment());
            let words = Words {
                state: render::fingerprint(merged),
                should_comment: should_comment(merged),
                body: &body,
            };
            comment(args, place, (*number, &waiting.name_for(&name, *number)), &words, say)?;
        }
    }
    Ok(())
}

/// The checks of a verdict, with their names: one for each machine that has a label, and one for all, the name that branch
/// protection can ask for. A machine's own job has only its own.
pub fn checks(
    args: &PublishArgs,
    context: Option<&Context>,
    merged: &Merged,
    facts: &PublishContext,
) -> Vec<(String, CheckPage)> {
    let name = |label: &str| check_name(context, &args.name, label);
    let labelled = merged.groups.iter().filter(|group| !group.label.is_empty());
    let mut checks: Vec<(String, CheckPage)> = labelled
        .map(|group| {
            let alone = Merged::single(&group.label, group.verdict.clone());
            (name(&group.label), render::check(&alone, facts))
        })
        .collect();
    let is_own = !args.label.is_empty() && merged.groups.len() == 1 && merged.groups[0].label == args.label;
    if !is_own {
        checks.push((name(&args.label), render::check(merged, facts)));
    }
    checks
}

const OVERTAKEN: &str = "left alone: a newer commit or run speaks already";

/// What a comment is to say.
struct Words<'a> {
    /// Digest of what is said.
    state: String,
    should_comment: bool,
    body: &'a dyn Fn(&Marker) -> String,
}

/// `pull`: its number, and the check by which it is known whether a later run has spoken.
fn comment(
    args: &PublishArgs,
    place: &Place,
    (number, check): (u64, &str),
    words: &Words,
    say: &mut Say<'_>,
) -> Result<()> {
    let (run, attempt) = place.run();
    let marker = Marker {
        gate: args.name.clone(),
        head: place.context.head.clone(),
        run,
        attempt,
        state: words.state.clone(),
    };
    let is_overtaken = || is_overtaken(place, check);
    let saying = CommentRequest {
        body: words.body,
        should_comment: words.should_comment,
        is_overtaken: &is_overtaken,
    };
    let posted = comments::post(&place.client, number, args.comment, &marker, &saying, &place.me)?;
    let what = match posted {
        Posted::Created(url) => format!("created {url}"),
        Posted::Updated(url) => format!("updated {url}"),
        Posted::Unchanged => "it says so already".into(),
        Posted::Quiet => "none: nothing changed".into(),
        Posted::Stale => OVERTAKEN.into(),
        Posted::Never => "none, as asked".into(),
    };
    say(&format!("comment on #{number}: {what}"))
}

/// Whether somebody should read it: all but plain green.
pub fn should_comment(merged: &Merged) -> bool {
    let improved = merged.counts.get(&Verdict::Improved).is_some_and(|count| *count > 0);
    merged.conclusion != Conclusion::Pass || improved
}

/// A check that ends without a verdict. What a comment said before is about another run, and must not stand there as the
/// answer to this one; where there is no comment, the check says enough.
pub fn without_verdict(
    args: &PublishArgs,
    place: &Place,
    ended: &Ended,
    waiting: &Waiting,
    say: &mut Say<'_>,
) -> Result<()> {
    let name = place.check_name(&args.name, &args.label);
    let output =
        CheckOutput { title: "No verdict".into(), summary: ended.text.clone(), ..CheckOutput::default() };
    let end = End { conclusion: ended.conclusion, output: &output };
    let facts = facts(args, Some(&place.context), None, false);
    for number in conclude(place, &name, waiting, &end, say)? {
        let body = |marker: &Marker| render::no_verdict(&ended.text, &facts, &marker.comment());
        let words =
            Words { state: render::no_verdict_fingerprint(&ended.text), should_comment: false, body: &body };
        comment(args, place, (number, &waiting.name_for(&name, number)), &words, say)?;
    }
    Ok(())
}

/// What the posts say beside the verdict. Of another workflow's job only what cannot mislead is taken: the policy is this
/// command line's, the links are ours.
pub fn facts(
    args: &PublishArgs,
    context: Option<&Context>,
    material: Option<&Material>,
    unverified: bool,
) -> PublishContext {
    let job = material.and_then(|material| material.job.as_ref());
    let ours = context.is_none_or(|context| context.event != WorkflowEvent::WorkflowRun);
    let fail_on = match job {
        _ if !args.fail_on.is_empty() => args.fail_on.iter().map(|class| class.word().to_owned()).collect(),
        Some(job) if ours => job.fail_on.clone(),
        _ => Vec::new(),
    };
    let run_url = context.and_then(run_url);
    PublishContext {
        gate: args.name.clone(),
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
    let annotation = |it: render::LineAnnotation| Annotation {
        path: it.path,
        line: it.line,
        level: if it.failure { AnnotationLevel::Failure } else { AnnotationLevel::Warning },
        title: it.title,
        message: it.message,
    };
    CheckOutput {
        title: check.title,
        summary: check.summary,
        text: check.text,
        annotations: check.annotations.into_iter().map(annotation).collect(),
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

pub fn where_it_stands(reported: &Reported, head: &Sha) -> String {
    match reported {
        Reported::Check(_, url) if url.is_empty() => format!("a check of {}", head.short()),
        Reported::Check(_, url) => format!("a check of {}: {url}", head.short()),
        Reported::Status => format!("a status of {}: the token may write no checks", head.short()),
        Reported::Ended => format!("left alone: this run has ended the check of {}", head.short()),
        Reported::Superseded => format!("left alone: a later run has the check of {}", head.short()),
    }
}
