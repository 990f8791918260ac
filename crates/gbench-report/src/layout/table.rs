//! A table with notes, for a terminal and for Markdown.

use super::emphasis::Emphasis;
use super::escape::{markdown as prose, markdown_code as code};
use super::markdown;
use super::terminal::TerminalLayout;

/// One table. The first column is a name; a cell may have several lines.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReportTable<C = String> {
    pub title: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<C>>,
    /// Sentences below it, without their periods.
    pub notes: Vec<String>,
}

impl<C: AsRef<str>> ReportTable<C> {
    pub(crate) fn new(
        title: String,
        columns: impl IntoIterator<Item = impl Into<String>>,
        rows: impl IntoIterator<Item = Vec<C>>,
        notes: Vec<String>,
    ) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { title, columns, rows: rows.into_iter().collect(), notes }
    }

    /// Its first rows, with a note about the others.
    pub(crate) fn terminal(&self, page: &mut TerminalLayout, limit: usize) {
        page.heading(&self.title, Emphasis::Plain);
        if !self.rows.is_empty() {
            let header: Vec<&str> = self.columns.iter().map(String::as_str).collect();
            let cells = |row: &Vec<C>| row.iter().map(|cell| cell.as_ref().to_owned()).collect::<Vec<_>>();
            page.grid(&header, self.rows.iter().take(limit).map(cells));
        }
        self.sentences(limit).iter().for_each(|note| page.note("", &format!("{note}.")));
    }

    /// Its first rows in Markdown. `rule`: the line below the header.
    pub(crate) fn markdown(&self, rule: &str, limit: usize) -> String {
        let columns: Vec<String> = self.columns.iter().map(|name| prose(name)).collect();
        let cell = |(at, cell): (usize, &C)| match (at, cell.as_ref()) {
            (0, name) if !name.is_empty() => code(name),
            (_, text) => text.split('\n').map(prose).collect::<Vec<_>>().join("<br>"),
        };
        let cells = |row: &Vec<C>| row.iter().enumerate().map(cell).collect::<Vec<_>>();
        let rows = self.rows.iter().take(limit).map(cells);
        markdown::table(&format!("| {} |\n{rule}", columns.join(" | ")), rows)
    }

    pub(crate) fn sentences(&self, limit: usize) -> Vec<String> {
        let more = self.rows.len().saturating_sub(limit);
        let more = (more > 0).then(|| format!("{more} more rows: `--all` shows them"));
        more.into_iter().chain(self.notes.iter().cloned()).collect()
    }
}
