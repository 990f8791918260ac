//! How much sessions of one program differ, as their history shows it.
//!
//! Stored runs of a branch hold real changes, too: a commit that made a case twice as fast is no noise. So only
//! *successive* runs under one name are compared, and of their squared differences the **median** is taken: a change
//! enters one difference and is forgotten, and as long as fewer than half of the steps are changes they cannot carry the
//! estimate away. For independent normal sessions of variance V each squared difference is 2 V times a chi-squared
//! variable of one degree of freedom, whose median is 0.455.
//!
//! The variance found holds what the processes of a session add to it; that share is known and taken off again where it
//! is used. A few differences say little, so the suite's variances moderate each other ([`Prior`]).

use crate::stats::{Prior, mean};

use super::history::{Past, Session};
use super::scale::Scale;

/// Median of a chi-squared variable of one degree of freedom.
const CHI2_MEDIAN: f64 = 0.454_936;

/// The sessions of one case and metric on the scale of its comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Sessions that a difference was taken with.
    pub sessions: u32,
    /// Variance of one session's centre, all that is in it.
    pub variance: f64,
    /// Degrees of freedom with which it is known.
    pub freedom: f64,
    /// The share of it that the sessions' own processes explain; 0 where single processes do not show it.
    pub of_processes: f64,
    /// Processes of a session: the median.
    pub processes: u32,
}

impl Spread {
    /// `None` where no name holds two sessions with figures on this scale.
    pub fn of(past: &Past, scale: Scale) -> Option<Self> {
        let (mut squares, mut errors, mut processes) = (Vec::new(), Vec::new(), Vec::new());
        let mut sessions = 0;
        for sequence in past.sequences.values() {
            let centres: Vec<f64> = sequence.iter().filter_map(|session| centre(session, scale)).collect();
            if centres.len() < 2 {
                continue;
            }
            sessions += centres.len() as u32;
            squares.extend(centres.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)));
            processes.extend(sequence.iter().map(|session| session.centres.len() as u32));
            errors.extend(sequence.iter().map(|session| {
                let group = scale.group(&session.centres);
                group.map_or(0.0, |group| group.stddev.powi(2) / f64::from(group.count))
            }));
        }
        if squares.is_empty() {
            return None;
        }
        processes.sort_unstable();
        let steps = squares.len() as f64;
        let (weight, freedom) = (shrinkage(steps), freedom(steps));
        let median = crate::stats::median(&mut squares)?;
        Some(Self {
            sessions,
            variance: median / (2.0 * CHI2_MEDIAN) * weight,
            freedom,
            of_processes: mean(&errors)?,
            processes: processes[processes.len() / 2],
        })
    }

    /// Drawn towards what the suite's other cases show.
    pub fn moderated(self, prior: Prior) -> Self {
        let variance = prior.moderate(self.variance, self.freedom);
        Self { variance, freedom: self.freedom + prior.freedom, ..self }
    }

    /// Variance that only sessions explain.
    pub fn excess(&self) -> f64 {
        (self.variance - self.of_processes).max(0.0)
    }
}

/// The prior of a suite. Cases have their histories of different lengths; the fit takes the usual one's freedom.
pub fn prior(spreads: &[Spread]) -> Prior {
    let mut freedoms: Vec<f64> = spreads.iter().map(|spread| spread.freedom).collect();
    let variances: Vec<f64> = spreads.iter().map(|spread| spread.variance).collect();
    crate::stats::median(&mut freedoms).map_or(Prior::NONE, |freedom| Prior::fit(&variances, freedom))
}

/// Degrees of freedom that a median of `steps` squared differences is worth: the variance of its logarithm is that of a
/// chi-squared variable with so many. Found by simulation (40,000 draws each), kept below it: 1.0 for one step, 1.7 for
/// three, 3.7 for nine, 9.8 for 29.
fn freedom(steps: f64) -> f64 {
    0.7 + 0.32 * steps
}

/// The median of few squares lies above that of many: 2.2 times for one step, 1.7 for three, 1.3 for nine (the same
/// simulation). Taken off in part only, so that what remains makes verdicts weaker.
fn shrinkage(steps: f64) -> f64 {
    1.0 / (1.0 + 2.0 / (steps + 1.0))
}

fn centre(session: &Session, scale: Scale) -> Option<f64> {
    mean(&scale.turned(&session.centres)?)
}
