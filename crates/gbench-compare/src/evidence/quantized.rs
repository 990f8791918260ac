//! Figures that come in steps: a timer's tick, or the last digit that a program prints. A difference below a step was not
//! measured, however often the same figure comes.
//!
//! A location that is rounded may be off by half a step. Noise that is wider than a step averages this out, because the
//! rounding then falls to either side alike (dithering); how much of a step is left is in [`left_of_a_step`].

use gbench_model::may_count;

use super::samples::{Evidence, MeasuredSide};

/// Processes a side from which on the same figure over and over shows that they differ by less than its last digit.
pub(crate) const MIN_PROCESSES: usize = 5;
/// Steps below this share of a value are those of a double, and of no program or timer.
const OF_A_DOUBLE: f64 = 1e-7;
/// A last digit below this share of a value does not explain that a measurement gives it again and again.
const EXPLAINS_REPETITION: f64 = 1e-3;
/// Last bits of a stamp over which one tick is spread: each of two stamps is off by half of one, which may double
/// meanwhile.
const SAME_TICK: f64 = 4.0;
const MAX_OF_A_TICK: f64 = 4.5;
const OTHER_TICK: f64 = 500.0;
/// Last bits of a stamp above this share of a value are the clock's own resolution.
const OF_A_STAMP: f64 = 1e-4;
/// Significant digits of the tick of a clock that counts in tens; the last bit of a double has more.
const DIGITS_OF_A_TICK: usize = 4;
/// The uncertainty by rounding is ignored below this share of the limit that it could blur.
const NEGLIGIBLE: f64 = 1e-3;

#[derive(Default)]
struct Values(Vec<f64>);

impl Values {
    fn add(&mut self, values: &[f64]) {
        self.0.extend_from_slice(values);
        // This sort takes the ascending start as it is, and is fast on it.
        self.0.sort_by(f64::total_cmp);
    }

    fn quantile(&self, share: f64) -> f64 {
        let wanted = ((share * self.0.len() as f64).ceil() as usize).max(1);
        self.0.get(wanted - 1).copied().unwrap_or(f64::NAN)
    }

    fn off_by(&self, step: f64) -> f64 {
        let span = (self.quantile(0.9) - self.quantile(0.1)) / step;
        left_of_a_step(span) * step
    }
}

/// The share of a step by which the mean of the middle half of rounded normal values may miss that of the values: the
/// most over all positions on the grid, by how many steps lie between the tenth and the ninetieth percentile (computed
/// from the normal distribution for deviations of 0.02 to 3 steps, and rounded up).
fn left_of_a_step(span: f64) -> f64 {
    match span {
        span if span < 1.5 => 0.5,
        span if span < 2.5 => 0.15,
        span if span < 3.5 => 0.075,
        _ => 0.05,
    }
}

fn left_open(sides: [&Values; 2], step: f64, unit: Unit) -> f64 {
    const MAX_SHARE: f64 = 0.99;
    let open = |side: &Values| match unit {
        Unit::Logarithms => -(-(side.off_by(step) / side.quantile(0.5)).min(MAX_SHARE)).ln_1p(),
        Unit::Of(unit) => side.off_by(step) / unit,
    };
    sides.into_iter().map(open).sum()
}

/// The kind of a row's differences, for [`unresolved`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unit {
    Logarithms,
    /// Differences divided by this.
    Of(f64),
}

/// By number of rounds, from one on: how far the mean of the differences may lie from the truth because figures come in
/// steps, in the unit of the differences. `rounds`: the samples of base and head. Empty where that is negligible against
/// `limit`.
///
/// The step is a property of the timer or the program, and all rounds show it; figures that never varied so far do not.
/// How much of it noise averages out is taken from the rounds in question.
pub fn unresolved(rounds: &[[&[f64]; 2]], unit: Unit, limit: f64) -> Vec<f64> {
    let side = |side: usize| rounds.iter().flat_map(move |round| round[side]).copied().collect();
    let Some(steps) = Steps::of([side(0), side(1)]) else { return Vec::new() };
    let of = if let Unit::Of(unit) = unit { unit } else { steps.least };
    // Whole steps of both sides together are next to nothing: the clock is fine enough, as nearly all are.
    if steps.step / of < NEGLIGIBLE * limit / 2.0 {
        return Vec::new();
    }
    let mut sides = [Values::default(), Values::default()];
    let after = |round: &[&[f64]; 2]| {
        sides.iter_mut().zip(round).for_each(|(side, samples)| side.add(samples));
        left_open([&sides[0], &sides[1]], steps.step, unit)
    };
    rounds.iter().map(after).collect()
}

/// The steps that figures come in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Steps {
    pub step: f64,
    least: f64,
    /// Where the sides lie: the smaller median, by size.
    place: f64,
}

impl Steps {
    /// `None` where all figures are zero.
    fn of(sides: [Vec<f64>; 2]) -> Option<Self> {
        let (mut last, mut tick) = (f64::INFINITY, f64::INFINITY);
        let (mut least, mut place) = (f64::INFINITY, f64::INFINITY);
        let all = sides.each_ref().map(Vec::len);
        let mut sides = sides.map(|mut values| {
            values.sort_unstable_by(f64::total_cmp);
            place = values.get(values.len() / 2).map_or(place, |median| place.min(median.abs()));
            values.dedup();
            values
        });
        let repeat = [0, 1].map(|side| sides[side].len() < all[side]);
        if repeat.contains(&true) {
            without_last_bits(&mut sides);
        }
        for (values, repeats) in sides.iter().zip(repeat) {
            for value in values {
                least = least.min(value.abs());
                if last > OF_A_DOUBLE * value.abs()
                    && let Some(of_value) = last_place(*value)
                {
                    last = last.min(10.0_f64.powi(of_value));
                }
            }
            if repeats && let Some(of_side) = smallest_distance(values) {
                tick = tick.min(of_side);
            }
        }
        let constants = sides.map(|values| if values.len() == 1 { values[0] } else { f64::NAN });
        let mut step = if tick.is_finite() { tick.max(last) } else { last };
        // Each side gave one figure, and its digits do not explain that: the timer may be as coarse as their distance.
        let apart = (constants[0] - constants[1]).abs();
        if apart > 0.0 && step < EXPLAINS_REPETITION * place {
            step = apart;
        }
        step.is_finite().then_some(Self { step, least, place })
    }

    pub(crate) fn share(&self) -> f64 {
        self.step / self.place
    }

    /// Launches in a batch that would make a step small against `target`: a tenth of it.
    pub(crate) fn batch(&self, target: f64) -> u64 {
        const SMALL: f64 = 0.1;
        (self.share() / (SMALL * target)).ceil().clamp(2.0, 1e9) as u64
    }
}

/// The steps of all samples of a row; `None` where all of them are zero, or where a side is at zero.
pub(crate) fn steps_of(evidence: &Evidence) -> Option<Steps> {
    let sides = [&evidence.base, &evidence.head];
    let values = sides.map(|side| side.processes.iter().flat_map(|it| it.samples).copied().collect());
    Steps::of(values).filter(|steps| steps.place > 0.0)
}

/// True if the figures of a row have so few digits that a measurement may give the same ones again and again.
pub(crate) fn digits_explain(evidence: &Evidence) -> bool {
    steps_of(evidence).is_some_and(|steps| steps.share() >= EXPLAINS_REPETITION)
}

/// The most that the difference of the sides' centres may be off: steps as of [`steps_of`], averaged over processes that
/// differ by more than one.
pub(crate) fn centres_left_open(evidence: &Evidence, step: f64, unit: Unit) -> f64 {
    let [mut base, mut head] = [Values::default(), Values::default()];
    base.add(&evidence.base.centres);
    head.add(&evidence.head.centres);
    left_open([&base, &head], step, unit)
}

/// True if each side gave one whole number in all samples of several processes: figures that are counted do, whatever their
/// unit is called, and measured ones do not, unless they are rounded ([`may_count`]).
pub(crate) fn are_counts(unit: &str, sides: [&MeasuredSide; 2]) -> bool {
    /// Beyond it doubles have no fractions.
    const LARGEST: f64 = 9_007_199_254_740_992.0;
    let is_count = |side: &MeasuredSide| {
        let first = side.centres[0];
        let mut samples = side.processes.iter().flat_map(|process| process.samples);
        side.processes.len() > 1
            && first.fract() == 0.0
            && first.abs() <= LARGEST
            && samples.all(|value| *value == first)
    };
    may_count(unit) && sides.into_iter().all(is_count)
}

/// The one figure of each side, where neither side gave another. The last bits of time stamps are ignored.
pub(crate) fn constants([base, head]: [&[f64]; 2]) -> Option<[f64; 2]> {
    if !may_be_constant(base) || !may_be_constant(head) {
        return None;
    }
    let mut sides = [base.to_vec(), head.to_vec()];
    for values in &mut sides {
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
    }
    if sides.iter().map(Vec::len).sum::<usize>() < base.len() + head.len() {
        without_last_bits(&mut sides);
    }
    let one = |values: &[f64]| values.first().copied().filter(|_| values.len() == 1);
    Some([one(&sides[0])?, one(&sides[1])?])
}

fn may_be_constant(values: &[f64]) -> bool {
    let ends = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    ends.1 - ends.0 <= MAX_OF_A_TICK * OF_A_STAMP * ends.0.abs()
}

pub(crate) fn constant_samples(evidence: &Evidence) -> Option<[f64; 2]> {
    // The rule asks after every round, and nearly all rows vary from process to process: those need no copy of their
    // samples.
    if !may_be_constant(&evidence.base.centres) || !may_be_constant(&evidence.head.centres) {
        return None;
    }
    let samples = |side: &MeasuredSide| -> Vec<f64> {
        side.processes.iter().flat_map(|process| process.samples).copied().collect()
    };
    constants([&samples(&evidence.base), &samples(&evidence.head)])
}

/// Of values that are ascending and different.
fn smallest_distance(values: &[f64]) -> Option<f64> {
    values.windows(2).map(|two| two[1] - two[0]).reduce(f64::min)
}

/// Takes the last bits of time stamps out of figures, which are ascending and different on each side, and some of which
/// came more than once.
///
/// A duration is often the difference of two stamps that are doubles. Equal ticks of a coarse clock then come out as a
/// few figures next to each other, as far apart as the last bit of a stamp. Where all figures of both sides lie in such
/// groups, each group becomes one figure, the one with the fewest digits. Figures whose distance is a round number are
/// left alone: counts, and the ticks of clocks that count in tens.
fn without_last_bits(sides: &mut [Vec<f64>; 2]) {
    let mut all: Vec<f64> = sides.iter().flatten().copied().collect();
    all.sort_unstable_by(f64::total_cmp);
    all.dedup();
    let bit = sides.iter().filter_map(|values| smallest_distance(values)).reduce(f64::min);
    let (Some(bit), Some(first), Some(last)) = (bit, all.first(), all.last()) else { return };
    if *first <= 0.0 || bit >= OF_A_STAMP * first || is_round(bit, *last) {
        return;
    }
    let groups: Vec<&[f64]> = all.chunk_by(|one, next| next - one <= SAME_TICK * bit).collect();
    let span = |group: &[f64]| group[group.len() - 1] - group[0];
    let narrow = groups.iter().all(|group| span(group) <= MAX_OF_A_TICK * bit);
    let apart = groups.windows(2).all(|two| two[1][0] - two[0][two[0].len() - 1] > OTHER_TICK * bit);
    if !narrow || !apart {
        return;
    }
    let ticks: Vec<f64> =
        groups.iter().map(|group| fewest_digits(group[0] - bit, group[group.len() - 1] + bit)).collect();
    let ends: Vec<f64> = groups.iter().map(|group| group[group.len() - 1]).collect();
    for values in &mut *sides {
        // Every value is in a group, and the groups ascend.
        values.iter_mut().for_each(|value| *value = ticks[ends.partition_point(|end| end < value)]);
        values.dedup();
    }
    without_last_bits(sides);
}

/// True if a distance of values as large as `value` has few digits, but for the rounding of the values.
fn is_round(distance: f64, value: f64) -> bool {
    let rounded: f64 = format!("{distance:.*e}", DIGITS_OF_A_TICK - 1).parse().unwrap_or(f64::NAN);
    (rounded - distance).abs() <= 2.0 * f64::EPSILON * value
}

fn fewest_digits(low: f64, high: f64) -> f64 {
    const DIGITS_OF_A_DOUBLE: usize = 17;
    let middle = low + (high - low) / 2.0;
    let rounded = |digits: usize| format!("{middle:.digits$e}").parse().ok();
    let found = (0..DIGITS_OF_A_DOUBLE).filter_map(rounded).find(|value| (low..=high).contains(value));
    found.unwrap_or(middle)
}

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
        let places = [12.3, 1.25e-3, 120.0, 0.1 + 0.2, -7.0, 0.012].map(last_place);
        assert_eq!(places, [-1, -5, 1, -1, 0, -3].map(Some));
        assert_eq!(last_place(0.0), None);
    }

    fn after(base: &[f64], head: &[f64]) -> Vec<f64> {
        let round = |(base, head)| [base, head].map(std::slice::from_ref);
        unresolved(&base.iter().zip(head).map(round).collect::<Vec<_>>(), Unit::Logarithms, 0.02)
    }

    fn ticks<const N: usize>(counts: [f64; N]) -> [f64; N] {
        counts.map(|count| count * 1.024e-6_f64.sqrt())
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
        let [tick] = ticks([1.0]);
        let values = ticks([11.0, 12.0, 11.0, 12.0, 12.0, 11.0]);
        let open = after(&values, &values.map(|value| value + tick));
        assert!(*open.last().unwrap() > 0.07, "{open:?}");
        // Rounds before the first other figure know the step, too.
        let open = after(&ticks([5.0; 8]), &ticks([5.0, 5.0, 5.0, 5.0, 6.0, 5.0, 5.0, 5.0]));
        assert!(open.len() == 8 && open.iter().all(|open| *open > 0.19), "{open:?}");
        // Two constants whose digits do not explain them may be one tick apart.
        assert!(*after(&ticks([12.0; 6]), &ticks([13.0; 6])).last().unwrap() > 0.08);
        assert!(*after(&[12.3; 6], &[15.1; 6]).last().unwrap() < 0.01);
    }

    #[test]
    fn n2_ticks_that_come_as_differences_of_time_stamps_are_one_tick() {
        // Whole milliseconds, as the difference of seconds since 1970.
        let stamp = 1.763_8e9;
        let [base, head] = [7, 3].map(|every| {
            let of = |n: i32| {
                let begin = stamp + 0.013 * f64::from(n);
                (begin + (5.0 + f64::from(n % every == 0)) * 1e-3) - begin
            };
            (0..30).map(of).collect::<Vec<_>>()
        });
        let open = after(&base, &head);
        assert!(open.len() == 30 && *open.last().unwrap() > 0.15, "{open:?}");
    }

    #[test]
    fn n2_one_tick_that_comes_as_differences_of_time_stamps_is_one_figure() {
        for (stamp, ticks, tick) in
            [(1.763_8e9, 5.0, 1e-3), (1e5, 5.0, 1e-3), (1e5, 12.0, 1.024e-6), (7.3e4, 4.0, 1.0 / 60.0)]
        {
            let of = |n: u32| {
                let begin = ((stamp + f64::from(n) * 7.3137) / tick).floor();
                (begin + ticks) * tick - begin * tick
            };
            let figures: Vec<f64> = (0..60).map(of).collect();
            let (base, head) = figures.split_at(30);
            assert!(base.iter().any(|figure| *figure != base[0]), "{stamp} {tick}");
            let [base_tick, head_tick] = constants([base, head]).unwrap_or_else(|| panic!("{figures:?}"));
            assert!(base_tick == head_tick && (base_tick / tick - ticks).abs() < 1e-3, "{base_tick} {tick}");
            let in_milliseconds = |side: &[f64]| side.iter().map(|value| value * 1e3).collect::<Vec<_>>();
            assert!(constants([&in_milliseconds(base), &in_milliseconds(head)]).is_some());
            if tick == 1e-3 {
                assert!(*after(base, head).last().unwrap() > 0.2, "the digits show the tick");
            }
        }
    }

    #[test]
    fn quiet_figures_of_a_fine_clock_are_no_last_bits() {
        let cases: [&dyn Fn(u32) -> f64; 5] = [
            // Counted, in nanoseconds, in ticks of half a microsecond, by a double of seconds, by a single of
            // milliseconds.
            &|n| f64::from(1_000_000 + n % 3),
            &|n| f64::from(5_000_000 + n % 4) * 1e-9,
            &|n| 5.0 + f64::from(n % 4) * 5e-4,
            &|n| (1.763_8e9 + 0.005 + f64::from(n * 7 % 31) * 3e-7) - 1.763_8e9,
            &|n| f64::from((5.0 + f64::from(n * 7 % 31) * 3.2e-5) as f32),
        ];
        for (case, figure) in cases.iter().enumerate() {
            let figures: Vec<f64> = (0..60).map(figure).collect();
            let (base, head) = figures.split_at(30);
            assert_eq!(constants([base, head]), None, "{case}");
            assert!(after(base, head).iter().all(|open| *open < 1.5e-4), "{case}");
        }
    }

    #[test]
    fn n2_noise_wider_than_a_step_averages_it_out() {
        let side = |by| (0..40).map(|n| 100.0 + f64::from(n * by % 11)).collect::<Vec<_>>();
        let open = after(&side(7), &side(3));
        assert!(open.last().unwrap() < &0.0011, "{open:?}");
    }

    #[test]
    fn a_batch_makes_the_step_a_tenth_of_the_target() {
        assert_eq!(Steps { step: 1.0, least: 5.0, place: 5.0 }.batch(0.02), 100);
        assert_eq!(Steps { step: 1e-9, least: 1.0, place: 1.0 }.batch(0.02), 2);
    }
}
