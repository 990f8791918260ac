//! The loop of a bisection: ask, build, measure, until there is an answer or something stops it.

use std::time::Instant;

use super::answer::AnswerParts;
use super::figures::BisectedMetric;
use super::request::{BisectRequest, Bisected, MOST_ROUNDS, resume_command};
use super::state::BisectState;
use super::trees::{BisectTrees, BrokenCommit, NotMeasured};
use crate::app::progress::Reporter;
use crate::app::reports::verdict_files::json_of;
use crate::model::text::{count, percent};
use crate::model::{Budget, CutShort, Exit, Fault, Result};
use crate::stats::noisy_bisection::{Bisection, BisectionCosts, BisectionRule, BisectionStep, Lineage};

/// Seconds of a build and of a process before any is known.
const ASSUMED_BUILD: f64 = 10.0;
const ASSUMED_PROCESS: f64 = 1.0;
/// A commit of this probability is named while others are still asked.
const TELLING: f64 = 0.2;

pub(super) enum Stopped {
    Signal(i32),
    OutOfTime,
}

pub(super) struct BisectRun<'a> {
    pub trees: BisectTrees<'a>,
    pub state: BisectState,
    pub rule: BisectionRule,
    /// For builds and processes of this call, which began then.
    pub budget: Budget,
    pub since: Instant,
    pub reporter: &'a Reporter,
}

impl BisectRun<'_> {
    /// Measures until there is an answer. Gives what stopped it where there is none.
    pub(super) fn until_answered(&mut self) -> Result<Option<Stopped>> {
        let mut bisection = self.bisection();
        loop {
            let belief = bisection.belief();
            let built = self.trees.built();
            let costs = BisectionCosts {
                process: self.state.seconds_per_process().unwrap_or(ASSUMED_PROCESS),
                build: self.state.seconds_per_build().unwrap_or(ASSUMED_BUILD),
                built: &built,
            };
            let BisectionStep::Measure(commits) = bisection.next(&belief, &costs) else { return Ok(None) };
            if self.state.rounds() >= 2 * MOST_ROUNDS {
                // Too many of its processes count for nothing.
                return Ok(None);
            }
            let mut builds: Vec<usize> = commits.iter().copied().filter(|commit| !built[*commit]).collect();
            builds.sort_unstable();
            builds.dedup();
            let price = costs.process * commits.len() as f64 + costs.build * builds.len() as f64;
            if !self.budget.has_room(self.since.elapsed().as_secs_f64(), price) {
                return Ok(Some(Stopped::OutOfTime));
            }
            if let Some(stopped) = self.round(&mut bisection, &commits)? {
                return Ok(Some(stopped));
            }
        }
    }

    fn bisection(&self) -> Bisection {
        let range = self.trees.range;
        let mut bisection = Bisection::new(
            Lineage::of(&range.parents),
            BisectionRule { sided: self.state.is_sided(), ..self.rule },
        );
        self.state.broken.keys().for_each(|commit| bisection.set_broken(*commit));
        self.state.figures().for_each(|figure| bisection.add(figure));
        bisection
    }

    /// One round: all of its commits are built before the first of them is measured, so that its processes run close together.
    fn round(&mut self, bisection: &mut Bisection, commits: &[usize]) -> Result<Option<Stopped>> {
        for (at, commit) in commits.iter().enumerate() {
            if commits[..at].contains(commit) {
                continue;
            }
            match self.trees.build(*commit)? {
                Ok(Some(seconds)) => {
                    self.state.built(&self.trees.range.commits[*commit].id, seconds)?;
                }
                Ok(None) => {}
                Err(ended) => return self.ended_with(bisection, *commit, ended),
            }
        }
        let round = self.state.rounds();
        let (mut at, mut is_first) = (0, false);
        while at < commits.len() {
            let commit = commits[at];
            let processes = commits[at..].iter().take_while(|other| **other == commit).count();
            at += processes;
            let finished = match self.trees.measure(commit, processes as u32)? {
                Ok(finished) => finished,
                Err(ended) => return self.ended_with(bisection, commit, ended),
            };
            let record = &finished.record;
            let metric = match &self.state.metric {
                Some(metric) => metric.clone(),
                None => {
                    let found = BisectedMetric::of(record, self.state.beginning.metric.as_deref())?;
                    is_first = true;
                    self.state.settle_metric(found)?.clone()
                }
            };
            let figures = metric.figures(record)?;
            if figures.is_empty() {
                let cause = format!("its processes say nothing of `{}`", metric.name);
                self.broke(bisection, commit, BrokenCommit::because(cause))?;
                return Ok(None);
            }
            for figure in figures {
                let id = &self.trees.range.commits[commit].id;
                if let Some(figure) = self.state.measured((commit, id), round, &record.run_id, figure)? {
                    bisection.add(figure);
                }
            }
            let case = record.cases.first();
            case.into_iter().flat_map(|case| &case.warnings).for_each(|text| self.state.warn(text));
            let empty = case.is_some_and(|case| !case.nothing_measured.is_empty());
            if empty {
                let name = self.trees.name(commit);
                self.state
                    .warn(&format!("{name}: a process looks as if it had measured nothing: see its record"));
            }
            if let Some(case) = case.filter(|case| !case.outcome.is_measured()) {
                self.broke(bisection, commit, BrokenCommit::of(&case.outcome, finished.gpu_missing))?;
                return Ok(None);
            }
        }
        if is_first {
            // Which changes count is known now.
            *bisection = self.bisection();
        }
        self.tell(bisection, round, commits);
        Ok(None)
    }

    fn ended_with(
        &mut self,
        bisection: &mut Bisection,
        commit: usize,
        ended: NotMeasured,
    ) -> Result<Option<Stopped>> {
        match ended {
            NotMeasured::Broken(broken) => self.broke(bisection, commit, broken).map(|()| None),
            NotMeasured::CutShort(CutShort::Interrupt { signal }) => Ok(Some(Stopped::Signal(signal))),
            NotMeasured::CutShort(CutShort::Deadline) => Ok(Some(Stopped::OutOfTime)),
        }
    }

    /// A commit that does not build or run is left out from now on. Errors: it is an end.
    fn broke(&mut self, bisection: &mut Bisection, commit: usize, broken: BrokenCommit) -> Result<()> {
        let BrokenCommit { cause, advice, machine } = broken;
        let name = self.trees.name(commit).to_owned();
        let last = self.trees.range.commits.len() - 1;
        if commit == 0 || commit == last || machine {
            let end = match commit {
                0 => "the good end",
                commit if commit == last => "the bad end",
                _ => "a commit",
            };
            let usual = "name another commit as this end, or measure all with a suite file that fits: `--suite-file FILE`";
            let next = if advice.is_empty() { usual.to_owned() } else { format!("{advice}; or {usual}") };
            let exit = if machine { Exit::Machine } else { Exit::Failed };
            return Err(
                Fault::at(format!("{end}, {name}"), format!("cannot be measured: {cause}"), next).exits(exit)
            );
        }
        self.reporter.note(&format!("{name} cannot be measured, and is left out: {cause}"));
        bisection.set_broken(commit);
        self.state.broke((commit, &self.trees.range.commits[commit].id), cause)
    }

    fn tell(&self, bisection: &Bisection, round: u32, commits: &[usize]) {
        let belief = bisection.belief();
        let mut asked = commits.to_vec();
        asked.dedup();
        let names: Vec<&str> = asked.iter().map(|commit| self.trees.name(*commit)).collect();
        let (set, probability) = bisection.best_set(&belief);
        let best = match set.as_slice() {
            _ if probability < TELLING => String::new(),
            [one] => format!("; {} {}", self.trees.name(*one), percent(rough(probability))),
            set => format!("; one of {} {}", count(set.len(), "commit"), percent(rough(probability))),
        };
        let remaining = belief.fewest(self.rule.confidence);
        self.reporter.note(&format!(
            "round {}: {}; {} left{best}; nothing changed {}",
            round + 1,
            names.join(", "),
            count(remaining, "commit"),
            percent(rough(belief.innocent))
        ));
    }

    pub(super) fn ended(self, stopped: Option<Stopped>, request: &BisectRequest) -> Result<Bisected> {
        let bisection = self.bisection();
        let belief = bisection.belief();
        // A step without a build or a measurement is free, so that its length does not matter.
        let built = vec![true; self.trees.range.commits.len()];
        let costs = BisectionCosts { process: 1.0, build: 1.0, built: &built };
        let interrupted = match stopped {
            Some(Stopped::Signal(signal)) => Some(signal),
            _ => None,
        };
        let parts = AnswerParts {
            range: self.trees.range,
            state: &self.state,
            bisection: &bisection,
            belief: &belief,
            step: bisection.next(&belief, &costs),
            confidence: self.rule.confidence,
            interrupted: interrupted.is_some(),
        };
        let document = parts.document();
        self.state.folder.answer(&json_of(&document)?)?;
        let is_open = !document.answer.is_final() && document.rounds < MOST_ROUNDS;
        let resume = is_open.then(|| resume_command(&document.id, request));
        Ok(Bisected { document, interrupted, resume })
    }
}

/// A probability as it is given: in steps of a percent, and never 0 or 1 for what is neither.
fn rough(probability: f64) -> f64 {
    ((probability * 100.0).round() / 100.0).clamp(0.01, 0.99)
}
