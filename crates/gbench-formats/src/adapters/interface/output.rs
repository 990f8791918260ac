//! The output of a harness, and errors in it.

use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, Copy, Debug)]
pub struct HarnessOutput<'a> {
    pub stdout: &'a [u8],
    /// The files in its folder, see [`super::adapter::CaseRequest::out`].
    pub files: &'a OutputFiles,
}

impl<'a> HarnessOutput<'a> {
    /// The program's stdout. Errors: it is not UTF-8.
    pub(crate) fn text(&self) -> Result<&'a str, ReadError> {
        std::str::from_utf8(self.stdout)
            .map_err(|error| ReadError::new(Place::Stdout, format!("it is not UTF-8: {error}")))
    }
}

/// The process's standard error among its [`OutputFiles`], if the caller keeps it: some harnesses print the number of
/// executions only there.
pub const STDERR: &str = "stderr";

/// Files by their path below the folder, with `/` between the parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputFiles(pub BTreeMap<String, Vec<u8>>);

impl OutputFiles {
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.0.get(path).map(Vec::as_slice)
    }

    pub fn need(&self, path: &str) -> Result<&[u8], ReadError> {
        let why = || ReadError::new(Place::File(path.to_owned()), "the harness did not write this file");
        self.get(path).ok_or_else(why)
    }

    /// Paths with this ending, sorted.
    pub fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        self.0
            .iter()
            .filter(move |(path, _)| path.ends_with(end))
            .map(|(path, bytes)| (path.as_str(), &bytes[..]))
    }
}

/// An output that is refused as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct ReadError {
    pub place: Place,
    pub what: String,
}

impl ReadError {
    pub fn new(place: Place, what: impl Into<String>) -> Self {
        Self { place, what: what.into() }
    }

    /// An error in a line of stdout, from 1.
    pub fn line(line: usize, what: impl Into<String>) -> Self {
        Self::new(Place::Line { file: None, line }, what)
    }

    /// An error at a path of keys in a file.
    pub(crate) fn path(file: &str, path: impl Into<String>, what: impl Into<String>) -> Self {
        Self::new(Place::Path { file: Some(file.to_owned()), path: path.into() }, what)
    }

    pub fn case(name: impl Into<String>, what: impl Into<String>) -> Self {
        Self::new(Place::Case(name.into()), what)
    }
}

/// The place of an error in the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    HarnessOutput,
    Stdout,
    File(String),
    /// A line from 1, of stdout if no file is named.
    Line {
        file: Option<String>,
        line: usize,
    },
    /// A column from 1 in a line.
    Column {
        file: Option<String>,
        line: usize,
        column: usize,
    },
    /// A path of keys: `benchmarks[3].real_time`.
    Path {
        file: Option<String>,
        path: String,
    },
    Case(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |file: &Option<String>| file.clone().unwrap_or_else(|| "stdout".into());
        match self {
            Place::HarnessOutput => f.write_str("its output"),
            Place::Stdout => f.write_str("stdout"),
            Place::File(file) => f.write_str(file),
            Place::Line { file, line } => write!(f, "{}:{line}", named(file)),
            Place::Column { file, line, column } => write!(f, "{}:{line}:{column}", named(file)),
            Place::Path { file, path } => write!(f, "{}: {path}", named(file)),
            Place::Case(name) => write!(f, "case `{name}`"),
        }
    }
}
