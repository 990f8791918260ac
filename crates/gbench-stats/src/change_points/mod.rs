//! Lasting steps in a history of runs that vary from session to session.
//!
//! Four stages, each robust against what nightly histories hold: spikes, states that alternate, and sessions that
//! resemble their neighbours.
//!
//! 1. *Candidates*: the cheapest partition of the logarithms into levels, by a cost that spikes do not raise (`partition`).
//! 2. *Significance*: each candidate is tested by ranks between its two neighbours (`ranks`), with a variance that knows
//!    autocorrelation (`noise`). Of those that fail, the one that explains least goes, and the test is made anew, until
//!    all that remain pass. Ranks decide because the tails of the noise are not known: a t test in their place reports
//!    every state that lasts for some runs by chance, and the cost alone takes states that alternate for steps. Where two
//!    long levels lie wholly apart, the t test may decide too.
//! 3. *Shape*: a candidate that a slope explains better than a step is a drift and no change point ([`drift()`](super::drift())).
//! 4. *Confirmation*: a point is told once six looks in a row have seen it. Most that are false go with the next run.
//!
//! No kept crate does this: `pelt` has squared and absolute cost but no test, and asks for a newer compiler than ours;
//! `changepoint`, which `augurs-changepoint` wraps, is Bayesian online detection with a fixed hazard and Gaussian runs.
//! `benches/trends` holds both ideas, and others, against this one; `docs/trend-evaluation.md` has the table.

pub(super) mod noise;
mod partition;
mod ranks;
mod revision;
pub(super) mod sums;

pub use revision::{ChangeRevision, revise};

use std::ops::RangeInclusive;

use super::{TQuantiles, t_tail};
use noise::{FLOOR, SessionNoise};
use sums::Sums;

/// The family's error rate at one look that the goals of `docs/trend-evaluation.md` are met with.
pub const LEVEL: f64 = 2e-3;
/// A level of so many runs is no longer new: most that are false are shorter. Between two such levels the error rate is larger.
const LONG_RUNS: usize = 20;
const LEVEL_OF_LONG: f64 = 10.0;
/// Looks in a row, one a run, that have to see a point.
const LOOKS: usize = 6;
/// A shift lasts where it holds the majority of nine runs: fewer than these are a spike.
pub(crate) const LEAST_RUNS: usize = 5;
/// Where the levels before and after lie apart over so many runs each, their distance counts too. Shorter states may come and go.
const CLEAR_RUNS: usize = 12;
/// Fewer runs are not searched: every look at few of them adds to the chance of a false point, and they show only large steps.
pub const LEAST_SEARCHED: usize = 2 * CLEAR_RUNS;
/// Runs whose mean stands for what they have in common.
const BATCH: usize = 10;
/// Degrees of freedom below which the spread of such means says too little.
const LEAST_BATCHES: usize = 3;
/// Penalty of a candidate over `ln n`, in squared scales: that of Schwarz 1978 is 1 for each of place and size.
const PENALTY: f64 = 6.0;
/// A slope is preferred where twice its logarithmic likelihood exceeds the step's by more than this.
const SLOPE_MARGIN: f64 = 1.0;
/// What is steeper than a rise over as many runs counts as a step.
const LEAST_SLOPE: usize = 8;
/// 95 % of the likelihood ratios of the true place against the best one are below it: `-2 ln(1 - sqrt 0.95)`
/// (Hansen 2000, "Sample Splitting and Threshold Estimation"; Eo & Morley 2015).
const PLACE: f64 = 7.35;

/// A lasting change of level. Places are indices into the series.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangePoint {
    /// The first run after the change.
    pub at: usize,
    /// Where the first run after the change lies with 95 % confidence, given that there is one.
    pub within: RangeInclusive<usize>,
    /// Level after over level before, less 1: `0.03` is 3 % more.
    pub size: f64,
    /// Interval of `size`, nominally 95 %, given the place: that the place was chosen for its size is not in it, and on real
    /// noise it holds the truth less often (`docs/trend-evaluation.md`).
    pub low: f64,
    pub high: f64,
    /// Two-sided, by ranks or, of long levels that lie apart, by size; times the number of places (Bonferroni).
    pub p: f64,
}

impl ChangePoint {
    /// Whether both may be the same place.
    fn meets(&self, other: &Self) -> bool {
        self.within.start() <= other.within.end() && other.within.start() <= self.within.end()
    }
}

/// The lasting steps of a series, in their order.
///
/// `values`: one a run, in the order of time, any unit, from one unbroken piece: nothing but the program and the session
/// changed. `level`: the chance that this look sees even one point in a series without a change, nominally; [`LEVEL`]
/// unless there is a reason. A point is told if the looks before have seen it, too, as far as there were looks. `None` where a
/// value has no finite logarithm. Series of fewer than [`LEAST_SEARCHED`] have no points.
pub fn change_points(values: &[f64], level: f64) -> Option<Vec<ChangePoint>> {
    let logarithms = logarithms(values)?;
    if logarithms.len() < LEAST_SEARCHED {
        return Some(Vec::new());
    }
    let mut points = seen(&logarithms, level);
    for runs in (LEAST_SEARCHED..logarithms.len()).rev().take(LOOKS - 1) {
        if points.is_empty() {
            break;
        }
        let before = seen(&logarithms[..runs], level);
        points.retain(|point| before.iter().any(|other| point.meets(other)));
    }
    Some(points)
}

/// What one look sees.
fn seen(logarithms: &[f64], level: f64) -> Vec<ChangePoint> {
    Search::new(logarithms, level).points()
}

pub(super) fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    logarithms.iter().all(|logarithm| logarithm.is_finite()).then_some(logarithms)
}

struct Search<'a> {
    logarithms: &'a [f64],
    winsorised: Vec<f64>,
    sums: Sums,
    /// Largest p value of a place that is kept between levels that are still short.
    limit: f64,
    /// How much larger the variance of a mean is than that of independent runs.
    inflation: f64,
    /// Ends of the pieces, 0 and the length among them.
    edges: Vec<usize>,
    /// By edge; 0 of the outer two.
    p: Vec<f64>,
}

impl<'a> Search<'a> {
    fn new(logarithms: &'a [f64], level: f64) -> Self {
        let count = logarithms.len();
        let noise = SessionNoise::of(logarithms);
        let winsorised = noise.winsorised(logarithms);
        let sums = Sums::new(&winsorised);
        let edges = partition::edges(logarithms, noise.near, PENALTY * (count as f64).ln(), LEAST_RUNS);
        // From the generous partition, once: what a rejected candidate leaves in the residuals looks like autocorrelation
        // and would make the next ones fail in turn.
        let inflation = noise::inflation(logarithms, &edges);
        let p = vec![0.0; edges.len()];
        let mut search =
            Self { logarithms, winsorised, sums, limit: level / count as f64, inflation, edges, p };
        (1..search.edges.len() - 1).for_each(|index| search.test(index));
        search
    }

    fn points(mut self) -> Vec<ChangePoint> {
        while let Some(index) = self.weakest() {
            self.remove(index);
        }
        let mut quantiles = TQuantiles::default();
        let inner = 1..self.edges.len() - 1;
        inner.filter(|index| !self.is_slope(*index)).map(|index| self.point(index, &mut quantiles)).collect()
    }

    /// Of the candidates that fail the test, the one without which the fit loses least. By p value the short pieces would
    /// go first, however large the step beside them.
    fn weakest(&self) -> Option<usize> {
        let failing = (1..self.edges.len() - 1).filter(|index| !self.is_beyond_chance(*index));
        failing.min_by(|a, b| self.loss(*a).total_cmp(&self.loss(*b)))
    }

    fn is_beyond_chance(&self, index: usize) -> bool {
        let (start, at, end) = self.around(index);
        let is_long = (at - start).min(end - at) >= LONG_RUNS;
        self.p[index] <= if is_long { LEVEL_OF_LONG * self.limit } else { self.limit }
    }

    /// The piece before an edge and the one after it: where they start, meet and end.
    fn around(&self, index: usize) -> (usize, usize, usize) {
        (self.edges[index - 1], self.edges[index], self.edges[index + 1])
    }

    fn loss(&self, index: usize) -> f64 {
        let (start, at, end) = self.around(index);
        self.sums.squares(start, end) - self.sums.step(start, at, end)
    }

    fn test(&mut self, index: usize) {
        let (start, at, end) = self.around(index);
        let by_ranks = ranks::shift(&self.logarithms[start..end], at - start, self.inflation);
        self.p[index] = if self.is_clear_cut(start, at, end) {
            by_ranks.min(self.by_size(start, at, end))
        } else {
            by_ranks
        };
    }

    /// Whether the levels lie apart and are long enough that their distance may speak: ranks say no more of two levels that
    /// lie apart, however far, and of a history of some forty runs that is not enough.
    fn is_clear_cut(&self, start: usize, at: usize, end: usize) -> bool {
        let ends = |runs: &[f64]| {
            let ends = (f64::INFINITY, f64::NEG_INFINITY);
            runs.iter().fold(ends, |(low, high), run| (low.min(*run), high.max(*run)))
        };
        let (before, after) = (&self.winsorised[start..at], &self.winsorised[at..end]);
        let ((low, high), (other_low, other_high)) = (ends(before), ends(after));
        before.len().min(after.len()) >= CLEAR_RUNS && (high < other_low || other_high < low)
    }

    /// Two-sided p value of a step by Student's t.
    fn by_size(&self, start: usize, at: usize, end: usize) -> f64 {
        let (size, error, freedom) = self.step_of(start, at, end);
        2.0 * t_tail((size / error).abs(), freedom)
    }

    /// Size of a step, its standard error, and the degrees of freedom of that.
    fn step_of(&self, start: usize, at: usize, end: usize) -> (f64, f64, f64) {
        let (before, after) = ((at - start) as f64, (end - at) as f64);
        let variance = self.variance(self.sums.step(start, at, end), end - start);
        let size = self.sums.mean(at, end) - self.sums.mean(start, at);
        let freedom = ((before + after - 2.0) / self.inflation).max(1.0);
        (size, (variance * (1.0 / before + 1.0 / after)).sqrt(), freedom)
    }

    /// Standard error of a step by how far the means of [`BATCH`] runs lie from those of their levels, and its degrees of freedom;
    /// `None` of levels that are too short to tell.
    fn error_by_batches(&self, start: usize, at: usize, end: usize) -> Option<(f64, f64)> {
        let (mut squares, mut batches) = (0.0, 0);
        for (from, to) in [(start, at), (at, end)] {
            let centre = self.sums.mean(from, to);
            let count = ((to - from) / BATCH).max(1);
            let edge = |batch: usize| from + (to - from) * batch / count;
            let means = (0..count).map(|batch| self.sums.mean(edge(batch), edge(batch + 1)));
            squares += means.map(|mean| (mean - centre).powi(2)).sum::<f64>();
            batches += count;
        }
        let freedom = batches.checked_sub(2).filter(|freedom| *freedom >= LEAST_BATCHES)? as f64;
        let (before, after) = ((at - start) as f64, (end - at) as f64);
        let runs = (before + after) / batches as f64;
        Some(((squares / freedom * runs * (1.0 / before + 1.0 / after)).sqrt(), freedom))
    }

    /// Takes an edge away and lets its neighbours move to where they fit best now.
    fn remove(&mut self, index: usize) {
        self.edges.remove(index);
        self.p.remove(index);
        let last = self.edges.len() - 1;
        for neighbour in [index - 1, index] {
            if (1..last).contains(&neighbour) {
                let (start, _, end) = self.around(neighbour);
                self.edges[neighbour] = self.sums.best_step(start, end, LEAST_RUNS).0;
            }
        }
        (index.saturating_sub(2).max(1)..(index + 2).min(last)).for_each(|near| self.test(near));
    }

    /// Variance of a run about a fit, times the inflation: what differences of squares are measured against.
    fn variance(&self, squares: f64, runs: usize) -> f64 {
        self.inflation * (squares / (runs - 2) as f64).max(FLOOR * FLOOR)
    }

    fn is_slope(&self, index: usize) -> bool {
        let (start, at, end) = self.around(index);
        let step = self.sums.step(start, at, end);
        let slope = self.sums.best_slope(start, end, LEAST_SLOPE);
        (step - slope) / self.variance(slope.min(step), end - start) > SLOPE_MARGIN
    }

    fn point(&self, index: usize, quantiles: &mut TQuantiles) -> ChangePoint {
        let (start, at, end) = self.around(index);
        let step = self.sums.step(start, at, end);
        let variance = self.variance(step, end - start);
        let (size, error, freedom) = self.step_of(start, at, end);
        let half = quantiles.upper(0.025, freedom) * error;
        // Runs that wander together for longer than the autocorrelation looks.
        let half = match self.error_by_batches(start, at, end) {
            Some((error, freedom)) => half.max(quantiles.upper(0.025, freedom) * error),
            None => half,
        };
        let places = start + LEAST_RUNS..end - LEAST_RUNS + 1;
        let likely = |place: &usize| (self.sums.step(start, *place, end) - step) / variance <= PLACE;
        let first = places.clone().find(likely).unwrap_or(at);
        let last = places.rev().find(likely).unwrap_or(at);
        ChangePoint {
            at,
            within: first.min(at)..=last.max(at),
            size: size.exp_m1(),
            low: (size - half).exp_m1(),
            high: (size + half).exp_m1(),
            p: (self.p[index] * self.logarithms.len() as f64).min(1.0),
        }
    }
}

#[cfg(test)]
mod tests;
