//! Asks a source that may hang, without hanging itself.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

/// A source in its own thread. While one question is open, no other is asked: the late answer is discarded, and then
/// the source is asked again.
pub(super) struct PatientProbe<T> {
    ask: Sender<()>,
    told: Receiver<T>,
    open: OpenQuestion,
}

#[derive(Clone, Copy, PartialEq)]
enum OpenQuestion {
    None,
    /// The source was asked, and its answer will be current.
    Fresh,
    /// The caller gave up waiting; the answer will be discarded.
    Late,
}

impl<T: Send + 'static> PatientProbe<T> {
    /// `make` opens the source in its thread. Waits at most `patience` for the first answer; `None`: it did not come.
    pub(super) fn start<F>(make: impl FnOnce() -> F + Send + 'static, patience: Duration) -> Option<(Self, T)>
    where
        F: FnMut() -> T,
    {
        let (ask, asked) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let _ = thread::Builder::new().spawn(move || {
            let mut source = make();
            // The first question is implied.
            while tell.send(source()).is_ok() && asked.recv().is_ok() {}
        });
        let first = told.recv_timeout(patience).ok()?;
        Some((Self { ask, told, open: OpenQuestion::None }, first))
    }

    /// Asks if no question is open, and does not wait, so that the caller can work meanwhile.
    pub(super) fn ask(&mut self) {
        if self.open == OpenQuestion::None && self.ask.send(()).is_ok() {
            self.open = OpenQuestion::Fresh;
        }
    }

    /// Waits for the answer to [`Self::ask`], which it calls if the caller has not. `None`: no answer within `patience`.
    pub(super) fn answer(&mut self, patience: Duration) -> Option<T> {
        if self.open == OpenQuestion::Late {
            // Too late to be current.
            self.told.recv_timeout(patience).ok()?;
            self.open = OpenQuestion::None;
        }
        self.ask();
        let answer = self.told.recv_timeout(patience).ok();
        self.open = if answer.is_some() { OpenQuestion::None } else { OpenQuestion::Late };
        answer
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
        probe.ask();
        assert_eq!(probe.answer(Duration::ZERO), None);
        probe.ask();
        assert_eq!(probe.answer(Duration::ZERO), None);
        wake.send(()).unwrap();
        assert_eq!(probe.answer(long), Some(3), "the late second answer is of no moment");
        probe.ask();
        probe.ask();
        assert_eq!(probe.answer(long), Some(4), "a question is asked once");
        assert_eq!(probe.answer(long), Some(5));
    }
}
