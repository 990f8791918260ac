//! Chooses the next round: the most information for its time.

use super::belief::{Belief, LevelShift};
use super::bisection::Bisection;
use super::likelihood::DRIFTS;

/// The ends are measured against each other for this many rounds before any commit between them.
const FIRST_ROUNDS: u32 = 3;
/// From this probability that nothing changed, the ends are measured further.
const DOUBTED: f64 = 0.2;
/// The interval is examined after every round, and any of these looks may mislead, so the interval must be wider by this
/// factor to call the ends equal.
const WIDER: f64 = 1.5;
/// Every so many rounds without an end, one includes an end, so that a drift that begins late is seen.
const ROUNDS_WITHOUT_END: u32 = 2;
/// Processes of the chosen commit in one round.
const MOST_PROCESSES: usize = 4;
/// The number of unbuilt commits to consider: those with the most uncertain answer.
const MOST_OPEN: usize = 8;

/// The costs of measuring, in seconds or any other unit.
#[derive(Clone, Copy, Debug)]
pub struct BisectionCosts<'a> {
    /// One process.
    pub process: f64,
    /// A build of a commit that is not built.
    pub build: f64,
    /// By commit: it is built, so another process needs no build.
    pub built: &'a [bool],
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BisectionStep {
    /// One process of each of these commits, in this order, as one round.
    Measure(Vec<usize>),
    /// The change came with one of these commits, which cannot be distinguished further; mostly there is one.
    Found(Vec<usize>),
    /// Nothing changed, or nothing for the worse.
    Innocent,
    /// The rounds were used up before anything was certain enough.
    Undecided,
}

impl Bisection {
    /// The answer if there is one, else the next round.
    pub fn next(&self, belief: &Belief, costs: &BisectionCosts<'_>) -> BisectionStep {
        let rounds = self.rounds();
        let ends = self.in_turn(vec![0, self.lineage.last()]);
        if self.lineage.last() == 0 {
            return BisectionStep::Innocent;
        }
        if rounds < FIRST_ROUNDS {
            return BisectionStep::Measure(ends);
        }
        let (set, probability) = self.best_set(belief);
        if probability >= self.rule.confidence {
            return BisectionStep::Found(set);
        }
        let LevelShift { change, low, high } = belief.shift;
        let above = change + WIDER * (high - change);
        let below = change - WIDER * (change - low);
        let within = above < self.rule.least && (self.rule.sided || below > -self.rule.least);
        if belief.innocent >= self.rule.confidence && within {
            return BisectionStep::Innocent;
        }
        if rounds >= self.rule.most_rounds {
            return BisectionStep::Undecided;
        }
        if belief.innocent >= DOUBTED {
            return BisectionStep::Measure(ends);
        }
        let commits = self.most_telling(belief, costs).unwrap_or(ends);
        BisectionStep::Measure(commits)
    }

    /// The commits of a round, alternately forwards and backwards, so that changes within rounds affect all alike.
    fn in_turn(&self, mut commits: Vec<usize>) -> Vec<usize> {
        if self.rounds() % 2 == 1 {
            commits.reverse();
        }
        commits
    }

    fn most_telling(&self, belief: &Belief, costs: &BisectionCosts<'_>) -> Option<Vec<usize>> {
        let is_built = |commit: usize| costs.built.get(commit).copied().unwrap_or(false);
        let end = self.scarcer_end();
        let last = self.lineage.last();
        let mut open: Vec<(usize, f64)> = (1..last)
            .filter(|commit| !self.broken[*commit])
            .map(|commit| (commit, belief.behind(&self.lineage, commit)))
            .collect();
        let changed = 1.0 - belief.innocent;
        open.sort_by(|one, other| (one.1 - changed / 2.0).abs().total_cmp(&(other.1 - changed / 2.0).abs()));
        let mut unbuilt = 0;
        open.retain(|(commit, _)| {
            unbuilt += usize::from(!is_built(*commit));
            is_built(*commit) || unbuilt <= MOST_OPEN
        });
        let needs_end = self.rounds_without_end() >= ROUNDS_WITHOUT_END;
        let mut best: Option<(f64, Vec<usize>)> = None;
        let mut offer = |rate: f64, commits: Vec<usize>| {
            if best.as_ref().is_none_or(|(other, _)| rate > *other) {
                best = Some((rate, commits));
            }
        };
        for (commit, behind) in open {
            let build = if is_built(commit) { 0.0 } else { costs.build };
            for processes in 1..=MOST_PROCESSES {
                for ends in usize::from(needs_end)..=1 {
                    let gain = belief.information(behind, processes as f64, ends as f64);
                    let cost = build + costs.process * (processes + ends) as f64;
                    // The end is in the middle, so that a drift affects it half as much before as after.
                    let mut commits = vec![commit; processes];
                    commits.splice(processes / 2..processes / 2, std::iter::repeat_n(end, ends));
                    offer(gain / cost.max(f64::MIN_POSITIVE), commits);
                }
            }
        }
        // Both ends once more, if it is still open whether they differ.
        let gain = belief.information(changed, 1.0, 1.0);
        offer(gain / (2.0 * costs.process).max(f64::MIN_POSITIVE), vec![0, last]);
        best.map(|(_, commits)| self.in_turn(commits))
    }

    fn scarcer_end(&self) -> usize {
        let last = self.lineage.last();
        let count = |commit: usize| self.figures.iter().filter(|figure| figure.commit == commit).count();
        if count(last) < count(0) { last } else { 0 }
    }

    fn rounds_without_end(&self) -> u32 {
        let last = self.lineage.last();
        let with_end = self.figures.iter().filter(|figure| figure.commit == 0 || figure.commit == last);
        self.rounds() - with_end.map(|figure| figure.round + 1).max().unwrap_or(0)
    }
}

impl Belief {
    /// Expected information, in nats, of a round about a yes-no question with probability `yes`: does the commit have the
    /// change? The round has `processes` of the commit, and `ends` of an end, which show the round's offset.
    fn information(&self, yes: f64, processes: f64, ends: f64) -> f64 {
        let shift = self.shift.change.abs().max(f64::MIN_POSITIVE);
        let noise = self.noise.max(f64::MIN_POSITIVE);
        let of_drift = |(drift, (share, middle)): (&f64, &(f64, f64))| {
            let offset = drift / (1.0 + drift * ends);
            let error = (1.0 / processes + offset + middle).sqrt();
            if *share < 1e-3 { 0.0 } else { share * told(yes, shift / (noise * error)) }
        };
        DRIFTS.iter().zip(&self.drifts).map(of_drift).sum()
    }
}

/// Information, in nats, of a figure with a standard normal error about a question whose two answers shift it by `apart`.
fn told(yes: f64, apart: f64) -> f64 {
    /// Points of the integral over five standard deviations on each side.
    const POINTS: i32 = 40;
    if !(1e-9..1.0 - 1e-9).contains(&yes) {
        return 0.0;
    }
    let (mut sum, mut weight) = (0.0, 0.0);
    for point in -POINTS / 2..=POINTS / 2 {
        let off = 10.0 * f64::from(point) / f64::from(POINTS);
        let density = (-off * off / 2.0).exp();
        weight += density;
        // Logarithm of the other answer's density over this one's, if this one is true; by symmetry for each answer.
        let other = (-apart * off - apart * apart / 2.0).exp();
        sum -= density * yes * (yes + (1.0 - yes) * other).ln();
        sum -= density * (1.0 - yes) * (1.0 - yes + yes * other).ln();
    }
    (sum / weight).max(0.0)
}
