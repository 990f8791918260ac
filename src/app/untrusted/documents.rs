//! Documents that others wrote: strict in form, and what they say of themselves must follow from their rows. The
//! sentence is not believed at all: ours is in its place.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use strum::VariantArray;

use super::caps::{self, refused};
use super::json_limits;
use crate::app::compare::fail_on::FailOn;
use crate::app::request::job_flags::is_job_flag;
use crate::compare::{
    Merged, SCHEMA_MERGED, VERDICTS_READ, VerdictDocument, check_consistency, check_merged_consistency,
    regenerate_text,
};
use crate::model::{BenchmarkId, Exit, Job, Result, SCHEMA_JOB, Shard, SourceLine};
use crate::trend::TrendsDocument;

/// Series of one document of trends.
const MOST_SERIES: usize = 20_000;

/// Rules that a verdict may have been decided by.
const RULES: [&str; 13] = [
    "process-welch-holm-4",
    "process-welch-holm-3",
    "process-welch-holm-2",
    "process-session-4",
    "process-session-3",
    "process-session-2",
    "seq-e",
    "seq-e-2",
    "seq-e-3",
    "seq-e-4",
    "seq-e-5",
    "process-welch-holm",
    "process-session",
];

/// A job from its text. `name`: of its folder, for messages.
pub(crate) fn job(name: &str, text: &str) -> Result<Job> {
    let job: Job = document(name, "job.json", text)?;
    job_is_ours(&job).map_err(|what| refused(name, format!("job.json: {what}")))?;
    Ok(job)
}

/// A verdict from its text, without the records that may be embedded in it.
pub(crate) fn verdict(name: &str, text: &str) -> Result<VerdictDocument> {
    let mut verdict: VerdictDocument = document(name, "verdict.json", text)?;
    let checked = verdict_is_ours(&verdict).and_then(|()| check_consistency(&verdict));
    checked.map_err(|what| refused(name, format!("verdict.json: {what}")))?;
    verdict.records = None;
    // Its one group is reworded by the same code as any.
    let mut groups = regenerate_text(Merged::single("", verdict)).groups;
    groups.pop().map(|group| group.verdict).ok_or_else(|| refused(name, "verdict.json: it is gone"))
}

/// Trends of a job's rows, from their text.
pub(super) fn trends(name: &str, text: &str) -> Result<TrendsDocument> {
    let trends: TrendsDocument = document(name, "trends.json", text)?;
    trends_are_ours(&trends).map_err(|what| refused(name, format!("trends.json: {what}")))?;
    Ok(trends)
}

pub(super) fn merged(name: &str, text: &str) -> Result<Merged> {
    let mut merged: Merged = document(name, "merged.json", text)?;
    let checked = merged_is_ours(&merged).and_then(|()| check_merged_consistency(&merged));
    checked.map_err(|what| refused(name, format!("merged.json: {what}")))?;
    merged.groups.iter_mut().for_each(|group| group.verdict.records = None);
    Ok(regenerate_text(merged))
}

/// A verdict or a merged document, as its schema says; a verdict by itself becomes a merged document of one group.
pub(crate) fn verdict_or_merged(name: &str, text: &str) -> Result<Merged> {
    #[derive(Deserialize)]
    struct Named {
        schema: String,
    }
    match document::<Named>(name, "the document", text)?.schema.as_str() {
        SCHEMA_MERGED => merged(name, text),
        _ => Ok(Merged::single("", verdict(name, text)?)),
    }
}

fn document<T: DeserializeOwned>(name: &str, file: &str, text: &str) -> Result<T> {
    let read =
        json_limits::check(text).and_then(|()| serde_json::from_str(text).map_err(|error| error.to_string()));
    read.map_err(|what| refused(name, format!("{file}: {what}")))
}

fn job_is_ours(job: &Job) -> Result<(), String> {
    if job.schema != SCHEMA_JOB {
        return Err(format!("its schema is not `{SCHEMA_JOB}`"));
    }
    let event = |c: char| c.is_ascii_lowercase() || c == '_';
    if job.event.is_empty() || job.event.len() > 64 || !job.event.chars().all(event) {
        return Err("its event is not one of GitHub's".into());
    }
    [&job.head, &job.base.commit].into_iter().flatten().try_for_each(|commit| is_commit(commit))?;
    if job.base.committed.as_ref().is_some_and(|time| humantime::parse_rfc3339(time).is_err()) {
        return Err("its base was committed at no time that there is".into());
    }
    if !is_label(&job.label) || has_controls(&job.base.why) {
        return Err("its label is too long, or a text of it holds control characters".into());
    }
    if job.shard.is_some_and(|shard| !shard.is_one()) {
        return Err("there is no such shard".into());
    }
    let is_digest = |text: &String| text.len() == 16 && text.chars().all(|c| c.is_ascii_hexdigit());
    if !job.cut.as_ref().is_none_or(is_digest) {
        return Err("its cut is not a digest".into());
    }
    is_exit(job.exit_code)?;
    if job.fail_on.len() > FailOn::VARIANTS.len()
        || job.fail_on.iter().any(|word| word.parse::<FailOn>().is_err())
    {
        return Err("its `fail_on` holds words that there are not".into());
    }
    if let Some(word) = job.flags.iter().find(|word| !is_job_flag(word)) {
        return Err(format!("`{}` is not a flag that selects what is measured", word.escape_debug()));
    }
    if let Some(untouched) = &job.untouched {
        let odd = |path: &String| path.len() > caps::PATH || has_controls(path);
        if job.exit_code != Exit::Pass.code() || untouched.paths.is_empty() || untouched.paths.iter().any(odd)
        {
            return Err("it claims that nothing was touched, without saying of what".into());
        }
    }
    job.sources.iter().try_for_each(is_source)
}

/// A source line becomes an annotation, and part of a link.
fn is_source(source: &SourceLine) -> Result<(), String> {
    let path = &source.path;
    let leaves = path.starts_with('/') || path.contains(['\\', ':']) || has_controls(path);
    if leaves || path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(format!("`{}` is not a file of the repository", path.escape_debug()));
    }
    if source.line == 0 || source.benchmark.parse::<BenchmarkId>().is_err() {
        return Err(format!(
            "`{}` is not a benchmark, or its line is not valid",
            source.benchmark.escape_debug()
        ));
    }
    Ok(())
}

fn verdict_is_ours(verdict: &VerdictDocument) -> Result<(), String> {
    if !VERDICTS_READ.contains(&verdict.schema.as_str()) {
        return Err("this version does not read its schema".into());
    }
    if !RULES.contains(&verdict.method.rule.as_str()) {
        return Err("its rule is unknown".into());
    }
    is_exit(verdict.exit_code)?;
    let rates =
        [Some(verdict.method.alpha), verdict.method.rounds.as_ref().map(|rounds| rounds.alpha_improved)];
    if !rates.into_iter().flatten().all(|rate| rate > 0.0 && rate <= 1.0) {
        return Err("its error rate is not between 0 and 1".into());
    }
    for side in [&verdict.base, &verdict.head] {
        side.commit.as_deref().map_or(Ok(()), is_commit)?;
        if humantime::parse_rfc3339(&side.started).is_err() {
            return Err("a side started at no time that there is".into());
        }
    }
    let mut seen = BTreeSet::new();
    match verdict.rows.iter().find(|row| !seen.insert((&row.case, &row.metric))) {
        Some(row) => Err(format!("{} appears twice", row.case)),
        None => Ok(()),
    }
}

fn merged_is_ours(merged: &Merged) -> Result<(), String> {
    if merged.schema != SCHEMA_MERGED {
        return Err(format!("its schema is not `{SCHEMA_MERGED}`"));
    }
    is_exit(merged.exit_code)?;
    if merged.groups.len() > Shard::MAX as usize {
        return Err("it has more groups than a matrix has jobs".into());
    }
    for group in &merged.groups {
        if !is_label(&group.label) {
            return Err("a label of it is too long or holds control characters".into());
        }
        verdict_is_ours(&group.verdict)?;
    }
    Ok(())
}

fn trends_are_ours(trends: &TrendsDocument) -> Result<(), String> {
    if trends.series.len() > MOST_SERIES {
        return Err(format!("it has more than {MOST_SERIES} series"));
    }
    trends.check()?;
    let commits = trends.runs.iter().map(|run| &run.commit).filter(|commit| !commit.is_empty());
    let changes = || trends.series.iter().flat_map(|series| series.changes.iter().chain(&series.withdrawn));
    let ends = changes().flat_map(|change| [&change.good, &change.bad]).flatten();
    commits.chain(ends).try_for_each(|commit| is_commit(commit))?;
    let is_odd = |text: &String| text.len() > caps::PATH || has_controls(text);
    let names = trends.series.iter().flat_map(|series| [&series.branch, &series.metric, &series.unit]);
    if names.chain(trends.runs.iter().map(|run| &run.branch)).any(is_odd)
        || !trends.series.iter().all(|series| is_label(&series.label))
    {
        return Err("a name of it is too long or holds control characters".into());
    }
    Ok(())
}

fn is_commit(text: &str) -> Result<(), String> {
    if (7..=64).contains(&text.len()) && text.chars().all(|c| c.is_ascii_hexdigit()) {
        Ok(())
    } else {
        Err("one of its commits is not valid".into())
    }
}

fn is_exit(code: u8) -> Result<(), String> {
    if Exit::from_repr(code).is_some() {
        Ok(())
    } else {
        Err(format!("{code} is not an exit code of gbench-ci"))
    }
}

/// A machine's label has at most 100 characters.
fn is_label(text: &str) -> bool {
    text.chars().count() <= 100 && !has_controls(text)
}

fn has_controls(text: &str) -> bool {
    text.chars().any(char::is_control)
}
