//! The rule `process-session`: as `process-welch-holm`, for two records of different sessions.
//!
//! Processes of one run show how much processes differ. Two runs of one program on one machine differ by more, and no
//! number of processes shows by how much: that takes other runs. With `V` the variance between sessions that the history
//! shows ([`crate::evidence::session_variance`]), the difference of two sessions has the squared error
//!
//! ```text
//!   error^2 = base's s^2/n + head's s^2/n + 2 V
//! ```
//!
//! and Satterthwaite's degrees of freedom over these parts. All else is as within one session: threshold, Holm over the
//! suite, the exact rows.
//!
//! - Outliers stay in: the variance between sessions is that of sessions with theirs.
//! - A side of one process has no `s`; where the stored runs have no more of them, their differences contain everything,
//!   and twice their variance is the whole error.
//! - Sides on two hosts of a pool are decided by stored sessions that succeed each other on different hosts, and by nothing
//!   else: no assumption says how far two machines of one model are apart.
//! - With fewer stored sessions than policy asks for, no row is unchanged. A row is still regressed or improved where its
//!   change exceeds that of sessions that differ by [`ASSUMED_DEVIATION`].

use gbench_stats::{Prior, TQuantiles, Welch};

use super::row_test::{RowTest, Test, decide_all};
use super::rule::{RowDecision, Rule};
use crate::evidence::history::History;
use crate::evidence::samples::Evidence;
use crate::evidence::scale::Scale;
use crate::evidence::session_variance;
use crate::evidence::session_variance::{MOST_FREEDOM_OF_OTHERS, SessionVariance};
use crate::verdict::document::Sessions;
use crate::verdict::outcome::Verdict;
use crate::wording::advice::Advice;
use crate::wording::reason::Reason;

/// Deviation between sessions where too few of them are stored: a bit more than that of the most restless benchmark that was
/// looked at, copies within the L2 cache of an H200 (3.4 % over twelve sessions within a minute, and two sessions 19 % apart).
/// A T4's workloads have 2.0 %, other cards' 0.13 % to 1.0 %. Other benchmarks show it, so that it is as uncertain as what they
/// show otherwise.
pub(crate) const ASSUMED_DEVIATION: f64 = 0.04;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessSession<'h> {
    /// Error rate of the whole suite, above 0 and below 1.
    pub alpha: f64,
    /// Stored sessions that a row needs before it may be green.
    pub sessions: u32,
    pub history: &'h History,
    /// The sides ran on two hosts of a pool.
    pub across_hosts: bool,
}

struct Known {
    scale: Scale,
    stored: u32,
    spread: Option<SessionVariance>,
}

impl Rule for ProcessSession<'_> {
    fn name(&self) -> &str {
        "process-session-4"
    }

    fn alpha(&self) -> f64 {
        self.alpha
    }

    fn decide(&self, evidence: &[Evidence]) -> Vec<RowDecision> {
        let mut quantiles = TQuantiles::default();
        let row_tests: Vec<RowTest> =
            evidence.iter().map(|evidence| RowTest::of(evidence, false, &mut quantiles)).collect();
        let left_to_chance = |(row_test, evidence): (&RowTest, &Evidence)| {
            (!matches!(row_test, RowTest::Settled(_))).then(|| self.known(evidence))
        };
        let mut known: Vec<Option<Known>> = row_tests.iter().zip(evidence).map(left_to_chance).collect();
        let prior = prior(known.iter().flatten());
        known.iter_mut().flatten().for_each(|known| known.moderate(prior));
        let row_tests = row_tests.into_iter().zip(&known).zip(evidence);
        let widened = row_tests.map(|((row_test, known), evidence)| match known {
            Some(known) => self.widened(row_test, known, evidence),
            None => row_test,
        });
        let mut decisions = decide_all(widened.collect(), self.alpha, &mut quantiles);
        for (decision, known) in decisions.iter_mut().zip(&known) {
            if let Some(known) = known.as_ref().filter(|known| known.stored < self.sessions) {
                self.hold_back(decision, known.stored);
            }
        }
        decisions
    }

    fn lacks_history(&self, evidence: &Evidence) -> bool {
        self.known(evidence).stored < self.sessions
    }

    fn sessions(&self) -> Option<Sessions> {
        Some(Sessions { needed: self.sessions, runs: self.history.runs })
    }
}

impl ProcessSession<'_> {
    fn known(&self, evidence: &Evidence) -> Known {
        let scale = Scale::of(&evidence.base.centres, &evidence.head.centres, evidence.better);
        let find = match scale {
            Scale::Log { .. } => History::in_ratios,
            Scale::Linear { .. } => History::of,
        };
        let past = find(self.history, evidence.case, evidence.metric, evidence.unit);
        let spread = past.and_then(|past| SessionVariance::of(past, scale, self.across_hosts));
        let alone = || past.is_some_and(|past| past.sequences.values().any(|sequence| !sequence.is_empty()));
        let stored =
            spread.map_or_else(|| u32::from(!self.across_hosts && alone()), |spread| spread.sessions);
        Known { scale, stored, spread }
    }

    fn widened(&self, row_test: RowTest, known: &Known, evidence: &Evidence) -> RowTest {
        let enough = known.stored >= self.sessions;
        match (row_test, known.spread) {
            (RowTest::Tested(test), Some(spread)) if enough => {
                let deviation = known.scale.share(spread.excess().sqrt());
                let welch = wider(test.welch, spread.excess(), spread.variance, spread.freedom);
                let sessions = (welch.error > test.welch.error).then_some((deviation, known.stored));
                RowTest::Tested(Test { welch, trimmed: None, sessions, ..test })
            }
            (RowTest::Tested(test), spread) => {
                let assumed = known.scale.of_share(ASSUMED_DEVIATION).powi(2);
                let seen = spread.filter(|spread| spread.excess() > assumed);
                let (variance, freedom) = seen
                    .map_or((assumed, MOST_FREEDOM_OF_OTHERS), |spread| (spread.excess(), spread.freedom));
                let welch = wider(test.welch, variance, variance, freedom);
                RowTest::Tested(Test { welch, trimmed: None, ..test })
            }
            (RowTest::Alone(decision), Some(spread)) if enough => {
                alone(evidence, known, spread).map_or(RowTest::Alone(decision), RowTest::Tested)
            }
            (row_test, _) => row_test,
        }
    }

    /// Nothing is green without a history.
    fn hold_back(&self, decision: &mut RowDecision, stored: u32) {
        let (needed, assumed) = (self.sessions, ASSUMED_DEVIATION);
        if self.across_hosts {
            decision.verdict = Verdict::Inconclusive;
            decision.reason = Some(Reason::TwoHosts { stored, needed });
            decision.next = Some(Advice::SaveRuns { more: needed - stored });
            return;
        }
        if matches!(decision.verdict, Verdict::Regressed | Verdict::Improved) {
            decision.reason = Some(Reason::BeyondSessions { stored, needed, assumed });
            return;
        }
        decision.verdict = Verdict::Inconclusive;
        if !decision.tested {
            // One process a side: its own reason says more.
            return;
        }
        let (low, high) = decision.change.as_ref().map(|change| (change.low, change.high)).unzip();
        decision.reason = Some(Reason::TooFewSessions { stored, needed, assumed, low, high });
        decision.next = Some(Advice::SaveRuns { more: needed - stored });
    }
}

/// Zero and negative values have their own units; only shares may moderate each other. Figures that never varied in their
/// whole history are rounded ones, and show nothing of others.
fn prior<'k>(known: impl Iterator<Item = &'k Known>) -> Prior {
    let shares = known.filter(|known| matches!(known.scale, Scale::Log { .. }));
    let varied = shares.filter_map(|known| known.spread).filter(|spread| spread.variance > 0.0);
    session_variance::prior(&varied.collect::<Vec<_>>())
}

impl Known {
    fn moderate(&mut self, prior: Prior) {
        if let Scale::Log { .. } = self.scale {
            self.spread = self.spread.map(|spread| spread.moderated(prior));
        }
    }
}

/// Welch's difference of two sessions that each add `variance`; it was estimated with `freedom` as part of `estimated`,
/// whose uncertainty it has.
fn wider(welch: Welch, variance: f64, estimated: f64, freedom: f64) -> Welch {
    let (own, estimated) = (welch.error.powi(2), 2.0 * estimated);
    let total = own + 2.0 * variance;
    if total <= 0.0 {
        return welch;
    }
    // Shares, not squares of squares. Without its own error Welch's freedom has no meaning, and no part here.
    let (own, estimated) = (own / total, estimated / total);
    let own = if own > 0.0 { own.powi(2) / welch.freedom } else { 0.0 };
    let freedom = 1.0 / (own + estimated.powi(2) / freedom);
    Welch { error: total.sqrt(), freedom, ..welch }
}

/// A side of one process, where stored sessions show all that makes such a figure differ: those have no more processes
/// than either side. `None` where they do, or where a value has no place on the scale.
fn alone(evidence: &Evidence, known: &Known, spread: SessionVariance) -> Option<Test> {
    let (base, head) = (&evidence.base.centres, &evidence.head.centres);
    let mean = |centres: &[f64]| gbench_stats::mean(&known.scale.turned(centres)?);
    let difference = mean(head)? - mean(base)?;
    let fewest = base.len().min(head.len()) as u32;
    (spread.processes <= fewest && spread.variance > 0.0).then(|| Test {
        trimmed: None,
        welch: Welch { difference, error: (2.0 * spread.variance).sqrt(), freedom: spread.freedom },
        scale: known.scale,
        unresolved: 0.0,
        steps: None,
        limits: known.scale.limits(evidence),
        counts: (base.len() as u32, head.len() as u32),
        // The error is that of sessions, whose differences contain every state.
        varies: true,
        spreads: (None, None),
        sessions: Some((known.scale.share(spread.variance.sqrt()), known.stored)),
    })
}
