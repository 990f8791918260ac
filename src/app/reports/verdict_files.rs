//! A verdict as bytes and as files: the formats of a report folder, and a release baseline's next to the first verdict's.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::compare::VerdictDocument;
use crate::model::{Exit, Fault, Result};
use crate::report::{self, Format, Options, Style};
use crate::store::write_atomically;

/// How the names of a release baseline's files begin.
pub(crate) const ANCHOR_PREFIX: &str = "anchor.";

pub(crate) fn bytes_of(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    write(&mut bytes).map_err(|error| Fault::defect("the output", error))?;
    Ok(bytes)
}

/// A document as JSON, with a line break at its end.
pub(crate) fn json_of(document: &impl serde::Serialize) -> Result<Vec<u8>> {
    bytes_of(|bytes| {
        serde_json::to_writer_pretty(&mut *bytes, document)?;
        writeln!(bytes)
    })
}

pub(crate) fn rendered(
    document: &VerdictDocument,
    format: Format,
    style: Style,
    all: bool,
) -> Result<Vec<u8>> {
    bytes_of(|bytes| report::verdict(document, &Options { format, style, all }, bytes))
}

pub(crate) fn write_as(format: Format, document: &VerdictDocument, path: &Path) -> Result<()> {
    write_atomically(path, &rendered(document, format, Style::PLAIN, true)?)
}

/// Writes every format of a verdict into a run's report folder, under names that begin with `prefix`.
pub(crate) fn write_reports(prefix: &str, document: &VerdictDocument, folder: &Path) -> Result<()> {
    for (format, name) in [
        (Format::Json, "verdict.json"),
        (Format::Markdown, "verdict.md"),
        (Format::Csv, "verdict.csv"),
        (Format::Junit, "verdict.junit.xml"),
    ] {
        write_as(format, document, &folder.join(format!("{prefix}{name}")))?;
    }
    Ok(())
}

/// The file of the release baseline next to one of the first verdict: `out/verdict.json` -> `out/anchor.verdict.json`.
pub(crate) fn anchor_beside(path: &Path) -> PathBuf {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    path.with_file_name(format!("{ANCHOR_PREFIX}{name}"))
}

/// The document's own exit code; [`Exit::Internal`] for one that no version of the document has.
pub(crate) fn exit_from(document: &VerdictDocument) -> Exit {
    Exit::from_repr(document.exit_code).unwrap_or(Exit::Internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_anchors_files_lie_beside_the_others() {
        assert_eq!(anchor_beside(Path::new("out/v.json")), Path::new("out/anchor.v.json"));
        assert_eq!(anchor_beside(Path::new("v.md")), Path::new("anchor.v.md"));
    }
}
