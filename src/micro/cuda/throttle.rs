//! Samples during which the card held its clocks down: kept, marked, and too many of them are no measurement.

use super::sampler::TimedSample;
use crate::micro::throttle_state::ThrottleState;

/// A sample at less than this share of the clock of most is one of a slower card.
const MIN_CLOCK: f64 = 0.9;
/// Share of a process's samples that may be marked.
const BUDGET: f64 = 0.25;

/// The samples of one attempt, in groups between which the card was looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MeasuringAttempt {
    pub samples: Vec<TimedSample>,
    /// Samples that the driver gives a reason of hardware for.
    by_driver: Vec<bool>,
    /// The highest clock that an earlier attempt or the end of the warm-up had as its usual one, in Hz: a card that slows down for
    /// good has another one from then on, and is still a slower card.
    before: f64,
    pub reasons: Vec<String>,
}

impl MeasuringAttempt {
    /// An attempt behind samples that were taken earlier.
    pub(super) fn after(earlier: &[TimedSample], before: f64) -> Self {
        Self { before: before.max(usual_clock(earlier)), ..Self::default() }
    }

    /// The attempt that follows this one.
    pub(super) fn again(&self) -> Self {
        Self::after(&self.samples, self.before)
    }

    /// Adds a group of samples and what the looks before and after it tell.
    pub(super) fn add(
        &mut self,
        group: Vec<TimedSample>,
        before: Option<&ThrottleState>,
        after: Option<&ThrottleState>,
    ) {
        let reasons = reasons(before, after);
        // A power limit is how a card works; what hardware does for heat or a fault is not.
        let is_marked = before.into_iter().chain(after).any(|state| state.by_hardware);
        self.by_driver.extend(group.iter().map(|_| is_marked));
        self.samples.extend(group);
        for reason in reasons {
            if !self.reasons.contains(&reason) {
                self.reasons.push(reason);
            }
        }
    }

    /// Places of the samples that a slower card gave.
    pub(super) fn throttled(&self) -> Vec<usize> {
        let usual = self.before.max(usual_clock(&self.samples));
        let is_slow = |sample: &TimedSample| sample.clock.is_some_and(|clock| clock < MIN_CLOCK * usual);
        let marks = self.samples.iter().zip(&self.by_driver).enumerate();
        marks.filter(|(_, (sample, by_driver))| **by_driver || is_slow(sample)).map(|(at, _)| at).collect()
    }

    /// Whether so many are marked that what is left says little.
    pub(super) fn is_spoilt(&self) -> bool {
        self.throttled().len() as f64 > BUDGET * self.samples.len() as f64
    }
}

/// The median of the clocks; 0 where none is known.
fn usual_clock(samples: &[TimedSample]) -> f64 {
    let mut clocks: Vec<f64> = samples.iter().filter_map(|sample| sample.clock).collect();
    clocks.sort_by(f64::total_cmp);
    clocks.get(clocks.len() / 2).copied().unwrap_or(0.0)
}

/// Reasons at either look, and those whose counter grew between the two.
fn reasons(before: Option<&ThrottleState>, after: Option<&ThrottleState>) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for reason in before.into_iter().chain(after).flat_map(|state| &state.reasons) {
        if !reasons.contains(reason) {
            reasons.push(reason.clone());
        }
    }
    if let (Some(before), Some(after)) = (before, after) {
        for ((before, after), word) in before.held_ns.iter().zip(&after.held_ns).zip(["power", "thermal"]) {
            if after > before && !reasons.iter().any(|reason| reason.contains(word)) {
                reasons.push(format!("{word}_violation"));
            }
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(clock: f64) -> TimedSample {
        TimedSample { seconds: 1e-3, clock: Some(clock), ended: 0 }
    }

    fn state(reasons: &[&str], by_hardware: bool, held_ns: [u64; 2]) -> ThrottleState {
        ThrottleState { reasons: reasons.iter().map(|it| it.to_string()).collect(), by_hardware, held_ns }
    }

    #[test]
    fn a_sample_below_the_usual_clock_is_marked_and_kept() {
        let mut attempt = MeasuringAttempt::default();
        attempt.add([1.98e9, 1.97e9, 1.4e9, 1.98e9, 1.98e9].map(at).to_vec(), None, None);
        assert_eq!(attempt.throttled(), [2]);
        assert_eq!(attempt.samples.len(), 5);
        assert!(!attempt.is_spoilt());
        attempt.add(vec![at(1.2e9)], None, None);
        assert!(attempt.is_spoilt(), "{:?}", attempt.throttled());
    }

    #[test]
    fn a_group_that_hardware_slowed_is_marked_whole_and_a_power_limit_is_only_said() {
        let mut attempt = MeasuringAttempt::default();
        let capped = state(&["sw_power_cap"], false, [0, 0]);
        attempt.add(vec![at(1.9e9); 4], Some(&capped), Some(&state(&[], false, [5, 0])));
        assert_eq!(
            (attempt.throttled().len(), attempt.reasons.as_slice()),
            (0, &["sw_power_cap".to_owned()][..])
        );
        attempt.add(
            vec![at(1.9e9); 2],
            Some(&state(&[], false, [5, 0])),
            Some(&state(&["hw_thermal_slowdown"], true, [5, 7])),
        );
        assert_eq!(attempt.throttled(), [4, 5]);
        assert!(attempt.is_spoilt());
    }

    #[test]
    fn a_card_that_slows_down_for_good_is_still_a_slower_one() {
        let mut first = MeasuringAttempt::after(&[at(1.98e9); 3], 0.0);
        first.add(vec![at(1.4e9); 10], None, None);
        assert!(first.is_spoilt(), "slower than it was warmed up");
        let mut second = first.again();
        second.add(vec![at(1.4e9); 10], None, None);
        assert!(second.is_spoilt());
    }

    #[test]
    fn without_clocks_and_looks_nothing_is_marked() {
        let mut attempt = MeasuringAttempt::default();
        attempt.add(vec![TimedSample { clock: None, ..at(1.0) }; 3], None, None);
        assert!(attempt.throttled().is_empty() && !attempt.is_spoilt());
        assert!(!MeasuringAttempt::default().is_spoilt());
    }
}
