//! Finds the commit of a range that made a figure worse, from single processes of a noisy benchmark, by probabilistic
//! bisection.
//!
//! A candidate is the first commit with the change. The unknowns (the level before, the change, the noise and the variation
//! between rounds) are integrated out (`likelihood`), so that each candidate has a probability (`belief`). The next round
//! measures the commit with the most expected information for its time (`choice`; Ben-Or & Hassidim 2008 show that halving the
//! probability is nearly optimal). A figure never settles a commit for good: later figures outvote a misleading one.
//!
//! **Drift.** Figures of one round share an unknown offset. Its size relative to the noise is estimated, too. If it is large,
//! a round measures an end of the range in addition to the chosen commit.
//!
//! **Outliers.** A figure may be an outlier with hardly any information, at a cost in probability.
//!
//! Figures are logarithms, signed so that higher is worse.

mod belief;
mod bisection;
mod choice;
mod figure;
mod likelihood;
mod lineage;
#[cfg(test)]
mod tests;

pub use belief::{Belief, LevelShift};
pub use bisection::{Bisection, BisectionRule};
pub use choice::{BisectionCosts, BisectionStep};
pub use figure::BisectionFigure;
pub use lineage::Lineage;
