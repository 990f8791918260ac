//! Samples taken while the card throttled are kept and marked; too many of them invalidate the measurement.

use super::sampler::TimedSample;
use crate::throttle_state::ThrottleState;
use gbench_model::{add_violations, confirms_slowdown};
use gbench_stats as stats;

/// A sample below this share of the usual clock is marked.
const MIN_CLOCK: f64 = 0.9;
/// Share of a process's samples that may be marked.
const BUDGET: f64 = 0.25;

/// The samples of one attempt, in groups between which the card was looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MeasuringAttempt {
    pub samples: Vec<TimedSample>,
    /// The driver's state around each sample.
    said: Vec<Said>,
    /// The highest usual clock, in Hz, of an earlier attempt or the end of the warm-up. A card that slows down for good has a
    /// lower usual clock from then on, and is still throttled.
    before: f64,
    pub reasons: Vec<String>,
    /// The state of the card after the last group.
    pub last_look: Option<ThrottleState>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Said {
    /// Hardware limited the clocks, for heat or a fault.
    by_hardware: bool,
    /// The driver reported that without a cause, and no counter confirms it: a lower clock of the sample does.
    perhaps_by_hardware: bool,
    /// The power limit did: normal operation, and an explanation of a low clock.
    by_power: bool,
}

impl MeasuringAttempt {
    /// An attempt after samples that were taken earlier.
    pub(super) fn after(earlier: &[TimedSample], before: f64) -> Self {
        Self { before: before.max(usual_clock(earlier)), ..Self::default() }
    }

    pub(super) fn again(&self) -> Self {
        Self::after(&self.samples, self.before)
    }

    /// Adds a group of samples, and the card's state after it.
    pub(super) fn add(&mut self, group: Vec<TimedSample>, after: Option<ThrottleState>) {
        let looks = || self.last_look.iter().chain(&after);
        let grew = |at: usize| match (&self.last_look, &after) {
            (Some(before), Some(after)) => after.held_ns[at] > before.held_ns[at],
            _ => false,
        };
        let by_power = looks().any(|state| state.by_power);
        let counted = [grew(0), grew(1)];
        let perhaps = looks().any(|state| state.perhaps_by_hardware);
        let confirmed = perhaps && confirms_slowdown(counted, by_power);
        let said = Said {
            by_hardware: confirmed || looks().any(|state| state.by_hardware),
            perhaps_by_hardware: perhaps,
            by_power: by_power || grew(0),
        };
        let mut reasons: Vec<String> = looks().flat_map(|state| state.reasons.clone()).collect();
        add_violations(&mut reasons, counted);
        let first = self.samples.len();
        self.said.extend(group.iter().map(|_| said));
        self.samples.extend(group);
        self.last_look = after;
        if confirmed || (perhaps && self.throttled().iter().any(|at| *at >= first)) {
            reasons.push("hw_slowdown".into());
        }
        for reason in reasons {
            if !self.reasons.contains(&reason) {
                self.reasons.push(reason);
            }
        }
    }

    /// Indices of the marked samples.
    pub(super) fn throttled(&self) -> Vec<usize> {
        let usual = self.before.max(usual_clock(&self.samples));
        let is_slow = |sample: &TimedSample| sample.clock.is_some_and(|clock| clock < MIN_CLOCK * usual);
        let is_marked = |sample: &TimedSample, said: Said| {
            said.by_hardware || (is_slow(sample) && (said.perhaps_by_hardware || !said.by_power))
        };
        let marks = self.samples.iter().zip(&self.said).enumerate();
        marks.filter(|(_, (sample, said))| is_marked(sample, **said)).map(|(at, _)| at).collect()
    }

    /// True if so many are marked that the others are not informative.
    pub(super) fn is_spoilt(&self) -> bool {
        self.throttled().len() as f64 > BUDGET * self.samples.len() as f64
    }
}

/// The median of the clocks; 0 if none is known.
fn usual_clock(samples: &[TimedSample]) -> f64 {
    let mut clocks: Vec<f64> = samples.iter().filter_map(|sample| sample.clock).collect();
    stats::median(&mut clocks).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(clock: f64) -> TimedSample {
        TimedSample { seconds: 1e-3, clock: Some(clock), ended: 0 }
    }

    fn state(reason: &str, [by_power, by_hardware]: [bool; 2], held_ns: [u64; 2]) -> Option<ThrottleState> {
        let reasons = Some(reason.to_owned()).filter(|reason| !reason.is_empty()).into_iter().collect();
        Some(ThrottleState { reasons, by_power, by_hardware, held_ns, ..ThrottleState::default() })
    }

    const CALM: [bool; 2] = [false, false];

    #[test]
    fn a_sample_below_the_usual_clock_is_marked_and_kept() {
        let mut attempt = MeasuringAttempt::default();
        attempt.add([1.98e9, 1.97e9, 1.4e9, 1.98e9, 1.98e9].map(at).to_vec(), None);
        assert_eq!((attempt.throttled(), attempt.samples.len()), (vec![2], 5));
        assert!(!attempt.is_spoilt());
        attempt.add(vec![at(1.2e9)], None);
        assert!(attempt.is_spoilt(), "{:?}", attempt.throttled());
    }

    #[test]
    fn a_group_that_hardware_slowed_is_marked_whole() {
        let last_look = state("", CALM, [0, 5]);
        let mut attempt = MeasuringAttempt { last_look, ..MeasuringAttempt::default() };
        attempt.add(vec![at(1.9e9); 2], state("hw_thermal_slowdown", [false, true], [0, 7]));
        assert_eq!((attempt.throttled(), attempt.is_spoilt()), (vec![0, 1], true));
        assert_eq!(attempt.reasons, ["hw_thermal_slowdown"]);
    }

    #[test]
    fn a_slowdown_without_a_cause_marks_what_a_counter_or_the_samples_own_clock_confirms() {
        let marked = |clock, held: u64| {
            let look =
                |held| state("", CALM, [0, held]).map(|it| ThrottleState { perhaps_by_hardware: true, ..it });
            let mut attempt =
                MeasuringAttempt { last_look: look(5), ..MeasuringAttempt::after(&[at(1.98e9)], 0.0) };
            attempt.add(vec![at(1.98e9), at(clock)], look(held));
            (attempt.throttled(), attempt.reasons.join(" "))
        };
        assert_eq!(marked(1.98e9, 5), (vec![], String::new()), "a change of state");
        assert_eq!(marked(0.99e9, 5), (vec![1], "hw_slowdown".into()));
        assert_eq!(marked(1.98e9, 6), (vec![0, 1], "thermal_violation hw_slowdown".into()));
    }

    #[test]
    fn a_power_limit_is_only_said_also_where_it_lowers_the_clock() {
        let mut attempt = MeasuringAttempt::after(&[at(1.98e9)], 0.0);
        let mut marked_after = |look| {
            attempt.add(vec![at(1.4e9); 4], look);
            (attempt.throttled().len(), attempt.reasons.join(" "))
        };
        let said = marked_after(state("sw_power_cap", [true, false], [0, 0]));
        assert_eq!(said, (0, "sw_power_cap".into()));
        // The driver's count shows throttling that no look saw; without a reason the samples are marked.
        let marked = [5, 9, 9].map(|held| marked_after(state("", CALM, [held, 0])).0);
        assert_eq!(marked, [0, 0, 4]);
    }

    #[test]
    fn a_card_that_slows_down_for_good_is_still_a_slower_one() {
        let mut first = MeasuringAttempt::after(&[at(1.98e9); 3], 0.0);
        first.add(vec![at(1.4e9); 10], None);
        assert!(first.is_spoilt(), "slower than it was warmed up");
        let mut second = first.again();
        second.add(vec![at(1.4e9); 10], None);
        assert!(second.is_spoilt());
    }

    #[test]
    fn without_clocks_and_looks_nothing_is_marked() {
        let mut attempt = MeasuringAttempt::default();
        assert!(!attempt.is_spoilt());
        attempt.add(vec![TimedSample { clock: None, ..at(1.0) }; 3], None);
        assert!(attempt.throttled().is_empty() && !attempt.is_spoilt());
    }
}
