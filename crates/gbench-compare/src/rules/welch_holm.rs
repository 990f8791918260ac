//! The rule `process-welch-holm`: Welch's interval over processes, a least effect that matters, Holm over the
//! suite.
//!
//! The process is the unit: each is reduced to its median (or the value that it stated), because the samples within one
//! process share its clock state, memory layout and luck, and treating them as independent calls half of all untouched
//! benchmarks regressed. The logarithms of these medians are compared, turned so that up is worse whatever the metric.
//! With `t` the threshold, the slowdown factor is on this line:
//!
//! ```text
//!            1/(1+t)        1         1+t
//!   improved    |       unchanged      |    regressed        ... if the whole interval lies there,
//! --------------+-----------+----------+-----------------    else inconclusive
//! ```
//!
//! - Each row tests "not beyond the threshold" in both directions at half the row's error rate each, and Holm
//!   (1979) shares `alpha` over all tested rows: the chance of even one false red or green is at most `alpha`.
//! - Regressed and improved rest on the interval at the row's level after Holm: the one that the row shows, so
//!   that interval and verdict cannot disagree. Unchanged rests on the plain `1 - alpha` interval of the row.
//! - Where each side's processes all gave one value of a size or a count, the values are compared as they are. Where they
//!   differ, a program that takes one of two states in each process may explain it, with a chance of at most 4^-n for n
//!   processes a side: that is the row's p-value, and takes part in the correction. The first version of the rule left it
//!   out of it. Whole numbers of things that never vary are counts; the third version of the rule knew
//!   counts by their unit alone. The same value of anything else is a rounded one, and half of its last digit is the error.
//! - Outliers widen Welch's interval until it is useless. From ten processes a side on, up to a tenth of them is left out
//!   at either end (Yuen 1974) where that makes the error smaller by more than three tenths and the difference points the
//!   same way. Unchanged must hold with them as well. The second version of the rule left none out.
//! - Zero and negative values have no logarithm. Their differences are compared instead, in units of the base's
//!   mean; where that is zero, any difference counts, and there is no ratio to show.
//! - An absolute margin of the metric widens both limits where it is more than the threshold.

use gbench_stats::TQuantiles;

use super::row_test::{RowTest, decide_all};
use super::rule::{RowDecision, Rule};
use crate::evidence::samples::Evidence;

#[derive(Clone, Copy, Debug)]
pub struct ProcessWelchHolm {
    /// Error rate of the whole suite, above 0 and below 1.
    pub alpha: f64,
    /// Two processes a side suffice for exact values that differ. Rankings ask for it: they are not a gate.
    pub believes_exact: bool,
}

impl Rule for ProcessWelchHolm {
    fn name(&self) -> &str {
        "process-welch-holm-4"
    }

    fn alpha(&self) -> f64 {
        self.alpha
    }

    fn decide(&self, evidence: &[Evidence]) -> Vec<RowDecision> {
        let mut quantiles = TQuantiles::default();
        let row_tests =
            evidence.iter().map(|evidence| RowTest::of(evidence, self.believes_exact, &mut quantiles));
        let row_tests = row_tests.collect();
        decide_all(row_tests, self.alpha, &mut quantiles)
    }
}
