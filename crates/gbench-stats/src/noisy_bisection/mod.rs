//! Which commit of a range made a figure worse, from single processes of a noisy benchmark: probabilistic bisection.
//!
//! A candidate is the first commit with the change. What is not known beside it, the level before, the change, the noise and how
//! much rounds differ, is integrated out (`likelihood`), so that each candidate has a probability (`belief`). The next
//! round asks the commit that is expected to tell most for its time (`choice`; Ben-Or & Hassidim 2008 show that halving the probability is nearly the best). A figure never
//! settles a commit for good: one that misled is outvoted by later ones.
//!
//! **Drift.** Figures of one round share an unknown offset. How large it is beside the noise is estimated, too, and where it is
//! large, a round holds a process of an end of the range beside the commit that it asks.
//!
//! **Outliers.** A figure may be one that tells next to nothing; that it is costs probability.
//!
//! Figures are logarithms, turned so that up is worse.

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
