//! Reads records, complete or recovered.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::journal::{JOURNAL, JournalEntry, RECORD, SUMS};
use gbench_host::Beside;
use gbench_model::{
    CaseRecord, Exit, Fault, RecordState, Result, RunRecord, SCHEMA_RECORD, SCHEMAS_READ, sha256_hex,
};

/// Reads a record from its JSON file, from its run's folder, or from the journal of a killed run.
///
/// Errors name the place where the text is not a valid record: exit code 2. If it does not match `SHA256SUMS` in its folder:
/// exit code 4.
pub fn read_record(path: &Path) -> Result<RunRecord> {
    Source::load(path)?.parse()
}

/// Reads two records; the second one's text is read while the first is parsed. They are parsed one after the other, because
/// both at once would need half as much memory again.
pub fn read_two_records(first: &Path, second: &Path) -> (Result<RunRecord>, Result<RunRecord>) {
    std::thread::scope(|scope| {
        let loading = Beside::start(scope, || Source::load(second));
        let first = read_record(first);
        let source = loading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (first, source.and_then(Source::parse))
    })
}

enum Source {
    /// A separate file, whose checksum is verified if there is one.
    Record(PathBuf, String),
    Journal(PathBuf),
}

impl Source {
    fn load(path: &Path) -> Result<Self> {
        if path.is_dir() {
            let (whole, journal) = (path.join(RECORD), path.join(JOURNAL));
            return match (whole.is_file(), journal.is_file()) {
                (true, _) => Self::load(&whole),
                (false, true) => Ok(Self::Journal(journal)),
                (false, false) => Err(Fault::at_path(
                    path,
                    "the folder contains no run record",
                    format!("give a run's folder, one with {RECORD}"),
                )),
            };
        }
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            Ok(Self::Journal(path.to_owned()))
        } else {
            let text = read_text(path)?;
            check_sum(path, text.as_bytes())?;
            Ok(Self::Record(path.to_owned(), text))
        }
    }

    fn parse(self) -> Result<RunRecord> {
        match self {
            Self::Journal(path) => recover(&path),
            Self::Record(path, text) => {
                let record = serde_json::from_str::<RunRecord>(&text);
                check(&path, record.map_err(|error| not_a_record(&path, &text, &error))?)
            }
        }
    }
}

/// Refuses a record whose bytes do not match `SHA256SUMS` in its folder. A record without that file was made elsewhere, or its
/// run was killed before the end; it cannot be checked.
///
/// Errors: exit code 4.
fn check_sum(record: &Path, bytes: &[u8]) -> Result<()> {
    let sums = record.with_file_name(Path::new(SUMS).file_name().unwrap_or_default());
    let sums_text = match std::fs::read(&sums) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            let what = format!("cannot be read: {error}");
            return Err(Fault::at_path(&sums, what, "make it readable").exits(Exit::Failed));
        }
    };
    let name = record.file_name().unwrap_or_default();
    let sums_text = String::from_utf8_lossy(&sums_text);
    let mut lines = sums_text.lines().filter_map(|line| line.split_once(char::is_whitespace));
    // `sha256sum` marks a file that it read as binary with a star.
    let of_record = lines.find(|(_, of)| name == of.trim_start().trim_start_matches('*'));
    let next = "measure again, or take the record from where it was measured: it was edited or damaged since";
    let of_a_run = record.ends_with(RECORD);
    match of_record {
        Some((sum, _)) if sum.eq_ignore_ascii_case(&sha256_hex(bytes)) => Ok(()),
        Some(_) => {
            let what = "the record is not the one that was written: its SHA-256 is not that of SHA256SUMS";
            Err(Fault::at_path(record, what, next).exits(Exit::Failed))
        }
        None if of_a_run => {
            let what = "SHA256SUMS does not name the record next to it";
            Err(Fault::at_path(record, what, next).exits(Exit::Failed))
        }
        // A user's own list of other files.
        None => Ok(()),
    }
}

fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read_bytes(path)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Fault::at_path(path, format!("byte {at} is not UTF-8"), "give a record that gbench-ci wrote")
    })
}

fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| {
        let next = match error.kind() {
            std::io::ErrorKind::NotFound => "check the path; `gbench-ci run` prints where its record lies",
            _ => "make the file readable",
        };
        Fault::at_path(path, format!("the record cannot be read: {error}"), next)
    })
}

const GIVE_RECORD: &str = "give the record that `gbench-ci run` wrote, results/record.json; how a file of another program is read is said \
                           with `--input-format` or `--metric` (`gbench-ci ingest --help`)";

/// The most helpful reason: another version, another document, a broken text.
fn not_a_record(path: &Path, text: &str, error: &serde_json::Error) -> Fault {
    #[derive(serde::Deserialize)]
    struct Schema {
        schema: Option<String>,
    }
    if let Ok(Schema { schema }) = serde_json::from_str::<Schema>(text)
        && !schema.as_deref().is_some_and(|schema| SCHEMAS_READ.contains(&schema))
    {
        return wrong_schema(path, schema.as_deref());
    }
    let is_json = error.classify() == serde_json::error::Category::Data;
    if is_json && !text.trim_start().starts_with('{') {
        return Fault::at_path(path, "the JSON is not an object, so it is not a run record", GIVE_RECORD);
    }
    let line_start: usize =
        text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let at = (line_start + error.column().saturating_sub(1)).min(text.len());
    let cause = error.to_string();
    let cause = cause.split(" at line ").next().unwrap_or_default();
    let next = match error.classify() {
        serde_json::error::Category::Eof if text.trim().is_empty() => "the file is empty: give a record",
        serde_json::error::Category::Eof => "the file ends too early: copy it again, whole",
        serde_json::error::Category::Syntax => GIVE_RECORD,
        _ => "records are not meant to be edited; docs/schema/record-v2.json describes them",
    };
    // A record may be one line of megabytes, so only the neighbourhood is shown.
    let (excerpt, span) = excerpt(text, at);
    if text.len() > 4096 {
        Fault::at_path(path, format!("not a record, near byte {at}: {cause}: {excerpt}"), next)
    } else {
        Fault::in_text(path, &Arc::from(text), span, format!("not a record: {cause}"), next)
    }
}

/// Up to 60 bytes around `at`, at character boundaries, and the span of the character at `at`.
fn excerpt(text: &str, at: usize) -> (String, std::ops::Range<usize>) {
    let boundary = |mut index: usize| {
        while !text.is_char_boundary(index) {
            index -= 1;
        }
        index
    };
    let start = boundary(at.saturating_sub(30));
    let end = boundary((at + 30).min(text.len()));
    let at = boundary(at);
    let length = text[at..].chars().next().map_or(0, char::len_utf8);
    (text[start..end].replace('\n', " "), at..at + length)
}

fn wrong_schema(path: &Path, schema: Option<&str>) -> Fault {
    match schema {
        Some(other) if other.starts_with("gbench-ci/record/") => Fault::at_path(
            path,
            format!("the record's version is `{other}`, and this gbench-ci reads up to `{SCHEMA_RECORD}`"),
            "use the gbench-ci that wrote it, or a newer one",
        ),
        Some(other) => Fault::at_path(path, format!("this is a `{other}`, not a run record"), GIVE_RECORD),
        None => Fault::at_path(path, "the JSON has no `schema`, so it is not a run record", GIVE_RECORD),
    }
}

fn check(path: &Path, record: RunRecord) -> Result<RunRecord> {
    if !SCHEMAS_READ.contains(&record.schema.as_str()) {
        return Err(wrong_schema(path, Some(&record.schema)));
    }
    if let Some(twice) = record.repeated() {
        let what = format!("{twice} is in it twice");
        return Err(Fault::at_path(path, what, "give a record that gbench-ci wrote, unedited"));
    }
    Ok(record)
}

/// Builds a record from a journal. A truncated last line, which a kill leaves, is ignored.
fn recover(path: &Path) -> Result<RunRecord> {
    let bytes = read_bytes(path)?;
    let mut record: Option<RunRecord> = None;
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let half = !line.ends_with(b"\n") && lines.peek().is_none();
        // As text, like the whole record, so that there is one parser; invalid bytes are damage, too.
        let text = std::str::from_utf8(line).map_err(serde::de::Error::custom);
        let entry = text.and_then(serde_json::from_str::<JournalEntry>);
        match (entry, &mut record) {
            (Ok(JournalEntry::Header(header)), None) => record = Some(*header),
            (Ok(entry), Some(record)) if fits(&entry, record) => apply(entry, record),
            (Err(_), _) if half => {}
            _ => {
                return Err(Fault::at_path(
                    path,
                    format!("line {} of the journal is damaged", number + 1),
                    "delete the lines from there on: those before it are whole",
                ));
            }
        }
    }
    let mut record = record.ok_or_else(|| {
        Fault::at_path(
            path,
            "the journal is empty: the run was killed before it began",
            "run again; nothing had been measured",
        )
    })?;
    record.state = RecordState::Recovered;
    record.warnings.push("recovered from the journal of a run that was killed".into());
    check(path, record)
}

fn fits(entry: &JournalEntry, record: &RunRecord) -> bool {
    match entry {
        JournalEntry::Header(_) => false,
        JournalEntry::Case { index, .. } | JournalEntry::Head { index, .. } => *index < record.cases.len(),
        JournalEntry::Process { index, process, head, samples } => {
            record.cases.get(*index).is_some_and(|case| {
                let metrics = head.as_ref().map_or(&case.metrics, |head| &head.metrics);
                let mut names = samples.iter().map(|(name, _)| name);
                process.index as usize == case.processes.len()
                    && names.all(|name| metrics.iter().any(|metric| metric.name == *name))
            })
        }
    }
}

fn apply(entry: JournalEntry, record: &mut RunRecord) {
    match entry {
        JournalEntry::Header(_) => {}
        JournalEntry::Case { index, case } => record.cases[index] = *case,
        JournalEntry::Head { index, head } => put_head(&mut record.cases[index], *head),
        JournalEntry::Process { index, head, process, samples } => {
            let case = &mut record.cases[index];
            if let Some(head) = head {
                put_head(case, *head);
            }
            case.processes.push(*process);
            for (name, samples) in samples {
                if let Some(metric) = case.metrics.iter_mut().find(|metric| metric.name == name) {
                    metric.processes.push(samples);
                }
            }
        }
    }
}

/// Metrics never vanish from a case: the new state has all metrics of the old one.
fn put_head(case: &mut CaseRecord, head: CaseRecord) {
    let old = std::mem::replace(case, head);
    case.processes = old.processes;
    for metric in old.metrics {
        if let Some(new) = case.metrics.iter_mut().find(|new| new.name == metric.name) {
            new.processes = metric.processes;
        }
    }
}
