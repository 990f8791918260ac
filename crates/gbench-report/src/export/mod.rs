//! One run in the formats of other programs.

mod benchfmt;
mod operator_list;

use std::io;

use super::layout::json;
use gbench_model::RunRecord;

/// What a run can be written as, for other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum ExportFormat {
    /// gbench-ci's own run record, with every sample.
    Record,
    /// A JSON list with a row a case, as sweeps over operators leave it.
    OperatorList,
    /// The Go benchmark format that benchstat and its like read, with a line a process.
    Benchfmt,
}

/// Writes what one run measured. Cases without a measurement have no row, where the format has no place for them. Errors: only those of
/// `out`.
pub fn export(record: &RunRecord, format: ExportFormat, out: &mut dyn io::Write) -> io::Result<()> {
    match format {
        ExportFormat::Record => json::render(record, out),
        ExportFormat::OperatorList => operator_list::write(record, out),
        ExportFormat::Benchfmt => benchfmt::write(record, out),
    }
}
