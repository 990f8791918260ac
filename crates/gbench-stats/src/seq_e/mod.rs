//! SEQ-E, 2 and 3: screen a suite in a few rounds, then confirm the open rows by e-processes.
//!
//! The input is one number per benchmark and round: the difference of ln location between head and base, signed so that higher
//! is worse. Base and head of a round run in a random order, so with identical programs each difference is as likely as its
//! negative, whatever drift, correlation or clock state the two places in the round had. For such a symmetric x each factor of
//! the e-value has mean 1 (see `bets.rs`), and less if the centre is below the minimum effect. The product over fresh rounds,
//! averaged over the bets, is a nonnegative supermartingale. By Ville's inequality it exceeds `M / alpha` with probability at
//! most `alpha / M`: over `M` candidates, `alpha` at most, whenever and however often one looks. SEQ-E 3 selects nothing by
//! earlier measurements before it bets, so its screening rounds are evidence, too; there `M` is all rows, and by Holm's rule
//! `n` red rows leave the others `(M - n) / alpha`. Certifying "unchanged" uses Student's t, in SEQ-E 2 also signed ranks
//! (`signed_ranks.rs`); it can cost power, but never causes a false red.

mod bets;
mod course;
mod power;
mod rule;
mod signed_ranks;
mod slots;

use super::prior::Prior;
use super::{TQuantiles, mean, median, sample_stddev};

pub use bets::Version;
pub use power::{POWER_Z, PowerContext, detectable, pace};
pub use rule::{at_least, decide, steps};

/// The error rates and limits of the rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequentialLimits {
    pub version: Version,
    /// Chance of any false red in a whole suite.
    pub alpha: f64,
    /// Chance of any false "improved".
    pub alpha_improved: f64,
    /// Rounds of the screen, R1: at least 2.
    pub screen_rounds: usize,
    /// Most rounds in all, Rmax.
    pub most_rounds: usize,
    /// Further benchmarks that share the error rates but are judged in another way; from SEQ-E 3 on.
    pub beside: usize,
}

/// One benchmark's differences by round.
#[derive(Clone, Copy, Debug)]
pub struct Series<'a> {
    pub differences: &'a [f64],
    /// Certified unchanged within this, in logarithms; at least `min_effect`.
    pub target: f64,
    /// A red must exceed this, in logarithms.
    pub min_effect: f64,
    /// Benchmarks of one family share a prior of their variances.
    pub family: usize,
    /// Benchmarks with the same number shared the processes of their first rounds, and thus their noise; from SEQ-E 3 on.
    pub cluster: Option<usize>,
    /// By number of rounds, from one on: how far rounding of figures may have moved the mean, in logarithms. Empty: not at
    /// all. A change that rounding explains is neither certified nor red.
    pub unresolved: &'a [f64],
    /// The number of first rounds whose processes were shared with other benchmarks. They screen but are not evidence. The
    /// later rounds, in the benchmark's own processes, are of another kind and certify separately. 0: all rounds are of one
    /// kind.
    pub shared: usize,
    /// By round: head ran second. Empty if unknown; used from SEQ-E 3 on.
    pub head_second: &'a [bool],
}

impl<'a> Series<'a> {
    /// Rounds of one kind in the benchmark's own processes, with figures that are not rounded and unknown orders. `target` and
    /// `min_effect` are logarithms.
    pub fn new(differences: &'a [f64], target: f64, min_effect: f64) -> Self {
        Self {
            differences,
            target,
            min_effect,
            family: 0,
            cluster: None,
            unresolved: &[],
            shared: 0,
            head_second: &[],
        }
    }

    fn confirms_from(&self, limits: &SequentialLimits) -> usize {
        limits.confirms_from(self.shared)
    }

    fn estimates_from(&self, rounds: usize, limits: &SequentialLimits) -> usize {
        let from = self.confirms_from(limits);
        if self.shared > 0 && rounds > from { from } else { 0 }
    }

    fn unresolved_after(&self, rounds: usize) -> f64 {
        let last = self.unresolved.len().min(rounds);
        last.checked_sub(1).map_or(0.0, |at| self.unresolved[at])
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Regressed,
    Improved,
    Unchanged,
    /// Undecided by the available rounds; more may follow.
    Open,
    /// Undecided after `most_rounds`.
    Exhausted,
}

/// The rule's result for one benchmark, at the round at which it stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct SequentialResult {
    pub status: Status,
    /// Rounds that the decision used; later ones are ignored.
    pub rounds: usize,
    /// The first round that is evidence for a red or an improvement.
    pub confirms_from: usize,
    /// The first round of `mean` and `half`: 0, or after the shared ones.
    pub from: usize,
    /// Mean difference over those rounds.
    pub mean: f64,
    /// Half width of the t interval around it, with the moderated variance, at the level of the screen or of later rounds;
    /// infinite below 2 rounds.
    pub half: f64,
    /// One-sided level of that interval.
    pub level: f64,
    /// Set if "unchanged" is based on signed ranks or the contrast of the orders, not on the t interval.
    pub certified: Option<Interval>,
    /// The part of the mean that rounding leaves uncertain.
    pub unresolved: f64,
    /// Standard deviation of one round's difference, moderated, from the screen: the unit of the e-process.
    pub scale: f64,
    /// ln of the e-values against "not worse" and "not better" than the minimum effect.
    pub ln_worse: f64,
    pub ln_better: f64,
    /// ln of the e-values that a red and an improvement needed at the last look.
    pub ln_needed_worse: f64,
    pub ln_needed_better: f64,
    /// For a benchmark that its own processes show unchanged: the mean difference of the shared rounds, if it is clearly
    /// beyond the minimum effect.
    pub shared_differ: Option<f64>,
}

/// Limits that the screen fixed for the rounds after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Screen {
    /// Number of benchmarks that share the error rate, at least 1: those that the screen left open; from SEQ-E 3 on all.
    pub candidates: usize,
    /// By family, with bounded weight.
    priors: Vec<Prior>,
    /// By family: its rows share an order effect.
    slots: Vec<bool>,
    /// By family, then by cluster: how far its rows are a single witness of their noise, from 0 to 1.
    shared_noise: Vec<Vec<f64>>,
}

/// An estimate and an interval around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub centre: f64,
    pub low: f64,
    pub high: f64,
    /// Chance of being outside, on each side.
    pub level: f64,
    pub basis: Basis,
}

/// The basis of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    StudentT,
    SignedRanks,
    /// The contrast of the rounds in which head ran first with those in which it ran second.
    Orders,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Worse,
    Better,
}

impl Direction {
    fn sign(self) -> f64 {
        match self {
            Direction::Worse => 1.0,
            Direction::Better => -1.0,
        }
    }

    fn called(self) -> Status {
        match self {
            Direction::Worse => Status::Regressed,
            Direction::Better => Status::Improved,
        }
    }

    fn ln_needed(self, limits: &SequentialLimits, candidates: usize) -> f64 {
        match self {
            Direction::Worse => limits.ln_red(candidates),
            Direction::Better => limits.ln_improved(candidates),
        }
    }
}

/// One step of a benchmark's course, for explaining it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequentialStep {
    pub rounds: usize,
    pub mean: f64,
    pub half: f64,
    /// The interval by signed ranks, if this rule has one after this many rounds.
    pub ranks: Option<Interval>,
    pub unresolved: f64,
    pub ln_worse: f64,
    pub ln_better: f64,
}

/// One-sided level of the interval that certifies "unchanged" in the screen; [`CERTIFY_LATER`] after it.
pub(crate) const CERTIFY_SCREEN: f64 = 0.01;
/// One-sided level at which shared processes differ although the benchmark's own do not.
const SHARED_DIFFER: f64 = 0.001;
/// Standard deviations of a round beyond which the median of shared rounds is far from its own.
const FAR: f64 = 5.0;
/// One-sided level of the interval that certifies "unchanged" after the screen.
pub(crate) const CERTIFY_LATER: f64 = 0.003;
/// One-sided level of the intervals of rows that shared their noise while they screened.
const CERTIFY_SHARED: f64 = 0.002;
/// Rows share their noise from this correlation on.
const SHARED_NOISE: f64 = 0.2;
/// The largest weight of a prior, in rounds.
const MAX_PRIOR: f64 = 8.0;
/// A smaller difference of logarithms is below the noise of any timer.
const MIN_SCALE: f64 = 2e-4;
/// Nothing is certified if rounding may have moved the mean by more than this share of the target.
pub const MAX_UNRESOLVED: f64 = 0.5;

impl SequentialLimits {
    fn confirms_from(&self, shared: usize) -> usize {
        match self.version {
            Version::One | Version::Two => shared.max(self.screen_rounds),
            Version::Three => shared,
        }
    }

    /// The number of bets in these rounds, some of them shared.
    pub fn bets_in(&self, rounds: usize, shared: usize) -> usize {
        let bets = rounds.saturating_sub(self.confirms_from(shared));
        // The first two share one coin.
        if self.version == Version::Three && shared == 0 { bets.saturating_sub(1) } else { bets }
    }

    /// ln of the e-value that a red needs among `candidates`.
    pub fn ln_red(&self, candidates: usize) -> f64 {
        (candidates.max(1) as f64 / self.alpha).ln()
    }

    pub fn ln_improved(&self, candidates: usize) -> f64 {
        (candidates.max(1) as f64 / self.alpha_improved).ln()
    }

    /// The fewest bets with which a red is possible: each multiplies by less than one plus its weight.
    pub fn least_bets(&self, candidates: usize) -> usize {
        let (bets, needed) = (self.version.bets(), self.ln_red(candidates));
        let most = |rounds: i32| {
            let sum: f64 = bets.iter().map(|(_, weight)| (1.0 + weight).powi(rounds)).sum();
            (sum / bets.len() as f64).ln()
        };
        // A figure that cannot be reached in a thousand rounds is useless.
        (1..1000).find(|rounds| most(*rounds) >= needed).unwrap_or(1000) as usize
    }
}

impl SequentialLimits {
    /// The fewest rounds with which a red is possible, if none is in shared processes.
    pub fn least_rounds(&self, candidates: usize) -> usize {
        let bets = self.least_bets(candidates);
        (bets..).find(|rounds| self.bets_in(*rounds, 0) >= bets).unwrap_or(bets)
    }
}

/// Sample variance; 0 for fewer than two values.
fn variance(values: &[f64]) -> f64 {
    sample_stddev(values).map_or(0.0, |deviation| deviation * deviation)
}

#[cfg(test)]
mod tests;
