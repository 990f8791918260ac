//! From the processes of two sides to one difference a round.

use std::ops::Range;

use gbench_model::HealthSign;
use gbench_stats as stats;

use super::quantized::{Unit, unresolved};
use super::samples::{Evidence, ProcessValues};
use super::scale::{margin_in_logarithms, sign};
use super::{health, throttling};

/// The rounds that both sides finished, in order.
#[derive(Clone, Debug)]
pub struct RoundDifferences {
    /// Differences of the two places, turned so that up is worse; see [`RoundScale`].
    pub differences: Vec<f64>,
    /// The places of base and head themselves, of logarithms where the scale is one of these.
    places: Vec<[f64; 2]>,
    /// By round, true if head ran second; empty where the order of a round is not recorded.
    pub head_second: Vec<bool>,
    /// Rounds of which something is known that speaks against them.
    pub disturbed: Vec<bool>,
    /// Rounds from the first on that screen and are not evidence, because the processes of a side were shared.
    pub shared: usize,
    pub scale: RoundScale,
    /// Least difference that is not too small to matter at all, in the same scale as the differences: the row's
    /// absolute margin.
    pub margin: f64,
    /// A later round has a value that is not above zero, although those of the screen were: the rounds end before it.
    pub lost_its_scale: bool,
    /// By number of rounds: what steps in the figures leave open of the mean difference; see [`unresolved`]. Empty where
    /// that is nothing, and under the rule `seq-e`, which does not ask.
    pub unresolved: Vec<f64>,
}

/// One round as it was measured, in the metric's own unit.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredRound {
    pub round: u32,
    /// The places of the two processes: the mean of the middle half of the samples, of their logarithms where all are
    /// above zero.
    pub base: f64,
    pub head: f64,
    /// True if base went first, where the order is recorded.
    pub base_first: Option<bool>,
    pub throttled: [Vec<String>; 2],
    /// Faults that a GPU had on either side.
    pub faults: Vec<HealthSign>,
    /// The GPU's clock as it was sampled, in MHz, on base and on head.
    pub clocks: [Option<f64>; 2],
}

fn place(process: &ProcessValues, positive: bool, scratch: &mut Vec<f64>) -> f64 {
    scratch.clear();
    scratch.extend_from_slice(process.samples);
    let place = if positive { stats::ln_midmean(scratch) } else { stats::midmean(scratch) };
    place.unwrap_or(f64::NAN)
}

fn is_positive<'e, 'a: 'e>(mut processes: impl Iterator<Item = &'e ProcessValues<'a>>) -> bool {
    processes.all(|process| process.samples.iter().all(|value| *value > 0.0))
}

/// The turns of the rounds that both sides finished, as [`RoundDifferences::of`] pairs them.
pub(crate) fn measured_rounds(evidence: &Evidence) -> Vec<MeasuredRound> {
    let positive = is_positive(evidence.base.processes.iter().chain(&evidence.head.processes));
    let mut scratch = Vec::new();
    let mut of = |process: &ProcessValues| {
        let place = place(process, positive, &mut scratch);
        if positive { place.exp() } else { place }
    };
    let turns = evidence.turns().into_iter().enumerate();
    let measured = turns.map(|(at, [base, head])| MeasuredRound {
        round: base.round.unwrap_or(at as u32),
        base: of(base),
        head: of(head),
        base_first: base.slot.zip(head.slot).map(|(base, head)| base < head),
        throttled: [base.reasons.to_vec(), head.reasons.to_vec()],
        faults: base.faults().chain(head.faults()).collect(),
        clocks: [base.sampled_clock, head.sampled_clock],
    });
    measured.collect()
}

/// The meaning of a difference of locations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RoundScale {
    /// Of logarithms.
    Log { sign: f64 },
    /// Differences of the numbers, as a share of the base; for metrics that reach zero or less.
    Linear { sign: f64, unit: f64 },
    /// Differences of the numbers without a share: the base is zero, or the row is judged so.
    Absolute { sign: f64 },
}

impl RoundDifferences {
    /// `screen`: rounds from which the units are taken, so that later rounds cannot change what earlier ones meant.
    pub fn of(evidence: &Evidence, screen: usize, scratch: &mut Vec<f64>) -> Self {
        let sign = sign(evidence.better);
        let screened =
            |process: &&ProcessValues| process.round.is_some_and(|round| (round as usize) < screen);
        let sides = evidence.base.processes.iter().chain(&evidence.head.processes);
        let absolute = evidence.limits.absolute;
        let positive = !absolute && is_positive(sides.filter(screened));
        let (mut places, mut differences, mut disturbed) = (Vec::new(), Vec::new(), Vec::new());
        let (mut lost_its_scale, mut shared) = (false, 0);
        let mut head_second = Vec::new();
        for [base, head] in evidence.turns() {
            let [at_base, at_head] = [base, head].map(|process| place(process, positive, scratch));
            if at_base.is_nan() || at_head.is_nan() {
                // In the screen all were above zero; what a ratio means ends here.
                lost_its_scale = true;
                break;
            }
            if shared == places.len() && (base.screens || head.screens) {
                shared += 1;
            }
            places.push([at_base, at_head]);
            differences.push(sign * (at_head - at_base));
            head_second.extend(base.slot.zip(head.slot).map(|(base, head)| base < head));
            // A power limit or the work of others that both sides met affects both alike. A card that slows itself down
            // behaves differently each time.
            let one_side = base.busy != head.busy
                || base.throttled != head.throttled
                || throttling::is_slower_card(base, head)
                || health::links_differ(base, head);
            let spoilt = throttling::spoils(evidence, base, head) || health::spoils(base, head);
            disturbed.push(one_side || spoilt);
        }
        let first: Vec<f64> = places.iter().take(screen).map(|[base, _]| *base).collect();
        let margin = evidence.limits.margin.unwrap_or(0.0);
        let sizes: Vec<f64> = first.iter().map(|base| base.abs()).collect();
        let (scale, margin) = match stats::mean(&sizes) {
            _ if positive => {
                let usual = stats::mean(&first).unwrap_or(0.0).exp();
                (RoundScale::Log { sign }, margin_in_logarithms(margin, usual))
            }
            Some(unit) if unit > 0.0 && !absolute => {
                differences.iter_mut().for_each(|difference| *difference /= unit);
                (RoundScale::Linear { sign, unit }, margin / unit)
            }
            _ => (RoundScale::Absolute { sign }, margin),
        };
        if head_second.len() != differences.len() {
            head_second.clear();
        }
        let unresolved = Vec::new();
        Self {
            differences,
            head_second,
            places,
            disturbed,
            shared,
            scale,
            margin,
            lost_its_scale,
            unresolved,
        }
    }

    /// The centres of base and head over some of these rounds, in the metric's unit: the change over them is the ratio of
    /// the two. `None` without such rounds.
    pub(crate) fn centres(&self, evidence: &Evidence, rounds: Range<usize>) -> Option<[f64; 2]> {
        let turns = evidence.turns();
        let (turns, places) = (turns.get(rounds.clone())?, self.places.get(rounds)?);
        let of_side = |side: usize| {
            // Exactly what was measured, where all agree: no rounding by logarithm and back.
            let first = *turns.first()?[side].samples.first()?;
            if turns.iter().all(|turn| turn[side].samples.iter().all(|value| *value == first)) {
                return Some(first);
            }
            let places: Vec<f64> = places.iter().map(|place| place[side]).collect();
            let mean = stats::mean(&places)?;
            Some(if matches!(self.scale, RoundScale::Log { .. }) { mean.exp() } else { mean })
        };
        Some([of_side(0)?, of_side(1)?])
    }

    /// The places of base and head in the undisturbed rounds from this one on, in the unit of the differences.
    pub(crate) fn calm_places(&self, from: usize) -> Vec<[f64; 2]> {
        let unit = if let RoundScale::Linear { unit, .. } = self.scale { unit } else { 1.0 };
        let rounds = self.places.iter().zip(&self.disturbed).skip(from);
        rounds.filter(|(_, disturbed)| !**disturbed).map(|(places, _)| places.map(|it| it / unit)).collect()
    }

    /// Adds the uncertainty by the figures' steps, where that matters against `limit`.
    pub fn resolved(mut self, evidence: &Evidence, limit: f64) -> Self {
        let unit = match self.scale {
            RoundScale::Log { .. } => Unit::Logarithms,
            RoundScale::Linear { unit, .. } => Unit::Of(unit),
            RoundScale::Absolute { .. } => Unit::Of(1.0),
        };
        let rounds = evidence.turns().into_iter().take(self.differences.len());
        let rounds: Vec<[&[f64]; 2]> = rounds.map(|turn| turn.map(|process| process.samples)).collect();
        self.unresolved = unresolved(&rounds, unit, limit);
        self
    }
}

impl RoundScale {
    /// Slowdown of a difference: 0.1 is 10 % worse. `None` where there is nothing to relate it to.
    pub fn slowdown(self, difference: f64) -> Option<f64> {
        match self {
            RoundScale::Log { .. } => Some(difference.exp_m1()),
            RoundScale::Linear { .. } => Some(difference),
            RoundScale::Absolute { .. } => None,
        }
    }

    /// head / base of the metric itself.
    pub fn ratio(self, difference: f64) -> Option<f64> {
        match self {
            RoundScale::Log { sign } => Some((sign * difference).exp()),
            RoundScale::Linear { sign, .. } => Some(1.0 + sign * difference),
            RoundScale::Absolute { .. } => None,
        }
    }
}
