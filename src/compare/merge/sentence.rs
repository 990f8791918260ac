//! What a reader should know of several verdicts if they read nothing else: the most severe first.

use std::cmp::Reverse;

use strum::IntoEnumIterator;

use super::parts::{MissingPart, named};
use crate::compare::comparability::advice;
use crate::compare::conclusion::{most_severe, was_compared};
use crate::compare::sentence::{sentence, without_reference};
use crate::compare::{Conclusion, Group, Verdict, VerdictDocument};
use crate::model::Exit;
use crate::model::text::{count, list};

/// Machines whose own sentence is given in full.
const MOST_MACHINES: usize = 3;
const MOST_NAMED: usize = 5;

/// The sentence of one verdict by its rows, and what is missing of it.
pub fn of_verdict(document: &VerdictDocument, gaps: &[&str]) -> String {
    let compared = document.rows.iter().any(was_compared);
    // Some shards compared, and one could not: that nothing was compared would be wrong.
    let conclusion = match document.conclusion {
        Conclusion::Incomparable if compared => Conclusion::Failed,
        conclusion => conclusion,
    };
    let own = sentence(conclusion, &document.rows, &document.differences, &advice(&document.differences));
    let own = match document.method.no_reference {
        Some(missing) => without_reference(missing, conclusion, own),
        None => own,
    };
    match gaps {
        [] => own,
        gaps => format!("{}; {}.", own.trim_end_matches('.'), named(gaps)),
    }
}

/// The sentence of several machines.
pub fn of_groups(groups: &[Group], gaps: &[MissingPart]) -> String {
    // Those of a machine stand in its own sentence.
    let others: Vec<&str> = gaps
        .iter()
        .filter(|gap| !groups.iter().any(|group| gap.label.as_ref() == Some(&group.label)))
        .map(|gap| &*gap.what)
        .collect();
    let mut parts: Vec<String> = match groups {
        [only] => vec![bare(&only.verdict)],
        groups => of_several(groups),
    };
    if !others.is_empty() {
        let passed = groups.iter().all(|group| group.verdict.conclusion == Conclusion::Pass);
        let but = if passed { "but the comparison has gaps: " } else { "" };
        parts.push(format!("{but}{}", named(&others)));
    }
    parts.join("; ") + "."
}

fn bare(document: &VerdictDocument) -> String {
    document.sentence.trim_end_matches('.').to_owned()
}

fn of_several(groups: &[Group]) -> Vec<String> {
    let (passed, mut others): (Vec<&Group>, Vec<&Group>) =
        groups.iter().partition(|group| group.verdict.conclusion == Conclusion::Pass);
    let names = |groups: &[&Group]| groups.iter().map(|group| called(group)).collect::<Vec<_>>();
    if others.is_empty() {
        let of =
            |verdict| -> u32 { groups.iter().filter_map(|group| group.verdict.counts.get(&verdict)).sum() };
        let (unchanged, improved) = (of(Verdict::Unchanged), of(Verdict::Improved));
        let rows = count((unchanged + improved) as usize, "compared row");
        let improved = if improved > 0 { format!(", {improved} of them improved") } else { String::new() };
        let machines = count(groups.len(), "machine");
        let names = list(&names(&passed), MOST_NAMED);
        return vec![format!("Nothing regressed on any of {machines} ({names}): {rows}{improved}")];
    }
    others.sort_by_key(|group| Reverse(weight(group)));
    let mut parts: Vec<String> = others
        .iter()
        .take(MOST_MACHINES)
        .map(|group| format!("{}: {}", called(group), bare(&group.verdict)))
        .collect();
    if others.len() > MOST_MACHINES {
        let rest = &others[MOST_MACHINES..];
        let verb = if rest.len() == 1 { "is" } else { "are" };
        parts.push(format!("{} {verb} not green either", list(&names(rest), MOST_NAMED)));
    }
    if !passed.is_empty() {
        parts.push(format!("nothing regressed on {}", list(&names(&passed), MOST_NAMED)));
    }
    parts
}

/// More severe conclusions weigh more; of two alike the more severe exit code.
fn weight(group: &Group) -> (usize, usize) {
    const LIGHTEST_FIRST: [Conclusion; 5] = [
        Conclusion::Pass,
        Conclusion::Inconclusive,
        Conclusion::Failed,
        Conclusion::Incomparable,
        Conclusion::Regressed,
    ];
    let conclusion = group.verdict.conclusion;
    let place =
        LIGHTEST_FIRST.iter().filter(|lighter| most_severe(**lighter, conclusion) == conclusion).count();
    let exit = Exit::from_repr(group.verdict.exit_code).unwrap_or(Exit::Internal);
    let exits = Exit::iter().filter(|lighter| lighter.most_severe(exit) == exit).count();
    (place, exits)
}

fn called(group: &Group) -> String {
    if group.label.is_empty() { "the machine without a label".into() } else { group.label.clone() }
}
