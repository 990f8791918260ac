//! Escapes untrusted text, one function per destination. Names, messages and commands in a document may come from a
//! fork's pull request: they must not break a table, run a terminal's escape sequence, reverse the reading order, mention
//! a person, create a link or become a spreadsheet's formula.

use std::borrow::Cow;
use std::fmt::Write;

use gbench_model::is_unseen;

/// Control and invisible characters that change how their surroundings read.
fn is_invisible(c: char) -> bool {
    c.is_control() || is_unseen(c)
}

/// One line of text with only visible characters: line breaks and tabs become a space, other control, bidirectional and
/// zero-width characters their code (`\u{1b}`).
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => out.push(' '),
            c if is_invisible(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// [`visible`] text in ASCII: our own signs become their usual substitutes, all others their code.
pub(crate) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '…' => out.push_str("..."),
            'µ' | 'μ' => out.push('u'),
            '±' => out.push_str("+-"),
            '→' => out.push_str("->"),
            // `61 °C` is `61 C`.
            '°' => {}
            '✓' => out.push('+'),
            '✗' => out.push('x'),
            '–' | '—' => out.push('-'),
            '‘' | '’' => out.push('\''),
            '“' | '”' => out.push('"'),
            c if c.is_ascii() => out.push(c),
            c => out.extend(c.escape_unicode()),
        }
    }
    out
}

/// Prose for Markdown; text between two backticks becomes code. Other markup of Markdown or HTML becomes numeric
/// entities. A zero-width space keeps the host from turning `@name`, `#12`, `!12`, `GH-12`, `:smile:` and URLs into
/// mentions, links and pictures: it searches the rendered text, where an entity alone has no effect. The result may be placed at
/// the start of a line.
pub(crate) fn markdown(text: &str) -> String {
    let text = visible(text);
    let text = text.trim_matches(' ');
    let parts: Vec<&str> = text.split('`').collect();
    let paired = parts.len() % 2 == 1 && parts.iter().skip(1).step_by(2).all(|part| !part.trim().is_empty());
    if paired {
        let part = |(index, part): (usize, &&str)| match index % 2 {
            0 if index == 0 => plain(part, list_marker(part)),
            0 => plain(part, None),
            // Two adjacent spans of backticks would be read as one.
            _ => code_element(part),
        };
        parts.iter().enumerate().map(part).collect()
    } else {
        plain(text, list_marker(text))
    }
}

/// The position of the sign that makes the start of a line a list's item or a rule: `- x`, `--`, `+`, `1. x`, `2)`. And of
/// the slash that makes it a command to GitLab, which it would carry out as the account that publishes: `/merge`.
fn list_marker(text: &str) -> Option<usize> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mut rest = text[digits..].chars();
    match (digits, rest.next()?, rest.next()) {
        (0, '-' | '+', Some('0'..='9' | '.')) => None,
        (0, '/', _) => Some(0),
        (0, '-' | '+', _) | (1.., '.' | ')', None | Some(' ')) => Some(digits),
        _ => None,
    }
}

/// [`visible`] text as literal Markdown. `also`: the position of a character that is markup only there.
fn plain(text: &str, also: Option<usize>) -> String {
    const BREAK: &str = "&#8203;";
    let mut out = String::with_capacity(text.len() + 16);
    for (index, c) in text.char_indices() {
        let (before, after) = text.split_at(index);
        if c == '.' && ends_in_www(before) {
            out.push_str(BREAK);
        }
        if also == Some(index) {
            numeric(&mut out, c);
        } else {
            entity(&mut out, c);
        }
        let breaks = match c {
            '@' | '#' => true,
            ':' => after.starts_with("://") || starts_shortcode(after),
            '-' => before.ends_with("GH") || before.ends_with("GL"),
            // GitLab's requests, labels, milestones, snippets, epics and alerts.
            '!' | '~' | '%' | '$' | '&' | '^' => {
                after[1..].starts_with(|next: char| next.is_alphanumeric() || next == '"')
            }
            _ => false,
        };
        if breaks {
            out.push_str(BREAK);
        }
    }
    out
}

fn ends_in_www(text: &str) -> bool {
    text.len() >= 3 && text.as_bytes()[text.len() - 3..].eq_ignore_ascii_case(b"www")
}

/// True if the text starts like `:smile:`.
fn starts_shortcode(text: &str) -> bool {
    let name = text[1..].trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "_+-".contains(c));
    name.len() + 1 < text.len() && name.starts_with(':')
}

/// A name for Markdown, as inline code: hosts search for no mentions in code, and a copied name stays exact. Usual names
/// are in backticks, others in [`code_element`], which supports backticks and, within a table, pipes.
pub(crate) fn markdown_code(text: &str) -> String {
    let usual = |c: char| c.is_ascii_alphanumeric() || " -_./=,:;()[]+%…".contains(c);
    if !text.is_empty() && text.trim() == text && text.chars().all(usual) {
        format!("`{text}`")
    } else {
        code_element(text)
    }
}

/// [`markdown_code`] for a narrow column: a long unbroken name gets break opportunities, which are not part of a copied
/// text.
pub(crate) fn markdown_code_folding(text: &str) -> String {
    if text.split(' ').any(|word| word.chars().count() > LONGEST_WORD) {
        code_in_html(text, true)
    } else {
        markdown_code(text)
    }
}

/// Characters after which a name in a narrow column may be broken; after a separator, half of them.
const LONGEST_WORD: usize = 30;

fn code_element(text: &str) -> String {
    code_in_html(text, false)
}

/// A name as inline code in HTML. URLs become links even there, so an invisible break opportunity splits them: an entity
/// has no effect, because the host searches the rendered text.
fn code_in_html(text: &str, folding: bool) -> String {
    const CUT: &str = "<wbr>";
    let text = visible(text);
    let mut out = String::from("<code>");
    let mut since_cut = 0;
    for (index, c) in text.char_indices() {
        since_cut = if c == ' ' { 0 } else { since_cut + 1 };
        if c == '@' || c == '.' && ends_in_www(&text[..index]) {
            out.push_str(CUT);
        }
        entity(&mut out, c);
        let room = if "/_-,=[(:.".contains(c) { LONGEST_WORD / 2 } else { LONGEST_WORD };
        if c == ':' && text[index..].starts_with("://") || folding && since_cut >= room {
            out.push_str(CUT);
            since_cut = 0;
        }
    }
    out.push_str("</code>");
    out
}

/// Letters, digits and harmless punctuation are unchanged; all other ASCII becomes a numeric entity.
fn entity(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() || !c.is_ascii() || " -./=,:;()%+'?".contains(c) {
        out.push(c);
    } else {
        numeric(out, c);
    }
}

fn numeric(out: &mut String, c: char) {
    // Writing to a String cannot fail.
    let _ = write!(out, "&#{};", c as u32);
}

/// A fenced block whose fence is longer than any run of backticks inside. Line breaks stay; other control characters
/// become their code.
pub(crate) fn markdown_block(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let lines: Vec<_> = text.lines().map(visible).collect();
    format!("{fence}{language}\n{}\n{fence}\n", lines.join("\n"))
}

/// [`visible`] text within an element or a quoted attribute of XML.
pub(crate) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A text cell for CSV. One that begins like a formula gets an apostrophe; numbers never pass through here. The JSON
/// document contains the exact text.
pub(crate) fn csv(text: &str) -> String {
    let text = visible(text);
    if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text.into_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The inverse of [`entity`].
    fn decoded(text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find("&#") {
            let end = start + rest[start..].find(';').expect("an entity ends");
            out.push_str(&rest[..start]);
            out.push(char::from_u32(rest[start + 2..end].parse().unwrap()).unwrap());
            rest = &rest[end + 1..];
        }
        out + rest
    }

    #[test]
    fn a_command_and_a_reference_of_gitlab_are_plain_text() {
        assert_eq!(markdown("/merge"), "&#47;merge");
        assert_eq!(markdown("a/b"), "a/b");
        for (reference, sign) in
            [("!12", "&#33;"), ("~bug", "&#126;"), ("%1.0", "%"), ("$7", "&#36;"), ("&3", "&#38;")]
        {
            assert_eq!(markdown(reference), format!("{sign}&#8203;{}", &reference[1..]), "{reference}");
        }
        assert_eq!(markdown("GL-12"), "GL-&#8203;12");
        assert_eq!(markdown("5 % of 7%"), "5 % of 7%");
    }

    proptest! {
        #[test]
        fn escaped_markdown_holds_no_special_character(text in "(\\PC|[|`@<>#*_~\\[\\]\\\\&!$\n\r\u{202e}\u{1b}]|://|www\\.){0,40}") {
            let prose = markdown(&text);
            for (escaped, whole) in [(prose, false), (code_element(&text), true), (code_in_html(&text, true), true)] {
                let inner = escaped.replace("<code>", "").replace("</code>", "");
                let (cut, inner) = (inner.clone(), inner.replace("<wbr>", ""));
                let bare = inner.replace("&#", "");
                prop_assert!(!bare.contains(|c| "|`@<>#*_~[]\\&!${}\"^".contains(c)), "{inner}");
                prop_assert!(!inner.chars().any(is_invisible), "{inner:?}");
                prop_assert!(!cut.contains("://") && !cut.to_lowercase().contains("www."), "{cut}");
                let (read, shown) = (decoded(&inner).replace('\u{200b}', ""), visible(&text));
                if whole {
                    prop_assert_eq!(read, shown)
                } else {
                    prop_assert_eq!(read.replace('`', ""), shown.trim_matches(' ').replace('`', ""))
                }
            }
        }

        #[test]
        fn ascii_text_is_ascii_and_visible(text in ".{0,40}") {
            prop_assert!(ascii(&text).chars().all(|c| c.is_ascii() && !c.is_ascii_control()));
        }
    }
}
