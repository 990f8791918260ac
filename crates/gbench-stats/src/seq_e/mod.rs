//! SEQ-E, 2 and 3: screen a suite in a few rounds, then confirm what is left open by e-processes.
//!
//! The input is one number for each benchmark and round: the difference of ln location between head and base, turned so
//! that up is worse. Base and head of a round run in a random order, so with identical programs each
//! difference is as likely as its negative, whatever drift, correlation or clock state the two places in the round had.
//! For such a symmetric x each factor of the e-value has mean 1 (see `bets.rs`), and less where the centre lies below the
//! minimum effect. The product over fresh rounds, averaged over the bets, is a nonnegative supermartingale, and by Ville's
//! inequality exceeds `M / alpha` with probability at most `alpha / M`: over `M` candidates, `alpha` at most, whenever one
//! looks and however often. SEQ-E 3 chooses nothing by what was measured before it bets, so that its rounds of the screen are evidence,
//! too; there `M` is all rows, and by Holm's rule `n` red rows leave the others `(M - n) / alpha`. Certifying "unchanged" rests on Student's t, in SEQ-E 2 also on signed ranks
//! (`signed_ranks.rs`), and can cost power, never a false red.

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

/// The error rates and limits that the rule holds.
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
    /// Benchmarks that are judged in another way and share the error rates; from SEQ-E 3 on.
    pub beside: usize,
}

/// One benchmark's differences by round.
#[derive(Clone, Copy, Debug)]
pub struct Series<'a> {
    pub differences: &'a [f64],
    /// Certified unchanged within this, in logarithms; above `min_effect`, or equal to it.
    pub target: f64,
    /// A red must lie beyond this, in logarithms.
    pub min_effect: f64,
    /// Benchmarks of one family share a prior of their variances.
    pub family: usize,
    /// Benchmarks with the same number shared the processes of their first rounds, and so the noise of these; from SEQ-E 3 on.
    pub cluster: Option<usize>,
    /// By number of rounds, from one on: how far the mean may lie from the truth because figures are rounded, in
    /// logarithms. Empty: not at all. What it explains is neither certified nor red.
    pub unresolved: &'a [f64],
    /// Rounds from the first on whose processes were shared with other benchmarks: they screen, and are no evidence. The
    /// rounds behind them are of another kind, in processes of the benchmark's own, and certify by themselves. 0: all
    /// rounds are of one kind.
    pub shared: usize,
    /// By round: whether head ran second. Empty where that is not known; used from SEQ-E 3 on.
    pub head_second: &'a [bool],
}

impl<'a> Series<'a> {
    /// Rounds of one kind in processes of the benchmark's own, of figures that are not rounded, in orders that are not known. `target` and
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

    /// The first round that is evidence.
    fn confirms_from(&self, limits: &SequentialLimits) -> usize {
        limits.confirms_from(self.shared)
    }

    /// The first of the rounds that an estimate after so many is made of.
    fn estimates_from(&self, rounds: usize, limits: &SequentialLimits) -> usize {
        let from = self.confirms_from(limits);
        if self.shared > 0 && rounds > from { from } else { 0 }
    }

    /// After so many rounds.
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
    /// Not decided by the rounds that are there; more may follow.
    Open,
    /// Not decided in `most_rounds`.
    Exhausted,
}

/// The rule's result for one benchmark, at the round at which it stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct SequentialResult {
    pub status: Status,
    /// Rounds that the decision used; later ones are not looked at.
    pub rounds: usize,
    /// The first round that is evidence for a red or an improvement.
    pub confirms_from: usize,
    /// The first of the rounds that `mean` and `half` are of: 0, or behind the shared ones.
    pub from: usize,
    /// Mean difference over those rounds.
    pub mean: f64,
    /// Half width of the t interval around it, by the moderated variance, at the level of the screen or of later
    /// rounds; infinite below 2 rounds.
    pub half: f64,
    /// One-sided level of that interval.
    pub level: f64,
    /// By signed ranks or by the contrast of the orders, where "unchanged" rests on that and not on the t interval.
    pub certified: Option<Interval>,
    /// The part of the mean that rounding leaves open.
    pub unresolved: f64,
    /// Standard deviation of one round's difference, moderated, from the screen: the unit of the e-process.
    pub scale: f64,
    /// ln of the e-values against "not worse" and "not better" than the minimum effect.
    pub ln_worse: f64,
    pub ln_better: f64,
    /// ln of the e-values that a red and an improvement needed at the last look.
    pub ln_needed_worse: f64,
    pub ln_needed_better: f64,
    /// Of a benchmark that its own processes show unchanged: the mean difference of the shared ones, where it lies clearly
    /// beyond the minimum effect.
    pub shared_differ: Option<f64>,
}

/// Limits that the screen fixed for the rounds after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Screen {
    /// Benchmarks among which the error rate is shared, at least 1: those that the screen left open; from SEQ-E 3 on all.
    pub candidates: usize,
    /// By family; the weight already bounded.
    priors: Vec<Prior>,
    /// By family: its rows share an effect of the order.
    slots: Vec<bool>,
    /// By family, then by cluster: how far its rows are one witness of their noise and not many, from 0 to 1.
    shared_noise: Vec<Vec<f64>>,
}

/// An estimate and an interval around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub centre: f64,
    pub low: f64,
    pub high: f64,
    /// Chance of lying outside, on each side.
    pub level: f64,
    pub basis: Basis,
}

/// What an interval rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    StudentT,
    SignedRanks,
    /// The contrast of the rounds in which head ran first with those in which it ran second.
    Orders,
}

/// Which change evidence speaks for.
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

/// One step of a benchmark's way, for explaining it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequentialStep {
    /// Rounds so far.
    pub rounds: usize,
    pub mean: f64,
    pub half: f64,
    /// The interval by signed ranks, where this rule and so many rounds give one.
    pub ranks: Option<Interval>,
    pub unresolved: f64,
    pub ln_worse: f64,
    pub ln_better: f64,
}

/// One-sided level of the interval that certifies "unchanged" in the screen; [`CERTIFY_LATER`] after it.
pub(crate) const CERTIFY_SCREEN: f64 = 0.01;
/// One-sided level at which shared processes are said to differ where those of a benchmark's own do not.
const SHARED_DIFFER: f64 = 0.001;
/// Standard deviations of a round by which the median of shared ones is far from its own.
const FAR: f64 = 5.0;
/// One-sided level of the interval that certifies "unchanged" after the screen.
pub(crate) const CERTIFY_LATER: f64 = 0.003;
/// One-sided level of the intervals of rows that shared their noise while they screened.
const CERTIFY_SHARED: f64 = 0.002;
/// Rows are said to share their noise from this correlation on.
const SHARED_NOISE: f64 = 0.2;
/// A prior never counts for more than this many rounds.
const MAX_PRIOR: f64 = 8.0;
/// Below this a difference of logarithms is no noise that a timer can show.
const MIN_SCALE: f64 = 2e-4;
/// A mean that rounding may have moved by more than this share of the target certifies nothing.
pub const MAX_UNRESOLVED: f64 = 0.5;

impl SequentialLimits {
    /// The first round that is evidence, where so many were in shared processes.
    fn confirms_from(&self, shared: usize) -> usize {
        match self.version {
            Version::One | Version::Two => shared.max(self.screen_rounds),
            Version::Three => shared,
        }
    }

    /// How often so many rounds bet, where some were in shared processes.
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

    /// Least bets after which a red is possible: each multiplies by less than one and its weight.
    pub fn least_bets(&self, candidates: usize) -> usize {
        let (bets, needed) = (self.version.bets(), self.ln_red(candidates));
        let most = |rounds: i32| {
            let sum: f64 = bets.iter().map(|(_, weight)| (1.0 + weight).powi(rounds)).sum();
            (sum / bets.len() as f64).ln()
        };
        // Rounds of a figure that cannot be reached in a thousand are of no use to anybody.
        (1..1000).find(|rounds| most(*rounds) >= needed).unwrap_or(1000) as usize
    }
}

impl SequentialLimits {
    /// Least rounds after which a red is possible, where none is in shared processes.
    pub fn least_rounds(&self, candidates: usize) -> usize {
        let bets = self.least_bets(candidates);
        (bets..).find(|rounds| self.bets_in(*rounds, 0) >= bets).unwrap_or(bets)
    }
}

/// Sample variance; 0 of fewer than two values.
fn variance(values: &[f64]) -> f64 {
    sample_stddev(values).map_or(0.0, |deviation| deviation * deviation)
}

#[cfg(test)]
mod tests;
