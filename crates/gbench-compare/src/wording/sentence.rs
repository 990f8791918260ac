//! The one sentence of a verdict, and of several machines: what a reader should know if they read nothing else.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use strum::IntoEnumIterator;

use super::warning::Warning;
use crate::merge::document::Group;
use crate::verdict::conclusion::{is_probably_worse, no_time_decided, severity, varies_more, was_compared};
use crate::verdict::document::{Difference, Row, VerdictDocument};
use crate::verdict::outcome::{Conclusion, Verdict};
use gbench_model::text::{count, list, percent};
use gbench_model::{Exit, NoReference, error_of_result};

const MAX_NAMED: usize = 3;
const MAX_MACHINES: usize = 3;
const MAX_LISTED: usize = 5;

/// The sentence of one verdict by its conclusion, its rows in their order and its differences; and what is missing of it.
pub(crate) fn of_verdict(document: &VerdictDocument, gaps: &[String]) -> String {
    let compared = document.rows.iter().any(was_compared);
    // Some shards compared, and one could not: that nothing was compared would be wrong.
    let conclusion = match document.conclusion {
        Conclusion::Incomparable if compared => Conclusion::Failed,
        conclusion => conclusion,
    };
    let own = of_rows(conclusion, &document.rows, &document.differences);
    let own = match document.method.no_reference {
        Some(missing) => without_reference(missing, conclusion, own),
        None => own,
    };
    if gaps.is_empty() { own } else { format!("{}; {}.", own.trim_end_matches('.'), of_gaps(gaps)) }
}

fn of_rows(conclusion: Conclusion, rows: &[Row], differences: &[Difference]) -> String {
    let compared = rows.iter().filter(|row| was_compared(row)).count();
    let compared_rows = count(compared, "compared row");
    let gaps = || {
        let verdicts = [
            Verdict::Invalid,
            Verdict::Missing,
            Verdict::Inconclusive,
            Verdict::Broken,
            Verdict::Mended,
            Verdict::Gone,
        ];
        rest(rows, &verdicts)
    };
    match conclusion {
        Conclusion::Incomparable => incomparable(differences),
        Conclusion::Regressed => {
            let cases = |verdicts: &dyn Fn(&Row) -> bool| {
                let rows = rows.iter().filter(|row| verdicts(row) && row.likeliest().is_none());
                rows.map(|row| &row.case).collect::<BTreeSet<_>>().len()
            };
            let red = || rows.iter().filter(|row| row.verdict == Verdict::Regressed);
            let of_cases: Vec<String> =
                red().filter(|row| row.likeliest().is_none()).map(with_change).collect();
            let of_programs: Vec<String> =
                red().filter_map(|row| Some(of_program(row, row.likeliest()?))).collect();
            let regressed = cases(&|row| row.verdict == Verdict::Regressed);
            let all = count(cases(&was_compared), "case");
            let some = format!("{regressed} of {all} regressed: {}", list(&of_cases, MAX_NAMED));
            let parts =
                [(some, of_cases.is_empty()), (list(&of_programs, MAX_NAMED), of_programs.is_empty())];
            let parts: Vec<String> =
                parts.into_iter().filter(|(_, is_empty)| !is_empty).map(|(text, _)| text).collect();
            format!("{}{}.", parts.join("; "), gaps())
        }
        _ if rows.is_empty() => {
            "Nothing was compared: neither side holds a measurement that can be judged.".into()
        }
        _ if compared == 0 => {
            let verdicts =
                [Verdict::Invalid, Verdict::Missing, Verdict::Broken, Verdict::Mended, Verdict::New];
            format!("Nothing was compared{}.", rest(rows, &verdicts))
        }
        Conclusion::Failed => match probably_worse(rows).or_else(|| noisier(rows)) {
            Some(worse) => format!("{worse} in {compared_rows}, and the comparison has gaps{}.", gaps()),
            None => {
                let decided = match rows.iter().filter(|row| row.verdict == Verdict::Inconclusive).count() {
                    0 => format!("Nothing regressed in {compared_rows}, but"),
                    open if open == compared => format!("Nothing could be decided in {compared_rows}, and"),
                    open => format!("Nothing regressed in {}, but", count(compared - open, "decided row")),
                };
                format!("{decided} the comparison has gaps{}.", gaps())
            }
        },
        Conclusion::Inconclusive => {
            let names = names(rows, Verdict::Inconclusive, label);
            let some = format!("{} inconclusive: {}", are(names.len()), list(&names, MAX_NAMED));
            let of_compared = format!("{} of {compared_rows}", names.len());
            let rest = rest(rows, &[Verdict::Broken, Verdict::Mended, Verdict::Gone]);
            if names.is_empty() {
                return format!("Nothing regressed in {compared_rows}{rest}.");
            }
            let is_all = names.len() == compared;
            match probably_worse(rows).or_else(|| noisier(rows).filter(|_| !is_all)) {
                Some(worse) => format!("{worse}; {of_compared} {some}{rest}."),
                None if is_all => {
                    format!("Nothing could be decided: {compared_rows} {some}{rest}.")
                }
                None if no_time_decided(rows) => {
                    // An unchanged error of the result shows nothing about a time.
                    let is_error = |row: &&Row| error_of_result(&row.metric).is_some();
                    let settled = |row: &Row| was_compared(row) && row.verdict != Verdict::Inconclusive;
                    let errors = rows.iter().filter(is_error).filter(|row| settled(row)).count();
                    let others = count(compared - errors, "compared row");
                    match names.len() {
                        open if open == compared - errors => {
                            format!("No time was decided: {others} {some}{rest}.")
                        }
                        open => format!("No time was decided: {open} of {others} {some}{rest}."),
                    }
                }
                None => format!("Nothing regressed, but {of_compared} {some}{rest}."),
            }
        }
        Conclusion::Pass => {
            let what = match rows.iter().filter(|row| row.verdict == Verdict::Improved).count() {
                0 => "unchanged",
                improved if improved == compared => "improved",
                _ => "unchanged or improved",
            };
            let new = rest(rows, &[Verdict::Mended, Verdict::Gone, Verdict::New]);
            format!("Nothing regressed: {compared} of {compared_rows} {} {what}{new}.", are(compared))
        }
    }
}

fn incomparable(differences: &[Difference]) -> String {
    let strict = || differences.iter().filter(|difference| difference.strict);
    let fields = strict().map(|Difference { field, base, head, .. }| {
        format!("`{field}` is {base} on base and {head} on head")
    });
    let settings = strict().map(|Difference { field, .. }| {
        if field.contains('.') {
            format!("\"{field}\" = \"annotate\"")
        } else {
            format!("{field} = \"annotate\"")
        }
    });
    format!(
        "Nothing was compared, because the machines differ: {}; measure both sides on one machine, or set `{}` under \
         `[gate.match]`.",
        list(&fields.collect::<Vec<_>>(), MAX_NAMED),
        settings.collect::<Vec<_>>().join("`, `")
    )
}

/// `Not proven, but probably worse: a time 50 % worse (30 % to 70 %)`: the rows that change the exit code for this reason.
/// `None` if there is no such row.
fn probably_worse(rows: &[Row]) -> Option<String> {
    let names: Vec<String> = rows.iter().filter(|row| is_probably_worse(row)).map(with_change).collect();
    (!names.is_empty()).then(|| format!("Not proven, but probably worse: {}", list(&names, MAX_NAMED)))
}

fn noisier(rows: &[Row]) -> Option<String> {
    let names: Vec<String> = rows.iter().filter(|row| varies_more(row)).map(label).collect();
    (!names.is_empty()).then(|| format!("Head varies far more than base: {}", list(&names, MAX_NAMED)))
}

/// For a commit that was compared with itself for want of a reference. `own`: the sentence of the rows; where they show
/// more than noise, it is kept.
fn without_reference(missing: NoReference, conclusion: Conclusion, own: String) -> String {
    let what = missing.words();
    let is_undecided = matches!(conclusion, Conclusion::Pass | Conclusion::Inconclusive);
    if matches!(missing, NoReference::OnlyBuiltIn | NoReference::OwnSkipped) {
        let nothing = format!("No line of the repository was measured: {what}.");
        return if is_undecided { nothing } else { format!("{nothing} {own}") };
    }
    match conclusion {
        Conclusion::Pass | Conclusion::Inconclusive => format!(
            "Nothing is decided: the commit was compared with itself, which shows noise alone, because {what}."
        ),
        _ => format!("{own} The commit was compared with itself, because {what}."),
    }
}

/// `; 2 are missing: a, b; 1 is inconclusive: c` for those of `verdicts` that occur.
fn rest(rows: &[Row], verdicts: &[Verdict]) -> String {
    let of = |verdict: &Verdict| {
        let names = names(rows, *verdict, label);
        let number = names.len();
        (number > 0).then(|| format!("; {number} {} {verdict}: {}", are(number), list(&names, MAX_NAMED)))
    };
    verdicts.iter().filter_map(of).collect()
}

fn are(number: usize) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

fn names(rows: &[Row], verdict: Verdict, name: impl Fn(&Row) -> String) -> Vec<String> {
    rows.iter().filter(|row| row.verdict == verdict).map(name).collect()
}

/// `program s/bench regressed, most likely s/bench[case=a] time 20 % worse (3 % to 31 %)`.
fn of_program(row: &Row, likeliest: &str) -> String {
    format!("program {} regressed, most likely {likeliest} {} {}", row.case, row.metric, by(row))
}

fn label(row: &Row) -> String {
    if row.metric.is_empty() { row.case.to_string() } else { format!("{} {}", row.case, row.metric) }
}

/// `kernels/gemm[n=1024] time 10.2 % worse (8.1 % to 12.3 %)`.
fn with_change(row: &Row) -> String {
    format!("{} {}", label(row), by(row))
}

/// `10.2 % worse (8.1 % to 12.3 %)`.
fn by(row: &Row) -> String {
    match &row.change {
        None if row.margin.is_some() => "worse, by an absolute difference".into(),
        None => "worse, from zero".into(),
        Some(change) => {
            let [worse, low, high] = [change.slowdown, change.low, change.high].map(percent);
            let range = if change.low == change.high { String::new() } else { format!(" ({low} to {high})") };
            format!("{worse} worse{range}")
        }
    }
}

/// The sentence of several machines, the most severe first. `gaps`: those of no machine among them.
pub(crate) fn of_machines(groups: &[Group], gaps: &[String]) -> String {
    let mut parts: Vec<String> = match groups {
        [only] => vec![bare(&only.verdict)],
        groups => of_several(groups),
    };
    if !gaps.is_empty() {
        let passed = groups.iter().all(|group| group.verdict.conclusion == Conclusion::Pass);
        let but = if passed { "but the comparison has gaps: " } else { "" };
        parts.push(format!("{but}{}", of_gaps(gaps)));
    }
    parts.join("; ") + "."
}

fn of_gaps(gaps: &[String]) -> String {
    let shown = gaps[..gaps.len().min(MAX_LISTED)].join("; ");
    match gaps.len().saturating_sub(MAX_LISTED) {
        0 => shown,
        more => format!("{shown}; and {}", count(more, "more gap")),
    }
}

fn bare(document: &VerdictDocument) -> String {
    document.sentence.trim_end_matches('.').to_owned()
}

fn of_several(groups: &[Group]) -> Vec<String> {
    let (passed, mut others): (Vec<&Group>, Vec<&Group>) =
        groups.iter().partition(|group| group.verdict.conclusion == Conclusion::Pass);
    let names = |groups: &[&Group]| {
        let names: Vec<String> = groups.iter().map(|group| called(group)).collect();
        list(&names, MAX_LISTED)
    };
    if others.is_empty() {
        let of =
            |verdict| -> u32 { groups.iter().filter_map(|group| group.verdict.counts.get(&verdict)).sum() };
        let (unchanged, improved) = (of(Verdict::Unchanged), of(Verdict::Improved));
        let rows = count((unchanged + improved) as usize, "compared row");
        let improved = if improved > 0 { format!(", {improved} of them improved") } else { String::new() };
        let machines = count(groups.len(), "machine");
        return vec![format!(
            "Nothing regressed on any of {machines} ({}): {rows}{improved}",
            names(&passed)
        )];
    }
    others.sort_by_key(|group| Reverse(weight(group)));
    let (full, rest) = others.split_at(others.len().min(MAX_MACHINES));
    let mut parts: Vec<String> =
        full.iter().map(|group| format!("{}: {}", called(group), bare(&group.verdict))).collect();
    if !rest.is_empty() {
        parts.push(format!("{} {} not green either", names(rest), are(rest.len())));
    }
    if !passed.is_empty() {
        parts.push(format!("nothing regressed on {}", names(&passed)));
    }
    parts
}

fn weight(group: &Group) -> (u8, usize) {
    let exit = Exit::from_repr(group.verdict.exit_code).unwrap_or(Exit::Internal);
    let exits = Exit::iter().filter(|lighter| lighter.most_severe(exit) == exit).count();
    (severity(group.verdict.conclusion), exits)
}

fn called(group: &Group) -> String {
    if group.label.is_empty() { "the machine without a label".into() } else { group.label.clone() }
}

impl VerdictDocument {
    pub(crate) fn coded_warnings(&self) -> impl Iterator<Item = (String, Warning)> {
        let codes = self.warning_codes.iter().cloned().chain(std::iter::repeat(Warning::Uncoded {}));
        self.warnings.iter().cloned().zip(codes)
    }

    /// Adds warnings, each with its code.
    pub fn warn(&mut self, more: Vec<Warning>) {
        let coded: Vec<_> = self.coded_warnings().chain(more.into_iter().map(Warning::coded)).collect();
        (self.warnings, self.warning_codes) = coded.into_iter().unzip();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_gaps_than_are_named_are_counted() {
        let gaps: Vec<String> = (1..=7).map(|index| format!("shard {index} of 7 is missing")).collect();
        let text = of_gaps(&gaps);
        assert!(text.ends_with("shard 5 of 7 is missing; and 2 more gaps"), "{text}");
        assert!(!of_gaps(&gaps[..5]).contains("more"));
    }
}
