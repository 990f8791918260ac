//! Many comparisons, one error rate: the chance of even one false alarm in the family stays below it.

/// The result of Holm's procedure for one hypothesis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HolmStep {
    /// Rejected at a family's error rate exactly if this is at most that rate.
    pub adjusted_p: f64,
    /// The error rate at which this hypothesis was tested: `alpha / (number not yet rejected)`. Those after the
    /// first that stands share the rate at which it stood.
    pub level: f64,
}

/// Step-down correction (Holm 1979): `p` in any order, answers in the same one. Valid under any dependence.
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
    use super::super::figures;
    use super::*;
    use proptest::prelude::*;

    #[derive(serde::Deserialize)]
    struct Case {
        p: Vec<f64>,
        alpha: f64,
        adjusted: Vec<f64>,
        rejected: Vec<bool>,
    }

    #[test]
    fn adjusted_p_values_and_rejections_agree_with_statsmodels() {
        for case in figures::read::<Case>("holm.json") {
            let steps = holm(&case.p, case.alpha);
            assert_eq!(steps.len(), case.p.len());
            for (index, step) in steps.iter().enumerate() {
                figures::close(step.adjusted_p, case.adjusted[index], 1e-13, "adjusted p");
                assert_eq!(case.p[index] <= step.level, case.rejected[index], "{:?} {index}", case.p);
            }
        }
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
            let steps = holm(&p, 0.05);
            for (a, one) in p.iter().zip(&steps) {
                prop_assert!(one.adjusted_p >= *a && one.adjusted_p <= 1.0);
                for (b, other) in p.iter().zip(&steps) {
                    prop_assert!(a > b || one.adjusted_p <= other.adjusted_p);
                }
            }
        }

        #[test]
        fn the_order_in_which_hypotheses_are_listed_does_not_matter(
            p in prop::collection::vec(0.0..0.1_f64, 1..30),
        ) {
            let mut reversed = p.clone();
            reversed.reverse();
            let mut steps = holm(&reversed, 0.05);
            steps.reverse();
            let adjusted = |steps: &[HolmStep]| steps.iter().map(|step| step.adjusted_p).collect::<Vec<_>>();
            prop_assert_eq!(adjusted(&steps), adjusted(&holm(&p, 0.05)));
        }
    }
}
