//! An error for the user. It always answers three questions: where, what, and what next.
//!
//! All crates use this type: an error without a next step is unfinished.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::exit::Exit;

pub type Result<T, E = Fault> = std::result::Result<T, E>;

/// An error with its place, its cause, its next step and its exit code.
#[derive(Clone, Debug)]
pub struct Fault {
    pub place: Location,
    pub what: String,
    /// An instruction to the reader, in the imperative, without a trailing period.
    pub next: String,
    pub exit: Exit,
    /// The next of several mistakes found in one reading; the exit code is that of the first.
    pub also: Option<Box<Fault>>,
}

/// Where something went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A part of a text file: byte range within `text`, which is the whole file.
    Text { path: PathBuf, text: Arc<str>, span: Range<usize> },
    /// A whole file or folder.
    Path(PathBuf),
    /// A command-line flag or argument, as typed: `--param n=3`.
    Flag(String),
    /// Anything else that has a name: a benchmark, a field of the machine.
    Named(String),
}

/// The next step for a defect of gbench-ci itself.
pub const DEFECT: &str = "report this as a defect of gbench-ci";

impl Fault {
    fn new(place: Location, what: impl fmt::Display, next: impl fmt::Display, exit: Exit) -> Self {
        Self { place, what: what.to_string(), next: next.to_string(), exit, also: None }
    }

    /// A mistake in a text file, shown with its line. Exit code 2.
    pub fn in_text(
        path: &Path,
        text: &Arc<str>,
        span: Range<usize>,
        what: impl fmt::Display,
        next: impl fmt::Display,
    ) -> Self {
        let place = Location::Text { path: path.into(), text: text.clone(), span };
        Self::new(place, what, next, Exit::Usage)
    }

    /// A file or folder that is missing, unreadable or invalid. Exit code 2.
    pub fn at_path(path: impl Into<PathBuf>, what: impl fmt::Display, next: impl fmt::Display) -> Self {
        Self::new(Location::Path(path.into()), what, next, Exit::Usage)
    }

    /// An I/O error on a file or folder; the system's message follows `what`. Exit code 2 or 5: see [`Fault::caused_by`].
    pub fn of_io(path: impl Into<PathBuf>, what: &str, error: &io::Error, next: impl fmt::Display) -> Self {
        Self::at_path(path, format!("{what}: {error}"), next).caused_by(error)
    }

    /// A flag or argument that cannot be honoured. Exit code 2.
    pub fn at_flag(flag: impl Into<String>, what: impl fmt::Display, next: impl fmt::Display) -> Self {
        Self::new(Location::Flag(flag.into()), what, next, Exit::Usage)
    }

    /// Anything else with a name. Exit code 2 unless changed by [`Fault::exits`].
    pub fn at(name: impl Into<String>, what: impl fmt::Display, next: impl fmt::Display) -> Self {
        Self::new(Location::Named(name.into()), what, next, Exit::Usage)
    }

    /// An error that only a defect of gbench-ci can cause. Exit code 70.
    pub fn defect(name: impl Into<String>, what: impl fmt::Display) -> Self {
        Self::at(name, what, DEFECT).exits(Exit::Internal)
    }

    /// Chains several faults, the first in front; `None` if there are none. At most 20 are kept: a user who has fixed twenty
    /// reads the file again anyway, and dropping a short chain cannot overflow the stack.
    pub fn chain(faults: Vec<Fault>) -> Option<Fault> {
        let kept = faults.into_iter().take(20);
        kept.rev().reduce(|later, fault| Self { also: Some(Box::new(later)), ..fault })
    }

    /// This fault and those chained to it, in order.
    pub fn each(&self) -> impl Iterator<Item = &Fault> {
        std::iter::successors(Some(self), |fault| fault.also.as_deref())
    }

    /// The same fault with another exit code.
    pub fn exits(self, exit: Exit) -> Self {
        Self { exit, ..self }
    }

    /// Sets exit code 5 if the machine failed rather than the user: no space is left, a quota or file size limit is reached,
    /// the device reports errors, too many files are open. Errors that another path or permission would fix keep their code.
    pub fn caused_by(self, error: &io::Error) -> Self {
        if is_the_machines(error) { self.exits(Exit::Machine) } else { self }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Text { path, text, span } => {
                let (line, column) = line_and_column(text, span.start);
                write!(f, "{}:{line}:{column}", path.display())
            }
            Location::Path(path) => write!(f, "{}", path.display()),
            Location::Flag(name) | Location::Named(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (next: {})", self.place, self.what, self.next)
    }
}

impl std::error::Error for Fault {}

fn is_the_machines(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, OutOfMemory, QuotaExceeded, StorageFull};
    // The standard library has no kind for EIO, ENFILE and EMFILE, whose numbers are the same on every Linux architecture.
    const NUMBERS: [i32; 3] = [5, 23, 24];
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge | OutOfMemory)
        || error.raw_os_error().is_some_and(|number| NUMBERS.contains(&number))
}

/// One-based line and column (in characters) of a byte offset; offsets past the end mean the end.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_keeps_its_order_and_its_length_bounded() {
        let faults = (0..30).map(|index| Fault::at(index.to_string(), "wrong", "mend it")).collect();
        let chain = Fault::chain(faults).unwrap();
        let names: Vec<_> = chain.each().map(|fault| fault.place.to_string()).collect();
        assert_eq!(names, (0..20).map(|index| index.to_string()).collect::<Vec<_>>());
        assert!(Fault::chain(Vec::new()).is_none());
    }

    #[test]
    fn n30_a_full_disk_is_the_machines_fault_and_a_wrong_path_the_users() {
        let exit = |number| {
            Fault::at_path("a", "wrong", "mend it").caused_by(&io::Error::from_raw_os_error(number)).exit
        };
        // ENOSPC, EDQUOT, EFBIG, EIO, EMFILE
        for number in [28, 122, 27, 5, 24] {
            assert_eq!(exit(number), Exit::Machine, "{}", io::Error::from_raw_os_error(number));
        }
        // ENOENT, EACCES, EEXIST, ENOTDIR, EROFS
        for number in [2, 13, 17, 20, 30] {
            assert_eq!(exit(number), Exit::Usage, "{}", io::Error::from_raw_os_error(number));
        }
    }

    #[test]
    fn a_place_in_a_text_counts_lines_and_columns_from_one() {
        assert_eq!(line_and_column("ab\ncd", 0), (1, 1));
        assert_eq!(line_and_column("ab\ncd", 4), (2, 2));
        assert_eq!(line_and_column("é\nü=1", 5), (2, 2));
        assert_eq!(line_and_column("ab", 99), (1, 3));
    }
}
