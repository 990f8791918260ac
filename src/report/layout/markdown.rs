//! Parts of a Markdown page that every report uses.

/// Two texts in one cell of a table, the second below the first.
pub(in crate::report) fn stacked(above: &str, below: &str) -> String {
    if below.is_empty() { above.to_owned() } else { format!("{above}<br>{below}") }
}

/// A folded part. The blank lines make the inside Markdown again.
pub(in crate::report) fn details(title: &str, inside: &str) -> String {
    format!("<details><summary>{title}</summary>\n\n{inside}\n</details>\n")
}
