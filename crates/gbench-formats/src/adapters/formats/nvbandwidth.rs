//! nvbandwidth: its text and its JSON (`-j`). A cell of a matrix is a case, named by its test, row and column.
//! <https://github.com/NVIDIA/nvbandwidth>.
//!
//! A cell is the median of a few copies, or their mean with `--useMean`. The sum of a matrix is a separate case, which
//! follows from the cells and is only shown. The text does not name the tests that it waives; the JSON does.

mod json;
mod row;
mod text;

use super::interface::prelude::*;

const TITLE: &str = "nvbandwidth Version:";

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "nvbandwidth",
    title: "nvbandwidth",
    versions: "0.2 to 0.8, text and JSON",
    fields: "`Running`, the matrices with their unit, `SUM`, errors; JSON: `testcases[]` with `name`, `status`, `bandwidth_description`, \
             `bandwidth_matrix`, `sum`, `error`; versions and devices",
    direction: "bandwidths higher, latencies lower; sums are shown",
    failures: "`status` other than `Passed`; an `error`; a cell of 0; in the text a line that begins with an error, or no \
             `SUM` before the next test; `Waived` (skipped); a text that ends within a test (refused)",
    recognises,
    read: |file| if file.begins(b'{') { json::read(file) } else { text::read(file) },
    ..DeclaredFormat::SUMMARY
};

fn recognises(file: &ResultFile) -> bool {
    let is_body = |body: &Outline| body.has(&["testcases"]) || body.has(&["error"]);
    file.any_line(TITLE, |line| line.starts_with(TITLE))
        || Outline::of(file, &["nvbandwidth"], &[])
            .is_some_and(|outline| outline.get("nvbandwidth").is_some_and(is_body))
}
