//! Reference figures to compare with, and simulated series.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::seq_e::{SequentialLimits, Series, Version};

/// A case of `fixtures/statistics`: the input, and the results of NumPy, SciPy or another library.
pub(crate) struct Reference(BTreeMap<String, Value>);

/// Checks each of the `count` cases of a file. Fails if `check` leaves a field unread.
pub(crate) fn reference(file: &str, count: usize, mut check: impl FnMut(&mut Reference)) {
    let path = format!("{}/../../fixtures/statistics/{file}", env!("CARGO_MANIFEST_DIR"));
    let mut figures: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let cases = if figures.is_array() { figures } else { figures["cases"].take() };
    let cases: Vec<BTreeMap<String, Value>> = serde_json::from_value(cases).unwrap();
    assert_eq!(cases.len(), count, "{file}");
    for (at, mut case) in cases.into_iter().map(Reference).enumerate() {
        println!("{file}, case {at}");
        check(&mut case);
        assert!(case.0.is_empty(), "{file}: nothing is held to {:?}", case.0);
    }
}

impl Reference {
    pub(crate) fn take<T: DeserializeOwned>(&mut self, field: &str) -> T {
        serde_json::from_value(self.0.remove(field).unwrap()).unwrap()
    }

    pub(crate) fn list(&mut self, field: &str) -> Vec<f64> {
        self.take(field)
    }
}

/// Fails unless each of ours is within `tolerance` of theirs, relative to it.
#[track_caller]
pub(crate) fn close(
    ours: impl IntoIterator<Item = f64>,
    theirs: impl IntoIterator<Item = f64>,
    tolerance: f64,
) {
    let (ours, theirs) = (Vec::from_iter(ours), Vec::from_iter(theirs));
    let is_near = |(ours, theirs): (&f64, &f64)| (ours - theirs).abs() <= tolerance * theirs.abs();
    let are_near = ours.len() == theirs.len() && ours.iter().zip(&theirs).all(is_near);
    assert!(are_near, "{ours:?} is not {theirs:?}");
}

pub(crate) const LIMITS: SequentialLimits = SequentialLimits {
    version: Version::Three,
    alpha: 0.01,
    alpha_improved: 0.05,
    screen_rounds: 3,
    most_rounds: 40,
    beside: 0,
};

pub(crate) fn row(differences: &[f64]) -> Series<'_> {
    Series::new(differences, 0.02, 0.0025)
}

/// Numbers between -0.5 and 0.5.
pub(crate) fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut random = Pcg64::seed_from_u64(seed);
    move || random.random::<f64>() - 0.5
}

/// Approximately normal: twelve uniform numbers.
pub(crate) fn normal(seed: u64) -> impl FnMut() -> f64 {
    let mut random = Pcg64::seed_from_u64(seed);
    move || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

/// Runs about `usual`, with noise and level as logarithms.
pub(crate) fn series(
    seed: u64,
    runs: usize,
    (usual, noise): (f64, f64),
    level: impl Fn(usize) -> f64,
) -> Vec<f64> {
    let mut random = Pcg64::seed_from_u64(seed);
    let noise = Normal::new(0.0, noise).unwrap();
    (0..runs).map(|at| usual * (level(at) + noise.sample(&mut random)).exp()).collect()
}
