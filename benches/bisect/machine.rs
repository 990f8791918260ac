//! A made-up machine: what one process of a commit measures.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// What is wrong with a machine and a range.
#[derive(Clone, Copy)]
pub struct Setting {
    pub name: &'static str,
    /// The planted change, as a share; 0: nothing changes.
    pub step: f64,
    /// Standard deviation of a process, as a share.
    pub noise: f64,
    /// Standard deviation of one step of a random walk that goes on with every process, as a share.
    pub drift: f64,
    /// Share of processes that are slower by 3 to 20 %.
    pub outliers: f64,
    /// Share of commits that do not build.
    pub broken: f64,
    /// Seconds of a build, where a process is one.
    pub build: f64,
}

pub const USUAL: Setting =
    Setting { name: "3 %", step: 0.03, noise: 0.01, drift: 0.0, outliers: 0.0, broken: 0.0, build: 5.0 };

/// One range on one machine, drawn from a seed.
pub struct Machine {
    setting: Setting,
    random: Pcg64,
    /// First commit with the change; of 1 to the last candidate.
    pub planted: usize,
    /// By commit.
    pub broken: Vec<bool>,
    wandered: f64,
    pub processes: u32,
}

impl Machine {
    pub fn new(setting: Setting, candidates: usize, seed: u64) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let planted = random.random_range(1..=candidates);
        let is_broken = |commit: usize, random: &mut Pcg64| {
            commit > 0 && commit < candidates && random.random::<f64>() < setting.broken
        };
        let broken = (0..=candidates).map(|commit| is_broken(commit, &mut random)).collect();
        Self { setting, random, planted, broken, wandered: 0.0, processes: 0 }
    }

    /// The logarithm of what a fresh process measures.
    pub fn measure(&mut self, commit: usize) -> f64 {
        self.processes += 1;
        self.wandered += self.setting.drift * self.normal();
        let mut value = self.wandered + self.setting.noise * self.normal();
        if commit >= self.planted {
            value += self.setting.step.ln_1p();
        }
        if self.random.random::<f64>() < self.setting.outliers {
            value += self.random.random_range(0.03..0.2_f64).ln_1p();
        }
        value
    }

    /// Box and Muller's method.
    fn normal(&mut self) -> f64 {
        let (radius, angle): (f64, f64) = (1.0 - self.random.random::<f64>(), self.random.random());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}
