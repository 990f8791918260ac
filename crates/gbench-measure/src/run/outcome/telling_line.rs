//! The most informative line of a failed program's output, for tables. No decision depends on it.

use std::sync::LazyLock;

use regex::Regex;

use super::first_line::first_line;
use crate::run::process::io::capture::Capture;

/// The searched part of an output, at its end. A stack is printed after the error.
const SEARCHED: usize = 32 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Telling {
    pub line: String,
    pub last: bool,
}

impl Telling {
    pub(crate) fn verb(&self) -> &'static str {
        if self.last { "ends" } else { "says" }
    }
}

/// Beginnings of error lines in languages and tools. The last one is used: nothing caught that error.
static ERROR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let begins = [
        r"(?i:fatal )?(?i:error)\s*(\[\w+\])?\s*: ",
        r"(?i:fatal)\s*: ",
        r"panic: ",
        r"thread '.*' (\(\d+\) )?panicked at ",
        r"(E\s+|Caused by: |Uncaught )?[\w.$]*(Error|Exception)( \[\w+\])?(: |$)",
        r"Exception in thread ",
        r"terminate called ",
        r"\S+:\d+(:\d+)?: (fatal )?error: ",
    ];
    Regex::new(&format!("^({})", begins.join("|"))).ok()
});

/// Frames of a stack, notes and rulers, which show the place or extent of an error but not the error.
static BESIDE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let beside = [
        r"note: ",
        r"\S+\.(go|s):\d+( \+0x[0-9a-f]+)?$",
        r"goroutine \d+ \[",
        r"created by ",
        r"at \S.*[:)]",
        r"\d+: ",
        r#"File ".*", line \d+"#,
        r"exit status \d+$",
        r"={3,}.*={3,}$",
        r"!{3,}.*!{3,}$",
        r"npm (error|ERR!) A complete log",
    ];
    Regex::new(&format!("^({})", beside.join("|"))).ok()
});

static NPM: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^npm (error|ERR!) (?<text>.*\S)").ok());

fn is(pattern: &LazyLock<Option<Regex>>, line: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(line))
}

/// Lines that a tool prints when another one has failed, without a reason.
static ECHO: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let echoes = [
        r"ld returned \d+ exit status",
        r"linker command failed",
        r"could not compile",
        r"aborting due to",
        r"For more information about this error",
        r"build failed, waiting",
        r"(bench|test) failed, to rerun pass",
        r"\d+ targets? failed:",
        r"\*\*\* \[.*\] (Error|Fehler) \d+",
        r"ninja: build stopped",
        r"^FAILED: ",
        r"subcommand failed",
        r"Leaving directory",
        r"Configuring incomplete",
        r"error\(?s?\)? generated",
        r"\d+ errors? (detected|generated)",
    ];
    Regex::new(&format!("(?i){}", echoes.join("|"))).ok()
});

pub(crate) fn is_echo(line: &str) -> bool {
    is(&ECHO, line)
}

fn error(lines: &[String]) -> Option<Telling> {
    let found = lines.iter().rposition(|line| is(&ERROR, line) && !is_echo(line));
    let Some(at) = found else { return npm(lines) };
    let mut line = lines[at].clone();
    // Rust prints the message on the next line.
    if line.starts_with("thread '")
        && line.ends_with(':')
        && let Some(message) = lines.get(at + 1)
    {
        line = first_line(&format!("{line} {message}"));
    }
    // pytest's margin.
    if let Some(inner) = line.strip_prefix("E  ") {
        line = inner.trim_start().to_owned();
    }
    Some(Telling { line, last: at + 1 == lines.len() })
}

/// The first of npm's messages; a code together with the line after it.
pub(crate) fn npm(lines: &[String]) -> Option<Telling> {
    let pattern = NPM.as_ref()?;
    let mut words = lines.iter().filter_map(|line| Some(pattern.captures(line)?.name("text")?.as_str()));
    let first = words.next()?;
    let next = words.next().filter(|_| first.starts_with("code "));
    let line = next.map_or_else(|| first.to_owned(), |next| format!("{first}: {next}"));
    Some(Telling { line: first_line(&format!("npm error {line}")), last: false })
}

fn lines(text: &str) -> Vec<String> {
    text.lines().filter(|line| !line.trim().is_empty()).map(first_line).collect()
}

fn error_in(output: &Capture) -> Option<Telling> {
    error(&lines(&output.end(SEARCHED)))
}

/// The error in an output; else its last line that is not a frame or note; else its last one.
pub(crate) fn telling(output: &Capture) -> Option<Telling> {
    told(&output.end(SEARCHED))
}

fn told(text: &str) -> Option<Telling> {
    let lines = lines(text);
    let plain = || lines.iter().rfind(|line| !is(&BESIDE, line)).or(lines.last()).cloned();
    error(&lines).or_else(|| Some(Telling { line: plain()?, last: true }))
}

/// The same for two outputs: an error in either takes precedence over the last line of either.
pub(crate) fn telling_of(stderr: &Capture, stdout: &Capture) -> Option<Telling> {
    let errors = [stderr, stdout].into_iter().find_map(error_in);
    errors.or_else(|| [stderr, stdout].into_iter().find_map(telling))
}

/// The error of a program that only prints to stdout, like test runners. If there is text on stderr, `error: 1e-9` is a figure.
pub(super) fn error_on_stdout(stderr: &Capture, stdout: &Capture) -> Option<Telling> {
    error_in(stdout).filter(|_| telling(stderr).is_none())
}
