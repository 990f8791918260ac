//! Plain columns for what the commands print about a machine: no frame, no colour, 80 columns wide.

use comfy_table::{ContentArrangement, Table, presets};

/// Widest line, so that a CI log and half a screen show it unbroken.
pub const WIDTH: u16 = 80;

/// Rows as lines that end in a newline; long cells wrap within their column.
pub fn columns<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    for row in rows {
        table.add_row(row.map(|cell| one_line_safe(&cell)));
    }
    let mut text = String::new();
    for line in table.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// What a driver, a tool or an environment says may hold control characters; a terminal must not obey them.
fn one_line_safe(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_cells_wrap_within_eighty_columns() {
        let text = columns([["a".to_owned(), "word ".repeat(60)], ["b".to_owned(), "x".repeat(200)]]);
        assert!(text.lines().count() > 5);
        assert!(text.lines().all(|line| line.chars().count() <= usize::from(WIDTH)), "{text}");
    }

    #[test]
    fn control_characters_are_shown_as_unprintable() {
        assert!(!columns([["\u{1b}[31mred".to_owned()]]).contains('\u{1b}'));
    }
}
