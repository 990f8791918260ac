//! Checks that the parts of a merge belong together: one change, one base for each machine, and every shard once.

use std::collections::BTreeMap;

use super::document::{Absence, MissingPart, VerdictPart, shard_words};
use crate::verdict::conclusion::was_compared;
use crate::verdict::document::SideSummary;
use gbench_model::{Fault, Result, Shard};

/// Refuses parts that do not judge the same change; those of one machine also against the same base. At night each
/// machine has its own newest green commit.
pub(super) fn of_one_change(one: &VerdictPart, other: &VerdictPart) -> Result<()> {
    let state = |side: &SideSummary| {
        let commit = side.commit.as_deref().unwrap_or("no known commit");
        format!("{commit}{}", if side.dirty { " with uncommitted changes" } else { "" })
    };
    let label = |part: &VerdictPart| part.job.as_ref().map(|job| job.label.clone());
    let pull = |part: &VerdictPart| part.job.as_ref().and_then(|job| job.head.clone());
    let mut pairs = Vec::new();
    if label(one) == label(other) {
        pairs.push(("base", [one, other].map(|part| state(&part.verdict.base))));
    }
    pairs.push(("head", [one, other].map(|part| state(&part.verdict.head))));
    pairs.extend(pull(one).zip(pull(other)).map(|(a, b)| ("pull request's head", [a, b])));
    let Some((what, [a, b])) = pairs.into_iter().find(|(_, [a, b])| a != b) else { return Ok(()) };
    let text = format!("the {what} of `{}` is {a}, that of `{}` {b}", one.name, other.name);
    Err(Fault::at("merge", text, "merge the parts of one run of the workflow only"))
}

/// The missing parts of one machine. `absence`: of shards that did not come. Errors: shards that do not belong together.
pub(super) fn gaps_of(
    label: &str,
    parts: &[VerdictPart],
    known: &[MissingPart],
    absence: Absence,
) -> Result<Vec<MissingPart>> {
    let gap =
        |shard, what| MissingPart { label: Some(label.to_owned()), shard, what, ..MissingPart::default() };
    let mut gaps = Vec::new();
    let mut seen: BTreeMap<u32, &VerdictPart> = BTreeMap::new();
    let first = &parts[0];
    let cut = |part: &VerdictPart| part.job.as_ref().and_then(|job| job.cut.clone());
    // A job of an earlier version does not have it.
    let first_cut = parts.iter().find_map(|part| Some((part, cut(part)?)));
    for part in parts {
        let (of, first_of) = (part.shard().map(|shard| shard.of), first.shard().map(|shard| shard.of));
        if of != first_of {
            let words = |of: Option<u32>| of.map_or("no shard".into(), |of| format!("a shard of {of}"));
            let what = format!(
                "`{}` is {}, and `{}` of the same label is {}",
                first.name,
                words(first_of),
                part.name,
                words(of)
            );
            let next = "cut the suite into the same number of shards in every job of one label";
            return Err(Fault::at("merge", what, next));
        }
        if let (Some((first, one)), Some(other)) = (&first_cut, cut(part))
            && *one != other
        {
            let what = format!("`{}` and `{}` cut the suite in different ways", first.name, part.name);
            let next = "start all jobs of one label with the same selection and the same `--shard-plan`, on machines that \
                        list the same cases";
            return Err(Fault::at("merge", what, next));
        }
        if let Some(shard) = part.shard()
            && let Some(other) = seen.insert(shard.index, part)
        {
            let what = format!("`{}` and `{}` are both {}", other.name, part.name, shard_words(shard));
            let next = "give each job of the matrix its own `--shard`, and each machine its own `--label`";
            return Err(Fault::at("merge", what, next));
        }
        if parts.len() > 1 && !part.verdict.rows.iter().any(was_compared) {
            gaps.push(gap(part.shard(), format!("{} compared nothing", part.who())));
        }
        if let Some(job) = part.job.as_ref().filter(|job| job.exit_code != part.verdict.exit_code) {
            let what = format!(
                "{} ended with exit code {}, and its verdict says {}",
                part.who(),
                job.exit_code,
                part.verdict.exit_code
            );
            gaps.push(gap(part.shard(), what));
        }
    }
    let said = |shard: Shard| {
        known.iter().any(|gap| gap.label.as_deref() == Some(label) && gap.shard == Some(shard))
    };
    let of = first.shard().map_or(0, |shard| shard.of);
    let missing = (1..=of).filter(|index| !seen.contains_key(index)).map(|index| Shard { index, of });
    gaps.extend(missing.filter(|shard| !said(*shard)).map(|shard| {
        let what = format!("{} is {}", shard_words(shard), absence.into_str());
        MissingPart { absence, ..gap(Some(shard), what) }
    }));
    Ok(gaps)
}
