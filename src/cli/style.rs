//! What the reader's terminal can show: asked once, here, and passed on.

use console::Term;

use crate::report::Style;

/// The style for standard output: colour on a terminal unless NO_COLOR is set or TERM is `dumb`, 80 columns elsewhere.
pub fn stdout() -> Style {
    of(&Term::stdout())
}

/// Likewise for standard error, where faults go.
pub fn stderr() -> Style {
    of(&Term::stderr())
}

fn of(term: &Term) -> Style {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if !term.is_term() {
        return Style { unicode: has_utf8(), ..Style::PLAIN };
    }
    let (_, columns) = term.size();
    Style { width: columns, color: !set("NO_COLOR") && !dumb, unicode: has_utf8() }
}

/// By the locale's variables in their order of force; nothing said counts as yes, as on any modern system.
fn has_utf8() -> bool {
    let said = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(|name| std::env::var(name).ok());
    let mut said = said.filter(|value| !value.is_empty());
    said.next().is_none_or(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}
