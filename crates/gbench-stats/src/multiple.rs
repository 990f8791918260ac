//! Many comparisons with one error rate: an upper bound of the chance of any false alarm in the family.

/// The result of Holm's procedure for one hypothesis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HolmStep {
    /// The hypothesis is rejected at a family's error rate if and only if this is at most that rate.
    pub adjusted_p: f64,
    /// The error rate at which this hypothesis was tested: `alpha / (number not yet rejected)`. All hypotheses after the first
    /// that was not rejected have the same level as that one.
    pub level: f64,
}

/// Step-down correction (Holm 1979): `p` in any order, results in the same order. Valid under any dependence.
pub fn holm(p: &[f64], alpha: f64) -> Vec<HolmStep> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut steps = vec![HolmStep { adjusted_p: 1.0, level: alpha }; p.len()];
    let mut adjusted_p = 0.0_f64;
    let mut stopped_at = None;
    for (rank, &index) in order.iter().enumerate() {
        let left = (p.len() - rank) as f64;
        adjusted_p = adjusted_p.max((p[index] * left).min(1.0));
        let level = stopped_at.unwrap_or(alpha / left);
        if stopped_at.is_none() && p[index] > level {
            stopped_at = Some(level);
        }
        steps[index] = HolmStep { adjusted_p, level };
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{close, reference};
    use proptest::prelude::*;

    fn adjusted(p: &[f64]) -> Vec<f64> {
        holm(p, 0.05).iter().map(|step| step.adjusted_p).collect()
    }

    #[test]
    fn adjusted_p_values_and_rejections_agree_with_statsmodels() {
        reference("holm.json", 5, |case| {
            let p: Vec<f64> = case.take("p");
            let steps = holm(&p, case.take("alpha"));
            close(steps.iter().map(|step| step.adjusted_p), case.list("adjusted"), 1e-13);
            let rejected: Vec<bool> = p.iter().zip(&steps).map(|(p, step)| *p <= step.level).collect();
            assert_eq!(rejected, case.take::<Vec<bool>>("rejected"), "{p:?}");
        });
    }

    #[test]
    fn the_level_grows_with_each_rejection_and_then_stays() {
        let levels: Vec<f64> = holm(&[0.001, 0.9, 0.5, 0.002], 0.06).iter().map(|step| step.level).collect();
        assert_eq!(levels, [0.015, 0.03, 0.03, 0.02]);
        assert!(holm(&[], 0.05).is_empty());
    }

    proptest! {
        #[test]
        fn the_correction_keeps_the_order_of_the_values_and_never_helps(
            p in prop::collection::vec(0.0..1.0_f64, 1..30),
        ) {
            let adjusted = adjusted(&p);
            for (a, one) in p.iter().zip(&adjusted) {
                prop_assert!(one >= a && *one <= 1.0);
                prop_assert!(p.iter().zip(&adjusted).all(|(b, other)| a > b || one <= other));
            }
        }

        #[test]
        fn the_order_in_which_hypotheses_are_listed_does_not_matter(
            mut p in prop::collection::vec(0.0..0.1_f64, 1..30),
        ) {
            let there = adjusted(&p);
            p.reverse();
            prop_assert!(adjusted(&p).iter().rev().eq(&there));
        }
    }
}
