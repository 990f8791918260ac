//! The user's decisions about a comparison, as opposed to what the numbers say.

use std::collections::BTreeMap;

use gbench_model::{
    CaseRecord, Comparison, Fault, Metric, MetricDeclaration, NoReference, Origin, Result, RunId, RunRecord,
    SequentialRuleName, Strictness, convert,
};

use crate::evidence::samples::RowLimits;

/// One side: a record and how the user named it.
#[derive(Clone, Debug)]
pub struct SideInput<'a> {
    pub record: &'a RunRecord,
    /// `main`, `a.json`, `this run`.
    pub name: String,
}

/// How the same comparison is had again.
#[derive(Clone, Debug, PartialEq)]
pub enum Reproduce {
    /// The records of a comparison in rounds are judged again.
    Replay(RunId),
    /// Two records are compared again, by this command; empty where none gives the same.
    Command(String),
}

impl Default for Reproduce {
    fn default() -> Self {
        Self::Command(String::new())
    }
}

/// How to judge, and what the verdicts mean for the exit code.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Chance of any false red or green in the whole suite, above 0 and below 1.
    pub alpha: f64,
    /// Any inconclusive row makes the exit code 3.
    pub inconclusive_fails: bool,
    /// Missing, failed or invalid rows make the exit code 4.
    pub failed_fails: bool,
    /// Cases that are broken on both sides make the exit code 4.
    pub broken_fails: bool,
    /// A row that is probably worse, or whose change is impossible, makes the exit code 3, and so does that no time was
    /// decided.
    pub doubt_fails: bool,
    /// Stored sessions that a comparison of different runs needs before a row may be green; 0: judged by processes
    /// alone, as within one session.
    pub sessions: u32,
    /// From the command line: it overrides every declared threshold.
    pub threshold: Option<f64>,
    /// Strictness by field; fields that are not named keep that of `model::MATCH_FIELDS`, and all others are
    /// annotated. `tools` speaks for every `tools.nvcc` that is not named itself.
    pub match_key: BTreeMap<String, Strictness>,
    pub reproduce: Reproduce,
    /// The missing reference, where a commit was compared with itself.
    pub no_reference: Option<NoReference>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            alpha: 0.05,
            inconclusive_fails: false,
            failed_fails: true,
            broken_fails: false,
            doubt_fails: true,
            sessions: 4,
            threshold: None,
            match_key: BTreeMap::new(),
            reproduce: Reproduce::default(),
            no_reference: None,
        }
    }
}

/// Where neither command line, declaration nor configuration gives a usable threshold.
const DEFAULT_THRESHOLD: f64 = 0.05;

/// Where nothing else is said: certified unchanged within this, and the share of it that a red must exceed.
const DEFAULT_TARGET: f64 = 0.02;
const MIN_EFFECT_SHARE: f64 = 0.125;

impl Policy {
    /// The policy under which a comparison in rounds was begun.
    pub fn of(comparison: &Comparison) -> Self {
        let policy = comparison.policy.clone();
        Self {
            alpha: comparison.rule.alpha,
            inconclusive_fails: policy.inconclusive_fails,
            failed_fails: policy.failed_fails,
            broken_fails: policy.broken_fails,
            doubt_fails: comparison.rule.name != SequentialRuleName::SeqE,
            sessions: Policy::default().sessions,
            threshold: policy.threshold,
            match_key: policy.match_key,
            reproduce: Reproduce::Replay(comparison.id.clone()),
            no_reference: comparison.no_reference,
        }
    }

    /// The limits of a row for a rule over rounds. A threshold that was set is also the target; the default one is not,
    /// because rounds see finer.
    pub fn limits_for(
        &self,
        case: &CaseRecord,
        metric: &Metric,
        declared: Option<&MetricDeclaration>,
    ) -> RowLimits {
        let declared = declared.cloned().unwrap_or_default();
        let configured = |name: &str| {
            let shown = case.config.get(name).filter(|shown| shown.origin != Origin::Default)?;
            shown.value.as_f64()
        };
        let first =
            |values: &[Option<f64>]| values.iter().flatten().copied().find(|value| is_threshold(*value));
        let margin = declared.margin.as_ref();
        let margin = margin.and_then(|margin| convert(margin.value, &margin.unit, &metric.unit));
        let (target, min_effect) = if declared.absolute == Some(true) {
            (0.0, 0.0)
        } else {
            let target = first(&[
                self.threshold,
                declared.target,
                declared.threshold,
                configured("target"),
                configured("threshold"),
            ])
            .unwrap_or(DEFAULT_TARGET);
            let min_effect = first(&[declared.min_effect, configured("min_effect")]);
            (target, min_effect.unwrap_or(target * MIN_EFFECT_SHARE).min(target))
        };
        RowLimits {
            target,
            min_effect,
            margin: margin.filter(|margin| is_threshold(*margin)),
            absolute: declared.absolute == Some(true),
            usual_slowdown: false,
        }
    }

    /// Refuses an error rate or a threshold that no comparison can follow.
    pub fn check(&self) -> Result<()> {
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            let what = format!("the error rate is {}, not between 0 and 1", self.alpha);
            return Err(Fault::at("gate.alpha", what, "set `alpha` to a small share such as 0.05"));
        }
        match self.threshold {
            Some(threshold) if !is_threshold(threshold) => Err(Fault::at_flag(
                "--threshold",
                format!("{threshold} is not a relative change"),
                "give a number from 0 up, such as 0.05 for 5 %",
            )),
            _ => Ok(()),
        }
    }

    /// The least relative change that matters: command line, else the declaration of the metric, else the
    /// case's own `threshold` setting.
    pub fn threshold_for(&self, case: &CaseRecord, declared: Option<&MetricDeclaration>) -> f64 {
        let configured = case.config.get("threshold").and_then(|shown| shown.value.as_f64());
        let declared = declared.and_then(|declared| declared.threshold);
        let candidates = [self.threshold, declared, configured];
        candidates.into_iter().flatten().find(|value| is_threshold(*value)).unwrap_or(DEFAULT_THRESHOLD)
    }
}

/// True if the record has a threshold that cannot be followed, as a hand-edited one may.
pub(crate) fn has_bad_threshold(case: &CaseRecord) -> bool {
    let configured = case.config.get("threshold").map(|shown| shown.value.as_f64());
    let declared = case.declared.values().filter_map(|declared| declared.threshold.map(Some));
    configured.into_iter().chain(declared).any(|value| !value.is_some_and(is_threshold))
}

fn is_threshold(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}
