//! The probability of each candidate.

use std::collections::HashMap;

use super::figure::BisectionFigure;
use super::likelihood::{DRIFTS, Split, SplitFit, ln_sum};
use super::lineage::Lineage;
use crate::student::TQuantiles;

/// The prior: nothing changed, it became worse, and it became better are equally probable.
const NOTHING_CHANGED: f64 = 1.0 / 3.0;

const TAIL: f64 = 0.025;

/// A change with its 95 % interval, as logarithms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LevelShift {
    pub change: f64,
    pub low: f64,
    pub high: f64,
}

/// The posterior given the figures. All probabilities sum to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Belief {
    /// By commit; 0 for the good end.
    candidates: Vec<f64>,
    /// Nothing changed, or, if only worse changes matter, nothing became worse.
    pub innocent: f64,
    /// The mean over all candidates, weighted by probability.
    pub shift: LevelShift,
    pub noise: f64,
    /// By value of [`DRIFTS`]: its probability, and the variance of the level between the two in units of the noise's.
    pub(super) drifts: [(f64, f64); DRIFTS.len()],
}

/// Candidates that the measured commits do not distinguish.
struct Alike {
    /// Their number.
    candidates: usize,
    fits: Vec<SplitFit>,
}

impl Belief {
    pub(super) fn of(lineage: &Lineage, figures: &[BisectionFigure], sided: bool) -> Self {
        let mut figures = figures.to_vec();
        figures.sort_by_key(|figure| figure.round);
        let candidates = lineage.last();
        let mut asked: Vec<usize> = figures.iter().map(|figure| figure.commit).collect();
        asked.sort_unstable();
        asked.dedup();
        let mut sums: Vec<f64> = figures.iter().map(|figure| figure.value).collect();
        let centre = crate::median(&mut sums).unwrap_or(0.0);
        let fits = |behind: Option<&[bool]>| -> Vec<SplitFit> {
            let split = Split { figures: &figures, behind, centre };
            DRIFTS.iter().map(|drift| split.fit(*drift)).collect()
        };
        let nothing = fits(None);
        let (mut alike, mut group_of) = (Vec::<Alike>::new(), vec![0; candidates + 1]);
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        for (candidate, group) in group_of.iter_mut().enumerate().skip(1) {
            *group = *known.entry(lineage.pattern(&asked, candidate)).or_insert_with(|| {
                let behind: Vec<bool> =
                    figures.iter().map(|figure| lineage.holds(figure.commit, candidate)).collect();
                alike.push(Alike { candidates: 0, fits: fits(Some(&behind)) });
                alike.len() - 1
            });
            alike[*group].candidates += 1;
        }
        Self::weighed(&nothing, &alike, &group_of, sided)
    }

    fn weighed(nothing: &[SplitFit], alike: &[Alike], group_of: &[usize], sided: bool) -> Self {
        let ln_drift = -(DRIFTS.len() as f64).ln();
        let candidates = (group_of.len() - 1).max(1) as f64;
        let of_nothing = |fit: &SplitFit| NOTHING_CHANGED.ln() + ln_drift + fit.evidence;
        // For one candidate.
        let of_change =
            |fit: &SplitFit| ((1.0 - NOTHING_CHANGED) / candidates).ln() + ln_drift + fit.evidence;
        let all =
            nothing.iter().map(of_nothing).chain(alike.iter().flat_map(|group| {
                group.fits.iter().map(|fit| of_change(fit) + (group.candidates as f64).ln())
            }));
        let total = all.fold(f64::NEG_INFINITY, ln_sum);
        let mut belief = Self {
            candidates: vec![0.0; group_of.len()],
            innocent: nothing.iter().map(|fit| (of_nothing(fit) - total).exp()).sum(),
            shift: LevelShift::default(),
            noise: 0.0,
            drifts: [(0.0, 0.0); DRIFTS.len()],
        };
        let mut moments = ShiftMoments::default();
        let mut of_group = vec![0.0; alike.len()];
        for (group, mass) in alike.iter().zip(&mut of_group) {
            for (drift, fit) in group.fits.iter().enumerate() {
                let of_one = (of_change(fit) - total).exp();
                let counted = if sided { of_one * fit.above } else { of_one };
                *mass += counted;
                let of_all = of_one * group.candidates as f64;
                belief.innocent += (of_one - counted) * group.candidates as f64;
                belief.drifts[drift].0 += of_all;
                belief.drifts[drift].1 += of_all * fit.middle;
                moments.add(of_all, fit);
            }
        }
        for (candidate, group) in group_of.iter().enumerate().skip(1) {
            belief.candidates[candidate] = of_group[*group];
        }
        let weight: f64 = belief.drifts.iter().map(|(weight, _)| weight).sum();
        for (share, middle) in &mut belief.drifts {
            *middle /= share.max(f64::MIN_POSITIVE);
            *share /= weight.max(f64::MIN_POSITIVE);
        }
        (belief.shift, belief.noise) = moments.ended();
        belief
    }

    pub fn of_candidate(&self, candidate: usize) -> f64 {
        self.candidates.get(candidate).copied().unwrap_or(0.0)
    }

    /// The smallest number of candidates that together have this share of the probability of a change.
    pub fn fewest(&self, share: f64) -> usize {
        let mut ranked = self.candidates.clone();
        ranked.sort_by(|one, other| other.total_cmp(one));
        let needed = share * ranked.iter().sum::<f64>();
        let mut held = 0.0;
        let is_needed = |candidate: &&f64| {
            let before = held;
            held += **candidate;
            before < needed
        };
        ranked.iter().take_while(is_needed).count()
    }

    /// The probability that a commit has the change.
    pub fn behind(&self, lineage: &Lineage, commit: usize) -> f64 {
        (1..self.candidates.len())
            .filter(|candidate| lineage.holds(commit, *candidate))
            .map(|candidate| self.candidates[candidate])
            .sum()
    }
}

#[derive(Default)]
struct ShiftMoments {
    weight: f64,
    change: f64,
    square: f64,
    noise: f64,
    freedom: f64,
}

impl ShiftMoments {
    fn add(&mut self, weight: f64, fit: &SplitFit) {
        self.weight += weight;
        self.change += weight * fit.change;
        self.square += weight * (fit.change * fit.change + fit.error * fit.error);
        self.noise += weight * fit.noise;
        self.freedom += weight * fit.freedom;
    }

    fn ended(&self) -> (LevelShift, f64) {
        let weight = self.weight.max(f64::MIN_POSITIVE);
        let change = self.change / weight;
        let error = (self.square / weight - change * change).max(0.0).sqrt();
        let half = error * TQuantiles::default().upper(TAIL, (self.freedom / weight).max(1.0));
        let shift = LevelShift { change, low: change - half, high: change + half };
        (shift, self.noise / weight)
    }
}
