//! The interface of a format of result files: how a file is recognised, and what is read from it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use memchr::{memchr, memmem, memrchr};

use crate::adapters::interface::adapter::{LoadFields, Reading, Reads};
use crate::adapters::interface::output::{OutputFiles, Place, ReadError};
use gbench_model::Unread;

/// A kind of file, or of text, in which a program stores its results. Each method is pure.
pub trait ResultFormat: Sync {
    /// The name for `--format NAME` and `harness = "NAME"`: lower-case letters, digits and `-`.
    fn name(&self) -> &'static str;

    fn about(&self) -> FormatAbout;

    /// True if the file certainly has this format, by features of this format alone. A table whose columns could mean
    /// anything is never recognised.
    ///
    /// Every format inspects every file: check first whether the format's words occur at all ([`ResultFile::holds`],
    /// [`ResultFile::any_line`]), and read a document only as far as necessary.
    fn recognises(&self, file: &ResultFile) -> bool;

    /// Names of other files in its folder that belong to a result.
    fn beside(&self) -> &'static [&'static str] {
        &[]
    }

    fn load(&self) -> LoadFields {
        LoadFields::NONE
    }

    /// The runs in a file: one in nearly all formats. Values are unchanged: [`super::check::read`] checks them. A case
    /// that did not run properly is [`End::Failed`](crate::adapters::End::Failed), never a number.
    fn read(&self, file: &ResultFile) -> Result<Vec<RunReading>, ReadError>;

    /// The same if the rows of one case are its samples. A format of rows may join them as it reads them, because a million
    /// samples need less memory than a million rows; the caller joins those of the others.
    fn read_samples(&self, file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
        self.read(file)
    }
}

/// Facts for the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatAbout {
    /// As its authors write it: `nccl-tests`.
    pub title: &'static str,
    /// Supported versions or layouts: "2.0 to 2.17, and the older layout with `error`".
    pub versions: &'static str,
    pub fields: &'static str,
    pub reads: Reads,
    /// Which way is better: "times lower, bandwidths higher".
    pub direction: &'static str,
    /// How a row or a file shows that it failed. `(skipped)`, `(left out)` and `(refused)` follow those that have another
    /// consequence: "`status` other than `ok`; no last line (refused)".
    pub failures: &'static str,
    /// Versions of the real tool with a fixture; the names of other fixtures begin with `by-hand`.
    pub tried: &'static [&'static str],
}

pub(crate) struct DeclaredFormat {
    pub name: &'static str,
    /// As in [`FormatAbout`].
    pub title: &'static str,
    pub versions: &'static str,
    pub fields: &'static str,
    pub reads: Reads,
    pub direction: &'static str,
    pub failures: &'static str,
    pub tried: &'static [&'static str],
    pub load: LoadFields,
    pub recognises: fn(&ResultFile) -> bool,
    pub read: fn(&ResultFile) -> Result<Vec<RunReading>, ReadError>,
}

impl DeclaredFormat {
    /// The usual format: one summary per case, no output of the real tool, and not recognisable.
    pub(crate) const SUMMARY: Self = Self {
        name: "",
        title: "",
        versions: "",
        fields: "",
        reads: Reads::Summary,
        direction: "",
        failures: "",
        tried: &[],
        load: LoadFields::NONE,
        recognises: |_| false,
        read: |_| Ok(Vec::new()),
    };
}

impl ResultFormat for DeclaredFormat {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> FormatAbout {
        let Self { title, versions, fields, reads, direction, failures, tried, .. } = *self;
        FormatAbout { title, versions, fields, reads, direction, failures, tried }
    }

    fn recognises(&self, file: &ResultFile) -> bool {
        (self.recognises)(file)
    }

    fn load(&self) -> LoadFields {
        self.load
    }

    fn read(&self, file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
        (self.read)(file)
    }
}

/// A file of results.
#[derive(Clone, Copy, Debug)]
pub struct ResultFile<'a> {
    /// The name in messages: the path that the user gave, or `stdout`.
    pub name: &'a str,
    pub bytes: &'a [u8],
    /// Other files, by their path from this file's folder, if a format has several.
    pub beside: &'a OutputFiles,
}

impl<'a> ResultFile<'a> {
    pub fn file_name(&self) -> &'a str {
        self.name.rsplit('/').next().unwrap_or(self.name)
    }

    /// Errors: the line that is not UTF-8.
    pub fn text(&self) -> Result<&'a str, ReadError> {
        std::str::from_utf8(self.bytes).map_err(|error| {
            let line = 1 + self.bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
            self.line(line, "not UTF-8 text")
        })
    }

    /// True if the file contains each of these words.
    pub fn holds(&self, words: &[&str]) -> bool {
        words.iter().all(|word| memmem::find(self.bytes, word.as_bytes()).is_some())
    }

    /// True if a line with this word satisfies `is`. Invalid UTF-8 is replaced: a log may contain other programs' output.
    pub fn any_line(&self, word: &str, is: impl Fn(&str) -> bool) -> bool {
        let finder = memmem::Finder::new(word);
        let mut rest = self.bytes;
        while let Some(at) = finder.find(rest) {
            let (before, behind) = rest.split_at(at);
            let start = memrchr(b'\n', before).map_or(0, |end| end + 1);
            let end = memchr(b'\n', behind).map_or(rest.len(), |length| at + length);
            let line = String::from_utf8_lossy(rest.get(start..end).unwrap_or_default());
            if is(line.strip_suffix('\r').unwrap_or(&line)) {
                return true;
            }
            rest = rest.get(end..).unwrap_or_default();
        }
        false
    }

    /// The first line that is not blank.
    pub fn first_line(&self) -> Cow<'a, str> {
        let text = self.bytes.trim_ascii_start();
        let end = memchr(b'\n', text).unwrap_or(text.len());
        String::from_utf8_lossy(text.get(..end).unwrap_or_default().trim_ascii_end())
    }

    /// True if its first non-blank byte is this one: `{` and `[` for JSON.
    pub fn begins(&self, with: u8) -> bool {
        self.bytes.trim_ascii_start().first() == Some(&with)
    }

    /// An error about the whole file.
    pub fn wrong(&self, what: impl Into<String>) -> ReadError {
        ReadError::new(Place::File(self.name.to_owned()), what)
    }

    /// An error in a line, from 1.
    pub fn line(&self, line: usize, what: impl Into<String>) -> ReadError {
        ReadError::new(Place::Line { file: Some(self.name.to_owned()), line }, what)
    }

    /// An error at a path of keys: `results[3].time`.
    pub fn at(&self, path: impl Into<String>, what: impl Into<String>) -> ReadError {
        ReadError::new(Place::Path { file: Some(self.name.to_owned()), path: path.into() }, what)
    }
}

/// A file's text as the formats read it: without a byte order mark, UTF-16 as UTF-8 (both are what PowerShell's `>` writes),
/// without the colours of a terminal, and without what a log puts before each line. Anything else stays as it is.
pub fn plain_text(bytes: &[u8]) -> Cow<'_, [u8]> {
    match uncoloured(bytes) {
        Cow::Borrowed(text) => unmarked(text),
        Cow::Owned(text) => Cow::Owned(unmarked(&text).into_owned()),
    }
}

/// Without the mark that every line of the text begins with: the time in a log of GitHub Actions,
/// `2026-05-01T12:00:00.1234567Z `, or the rank of `mpirun --tag-output`, `[1,0]<stdout>:`.
fn unmarked(text: &[u8]) -> Cow<'_, [u8]> {
    fn time(line: &[u8]) -> Option<usize> {
        const FORM: &[u8] = b"0000-00-00T00:00:00.0000000Z";
        let is_time =
            |(byte, form): (&u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form };
        let has_time = line.len() >= FORM.len() && line.iter().zip(FORM).all(is_time);
        // The blank is missing where an editor cut the ends of empty lines.
        has_time.then(|| (FORM.len() + 1).min(line.len()))
    }
    fn rank(line: &[u8]) -> Option<usize> {
        let (numbers, rest) = line.strip_prefix(b"[")?.split_at_checked(memchr(b']', line)? - 1)?;
        let is_rank =
            numbers.contains(&b',') && numbers.iter().all(|byte| byte.is_ascii_digit() || *byte == b',');
        let end = [&b"]<stdout>:"[..], b"]<stderr>:"].into_iter().find(|end| rest.starts_with(end))?;
        is_rank.then_some(1 + numbers.len() + end.len())
    }
    let lines = || text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let mark = [time, rank].into_iter().find(|mark| lines().next().is_some_and(|line| mark(line).is_some()));
    let Some(mark) = mark.filter(|mark| lines().all(|line| mark(line).is_some())) else {
        return Cow::Borrowed(text);
    };
    let bare = text.split_inclusive(|byte| *byte == b'\n').map(|line| {
        let content = line.strip_suffix(b"\n").unwrap_or(line);
        &line[mark(content).unwrap_or_default().min(content.len())..]
    });
    Cow::Owned(bare.collect::<Vec<_>>().concat())
}

fn uncoloured(bytes: &[u8]) -> Cow<'_, [u8]> {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        let text: String =
            char::decode_utf16(units).map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        Cow::Owned(text.into_bytes())
    };
    let text = match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => Cow::Borrowed(rest),
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => Cow::Borrowed(bytes),
    };
    if memmem::find(&text, b"\x1b[").is_none() || memchr(0, &text).is_some() {
        return text;
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = memmem::find(rest, b"\x1b[") {
        let (before, sequence) = rest.split_at(at);
        plain.extend_from_slice(before);
        // Parameters, and the letter that ends them.
        let parameters = sequence[2..].iter().take_while(|byte| (0x20..0x40).contains(*byte)).count();
        rest = sequence.get(3 + parameters..).unwrap_or_default();
    }
    plain.extend_from_slice(rest);
    Cow::Owned(plain)
}

/// One run in a file.
#[derive(Clone, Default, PartialEq)]
pub struct RunReading {
    /// When it began, or was reported, if the file states it unambiguously: RFC 3339 in UTC with milliseconds, such as
    /// `2026-11-22T10:00:00.000Z`.
    pub started: Option<String>,
    /// The measured commit, if the file names it.
    pub commit: Option<String>,
    /// Facts about the machine and the software: `gpu`, `driver`, `version`. The run's id depends on them.
    pub facts: BTreeMap<String, serde_json::Value>,
    /// More facts of the run, also about its workload. Earlier versions did not read them: the run's id does not depend on them,
    /// so that a run which a history has keeps its id.
    pub more: BTreeMap<String, serde_json::Value>,
    /// How often and how long it measured. The run's id does not depend on it.
    pub settings: BTreeMap<String, serde_json::Value>,
    pub readings: Vec<Reading>,
    /// Parts that were passed over, though they may be measurements. Fields that the documentation of a format lists as left
    /// out are not among them. The run's id does not depend on them.
    pub unread: Unread,
}

/// Snapshots of the files that are read whole, which nearly all are, say nothing of it.
impl fmt::Debug for RunReading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { started, commit, facts, more, settings, readings, unread } = self;
        let mut run = f.debug_struct("RunReading");
        run.field("started", started).field("commit", commit).field("facts", facts);
        run.field("more", more).field("settings", settings).field("readings", readings);
        if !unread.is_empty() {
            run.field("unread", &unread.0);
        }
        run.finish()
    }
}

impl RunReading {
    /// The only run of a file, without facts.
    pub fn only(readings: Vec<Reading>) -> Vec<Self> {
        vec![readings.into()]
    }

    /// Adds a fact; null and an empty list add nothing.
    pub fn fact(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.facts.extend(kept(name, value));
        self
    }

    /// Adds a fact to [`RunReading::more`].
    pub fn also(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.more.extend(kept(name, value));
        self
    }

    /// Adds facts of one row of several; values that differ between rows become a list.
    pub(crate) fn also_of_row(&mut self, facts: impl IntoIterator<Item = (String, serde_json::Value)>) {
        add_of_row(&mut self.more, facts);
    }

    /// The same for settings.
    pub(crate) fn settings_of_row(
        &mut self,
        settings: impl IntoIterator<Item = (String, serde_json::Value)>,
    ) {
        add_of_row(&mut self.settings, settings);
    }

    /// Adds a setting.
    pub fn setting(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.settings.extend(kept(name, value));
        self
    }
}

fn add_of_row(
    all: &mut BTreeMap<String, serde_json::Value>,
    of_row: impl IntoIterator<Item = (String, serde_json::Value)>,
) {
    for (name, value) in of_row.into_iter().filter(|(_, value)| !value.is_null()) {
        match all.get_mut(&name) {
            None => _ = all.insert(name, value),
            Some(serde_json::Value::Array(values)) if values.contains(&value) => {}
            Some(serde_json::Value::Array(values)) => values.push(value),
            Some(known) if *known == value => {}
            Some(known) => *known = serde_json::Value::Array(vec![known.take(), value]),
        }
    }
}

fn kept(name: &str, value: impl Into<serde_json::Value>) -> Option<(String, serde_json::Value)> {
    let value = value.into();
    let is_empty = value.as_array().is_some_and(Vec::is_empty);
    (!is_empty && !value.is_null()).then(|| (name.to_owned(), value))
}

impl From<Vec<Reading>> for RunReading {
    fn from(readings: Vec<Reading>) -> Self {
        Self { readings, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_wide_characters_and_colours_of_a_terminal_are_read_past() {
        let wide =
            |order: fn(u16) -> [u8; 2]| "\u{feff}é 1".encode_utf16().flat_map(order).collect::<Vec<u8>>();
        for bytes in [wide(u16::to_le_bytes), wide(u16::to_be_bytes), "\u{feff}é 1".into()] {
            assert_eq!(plain_text(&bytes), "é 1".as_bytes());
        }
        let log = "2026-05-01T12:00:00.1234567Z op 1\n2026-05-01T12:00:01.7654321Z \n2026-05-01T12:00:01.7654321Z  b\n";
        assert_eq!(plain_text(log.as_bytes()), &b"op 1\n\n b\n"[..]);
        assert_eq!(plain_text(b"[1,0]<stdout>:# x\n[1,12]<stderr>: y"), &b"# x\n y"[..]);
        for other in [
            "2026-05-01T12:00:00.1234567Z op 1\nop 2\n",
            "[1,2]\n",
            "[1,0]<stdout>:a\n[x",
            "2026-05-01T12:00:00Z a\n",
        ] {
            assert_eq!(plain_text(other.as_bytes()), other.as_bytes());
        }
        assert_eq!(plain_text(b"\x1b[32mBenchmarkA\x1b[0m 1\x1b["), &b"BenchmarkA 1"[..]);
        for same in [&b"\x1b"[..], b"\xff", b"", b"\x00\x1b[32m"] {
            assert_eq!(plain_text(same), same);
        }
    }

    #[test]
    fn a_line_is_found_by_a_word_in_it() {
        let none = OutputFiles::default();
        let bytes = b"\xff one\r\n\n  two one\nthree";
        let file = ResultFile { name: "f", bytes, beside: &none };
        assert!(
            file.any_line("one", |line| line == "  two one") && !file.any_line("one", |line| line == "one")
        );
        assert!(
            file.any_line("one", |line| line.ends_with(" one"))
                && file.any_line("three", |line| line == "three")
        );
        assert!(!file.any_line("four", |_| true) && !file.any_line("one", |_| false));
        assert_eq!(ResultFile { bytes: b"\n \n{\"a\":1}\r\n2", ..file }.first_line(), "{\"a\":1}");
        assert!(file.holds(&["one", "three"]) && !file.holds(&["one", "four"]));
    }
}
