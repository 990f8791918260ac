//! Where the numbers come from: streams by seed, and the distributions that several files draw from.

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal, StudentT};
use rand_pcg::Pcg64;

/// Independent streams of numbers by name and index, whatever thread asks for them.
#[derive(Clone, Copy, Debug)]
pub struct Seed(pub u64);

impl Seed {
    pub fn named(self, name: &str) -> Self {
        name.bytes().fold(self, |seed, byte| seed.at(u64::from(byte)))
    }

    /// Steele et al. 2014, "SplitMix": every bit of both inputs reaches every bit of the result.
    pub fn at(self, index: u64) -> Self {
        let mut z = self.0.rotate_left(23) ^ index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self(z ^ (z >> 31))
    }

    pub fn random(self) -> Pcg64 {
        Pcg64::seed_from_u64(self.0)
    }
}

pub fn normal(random: &mut Pcg64) -> f64 {
    StandardNormal.sample(random)
}

/// Student's t with 4 degrees of freedom, of deviation 1.
pub fn heavy(random: &mut Pcg64) -> f64 {
    let student = StudentT::new(4.0).expect("4 degrees of freedom are positive");
    student.sample(random) / 2.0_f64.sqrt()
}

pub fn log_uniform(random: &mut Pcg64, least: f64, most: f64) -> f64 {
    random.random_range(least.ln()..most.ln()).exp()
}
