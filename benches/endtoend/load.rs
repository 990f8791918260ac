//! A thread that keeps one core busy, coming and going. It is pinned nowhere: the scheduler moves it about as any other
//! work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Seconds of a period of work, and of one of rest.
const PERIOD: std::ops::Range<f64> = 0.5..4.0;
/// How soon it notices that it is no longer wanted.
const TICK: Duration = Duration::from_millis(20);

pub struct Load {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Duration>,
}

impl Load {
    /// The seed fixes all periods.
    pub fn start(seed: u64) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        Self { over, thread: std::thread::spawn(move || come_and_go(seed, &seen)) }
    }

    /// How long it was busy.
    pub fn stop(self) -> Duration {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().expect("it only counts")
    }
}

fn come_and_go(seed: u64, over: &AtomicBool) -> Duration {
    let mut draw = Pcg64::seed_from_u64(seed);
    let mut busy = Duration::ZERO;
    let mut works: bool = draw.random();
    while !over.load(Ordering::Relaxed) {
        let begin = Instant::now();
        let period = Duration::from_secs_f64(draw.random_range(PERIOD));
        while begin.elapsed() < period && !over.load(Ordering::Relaxed) {
            if works { spin() } else { std::thread::sleep(TICK) }
        }
        if works {
            busy += begin.elapsed();
        }
        works = !works;
    }
    busy
}

/// A tick's worth of multiplications.
fn spin() {
    let begin = Instant::now();
    let mut value = 1u64;
    while begin.elapsed() < TICK {
        for _ in 0..10_000 {
            value = std::hint::black_box(value.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1));
        }
    }
}
