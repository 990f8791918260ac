//! Parts of a Markdown page that every report uses.

use super::escape::{markdown as prose, markdown_block, markdown_code as code, visible};
use super::width::cut_middle;
use gbench_model::MAX_COMMENT;

const LONGEST_KERNEL: usize = 120;

/// The limit of a page in bytes unless everything is requested, so that it fits into a comment.
const MAX_PAGE: usize = MAX_COMMENT - 536;

/// Rows of a table in a page that is too long with all of them.
const ROWS_OF_LONG: usize = 256;

/// A page whose tables are cut as far as its limit requires: `page` gets the most rows of a table. `most`: at first; `all`:
/// nothing is cut.
pub(crate) fn fitted(all: bool, most: usize, page: impl Fn(usize) -> String) -> String {
    let mut limit = if all { usize::MAX } else { most };
    loop {
        let page = page(limit);
        if all || page.len() <= MAX_PAGE || limit == 1 {
            return page;
        }
        limit = (limit / 2).min(ROWS_OF_LONG);
    }
}

/// How names and prose are written in a page of Markdown: whole, or cut if space is limited.
pub(crate) struct MarkdownStyle<'f> {
    pub name: &'f dyn Fn(&str) -> String,
    pub prose: &'f dyn Fn(&str) -> String,
    /// Rows of a table, and names in a sentence; the others are counted.
    pub rows: usize,
    pub max_named: usize,
}

/// A kernel's name, cut: templates have names of thousands of characters.
pub(crate) fn kernel_name(name: &str) -> String {
    code(&cut_middle(&visible(name), LONGEST_KERNEL, "…"))
}

/// Two texts in one cell of a table, the second below the first.
pub(crate) fn stacked(above: &str, below: &str) -> String {
    if below.is_empty() { above.to_owned() } else { format!("{above}<br>{below}") }
}

/// A folded part. The blank lines make the inside Markdown again.
pub(crate) fn details(title: &str, inside: &str) -> String {
    format!("<details><summary>{title}</summary>\n\n{inside}\n</details>\n")
}

/// Adds a part with its heading and a final blank line to a page; nothing if it is empty.
pub(crate) fn part(page: &mut String, heading: &str, inside: &str) {
    if !inside.is_empty() {
        *page += &format!("### {heading}\n\n{inside}\n");
    }
}

pub(crate) fn fold(page: &mut String, title: &str, inside: &str) {
    if !inside.is_empty() {
        *page += &format!("{}\n", details(title, inside));
    }
}

pub(crate) fn command(command: &str) -> String {
    if command.is_empty() { String::new() } else { markdown_block("sh", command) }
}

/// A table: its first two lines, and the cells of its rows.
pub(crate) fn table<R: AsRef<[String]>>(header: &str, rows: impl IntoIterator<Item = R>) -> String {
    let line = |cells: R| format!("| {} |\n", cells.as_ref().join(" | "));
    rows.into_iter().fold(format!("{header}\n"), |table, cells| table + &line(cells))
}

pub(crate) fn bullets(texts: &[String]) -> String {
    texts.iter().map(|text| format!("- {}\n", prose(text))).collect()
}

/// A list of labels and texts; `prose` converts a text to Markdown.
pub(crate) fn facts(facts: &[(&str, String)], prose: impl Fn(&str) -> String) -> String {
    facts.iter().map(|(label, text)| format!("- **{label}**: {}\n", prose(text))).collect()
}
