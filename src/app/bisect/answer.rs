//! The document of a bisection in its present state.

use super::state::BisectState;
use crate::app::paths::shown;
use crate::model::{Better, BisectAnswer, BisectDocument, SCHEMA_BISECT, V1BisectCommit};
use crate::stats::median;
use crate::stats::noisy_bisection::{Belief, Bisection, BisectionStep};
use crate::trees::CommitRange;

/// Commits that an open bisection names.
const MOST_REMAINING: usize = 20;

pub(super) struct AnswerParts<'a> {
    pub range: &'a CommitRange,
    pub state: &'a BisectState,
    pub bisection: &'a Bisection,
    pub belief: &'a Belief,
    pub step: BisectionStep,
    pub confidence: f64,
    pub interrupted: bool,
}

impl AnswerParts<'_> {
    pub(super) fn document(&self) -> BisectDocument {
        let (state, belief, beginning) = (self.state, self.belief, &self.state.beginning);
        let (answer, remaining, probability) = self.answer();
        let metric = state.metric.as_ref();
        let measured = !self.bisection.figures().is_empty();
        let share = |change: f64| metric.filter(|_| measured).map(|metric| metric.share(change));
        // Turned logarithms rise where a rate falls.
        let falls = metric.is_some_and(|metric| metric.better == Some(Better::Higher));
        let (low, high) =
            if falls { (belief.shift.high, belief.shift.low) } else { (belief.shift.low, belief.shift.high) };
        let last = self.range.commits.len() - 1;
        let all = |fits: &dyn Fn(&V1BisectCommit) -> bool| -> Vec<V1BisectCommit> {
            (0..=last).map(|commit| self.commit(commit)).filter(|commit| fits(commit)).collect()
        };
        let seconds: f64 = state.measured.iter().map(|process| process.seconds).sum();
        BisectDocument {
            schema: SCHEMA_BISECT.into(),
            id: beginning.id.clone(),
            case: beginning.case.clone(),
            metric: metric.map_or_else(|| beginning.metric.clone().unwrap_or_default(), |it| it.name.clone()),
            unit: metric.map_or_else(String::new, |it| it.unit.clone()),
            better: metric.and_then(|it| it.better),
            good: self.commit(0),
            bad: self.commit(last),
            commits: last as u32,
            full: beginning.full,
            any: !state.is_sided(),
            answer,
            confidence: self.confidence,
            probability,
            innocent: belief.innocent,
            remaining: remaining.into_iter().map(|commit| self.commit(commit)).collect(),
            change: share(belief.shift.change),
            low: share(low),
            high: share(high),
            noise: measured.then_some(belief.noise),
            rounds: state.rounds(),
            processes: state.measured.len() as u32,
            builds: state.builds,
            seconds: seconds + state.build_seconds,
            measured: all(&|commit| commit.value.is_some()),
            broken: all(&|commit| commit.broken.is_some()),
            folder: shown(state.folder.root()),
            warnings: state.warnings.clone(),
        }
    }

    /// The answer, the commits that remain, and how probable that is.
    fn answer(&self) -> (BisectAnswer, Vec<usize>, f64) {
        let sum = |set: &[usize]| set.iter().map(|commit| self.belief.of_candidate(*commit)).sum::<f64>();
        match &self.step {
            _ if self.interrupted => self.open(BisectAnswer::Interrupted),
            BisectionStep::Found(set) if set.len() == 1 => (BisectAnswer::Commit, set.clone(), sum(set)),
            BisectionStep::Found(set) => {
                let mut ranked = set.clone();
                // Those that could be measured stand out among those that could not.
                ranked.sort_by_key(|commit| (self.state.broken.contains_key(commit), *commit));
                (BisectAnswer::Commits, ranked, sum(set))
            }
            BisectionStep::Innocent => (BisectAnswer::Nothing, Vec::new(), self.belief.innocent),
            BisectionStep::Undecided | BisectionStep::Measure(_) => self.open(BisectAnswer::Undecided),
        }
    }

    /// The most probable candidates that together reach the confidence.
    fn open(&self, answer: BisectAnswer) -> (BisectAnswer, Vec<usize>, f64) {
        let mut ranked: Vec<usize> = (1..self.range.commits.len()).collect();
        let of = |commit: usize| self.belief.of_candidate(commit);
        ranked.sort_by(|one, other| of(*other).total_cmp(&of(*one)));
        let (mut sum, mut kept) = (0.0, Vec::new());
        for commit in ranked.into_iter().take(MOST_REMAINING) {
            if sum >= self.confidence || self.bisection.figures().is_empty() {
                break;
            }
            sum += of(commit);
            kept.push(commit);
        }
        (answer, kept, sum)
    }

    fn commit(&self, index: usize) -> V1BisectCommit {
        let commit = &self.range.commits[index];
        let own = self.state.measured.iter().filter(|process| process.commit == index && process.counts);
        let mut values: Vec<f64> = own.map(|process| process.value).collect();
        V1BisectCommit {
            commit: commit.id.clone(),
            subject: commit.subject.clone(),
            author: commit.author.clone(),
            authored: commit.authored.clone(),
            probability: self.belief.of_candidate(index),
            behind: self.belief.behind(self.bisection.lineage(), index).min(1.0),
            processes: values.len() as u32,
            value: median(&mut values),
            broken: self.state.broken.get(&index).cloned(),
        }
    }
}
