//! The one place with sentences: reasons, advice and warnings, each a value and its text, and what is said of the whole.
//! Rules decide on values; a document keeps the text beside them, so that documents without the values are shown as well.

mod advice;
mod calibration;
mod device_code;
mod parts;
mod reason;
mod sentence;
mod telemetry;
mod warning;

pub use advice::Advice;
pub use calibration::count_it;
pub(crate) use calibration::{too_few_for_a_red, too_few_rounds, why_and_help};
pub use reason::{Reason, SettingEffect};
pub(crate) use sentence::{of_machines, of_verdict};
pub use warning::{HeldDown, Warning};

use super::{MemberShift, PairShift, Row, RowCycles, Verdict, VerdictDocument};
use gbench_model::text::{count, percent, signed_percent};

/// That a GPU's clocks were held down while a row was measured, whatever its verdict rests on.
pub(crate) struct Remark {
    pub reasons: Vec<String>,
    /// Processes that met it, and all.
    pub base: (usize, usize),
    pub head: (usize, usize),
}

impl Row {
    /// Says why the row has its verdict and what to do about it, as values and as text.
    pub(super) fn explain(&mut self, why: Option<Reason>, next: Option<Advice>) {
        self.reason = why.as_ref().map(ToString::to_string).unwrap_or_default();
        self.next = next.as_ref().map(ToString::to_string).unwrap_or_default();
        (self.why, self.advice) = (why, next);
    }

    /// Says of a count that changed by how much, and what became of the time beside it.
    pub(super) fn add_time(&mut self, time: Verdict) {
        let share = self.change.as_ref().map_or(0.0, |change| change.ratio - 1.0);
        let more = if share < 0.0 { "fewer" } else { "more" };
        let too = if time == self.verdict { " too" } else { "" };
        let time_is = match time {
            Verdict::Inconclusive => "time is open".to_owned(),
            Verdict::Regressed | Verdict::Improved => format!("time {time}{too}"),
            other => format!("time is {other}"),
        };
        let joint = if self.reason.is_empty() { "" } else { ": " };
        let size = percent(share.abs());
        self.reason = format!("{size} {more} instructions{joint}{}; {time_is}", self.reason);
        self.time_verdict = Some(time);
    }

    /// Says of a time what its cycles say, which do not depend on the card's clock.
    pub(super) fn add_cycles(&mut self, cycles: RowCycles) {
        let joint = if self.reason.is_empty() { "" } else { "; " };
        let size = cycles.change.as_ref().map_or_else(String::new, |change| {
            let verdict = match (cycles.verdict, self.verdict) {
                (Verdict::Regressed, Verdict::Regressed) => "regressed too".to_owned(),
                (Verdict::Inconclusive, _) => "open".to_owned(),
                (other, _) => other.to_string(),
            };
            format!("{} ({verdict})", signed_percent(change.ratio - 1.0))
        });
        let said = if size.is_empty() { cycles.verdict.to_string() } else { size };
        self.reason += &format!("{joint}in cycles: {said}");
        if (cycles.verdict, self.verdict) == (Verdict::Unchanged, Verdict::Regressed) {
            self.reason += ", so that the card's clock moved and not the code";
        }
        self.in_cycles = Some(cycles);
    }

    /// Says of a speedup that changed what became of each member. `instead`: what to do where the baseline alone explains it.
    pub(super) fn add_members(&mut self, pair: PairShift, instead: Option<Advice>) {
        let joint = if self.reason.is_empty() { "" } else { "; " };
        self.reason += &format!(
            "{joint}the baseline {}, the optimized variant {}",
            became(pair.baseline),
            became(pair.optimized)
        );
        if let Some(advice) = instead {
            self.next = advice.to_string();
            self.advice = Some(advice);
        }
        self.pair = Some(pair);
    }

    /// Adds a circumstance to the reason, which does not rest on it.
    pub(super) fn add_remark(&mut self, Remark { reasons, base, head }: &Remark) {
        let joint = if self.reason.is_empty() { "" } else { "; meanwhile " };
        self.reason += &format!(
            "{joint}a GPU's clocks were held down ({}) in {} of {} on base and {} of {} on head",
            reasons.join(", "),
            base.0,
            count(base.1, "process"),
            head.0,
            count(head.1, "process"),
        );
    }
}

/// `became 50 % faster`, `did not change`, `did not change by enough (+1.4 %)`.
fn became(MemberShift { verdict, slowdown }: MemberShift) -> String {
    /// A change that is not worth a figure.
    const NOTHING: f64 = 0.0005;
    let size = percent(slowdown.abs());
    match verdict {
        Verdict::Regressed => format!("became {size} slower"),
        Verdict::Improved => format!("became {size} faster"),
        Verdict::Unchanged if slowdown.abs() < NOTHING => "did not change".to_owned(),
        Verdict::Unchanged => format!("is unchanged by itself ({})", signed_percent(slowdown)),
        _ => format!("is open ({})", signed_percent(slowdown)),
    }
}

impl VerdictDocument {
    /// Every warning with its code.
    pub(super) fn coded_warnings(&self) -> impl Iterator<Item = (String, Warning)> {
        let codes = self.warning_codes.iter().cloned().chain(std::iter::repeat(Warning::Uncoded {}));
        self.warnings.iter().cloned().zip(codes)
    }

    /// Adds warnings, each with its code.
    pub fn warn(&mut self, more: Vec<Warning>) {
        let coded: Vec<_> = self.coded_warnings().chain(more.into_iter().map(Warning::coded)).collect();
        (self.warnings, self.warning_codes) = coded.into_iter().unzip();
    }
}

impl Warning {
    /// With its text before it.
    pub(super) fn coded(self) -> (String, Self) {
        (self.to_string(), self)
    }
}

/// How many there are, and the first `most` of them.
pub(crate) fn counted(names: &[String], most: usize) -> (u32, Vec<String>) {
    (names.len() as u32, names[..names.len().min(most)].to_vec())
}
