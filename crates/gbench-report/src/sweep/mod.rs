//! A sweep by its parameters: one row per value, one column per implementation, the best of each point.

pub(super) mod fields;
mod of_record;
mod of_verdict;
pub(super) mod request;
mod table;

use std::io;

use super::format::Options;
use super::layout::terminal::TerminalLayout;
use fields::CaseFields;
pub use fields::UnknownField;
use gbench_compare::VerdictDocument;
use gbench_model::{CaseId, RunRecord};
pub use request::SweepRequest;
use table::SweepTable;

/// The tables that answer a request.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepTables {
    tables: Vec<SweepTable>,
}

impl SweepTables {
    /// Checks whether cases that are not measured yet can answer a request: their device and their metrics are unknown.
    /// Errors: no case has a field of that name, or that value.
    pub fn check_planned(cases: &[&CaseId], request: &SweepRequest) -> Result<(), UnknownField> {
        let is_device =
            |name: &str| name == "device" && cases.iter().all(|case| !case.params.contains_key(name));
        let mut request = request.clone();
        request.conditions.retain(|(name, _)| !is_device(name));
        CaseFields::check(cases.iter().copied(), &request)
    }

    /// The tables of one run. Errors: no case has a field of that name, or that value.
    pub fn of_record(record: &RunRecord, request: &SweepRequest) -> Result<Self, UnknownField> {
        Ok(Self { tables: of_record::tables(record, request)? })
    }

    /// The tables of a comparison's rows. Errors: as [`Self::of_record`].
    pub fn of_verdict(document: &VerdictDocument, request: &SweepRequest) -> Result<Self, UnknownField> {
        Ok(Self { tables: of_verdict::tables(document, request)? })
    }

    /// The tables of a comparison whose rows have parameters with several values: the speed of head by each of them;
    /// empty with too few rows.
    pub(crate) fn overview(document: &VerdictDocument) -> Self {
        Self { tables: of_verdict::overview(document) }
    }

    pub fn write(&self, options: &Options, out: &mut dyn io::Write) -> io::Result<()> {
        table::write(&self.tables, options, out)
    }

    /// Adds the tables to a page, each of at most `limit` rows.
    pub(crate) fn terminal(&self, limit: usize, page: &mut TerminalLayout) {
        self.tables.iter().for_each(|it| it.table.terminal(page, limit));
    }

    /// Title and Markdown of each table, of at most `limit` rows.
    pub(crate) fn markdown(self, limit: usize) -> impl Iterator<Item = (String, String)> {
        self.tables.into_iter().map(move |it| (it.table.title.clone(), it.markdown(limit)))
    }
}
