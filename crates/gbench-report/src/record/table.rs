//! A table of a run's report with its sentences, laid out for a terminal and for Markdown.

use std::fmt::Write;

use crate::layout::emphasis::Emphasis;
use crate::layout::escape::{markdown as prose, markdown_code as code};
use crate::layout::terminal::{GridRow, TerminalLayout};

/// One table. The first column is a name; a cell may have several lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RunTable {
    pub title: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// Sentences below it, without their periods.
    pub notes: Vec<String>,
}

impl RunTable {
    pub(crate) fn terminal(&self, page: &mut TerminalLayout) {
        page.heading(&self.title, Emphasis::Plain);
        if !self.rows.is_empty() {
            let header: Vec<&str> = self.columns.iter().map(String::as_str).collect();
            let rows = self.rows.iter().map(|cells| GridRow { cells: cells.clone(), notes: Vec::new() });
            page.grid(&header, rows);
        }
        self.notes.iter().for_each(|note| page.note("", &format!("{note}.")));
    }

    /// With its heading; `limit`: rows before the rest is only counted.
    pub(crate) fn markdown(&self, limit: usize) -> String {
        format!("\n### {}\n\n{}", prose(&self.title), self.markdown_body(limit))
    }

    /// Without its heading.
    pub(crate) fn markdown_body(&self, limit: usize) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut page = String::new();
        if !self.rows.is_empty() {
            page += &line(self.columns.iter().map(|name| prose(name)).collect());
            let align = |at: usize| if at == 0 { ":--" } else { "--:" };
            page += &format!("|{}|\n", (0..self.columns.len()).map(align).collect::<Vec<_>>().join("|"));
            for cells in self.rows.iter().take(limit) {
                let cell = |(at, text): (usize, &String)| match at {
                    0 => code(text),
                    _ => text.split('\n').map(prose).collect::<Vec<_>>().join("<br>"),
                };
                page += &line(cells.iter().enumerate().map(cell).collect());
            }
        }
        if let Some(more) = self.rows.len().checked_sub(limit).filter(|more| *more > 0) {
            let _ = write!(page, "\nand {more} more rows, in the report with `--all`.\n");
        }
        self.notes.iter().for_each(|note| page += &format!("\n{}.\n", prose(note)));
        page
    }
}
