//! The line of a program's output that tells most about why it ended badly: what a table shows of it. Nothing is decided
//! by it.

use std::sync::LazyLock;

use regex::Regex;

use super::io::capture::Capture;
use super::lines::first_line;

/// What of an output is searched, from its end. A stack is printed behind the error.
const SEARCHED: usize = 32 << 10;

/// A line of output, cleaned for a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Telling {
    pub line: String,
    /// Nothing stands behind it, or nothing was found that looks like an error.
    pub last: bool,
}

impl Telling {
    /// `says` or `ends`, before the line.
    pub(super) fn verb(&self) -> &'static str {
        if self.last { "ends" } else { "says" }
    }
}

/// How languages and tools begin the line with the error: the last one counts, which is the one that nothing caught.
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

/// Frames of a stack, notes and rulers: they say where or how much, and not what.
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

/// npm's own words, of which the first say what failed.
static NPM: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^npm (error|ERR!) (?<text>.*\S)").ok());

fn is(pattern: &LazyLock<Option<Regex>>, line: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(line))
}

/// Lines that a tool prints when another one has failed: they give no reason.
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

pub(super) fn is_echo(line: &str) -> bool {
    is(&ECHO, line)
}

/// The line of an output that looks like its error.
fn error(lines: &[String]) -> Option<Telling> {
    let found = lines.iter().rposition(|line| is(&ERROR, line) && !is_echo(line));
    let Some(at) = found else { return npm(lines) };
    let mut line = lines[at].clone();
    // Rust gives the message on the next line.
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

/// The first of npm's words; a code together with what follows it.
fn npm(lines: &[String]) -> Option<Telling> {
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

/// The error in a text, if a line of it looks like one.
fn error_in(output: &Capture) -> Option<Telling> {
    error(&lines(&output.end(SEARCHED)))
}

/// The error in an output; else its last line, but for frames and notes; else its last one.
pub(super) fn telling(output: &Capture) -> Option<Telling> {
    told(&output.end(SEARCHED))
}

fn told(text: &str) -> Option<Telling> {
    let lines = lines(text);
    let plain = || lines.iter().rfind(|line| !is(&BESIDE, line)).or(lines.last()).cloned();
    error(&lines).or_else(|| Some(Telling { line: plain()?, last: true }))
}

/// Likewise of two outputs: an error in either comes before the last line of either.
pub(super) fn telling_of(stderr: &Capture, stdout: &Capture) -> Option<Telling> {
    let errors = [stderr, stdout].into_iter().find_map(error_in);
    errors.or_else(|| [stderr, stdout].into_iter().find_map(telling))
}

/// The error of a program that prints to stdout alone, as test runners do. Beside words on stderr, `error: 1e-9` is a figure.
pub(super) fn error_on_stdout(stderr: &Capture, stdout: &Capture) -> Option<Telling> {
    error_in(stdout).filter(|_| telling(stderr).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> String {
        told(text).map(|told| told.line).unwrap_or_default()
    }

    #[test]
    fn the_patterns_are_regular_expressions() {
        assert!(ERROR.is_some() && ECHO.is_some() && BESIDE.is_some() && NPM.is_some());
    }

    #[test]
    fn the_error_is_shown_and_not_what_stands_behind_it() {
        let rust = "Benchmarking a\n\nthread 'main' (4071) panicked at benches/sorting.rs:12:9:\nno data here\n\
                    stack backtrace:\n   0: rust_begin_unwind\n             at /rustc/abc/library/std/src/panicking.rs:652:5\n\
                    note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.\n";
        assert_eq!(line(rust), "thread 'main' (4071) panicked at benches/sorting.rs:12:9: no data here");
        let bench = format!("{rust}error: bench failed, to rerun pass `--bench sorting`\n");
        assert_eq!(line(&bench), line(rust));
        let go = "goos: linux\npanic: index out of range [recovered]\n\tpanic: index out of range\n\ngoroutine 35 [running]:\n\
                  testing.(*B).runN(0xc0000, 0x1)\n\t/usr/lib/go-1.19/src/testing/benchmark.go:193 +0x102\ncreated by testing.(*B).run1\n\
                  \t/usr/lib/go-1.19/src/testing/benchmark.go:284 +0x6c\nexit status 2\n";
        assert_eq!(line(go), "panic: index out of range");
        let pytest = "==== ERRORS ====\n____ ERROR collecting test_a.py ____\nImportError while importing test module '/w/test_a.py'.\n\
                      Traceback:\ntest_a.py:1: in <module>\n    import nothing\nE   ModuleNotFoundError: No module named 'nothing'\n\
                      ==== short test summary info ====\nERROR test_a.py\n!!!!! Interrupted: 1 error during collection !!!!!\n\
                      === 1 error in 0.17s ===\n";
        assert_eq!(line(pytest), "ModuleNotFoundError: No module named 'nothing'");
        let npm = "npm error code EUSAGE\nnpm error\nnpm error `npm ci` needs a package-lock.json\nnpm error\n\
                   npm error A complete log of this run can be found in: /root/.npm/_logs/x.log\n";
        assert_eq!(line(npm), "npm error code EUSAGE: `npm ci` needs a package-lock.json");
        let node = "/w/bench.js:3\nthrow new Error(\"no\");\n^\n\nError [ERR_X]: no\n    at Object.<anonymous> (/w/bench.js:3:7)\n\
                    \nNode.js v22.1.0\n";
        assert_eq!(line(node), "Error [ERR_X]: no");
        let java =
            "Exception in thread \"main\" java.lang.IllegalStateException: no\n\tat a.B.main(B.java:3)\n";
        assert_eq!(line(java), "Exception in thread \"main\" java.lang.IllegalStateException: no");
    }

    #[test]
    fn without_an_error_the_last_line_that_is_more_than_a_note_or_a_frame() {
        assert_eq!(line("first\nsomething went wrong\n"), "something went wrong");
        assert_eq!(line("something went wrong\nnote: see the manual\n"), "something went wrong");
        assert_eq!(line("note: see the manual\n"), "note: see the manual");
        assert_eq!(told(" \n"), None);
        assert_eq!(told("x\nerror: bad\n").map(|told| told.verb()), Some("ends"));
        assert_eq!(told("error: bad\nx\n").map(|told| told.verb()), Some("says"));
    }
}
