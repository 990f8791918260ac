use super::*;
use crate::test_support;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Noise of 1.5 % about the level from the closure, in logarithms.
fn series(seed: u64, runs: usize, level: impl Fn(usize) -> f64) -> Vec<f64> {
    test_support::series(seed, runs, (7.0, 0.015), level)
}

fn step(seed: u64, runs: usize, at: usize, size: f64) -> Vec<f64> {
    series(seed, runs, |run| if run < at { 0.0 } else { size })
}

fn found(values: &[f64]) -> Vec<ChangePoint> {
    change_points(values, LEVEL).unwrap()
}

#[test]
fn a_step_is_found_where_it_is_and_as_large_as_it_is() {
    for size in [0.05_f64, 0.2, -0.1] {
        let points = found(&step(1, 120, 70, size.ln_1p()));
        let [point] = points.as_slice() else { panic!("{size}: {points:?}") };
        assert!(point.at.abs_diff(70) <= 2 && point.within.contains(&70), "{point:?}");
        assert!(point.low <= size && size <= point.high && point.high - point.low < 0.03, "{point:?}");
        assert!(point.p <= LEVEL, "{point:?}");
    }
}

#[test]
fn a_clear_step_is_found_in_a_short_history() {
    for runs in [24, 30, 40] {
        let points = found(&step(11, runs, runs / 2, 0.15));
        assert!(points.len() == 1 && points[0].at.abs_diff(runs / 2) <= 1, "{runs}: {points:?}");
    }
}

#[test]
fn series_without_a_change_have_none() {
    for (runs, seeds, most) in [(24, 200, 0), (30, 200, 0), (40, 200, 0), (120, 300, 3)] {
        let has_points = |seed: &u64| !found(&series(*seed, runs, |_| 0.0)).is_empty();
        let with_points = (1000..1000 + seeds).filter(has_points).count();
        assert!(with_points <= most, "{with_points} of {seeds} with {runs} runs");
    }
}

#[test]
fn in_fewer_runs_than_are_searched_no_step_is_found() {
    for runs in 2 * LEAST_RUNS..LEAST_SEARCHED {
        for place in LEAST_RUNS..=runs - LEAST_RUNS {
            assert_eq!(found(&step(12, runs, place, 3.0)), [], "{place} of {runs}");
        }
    }
}

#[test]
fn several_steps_are_told_in_their_order() {
    let levels = [0.0, 0.1, 0.04, 0.3];
    let points = found(&series(2, 200, |at| levels[at / 50]));
    let places: Vec<usize> = points.iter().map(|point| point.at).collect();
    assert_eq!(places.len(), 3, "{places:?}");
    assert!(places.iter().zip([50, 100, 150]).all(|(at, place)| at.abs_diff(place) <= 2), "{places:?}");
}

#[test]
fn spikes_are_never_a_lasting_shift() {
    let mut random = Pcg64::seed_from_u64(3);
    let mut values = series(3, 200, |_| 0.0);
    for _ in 0..20 {
        values[random.random_range(0..200)] *= 1.5;
    }
    // Four in a row are fewer than the majority of nine.
    values[120..124].iter_mut().for_each(|value| *value *= 2.0);
    assert_eq!(found(&values), []);
}

#[test]
fn the_last_runs_are_a_level_once_they_are_enough() {
    assert_eq!([6, 10].map(|last| found(&step(4, 100 + last, 100, 0.3)).len()), [0, 1]);
}

#[test]
fn counts_that_never_vary_have_their_step_too() {
    let values: Vec<f64> = (0..60).map(|at| if at < 40 { 1e9 } else { 1.01e9 }).collect();
    let points = found(&values);
    assert_eq!(points.len(), 1, "{points:?}");
    assert_eq!((points[0].at, points[0].within.clone()), (40, 40..=40));
    assert!((points[0].size - 0.01).abs() < 1e-9);
}

#[test]
fn nothing_is_said_of_few_runs_and_none_of_what_has_no_logarithm() {
    for values in [&[][..], &[1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0], &[3.0; 50]] {
        assert_eq!(found(values), []);
    }
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(change_points(&[1.0, bad], LEVEL), None);
    }
}

#[test]
fn a_point_persists_as_runs_are_added() {
    let values = step(5, 140, 70, 0.06);
    let revision = revise(&found(&values[..90]), &found(&values));
    assert_eq!(revision, ChangeRevision { persisting: vec![(0, 0)], ..ChangeRevision::default() });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_unit_of_the_values_does_not_matter(
        seed in 0..1000_u64, place in 20..100_usize, size in 0.05..0.5_f64,
    ) {
        let values = step(seed, 120, place, size);
        let points = found(&values);
        // A power of two scales without rounding; the logarithms still round.
        let scaled = found(&values.iter().map(|value| value * 1024.0).collect::<Vec<_>>());
        prop_assert_eq!(points.len(), scaled.len());
        for (one, other) in points.iter().zip(&scaled) {
            prop_assert_eq!(one.at, other.at);
            prop_assert!((one.size - other.size).abs() < 1e-9);
        }
    }

    #[test]
    fn any_positive_values_have_points_inside_them(values in prop::collection::vec(1e-3..1e3_f64, 0..80)) {
        for point in found(&values) {
            prop_assert!(point.within.contains(&point.at));
            prop_assert!(*point.within.start() >= LEAST_RUNS && *point.within.end() <= values.len() - LEAST_RUNS);
            prop_assert!(point.low <= point.size && point.size <= point.high);
            prop_assert!(point.p <= LEVEL);
        }
    }
}

#[test]
fn two_steps_ten_runs_apart_are_mostly_two_points() {
    let found_both = |gap: usize| {
        let both = |seed: &u64| {
            let level = |run| 0.2 * f64::from(u8::from(run >= 60) + u8::from(run >= 60 + gap));
            let points = found(&series(*seed, 120, level));
            let places: Vec<usize> = points.iter().map(|point| point.at).collect();
            places.len() == 2 && places[0].abs_diff(60) <= 2 && places[1].abs_diff(60 + gap) <= 2
        };
        (100..150).filter(both).count()
    };
    let found = [6, 10, 14].map(found_both);
    println!("six, ten, fourteen runs apart: {found:?} of 50");
    assert!(found[1] >= 30 && found[2] >= 40, "{found:?}");
}

#[test]
fn a_point_is_told_once_several_looks_have_seen_it() {
    for (size, looks) in [(0.06, LOOKS), (0.3, LOOKS_OF_WIDE)] {
        let values = step(4, 130, 100, size);
        let search =
            |runs: usize| Search::new(&logarithms(&values[..runs]).unwrap(), LEVEL).significant().points();
        let seen: Vec<usize> = (101..=130).map(|runs| search(runs).len()).collect();
        let told: Vec<usize> = (101..=130).map(|runs| found(&values[..runs]).len()).collect();
        let first = |looks: &[usize]| looks.iter().position(|points| *points == 1).unwrap();
        assert_eq!(first(&told), first(&seen) + looks - 1, "{size}: {seen:?} {told:?}");
    }
}
