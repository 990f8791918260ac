//! Suites of benchmarks as GPUs time them, from a seed.
//!
//! Each benchmark has its own noise, drawn from a profile: autocorrelated core noise, two clock states, slow outliers,
//! a warm-up transient, an effect of each process and of each session; all of a suite share a slow drift and a timer.
//! The figures are calibrated to series measured on real GPUs. Times are in microseconds, effects add up in logarithms.

use rand::RngExt;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;

use super::draw::{heavy, log_uniform, normal};

/// How noisy the benchmarks of a suite are.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    pub name: &'static str,
    /// In words, for the tables.
    pub noise: &'static str,
    variation: Variation,
    /// Chance that a benchmark has two clock states.
    two_clocks: f64,
    /// Instead of all that: noise of processes that is not kind.
    harsh: Option<Harsh>,
    /// Resolution of the timer as a share of each benchmark's time, instead of one that timers of GPUs have.
    coarse: Option<f64>,
}

/// How the processes of one benchmark differ, by the models of `harsh.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harsh {
    Gauss,
    LogNormal,
    /// One process in twenty is slower by 30 % on average.
    Outliers,
    /// Three processes in ten are slower by 4 %.
    Bimodal,
    /// Whatever runs second in a round is slower by 2 %.
    SlowSecondSlot,
}

/// Seconds slot of [`Harsh::SlowSecondSlot`], in logarithms.
const SLOW_SLOT: f64 = 0.02;
/// Noise within a process beside that between processes.
const WITHIN: f64 = 0.3;

impl Profile {
    /// Deviations of 0.2 % to 3 % between processes, in the way that `harsh` says.
    pub const fn harsh(name: &'static str, noise: &'static str, harsh: Harsh) -> Self {
        let variation = Variation::LogUniform { least: 0.002, most: 0.03 };
        Self { name, noise, variation, two_clocks: 0.0, harsh: Some(harsh), coarse: None }
    }

    pub const fn with_tick(self, name: &'static str, coarse: f64) -> Self {
        Self { name, coarse: Some(coarse), ..self }
    }
}

/// Coefficient of variation over the benchmarks of a suite.
#[derive(Clone, Copy, Debug)]
enum Variation {
    LogNormal { median: f64, factor: f64 },
    LogUniform { least: f64, most: f64 },
}

/// A data centre's GPU with locked clocks, or nearly so.
pub const QUIET: Profile = Profile {
    name: "quiet",
    noise: "median CV 0.4 %",
    variation: Variation::LogNormal { median: 0.004, factor: 2.0 },
    two_clocks: 0.05,
    harsh: None,
    coarse: None,
};
pub const TYPICAL: Profile = Profile {
    name: "typical",
    noise: "median CV 0.9 %",
    variation: Variation::LogNormal { median: 0.009, factor: 2.4 },
    two_clocks: 0.15,
    harsh: None,
    coarse: None,
};
/// A workstation at its power limit, or a shared GPU.
pub const NOISY: Profile = Profile {
    name: "noisy",
    noise: "median CV 2.5 %",
    variation: Variation::LogNormal { median: 0.025, factor: 1.8 },
    two_clocks: 0.30,
    harsh: None,
    coarse: None,
};
pub const BRIEF: Profile = Profile {
    name: "brief",
    noise: "CV log-uniform 0.2-5 %",
    variation: Variation::LogUniform { least: 0.002, most: 0.05 },
    two_clocks: 0.20,
    harsh: None,
    coarse: None,
};

/// Resolutions that timers of GPUs have, in microseconds.
const TICKS: [f64; 3] = [0.032, 0.5, 1.024];
/// A timed interval spans at least this many ticks where launches are batched.
const BATCH_TICKS: f64 = 1000.0;
/// Deviation of a process's share of fast clock, in logits.
const CLOCK_SHARE_SPREAD: f64 = 0.8;
/// Share of iterations in which two processes in lock-step do not see the same clock.
const PRIVATE_CLOCK: f64 = 0.05;
/// Minutes over which the drift forgets.
const DRIFT_MINUTES: f64 = 5.0;

pub struct Suite {
    pub benchmarks: Vec<Benchmark>,
    /// Resolution of the timer in microseconds.
    tick: f64,
    drift_deviation: f64,
    /// What the second process of a round meets beside the drift, in logarithms.
    pub second_slot: f64,
    /// Slowing down, in logarithms an hour.
    ramp: f64,
}

/// The true properties of one benchmark. Deviations and gaps are in logarithms.
pub struct Benchmark {
    microseconds: f64,
    core: f64,
    autocorrelation: f64,
    outlier_chance: f64,
    outlier_size: f64,
    clock_gap: f64,
    clock_share: f64,
    clock_renewal: f64,
    process_deviation: f64,
    process_jump: f64,
    session_deviation: f64,
    warmup_size: f64,
    warmup_iterations: f64,
    drift_response: f64,
    harsh: Option<Harsh>,
    coarse: Option<f64>,
}

/// Chance of a process to lie a jump off the others.
const JUMP_CHANCE: f64 = 0.02;

/// Iterations of one process: the first ones are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iterations {
    pub dropped: usize,
    pub kept: usize,
}

impl Iterations {
    pub fn all(self) -> usize {
        self.dropped + self.kept
    }
}

/// What one process meets.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    pub iterations: Iterations,
    /// Common drift at its time.
    pub drift: f64,
    /// True change and effect of the session.
    pub shift: f64,
    /// Launches are batched until the timer resolves them.
    pub batched: bool,
}

impl Suite {
    pub fn draw(profile: &Profile, count: usize, random: &mut Pcg64) -> Self {
        let mut suite = Self {
            tick: TICKS[random.random_range(0..TICKS.len())],
            drift_deviation: random.random_range(0.0005..0.004),
            second_slot: 0.0,
            ramp: random.random_range(-0.003..0.01),
            benchmarks: (0..count).map(|_| Benchmark::draw(profile, random)).collect(),
        };
        if let Some(harsh) = profile.harsh {
            (suite.drift_deviation, suite.ramp) = (0.0, 0.0);
            suite.second_slot = if harsh == Harsh::SlowSecondSlot { SLOW_SLOT } else { 0.0 };
        }
        suite
    }

    /// The common drift at ascending `minutes`: a process that forgets within minutes, and a ramp.
    pub fn drift(&self, minutes: &[f64], random: &mut Pcg64) -> Vec<f64> {
        let (mut level, mut before) = (normal(random), minutes.first().copied().unwrap_or(0.0));
        let mut at = |now: f64| {
            let kept = (-(now - before) / DRIFT_MINUTES).exp();
            if now > before {
                level = kept * level + (1.0 - kept * kept).sqrt() * normal(random);
            }
            before = now;
            self.drift_deviation * level + self.ramp * now / 60.0
        };
        minutes.iter().map(|now| at(*now)).collect()
    }

    /// Samples of one process of `benchmark`.
    pub fn process(&self, benchmark: &Benchmark, process: &Process, random: &mut Pcg64) -> Vec<f64> {
        let mut core = Core::new(benchmark, random);
        let mut clock = Clock::new(benchmark, random);
        let level =
            benchmark.process_effect(random) + benchmark.drift_response * process.drift + process.shift;
        let Iterations { dropped, kept } = process.iterations;
        let timer = self.timer(benchmark, process.batched);
        let mut samples = Vec::with_capacity(kept);
        for iteration in 0..dropped + kept {
            let noise = benchmark.core * core.next(random) + clock.next(random);
            if iteration >= dropped {
                let ln = level + noise + benchmark.warmup(iteration) + benchmark.outlier(random);
                samples.push(timer.read(ln));
            }
        }
        samples
    }

    /// Samples of a base and a head that take turns within each iteration: they share clock, drift and half of the
    /// core noise; what belongs to a process stays its own.
    pub fn lock_step(
        &self,
        benchmark: &Benchmark,
        base: &Process,
        head: &Process,
        random: &mut Pcg64,
    ) -> [Vec<f64>; 2] {
        let Iterations { dropped, kept } = base.iterations;
        let share = 0.5_f64.sqrt() * benchmark.core;
        let mut cores = [(); 3].map(|()| Core::new(benchmark, random));
        let mut clock = Clock::new(benchmark, random);
        let levels = [base, head].map(|process| {
            benchmark.process_effect(random) + benchmark.drift_response * process.drift + process.shift
        });
        let timer = self.timer(benchmark, base.batched);
        let mut samples = [(); 2].map(|()| Vec::with_capacity(kept));
        for iteration in 0..dropped + kept {
            let [common, own @ ..] = cores.each_mut().map(|core| share * core.next(random));
            let common = common + clock.next(random);
            if iteration < dropped {
                continue;
            }
            let common = common + benchmark.warmup(iteration);
            for side in 0..2 {
                let mut ln = levels[side] + common + own[side] + benchmark.outlier(random);
                if random.random::<f64>() < PRIVATE_CLOCK {
                    ln += benchmark.clock_gap * (random.random::<f64>() - 0.5);
                }
                samples[side].push(timer.read(ln));
            }
        }
        samples
    }

    fn timer(&self, benchmark: &Benchmark, batched: bool) -> Timer {
        if let Some(share) = benchmark.coarse {
            let resolution = share * benchmark.microseconds;
            return Timer { microseconds: benchmark.microseconds, resolution };
        }
        let launches = match batched {
            true => (BATCH_TICKS * self.tick / benchmark.microseconds).ceil().max(1.0),
            false => 1.0,
        };
        Timer { microseconds: benchmark.microseconds, resolution: self.tick / launches }
    }
}

impl Benchmark {
    fn draw(profile: &Profile, random: &mut Pcg64) -> Self {
        let variation = match profile.variation {
            Variation::LogNormal { median, factor } => {
                (median * factor.powf(normal(random))).clamp(5e-4, 0.12)
            }
            Variation::LogUniform { least, most } => log_uniform(random, least, most),
        };
        let outlier_chance = log_uniform(random, 0.005, 0.06);
        if let Some(harsh) = profile.harsh {
            return Self::harsh(harsh, variation, profile.coarse, random);
        }
        let two_clocks = random.random::<f64>() < profile.two_clocks;
        let starts_slow = random.random::<f64>() < 0.6;
        Self {
            // From the shortest launch worth timing to the longest that a suite repeats.
            microseconds: log_uniform(random, 10.0, 20_000.0),
            core: 0.7 * variation,
            autocorrelation: random.random_range(0.0..0.8),
            outlier_chance,
            outlier_size: 0.6 * variation / (2.0 * outlier_chance).sqrt(),
            clock_gap: if two_clocks { random.random_range(1.0..2.5) * variation } else { 0.0 },
            clock_share: random.random_range(0.1..0.9),
            clock_renewal: 1.0 / log_uniform(random, 8.0, 300.0),
            process_deviation: variation * random.random_range(0.1..0.5) + 3e-4,
            process_jump: 0.005 + 1.5 * variation,
            session_deviation: 0.003 + 0.7 * variation,
            warmup_size: normal(random).abs() * if starts_slow { 0.04 } else { -0.04 },
            warmup_iterations: random.random_range(1.0..8.0),
            drift_response: random.random_range(0.3..1.5),
            harsh: None,
            coarse: profile.coarse,
        }
    }

    fn harsh(harsh: Harsh, deviation: f64, coarse: Option<f64>, random: &mut Pcg64) -> Self {
        Self {
            microseconds: log_uniform(random, 10.0, 20_000.0),
            core: WITHIN * deviation,
            autocorrelation: 0.0,
            outlier_chance: 0.0,
            outlier_size: 0.0,
            clock_gap: 0.0,
            clock_share: 0.5,
            clock_renewal: 0.0,
            process_deviation: deviation,
            process_jump: 0.0,
            session_deviation: deviation,
            warmup_size: 0.0,
            warmup_iterations: 1.0,
            drift_response: 1.0,
            harsh: Some(harsh),
            coarse,
        }
    }

    /// What another session adds to all its processes: heavy-tailed.
    pub fn session_effect(&self, random: &mut Pcg64) -> f64 {
        self.session_deviation * heavy(random)
    }

    fn process_effect(&self, random: &mut Pcg64) -> f64 {
        let deviation = self.process_deviation;
        match self.harsh {
            Some(Harsh::Gauss) => return deviation * normal(random),
            Some(Harsh::LogNormal) => return deviation * normal(random).exp_m1(),
            Some(Harsh::Outliers) => {
                let size: f64 = Exp1.sample(random);
                let outlier = if random.random::<f64>() < 0.05 { 0.3 * size } else { 0.0 };
                return 0.5 * deviation * normal(random) + outlier;
            }
            Some(Harsh::Bimodal) => {
                let slow = if random.random::<f64>() < 0.3 { 0.04 } else { 0.0 };
                return 0.3 * deviation * normal(random) + slow;
            }
            Some(Harsh::SlowSecondSlot) => return 0.5 * deviation * normal(random),
            None => {}
        }
        process_effect(self.process_deviation, self.process_jump, random)
    }

    fn warmup(&self, iteration: usize) -> f64 {
        self.warmup_size * (-(iteration as f64) / self.warmup_iterations).exp()
    }

    fn outlier(&self, random: &mut Pcg64) -> f64 {
        if random.random::<f64>() >= self.outlier_chance {
            return 0.0;
        }
        let size: f64 = Exp1.sample(random);
        size * self.outlier_size
    }
}

/// What a fresh process adds to all its samples: heavy-tailed, and once in a while a jump.
pub fn process_effect(deviation: f64, jump: f64, random: &mut Pcg64) -> f64 {
    let usual = deviation * heavy(random);
    match random.random::<f64>() {
        chance if chance < JUMP_CHANCE / 2.0 => usual + jump,
        chance if chance < JUMP_CHANCE => usual - jump,
        _ => usual,
    }
}

/// First-order autoregressive noise of deviation 1, stationary from its start.
struct Core {
    kept: f64,
    fresh: f64,
    value: f64,
}

impl Core {
    fn new(benchmark: &Benchmark, random: &mut Pcg64) -> Self {
        let kept = benchmark.autocorrelation;
        Self { kept, fresh: (1.0 - kept * kept).sqrt(), value: normal(random) }
    }

    fn next(&mut self, random: &mut Pcg64) -> f64 {
        let now = self.value;
        self.value = self.kept * now + self.fresh * normal(random);
        now
    }
}

/// Two clock states; at each renewal the state is drawn anew.
struct Clock {
    gap: f64,
    share: f64,
    renewal: f64,
    slow: bool,
}

impl Clock {
    fn new(benchmark: &Benchmark, random: &mut Pcg64) -> Self {
        let share = benchmark.clock_share;
        let logit = (share / (1.0 - share)).ln() + CLOCK_SHARE_SPREAD * normal(random);
        let share = 1.0 / (1.0 + (-logit).exp());
        let slow = random.random::<f64>() < share;
        Self { gap: benchmark.clock_gap, share, renewal: benchmark.clock_renewal, slow }
    }

    fn next(&mut self, random: &mut Pcg64) -> f64 {
        if self.gap == 0.0 {
            return 0.0;
        }
        let now = self.slow;
        if random.random::<f64>() < self.renewal {
            self.slow = random.random::<f64>() < self.share;
        }
        if now { self.gap } else { 0.0 }
    }
}

struct Timer {
    microseconds: f64,
    resolution: f64,
}

impl Timer {
    /// What the timer shows of a launch that takes `exp(ln)` times its true time: at least one tick.
    fn read(&self, ln: f64) -> f64 {
        (ln.exp() * self.microseconds / self.resolution).round().max(1.0) * self.resolution
    }
}
