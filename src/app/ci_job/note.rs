//! An annotation in the log of the job.

use crate::github::commands::{ANNOTATIONS, Level, annotation};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunnerNote {
    pub level: Level,
    pub path: Option<String>,
    pub line: Option<u32>,
    pub title: String,
    pub message: String,
}

impl RunnerNote {
    pub(super) fn warning(title: impl Into<String>, message: impl Into<String>) -> Self {
        let (title, message) = (title.into(), message.into());
        Self { level: Level::Warning, path: None, line: None, title, message }
    }

    /// The command for the runner: one line without its end.
    pub(crate) fn command(&self) -> String {
        annotation(self.level, self.path.as_deref(), self.line, &self.title, &self.message)
    }
}

/// The first of each level: the runner drops what comes after them.
pub(super) fn within_limits(notes: impl Iterator<Item = RunnerNote>) -> Vec<RunnerNote> {
    let mut counts = std::collections::HashMap::new();
    let mut fits = |note: &RunnerNote| {
        let count = counts.entry(note.level).or_insert(0);
        *count += 1;
        *count <= ANNOTATIONS
    };
    notes.filter(|note| fits(note)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n18_the_log_has_no_more_annotations_of_a_level_than_the_runner_takes() {
        let note = |level| RunnerNote { level, ..RunnerNote::warning("t", "m") };
        let notes = (0..40).map(|index| note(if index % 4 == 0 { Level::Error } else { Level::Warning }));
        let told = within_limits(notes);
        let count = |level| told.iter().filter(|note| note.level == level).count();
        assert_eq!((count(Level::Error), count(Level::Warning)), (10, 10));
    }
}
