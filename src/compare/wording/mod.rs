//! The one place that puts reasons and advice into English. Rules decide on values; a document keeps the text beside them,
//! so that documents without the values are shown as well.

mod advice;
mod parts;
mod reason;
mod warning;

pub use advice::advice;
pub use reason::{reason, with_remark};
pub use warning::warning;

use super::{Advice, Reason, Row, VerdictDocument, Warning};

impl Row {
    /// Says why the row has its verdict and what to do about it, as values and as text.
    pub(super) fn explain(&mut self, why: Option<Reason>, next: Option<Advice>) {
        self.reason = why.as_ref().map(reason).unwrap_or_default();
        self.next = next.as_ref().map(advice).unwrap_or_default();
        (self.why, self.advice) = (why, next);
    }
}

impl VerdictDocument {
    /// Every warning with its code.
    pub(super) fn coded_warnings(&self) -> impl Iterator<Item = (&String, Warning)> {
        let code = |at| self.warning_codes.get(at).cloned().unwrap_or(Warning::Uncoded {});
        self.warnings.iter().enumerate().map(move |(at, text)| (text, code(at)))
    }

    /// Adds warnings, each with its code.
    pub fn warn(&mut self, more: Vec<Warning>) {
        let known: Vec<Warning> = self.coded_warnings().map(|(_, code)| code).collect();
        self.warnings.extend(more.iter().map(warning));
        self.warning_codes = known.into_iter().chain(more).collect();
    }
}
