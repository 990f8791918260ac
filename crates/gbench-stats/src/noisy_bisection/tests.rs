use super::likelihood::Split;
use super::*;
use crate::test_support::normal;

const RULE: BisectionRule =
    BisectionRule { confidence: 0.95, sided: true, least: 0.048_790_164_169_432, most_rounds: 200 };

/// Carries out a bisection; `shift` gives a commit's level, `broken` the commits that cannot be measured. Returns the answer
/// and the number of processes.
fn carried_out(
    lineage: Lineage,
    rule: BisectionRule,
    (seed, noise): (u64, f64),
    shift: impl Fn(usize) -> f64,
    broken: &[usize],
) -> (BisectionStep, usize) {
    let mut normal = normal(seed);
    let mut bisection = Bisection::new(lineage, rule);
    let mut built = vec![false; bisection.lineage().commits()];
    loop {
        let belief = bisection.belief();
        let costs = BisectionCosts { process: 1.0, build: 5.0, built: &built };
        let commits = match bisection.next(&belief, &costs) {
            BisectionStep::Measure(commits) => commits,
            step => return (step, bisection.figures().len()),
        };
        let round = bisection.rounds();
        if let Some(commit) = commits.iter().find(|commit| broken.contains(commit)) {
            bisection.set_broken(*commit);
            continue;
        }
        for commit in commits {
            assert!(!bisection.is_broken(commit));
            built[commit] = true;
            bisection.add(BisectionFigure { commit, round, value: shift(commit) + noise * normal() });
        }
    }
}

fn step(at: usize, size: f64) -> impl Fn(usize) -> f64 {
    move |commit| if commit >= at { size } else { 0.0 }
}

#[test]
fn a_planted_step_is_found_wherever_it_is() {
    let found = |at: usize, seed| {
        let (answer, processes) = carried_out(Lineage::line(64), RULE, (seed, 0.01), step(at, 0.03), &[]);
        assert!(processes < 60, "{processes} for {at}");
        answer == BisectionStep::Found(vec![at])
    };
    let right = (1..=64).filter(|at| found(*at, 100 + *at as u64)).count();
    assert!(right >= 61, "{right} of 64");
}

#[test]
fn what_is_found_of_a_step_depends_on_the_range_on_what_is_broken_and_on_the_rule() {
    let any = BisectionRule { sided: false, ..RULE };
    let short = BisectionRule { confidence: 0.9999, most_rounds: 5, ..RULE };
    let found = |commits: &[usize]| BisectionStep::Found(commits.to_vec());
    for (commits, rule, seed, noise, at, size, broken, expected) in [
        (1, RULE, 1, 0.01, 1, 0.1, &[][..], found(&[1])),
        // Commits between broken ones are named together.
        (16, RULE, 3, 0.005, 9, 0.05, &[7, 8, 9], found(&[7, 8, 9, 10])),
        // An improvement is not a culprit unless any change is.
        (16, RULE, 5, 0.005, 6, -0.05, &[], BisectionStep::Innocent),
        (16, any, 5, 0.005, 6, -0.05, &[], found(&[6])),
        // The rounds are used up.
        (64, short, 5, 0.05, 6, 0.01, &[], BisectionStep::Undecided),
    ] {
        let (answer, processes) =
            carried_out(Lineage::line(commits), rule, (seed, noise), step(at, size), broken);
        assert_eq!(answer, expected, "seed {seed} of {commits}");
        assert!(commits > 1 || processes <= 8, "a range of one commit needs its ends alone: {processes}");
    }
    let none = Bisection::new(Lineage::line(0), RULE);
    let costs = BisectionCosts { process: 1.0, build: 1.0, built: &[] };
    assert_eq!(none.next(&none.belief(), &costs), BisectionStep::Innocent);
}

#[test]
fn a_range_without_a_change_ends_without_a_commit() {
    let accused = |seed: &u64| {
        let (answer, _) = carried_out(Lineage::line(64), RULE, (*seed, 0.01), |_| 0.0, &[]);
        matches!(answer, BisectionStep::Found(_))
    };
    let accused = (0..40).filter(accused).count();
    assert!(accused <= 1, "{accused} of 40");
}

/// ```text
/// 0 - 1 - 3 - 5 - 6
///  \         /
///   2 ----- 4
/// ```
#[test]
fn in_a_history_with_merges_a_commit_has_the_change_that_its_ancestors_brought() {
    let lineage = || Lineage::of(&[vec![0], vec![0], vec![1], vec![2], vec![3, 4], vec![5]]);
    let it = lineage();
    assert!(it.holds(5, 4) && it.holds(5, 1) && it.holds(6, 2) && !it.holds(4, 1) && !it.holds(3, 2));
    for culprit in 1..=6 {
        let tree = lineage();
        let shift = |commit: usize| if tree.holds(commit, culprit) { 0.05 } else { 0.0 };
        let (answer, _) = carried_out(lineage(), RULE, (culprit as u64, 0.005), shift, &[]);
        assert_eq!(answer, BisectionStep::Found(vec![culprit]));
    }
}

#[test]
fn probabilities_are_whole() {
    let mut bisection = Bisection::new(Lineage::line(9), RULE);
    let mut check = |figures: &[(usize, f64)]| {
        let round = bisection.rounds();
        for (commit, value) in figures {
            bisection.add(BisectionFigure { commit: *commit, round, value: *value });
        }
        let belief = bisection.belief();
        let sum: f64 = (1..=9).map(|candidate| belief.of_candidate(candidate)).sum();
        assert!((sum + belief.innocent - 1.0).abs() < 1e-9, "{sum} {}", belief.innocent);
        belief
    };
    let before = check(&[]);
    assert!((before.of_candidate(3) * 9.0 - 1.0 / 3.0).abs() < 1e-9);
    check(&[(0, 0.0), (9, 0.03)]);
    assert_eq!((before.fewest(0.5), before.fewest(1.0 - 1e-9)), (5, 9));
    let belief = check(&[(9, 0.031), (0, 0.001), (5, 0.03)]);
    assert!(belief.fewest(0.95) < 9);
    assert!(belief.of_candidate(2) > belief.of_candidate(7));
    assert!(check(&[(3, f64::NAN)]).candidates_are_finite());
}

impl Belief {
    fn candidates_are_finite(&self) -> bool {
        (0..10).all(|candidate| self.of_candidate(candidate).is_finite()) && self.shift.change.is_finite()
    }
}

/// The evidence of two splits against a sum over a fine grid of level, change and noise.
#[test]
fn the_evidence_is_the_integral_that_it_stands_for() {
    let values = [0.001, -0.004, 0.012, 0.018];
    let figures: Vec<BisectionFigure> = values
        .iter()
        .enumerate()
        .map(|(at, value)| BisectionFigure { commit: at, round: (at / 2) as u32, value: *value })
        .collect();
    let behind = [[false, false, true, true], [false, true, true, true]];
    let closed = behind.map(|behind| {
        Split { figures: &figures, behind: Some(&behind), centre: 0.0 }.evidence_without_outliers(0.5)
    });
    let summed = behind.map(|behind| by_grid(&values, behind, 0.5));
    let (closed, summed) = (closed[0] - closed[1], summed[0] - summed[1]);
    assert!((closed - summed).abs() < 0.02, "{closed} is not {summed}");
}

fn by_grid(values: &[f64; 4], behind: [bool; 4], drift: f64) -> f64 {
    let mut sum = 0.0;
    for noise in (1..400).map(|at| 0.00015 * f64::from(at)) {
        let variance: f64 = noise * noise;
        // Inverse gamma of shape 1 over the variance, as a density over the noise; then a change of 7 noises.
        let prior = (-1e-4 / variance).exp() / (variance * variance) * noise;
        for change in (-60..=60).map(|at| 0.35 * noise * f64::from(at)) {
            let of_change = (-change * change / (2.0 * 49.0 * variance)).exp() / noise;
            for level in (-40..=40).map(|at| 0.15 * noise * f64::from(at) + 0.005) {
                let mut square = 0.0;
                for round in [0, 2] {
                    let off = |at: usize| values[at] - level - if behind[at] { change } else { 0.0 };
                    let (a, b) = (off(round), off(round + 1));
                    square += a * a + b * b - drift / (1.0 + 2.0 * drift) * (a + b) * (a + b);
                }
                let likelihood = (-square / (2.0 * variance)).exp() / (variance * variance);
                // The level's own prior is flat in noises.
                sum += prior * of_change * likelihood / noise * (noise * noise);
            }
        }
    }
    sum.ln()
}
