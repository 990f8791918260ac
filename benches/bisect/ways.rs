//! The ways to find a commit: ours, and plain bisection as it is done by hand.

use gbench_ci::stats::midmean;
use gbench_ci::stats::noisy_bisection::{
    Bisection, BisectionCosts, BisectionFigure, BisectionRule, BisectionStep, Lineage,
};

use super::machine::{Machine, Setting};

pub const CANDIDATES: usize = 64;

/// How one search ended.
#[derive(Clone, Debug)]
pub struct Search {
    /// The commits that remain; of a range where nothing changed none. `None`: undecided.
    pub answer: Option<Vec<usize>>,
    pub planted: usize,
    pub processes: u32,
    pub builds: u32,
}

impl Search {
    /// The answer is the planted commit, or a set that holds it.
    pub fn is_right(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.contains(&self.planted))
    }

    /// Some commit is accused.
    pub fn accuses(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| !answer.is_empty())
    }
}

/// The rule of the command.
pub fn rule() -> BisectionRule {
    BisectionRule { confidence: 0.95, sided: true, least: 0.05_f64.ln_1p(), most_rounds: 200 }
}

/// As the command does it, but for the processes.
pub fn noisy(setting: Setting, seed: u64) -> Search {
    let mut machine = Machine::new(setting, CANDIDATES, seed);
    let mut bisection = Bisection::new(Lineage::line(CANDIDATES), rule());
    let (mut built, mut builds) = (vec![false; CANDIDATES + 1], 0);
    let answer = loop {
        let belief = bisection.belief();
        let costs = BisectionCosts { process: 1.0, build: setting.build, built: &built };
        let commits = match bisection.next(&belief, &costs) {
            BisectionStep::Measure(commits) => commits,
            BisectionStep::Found(set) => break Some(set),
            BisectionStep::Innocent => break Some(Vec::new()),
            BisectionStep::Undecided => break None,
        };
        let round = bisection.rounds();
        for commit in &commits {
            builds += u32::from(!built[*commit]);
            built[*commit] = true;
        }
        if let Some(broken) = commits.iter().find(|commit| machine.broken[**commit]) {
            bisection.set_broken(*broken);
            continue;
        }
        for commit in commits {
            let value = machine.measure(commit);
            bisection.add(BisectionFigure { commit, round, value });
        }
    };
    Search { answer, planted: machine.planted, processes: machine.processes, builds }
}

fn centre(mut values: Vec<f64>) -> f64 {
    midmean(&mut values).expect("some values")
}

/// Halving: at each step so many processes of the good end and of the commit in the middle, both afresh, one after the other. The
/// size of the change is known, which favours it.
pub fn plain_afresh(setting: Setting, seed: u64, each: u32) -> Search {
    halved(setting, seed, |machine, middle| {
        let pairs: Vec<[f64; 2]> = (0..each).map(|_| [machine.measure(0), machine.measure(middle)]).collect();
        let [good, bad] = [0, 1].map(|side| centre(pairs.iter().map(|pair| pair[side]).collect()));
        bad - good > setting.step.ln_1p() / 2.0
    })
}

/// Halving: the ends are measured once, twice as often as a commit; each commit in the middle is held against the mean of the two.
pub fn plain_anchored(setting: Setting, seed: u64, each: u32) -> Search {
    let mut threshold = None;
    halved(setting, seed, |machine, middle| {
        let threshold = *threshold.get_or_insert_with(|| {
            let ends: Vec<[f64; 2]> =
                (0..2 * each).map(|_| [machine.measure(0), machine.measure(CANDIDATES)]).collect();
            let [good, bad] = [0, 1].map(|side| centre(ends.iter().map(|end| end[side]).collect()));
            f64::midpoint(good, bad)
        });
        centre((0..each).map(|_| machine.measure(middle)).collect()) > threshold
    })
}

fn halved(setting: Setting, seed: u64, mut is_bad: impl FnMut(&mut Machine, usize) -> bool) -> Search {
    let mut machine = Machine::new(setting, CANDIDATES, seed);
    let (mut good, mut bad, mut builds) = (0, CANDIDATES, 2);
    while bad - good > 1 {
        let middle = usize::midpoint(good, bad);
        builds += 1;
        if is_bad(&mut machine, middle) {
            bad = middle;
        } else {
            good = middle;
        }
    }
    Search { answer: Some(vec![bad]), planted: machine.planted, processes: machine.processes, builds }
}
