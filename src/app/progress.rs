//! The one observer of a use case, shared by those who measure and those who decide between rounds.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::run::{Observer, Progress};

/// A handle of the observer; clones are of the same one, and may be used in several threads.
#[derive(Clone)]
pub(crate) struct Reporter(Arc<Mutex<dyn Observer>>);

impl Reporter {
    pub(crate) fn new(observer: impl Observer + 'static) -> Self {
        Self(Arc::new(Mutex::new(observer)))
    }

    /// Reports its own line.
    pub(crate) fn note(&self, text: &str) {
        self.lock().on(&Progress::Note { text });
    }

    /// Reports that no more is measured: what follows is the result.
    pub(crate) fn finish(&self) {
        self.lock().on(&Progress::Finished);
    }

    fn lock(&self) -> MutexGuard<'_, dyn Observer + 'static> {
        // An observer that panicked in another thread still takes the next event.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Reporter {
    fn on(&mut self, progress: &Progress<'_>) {
        self.lock().on(progress);
    }
}
