//! The one sentence: what a reader should know if they read nothing else.

use std::collections::BTreeSet;

use super::conclusion::{is_probably_worse, was_compared};
use super::{Conclusion, Difference, Row, Verdict};
use crate::model::NoReference;
use crate::model::text::{count, list, percent};

/// Names that a sentence holds before it says how many more there are.
const MOST_NAMED: usize = 3;

/// `rows` in the order of the report; `differences` and `advice` speak for an incomparable pair only.
pub fn sentence(conclusion: Conclusion, rows: &[Row], differences: &[Difference], advice: &str) -> String {
    let of = |verdict| rows.iter().filter(move |row| row.verdict == verdict);
    let compared = rows.iter().filter(|row| was_compared(row)).count();
    match conclusion {
        Conclusion::Incomparable => {
            let strict = differences.iter().filter(|difference| difference.strict);
            let fields: Vec<String> = strict
                .map(|field| {
                    format!("`{}` is {} on base and {} on head", field.field, field.base, field.head)
                })
                .collect();
            format!(
                "Nothing was compared, because the machines differ: {}; {advice}.",
                list(&fields, MOST_NAMED)
            )
        }
        Conclusion::Regressed => {
            let regressed: Vec<&Row> = of(Verdict::Regressed).collect();
            let names: Vec<String> = regressed.iter().map(|row| with_change(row)).collect();
            let cases = |rows: &mut dyn Iterator<Item = &Row>| {
                rows.map(|row| &row.case).collect::<BTreeSet<_>>().len()
            };
            let all = cases(&mut rows.iter().filter(|row| was_compared(row)));
            let some = cases(&mut regressed.iter().copied());
            let rest = rest(rows, &[Verdict::Invalid, Verdict::Missing, Verdict::Inconclusive]);
            format!("{some} of {} regressed: {}{rest}.", count(all, "case"), list(&names, MOST_NAMED))
        }
        _ if compared == 0 => {
            if rows.is_empty() {
                "Nothing was compared: neither side holds a measurement that can be judged.".into()
            } else {
                let verdicts = [Verdict::Invalid, Verdict::Missing, Verdict::New];
                format!("Nothing was compared{}.", rest(rows, &verdicts))
            }
        }
        Conclusion::Failed => {
            let rest = rest(rows, &[Verdict::Invalid, Verdict::Missing, Verdict::Inconclusive]);
            match probably_worse(rows) {
                Some(worse) => {
                    format!("{worse} in {}, and the comparison has gaps{rest}.", compared_rows(compared))
                }
                None => {
                    format!(
                        "Nothing regressed in {}, but the comparison has gaps{rest}.",
                        compared_rows(compared)
                    )
                }
            }
        }
        Conclusion::Inconclusive => {
            let names: Vec<String> = of(Verdict::Inconclusive).map(label).collect();
            let verb = if names.len() == 1 { "is" } else { "are" };
            if let Some(worse) = probably_worse(rows) {
                let (undecided, compared) = (names.len(), compared_rows(compared));
                let names = list(&names, MOST_NAMED);
                return format!("{worse}; {undecided} of {compared} {verb} inconclusive: {names}.");
            }
            if names.len() == compared {
                format!(
                    "Nothing could be decided: {} {verb} inconclusive: {}.",
                    compared_rows(compared),
                    list(&names, MOST_NAMED)
                )
            } else {
                format!(
                    "Nothing regressed, but {} of {} {verb} inconclusive: {}.",
                    names.len(),
                    compared_rows(compared),
                    list(&names, MOST_NAMED)
                )
            }
        }
        Conclusion::Pass => {
            let verb = if compared == 1 { "is" } else { "are" };
            let what = match of(Verdict::Improved).count() {
                0 => "unchanged",
                improved if improved == compared => "improved",
                _ => "unchanged or improved",
            };
            let new = rest(rows, &[Verdict::New]);
            format!("Nothing regressed: {compared} of {} {verb} {what}{new}.", compared_rows(compared))
        }
    }
}

/// `Not proven, but probably worse: a time 50 % worse (30 % to 70 %)`: the rows without a decision whose whole range lies on
/// the worse side; none where there is no such row.
fn probably_worse(rows: &[Row]) -> Option<String> {
    let worse = |row: &&Row| {
        let leans = row.change.as_ref().is_some_and(|change| change.low > 0.0);
        is_probably_worse(row) || row.verdict == Verdict::Inconclusive && leans
    };
    let names: Vec<String> = rows.iter().filter(worse).map(with_change).collect();
    (!names.is_empty()).then(|| format!("Not proven, but probably worse: {}", list(&names, MOST_NAMED)))
}

/// The sentence of a commit that was compared with itself because nothing was found to judge it against. `own`: what the rows
/// give; where they show more than noise, it stands.
pub fn without_reference(missing: NoReference, conclusion: Conclusion, own: String) -> String {
    let what = missing.words();
    match conclusion {
        Conclusion::Pass | Conclusion::Inconclusive => format!(
            "Nothing is decided: the commit was compared with itself, which shows noise alone, because {what}."
        ),
        _ => format!("{} The commit was compared with itself, because {what}.", own),
    }
}

fn compared_rows(rows: usize) -> String {
    count(rows, "compared row")
}

/// `; 2 are missing: a, b; 1 is inconclusive: c` for those of `verdicts` that occur.
fn rest(rows: &[Row], verdicts: &[Verdict]) -> String {
    let mut text = String::new();
    for verdict in verdicts {
        let names: Vec<String> = rows.iter().filter(|row| row.verdict == *verdict).map(label).collect();
        if !names.is_empty() {
            let verb = if names.len() == 1 { "is" } else { "are" };
            let names_listed = list(&names, MOST_NAMED);
            text += &format!("; {} {verb} {}: {names_listed}", names.len(), verdict.into_str());
        }
    }
    text
}

fn label(row: &Row) -> String {
    if row.metric.is_empty() { row.case.to_string() } else { format!("{} {}", row.case, row.metric) }
}

/// `kernels/gemm[n=1024] time 10.2 % worse (8.1 % to 12.3 %)`.
fn with_change(row: &Row) -> String {
    match &row.change {
        None if row.margin.is_some() => format!("{} worse, by an absolute difference", label(row)),
        None => format!("{} worse, from zero", label(row)),
        Some(change) if change.low == change.high => {
            format!("{} {} worse", label(row), percent(change.slowdown))
        }
        Some(change) => format!(
            "{} {} worse ({} to {})",
            label(row),
            percent(change.slowdown),
            percent(change.low),
            percent(change.high)
        ),
    }
}
