//! How much sessions of one program differ, as their history shows it.
//!
//! Stored runs of a branch have real changes, too: a commit that made a case twice as fast is not noise. So only
//! *successive* runs under one name are compared, and of their squared differences the **median** is taken: a change
//! enters one difference and is forgotten, and as long as fewer than half of the steps are changes they cannot carry the
//! estimate away. For independent normal sessions of variance V each squared difference is 2 V times a chi-squared
//! variable of one degree of freedom, whose median is 0.455.
//!
//! This variance includes the share of the processes of a session; that share is known and taken off again where it is
//! used. A few differences show little, so the suite's variances moderate each other ([`Prior`]).

use gbench_stats::{Prior, mean};

use super::history::{Past, Session};
use super::scale::Scale;

/// Degrees of freedom that a case gets at most from what other benchmarks show.
pub(crate) const MOST_FREEDOM_OF_OTHERS: f64 = 8.0;

/// Median of a chi-squared variable of one degree of freedom.
const CHI2_MEDIAN: f64 = 0.454_936;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SessionVariance {
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

impl SessionVariance {
    /// `across_hosts`: only of successive sessions on different hosts, for sides on two hosts of a pool. `None` where no name
    /// has two such sessions with figures on this scale.
    pub(crate) fn of(past: &Past, scale: Scale, across_hosts: bool) -> Option<Self> {
        let (mut squares, mut errors, mut processes) = (Vec::new(), Vec::new(), Vec::new());
        let mut sessions = 0;
        for sequence in past.sequences.values() {
            let placed = sequence.iter().filter_map(|session| Some((&session.host, centre(session, scale)?)));
            let placed: Vec<(&Option<String>, f64)> = placed.collect();
            let apart = |pair: &&[(&Option<String>, f64)]| {
                !across_hosts || pair[0].0.is_some() && pair[1].0.is_some() && pair[0].0 != pair[1].0
            };
            let steps = placed.windows(2).filter(apart).map(|pair| (pair[1].1 - pair[0].1).powi(2));
            let before = squares.len();
            squares.extend(steps);
            if squares.len() == before {
                continue;
            }
            sessions += (squares.len() - before) as u32 + 1;
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
        let median = gbench_stats::median(&mut squares)?;
        Some(Self {
            sessions,
            variance: median / (2.0 * CHI2_MEDIAN) * weight,
            freedom,
            of_processes: mean(&errors)?,
            processes: processes[processes.len() / 2],
        })
    }

    /// Drawn towards what the suite's other cases show.
    pub(crate) fn moderated(self, prior: Prior) -> Self {
        let variance = prior.moderate(self.variance, self.freedom);
        Self { variance, freedom: self.freedom + prior.freedom, ..self }
    }

    pub(crate) fn excess(&self) -> f64 {
        (self.variance - self.of_processes).max(0.0)
    }
}

/// The prior of a suite. Cases have their histories of different lengths; the fit takes the usual one's freedom.
///
/// A few cases agree by chance, too, and the fit would believe them wholly: its weight is bounded by what they know all
/// together, and by that of the screening in `stats::seq_e`.
pub(crate) fn prior(spreads: &[SessionVariance]) -> Prior {
    let mut freedoms: Vec<f64> = spreads.iter().map(|spread| spread.freedom).collect();
    let together: f64 = freedoms.iter().sum();
    let variances: Vec<f64> = spreads.iter().map(|spread| spread.variance).collect();
    let Some(freedom) = gbench_stats::median(&mut freedoms) else { return Prior::NONE };
    Prior::fit(&variances, freedom).at_most(MOST_FREEDOM_OF_OTHERS.min(together / 4.0))
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

#[cfg(test)]
mod tests {
    use rand_pcg::rand_core::{Rng, SeedableRng};

    use super::*;
    use gbench_model::test_support::case_id;
    use gbench_stats::TQuantiles;

    /// Normal enough: twelve uniform numbers.
    fn normal(random: &mut rand_pcg::Pcg64) -> f64 {
        (0..12).map(|_| (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64).sum::<f64>() - 6.0
    }

    fn shown(centres: &[f64]) -> Option<SessionVariance> {
        shown_on(centres, &[], false)
    }

    /// `hosts`: of the sessions in turn.
    fn shown_on(centres: &[f64], hosts: &[&str], across_hosts: bool) -> Option<SessionVariance> {
        let session = |(at, centre): (usize, &f64)| Session {
            run_id: format!("20261121T10{at:02}00.000Z-{at:06x}").parse().unwrap(),
            centres: vec![centre.exp()],
            host: hosts.get(at % hosts.len().max(1)).map(|host| (*host).to_owned()),
        };
        let past = Past {
            case: case_id("s/x"),
            metric: "time".into(),
            unit: "s".into(),
            sequences: [("main".to_owned(), centres.iter().enumerate().map(session).collect())].into(),
        };
        SessionVariance::of(&past, Scale::Log { sign: 1.0 }, across_hosts)
    }

    #[test]
    fn b2_the_hosts_of_a_pool_show_how_far_they_are_apart_where_sessions_change_them() {
        let nights: Vec<f64> = (0..8).map(|night| f64::from(night % 2) * 0.1).collect();
        let found = shown_on(&nights, &["a", "b"], true).unwrap();
        assert_eq!(found.sessions, 8);
        assert!((0.05..0.15).contains(&(2.0 * found.variance).sqrt()), "{found:?}");
        assert_eq!(shown_on(&nights, &["a"], true), None);
        assert_eq!(shown_on(&nights, &[], true), None, "runs of older versions name no host");
        // Four hosts, each for two nights: three changes.
        let found = shown_on(&nights, &["a", "a", "b", "b", "c", "c", "d", "d"], true).unwrap();
        assert_eq!(found.sessions, 4);
    }

    /// The difference to a further session, in units of its estimated error, is not wider than Student's t.
    #[test]
    fn a_new_session_differs_as_the_spread_of_the_stored_ones_lets_expect() {
        let mut random = rand_pcg::Pcg64::seed_from_u64(11);
        for stored in [3, 4, 7, 10, 20] {
            let mut beyond = [0; 2];
            for _ in 0..4000 {
                let centres: Vec<f64> = (0..=stored).map(|_| 0.01 * normal(&mut random)).collect();
                let spread = shown(&centres[..stored]).unwrap();
                let difference = centres[stored] - centres[stored - 1];
                let t = difference.abs() / (2.0 * spread.variance).sqrt();
                for (count, tail) in beyond.iter_mut().zip([0.025, 0.005]) {
                    *count += i32::from(t > TQuantiles::default().upper(tail, spread.freedom));
                }
            }
            assert!(beyond[0] <= 200 + 42 && beyond[1] <= 40 + 19, "{stored} sessions: {beyond:?}");
            assert!(beyond[0] >= 20, "{stored} sessions: {beyond:?}: far too wide");
        }
    }

    #[test]
    fn a_step_that_stays_enters_one_difference_only() {
        let quiet: Vec<f64> = (0..10).map(|at| 0.001 * f64::from(at % 3)).collect();
        let mut changed = quiet.clone();
        changed[4..].iter_mut().for_each(|centre| *centre += 0.5);
        let [before, after] = [&quiet, &changed].map(|centres| shown(centres).unwrap().variance);
        assert!(after <= 4.0 * before && before > 0.0, "{before:e} {after:e}");
    }

    #[test]
    fn one_session_of_a_name_shows_no_difference() {
        assert_eq!(shown(&[0.1]), None);
        assert_eq!(shown(&[0.1, 0.2]).unwrap().sessions, 2);
    }
}
