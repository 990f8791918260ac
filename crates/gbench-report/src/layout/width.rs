//! Text in columns: widths in a terminal, folding, and cutting in the middle.

use std::sync::LazyLock;

use regex::Regex;
use unicode_width::UnicodeWidthChar;

/// Columns of the text in a terminal, counted character by character, so that the parts of a text add up to the whole.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The text in at most `limit` columns: in a longer one `ellipsis` replaces the middle, because names with a common
/// beginning differ at their end.
pub(crate) fn cut_middle(text: &str, limit: usize, ellipsis: &str) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let room = limit.saturating_sub(width(ellipsis));
    // The end gets the larger share, because it contains parameters and devices.
    let head = take(text.chars(), room * 2 / 5);
    let tail: String = take(text.chars().rev(), room - width(&head)).chars().rev().collect();
    format!("{head}{ellipsis}{tail}")
}

fn take(chars: impl Iterator<Item = char>, limit: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= limit
        })
        .collect()
}

/// A name may be broken after any of these.
const IN_NAMES: &[char] = &[' ', '/', ',', '[', '_', '-'];

/// Lines of at most `limit` columns, broken at spaces; at least one. Text between two backticks is not broken if it fits,
/// so that a command can be copied, and a percent sign stays with its figure. A longer word gets a separate line,
/// unbroken, so that paths and URLs can be copied.
pub fn wrap(text: &str, limit: usize) -> Vec<String> {
    lines_of(text, limit, false)
}

/// As [`wrap`], but a word longer than a line is broken, after a separator if possible.
pub(crate) fn fold(text: &str, limit: usize) -> Vec<String> {
    lines_of(text, limit, true)
}

fn lines_of(text: &str, limit: usize, breaks_words: bool) -> Vec<String> {
    let text = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words(&text, limit) {
        let (used, columns) = (width(&line), width(word));
        let is_long = breaks_words && columns > limit;
        // A long word continues a short line, which would otherwise stay nearly empty.
        let joins = used + 1 + columns <= limit || is_long && used <= limit / 3;
        if line.is_empty() || joins {
            line += if line.is_empty() { "" } else { " " };
        } else {
            lines.push(std::mem::take(&mut line));
        }
        line += word;
        if is_long {
            lines.extend(fold_name(&line, limit));
            line = lines.pop().unwrap_or_default();
        }
    }
    lines.push(line);
    lines
}

/// `lead` and the wrapped text in 80 columns, further lines below its first word. Ends in a line break.
pub fn paragraph(lead: &str, text: &str) -> String {
    let hang = width(lead);
    let lines = wrap(text, COLUMNS - hang).join(&format!("\n{:hang$}", ""));
    format!("{lead}{lines}\n")
}

/// Columns of files, pipes and terminals of unknown width.
pub const COLUMNS: usize = 80;

/// The words of a text; an unbreakable phrase is one word.
fn words(text: &str, limit: usize) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(' ').unwrap_or(rest.len());
        let code = code_end(rest, end).filter(|end| width(&rest[..*end]) <= limit);
        let end = code.unwrap_or(end);
        let end = end + if rest[end..].starts_with(" %") { percent_end(&rest[end..]) } else { 0 };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after.trim_start();
    }
    words
}

/// The end of a quotation in backticks that opens in the word up to `end`; `None` if none opens.
fn code_end(text: &str, mut end: usize) -> Option<usize> {
    let is_open = |end: usize| text[..end].matches('`').count() % 2 == 1;
    if !is_open(end) {
        return None;
    }
    while is_open(end) {
        let rest = text.get(end + 1..)?;
        end += 1 + rest.find(' ').unwrap_or(rest.len());
    }
    Some(end)
}

/// The length of ` %` with the text attached to it.
fn percent_end(text: &str) -> usize {
    1 + text[1..].find(' ').unwrap_or(text.len() - 1)
}

/// Lines of at most `limit` columns for a name: filled, and broken after separators if possible.
pub(crate) fn fold_name(text: &str, limit: usize) -> Vec<String> {
    let limit = limit.max(2);
    let mut lines = Vec::new();
    let mut rest = text.trim();
    while width(rest) > limit {
        let fitting = take(rest.chars(), limit).len();
        // A space may fall just beyond the line, since it is invisible.
        let room = if rest[fitting..].starts_with(' ') { fitting + 1 } else { fitting };
        // A break early in the line would leave most of it empty.
        let end = rest[..room].rfind(IN_NAMES).map(|at| at + 1).filter(|end| *end > room / 3);
        let (line, after) = rest.split_at(end.unwrap_or(fitting));
        lines.push(line.trim_end().to_owned());
        rest = after.trim_start();
    }
    if !rest.is_empty() || lines.is_empty() {
        lines.push(rest.to_owned());
    }
    lines
}

/// A shell command over several lines, each but the last with a final backslash, broken only at spaces outside quotes, so
/// that it can be pasted. A single argument longer than the line is unbroken.
pub fn fold_command(command: &str, limit: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in shell_words(command) {
        let extra = if lines.len() > 1 { 2 } else { 0 };
        match lines.last_mut() {
            // Every line reserves space for ` \`, since only the end shows which is the last.
            Some(line) if width(line) + 1 + width(word) + 2 + extra <= limit => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let last = lines.len().saturating_sub(1);
    for (index, line) in lines.iter_mut().enumerate() {
        let indent = if index > 0 { "  " } else { "" };
        let end = if index < last { " \\" } else { "" };
        *line = format!("{indent}{line}{end}");
    }
    lines
}

/// The command's arguments as written, with quotes and backslashes.
fn shell_words(command: &str) -> Vec<&str> {
    // The pattern is valid, as the test of a folded command shows.
    static WORD: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?s)(?:[^ "'\\]|\\.?|"(?:[^"\\]|\\.)*"?|'[^']*'?)+"#).ok());
    WORD.iter().flat_map(|word| word.find_iter(command)).map(|word| word.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_folded_command_can_be_pasted() {
        assert_eq!(shell_words(r#"a "b \" c" d\ e"#), ["a", r#""b \" c""#, r"d\ e"]);
    }

    proptest! {
        #[test]
        fn folded_text_fits_and_loses_only_spaces(text in "(\\PC| ){0,60}", limit in 2usize..40) {
            for lines in [fold(&text, limit), fold_name(&text, limit)] {
                prop_assert!(lines.iter().all(|line| width(line) <= limit));
                let squeezed = |text: &str| text.split_whitespace().collect::<String>();
                prop_assert_eq!(squeezed(&lines.concat()), squeezed(&text));
            }
        }

        #[test]
        fn cut_text_fits(text in "\\PC{0,60}", limit in 4usize..40) {
            prop_assert!(width(&cut_middle(&text, limit, "…")) <= limit);
        }
    }
}
