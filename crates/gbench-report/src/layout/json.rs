//! The document itself, for programs: indented, one trailing newline, byte for byte the same each time.

use std::io;

use serde::Serialize;

pub(crate) fn render(document: &impl Serialize, out: &mut dyn io::Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    out.write_all(b"\n")
}

/// One value on one line.
pub(crate) fn line(value: &impl Serialize, out: &mut dyn io::Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support as documents;

    #[test]
    fn a_document_survives_the_way_out_and_back() {
        for (name, document) in documents::all() {
            let mut out = Vec::new();
            render(&document, &mut out).unwrap();
            assert!(out.ends_with(b"}\n"), "{name}");
            assert_eq!(serde_json::from_slice::<gbench_compare::VerdictDocument>(&out).unwrap(), document);
        }
    }
}
