//! The abilities of the reader's terminal: its width, and whether colour and Unicode make sense there.

use std::io::IsTerminal;

use crate::report::Style;

/// Wider lines of prose are tiring to read, and tables do not need the room.
const MAX_COLUMNS: u16 = 120;

/// The style for standard output as it is now.
pub(crate) fn of_stdout() -> Style {
    let terminal = std::io::stdout().is_terminal();
    let size = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0);
    style(terminal, size, variable)
}

/// True if faults on standard error may be coloured.
pub(crate) fn stderr_has_color() -> bool {
    style(std::io::stderr().is_terminal(), None, variable).color
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// `size`: the terminal's columns, if known. `variable`: set and non-empty environment variables.
fn style(terminal: bool, size: Option<u16>, variable: impl Fn(&str) -> Option<String>) -> Style {
    let stated = variable("COLUMNS").and_then(|columns| columns.parse().ok());
    let width = stated.or(size).unwrap_or(Style::PLAIN.width).min(MAX_COLUMNS);
    let dumb = variable("TERM").is_some_and(|term| term == "dumb");
    let color = terminal && !dumb && variable("NO_COLOR").is_none();
    // Unset says nothing, as in most containers, whose terminals speak UTF-8 all the same.
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable);
    let unicode = locale.is_none_or(|locale| {
        let locale = locale.to_lowercase();
        locale.ends_with("utf-8") || locale.ends_with("utf8")
    });
    Style { width, color, unicode }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(terminal: bool, size: Option<u16>, variables: &[(&str, &str)]) -> Style {
        style(terminal, size, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn colour_is_for_terminals_that_want_it() {
        assert!(with(true, Some(100), &[("TERM", "xterm")]).color);
        assert!(!with(false, None, &[]).color);
        assert!(!with(true, Some(100), &[("NO_COLOR", "1")]).color);
        assert!(!with(true, Some(100), &[("TERM", "dumb")]).color);
    }

    #[test]
    fn the_width_is_stated_or_asked_or_eighty_and_never_too_wide() {
        assert_eq!(with(false, None, &[]).width, 80);
        assert_eq!(with(true, Some(100), &[]).width, 100);
        assert_eq!(with(true, Some(100), &[("COLUMNS", "70")]).width, 70);
        assert_eq!(with(true, Some(300), &[]).width, 120);
        assert_eq!(with(true, None, &[("COLUMNS", "wide")]).width, 80);
    }

    #[test]
    fn a_locale_without_utf_8_gets_ascii() {
        assert!(with(false, None, &[]).unicode);
        assert!(with(false, None, &[("LANG", "de_DE.UTF-8")]).unicode);
        assert!(with(false, None, &[("LANG", "C.utf8")]).unicode);
        assert!(!with(false, None, &[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]).unicode);
    }
}
