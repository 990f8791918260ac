//! `{name}` in a command's arguments. Values never pass through a shell, so nothing needs quoting.

use std::ops::Range;

use gbench_model::Params;

#[derive(Debug, PartialEq)]
pub(crate) enum Piece<'a> {
    Literal(&'a str),
    Param(&'a str),
}

/// Splits an argument at its parameters; `{{` and `}}` become braces. Errors: a brace without its partner.
pub(crate) fn pieces(argument: &str) -> Result<Vec<Piece<'_>>, char> {
    let mut found = Vec::new();
    let mut rest = argument;
    while let Some(at) = rest.find(['{', '}']) {
        found.push(Piece::Literal(&rest[..at]));
        let tail = &rest[at..];
        if tail.starts_with("{{") || tail.starts_with("}}") {
            found.push(Piece::Literal(&tail[..1]));
            rest = &tail[2..];
        } else if let Some(end) = tail.starts_with('{').then(|| tail.find('}')).flatten() {
            found.push(Piece::Param(&tail[1..end]));
            rest = &tail[end + 1..];
        } else {
            return Err(if tail.starts_with('{') { '{' } else { '}' });
        }
    }
    found.push(Piece::Literal(rest));
    Ok(found)
}

/// The command with each `{name}` replaced by the parameter's value. A single brace and an unknown name stay; a checked suite
/// has neither.
pub fn substitute(argv: &[String], params: &Params) -> Vec<String> {
    argv.iter().map(|argument| with_params(argument, params)).collect()
}

/// A text in which `{name}` is the value of that parameter.
pub(crate) fn with_params(argument: &str, params: &Params) -> String {
    let Ok(pieces) = pieces(argument) else { return argument.to_owned() };
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Literal(text) => (*text).to_owned(),
            Piece::Param(name) => params.get(*name).map_or_else(|| format!("{{{name}}}"), |v| v.to_string()),
        })
        .collect()
}

/// The place of `word` in `source` as a whole word.
pub(crate) fn find_word(source: &str, word: &str) -> Option<Range<usize>> {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    source.match_indices(word).map(|(at, _)| at..at + word.len()).find(|range| {
        !inside(source[..range.start].chars().next_back()) && !inside(source[range.end..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gbench_model::ParamValue;

    #[test]
    fn parameters_are_put_in_and_doubled_braces_are_braces() {
        let params = Params::from([
            ("n".into(), ParamValue::Int(8)),
            ("name".into(), ParamValue::Text("a b; rm -rf {n}".into())),
        ]);
        let argv = ["./x", "--n={n}{n}", "{{\"n\": {n}}}", "{name}"].map(String::from);
        assert_eq!(substitute(&argv, &params), ["./x", "--n=88", "{\"n\": 8}", "a b; rm -rf {n}"]);
    }

    #[test]
    fn a_lone_brace_is_found() {
        assert_eq!(pieces("a{b"), Err('{'));
        assert_eq!(pieces("a}b"), Err('}'));
        assert_eq!(pieces("{a"), Err('{'));
        assert_eq!(pieces("{}").unwrap()[1], Piece::Param(""));
    }

    #[test]
    fn a_word_is_not_found_inside_another() {
        assert_eq!(find_word("nn * n_ + n > 1", "n"), Some(10..11));
        assert_eq!(find_word("\"m\" è n", "n"), Some(7..8));
        assert_eq!(find_word("nn", "n"), None);
    }
}
