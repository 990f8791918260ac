//! What is explained: one row with its argument, or a case without a row.

use crate::compare::{DecisionTrace, Row, VerdictDocument};
use crate::model::CaseId;
use crate::report::layout::names::CaseNames;

/// One row of a verdict with its argument.
#[derive(Clone, Copy)]
pub struct Explained<'a> {
    pub document: &'a VerdictDocument,
    pub row: &'a Row,
    /// Absent where no rounds decided it.
    pub trace: Option<&'a DecisionTrace>,
}

impl Explained<'_> {
    /// `kernels/gemm time`.
    pub fn name(&self) -> String {
        let names = CaseNames::new(self.document.rows.iter().map(|row| &row.case));
        names.title(&self.row.case, &self.row.metric)
    }
}

/// A case of the records of which the verdict has no row.
pub struct Rowless<'a> {
    pub case: &'a CaseId,
    /// Why, in one sentence.
    pub reason: String,
}
