//! A bisection: its range, its rule and its measurements.

use super::belief::Belief;
use super::figure::BisectionFigure;
use super::lineage::Lineage;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BisectionRule {
    /// Probability that the answer must reach, between 0 and 1.
    pub confidence: f64,
    /// Only a change for the worse matters; otherwise any does.
    pub sided: bool,
    /// Logarithm of the change below which the ends are considered equal.
    pub least: f64,
    /// Rounds after which an open question remains undecided.
    pub most_rounds: u32,
}

/// A bisection under way: the range, the figures, and the commits that cannot be measured.
#[derive(Clone, Debug)]
pub struct Bisection {
    pub(super) lineage: Lineage,
    pub(super) rule: BisectionRule,
    pub(super) figures: Vec<BisectionFigure>,
    /// By commit: it cannot be measured.
    pub(super) broken: Vec<bool>,
    /// By commit: the first candidate that no measurable commit distinguishes from it. Unused for 0.
    twins: Vec<usize>,
}

impl Bisection {
    pub fn new(lineage: Lineage, rule: BisectionRule) -> Self {
        let broken = vec![false; lineage.commits()];
        let twins = lineage.twins(&broken);
        Self { lineage, rule, figures: Vec::new(), broken, twins }
    }

    /// Adds a figure. Figures that are not finite are ignored.
    pub fn add(&mut self, figure: BisectionFigure) {
        if figure.value.is_finite() && figure.commit < self.lineage.commits() {
            self.figures.push(figure);
        }
    }

    /// A commit that cannot be built or run is not asked again. Its figures remain.
    pub fn set_broken(&mut self, commit: usize) {
        if let Some(broken) = self.broken.get_mut(commit) {
            *broken = true;
            self.twins = self.lineage.twins(&self.broken);
        }
    }

    pub fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    pub fn figures(&self) -> &[BisectionFigure] {
        &self.figures
    }

    pub fn is_broken(&self, commit: usize) -> bool {
        self.broken.get(commit).copied().unwrap_or(true)
    }

    /// Rounds with figures.
    pub fn rounds(&self) -> u32 {
        self.figures.iter().map(|figure| figure.round + 1).max().unwrap_or(0)
    }

    pub fn belief(&self) -> Belief {
        Belief::of(&self.lineage, &self.figures, self.rule.sided)
    }

    /// The most probable set of candidates that no measurable commit distinguishes, with its total probability.
    pub fn best_set(&self, belief: &Belief) -> (Vec<usize>, f64) {
        let mut sums = vec![0.0; self.lineage.commits()];
        for (candidate, twin) in self.twins.iter().enumerate().skip(1) {
            sums[*twin] += belief.of_candidate(candidate);
        }
        let best = (1..sums.len()).max_by(|one, other| sums[*one].total_cmp(&sums[*other]));
        let Some(best) = best else { return (Vec::new(), 0.0) };
        let set = (1..sums.len()).filter(|candidate| self.twins[*candidate] == best).collect();
        (set, sums[best])
    }
}
