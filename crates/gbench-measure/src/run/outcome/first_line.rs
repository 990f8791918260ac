//! A line of output as shown in a table.

/// At most one line of 200 characters without control characters, for causes in tables.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("(empty)");
    let mut line: String = without_escapes(line).chars().filter(|c| !c.is_control()).collect();
    if let Some((end, _)) = line.char_indices().nth(200) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// Without terminal sequences (ECMA-48): colours and cursor moves `ESC [ ... letter`, titles `ESC ] ... BEL`.
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
