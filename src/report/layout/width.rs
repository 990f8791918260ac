//! Text into columns: widths as a terminal counts them, folding, and cutting in the middle.

use unicode_width::UnicodeWidthChar;

/// Columns that a terminal gives to the text, counted character by character, so that the parts of a text
/// add up to the whole.
pub fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The text in at most `limit` columns: where it is longer, its middle gives way to `ellipsis`, because names
/// that share a long beginning differ in their tail.
pub fn cut_middle(text: &str, limit: usize, ellipsis: &str) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let room = limit.saturating_sub(width(ellipsis));
    // The tail gets the larger share: it tells parameters and devices apart.
    let head = take(text.chars(), room * 2 / 5);
    let tail: String = take(text.chars().rev(), room - width(&head)).chars().rev().collect();
    format!("{head}{ellipsis}{tail}")
}

/// The first characters of the sequence, in at most `limit` columns together.
fn take(chars: impl Iterator<Item = char>, limit: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= limit
        })
        .collect()
}

/// Where a name may be broken: after any of these.
const IN_NAMES: &[char] = &[' ', '/', ',', '[', '_', '-'];

/// Lines of at most `limit` columns, broken at spaces; a word longer than a line is broken where a name may be,
/// or where it must be. At least one line.
pub fn fold(text: &str, limit: usize) -> Vec<String> {
    // A percent sign stays with its figure: the space between them is made unbreakable meanwhile.
    let lines = fold_at(&text.replace(" %", "\u{a0}%"), limit, &[&[' '], IN_NAMES]);
    lines.into_iter().map(|line| line.replace("\u{a0}%", " %")).collect()
}

/// As [`fold`], for names: they fill their lines.
pub fn fold_name(text: &str, limit: usize) -> Vec<String> {
    fold_at(text, limit, &[IN_NAMES])
}

fn fold_at(text: &str, limit: usize, separators: &[&[char]]) -> Vec<String> {
    let limit = limit.max(2);
    let mut lines = Vec::new();
    let mut rest = text.trim();
    while width(rest) > limit {
        let fitting = take(rest.chars(), limit).len();
        // A space may fall just beyond the line, since it is not shown.
        let room = if rest[fitting..].starts_with(' ') { fitting + 1 } else { fitting };
        // A break early in the line would leave most of it empty.
        let end_at =
            |chars: &&[char]| rest[..room].rfind(*chars).map(|at| at + 1).filter(|end| *end > room / 3);
        let end = separators.iter().find_map(end_at);
        let (line, after) = rest.split_at(end.unwrap_or(fitting));
        lines.push(line.trim_end().to_owned());
        rest = after.trim_start();
    }
    if !rest.is_empty() || lines.is_empty() {
        lines.push(rest.to_owned());
    }
    lines
}

/// A shell command over several lines, each but the last ending in a backslash, broken only at spaces outside
/// quotes: it can be pasted as it stands. A single argument longer than the line is left whole.
pub fn fold_command(command: &str, limit: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in shell_words(command) {
        let extra = if lines.len() > 1 { 2 } else { 0 };
        match lines.last_mut() {
            // Room for ` \` stays on every line, since only the end tells which is the last.
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

/// The command's arguments as written, quotes and backslashes included.
fn shell_words(command: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut quote, mut escaped) = (0, None, false);
    for (index, c) in command.char_indices() {
        if escaped {
            escaped = false;
            continue;
        }
        match (c, quote) {
            ('\\', None | Some('"')) => escaped = true,
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (' ', None) => {
                words.push(&command[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    words.push(&command[start..]);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_cut_name_keeps_its_tail() {
        assert_eq!(cut_middle("kernels/gemm[n=1024]", 12, "…"), "kern…n=1024]");
        assert_eq!(cut_middle("short", 12, "…"), "short");
    }

    #[test]
    fn prose_folds_at_spaces_and_names_after_separators() {
        assert_eq!(fold("one two three", 8), ["one two", "three"]);
        assert_eq!(fold_name("kernels/gemm[n=1024]", 13), ["kernels/gemm[", "n=1024]"]);
        assert_eq!(fold("", 8), [""]);
        assert_eq!(fold("more than 5 % of it", 11), ["more than", "5 % of it"]);
    }

    #[test]
    fn a_folded_command_can_be_pasted() {
        assert_eq!(fold_command("gate compare 'a b c' main", 20), ["gate compare \\", "  'a b c' main"]);
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
