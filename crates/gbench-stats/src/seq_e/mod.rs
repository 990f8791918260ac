//! SEQ-E and SEQ-E 2: screen a suite in a few rounds, then confirm the candidates on fresh rounds by e-processes.
//!
//! The input is one number for each benchmark and round: the difference of ln location between head and base, turned so
//! that up is worse. Base and head of a round run in a random order, so with identical programs each
//! difference is as likely as its negative, whatever drift, correlation or clock state the two places in the round had.
//! For such a symmetric x each factor of the e-value has mean 1 (see `bets.rs`), and less where the centre lies below the
//! minimum effect. The product over fresh rounds, averaged over the bets, is a nonnegative supermartingale, and by Ville's
//! inequality exceeds `M / alpha` with probability at most `alpha / M`: over `M` candidates, `alpha` at most, whenever one
//! looks and however often. Certifying "unchanged" rests on Student's t, in SEQ-E 2 also on signed ranks
//! (`signed_ranks.rs`), and can cost power, never a false red.

mod bets;
mod power;
mod signed_ranks;

use super::prior::Prior;
use super::{TQuantiles, mean, median, sample_stddev};
use bets::Mixture;

pub use bets::Version;
pub use power::{POWER_Z, detectable, pace};
pub use signed_ranks::{CERTIFY_LATER, Ranks};

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
    /// By number of rounds, from one on: how far the mean may lie from the truth because figures are rounded, in
    /// logarithms. Empty: not at all. What it explains is neither certified nor red.
    pub unresolved: &'a [f64],
    /// Rounds from the first on whose processes were shared with other benchmarks: they screen, and are no evidence. The
    /// rounds behind them are of another kind, in processes of the benchmark's own, and certify by themselves. 0: all
    /// rounds are of one kind.
    pub shared: usize,
}

impl Series<'_> {
    /// The first round that is evidence.
    fn confirms_from(&self, limits: &SequentialLimits) -> usize {
        self.shared.max(limits.screen_rounds)
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
    /// Estimate and interval by signed ranks, where "unchanged" rests on them and not on the t interval.
    pub ranks: Option<Ranks>,
    /// The part of the mean that rounding leaves open.
    pub unresolved: f64,
    /// Standard deviation of one round's difference, moderated, from the screen: the unit of the e-process.
    pub scale: f64,
    /// ln of the e-values against "not worse" and "not better" than the minimum effect.
    pub ln_worse: f64,
    pub ln_better: f64,
    /// Of a benchmark that its own processes show unchanged: the mean difference of the shared ones, where it lies clearly
    /// beyond the minimum effect.
    pub shared_differ: Option<f64>,
}

/// Limits that the screen fixed for the rounds after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Screen {
    /// M: benchmarks that the screen left open, at least 1.
    pub candidates: usize,
    /// By family; the weight already bounded.
    priors: Vec<Prior>,
}

/// One step of a benchmark's way, for explaining it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequentialStep {
    /// Rounds so far.
    pub rounds: usize,
    pub mean: f64,
    pub half: f64,
    /// The interval by signed ranks, where this rule and so many rounds give one.
    pub ranks: Option<Ranks>,
    pub unresolved: f64,
    pub ln_worse: f64,
    pub ln_better: f64,
}

/// One-sided level of the interval that certifies "unchanged" in the screen; [`CERTIFY_LATER`] after it.
pub const CERTIFY_SCREEN: f64 = 0.01;
/// One-sided level at which shared processes are said to differ where those of a benchmark's own do not.
const SHARED_DIFFER: f64 = 0.001;
/// Standard deviations of a round by which the median of shared ones is far from its own.
const FAR: f64 = 5.0;
/// A prior never counts for more than this many rounds.
const MAX_PRIOR: f64 = 8.0;
/// Below this a difference of logarithms is no noise that a timer can show.
const MIN_SCALE: f64 = 2e-4;
/// A mean that rounding may have moved by more than this share of the target certifies nothing.
pub const MAX_UNRESOLVED: f64 = 0.5;

impl SequentialLimits {
    /// ln of the e-value that a red needs among `candidates`.
    pub fn ln_red(&self, candidates: usize) -> f64 {
        (candidates.max(1) as f64 / self.alpha).ln()
    }

    pub fn ln_improved(&self, candidates: usize) -> f64 {
        (candidates.max(1) as f64 / self.alpha_improved).ln()
    }

    /// Least fresh rounds after which a red is possible: each multiplies a bet by less than one and its weight.
    pub fn least_fresh_rounds(&self, candidates: usize) -> usize {
        let (bets, needed) = (self.version.bets(), self.ln_red(candidates));
        let most = |rounds: i32| {
            let sum: f64 = bets.iter().map(|(_, weight)| (1.0 + weight).powi(rounds)).sum();
            (sum / bets.len() as f64).ln()
        };
        // Rounds of a figure that cannot be reached in a thousand are of no use to anybody.
        (1..1000).find(|rounds| most(*rounds) >= needed).unwrap_or(1000) as usize
    }
}

/// Decides every benchmark by the rounds that are there. Pure: the same numbers give the same results, bit for bit, in
/// whatever portions they came.
pub fn decide(series: &[Series], limits: &SequentialLimits) -> (Screen, Vec<SequentialResult>) {
    let mut quantiles = TQuantiles::default();
    let screen = screen(series, limits, &mut quantiles);
    let results = series.iter().map(|one| follow(one, &screen, limits, &mut quantiles, None)).collect();
    (screen, results)
}

/// Every step of one benchmark up to its decision, after [`decide`] has given the screen.
pub fn steps(series: &Series, screen: &Screen, limits: &SequentialLimits) -> Vec<SequentialStep> {
    let mut steps = Vec::new();
    follow(series, screen, limits, &mut TQuantiles::default(), Some(&mut |step| steps.push(step)));
    steps
}

fn screen(series: &[Series], limits: &SequentialLimits, quantiles: &mut TQuantiles) -> Screen {
    let r1 = limits.screen_rounds;
    let families = series.iter().map(|one| one.family + 1).max().unwrap_or(0);
    let mut variances = vec![Vec::new(); families];
    for one in series.iter().filter(|one| one.differences.len() >= r1) {
        variances[one.family].push(variance(&one.differences[..r1]));
    }
    let freedom = (r1 - 1) as f64;
    let priors: Vec<Prior> =
        variances.iter().map(|family| Prior::fit(family, freedom).at_most(MAX_PRIOR)).collect();
    // A row that is not screened yet may still become a candidate.
    let survives = |one: &&Series| {
        one.differences.len() < r1
            || !ScreenedSeries::new(one, &priors, limits).inside(r1, CERTIFY_SCREEN, quantiles)
    };
    Screen { candidates: series.iter().filter(survives).count().max(1), priors }
}

fn follow(
    series: &Series,
    screen: &Screen,
    limits: &SequentialLimits,
    quantiles: &mut TQuantiles,
    mut observe: Option<&mut dyn FnMut(SequentialStep)>,
) -> SequentialResult {
    let r1 = limits.screen_rounds;
    let screened = ScreenedSeries::new(series, &screen.priors, limits);
    let confirms_from = series.confirms_from(limits);
    let (mut worse, mut better) = (Mixture::new(limits.version), Mixture::new(limits.version));
    let there = series.differences.len().min(limits.most_rounds);
    let mut status = Status::Open;
    let mut rounds = there.min(r1);
    let mut step = |rounds, worse: &Mixture, better: &Mixture, quantiles: &mut TQuantiles| {
        let Some(observe) = &mut observe else { return };
        let level = if rounds <= r1 { CERTIFY_SCREEN } else { CERTIFY_LATER };
        let (mean, half) = screened.interval(rounds, level, quantiles);
        let ranked = limits.version == Version::Two && rounds > r1;
        let ranks = ranked.then(|| Ranks::of(screened.estimated(rounds))).flatten();
        let unresolved = series.unresolved_after(rounds);
        observe(SequentialStep {
            rounds,
            mean,
            half,
            ranks,
            unresolved,
            ln_worse: worse.ln(),
            ln_better: better.ln(),
        });
    };
    for k in 2..=rounds {
        step(k, &worse, &better, quantiles);
    }
    let mut ranks = None;
    if there >= r1 {
        let (red, green) = (limits.ln_red(screen.candidates), limits.ln_improved(screen.candidates));
        if screened.inside(r1, CERTIFY_SCREEN, quantiles) {
            status = Status::Unchanged;
        }
        while status == Status::Open && rounds < there {
            let difference = series.differences[rounds];
            if rounds >= confirms_from {
                worse.add((difference - series.min_effect) / screened.scale);
                better.add((-difference - series.min_effect) / screened.scale);
            }
            rounds += 1;
            step(rounds, &worse, &better, quantiles);
            status = if worse.ln() >= red && screened.exceeds_rounding(rounds, 1.0, red) {
                Status::Regressed
            } else if better.ln() >= green && screened.exceeds_rounding(rounds, -1.0, green) {
                Status::Improved
            } else if screened.inside(rounds, CERTIFY_LATER, quantiles) {
                Status::Unchanged
            } else if limits.version == Version::Two && screened.inside_by_ranks(rounds) {
                ranks = Ranks::of(screened.estimated(rounds));
                Status::Unchanged
            } else {
                Status::Open
            };
        }
    }
    if status == Status::Open && rounds >= limits.most_rounds {
        status = Status::Exhausted;
    }
    let level = if rounds <= r1 { CERTIFY_SCREEN } else { CERTIFY_LATER };
    let (mean, half) = screened.interval(rounds, level, quantiles);
    let from = series.estimates_from(rounds, limits);
    let shared_differ = (status == Status::Unchanged && from > 0)
        .then(|| screened.shared_differ(&series.differences[from..rounds], quantiles))
        .flatten();
    SequentialResult {
        status,
        rounds,
        confirms_from,
        from,
        mean,
        half,
        ranks,
        unresolved: series.unresolved_after(rounds),
        scale: screened.scale,
        ln_worse: worse.ln(),
        ln_better: better.ln(),
        shared_differ,
    }
}

/// One benchmark with what the screen knows of its noise.
struct ScreenedSeries<'a> {
    series: &'a Series<'a>,
    limits: &'a SequentialLimits,
    prior: Prior,
    scale: f64,
}

impl<'a> ScreenedSeries<'a> {
    fn new(series: &'a Series<'a>, priors: &[Prior], limits: &'a SequentialLimits) -> Self {
        let prior = priors.get(series.family).copied().unwrap_or(Prior::NONE);
        let r1 = limits.screen_rounds;
        let scale = if series.differences.len() >= r1 {
            // A target below that is one of absolute differences, in a unit of its own.
            let least = if series.target < MIN_SCALE { series.target / 100.0 } else { MIN_SCALE };
            prior.moderate(variance(&series.differences[..r1]), (r1 - 1) as f64).sqrt().max(least)
        } else {
            f64::NAN
        };
        Self { series, limits, prior, scale }
    }

    /// The rounds that an estimate after so many is made of.
    fn estimated(&self, rounds: usize) -> &'a [f64] {
        &self.series.differences[self.series.estimates_from(rounds, self.limits)..rounds]
    }

    /// Mean after `rounds` and the half width of its one-sided `1 - beta` interval.
    fn interval(&self, rounds: usize, beta: f64, quantiles: &mut TQuantiles) -> (f64, f64) {
        self.interval_of(self.estimated(rounds), beta, quantiles)
    }

    fn interval_of(&self, differences: &[f64], beta: f64, quantiles: &mut TQuantiles) -> (f64, f64) {
        let (centre, rounds) = (mean(differences).unwrap_or(f64::NAN), differences.len());
        if rounds < 2 {
            return (centre, f64::INFINITY);
        }
        let freedom = (rounds - 1) as f64;
        let moderated = self.prior.moderate(variance(differences), freedom);
        let quantile = quantiles.upper(beta, self.prior.freedom + freedom);
        (centre, quantile * (moderated / rounds as f64).sqrt())
    }

    /// The mean of the shared rounds where they clearly differ from those of its own, `own`: the mean lies beyond the minimum
    /// effect by its interval, or the median far beyond what a round of its own scatters.
    fn shared_differ(&self, own: &[f64], quantiles: &mut TQuantiles) -> Option<f64> {
        let shared = &self.series.differences[..self.series.shared];
        let (centre, half) = self.interval_of(shared, SHARED_DIFFER, quantiles);
        let scatter = self.prior.moderate(variance(own), own.len().saturating_sub(1) as f64).sqrt();
        let apart = median(&mut shared.to_vec())? - mean(own)?;
        let is_far = apart.abs() - FAR * scatter > self.series.min_effect;
        (is_far || centre.abs() - half > self.series.min_effect).then_some(centre)
    }

    fn inside(&self, rounds: usize, beta: f64, quantiles: &mut TQuantiles) -> bool {
        let (centre, half) = self.interval(rounds, beta, quantiles);
        self.room(rounds).is_some_and(|room| centre.abs() + half < room)
    }

    fn inside_by_ranks(&self, rounds: usize) -> bool {
        let room = self.room(rounds);
        room.is_some_and(|room| signed_ranks::inside(self.estimated(rounds), room))
    }

    /// Where an interval must lie to certify: the target, less what rounding leaves open. `None` where nothing certifies,
    /// also of fewer rounds than a screen takes.
    fn room(&self, rounds: usize) -> Option<f64> {
        if self.estimated(rounds).len() < self.limits.screen_rounds {
            return None;
        }
        let (target, unresolved) = (self.series.target, self.series.unresolved_after(rounds));
        (unresolved <= MAX_UNRESOLVED * target).then_some(target - unresolved)
    }

    /// Whether the evidence holds even if rounding moved every difference by as much as it can. `sign`: 1 for worse.
    fn exceeds_rounding(&self, rounds: usize, sign: f64, needed: f64) -> bool {
        let unresolved = self.series.unresolved_after(rounds);
        if unresolved == 0.0 {
            return true;
        }
        let mut mixture = Mixture::new(self.limits.version);
        let fresh = &self.series.differences[self.series.confirms_from(self.limits)..rounds];
        let effect = self.series.min_effect + unresolved;
        fresh.iter().for_each(|difference| mixture.add((sign * difference - effect) / self.scale));
        mixture.ln() >= needed
    }
}

/// Sample variance; 0 of fewer than two values.
fn variance(values: &[f64]) -> f64 {
    sample_stddev(values).map_or(0.0, |deviation| deviation * deviation)
}

/// The largest minimum effect against which the fresh rounds `differences` would still have called a red: a lower
/// bound of the true effect that holds at every look, for all `candidates` together, with probability `1 - alpha`.
/// `None` where not even 0 is excluded.
pub fn at_least(fresh: &[f64], scale: f64, limits: &SequentialLimits, candidates: usize) -> Option<f64> {
    let needed = limits.ln_red(candidates);
    let ln = |effect: f64| {
        let mut mixture = Mixture::new(limits.version);
        fresh.iter().for_each(|difference| mixture.add((difference - effect) / scale));
        mixture.ln()
    };
    if ln(0.0) < needed {
        return None;
    }
    let (mut low, mut high) = (0.0, fresh.iter().copied().fold(0.0, f64::max));
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if ln(middle) >= needed { low = middle } else { high = middle }
    }
    Some(low)
}

#[cfg(test)]
mod tests;
