//! Samples during which the card held its clocks down: kept, marked, and too many of them are no measurement.

use super::sampler::Sample;

/// A sample at less than this share of the clock of most is one of a slower card.
const MIN_CLOCK: f64 = 0.9;
/// Share of a process's samples that may be marked.
const BUDGET: f64 = 0.25;

/// What the driver's management library says at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThrottleState {
    /// Why clocks are held down, in NVML's words in lower case.
    pub reasons: Vec<String>,
    /// Nanoseconds in which power and heat held clocks down, so far.
    pub held_ns: [u64; 2],
}

/// Looks at the state again and again; `None`: it cannot be told.
pub type ThrottleLook = Box<dyn FnMut() -> Option<ThrottleState>>;

/// The samples of one attempt, in groups between which the card was looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Attempt {
    pub samples: Vec<Sample>,
    /// Samples that the driver gives a reason of hardware for.
    by_driver: Vec<bool>,
    /// The highest clock that an earlier attempt or the end of the warm-up had as its usual one, in Hz: a card that slows down for
    /// good has another one from then on, and is still a slower card.
    before: f64,
    pub reasons: Vec<String>,
}

impl Attempt {
    /// An attempt behind samples that were taken earlier.
    pub(super) fn after(earlier: &[Sample], before: f64) -> Self {
        Self { before: before.max(usual_clock(earlier)), ..Self::default() }
    }

    /// The attempt that follows this one.
    pub(super) fn again(&self) -> Self {
        Self::after(&self.samples, self.before)
    }

    /// Adds a group of samples and what the looks before and after it tell.
    pub(super) fn add(
        &mut self,
        group: Vec<Sample>,
        before: Option<&ThrottleState>,
        after: Option<&ThrottleState>,
    ) {
        let reasons = reasons(before, after);
        // A power limit is how a card works; what hardware does for heat or a fault is not.
        let is_marked = reasons.iter().any(|reason| reason.starts_with("hw_"));
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
        let is_slow = |sample: &Sample| sample.clock.is_some_and(|clock| clock < MIN_CLOCK * usual);
        let marks = self.samples.iter().zip(&self.by_driver).enumerate();
        marks.filter(|(_, (sample, by_driver))| **by_driver || is_slow(sample)).map(|(at, _)| at).collect()
    }

    /// Whether so many are marked that what is left says little.
    pub(super) fn is_spoilt(&self) -> bool {
        self.throttled().len() as f64 > BUDGET * self.samples.len() as f64
    }
}

/// The median of the clocks; 0 where none is known.
fn usual_clock(samples: &[Sample]) -> f64 {
    let mut clocks: Vec<f64> = samples.iter().filter_map(|sample| sample.clock).collect();
    clocks.sort_by(f64::total_cmp);
    clocks.get(clocks.len() / 2).copied().unwrap_or(0.0)
}

/// Reasons at either look that hold clocks down, and those whose counter grew between the two.
fn reasons(before: Option<&ThrottleState>, after: Option<&ThrottleState>) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for reason in before.into_iter().chain(after).flat_map(|state| &state.reasons) {
        let counts = ["thermal", "power", "hw_slowdown"].iter().any(|word| reason.contains(word));
        if counts && !reasons.contains(reason) {
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

    fn at(clock: f64) -> Sample {
        Sample { seconds: 1e-3, clock: Some(clock), ended: 0 }
    }

    fn state(reasons: &[&str], held_ns: [u64; 2]) -> ThrottleState {
        ThrottleState { reasons: reasons.iter().map(|it| it.to_string()).collect(), held_ns }
    }

    #[test]
    fn a_sample_below_the_usual_clock_is_marked_and_kept() {
        let mut attempt = Attempt::default();
        attempt.add([1.98e9, 1.97e9, 1.4e9, 1.98e9, 1.98e9].map(at).to_vec(), None, None);
        assert_eq!(attempt.throttled(), [2]);
        assert_eq!(attempt.samples.len(), 5);
        assert!(!attempt.is_spoilt());
        attempt.add(vec![at(1.2e9)], None, None);
        assert!(attempt.is_spoilt(), "{:?}", attempt.throttled());
    }

    #[test]
    fn a_group_that_hardware_slowed_is_marked_whole_and_a_power_limit_is_only_said() {
        let mut attempt = Attempt::default();
        let capped = state(&["sw_power_cap", "gpu_idle"], [0, 0]);
        attempt.add(vec![at(1.9e9); 4], Some(&capped), Some(&state(&[], [5, 0])));
        assert_eq!(
            (attempt.throttled().len(), attempt.reasons.as_slice()),
            (0, &["sw_power_cap".to_owned()][..])
        );
        attempt.add(
            vec![at(1.9e9); 2],
            Some(&state(&[], [5, 0])),
            Some(&state(&["hw_thermal_slowdown"], [5, 7])),
        );
        assert_eq!(attempt.throttled(), [4, 5]);
        assert!(attempt.is_spoilt());
    }

    #[test]
    fn a_card_that_slows_down_for_good_is_still_a_slower_one() {
        let mut first = Attempt::after(&[at(1.98e9); 3], 0.0);
        first.add(vec![at(1.4e9); 10], None, None);
        assert!(first.is_spoilt(), "slower than it was warmed up");
        let mut second = first.again();
        second.add(vec![at(1.4e9); 10], None, None);
        assert!(second.is_spoilt());
    }

    #[test]
    fn without_clocks_and_looks_nothing_is_marked() {
        let mut attempt = Attempt::default();
        attempt.add(vec![Sample { clock: None, ..at(1.0) }; 3], None, None);
        assert!(attempt.throttled().is_empty() && !attempt.is_spoilt());
        assert!(!Attempt::default().is_spoilt());
    }
}
