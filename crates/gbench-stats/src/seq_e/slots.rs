//! The order effect that all rows of a family share: the process that runs second is slower, or faster.
//!
//! With `c` = 1 if head ran second and -1 if it ran first, and `x` a round's difference, `u = c x` does not depend on the coin
//! if nothing changed: it is second minus first. So neither the choice to look at the order nor its estimate from past rounds
//! contains information about the next coin, and `x - c tau` is as fair as `x`.

use super::{Basis, Interval, Series, TQuantiles, mean, median, sample_stddev};

/// The t from which an order effect is assumed.
const CLEAR: f64 = 3.5;
/// Fewer rows show no order effect.
const MIN_ROWS: usize = 4;
/// Rounds of each order that a contrast needs.
const MIN_ROUNDS: usize = 3;

fn sign(head_second: bool) -> f64 {
    if head_second { 1.0 } else { -1.0 }
}

/// t of the order effect over rows, from their first two rounds, which have opposite orders, so that the change cancels: 0 for
/// few rows.
pub(super) fn slot_t<'a>(rows: impl Iterator<Item = &'a Series<'a>>) -> f64 {
    let of_row = |row: &'a Series<'a>| match (row.differences, row.head_second) {
        ([d0, d1, ..], [c0, c1, ..]) if c0 != c1 => Some((sign(*c0) * d0 + sign(*c1) * d1) / 2.0),
        _ => None,
    };
    let effects: Vec<f64> = rows.filter_map(of_row).collect();
    let (Some(mean), Some(deviation)) = (mean(&effects), sample_stddev(&effects)) else { return 0.0 };
    if effects.len() < MIN_ROWS {
        return 0.0;
    }
    (mean / (deviation / (effects.len() as f64).sqrt()).max(1e-12)).abs()
}

pub(super) fn is_clear<'a>(rows: impl Iterator<Item = &'a Series<'a>>) -> bool {
    slot_t(rows) > CLEAR
}

/// Second minus first of the first `rounds`, by order: those with head second, those with head first. `None` if orders are
/// unknown.
fn by_order(series: &Series, from: usize, rounds: usize) -> Option<[Vec<f64>; 2]> {
    let (differences, orders) =
        (series.differences.get(from..rounds)?, series.head_second.get(from..rounds)?);
    let of = |wanted: bool| {
        let rounds = differences.iter().zip(orders).filter(move |(_, order)| **order == wanted);
        rounds.map(move |(difference, order)| sign(*order) * difference).collect()
    };
    Some([of(true), of(false)])
}

/// The expected effect of the order on the difference of the round `round`, from the rounds before it, between whose two
/// orders the change cancels.
pub(super) fn expected(series: &Series, round: usize) -> f64 {
    let Some(order) = series.head_second.get(round) else { return 0.0 };
    let medians = by_order(series, 0, round).map(|both| both.map(|mut values| median(&mut values)));
    let Some([Some(second), Some(first)]) = medians else { return 0.0 };
    sign(*order) * (second + first) / 2.0
}

/// The change by the contrast of the two orders, and its interval with `beta` outside on each side; `None` for few rounds.
pub(super) fn contrast(
    series: &Series,
    from: usize,
    rounds: usize,
    beta: f64,
    quantiles: &mut TQuantiles,
) -> Option<Interval> {
    let both = by_order(series, from, rounds)?;
    if both.iter().any(|values| values.len() < MIN_ROUNDS) {
        return None;
    }
    let [(second, second_n, second_square), (first, first_n, first_square)] = both.map(|values| {
        let (mean, n) = (mean(&values).unwrap_or(0.0), values.len() as f64);
        (mean, n, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>())
    });
    let freedom = second_n + first_n - 2.0;
    let variance = (second_square + first_square) / freedom;
    let error = (variance * (1.0 / second_n + 1.0 / first_n)).sqrt() / 2.0;
    let (centre, half) = ((second - first) / 2.0, quantiles.upper(beta, freedom) * error);
    Some(Interval { centre, low: centre - half, high: centre + half, level: beta, basis: Basis::Orders })
}
