//! Tables as Markdown.

/// Columns are padded, so that the source reads as well as the page.
pub fn markdown(header: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).chain([header[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells.zip(&widths).map(|(cell, width)| format!(" {cell:<width$} |"));
        format!("|{}\n", cells.collect::<String>())
    };
    let rule: String = widths.iter().map(|width| format!("{}|", "-".repeat(width + 2))).collect();
    let mut text = format!("{}|{rule}\n", line(&mut header.iter().copied()));
    for row in rows {
        text += &line(&mut row.iter().map(String::as_str));
    }
    text
}

/// A share as hundredths: `93.0`.
pub fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}
