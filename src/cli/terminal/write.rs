//! Writing for readers: stable JSON, and a reader that has closed the pipe.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::model::{Exit, Fault, Result};
use crate::report::Format;
pub(crate) use crate::report::{table, wrap};

/// Standard output, whose reader may leave before the end (`| head -1`). Later output is dropped and is not an
/// error, whatever is between the command and this writer: formatters wrap errors in their own.
pub(crate) struct Output<W> {
    out: W,
    reader_left: bool,
}

impl<W: Write> Output<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, reader_left: false }
    }

    fn unless_left<T>(&mut self, instead: T, write: impl FnOnce(&mut W) -> io::Result<T>) -> io::Result<T> {
        if self.reader_left {
            return Ok(instead);
        }
        match write(&mut self.out) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.reader_left = true;
                Ok(instead)
            }
            result => result,
        }
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_left(bytes.len(), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_left((), Write::flush)
    }
}

/// Turns a failed write into a fault; a reader who closed the pipe (`| head`) has what they wanted.
pub(crate) fn wrote(result: io::Result<()>) -> Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => {
            let (what, next) =
                (format!("cannot be written: {error}"), "free space on the disk, or write elsewhere");
            Err(Fault::at("the output", what, next).exits(Exit::Internal).caused_by(&error))
        }
        Ok(()) => Ok(()),
    }
}

/// Refuses a file that could not be written later, before hours of measuring have gone into it.
pub(crate) fn check_place(flag: &str, path: Option<&Path>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() || !folder.is_dir() {
        let what = if path.is_dir() { "this is a folder" } else { "its folder is not there" };
        let next = "name a file in a folder that exists";
        return Err(Fault::at_flag(format!("{flag} {}", path.display()), what, next));
    }
    Ok(())
}

/// A line below a report; on standard error where the report is a document, which has standard output to itself.
pub(crate) fn beside_report(format: Format, text: &str, out: &mut impl Write) -> Result<()> {
    wrote(match format {
        Format::Terminal => writeln!(out, "\n{text}"),
        _ => writeln!(io::stderr(), "{text}"),
    })
}

/// One JSON document and a line break.
pub(crate) fn write_json(document: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    writeln!(out)
}

/// Says on standard error what the environment sets and what in it nothing reads: neither is passed over in silence.
pub(crate) fn announce_environment() -> Result<()> {
    let mut err = io::stderr();
    for line in crate::app::request::environment::notices()? {
        // A standard error that is closed is not a reason to stop.
        let _ = writeln!(err, "{line}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n22_no_formatter_makes_an_error_of_a_reader_who_left() {
        struct Left(usize);
        impl Write for Left {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                self.0 += 1;
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut out = Output::new(Left(0));
        let mut table = csv::Writer::from_writer(&mut out);
        table.write_record(["a", "b"]).unwrap();
        table.flush().unwrap();
        drop(table);
        out.write_all(b"more").unwrap();
        assert_eq!(out.out.0, 1, "nobody reads, and nothing more is sent");
    }

    #[test]
    fn a_reader_who_left_is_no_error_and_a_full_disk_is() {
        assert!(wrote(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        assert!(wrote(Err(io::ErrorKind::StorageFull.into())).is_err());
    }
}
