//! The commands of a step to its runner: lines in the log, and the files behind `GITHUB_OUTPUT` and
//! `GITHUB_STEP_SUMMARY`.
//!
//! The runner obeys every line of a step's output that looks like a command, whatever its author. So text from elsewhere
//! goes through [`line()`] or [`CommandEscaper`] on its way to the log, through [`data`] or [`property`] on its way into
//! a command, and between [`stop`] and [`resume`]. Facts: docs.github.com, "Workflow commands for GitHub Actions"; the
//! runner itself reads `::` at the beginning of a line, after any blanks, and the older `##[` anywhere in it.

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use rand::RngExt;

use gbench_model::{Fault, Result, is_unseen};

/// Bytes of one step's summary that are safe: GitHub drops a summary of more than 1 MiB whole.
pub(crate) const SUMMARY: usize = (1 << 20) - 4096;

/// Annotations of one level that the runner takes from a step.
pub const ANNOTATIONS: usize = 10;

/// The severity of an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Level {
    Notice,
    Warning,
    Error,
}

/// Text as the message of a command, in which every character can be seen.
pub fn data(text: &str) -> String {
    seen(text, |c| matches!(c, '\n' | '\r' | '\t'))
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Text in which every character can be seen, but for those that are `left`: control characters become U+FFFD, those that
/// turn the reading order around or have no width their code, such as `\u{202e}`.
pub fn seen(text: &str, left: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if left(c) => out.push(c),
            c if c.is_control() => out.push('\u{fffd}'),
            // These only choose between two pictures of the sign before them, and our own signs have them.
            '\u{fe00}'..='\u{fe0f}' => out.push(c),
            c if is_unseen(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Text as the value of a command's property.
pub fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// `::error file=a.py,line=3,title=t::message`, one line without its end. An empty title is left out, and so is a line
/// without a path.
pub fn annotation(level: Level, path: Option<&str>, at: Option<u32>, title: &str, message: &str) -> String {
    let at = at.filter(|_| path.is_some()).map(|at| at.to_string());
    let title = Some(title).filter(|title| !title.is_empty());
    let properties = [("file", path), ("line", at.as_deref()), ("title", title)];
    let given: Vec<String> = properties
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", property(value?))))
        .collect();
    let blank = if given.is_empty() { "" } else { " " };
    format!("::{}{blank}{}::{}", level.into_str(), given.join(","), data(message))
}

/// One line for the log that is never a command, whatever its text: control characters, line breaks among them, become
/// U+FFFD, what turns the reading order around its code, and a blank parts what a command begins with.
pub fn line(text: &str) -> String {
    let text = seen(text, |c| c == '\t').replace("##[", "## [");
    let body = text.trim_start();
    match body.strip_prefix("::") {
        Some(rest) => format!("{}: :{rest}", &text[..text.len() - body.len()]),
        None => text,
    }
}

/// Tells the runner to obey nothing until [`resume`]; the token is 128 random bits.
#[must_use = "the runner obeys no command until it reads the token"]
pub fn stop(out: &mut impl Write) -> io::Result<String> {
    let token = token();
    writeln!(out, "::stop-commands::{token}")?;
    out.flush()?;
    Ok(token)
}

/// Ends what [`stop`] began.
pub fn resume(out: &mut impl Write, token: &str) -> io::Result<()> {
    // On a separate line, also where the text before it has no line end.
    writeln!(out, "\n::{token}::")?;
    out.flush()
}

fn token() -> String {
    format!("{:032x}", rand::rng().random::<u128>())
}

/// Passes lines on to the log, each made harmless by [`line()`].
pub struct CommandEscaper<W: Write> {
    out: W,
    held: Vec<u8>,
}

impl<W: Write> CommandEscaper<W> {
    pub fn new(out: W) -> Self {
        Self { out, held: Vec::new() }
    }

    fn pass(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        let text = String::from_utf8_lossy(&held);
        writeln!(self.out, "{}", line(&text))
    }

    /// Passes on a last line that has no end. Dropping does not: errors would go unseen.
    pub fn finish(mut self) -> io::Result<W> {
        if !self.held.is_empty() {
            self.pass()?;
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

impl<W: Write> Write for CommandEscaper<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            match byte {
                b'\n' => self.pass()?,
                byte => self.held.push(*byte),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Appends an output of the step to the file that `GITHUB_OUTPUT` names. The value may contain anything: its delimiter is
/// drawn each time. Errors: the file cannot be written. Exit code 2.
pub fn set_output(file: &Path, name: &str, value: &str) -> Result<()> {
    let delimiter = loop {
        let delimiter = format!("gbench_{}", token());
        if !value.contains(&delimiter) {
            break delimiter;
        }
    };
    append(file, &format!("{name}<<{delimiter}\n{value}\n{delimiter}\n"))
        .map_err(|error| unwritable(file, "GITHUB_OUTPUT", &error))
}

/// Appends Markdown to the step's summary, of which `SUMMARY` bytes are used at most: the rest is cut at the end of a
/// line, with a note. Errors: the file cannot be written. Exit code 2.
pub fn append_summary(file: &Path, markdown: &str) -> Result<()> {
    const CUT: &str = "\n\nThe rest does not fit into a summary: it is in the report.\n";
    let used = std::fs::metadata(file).map_or(0, |metadata| metadata.len()) as usize;
    // A line break in front, and one behind.
    let room = SUMMARY.saturating_sub(used + 2);
    let text = if markdown.len() <= room {
        format!("{}\n", markdown.trim_end_matches('\n'))
    } else {
        match room.checked_sub(CUT.len()) {
            Some(room) => format!("{}{CUT}", lines_within(markdown, room)),
            None => return Ok(()),
        }
    };
    append(file, &text).map_err(|error| unwritable(file, "GITHUB_STEP_SUMMARY", &error))
}

fn lines_within(text: &str, bytes: usize) -> &str {
    let end = text.as_bytes()[..bytes.min(text.len())].iter().rposition(|byte| *byte == b'\n');
    &text[..end.unwrap_or(0)]
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
    let mut last = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    let begin = if last == [b'\n'] { "" } else { "\n" };
    file.write_all(format!("{begin}{text}").as_bytes())
}

fn unwritable(file: &Path, variable: &str, error: &io::Error) -> Fault {
    let what = format!("{variable} cannot be written: {error}");
    Fault::at_path(file, what, format!("leave {variable} as the runner sets it, or unset it"))
        .caused_by(error)
}
