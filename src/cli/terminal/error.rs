//! A [`Fault`] as a person reads it: where, what, and always what next.

use std::io::{self, Write};

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::model::{Fault, Location, is_unseen};
use crate::report::{COLUMNS, wrap};

/// Columns for the words next to `error: ` and `  = next: `.
const WORDS: usize = COLUMNS - 10;

/// Writes the fault and those chained to it, a blank line between two. `color`: with terminal escapes.
pub fn render_fault(fault: &Fault, color: bool, out: &mut impl Write) -> io::Result<()> {
    for (index, fault) in fault.each().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        match &fault.place {
            Location::Text { path, text, span } => {
                let path = path.display().to_string();
                writeln!(out, "{}", with_source(fault, &path, text, span.clone(), color))?;
            }
            place => without_source(fault, &place.to_string(), color, out)?,
        }
    }
    Ok(())
}

/// `path:line:column`, the line itself, carets below it, and the next step.
fn with_source(fault: &Fault, path: &str, text: &str, span: std::ops::Range<usize>, color: bool) -> String {
    // The gutter is as wide as the line's number; one digit is counted in `WORDS`.
    let number = text.as_bytes().iter().take(span.start).filter(|byte| **byte == b'\n').count() + 1;
    let gutter = number.ilog10() as usize;
    let what = wrap(&plain(&fault.what), WORDS).join("\n");
    let next = wrap(&plain(&fault.next), WORDS.saturating_sub(gutter)).join("\n");
    let annotation = AnnotationKind::Primary.span(first_line(text, span));
    let report = [Level::ERROR
        .primary_title(what)
        .element(Snippet::source(text).path(path).annotation(annotation))
        .element(Level::HELP.with_name("next").message(next))];
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    renderer.term_width(COLUMNS).render(&report)
}

fn without_source(fault: &Fault, place: &str, color: bool, out: &mut impl Write) -> io::Result<()> {
    let (red, bold, reset) = if color { ("\x1b[1;91m", "\x1b[1m", "\x1b[0m") } else { ("", "", "") };
    let what = plain(&format!("{place}: {}", fault.what));
    writeln!(out, "{red}error{reset}: {bold}{}{reset}", wrap(&what, WORDS).join("\n       "))?;
    writeln!(out, "  {bold}next{reset}: {}", wrap(&plain(&fault.next), WORDS).join("\n        "))
}

/// A span cut to the text and to its first line: carets under a whole list do not help.
fn first_line(text: &str, span: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let boundary =
        |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (start, end) = (boundary(span.start), boundary(span.end.max(span.start)));
    let line = text[start..end].find('\n').map_or(end, |at| start + at);
    start..line
}

/// Without control characters, for what is quoted from a file must not speak to the terminal, nor turn its reading order
/// around; and not without end, for the file may quote at length.
fn plain(text: &str) -> String {
    const LONGEST: usize = 1500;
    let end = if text.chars().nth(LONGEST).is_some() { "..." } else { "" };
    let shown = text.chars().take(LONGEST);
    let mut seen = String::new();
    for c in shown {
        match c {
            c if c.is_control() && c != '\n' => seen.push('\u{fffd}'),
            c if is_unseen(c) => seen.extend(c.escape_unicode()),
            c => seen.push(c),
        }
    }
    seen + end
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;

    fn render(fault: &Fault, color: bool) -> String {
        let mut out = Vec::new();
        render_fault(fault, color, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_place_in_a_file_is_shown_with_its_line_and_carets() {
        let text: Arc<str> = "a = 1\nprocesses = 0 # none\n".into();
        let fault = Fault::in_text(Path::new("gbench.toml"), &text, 18..19, "`processes` is 0", "write 1");
        let shown = render(&fault, false);
        for part in
            ["error: `processes` is 0", "gbench.toml:2:13", "processes = 0 # none", "^", "next: write 1"]
        {
            assert!(shown.contains(part), "{part} in\n{shown}");
        }
    }

    #[test]
    fn other_places_take_two_lines() {
        let fault = Fault::at_flag("--tag x", "no benchmark is tagged `x`", "write `y`");
        assert_eq!(render(&fault, false), "error: --tag x: no benchmark is tagged `x`\n  next: write `y`\n");
        assert!(render(&fault, true).contains("\x1b[1;91merror\x1b[0m"));
    }

    #[test]
    fn long_words_wrap_and_the_terminal_takes_no_orders_from_a_file() {
        let fault = Fault::at("x", "what \x1b[2J ".repeat(30), "next ".repeat(30));
        let shown = render(&fault, false);
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        assert!(!shown.contains('\x1b'));
    }

    #[test]
    fn any_span_can_be_rendered() {
        let text: Arc<str> = "é\n\tü = \x1b[2J\r\n".into();
        for start in 0..text.len() + 3 {
            for end in 0..text.len() + 3 {
                let fault = Fault::in_text(Path::new("f"), &text, start..end, "w", "n");
                assert!(render(&fault, false).contains("next: n"), "{start}..{end}");
            }
        }
    }
}
