//! Waiting for what a test needs, however slow the machine is.

use std::fmt::Debug;
use std::time::{Duration, Instant};

/// Only what hangs takes longer.
const PATIENCE: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(5);

/// Looks again and again until it finds. Panics with what the last look has missed.
#[track_caller]
pub fn wait_for<T, E: Debug>(mut look: impl FnMut() -> Result<T, E>) -> T {
    let begun = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(missing) => assert!(begun.elapsed() < PATIENCE, "waited in vain: {missing:?}"),
        }
        std::thread::sleep(PAUSE);
    }
}

/// Waits until something is so; `what` names it.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    wait_for(|| if is_so() { Ok(()) } else { Err(what) });
}
