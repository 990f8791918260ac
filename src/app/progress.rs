//! The one observer of a use case, shared by those who measure and those who decide between rounds.

use std::cell::RefCell;
use std::rc::Rc;

use crate::run::{Observer, Progress};

/// A handle of the observer; clones are of the same one.
#[derive(Clone)]
pub struct Reporter(Rc<RefCell<dyn Observer>>);

impl Reporter {
    pub fn new(observer: impl Observer + 'static) -> Self {
        Self(Rc::new(RefCell::new(observer)))
    }

    /// Reports a line of its own.
    pub fn note(&self, text: &str) {
        self.0.borrow_mut().on(&Progress::Note { text });
    }

    /// Reports that no more is measured: what follows is the result.
    pub fn finish(&self) {
        self.0.borrow_mut().on(&Progress::Finished);
    }
}

impl Observer for Reporter {
    fn on(&mut self, progress: &Progress<'_>) {
        self.0.borrow_mut().on(progress);
    }
}
