//! Lasting steps in a history of runs that vary from session to session.
//!
//! Four stages, each robust against the features of nightly histories: spikes, alternating states, and sessions that resemble
//! their neighbours.
//!
//! 1. *Candidates*: the cheapest partition of the logarithms into levels, by a cost that spikes do not raise (`partition`).
//! 2. *Significance*: each candidate is tested by ranks between its two neighbours (`ranks`), with a variance that
//!    accounts for autocorrelation (`noise`). If some fail, the one that explains least is removed and the test is
//!    repeated, until all pass. Ranks decide because the tails of the noise are unknown: a t test would report every
//!    state that lasts for some runs by chance, and the cost alone takes alternating states for steps. If two long
//!    levels are wholly separate, the t test may decide, too.
//! 3. *Shape*: a candidate that a slope explains better than a step is a drift, not a change point
//!    ([`drift()`](super::drift())).
//! 4. *Confirmation*: a point is reported once six looks in a row have seen it, four if the levels lie far apart. The next run
//!    removes most false ones.
//!
//! No maintained crate does this: `pelt` has squared and absolute cost but no test, and needs a newer compiler than ours;
//! `changepoint`, which `augurs-changepoint` wraps, is Bayesian online detection with a fixed hazard and Gaussian runs.
//! `benches/trends` compares both ideas, and others, with this one; `docs/trend-evaluation.md` has the table.

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

/// The family's error rate at one look with which the goals of `docs/trend-evaluation.md` are met.
pub const LEVEL: f64 = 2e-3;
/// A level of this many runs is no longer new: most false levels are shorter. Between two such levels the error rate is
/// larger.
const LONG_RUNS: usize = 20;
const LEVEL_OF_LONG: f64 = 10.0;
/// Looks in a row, one per run, that must see a point.
const LOOKS: usize = 6;
/// The same if the levels lie farther apart than either of them extends.
const LOOKS_OF_WIDE: usize = 4;
/// A shift is lasting if it has the majority of nine runs; fewer than these are a spike.
pub(crate) const LEAST_RUNS: usize = 5;
/// If the levels before and after are separate over this many runs each, their distance is considered, too. Shorter states may
/// come and go.
const CLEAR_RUNS: usize = 12;
/// Shorter series are not searched: every look at few runs adds to the chance of a false point, and few runs show only large
/// steps.
pub const LEAST_SEARCHED: usize = 2 * CLEAR_RUNS;
/// Runs per batch; the batch mean shows their common component.
const BATCH: usize = 10;
/// With fewer degrees of freedom, the spread of the batch means is not informative.
const LEAST_BATCHES: usize = 3;
/// Penalty of a candidate over `ln n`, in squared scales; Schwarz 1978 has 1 each for place and size.
const PENALTY: f64 = 6.0;
/// A slope is preferred if twice its log likelihood exceeds the step's by more than this.
const SLOPE_MARGIN: f64 = 1.0;
/// Anything steeper than a rise over this many runs is a step.
const LEAST_SLOPE: usize = 8;
/// 95 % of the likelihood ratios of the true place against the best one are below it: `-2 ln(1 - sqrt 0.95)`
/// (Hansen 2000, "Sample Splitting and Threshold Estimation"; Eo & Morley 2015).
const PLACE: f64 = 7.35;

/// A lasting change of level. Places are indices into the series.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangePoint {
    /// The first run after the change.
    pub at: usize,
    /// The range of the first run after the change with 95 % confidence, given that there is a change.
    pub within: RangeInclusive<usize>,
    /// Level after over level before, less 1: `0.03` is 3 % more.
    pub size: f64,
    /// Interval of `size`, nominally 95 %, given the place. It does not account for the place having been chosen for its size,
    /// and on real noise it covers the truth less often (`docs/trend-evaluation.md`).
    pub low: f64,
    pub high: f64,
    /// Two-sided, by ranks or, for long levels that are separate, by size; times the number of places (Bonferroni).
    pub p: f64,
}

impl ChangePoint {
    /// True if both may be the same place.
    fn meets(&self, other: &Self) -> bool {
        self.within.start() <= other.within.end() && other.within.start() <= self.within.end()
    }
}

/// The lasting steps of a series, in order.
///
/// `values`: one per run, in time order, in any unit, from one unbroken piece: only the program and the session changed.
/// `level`: the nominal chance that this look sees any point in a series without a change; usually [`LEVEL`]. A point is
/// reported if the previous looks, as far as there were any, have seen it, too. `None` if a value has no finite logarithm.
/// Series shorter than [`LEAST_SEARCHED`] have no points.
pub fn change_points(values: &[f64], level: f64) -> Option<Vec<ChangePoint>> {
    let logarithms = logarithms(values)?;
    if logarithms.len() < LEAST_SEARCHED {
        return Some(Vec::new());
    }
    let search = Search::new(&logarithms, level).significant();
    let mut points: Vec<(ChangePoint, bool)> =
        search.points().into_iter().map(|(index, point)| (point, search.is_wide(index))).collect();
    for (looks, runs) in (2..=LOOKS).zip((LEAST_SEARCHED..logarithms.len()).rev()) {
        if points.is_empty() {
            break;
        }
        let before = Search::new(&logarithms[..runs], level).significant().points();
        points.retain(|(point, is_wide)| {
            *is_wide && looks > LOOKS_OF_WIDE || before.iter().any(|(_, other)| point.meets(other))
        });
    }
    Some(points.into_iter().map(|(point, _)| point).collect())
}

pub(super) fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    logarithms.iter().all(|logarithm| logarithm.is_finite()).then_some(logarithms)
}

struct Search<'a> {
    logarithms: &'a [f64],
    winsorised: Vec<f64>,
    sums: Sums,
    /// Largest p value of a kept place between levels that are still short.
    limit: f64,
    /// Variance of a mean relative to that of independent runs.
    inflation: f64,
    /// Ends of the pieces, including 0 and the length.
    edges: Vec<usize>,
    /// By edge; 0 for the outer two.
    p: Vec<f64>,
}

impl<'a> Search<'a> {
    fn new(logarithms: &'a [f64], level: f64) -> Self {
        let count = logarithms.len();
        let noise = SessionNoise::of(logarithms);
        let winsorised = noise.winsorised(logarithms);
        let sums = Sums::new(&winsorised);
        let edges = partition::edges(logarithms, noise.near, PENALTY * (count as f64).ln(), LEAST_RUNS);
        // Computed once, from the generous partition: the remains of a rejected candidate in the residuals look like
        // autocorrelation, and would make the next ones fail in turn.
        let inflation = noise::inflation(logarithms, &edges);
        let p = vec![0.0; edges.len()];
        let mut search =
            Self { logarithms, winsorised, sums, limit: level / count as f64, inflation, edges, p };
        (1..search.edges.len() - 1).for_each(|index| search.test(index));
        search
    }

    fn significant(mut self) -> Self {
        while let Some(index) = self.weakest() {
            self.remove(index);
        }
        self
    }

    /// Each with its edge.
    fn points(&self) -> Vec<(usize, ChangePoint)> {
        let mut quantiles = TQuantiles::default();
        let inner = 1..self.edges.len() - 1;
        let steps = inner.filter(|index| !self.is_slope(*index));
        steps.map(|index| (index, self.point(index, &mut quantiles))).collect()
    }

    /// The failing candidate whose removal costs the fit least. The largest p value would remove the
    /// short pieces first, however large the step next to them.
    fn weakest(&self) -> Option<usize> {
        let failing = (1..self.edges.len() - 1).filter(|index| !self.is_beyond_chance(*index));
        failing.min_by(|a, b| self.loss(*a).total_cmp(&self.loss(*b)))
    }

    fn is_beyond_chance(&self, index: usize) -> bool {
        let (start, at, end) = self.around(index);
        let is_long = (at - start).min(end - at) >= LONG_RUNS;
        self.p[index] <= if is_long { LEVEL_OF_LONG * self.limit } else { self.limit }
    }

    /// The piece before an edge and the one after it: their start, common edge and end.
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

    /// True if the levels are separate and long enough for their distance to be used. Ranks of two separate levels do not
    /// depend on their distance, and in a history of some forty runs they are not enough.
    fn is_clear_cut(&self, start: usize, at: usize, end: usize) -> bool {
        (at - start).min(end - at) >= CLEAR_RUNS && self.gap(start, at, end).0 > 0.0
    }

    /// True if the gap between the levels is larger than the range of each: no state of the runs before comes near the runs
    /// after.
    fn is_wide(&self, index: usize) -> bool {
        let (start, at, end) = self.around(index);
        let (gap, range) = self.gap(start, at, end);
        gap > range
    }

    /// The distance between the runs before and the runs after, negative if they overlap, and the larger range of the two.
    fn gap(&self, start: usize, at: usize, end: usize) -> (f64, f64) {
        let ends = |runs: &[f64]| {
            let ends = (f64::INFINITY, f64::NEG_INFINITY);
            runs.iter().fold(ends, |(low, high), run| (low.min(*run), high.max(*run)))
        };
        let ((low, high), (other_low, other_high)) =
            (ends(&self.winsorised[start..at]), ends(&self.winsorised[at..end]));
        ((other_low - high).max(low - other_high), (high - low).max(other_high - other_low))
    }

    fn by_size(&self, start: usize, at: usize, end: usize) -> f64 {
        let (size, error, freedom) = self.step_of(start, at, end);
        2.0 * t_tail((size / error).abs(), freedom)
    }

    /// Size of a step, its standard error, and the degrees of freedom of that error.
    fn step_of(&self, start: usize, at: usize, end: usize) -> (f64, f64, f64) {
        let (before, after) = ((at - start) as f64, (end - at) as f64);
        let variance = self.variance(self.sums.step(start, at, end), end - start);
        let size = self.sums.mean(at, end) - self.sums.mean(start, at);
        let freedom = ((before + after - 2.0) / self.inflation).max(1.0);
        (size, (variance * (1.0 / before + 1.0 / after)).sqrt(), freedom)
    }

    /// Standard error of a step, from the spread of batch means of [`BATCH`] runs about their levels, and its degrees of
    /// freedom; `None` if the levels are too short.
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

    /// Removes an edge and moves its neighbours to their new best fit.
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

    /// Variance of a run about a fit, times the inflation: the scale for differences of squares.
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
        // Runs that drift together for longer than the autocorrelation covers.
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
