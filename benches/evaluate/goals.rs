//! Goals, what was reached, and whether a miss may be the sampling error of the run.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};

use super::trials::{Mean, Share};

/// A figure counts as missed only where a rule that just reaches the goal would do as badly with less than this
/// chance. Benchmarks are drawn independently, so that shares are binomial and means over suites are normal.
pub const CHANCE: f64 = 1e-4;

#[derive(Clone, Copy, Debug)]
pub enum Figure {
    Share(Share),
    Mean(Mean),
    /// Without a distribution of its own: what else the run could have shown.
    Between {
        low: f64,
        value: f64,
        high: f64,
    },
}

#[derive(Clone, Copy, Debug)]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Met,
    /// Missed by no more than the sampling error of this run.
    Near,
    Missed,
}

pub struct Goal {
    pub what: String,
    pub figure: Figure,
    pub bound: Bound,
    /// Figure and bound as a reader has them.
    pub unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Percent,
    Of,
    Plain,
    Times,
}

impl Figure {
    pub fn value(&self) -> f64 {
        match self {
            Self::Share(share) => share.value(),
            Self::Mean(mean) => mean.value,
            Self::Between { value, .. } => *value,
        }
    }
}

impl Goal {
    pub fn standing(&self) -> Standing {
        let value = self.figure.value();
        let met = match self.bound {
            Bound::AtMost(bound) => value <= bound,
            Bound::AtLeast(bound) => value >= bound,
        };
        match met {
            true => Standing::Met,
            false if self.chance() < CHANCE => Standing::Missed,
            false => Standing::Near,
        }
    }

    /// Chance of a figure as bad as this, or worse, where the truth just reaches the goal.
    fn chance(&self) -> f64 {
        match (self.figure, self.bound) {
            (Figure::Share(Share { hits, of }), Bound::AtMost(bound)) => match hits.checked_sub(1) {
                Some(fewer) => binomial(bound, of).map_or(0.0, |law| law.sf(fewer as u64)),
                None => 1.0,
            },
            (Figure::Share(Share { hits, of }), Bound::AtLeast(bound)) => {
                binomial(bound, of).map_or(0.0, |law| law.cdf(hits as u64))
            }
            (Figure::Mean(Mean { value, error }), Bound::AtMost(bound)) => {
                Normal::standard().sf((value - bound) / error)
            }
            (Figure::Mean(Mean { value, error }), Bound::AtLeast(bound)) => {
                Normal::standard().sf((bound - value) / error)
            }
            (Figure::Between { low, .. }, Bound::AtMost(bound)) => f64::from(u8::from(low <= bound)),
            (Figure::Between { high, .. }, Bound::AtLeast(bound)) => f64::from(u8::from(high >= bound)),
        }
    }

    fn reached(&self) -> String {
        match (self.unit, self.figure) {
            (_, Figure::Share(share)) if self.unit == Unit::Of => format!("{} of {}", share.hits, share.of),
            (_, Figure::Share(share)) => {
                format!("{} ± {}", self.number(share.value()), self.number(share.error()))
            }
            (_, Figure::Mean(mean)) => {
                format!("{} ± {}", self.number(mean.value), self.number(mean.error))
            }
            (_, Figure::Between { low, value, high }) if low < high => {
                format!("{} ({} to {})", self.number(value), self.number(low), self.number(high))
            }
            (_, Figure::Between { value, .. }) => self.number(value),
        }
    }

    fn asked(&self) -> String {
        let (word, bound) = match self.bound {
            Bound::AtMost(bound) => ("at most", bound),
            Bound::AtLeast(bound) => ("at least", bound),
        };
        match (self.unit, self.figure) {
            (Unit::Of, Figure::Share(share)) => {
                format!("{word} {:.0} of {}", bound * share.of as f64, share.of)
            }
            _ => format!("{word} {}", self.number(bound)),
        }
    }

    fn number(&self, value: f64) -> String {
        match self.unit {
            Unit::Percent => format!("{:.2} %", 100.0 * value),
            Unit::Of => format!("{value}"),
            Unit::Plain => format!("{value:.2}"),
            Unit::Times => format!("{value:.1}x"),
        }
    }

    /// The row of a table: what, reached, asked, standing.
    pub fn row(&self) -> Vec<String> {
        let standing = match self.standing() {
            Standing::Met => "met".to_owned(),
            Standing::Near => format!("missed by {}, within the sampling error", self.missed_by()),
            Standing::Missed => format!("**MISSED by {}**", self.missed_by()),
        };
        vec![self.what.clone(), self.reached(), self.asked(), standing]
    }

    fn missed_by(&self) -> String {
        let (Bound::AtMost(bound) | Bound::AtLeast(bound)) = self.bound;
        let off = (self.figure.value() - bound).abs();
        match (self.unit, self.figure) {
            (Unit::Of, Figure::Share(share)) => format!("{:.0}", off * share.of as f64),
            _ => self.number(off),
        }
    }
}

/// `None` where the bound is no probability between 0 and 1: nothing may exceed it then.
fn binomial(bound: f64, of: usize) -> Option<Binomial> {
    Binomial::new(bound, of as u64).ok()
}

/// The names of those that were missed beyond doubt.
pub fn missed(goals: &[Goal]) -> Vec<&str> {
    let missed = goals.iter().filter(|goal| goal.standing() == Standing::Missed);
    missed.map(|goal| goal.what.as_str()).collect()
}
