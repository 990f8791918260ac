//! The steps to the verdict of one row: the screen, the fresh rounds, the doubts; or why no rounds decided it.

use std::f64::consts::LN_10;

use super::sentences::{Explained, Towards, e_value, least, side_of, slowdown};
use crate::layout::number;
use gbench_compare::{Basis, Change, Conclusion, DecisionTrace, SequentialStep, Verdict};
use gbench_model::text::{count, percent};

pub(super) fn trace(explained: &Explained) -> Vec<String> {
    match explained.trace {
        Some(trace) => by_rounds(explained, trace),
        None => without_rounds(explained),
    }
}

fn step_range(trace: &DecisionTrace, step: &SequentialStep) -> String {
    let end = |difference| slowdown(trace, difference);
    format!("{} to {}", end(step.mean - step.half), end(step.mean + step.half))
}

fn by_rounds(explained: &Explained, trace: &DecisionTrace) -> Vec<String> {
    let row = explained.row;
    let (limits, result) = (&trace.limits, &trace.result);
    // An absolute margin may have widened the row's target.
    let widened = trace.rounds.scale.slowdown(trace.target).filter(|_| trace.target > row.threshold);
    let target = widened.map_or_else(|| least(row), percent);
    let mut said = Vec::new();
    if let Some(change) = &row.change {
        said.push(estimate(result.rounds, change));
    }
    if result.rounds < limits.screen_rounds {
        said.push(format!(
            "{} of the {} that the screen takes: nothing is decided before it is over",
            count(result.rounds, "round"),
            limits.screen_rounds
        ));
        return said;
    }
    let ruled = trace.ruled();
    let screened = trace.steps.iter().find(|step| step.rounds == limits.screen_rounds);
    let seen = screened.map_or(String::new(), |step| format!(", {},", step_range(trace, step)));
    if ruled == Verdict::Unchanged && result.rounds == limits.screen_rounds {
        said.push(format!(
            "screened out as unchanged: after the first {} all of its range{seen} lay within {target} either way, so no \
             further round was spent on it",
            count(limits.screen_rounds, "round"),
        ));
    } else {
        said.push(format!(
            "the screen of {} left it open: its range{seen} did not lie within {target} either way; it is one of {} that \
             share the chance of a false alarm",
            count(limits.screen_rounds, "round"),
            count(trace.candidates, sharing(trace)),
        ));
        said.push(confirmed(trace, ruled, &target));
    }
    if let Some(least) = row.sequence.as_ref().and_then(|sequence| sequence.at_least) {
        said.push(format!(
            "the slowdown is at least {}; that and every other red of this suite hold together with {}",
            percent(least),
            percent(1.0 - limits.alpha)
        ));
    }
    if let Some(detectable) = row.change.as_ref().and_then(|change| change.detectable) {
        said.push(format!(
            "{} with this noise would find a slowdown of {} or more",
            count(limits.most_rounds, "round"),
            percent(detectable)
        ));
    }
    let later = trace.measured_rounds.len().saturating_sub(result.rounds);
    if later > 0 {
        said.push(format!("{} after the decision were not looked at", count(later, "round")));
    }
    if ruled != row.verdict {
        said.push(format!(
            "by its rounds alone it would be {}; it is {}, because {}",
            ruled.into_str(),
            row.verdict.into_str(),
            row.reason
        ));
    }
    said
}

fn estimate(rounds: usize, change: &Change) -> String {
    if !change.is_known() {
        return format!("over {} nothing is known of the change", count(rounds, "round"));
    }
    format!("over {} {} for this row alone)", count(rounds, "round"), with_range(change))
}

fn sharing(trace: &DecisionTrace) -> &'static str {
    if trace.counts_all_rounds() { "row" } else { "candidate" }
}

/// Without the closing bracket, for an addition: `the change is +2.9 %, and its range +2.2 % to +3.6 % (99 % confidence`.
fn with_range(change: &Change) -> String {
    let [slowdown, low, high] = [change.slowdown, change.low, change.high].map(number::signed_percent);
    format!(
        "the change is {slowdown}, and its range {low} to {high} ({} confidence",
        percent(change.confidence)
    )
}

fn confirmed(trace: &DecisionTrace, ruled: Verdict, target: &str) -> String {
    let (limits, result) = (&trace.limits, &trace.result);
    let fresh = match result.rounds.saturating_sub(result.confirms_from) {
        all if trace.counts_all_rounds() && result.confirms_from == 0 => count(all, "round"),
        0 => count(result.rounds - limits.screen_rounds, "further round of the screen"),
        own => count(own, "fresh round"),
    };
    let least = trace
        .rounds
        .scale
        .slowdown(trace.min_effect)
        .map_or_else(|| number::figure(trace.min_effect), percent);
    let [worse, better] = [result.ln_worse, result.ln_better].map(|ln| e_value(ln / LN_10));
    let [red, green] = [trace.log10_red(), trace.log10_improved()].map(e_value);
    let proven = |way: &str, found: &str, needed: f64, alpha: f64| {
        // By Holm's rule, rows that were decided before lower the threshold of the others.
        let rows = (10_f64.powf(needed) * alpha).round() as usize;
        let left = if rows < trace.candidates { " left" } else { "" };
        format!(
            "over {fresh} the evidence that it is more than {least} {way} grew to an e-value of {found}; {needed} was \
             needed ({rows}{left} / {alpha}). Without a change, a {one} ever reaches this with a chance of at most 1 in {needed}",
            needed = e_value(needed),
            rows = count(rows, sharing(trace)),
            alpha = percent(alpha),
            one = sharing(trace),
        )
    };
    let by_ranks = match trace.certified_by() {
        Some(Basis::SignedRanks) => " by signed ranks (Hodges-Lehmann; a few wild rounds do not widen it)",
        Some(Basis::Orders) => {
            " by the contrast of the two orders (the process that ran second was slower or faster in every case)"
        }
        Some(Basis::StudentT) | None => "",
    };
    match ruled {
        Verdict::Regressed => proven("worse", &worse, trace.log10_red(), limits.alpha),
        Verdict::Improved => proven("better", &better, trace.log10_improved(), limits.alpha_improved),
        Verdict::Unchanged => format!(
            "after {fresh} all of its range{by_ranks} lay within {target} either way: certified unchanged. The evidence \
             for more than {least} worse had come to an e-value of {worse} of the {red} needed"
        ),
        _ => {
            let (side, _) = side_of(trace);
            let (found, needed) = match side {
                Towards::Worse => (worse, red),
                Towards::Better => (better, green),
            };
            format!(
                "after {fresh} it is still open. For {}, the evidence has an e-value of {found}, and {needed} is needed; \
                 for \"unchanged\", its whole range must lie within {target} either way, and it does not",
                side.into_str()
            )
        }
    }
}

fn without_rounds(explained: &Explained) -> Vec<String> {
    let (document, row) = (explained.document, explained.row);
    let mut said = Vec::new();
    if document.conclusion == Conclusion::Incomparable {
        said.push(document.sentence.clone());
        return said;
    }
    let Some(change) = &row.change else {
        said.push(format!("no rounds decided it, for there is nothing to compare: {}", row.reason));
        return said;
    };
    said.push(match (&document.method.rounds, change.low == change.high) {
        (Some(_), true) => "no rounds decided it: its values do not vary and were compared exactly".to_owned(),
        (Some(_), false) if row.sequence.is_some() => {
            "a verdict alone contains the result of its rounds, not the rounds: explain the comparison's folder or id".to_owned()
        }
        (Some(_), false) => "no rounds decided it: its processes were not measured in rounds".to_owned(),
        (None, _) => format!(
            "the two records were not measured in rounds, so that the rule `{}` judged them: over processes that ran at \
             different times",
            document.method.rule
        ),
    });
    let p = change
        .adjusted_p
        .map_or(String::new(), |p| format!(", {} corrected over the suite", number::p_value(p)));
    said.push(if change.low == change.high {
        format!("the change is {}{p}", number::signed_percent(change.slowdown))
    } else {
        format!("{}){p}; it matters from {} on", with_range(change), percent(row.threshold))
    });
    said.extend((!row.reason.is_empty()).then(|| row.reason.clone()));
    if let Some(detectable) = change.detectable {
        said.push(format!(
            "so many processes with this spread would find a slowdown of {} or more",
            percent(detectable)
        ));
    }
    said
}
