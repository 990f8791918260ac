use std::io::Write as _;

use proptest::prelude::*;

use super::commands::*;

/// True if the runner would take a line for a command: `::` after blanks, or `##[` anywhere.
fn obeyed(text: &str) -> bool {
    // Its reader ends a line at a carriage return, too.
    text.split(['\n', '\r']).any(|line| line.trim_start().starts_with("::") || line.contains("##["))
}

#[test]
fn commands_are_stopped_by_a_word_that_is_another_one_each_time() {
    let mut out = Vec::new();
    let token = stop(&mut out).unwrap();
    resume(&mut out, &token).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), format!("::stop-commands::{token}\n\n::{token}::\n"));
    assert_eq!(token.len(), 32);
    assert_ne!(token, stop(&mut Vec::new()).unwrap());
}

#[test]
fn a_tame_writer_passes_every_line_on_and_also_the_last() {
    let mut tame = CommandEscaper::new(Vec::new());
    for part in ["a:", ":b\n:", ":c\n", "::d"] {
        tame.write_all(part.as_bytes()).unwrap();
    }
    assert_eq!(String::from_utf8(tame.finish().unwrap()).unwrap(), "a::b\n: :c\n: :d\n");
}

/// The outputs as the runner reads them.
fn outputs(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let (name, delimiter) = line.split_once("<<").expect("a heredoc");
        let value: Vec<&str> = lines.by_ref().take_while(|line| *line != delimiter).collect();
        found.push((name.to_owned(), value.join("\n")));
    }
    found
}

#[test]
fn an_output_may_hold_what_ends_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("output");
    set_output(&file, "verdict", "pass").unwrap();
    let first = std::fs::read_to_string(&file).unwrap();
    // The delimiter of the one before, and what would begin a new output.
    let delimiter = first.lines().last().unwrap();
    let hostile = format!("x\n{delimiter}\nverdict=regressed\nverdict<<EOF\nbad\nEOF");
    set_output(&file, "record", &hostile).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let expected = [("verdict".to_owned(), "pass".to_owned()), ("record".to_owned(), hostile)];
    assert_eq!(outputs(&text), expected);
}

#[test]
fn an_output_begins_on_a_line_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("output");
    std::fs::write(&file, "left=open").unwrap();
    set_output(&file, "verdict", "pass").unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("left=open\nverdict<<gbench_"), "{text}");
    let fault = set_output(folder.path(), "verdict", "pass").unwrap_err();
    assert!(fault.what.contains("GITHUB_OUTPUT"), "{fault}");
}

#[test]
fn a_summary_stays_below_what_github_takes_also_with_what_was_there_before() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("summary");
    append_summary(&file, "# Short").unwrap();
    append_summary(&file, "more\n").unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "# Short\nmore\n");
    // Characters of three bytes: the budget is one of bytes.
    append_summary(&file, &"€€€€€\n".repeat(100_000)).unwrap();
    append_summary(&file, "too late").unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.len() < 1 << 20 && text.len() > (1 << 20) - 8192, "{}", text.len());
    assert!(text.ends_with("€\n\nThe rest does not fit into a summary: it is in the report.\n"));
}

proptest! {
    #[test]
    fn no_text_becomes_a_command(text in "(\\PC|[\\s\\r\\n:#\\[]|::|##\\[|\u{85}|\u{2028}|\u{1b}){0,40}") {
        prop_assert!(!obeyed(&line(&text)), "{:?}", line(&text));
        let mut tame = CommandEscaper::new(Vec::new());
        tame.write_all(text.as_bytes()).unwrap();
        let written = String::from_utf8(tame.finish().unwrap()).unwrap();
        prop_assert!(!obeyed(&written), "{written:?}");
        let command = annotation(Level::Error, Some(&text), Some(1), &text, &text);
        prop_assert_eq!(command.split(['\n', '\r']).count(), 1);
    }
}
