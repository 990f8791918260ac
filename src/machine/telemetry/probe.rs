//! Asks a source that may hang for ever, and does not hang with it.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// A source in a thread of its own. While one question is open no other is asked: a late answer is thrown away, and the
/// source is asked again after it.
pub(super) struct PatientProbe<T> {
    ask: Sender<()>,
    told: Receiver<T>,
    is_open: bool,
}

impl<T: Send + 'static> PatientProbe<T> {
    /// `make` opens the source in its thread. Waits for the first answer at most `patience`; `None`: it did not come.
    pub fn start<F>(make: impl FnOnce() -> F + Send + 'static, patience: Duration) -> Option<(Self, T)>
    where
        F: FnMut() -> T,
    {
        let (ask, asked) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            let mut source = make();
            // The first question is implied.
            while tell.send(source()).is_ok() && asked.recv().is_ok() {}
        });
        let first = told.recv_timeout(patience).ok()?;
        Some((Self { ask, told, is_open: false }, first))
    }

    /// `None`: no answer within `patience`.
    pub fn ask(&mut self, patience: Duration) -> Option<T> {
        if self.is_open {
            match self.told.recv_timeout(patience) {
                // Too late to be of this moment.
                Ok(_) => self.is_open = false,
                Err(_) => return None,
            }
        }
        self.ask.send(()).ok()?;
        match self.told.recv_timeout(patience) {
            Ok(answer) => Some(answer),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                self.is_open = true;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_hangs_costs_its_answers_and_is_asked_again_when_it_wakes() {
        let (wake, sleeping) = mpsc::channel::<()>();
        let make = move || {
            let mut count = 0;
            move || {
                count += 1;
                if count == 2 {
                    let _ = sleeping.recv();
                }
                count
            }
        };
        let long = Duration::from_secs(60);
        let (mut probe, first) = PatientProbe::start(make, long).unwrap();
        assert_eq!(first, 1);
        assert_eq!(probe.ask(Duration::ZERO), None);
        assert_eq!(probe.ask(Duration::ZERO), None);
        wake.send(()).unwrap();
        assert_eq!(probe.ask(long), Some(3), "the late second answer is of no moment");
    }
}
