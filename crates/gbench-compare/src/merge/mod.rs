//! The parts of a matrix as one: shards of a suite become one verdict, machines are listed side by side. A missing part
//! makes the whole fail at least.

mod belonging;
pub(crate) mod document;
pub(crate) mod records;
mod shards;

use std::collections::{BTreeMap, BTreeSet};

use crate::wording::sentence;
use belonging::{gaps_of, of_one_change};
use document::{Absence, Group, Merged, MissingPart, SCHEMA_MERGED, VerdictPart};
use document::{counts_of, most_severe_of};
use gbench_model::{Exit, Fault, Job, Result, SCHEMA_JOB};

/// [`merge_with`] no known gap, after all parts had their chance to come.
pub fn merge(parts: Vec<VerdictPart>) -> Result<Merged> {
    merge_with(parts, Vec::new(), Absence::Missing)
}

/// One answer for all parts. Their jobs' labels and shards show which of them belong together; among others, a part
/// without a job is a separate machine, named after its folder.
///
/// `gaps`: what the caller knows to be missing. Each makes conclusion and exit code at least those of
/// [`crate::Conclusion::Failed`], or of [`crate::Conclusion::Inconclusive`] if it is pending. `absence`: whether a shard that
/// did not come is missing or pending.
///
/// Errors: no part at all, with exit code 4; with exit code 2, and both parts named: a shard or a row that two parts
/// bring, other commits, another rule or policy, shards of another number.
pub fn merge_with(parts: Vec<VerdictPart>, gaps: Vec<MissingPart>, absence: Absence) -> Result<Merged> {
    let Some(first) = parts.first() else {
        let missing: Vec<String> = gaps.into_iter().map(|gap| gap.what).collect();
        let why = if missing.is_empty() { String::new() } else { format!(": {}", missing.join("; ")) };
        let next = "look at the jobs that should have brought a verdict, and start them again";
        return Err(Fault::at("merge", format!("nothing was merged{why}"), next).exits(Exit::Failed));
    };
    parts.iter().try_for_each(|part| of_one_change(first, part))?;
    let labels = labels(&parts);
    let mut by_label: BTreeMap<String, Vec<VerdictPart>> = BTreeMap::new();
    for (part, label) in parts.into_iter().zip(labels) {
        by_label.entry(label).or_default().push(part);
    }
    let mut by_gap = gaps;
    for (label, parts) in &by_label {
        parts.iter().try_for_each(|part| of_one_change(&parts[0], part))?;
        by_gap.extend(gaps_of(label, parts, &by_gap, absence)?);
    }
    let groups: Vec<Group> = by_label
        .into_iter()
        .map(|(label, parts)| {
            let own = by_gap.iter().filter(|gap| gap.label.as_ref() == Some(&label));
            let own: Vec<&MissingPart> = own.collect();
            Ok(Group { verdict: shards::shards(parts, &own)?, label })
        })
        .collect::<Result<_>>()?;
    Ok(whole(groups, &by_gap))
}

fn whole(groups: Vec<Group>, gaps: &[MissingPart]) -> Merged {
    let of_none = |gap: &&MissingPart| !groups.iter().any(|group| gap.label.as_ref() == Some(&group.label));
    let others: Vec<String> = gaps.iter().filter(of_none).map(|gap| gap.what.clone()).collect();
    let several = groups.len() > 1;
    let text = |gap: &MissingPart| match gap.label.as_ref().filter(|label| several && !label.is_empty()) {
        Some(label) => format!("{label}: {}", gap.what),
        None => gap.what.clone(),
    };
    let warnings: Vec<String> = gaps.iter().map(text).collect();
    let (conclusion, exit) = most_severe_of(&groups, gaps.iter().map(|gap| gap.absence).max());
    Merged {
        schema: SCHEMA_MERGED.into(),
        tool_version: env!("CARGO_PKG_VERSION").into(),
        conclusion,
        exit_code: exit.code(),
        sentence: sentence::of_machines(&groups, &others),
        counts: counts_of(&groups),
        groups,
        warnings,
        warning_codes: gaps.iter().map(MissingPart::warning).collect(),
    }
}

fn labels(parts: &[VerdictPart]) -> Vec<String> {
    let several = parts.len() > 1;
    let unlabelled: Vec<&VerdictPart> = parts.iter().filter(|part| part.job.is_none()).collect();
    let parents: BTreeSet<&str> = unlabelled.iter().map(|part| folder_label(&part.name)).collect();
    let distinct = parents.len() == unlabelled.len();
    let label = |part: &VerdictPart| match &part.job {
        Some(job) => job.label.clone(),
        None if !several => String::new(),
        None if distinct => folder_label(&part.name).to_owned(),
        None => last(&part.name).to_owned(),
    };
    parts.iter().map(label).collect()
}

fn last(name: &str) -> &str {
    name.trim_end_matches('/').rsplit('/').next().unwrap_or(name)
}

fn folder_label(name: &str) -> &str {
    let own = last(name);
    let is_run = own.len() > 20 && own.as_bytes()[..8].iter().all(u8::is_ascii_digit) && own.contains('T');
    let above = name.trim_end_matches('/').strip_suffix(own).map(last).filter(|above| !above.is_empty());
    above.filter(|_| is_run).unwrap_or(own)
}

/// The job for all parts: publishing a merge needs its event, its policy and its source lines. `None` of no jobs.
pub fn merged_job(jobs: &[Job], merged: &Merged) -> Option<Job> {
    let first = jobs.first()?;
    let one_label = jobs.iter().all(|job| job.label == first.label);
    // No word at all means that the gate's own code counts, which is the strictest.
    let words: BTreeSet<&String> = jobs.iter().flat_map(|job| &job.fail_on).collect();
    let strictest = jobs.iter().any(|job| job.fail_on.is_empty());
    let mut sources = Vec::new();
    for source in jobs.iter().flat_map(|job| &job.sources) {
        if !sources.contains(source) {
            sources.push(source.clone());
        }
    }
    Some(Job {
        schema: SCHEMA_JOB.into(),
        label: if one_label { first.label.clone() } else { String::new() },
        shard: None,
        cut: None,
        exit_code: merged.exit_code,
        fail_on: if strictest { Vec::new() } else { words.into_iter().cloned().collect() },
        sources,
        fork: jobs.iter().any(|job| job.fork),
        untouched: None,
        ..first.clone()
    })
}

/// Checks a merged document against its groups, and these against their rows. A group may be more severe than its rows
/// only by a gap, and then the document names one, missing or pending. Errors: the first contradiction, in one sentence without a period.
pub fn check_merged_consistency(merged: &Merged) -> Result<(), String> {
    let gaps = merged.absence();
    let mut labels = BTreeSet::new();
    if merged.groups.is_empty() {
        return Err("it has no group".into());
    }
    for group in &merged.groups {
        if !labels.insert(&group.label) {
            return Err(format!("two of its groups are called `{}`", group.label));
        }
        shards::check_group_consistency(&group.verdict, gaps)
            .map_err(|what| format!("of its group `{}`: {what}", group.label))?;
    }
    if merged.counts != counts_of(&merged.groups) {
        return Err("its counts are not those of its groups".into());
    }
    let (conclusion, exit) = most_severe_of(&merged.groups, gaps);
    if (merged.conclusion, merged.exit_code) != (conclusion, exit.code()) {
        return Err(format!(
            "its groups give {conclusion:?} and exit code {}, and the document has {:?} and {}",
            exit.code(),
            merged.conclusion,
            merged.exit_code
        ));
    }
    Ok(())
}

/// Replaces the sentences by our own for these rows: a document from elsewhere may contain any text.
pub fn regenerate_text(mut merged: Merged) -> Merged {
    for group in &mut merged.groups {
        group.verdict.sentence = sentence::of_verdict(&group.verdict, &[]);
    }
    merged.sentence = sentence::of_machines(&merged.groups, &merged.warnings);
    merged
}
