//! Profiles of a case on both sides, for a reader who asks why. They decide nothing.

use super::kernel_figures::moved_most;
use crate::identity::cases::PairedCase;
use crate::verdict::document::ProfiledCase;
use gbench_model::{CaseId, CaseRecord, KernelProfile, Profile, ProfileOutcome};

/// Kernels of a side that a verdict has, those of most time first; the records have all, with every metric.
const MAX_KERNELS: usize = 20;
/// Figures of a case that a verdict has, those that moved most first.
const MAX_MOVED: usize = 100;

/// The cases with a profile on both sides by the same profiler.
pub(crate) fn of(pairs: &[PairedCase]) -> Vec<ProfiledCase> {
    let both = pairs.iter().filter_map(|pair| Some((pair.id, pair.base?, pair.head?)));
    both.flat_map(|(id, base, head)| {
        base.profiles.iter().filter_map(move |own| Some(side_by_side(id, own, of_same(head, own)?)))
    })
    .collect()
}

fn of_same<'c>(case: &'c CaseRecord, other: &Profile) -> Option<&'c Profile> {
    case.profiles.iter().find(|profile| profile.profiler == other.profiler)
}

fn side_by_side(id: &CaseId, base: &Profile, head: &Profile) -> ProfiledCase {
    let taken = [base, head].iter().all(|profile| profile.outcome == ProfileOutcome::Taken);
    let mut moved = if taken { moved_most(&base.kernels, &head.kernels) } else { Vec::new() };
    moved.truncate(MAX_MOVED);
    ProfiledCase { case: id.clone(), base: shortened(base), head: shortened(head), moved }
}

fn shortened(profile: &Profile) -> Profile {
    let kernels = profile.kernels.iter().take(MAX_KERNELS);
    let kernels = kernels.map(|kernel| KernelProfile { raw_metrics: Default::default(), ..kernel.clone() });
    Profile { kernels: kernels.collect(), ..profile.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gbench_model::{ProfileFigure, Profiler, RawMetric, test_support};

    fn profile(profiler: Profiler, time: f64) -> Profile {
        let raw = RawMetric { value: 1.0, unit: String::new() };
        let kernel = KernelProfile {
            kernel: "k".into(),
            figures: [(ProfileFigure::KernelTime, time)].into(),
            raw_metrics: [("smsp__x".into(), raw)].into(),
        };
        Profile {
            profiler,
            version: None,
            outcome: ProfileOutcome::Taken,
            seconds: Some(1.0),
            reports: Vec::new(),
            kernels: vec![kernel; 30],
        }
    }

    fn profiled(base: Vec<Profile>, head: Vec<Profile>) -> Vec<ProfiledCase> {
        let case = test_support::case(test_support::case_id("s/a"), vec![], vec![]);
        let [base, head] = [base, head].map(|profiles| CaseRecord { profiles, ..case.clone() });
        of(&[PairedCase { id: &case.id, base: Some(&base), head: Some(&head) }])
    }

    #[test]
    fn e4_both_sides_of_one_profiler_stand_beside_each_other_without_their_raw_metrics() {
        let base = vec![profile(Profiler::Nsys, 1.0), profile(Profiler::Ncu, 1.0)];
        let found = profiled(base, vec![profile(Profiler::Ncu, 2.0)]);
        assert_eq!(found.len(), 1, "nsys has the base alone");
        assert_eq!(found[0].base.profiler, Profiler::Ncu);
        assert_eq!(found[0].base.kernels.len(), MAX_KERNELS);
        assert!(found[0].head.kernels.iter().all(|kernel| kernel.raw_metrics.is_empty()));
        assert_eq!((found[0].moved[0].base, found[0].moved[0].head), (Some(1.0), Some(2.0)));
    }

    #[test]
    fn a_profile_that_one_side_lacks_moves_nothing() {
        let outcome = ProfileOutcome::TimedOut { limit: 180.0 };
        let failed = Profile { outcome: outcome.clone(), ..profile(Profiler::Ncu, 2.0) };
        let found = profiled(vec![profile(Profiler::Ncu, 1.0)], vec![failed]);
        assert!(found[0].moved.is_empty());
        assert_eq!(found[0].head.outcome, outcome);
    }
}
