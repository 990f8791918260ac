//! The wait before another attempt.

use std::time::Duration;

use rand::RngExt;

/// The pause doubles with every attempt, up to 64 times the first one, then varies randomly between half and one and a half
/// times that, so that processes that failed together do not retry together.
pub fn pause(first: Duration, attempts: u32) -> Duration {
    (first * (1 << attempts.min(6))).mul_f64(rand::rng().random_range(0.5..1.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_doubles_up_to_a_bound_and_is_never_twice_the_same() {
        let second = Duration::from_secs(1);
        for (attempts, seconds) in [(0, 1.0), (3, 8.0), (6, 64.0), (u32::MAX, 64.0)] {
            let pause = pause(second, attempts).as_secs_f64() / seconds;
            assert!((0.5..=1.5).contains(&pause), "{attempts}: {pause}");
        }
        assert_ne!(pause(second, 0), pause(second, 0));
    }
}
