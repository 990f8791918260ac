//! One run in the formats of other programs.

mod benchfmt;
mod operator_list;
mod universal;

use std::io;

use super::layout::json;
use gbench_model::{Better, RunRecord};

/// The formats of other programs in which a run can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum ExportFormat {
    Record,
    /// A JSON list with a row per case, as sweeps over operators write it.
    OperatorList,
    /// The Go benchmark format of benchstat and similar tools, with a line per process.
    Benchfmt,
    /// The list of github-action-benchmark's `customSmallerIsBetter`: what is better lower.
    CustomSmallerIsBetter,
    /// The list of its `customBiggerIsBetter`: what is better higher.
    CustomBiggerIsBetter,
    /// Bencher's metric format.
    BencherMetricFormat,
}

/// Writes a run's measurements. Cases without a measurement are omitted if the format cannot represent them. Errors: only
/// those of `out`.
pub fn export(record: &RunRecord, format: ExportFormat, out: &mut dyn io::Write) -> io::Result<()> {
    match format {
        ExportFormat::Record => json::render(record, out),
        ExportFormat::OperatorList => operator_list::write(record, out),
        ExportFormat::Benchfmt => benchfmt::write(record, out),
        ExportFormat::CustomSmallerIsBetter => universal::custom_list(record, Better::Lower, out),
        ExportFormat::CustomBiggerIsBetter => universal::custom_list(record, Better::Higher, out),
        ExportFormat::BencherMetricFormat => universal::bencher(record, out),
    }
}
