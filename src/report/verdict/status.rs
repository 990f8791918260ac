//! How a conclusion and a verdict show: as a word, a mark, a sign and a colour.

use std::collections::BTreeMap;

use crate::compare::{Conclusion, Verdict};
use crate::report::layout::terminal::Emphasis;

/// The conclusion's word as a headline: `PASS`.
pub(in crate::report) fn conclusion_word(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Pass => "PASS",
        Conclusion::Regressed => "REGRESSED",
        Conclusion::Failed => "FAILED",
        Conclusion::Inconclusive => "INCONCLUSIVE",
        Conclusion::Incomparable => "INCOMPARABLE",
    }
}

pub(in crate::report) fn conclusion_mark(conclusion: Conclusion) -> char {
    match conclusion {
        Conclusion::Pass => '✓',
        Conclusion::Regressed | Conclusion::Failed => '✗',
        Conclusion::Inconclusive | Conclusion::Incomparable => '?',
    }
}

pub(in crate::report) fn conclusion_sign(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Pass => "✅",
        Conclusion::Regressed | Conclusion::Failed => "❌",
        Conclusion::Inconclusive | Conclusion::Incomparable => "⚠️",
    }
}

pub(in crate::report) fn emphasis_of(conclusion: Conclusion) -> Emphasis {
    match conclusion {
        Conclusion::Pass => Emphasis::Good,
        Conclusion::Regressed | Conclusion::Failed => Emphasis::Bad,
        Conclusion::Inconclusive | Conclusion::Incomparable => Emphasis::Doubt,
    }
}

pub(in crate::report) fn emphasis_of_verdict(verdict: Verdict) -> Emphasis {
    match verdict {
        Verdict::Regressed | Verdict::Invalid | Verdict::Missing => Emphasis::Bad,
        Verdict::Inconclusive => Emphasis::Doubt,
        Verdict::Improved | Verdict::Unchanged => Emphasis::Good,
        Verdict::New => Emphasis::Plain,
    }
}

/// `2 regressed, 1 missing, 38 unchanged`.
pub(in crate::report) fn counts_text(counts: &BTreeMap<Verdict, u32>) -> String {
    let present = counts.iter().filter(|(_, count)| **count > 0);
    present.map(|(verdict, count)| format!("{count} {}", verdict.into_str())).collect::<Vec<_>>().join(", ")
}
