//! The reason and the advice of a row, and the remarks behind its reason.

use derive_more::Display;

use super::advice::Advice;
use super::reason::Reason;
use crate::remarks::device_code::CaseCode;
use crate::verdict::document::{MemberShift, PairShift, PeakRate, Row, RowCycles, RowPeak};
use crate::verdict::outcome::Verdict;
use gbench_model::text::{count, percent, signed_percent};

/// A GPU's clocks were held down while a row was measured, whatever its verdict rests on.
#[derive(Display)]
#[display(
    "a GPU's clocks were held down ({}) in {} of {} on base and {} of {} on head",
    reasons.join(", "), base.0, count(base.1, "process"), head.0, count(head.1, "process")
)]
pub(crate) struct SlowedClocks {
    pub reasons: Vec<String>,
    /// Processes that met it, and all.
    pub base: (usize, usize),
    pub head: (usize, usize),
}

impl Row {
    /// Sets the reason and the advice, as values and as text.
    pub(crate) fn explain(&mut self, why: Option<Reason>, next: Option<Advice>) {
        self.reason = why.as_ref().map(ToString::to_string).unwrap_or_default();
        self.next = next.as_ref().map(ToString::to_string).unwrap_or_default();
        (self.why, self.advice) = (why, next);
    }

    /// Replaces advice that cannot be followed with files of other programs.
    pub(crate) fn advise_for_files(&mut self) {
        self.advice = self.advice.take().map(Advice::for_files);
        self.next = self.advice.as_ref().map(ToString::to_string).unwrap_or_default();
    }

    /// Appends to the reason the remarks that do not decide the row. `code`: that of its case.
    pub(crate) fn tell(&mut self, held_clocks: Option<&SlowedClocks>, code: Option<&CaseCode>) {
        let mut text = std::mem::take(&mut self.reason);
        join(&mut text, "; meanwhile ", held_clocks.map(ToString::to_string));
        join(&mut text, "; ", self.pair.map(of_members));
        if let Some(time) = self.time_verdict {
            let of_reason = Some(std::mem::replace(&mut text, self.of_count())).filter(|it| !it.is_empty());
            join(&mut text, ": ", of_reason);
            join(&mut text, "; ", Some(self.of_time(time)));
        }
        join(&mut text, "; ", self.in_cycles.as_ref().map(|cycles| self.of_cycles(cycles)));
        join(&mut text, "; ", self.of_peak.map(of_peak));
        let is_changed = matches!(self.verdict, Verdict::Regressed | Verdict::Improved);
        let code = code.filter(|_| is_changed && self.device_code.is_some());
        join(&mut text, "; ", code.and_then(CaseCode::remark));
        for remark in self.telemetry.iter().flat_map(|telemetry| telemetry.sentences()) {
            join(&mut text, "; meanwhile ", Some(remark));
        }
        self.reason = text;
    }

    fn of_count(&self) -> String {
        let share = self.change.as_ref().map_or(0.0, |change| change.ratio - 1.0);
        let more = if share < 0.0 { "fewer" } else { "more" };
        format!("{} {more} instructions", percent(share.abs()))
    }

    fn of_time(&self, time: Verdict) -> String {
        match time {
            Verdict::Inconclusive => "time is open".to_owned(),
            Verdict::Regressed | Verdict::Improved if time == self.verdict => format!("time {time} too"),
            Verdict::Regressed | Verdict::Improved => format!("time {time}"),
            other => format!("time is {other}"),
        }
    }

    fn of_cycles(&self, cycles: &RowCycles) -> String {
        let said = match &cycles.change {
            None => cycles.verdict.to_string(),
            Some(change) => {
                let verdict = match (cycles.verdict, self.verdict) {
                    (Verdict::Regressed, Verdict::Regressed) => "regressed too".to_owned(),
                    (Verdict::Inconclusive, _) => "open".to_owned(),
                    (other, _) => other.to_string(),
                };
                format!("{} ({verdict})", signed_percent(change.ratio - 1.0))
            }
        };
        let of_clock = match (cycles.verdict, self.verdict) {
            (Verdict::Unchanged, Verdict::Regressed) => ", so that the card's clock moved and not the code",
            _ => "",
        };
        format!("in cycles: {said}{of_clock}")
    }
}

fn join(text: &mut String, joint: &str, remark: Option<String>) {
    let Some(remark) = remark else { return };
    *text += if text.is_empty() { "" } else { joint };
    *text += &remark;
}

/// `on the memory side of the roofline, at 62 % of the card's bandwidth (base 71 %)`.
fn of_peak(RowPeak { rate, of_roofline, base, head }: RowPeak) -> String {
    let (side, peak) = match rate {
        PeakRate::Bytes => ("memory", "the card's memory bandwidth"),
        PeakRate::Flops => ("arithmetic", "the card's peak FLOP/s"),
    };
    if rate == PeakRate::Bytes && [base, head].into_iter().flatten().any(|share| share > 1.0) {
        return "faster than the card's memory: its data are in the cache".to_owned();
    }
    let side = if of_roofline { format!("on the {side} side of the roofline, ") } else { String::new() };
    match (base, head) {
        (Some(base), Some(head)) => format!("{side}at {} of {peak} (base {})", percent(head), percent(base)),
        (None, Some(share)) => format!("{side}at {} of {peak}", percent(share)),
        (base, None) => format!("{side}base at {} of {peak}", percent(base.unwrap_or_default())),
    }
}

fn of_members(PairShift { baseline, optimized }: PairShift) -> String {
    format!("the baseline {}, the optimized variant {}", became(baseline), became(optimized))
}

/// `became 50 % faster`, `did not change`, `did not change by enough (+1.4 %)`.
fn became(MemberShift { verdict, slowdown }: MemberShift) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b35_the_share_of_a_peak_is_a_remark() {
        let near = RowPeak { rate: PeakRate::Bytes, of_roofline: false, base: Some(0.71), head: Some(0.62) };
        for (peak, words) in [
            (near, "at 62 % of the card's memory bandwidth (base 71 %)"),
            (RowPeak { base: None, ..near }, "at 62 % of the card's memory bandwidth"),
            (RowPeak { head: Some(2.1), ..near }, "faster than the card's memory: its data are in the cache"),
            (
                RowPeak { rate: PeakRate::Flops, of_roofline: true, head: None, ..near },
                "on the arithmetic side of the roofline, base at 71 % of the card's peak FLOP/s",
            ),
        ] {
            assert_eq!(of_peak(peak), words);
        }
    }
}
