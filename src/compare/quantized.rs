//! Figures that come in steps: a timer's tick, or the last digit that a program prints. What lies below a step nobody
//! measured, however often the same figure comes.
//!
//! A location that is rounded may be off by half a step. Noise that is wider than a step averages this out, because the
//! rounding then falls to either side alike (dithering); how much of a step is left is in [`left_of_a_step`].

use std::collections::BTreeMap;

use super::Evidence;

/// Processes a side from which on the same figure over and over shows that they differ by less than its last digit.
pub const LEAST_PROCESSES: usize = 5;
/// Steps below this share of a value are those of a double, and of no program or timer.
const OF_A_DOUBLE: f64 = 1e-7;
/// A last digit below this share of a value does not explain that a measurement gives it again and again.
const EXPLAINS_REPETITION: f64 = 1e-3;
/// Differences of time stamps that are doubles: equal ticks come out as figures that differ by the last bits of a stamp.
const SAME_TICK: f64 = 4.0;
const OTHER_TICK: f64 = 500.0;
const OF_A_STAMP: f64 = 1e-4;
/// What rounding leaves open is not looked at below this share of the limit that it could blur.
const NEGLIGIBLE: f64 = 1e-3;

/// One side's values with their numbers, in order.
#[derive(Clone, Debug, Default)]
struct Values {
    counts: BTreeMap<Ordered, usize>,
    total: usize,
}

/// Finite doubles in their order.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Values {
    fn add(&mut self, values: &[f64]) {
        for value in values {
            *self.counts.entry(Ordered(*value)).or_insert(0) += 1;
        }
        self.total += values.len();
    }

    fn quantile(&self, share: f64) -> f64 {
        let wanted = ((share * self.total as f64).ceil() as usize).max(1);
        let mut seen = 0;
        let reached = self.counts.iter().find(|(_, count)| {
            seen += **count;
            seen >= wanted
        });
        reached.map_or(f64::NAN, |(value, _)| value.0)
    }

    /// How far the location of these values may lie from that of what they are rounded from, in their own unit.
    fn off_by(&self, step: f64) -> f64 {
        let span = (self.quantile(0.9) - self.quantile(0.1)) / step;
        left_of_a_step(span) * step
    }
}

/// The share of a step by which the mean of the middle half of rounded normal values may miss that of the values: the most
/// over all positions on the grid, by how many steps lie between the tenth and the ninetieth percentile (computed from the
/// normal distribution for deviations of 0.02 to 3 steps, and rounded up).
fn left_of_a_step(span: f64) -> f64 {
    match span {
        span if span < 1.5 => 0.5,
        span if span < 2.5 => 0.15,
        span if span < 3.5 => 0.075,
        _ => 0.05,
    }
}

/// How far each side may be off, and where it lies.
fn off_by(sides: &[Values; 2], step: f64) -> [(f64, f64); 2] {
    [&sides[0], &sides[1]].map(|side| (side.off_by(step), side.quantile(0.5)))
}

/// The most that ln head - ln base may be off.
fn off_in_logarithms(sides: [(f64, f64); 2]) -> f64 {
    const MOST: f64 = 0.99;
    sides.into_iter().map(|(off, place)| -(-(off / place).min(MOST)).ln_1p()).sum()
}

/// What a row's differences are made of, for [`unresolved`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unit {
    Logarithms,
    /// Differences divided by this.
    Of(f64),
}

/// By number of rounds, from one on: how far the mean of the differences may lie from the truth because figures come in
/// steps, in the unit of the differences. `rounds`: the samples of base and head. Empty where that is next to nothing
/// beside `limit`.
///
/// The step is a property of the timer or the program, and all rounds show it; figures that never varied so far do not. How
/// much of it noise averages out is taken from the rounds in question.
pub fn unresolved(rounds: &[[&[f64]; 2]], unit: Unit, limit: f64) -> Vec<f64> {
    let side = |side: usize| rounds.iter().flat_map(move |round| round[side]).copied().collect();
    let Some(steps) = Steps::of([side(0), side(1)]) else { return Vec::new() };
    if steps.is_fine(unit, NEGLIGIBLE * limit) {
        return Vec::new();
    }
    let mut sides = [Values::default(), Values::default()];
    let after = |round: &[&[f64]; 2]| {
        sides.iter_mut().zip(round).for_each(|(side, samples)| side.add(samples));
        let off = off_by(&sides, steps.step);
        match unit {
            Unit::Logarithms => off_in_logarithms(off),
            Unit::Of(unit) => off.into_iter().map(|(off, _)| off / unit).sum(),
        }
    };
    rounds.iter().map(after).collect()
}

/// The step of figures, without counting them.
struct Steps {
    step: f64,
    /// The smallest size among the figures.
    least: f64,
    /// Where the sides lie: the smaller median, by size.
    place: f64,
}

impl Steps {
    /// `None` where all figures are zero.
    fn of(sides: [Vec<f64>; 2]) -> Option<Self> {
        let (mut last, mut tick) = (f64::INFINITY, f64::INFINITY);
        let mut constants = Vec::with_capacity(2);
        let (mut least, mut place) = (f64::INFINITY, f64::INFINITY);
        for mut values in sides {
            for value in &values {
                least = least.min(value.abs());
                if last > OF_A_DOUBLE * value.abs()
                    && let Some(of_value) = last_place(*value)
                {
                    last = last.min(10.0_f64.powi(of_value));
                }
            }
            values.sort_unstable_by(f64::total_cmp);
            place = values.get(values.len() / 2).map_or(place, |median| place.min(median.abs()));
            let all = values.len();
            values.dedup();
            if values.len() < all
                && let Some(of_side) = tick_of(&values)
            {
                tick = tick.min(of_side);
            }
            constants.push(if values.len() == 1 { values[0] } else { f64::NAN });
        }
        let mut step = if tick.is_finite() { tick.max(last) } else { last };
        // Each side gave one figure, and its digits do not explain that: the timer may be as coarse as their distance.
        let apart = (constants[0] - constants[1]).abs();
        if apart > 0.0 && step < EXPLAINS_REPETITION * place {
            step = apart;
        }
        step.is_finite().then_some(Self { step, least, place })
    }

    /// Whether whole steps of both sides together stay below `negligible`: those of a clock that is fine enough, as nearly all
    /// are.
    fn is_fine(&self, unit: Unit, negligible: f64) -> bool {
        let of = if let Unit::Of(unit) = unit { unit } else { self.least };
        self.step / of < negligible / 2.0
    }
}

/// What the steps of the figures are, and what they leave open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resolution {
    /// In the metric's unit.
    pub step: f64,
    /// The step as a share of the smaller side.
    pub share: f64,
}

/// Of all samples of a row; `None` where all of them are zero, or where a side lies at zero.
pub fn resolution(evidence: &Evidence) -> Option<Resolution> {
    let sides = [&evidence.base, &evidence.head];
    let values = sides.map(|side| side.processes.iter().flat_map(|it| it.samples).copied().collect());
    let Steps { step, place, .. } = Steps::of(values)?;
    (place > 0.0).then(|| Resolution { step, share: step / place })
}

/// Whether the figures of a row have so few digits that a measurement may give the same ones again and again.
pub fn digits_explain(evidence: &Evidence) -> bool {
    resolution(evidence).is_some_and(|resolution| resolution.share >= EXPLAINS_REPETITION)
}

/// The most that the centres of the two sides may be off, each from its own truth: what [`resolution`] says, averaged over
/// processes that differ by more than a step. In the metric's unit, with where each side lies.
pub fn centres_off_by(evidence: &Evidence) -> Option<[(f64, f64); 2]> {
    let step = resolution(evidence)?.step;
    Some([&evidence.base, &evidence.head].map(|side| {
        let mut values = Values::default();
        values.add(&side.centres);
        (values.off_by(step), values.quantile(0.5))
    }))
}

impl Resolution {
    /// With four digits at most: steps of a clock are known to no more.
    pub fn step_in_words(&self) -> String {
        let rounded = format!("{:.3e}", self.step).parse().unwrap_or(self.step);
        format!("{rounded}")
    }

    /// Launches in a batch that would make a step small beside `target`: a tenth of it.
    pub fn batch(&self, target: f64) -> u64 {
        const SMALL: f64 = 0.1;
        (self.share / (SMALL * target)).ceil().clamp(2.0, 1e9) as u64
    }
}

/// The smallest distance of two of the values, which are ascending and different, and some of which came more than once;
/// continuous figures never do. Where all values lie in narrow groups far from each other, each group is one tick.
fn tick_of(values: &[f64]) -> Option<f64> {
    let finest = values.windows(2).map(|two| two[1] - two[0]).reduce(f64::min)?;
    let groups: Vec<&[f64]> = values.chunk_by(|one, next| next - one <= SAME_TICK * finest).collect();
    let narrow = |group: &&[f64]| group[group.len() - 1] - group[0] <= 2.0 * SAME_TICK * finest;
    let distance = |two: &[&[f64]]| two[1][0] - two[0][two[0].len() - 1];
    let coarser = groups.windows(2).map(distance).reduce(f64::min);
    let is_of_stamps = |coarser: &f64| {
        *coarser > OTHER_TICK * finest && finest < OF_A_STAMP * values[0].abs() && groups.iter().all(narrow)
    };
    Some(coarser.filter(is_of_stamps).unwrap_or(finest))
}

/// The power of ten of the last digit, of twelve at most: what a change of unit adds is no digit of the source.
fn last_place(value: f64) -> Option<i32> {
    let text = format!("{value:.11e}");
    let (digits, exponent) = text.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    let decimals = digits.trim_end_matches('0').split_once('.').map_or(0, |(_, decimals)| decimals.len());
    (value != 0.0).then_some(exponent - decimals as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_digit_is_found_at_any_size() {
        let cases = [(12.3, -1), (1.25e-3, -5), (120.0, 1), (0.1 + 0.2, -1), (-7.0, 0), (0.012, -3)];
        for (value, place) in cases {
            assert_eq!(last_place(value), Some(place), "{value}");
        }
        assert_eq!(last_place(0.0), None);
    }

    /// Rounds of one sample a side.
    fn after(base: &[f64], head: &[f64]) -> Vec<f64> {
        let rounds: Vec<[&[f64]; 2]> =
            base.iter().zip(head).map(|(b, h)| [std::slice::from_ref(b), std::slice::from_ref(h)]).collect();
        unresolved(&rounds, Unit::Logarithms, 0.02)
    }

    #[test]
    fn continuous_figures_leave_nothing_open_also_where_they_are_few_or_one_side_is_constant() {
        let head = [1.003_217_5e-3, 1.018_221_7e-3, 0.997_123_4e-3].map(|value: f64| value.sqrt());
        assert_eq!(after(&head.map(|value| value * 1.0123), &head), Vec::<f64>::new());
        assert_eq!(after(&[0.001; 3], &head), Vec::<f64>::new());
    }

    #[test]
    fn n2_whole_milliseconds_leave_half_a_step_open_on_either_side() {
        let open = after(&[5.0; 4], &[5.0, 5.0, 6.0, 5.0]);
        assert_eq!(open.len(), 4);
        let half_a_step = -2.0 * (-0.1_f64).ln_1p();
        assert!(open.iter().all(|open| (open - half_a_step).abs() < 1e-12), "{open:?}");
    }

    #[test]
    fn n2_a_tick_is_found_where_the_digits_do_not_show_it() {
        let tick = 1.024e-6_f64.sqrt();
        let values = [11.0, 12.0, 11.0, 12.0, 12.0, 11.0].map(|ticks| ticks * tick);
        let open = after(&values, &values.map(|value| value + tick));
        assert!(*open.last().unwrap() > 0.07, "{open:?}");
    }

    #[test]
    fn n2_rounds_before_the_first_other_figure_know_the_step_too() {
        let tick = 1.024e-6_f64.sqrt();
        let base = [5.0; 8].map(|ticks| ticks * tick);
        let head = [5.0, 5.0, 5.0, 5.0, 6.0, 5.0, 5.0, 5.0].map(|ticks| ticks * tick);
        let open = after(&base, &head);
        assert!(open.len() == 8 && open.iter().all(|open| *open > 0.19), "{open:?}");
    }

    #[test]
    fn n2_ticks_that_come_as_differences_of_time_stamps_are_one_tick() {
        // Whole milliseconds, as the difference of seconds since 1970.
        let stamp = 1.763_8e9;
        let of = |ticks: f64, n: usize| {
            let begin = stamp + 0.013 * n as f64;
            (begin + ticks * 1e-3) - begin
        };
        let base: Vec<f64> = (0..30).map(|n| of(5.0 + f64::from(n % 7 == 0), n as usize)).collect();
        let head: Vec<f64> = (0..30).map(|n| of(5.0 + f64::from(n % 3 == 0), n as usize)).collect();
        let open = after(&base, &head);
        assert!(open.len() == 30 && *open.last().unwrap() > 0.15, "{open:?}");
    }

    #[test]
    fn n2_two_constants_whose_digits_do_not_explain_them_may_be_one_tick_apart() {
        let tick = 1.024e-6_f64.sqrt();
        assert!(*after(&[12.0 * tick; 6], &[13.0 * tick; 6]).last().unwrap() > 0.08);
        assert!(*after(&[12.3; 6], &[15.1; 6]).last().unwrap() < 0.01);
    }

    #[test]
    fn n2_noise_wider_than_a_step_averages_it_out() {
        let base: Vec<f64> = (0..40).map(|n| 100.0 + f64::from(n * 7 % 11)).collect();
        let head: Vec<f64> = (0..40).map(|n| 100.0 + f64::from(n * 3 % 11)).collect();
        let open = after(&base, &head);
        assert!(open.last().unwrap() < &0.0011, "{open:?}");
    }

    #[test]
    fn a_batch_makes_the_step_a_tenth_of_the_target() {
        assert_eq!(Resolution { step: 1.0, share: 0.2 }.batch(0.02), 100);
        assert_eq!(Resolution { step: 1e-9, share: 1e-9 }.batch(0.02), 2);
    }
}
