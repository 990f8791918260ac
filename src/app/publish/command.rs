//! The commands that a person may write as a comment, in one form each:
//!
//! ```text
//! /gbench accept CASE... -- REASON
//! /gbench revoke [CASE...] [-- REASON]
//! ```
//!
//! A CASE is a name as the report prints it, where `*` matches anything, in quotes or backticks if it has a blank. The text after
//! ` -- ` up to the end of the comment is the reason.

use crate::compare::DecisionKind;

/// How every command begins.
pub(super) const PREFIX: &str = "/gbench";

/// Names of one command, and bytes of each.
const MAX_CASES: usize = 50;
const MAX_CASE: usize = 1000;

/// Characters of a reason.
const MAX_REASON: usize = 500;

/// A command that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AcceptCommand {
    pub kind: DecisionKind,
    pub cases: Vec<CasePattern>,
    /// In one line; empty where a revocation has none.
    pub reason: String,
}

/// A name in which `*` stands for anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CasePattern(pub String);

/// Reads a comment. `None`: it is not a command. Inner error: what is wrong with it, a sentence without a period.
pub(super) fn parse(body: &str) -> Option<Result<AcceptCommand, String>> {
    let rest = body.strip_prefix(PREFIX).filter(|rest| rest.starts_with([' ', '\t', '\r', '\n']))?;
    Some(read(rest))
}

fn read(text: &str) -> Result<AcceptCommand, String> {
    let again = text.lines().skip(1).any(|line| line.split_whitespace().next() == Some(PREFIX));
    if again {
        return Err("it has two commands: write a comment for each".into());
    }
    let (words, reason) = words(text)?;
    let mut words = words.into_iter();
    let kind = match words.next().as_deref() {
        Some("accept") => DecisionKind::Accept,
        Some("revoke") => DecisionKind::Revoke,
        _ => return Err("it neither accepts nor revokes: write `/gbench accept` or `/gbench revoke`".into()),
    };
    let cases: Vec<String> = words.collect();
    let reason = reason.unwrap_or_default();
    if kind == DecisionKind::Accept && cases.is_empty() {
        return Err("it names no case".into());
    }
    if kind == DecisionKind::Accept && reason.is_empty() {
        return Err("it gives no reason: write one behind ` -- `".into());
    }
    if cases.len() > MAX_CASES || cases.iter().any(|case| case.len() > MAX_CASE) {
        return Err(format!("it names more than {MAX_CASES} cases, or one of more than {MAX_CASE} bytes"));
    }
    if reason.chars().count() > MAX_REASON {
        return Err(format!("its reason has more than {MAX_REASON} characters"));
    }
    Ok(AcceptCommand { kind, cases: cases.into_iter().map(CasePattern).collect(), reason })
}

fn words(text: &str) -> Result<(Vec<String>, Option<String>), String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, behind) = match first {
            '"' | '\'' | '`' => {
                let inside = &rest[first.len_utf8()..];
                let closed = inside.split_once(first).ok_or_else(|| format!("a {first} has no other end"))?;
                if !(closed.1.is_empty() || closed.1.starts_with(char::is_whitespace)) {
                    return Err(format!("there is text directly after the closing {first}"));
                }
                closed
            }
            _ => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        if word == "--" && first == '-' {
            return Ok((words, Some(behind.split_whitespace().collect::<Vec<_>>().join(" "))));
        }
        words.push(word.to_owned());
        rest = behind.trim_start();
    }
    Ok((words, None))
}

impl CasePattern {
    pub(super) fn fits(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let Some(rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
        let parts: Vec<&str> = parts.collect();
        let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
        let mut rest = rest;
        for part in between {
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(kind: DecisionKind, cases: &[&str], reason: &str) -> AcceptCommand {
        let cases = cases.iter().map(|case| CasePattern((*case).to_owned())).collect();
        AcceptCommand { kind, cases, reason: reason.into() }
    }

    #[test]
    fn a_command_is_read_in_one_way() {
        use DecisionKind::{Accept, Revoke};
        for (text, expected) in [
            ("/gbench accept s/gemm -- wanted", command(Accept, &["s/gemm"], "wanted")),
            ("/gbench  accept\ts/a[n=8] s/b*   --  more\r\nexact -- now ", {
                command(Accept, &["s/a[n=8]", "s/b*"], "more exact -- now")
            }),
            ("/gbench accept `s/a (cold, cuda:H100)` \"s/b c\" -- x", {
                command(Accept, &["s/a (cold, cuda:H100)", "s/b c"], "x")
            }),
            ("/gbench accept \"--\" -- x", command(Accept, &["--"], "x")),
            ("/gbench revoke", command(Revoke, &[], "")),
            ("/gbench revoke s/a -- a mistake", command(Revoke, &["s/a"], "a mistake")),
        ] {
            assert_eq!(parse(text), Some(Ok(expected)), "{text}");
        }
        for none in
            ["", "accept s/a", " /gbench accept s/a -- x", "/gbench", "/gbenchmark accept", "> /gbench x"]
        {
            assert_eq!(parse(none), None, "{none}");
        }
        for wrong in [
            "/gbench approve s/a -- x",
            "/gbench Accept s/a -- x",
            "/gbench accept",
            "/gbench accept -- x",
            "/gbench accept s/a",
            "/gbench accept s/a --",
            "/gbench accept s/a reason",
            "/gbench accept `s/a -- x",
            "/gbench accept `s/a`b -- x",
            "/gbench accept s/a -- x\n/gbench accept s/b -- y",
        ] {
            assert!(matches!(parse(wrong), Some(Err(_))), "{wrong}");
        }
        let long = format!("/gbench accept s/a -- {}", "x".repeat(MAX_REASON + 1));
        assert!(matches!(parse(&long), Some(Err(_))));
        let many = format!("/gbench accept {}-- x", "s/a ".repeat(MAX_CASES + 1));
        assert!(matches!(parse(&many), Some(Err(_))));
    }

    #[test]
    fn only_a_star_is_special_in_a_name() {
        let fits = |pattern: &str, name: &str| CasePattern(pattern.into()).fits(name);
        for (pattern, name) in [
            ("s/gemm[n=8]", "s/gemm[n=8]"),
            ("s/*", "s/gemm[n=8]"),
            ("*", "anything"),
            ("s/*[n=8]", "s/gemm[n=8]"),
            ("*gemm*", "s/gemm[n=8]"),
            ("a*b*b", "abb"),
            ("s/gemm*", "s/gemm"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("s/gemm", "s/gemm[n=8]"),
            ("s/gem?", "s/gemm"),
            ("a*b*b", "ab"),
            ("[s]/gemm", "s/gemm"),
            ("", "s"),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }
}
