//! How the rows of a description fail, in words for the documentation.

use super::description::{Described, RowLayout, TextLayout};
use super::field::field_name;

const SKIPPED: &str = " (skipped)";
const LEFT_OUT: &str = " in place of a number (left out)";
const MISSING: &str = " (refused)";

/// A sign of a failure: `a`, `b` or `c` between two texts.
struct Sign {
    before: String,
    names: Vec<String>,
    after: &'static str,
}

impl Sign {
    fn of(before: impl Into<String>, names: Vec<String>, after: &'static str) -> Self {
        Self { before: before.into(), names, after }
    }

    fn said(&self) -> String {
        let names = match self.names.as_slice() {
            [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
            names => names.concat(),
        };
        format!("{}{names}{}", self.before, self.after)
    }
}

/// The signs of all layouts of a format, as in `FormatAbout::failures`.
pub(super) fn failures<'d>(layouts: impl Iterator<Item = &'d Described>) -> String {
    let mut signs: Vec<Sign> = Vec::new();
    for Sign { before, names, after } in layouts.flat_map(signs_of).filter(|sign| !sign.names.is_empty()) {
        let same = signs.iter().position(|known| known.before == before && known.after == after);
        let place = same.unwrap_or_else(|| {
            signs.push(Sign::of(before, Vec::new(), after));
            signs.len() - 1
        });
        for name in names {
            let known = &mut signs[place].names;
            if !known.contains(&name) {
                known.push(name);
            }
        }
    }
    if signs.is_empty() {
        return "nothing in the file; a row that is cut off (refused)".into();
    }
    signs.sort_by_key(|sign| [SKIPPED, LEFT_OUT, MISSING].iter().position(|after| *after == sign.after));
    signs.iter().map(Sign::said).collect::<Vec<_>>().join("; ")
}

fn signs_of(described: &Described) -> Vec<Sign> {
    let Described { layout, errors, positive, zero, equal, passed, failed, skipped, .. } = described;
    let (text, empty) = match layout {
        RowLayout::Text(text) => (Some(text), ""),
        RowLayout::Csv => (None, "an empty "),
        RowLayout::Json(_) => (None, "null as "),
        RowLayout::Auto => (None, "an empty or null "),
    };
    let all = |names: &[String]| names.iter().map(|name| quoted(name)).collect::<Vec<_>>();
    let words = |words: &[String]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>();
    let mut signs = Vec::new();
    let lines = text.into_iter().flat_map(|text| &text.failed);
    let lines = lines.map(|line| in_words(line.0.as_str())).collect();
    signs.push(Sign::of("a line with ", lines, ", for all rows"));
    for name in errors {
        signs.push(match text.and_then(|text| line_with(text, name)) {
            Some(line) => Sign::of("a line with ", vec![line], ""),
            None => Sign::of("a text in ", vec![quoted(name)], ""),
        });
    }
    for (name, values) in passed {
        signs.push(Sign::of(format!("{} other than ", quoted(name)), words(values), ""));
        signs.push(Sign::of("a row without ", vec![quoted(name)], MISSING));
    }
    signs.push(Sign::of("", all(positive), " of 0 or less"));
    signs.push(Sign::of("", all(zero), " other than 0"));
    let pairs = equal.iter().map(|[one, other]| format!("{} and {}", quoted(one), quoted(other)));
    signs.push(Sign::of("", pairs.collect(), " that differ"));
    signs.push(Sign::of("", words(&described.failed_words), " in place of a number"));
    let texts = described.texts_fail.then(|| "a text".to_owned());
    signs.push(Sign::of("", texts.into_iter().collect(), " in place of a number"));
    signs.push(Sign::of(empty, all(&may_be_empty(described)), ""));
    for (fields, after) in [(failed, ""), (skipped, SKIPPED)] {
        for (name, values) in fields {
            // The field of a text is a group of our expression.
            let name = text.map_or_else(|| format!("{} of ", quoted(name)), |_| String::new());
            signs.push(Sign::of(name, words(values), after));
        }
    }
    signs.push(Sign::of("", words(&described.absent_words), LEFT_OUT));
    let last = text.and_then(|text| text.last.as_ref()).map(|last| in_words(last.0.as_str()));
    signs.push(Sign::of("no line with ", last.into_iter().collect(), MISSING));
    signs
}

/// The figures of which an empty cell or a null is a failure. The end of a path has to be there, and so has a group of a text.
fn may_be_empty(described: &Described) -> Vec<String> {
    let is_path = |name: &str| ["$", "^", "@", "../"].iter().any(|start| name.starts_with(start));
    let is_kept = |name: &str| match described.layout {
        RowLayout::Text(_) => false,
        RowLayout::Csv => true,
        RowLayout::Auto | RowLayout::Json(_) => !is_path(name),
    };
    let needed = described.metrics.iter().filter(|metric| !metric.optional).map(|metric| &metric.field);
    needed.filter(|name| !name.is_empty() && !name.contains(" - ") && is_kept(name)).cloned().collect()
}

/// In a filter such as `[?@.name=='checks']`, the text names the element.
fn quoted(name: &str) -> String {
    let name = field_name(name);
    format!("`{}`", name.split('\'').nth(1).unwrap_or(&name))
}

/// The line of a text whose group is this field: the words of the group, or the line around it if it matches anything.
fn line_with(layout: &TextLayout, field: &str) -> Option<String> {
    let patterns = [&layout.row, &layout.begin, &layout.part, &layout.context].into_iter().flatten();
    let start = format!("(?<{field}>");
    patterns.map(|pattern| pattern.0.as_str()).find_map(|pattern| {
        let (_, group) = pattern.split_once(&start)?;
        let mut open = 1;
        let end = group.find(|c| {
            open += i32::from(c == '(') - i32::from(c == ')');
            open == 0
        });
        let own = in_words(group.get(..end?)?);
        Some(if own.contains(char::is_lowercase) { own } else { in_words(pattern) })
    })
}

/// A line that an expression matches, as words: `P99: ...` for `^P99:(\s+\S+)$`. Its alternatives follow each other.
fn in_words(pattern: &str) -> String {
    let mut text = String::new();
    let mut chars = pattern.chars().peekable();
    let mut before = None;
    while let Some(c) = chars.next() {
        let mut literal = None;
        let part = match c {
            '\\' => match chars.next() {
                Some('s') => " ",
                Some('d') => "N",
                Some(c) if !c.is_alphanumeric() => {
                    literal = Some(c);
                    ""
                }
                _ => "...",
            },
            '.' => "...",
            '|' => "` or `",
            '[' => {
                while chars.next().is_some_and(|c| c != ']') {}
                "..."
            }
            '{' => {
                // `-{100,}` is a rule.
                while chars.next().is_some_and(|c| c != '}') {}
                text.extend(before.into_iter().flat_map(|c| [c, c]));
                ""
            }
            '(' => {
                if chars.peek() == Some(&'?') {
                    while chars.next().is_some_and(|c| !">:".contains(c)) {}
                }
                ""
            }
            '^' | '$' | ')' | '*' | '+' | '?' => "",
            c => {
                literal = Some(c);
                ""
            }
        };
        if !(part == "..." && text.ends_with("...")) {
            text.push_str(part);
        }
        text.extend(literal);
        before = literal;
    }
    let words = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("`{}`", text.split("` or `").map(words).collect::<Vec<_>>().join("` or `"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_said_by_a_line_that_it_matches() {
        for (pattern, words) in [
            (r"^&&&& (PASSED|FAILED)", "`&&&& PASSED` or `FAILED`"),
            (r"^P99:(\s+\S+){3}$", "`P99: ...`"),
            (r"^={90,}\s*$", "`===`"),
            (r"^\[ INFO \] Throughput:|^\[ ERROR \]", "`[ INFO ] Throughput:` or `[ ERROR ]`"),
            (r"^==\d+== LL miss rate:", "`==N== LL miss rate:`"),
            (r"^(?<name>\S.*?)\s+: \[(?<state>\w+)\] [\d.]+$", "`... : [...] ...`"),
        ] {
            assert_eq!(in_words(pattern), words);
        }
    }

    #[test]
    fn each_key_of_a_description_that_fails_a_row_is_said() {
        let described: Described = toml::from_str(
            r#"
            layout.text.row = ['^(?<a>\d+) (?<end>Fail)?$', '^stopped: (?<why>.*)$']
            layout.text.failed = ['^FAILED$']
            layout.text.last = '^done'
            errors = ["end", "why", "other"]
            positive = ["rate"]
            zero = ["lost", "$.list[?@.name=='failed'].value"]
            equal = [["asked", "answered"]]
            passed = { status = ["ok", "1"] }
            failed = { status = ["aborted"] }
            skipped = { status = ["none"] }
            failed_words = ["OOM"]
            absent_words = ["N/A"]
            texts_fail = true
            "#,
        )
        .unwrap();
        assert_eq!(
            failures([&described].into_iter()).split("; ").collect::<Vec<_>>(),
            [
                "a line with `FAILED`, for all rows",
                "a line with `Fail` or `stopped: ...`",
                "a text in `other`",
                "`status` other than `ok` or `1`",
                "`rate` of 0 or less",
                "`lost` or `failed` other than 0",
                "`asked` and `answered` that differ",
                "`OOM` or a text in place of a number",
                "`aborted`",
                "`none` (skipped)",
                "`N/A` in place of a number (left out)",
                "a row without `status` (refused)",
                "no line with `done` (refused)",
            ]
        );
        let metrics = "metrics = [{ field = 'a.b' }, { field = 'c' }, { field = 'd', optional = true }]";
        for (layout, words) in [
            ("layout = 'csv'", "an empty `a.b` or `c`"),
            ("layout.json = '$'", "null as `a.b` or `c`"),
            ("layout.text.row = ['a']", "nothing in the file; a row that is cut off (refused)"),
        ] {
            let described: Described = toml::from_str(&format!("{layout}\n{metrics}")).unwrap();
            assert_eq!(failures([&described].into_iter()), words);
        }
    }
}
