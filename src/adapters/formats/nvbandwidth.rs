//! nvbandwidth: what it prints, and its JSON (`-j`). A cell of a matrix is a case, named by its test, row and column.
//!
//! <https://github.com/NVIDIA/nvbandwidth>. A cell is the median of a few copies, or their mean with `--useMean`. The sum of a matrix is a case of its
//! own, which follows from the cells and is shown. The text does not name the tests that it waives; the JSON does.

mod json;
mod row;
mod text;

use super::format::{FormatAbout, ResultFile, ResultFormat, RunReading};
use crate::adapters::{ReadError, Reads};

pub struct NvBandwidth;

/// The first words of the text.
const TITLE: &str = "nvbandwidth Version:";

impl ResultFormat for NvBandwidth {
    fn name(&self) -> &'static str {
        "nvbandwidth"
    }

    fn about(&self) -> FormatAbout {
        FormatAbout {
            title: "nvbandwidth",
            versions: "0.2 to 0.8, text and JSON",
            fields: "`Running`, the matrices with their unit, `SUM`, errors; JSON: `testcases[]` with `name`, `status`, `bandwidth_description`, \
                     `bandwidth_matrix`, `sum`, `error`; versions",
            reads: Reads::Summary,
            direction: "bandwidths higher, latencies lower; sums are shown",
            tried: &[],
        }
    }

    fn recognises(&self, file: &ResultFile) -> bool {
        let text = file.lossy();
        text.lines().any(|line| line.starts_with(TITLE))
            || text.trim_start().starts_with('{')
                && text.contains("\"nvbandwidth\"")
                && json::document(file).is_ok()
    }

    fn read(&self, file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
        if file.bytes.trim_ascii_start().starts_with(b"{") { json::read(file) } else { text::read(file) }
    }
}
