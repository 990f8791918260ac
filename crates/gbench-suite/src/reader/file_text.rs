//! A suite file's text, and the faults found in it.

use std::cell::RefCell;
use std::fmt::Display;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::benchmark::definition::Declared;
use gbench_model::{Fault, Origin};

pub(crate) struct FileText {
    path: PathBuf,
    text: Arc<str>,
    line_starts: Vec<usize>,
    variable: Option<String>,
    faults: RefCell<Vec<(usize, Fault)>>,
}

impl FileText {
    pub(crate) fn new(path: &Path, text: Arc<str>) -> Self {
        let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(after_breaks).collect();
        Self { path: path.into(), text, line_starts, variable: None, faults: RefCell::default() }
    }

    pub(crate) fn of_variable(name: &str, text: Arc<str>) -> Self {
        Self { variable: Some(name.to_owned()), ..Self::new(Path::new(name), text) }
    }

    pub(crate) fn fault(&self, span: Range<usize>, what: impl Display, next: impl Display) {
        let fault = Fault::in_text(&self.path, &self.text, span.clone(), what, next);
        self.faults.borrow_mut().push((span.start, fault));
    }

    /// One-based.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    pub(crate) fn place(&self, offset: usize) -> Declared {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        Declared::At { file: name.to_string_lossy().into_owned(), line: self.line(offset) }
    }

    pub(crate) fn origin(&self, offset: usize) -> Origin {
        match &self.variable {
            Some(name) => Origin::Environment(name.clone()),
            None => Origin::File(self.place(offset).to_string()),
        }
    }

    pub(crate) fn slice(&self, span: Range<usize>) -> &str {
        self.text.get(span).unwrap_or("")
    }

    pub(super) fn is_clean(&self) -> bool {
        self.faults.borrow().is_empty()
    }

    /// All faults as one, in the order of the file.
    pub(crate) fn into_fault(self) -> Option<Fault> {
        let mut faults = self.faults.into_inner();
        faults.sort_by_key(|(start, _)| *start);
        Fault::chain(faults.into_iter().map(|(_, fault)| fault).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let page = FileText::new(Path::new("some/gbench.toml"), "ab\ncd\n".into());
        assert_eq!([0, 2, 3, 5, 6].map(|offset| page.line(offset)), [1, 1, 2, 2, 3]);
        assert_eq!(page.place(3).to_string(), "gbench.toml:2");
    }
}
