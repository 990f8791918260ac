//! The document itself, for programs: indented, with one trailing newline, byte for byte the same each time.

use std::io;

use serde::Serialize;

pub(crate) fn render(document: &impl Serialize, out: &mut dyn io::Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    out.write_all(b"\n")
}

pub(crate) fn line(value: &impl Serialize, out: &mut dyn io::Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}
