//! The likelihood of a split of the figures into those before and those after a change.
//!
//! With x = 1 after the change and 0 before it,
//!
//! ```text
//! value = level + change x + offset of the round + error
//! error ~ N(0, noise² s),  s = 1, or OUTLIER² where the figure is an outlier
//! offset ~ N(0, drift noise²)
//! level ~ N(0, WIDE² noise²),  change ~ N(0, CHANGE² noise²),  noise² ~ inverse gamma
//! ```
//!
//! The model is conjugate, so the probability of the figures has a closed form for each drift and each choice of outliers
//! (Bishop 2006, 3.5.1). The drift takes the few values of [`DRIFTS`]. The choices of outliers that a greedy search visits are
//! summed.

use statrs::function::gamma::ln_gamma;

use super::figure::BisectionFigure;
use crate::student::t_tail;

/// Variance of a round's offset as a multiple of the noise's, all equally probable a priori.
pub(super) const DRIFTS: [f64; 5] = [0.0, 0.1, 0.5, 2.0, 8.0];

const CHANGE: f64 = 7.0;
const WIDE: f64 = 1e3;
/// Share of figures that are outliers, and their spread relative to the noise.
const OUTLIERS: f64 = 0.05;
const OUTLIER: f64 = 10.0;
/// Prior of the noise: as if two figures had shown half a percent.
const PRIOR_SHAPE: f64 = 1.0;
const PRIOR_NOISE: f64 = 0.01;

#[derive(Clone, Copy, Debug)]
pub(super) struct SplitFit {
    /// Logarithm of the probability of the figures, except for a constant that all splits share.
    pub evidence: f64,
    /// Mean and standard error of the change; 0 if the model has none.
    pub change: f64,
    pub error: f64,
    pub noise: f64,
    /// Variance of the level between the two, in units of the noise's.
    pub middle: f64,
    pub freedom: f64,
    /// Probability that the change is above zero.
    pub above: f64,
}

#[derive(Clone, Copy, Default)]
struct RoundSums {
    weight: f64,
    behind: f64,
    value: f64,
    value_behind: f64,
    square: f64,
}

#[derive(Clone, Copy)]
struct SolvedSplit {
    level: f64,
    change: f64,
    /// The inverse of the matrix: level, both, change.
    inverse: [f64; 3],
    evidence: f64,
    shape: f64,
    scale: f64,
}

pub(super) struct Split<'a> {
    pub figures: &'a [BisectionFigure],
    /// By figure: it is after the change. `None`: there is no change.
    pub behind: Option<&'a [bool]>,
    /// Subtracted from each value: a centre near all of them.
    pub centre: f64,
}

impl Split<'_> {
    /// Fits at one drift, with the outliers of a greedy search.
    pub(super) fn fit(&self, drift: f64) -> SplitFit {
        let mut outliers = vec![false; self.figures.len()];
        let mut best = self.solve(drift, &outliers);
        let mut total = best.evidence;
        let price = (OUTLIERS / (1.0 - OUTLIERS)).ln();
        for taken in 1..=self.figures.len() / 4 + 1 {
            let mut found: Option<(usize, SolvedSplit)> = None;
            for suspect in self.suspects(&best, drift, &outliers) {
                outliers[suspect] = true;
                let mut solved = self.solve(drift, &outliers);
                outliers[suspect] = false;
                solved.evidence += price * taken as f64;
                if found.as_ref().is_none_or(|(_, other)| solved.evidence > other.evidence) {
                    found = Some((suspect, solved));
                }
            }
            let Some((suspect, solved)) = found else { break };
            total = ln_sum(total, solved.evidence);
            if solved.evidence <= best.evidence {
                break;
            }
            outliers[suspect] = true;
            best = solved;
        }
        let noise = (best.scale / best.shape).sqrt();
        let [level, both, change] = best.inverse;
        let error = noise * change.sqrt();
        let freedom = 2.0 * best.shape;
        let above = if error > 0.0 { 1.0 - t_tail(best.change / error, freedom) } else { 0.5 };
        let middle = level + both + change / 4.0;
        SplitFit { evidence: total, change: best.change, error, noise, middle, freedom, above }
    }

    #[cfg(test)]
    pub(super) fn evidence_without_outliers(&self, drift: f64) -> f64 {
        self.solve(drift, &vec![false; self.figures.len()]).evidence
    }

    fn is_behind(&self, at: usize) -> bool {
        self.behind.is_some_and(|behind| behind[at])
    }

    fn solve(&self, drift: f64, outliers: &[bool]) -> SolvedSplit {
        // Figures of a round are adjacent.
        let mut sums = RoundSums::default();
        let mut round = None;
        let mut equations = [1.0 / (WIDE * WIDE), 0.0, 1.0 / (CHANGE * CHANGE), 0.0, 0.0, 0.0];
        let mut ln_determinant = 0.0;
        let mut close = |sums: RoundSums| {
            let share = drift / (1.0 + drift * sums.weight);
            equations[0] += sums.weight - share * sums.weight * sums.weight;
            equations[1] += sums.behind - share * sums.weight * sums.behind;
            equations[2] += sums.behind - share * sums.behind * sums.behind;
            equations[3] += sums.value - share * sums.weight * sums.value;
            equations[4] += sums.value_behind - share * sums.behind * sums.value;
            equations[5] += sums.square - share * sums.value * sums.value;
            ln_determinant += (1.0 + drift * sums.weight).ln();
        };
        let mut ln_widths = 0.0;
        for (at, figure) in self.figures.iter().enumerate() {
            if round.is_some_and(|round| round != figure.round) {
                close(std::mem::take(&mut sums));
            }
            round = Some(figure.round);
            let weight = if outliers[at] { 1.0 / (OUTLIER * OUTLIER) } else { 1.0 };
            let behind = if self.is_behind(at) { weight } else { 0.0 };
            let value = figure.value - self.centre;
            sums.weight += weight;
            sums.behind += behind;
            sums.value += weight * value;
            sums.value_behind += behind * value;
            sums.square += weight * value * value;
            ln_widths -= weight.ln();
        }
        close(sums);
        let [a, b, c, p, q, square] = equations;
        let determinant = if self.behind.is_some() { a * c - b * b } else { a };
        let (inverse, level, change) = if self.behind.is_some() {
            let inverse = [c / determinant, -b / determinant, a / determinant];
            (inverse, inverse[0] * p + inverse[1] * q, inverse[1] * p + inverse[2] * q)
        } else {
            ([1.0 / a, 0.0, 0.0], p / a, 0.0)
        };
        let prior = if self.behind.is_some() { -2.0 * CHANGE.ln() } else { 0.0 };
        let shape = PRIOR_SHAPE + self.figures.len() as f64 / 2.0;
        let left = (square - level * p - change * q).max(0.0);
        let scale = PRIOR_SHAPE * PRIOR_NOISE * PRIOR_NOISE + left / 2.0;
        let evidence = 0.5 * (prior - determinant.ln() - ln_determinant - ln_widths) - shape * scale.ln()
            + ln_gamma(shape);
        SolvedSplit { level, change, inverse, evidence, shape, scale }
    }

    /// The two figures farthest from the fit that are not outliers yet.
    fn suspects(
        &self,
        solved: &SolvedSplit,
        drift: f64,
        outliers: &[bool],
    ) -> impl Iterator<Item = usize> + use<> {
        let off = |at: usize| {
            let change = if self.is_behind(at) { solved.change } else { 0.0 };
            self.figures[at].value - self.centre - solved.level - change
        };
        let mut farthest = [(None, 0.0_f64), (None, 0.0)];
        let mut from = 0;
        while from < self.figures.len() {
            let round = self.figures[from].round;
            let figures = self.figures[from..].iter().take_while(|figure| figure.round == round).count();
            let range = from..from + figures;
            let sum: f64 = range.clone().map(off).sum();
            let offset = drift * sum / (1.0 + drift * figures as f64);
            for at in range.filter(|at| !outliers[*at]) {
                let size = (off(at) - offset).abs();
                if size > farthest[0].1 {
                    farthest = [(Some(at), size), farthest[0]];
                } else if size > farthest[1].1 {
                    farthest[1] = (Some(at), size);
                }
            }
            from += figures;
        }
        farthest.into_iter().filter_map(|(at, _)| at)
    }
}

/// ln(exp a + exp b).
pub(super) fn ln_sum(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}
