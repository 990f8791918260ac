//! Parts of a Markdown page that every report uses.

use super::escape::markdown as prose;

/// Two texts in one cell of a table, the second below the first.
pub(crate) fn stacked(above: &str, below: &str) -> String {
    if below.is_empty() { above.to_owned() } else { format!("{above}<br>{below}") }
}

/// A folded part. The blank lines make the inside Markdown again.
pub(crate) fn details(title: &str, inside: &str) -> String {
    format!("<details><summary>{title}</summary>\n\n{inside}\n</details>\n")
}

/// A table: its first two lines, and the cells of its rows.
pub(crate) fn table<R: AsRef<[String]>>(header: &str, rows: impl IntoIterator<Item = R>) -> String {
    let line = |cells: R| format!("| {} |\n", cells.as_ref().join(" | "));
    rows.into_iter().fold(format!("{header}\n"), |table, cells| table + &line(cells))
}

/// A list of texts that are not Markdown yet.
pub(crate) fn bullets(texts: &[String]) -> String {
    texts.iter().map(|text| format!("- {}\n", prose(text))).collect()
}

/// A list of labels and texts; `prose` makes Markdown of a text.
pub(crate) fn facts(facts: &[(&str, String)], prose: impl Fn(&str) -> String) -> String {
    facts.iter().map(|(label, text)| format!("- **{label}**: {}\n", prose(text))).collect()
}
