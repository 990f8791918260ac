//! The twenty workloads: which chain, how long a call of it takes, how often it is measured.

/// A chain and the nanoseconds that one step of it takes, about: they were measured once, and choose the amount of work.
const CHAINS: [(&str, f64); 10] = [
    ("xorshift", 1.9),
    ("congruence", 1.25),
    ("horner", 1.9),
    ("modulo", 4.6),
    ("near", 1.6),
    ("sqrt", 7.9),
    ("rotate", 1.9),
    ("division", 5.4),
    ("far", 3.7),
    ("crc", 2.6),
];
pub const COUNT: usize = 2 * CHAINS.len();
/// Seconds of the shortest and of the longest.
const SHORTEST: f64 = 50e-6;
const LONGEST: f64 = 50e-3;
/// Seconds that a timed interval spans at least, or nearly.
const INTERVAL: f64 = 200e-6;

/// Those that do more work in the slower commit: a short one and a long one, by different chains.
pub const PLANTED: [usize; 2] = [3, 16];
/// In hundredths of the work before.
pub const SLOWER: u64 = 103;

/// The `nth` of all, the shortest first.
#[derive(Clone, Copy, Debug)]
pub struct Workload(pub usize);

impl Workload {
    pub fn all() -> impl Iterator<Item = Self> {
        (0..COUNT).map(Self)
    }

    pub fn kind(self) -> &'static str {
        CHAINS[self.0 % CHAINS.len()].0
    }

    /// Nominal seconds of a call: evenly spread in logarithms.
    pub fn seconds(self) -> f64 {
        SHORTEST * (LONGEST / SHORTEST).powf(self.0 as f64 / (COUNT - 1) as f64)
    }

    /// `sqrt-308us`
    pub fn name(self) -> String {
        format!("{}-{:.0}us", self.kind(), self.seconds() * 1e6)
    }

    /// A whole number of hundreds, so that a hundredth of them is exact.
    pub fn steps(self) -> u64 {
        let (_, nanoseconds) = CHAINS[self.0 % CHAINS.len()];
        (self.seconds() * 1e9 / nanoseconds / 100.0).round() as u64 * 100
    }

    pub fn slower_steps(self) -> u64 {
        self.steps() / 100 * SLOWER
    }

    pub fn is_planted(self) -> bool {
        PLANTED.contains(&self.0)
    }

    /// Calls within one timed interval.
    pub fn batch(self) -> u32 {
        (INTERVAL / self.seconds()).ceil().max(1.0) as u32
    }

    /// Measured and unmeasured intervals of a process: a round over all workloads should take few seconds.
    pub fn iterations(self) -> (u32, u32) {
        match self.seconds() {
            seconds if seconds < 1e-3 => (40, 10),
            seconds if seconds < 20e-3 => (8, 2),
            _ => (4, 1),
        }
    }
}
