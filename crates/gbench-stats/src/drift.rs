//! Detects a slow, steady slope that is still continuing: no single night's step is notable, but their sum is.
//!
//! It takes the best fit among lines that are flat first and then rise or fall from some run to the last, and reports it if
//! it is significant and fits better than the best step. Theil & Sen's slope with Mann & Kendall's test would ask for one
//! direction of the whole series: that neither shows where the slope begins nor distinguishes a slope from a step.

use super::change_points::noise::{self, FLOOR, SessionNoise};
use super::change_points::sums::{Hinge, Sums};
use super::change_points::{LEAST_RUNS, change_points, logarithms};
use super::{TQuantiles, t_tail};

/// The chance of a drift in a series without one with which the goals of `docs/trend-evaluation.md` are met.
pub const LEVEL: f64 = 0.001;
/// The fewest runs of a slope; a shorter one cannot be distinguished from a step.
pub(crate) const LEAST_RUNS_OF_DRIFT: usize = 20;
/// Twice the log likelihood of the slope must exceed that of the step by this.
const MARGIN: f64 = 2.0;

/// A slope from some run to the last one.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// The first run that has moved.
    pub from: usize,
    /// Relative change per run: `0.001` is 0.1 % more each night.
    pub per_run: f64,
    /// 95 % interval of `per_run`, given its beginning.
    pub low: f64,
    pub high: f64,
    /// The total change at the last run, relative to the level before.
    pub total: f64,
    /// Two-sided, times the number of places where it may begin (Bonferroni).
    pub p: f64,
}

/// The drift that includes the last runs, if there is one.
///
/// `values` as in [`change_points`]; runs before the last lasting step are ignored. `level`: the nominal chance of a drift in
/// a series without one. Also `None` if a value has no finite logarithm; [`change_points`] distinguishes the two.
pub fn drift(values: &[f64], level: f64) -> Option<Drift> {
    let points = change_points(values, super::change_points::LEVEL)?;
    let start = points.last().map_or(0, |point| point.at);
    let found = of_one_level(&logarithms(&values[start..])?, level)?;
    Some(Drift { from: start + found.from, ..found })
}

fn of_one_level(logarithms: &[f64], level: f64) -> Option<Drift> {
    let count = logarithms.len();
    if count < 2 * LEAST_RUNS_OF_DRIFT {
        return None;
    }
    let winsorised = SessionNoise::of(logarithms).winsorised(logarithms);
    let sums = Sums::new(&winsorised);
    let (from, hinge) = steepest(&sums)?;
    let fitted = |at: usize| hinge.slope * (at + 1).saturating_sub(from) as f64;
    let residuals: Vec<f64> = winsorised.iter().enumerate().map(|(at, value)| value - fitted(at)).collect();
    let inflation = noise::inflation_of(&residuals, 2);
    // Level, slope and the place of the knot are fitted.
    let freedom = ((count - 3) as f64 / inflation).max(1.0);
    let variance = inflation * (hinge.squares / (count - 3) as f64).max(FLOOR * FLOOR);
    let error = (variance / hinge.leverage).sqrt();
    let p = (2.0 * count as f64 * t_tail(hinge.slope.abs() / error, freedom)).min(1.0);
    let (_, step) = sums.best_step(0, count, LEAST_RUNS);
    let beyond_chance = p <= level && (step - hinge.squares) / variance > MARGIN;
    let half = TQuantiles::default().upper(0.025, freedom) * error;
    beyond_chance.then(|| Drift {
        from,
        per_run: hinge.slope.exp_m1(),
        low: (hinge.slope - half).exp_m1(),
        high: (hinge.slope + half).exp_m1(),
        total: fitted(count - 1).exp_m1(),
        p,
    })
}

fn steepest(sums: &Sums) -> Option<(usize, Hinge)> {
    let count = sums.len();
    let knots = 0..=count - LEAST_RUNS_OF_DRIFT;
    let fits = knots.map(|knot| (knot, sums.flat_then_slope(0, knot, count)));
    fits.filter(|(_, hinge)| hinge.leverage > 0.0).min_by(|a, b| a.1.squares.total_cmp(&b.1.squares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::series;

    const ABOUT: (f64, f64) = (5.0, 0.01);
    const SLOPE: fn(usize) -> f64 = |at| 0.001 * at.saturating_sub(59) as f64;

    #[test]
    fn a_tenth_of_a_percent_a_night_is_told_before_it_comes_to_four_percent() {
        let drift = drift(&series(3, 99, ABOUT, SLOPE), LEVEL).unwrap();
        assert!((40..80).contains(&drift.from), "{drift:?}");
        assert!(drift.low < 0.001 && drift.high > 0.001 && drift.p <= LEVEL, "{drift:?}");
        assert!((drift.total - 0.04).abs() < 0.015, "{drift:?}");
    }

    #[test]
    fn a_step_is_no_drift_and_a_drift_is_no_step() {
        let step = series(4, 120, ABOUT, |at| if at < 60 { 0.0 } else { 0.05 });
        assert_eq!(drift(&step, LEVEL), None);
        assert_eq!(change_points(&step, 0.001).unwrap().len(), 1);
        assert_eq!(change_points(&series(4, 120, ABOUT, SLOPE), 0.001).unwrap(), []);
    }

    #[test]
    fn what_lies_before_the_last_step_is_left_out() {
        let level = |at: usize| 0.1 * f64::from(at >= 60) - 0.002 * at.saturating_sub(129) as f64;
        let drift = drift(&series(5, 200, ABOUT, level), LEVEL).unwrap();
        assert!((110..150).contains(&drift.from) && drift.per_run < 0.0, "{drift:?}");
    }

    #[test]
    fn nothing_is_told_of_few_runs_of_noise_or_of_what_has_no_logarithm() {
        let few = series(6, 39, ABOUT, |at| 0.01 * at as f64);
        for values in [few, series(7, 300, ABOUT, |_| 0.0), vec![0.0; 60], vec![2.0; 60]] {
            assert_eq!(drift(&values, LEVEL), None);
        }
    }
}
