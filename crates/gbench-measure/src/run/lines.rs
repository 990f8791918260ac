//! A line of output as a table shows it.

/// At most one line of 200 characters, without control characters: causes stand in tables.
pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("(empty)");
    let mut line: String = without_escapes(line).chars().filter(|c| !c.is_control()).collect();
    if let Some((end, _)) = line.char_indices().nth(200) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// Without a terminal's orders (ECMA-48): colours and cursor moves `ESC [ ... letter`, titles `ESC ] ... BEL`.
fn without_escapes(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                Some('[') => _ = chars.find(|c| ('@'..='~').contains(c)),
                Some(']') => _ = chars.find(|c| matches!(c, '\u{7}' | '\\')),
                _ => {}
            },
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::first_line;

    #[test]
    fn a_line_for_a_table_has_no_terminals_orders_in_it() {
        assert_eq!(first_line("\u{1b}[1;31merror\u{1b}[0m: no \u{7}such file"), "error: no such file");
        assert_eq!(first_line("\u{1b}]0;a title\u{7}left"), "left");
        assert_eq!(first_line("\u{1b}[2"), "");
        assert_eq!(first_line(" \n\t"), "(empty)");
    }
}
