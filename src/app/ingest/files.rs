//! Files of results of other programs: known by their content, read, and kept as records.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::conditions::keep;
use super::date::{DatedBy, date_in_name};
use super::description::described_by;
use crate::adapters::OutputFiles;
use crate::adapters::formats::{self, Described, Repeats, ResultFile, ResultFormat, RunReading, plain_text};
use crate::app::paths::shown;
use crate::app::request::{GivenFlag, shell_flags};
use crate::ingest::{FileRun, RecordOptions, record};
use crate::model::{Better, Fault, Result, RunRecord, near, sha256_hex, shell_word};
use crate::store::{holds_run, read_record};

/// The word for a format that is known by the file.
pub(crate) const AUTO: &str = "auto";

/// First part of the ids of benchmarks that come from files.
pub(super) const SUITE: &str = "results";

/// Bytes at the beginning of a file in which a document of ours says what it is.
const HEAD: usize = 4096;

/// Files larger than this are not read: no result of a benchmark is.
const MAX_BYTES: u64 = 2 << 30;

/// The fact with the sum of the description by which a file was read.
const DESCRIBED_BY: &str = "described_by";

#[derive(Clone, Debug, Default)]
pub(crate) struct IngestOptions {
    /// The name of a format; `None` or `auto`: by the file.
    pub format: Option<String>,
    /// Rows that the user describes, for files of no known format.
    pub described: Option<Described>,
    /// `None`: [`SUITE`].
    pub suite: Option<String>,
    pub units: BTreeMap<String, String>,
    pub better: BTreeMap<String, Better>,
    /// The meaning of several rows of one case in a file.
    pub repeats: Repeats,
    /// Only cases with these parameters, of a format that is known.
    pub conditions: BTreeMap<String, String>,
    /// The words that `described` and `conditions` were read from, for commands that are shown.
    pub given: Vec<GivenFlag>,
    /// The sum of the description, which the record keeps: figures that were read by another one may mean something else.
    pub described_by: Option<String>,
}

/// The record at a path: of gbench-ci itself, or of a file of another program, or of a folder of such files.
pub(crate) fn load(path: &Path, options: &IngestOptions) -> Result<RunRecord> {
    if is_own(path, options)? {
        if options.speaks_of_files() {
            let what = "it is a record of gbench-ci, and flags are given that speak of other programs' files";
            return Err(Fault::at_path(
                path,
                what,
                "take --unit, --better, --where, --repeats and --input-suite out",
            ));
        }
        return read_record(path);
    }
    load_files(&[path.to_owned()], options)
}

/// One record of several files, each its own process.
pub(crate) fn load_files(paths: &[PathBuf], options: &IngestOptions) -> Result<RunRecord> {
    if let Some(twice) =
        paths.iter().enumerate().find_map(|(at, path)| paths[..at].contains(path).then_some(path))
    {
        return Err(Fault::at_path(twice, "it is given twice", "name each file once"));
    }
    let (format, runs) = runs_of(paths, options)?;
    let several = |file: &str| runs.iter().filter(|run| run.path == file).count();
    let of_a_file =
        runs.iter().map(|run| run.path.as_str()).filter(|_| options.repeats != Repeats::Processes);
    if let Some(file) = of_a_file.into_iter().find(|file| several(file) > 1) {
        let what = format!("it has {} runs, and they are not processes of one benchmark", several(file));
        let next = "keep each as a separate run: `gbench-ci ingest --each`";
        return Err(Fault::at_path(file, what, next));
    }
    record(&runs, &options.of_record(&format))
}

/// A record of each run in the files, oldest first. Errors: it is not known when one began.
pub(super) fn load_each(
    paths: &[PathBuf],
    dated_by: DatedBy,
    options: &IngestOptions,
) -> Result<Vec<RunRecord>> {
    let (format, mut runs) = runs_of(paths, options)?;
    for run in runs.iter_mut().filter(|run| run.run.started.is_none()) {
        run.run.started = match dated_by {
            DatedBy::Modified => None,
            DatedBy::Name => Some(date_in_name(&run.path)?),
            DatedBy::Content => {
                let what = "it does not say when its run began, and a history is in the order of its runs";
                let next = "take the date in the files' names with `--dated-by name`, or that of the files \
                            with `--dated-by modified`";
                return Err(Fault::at_path(&run.path, what, next));
            }
        };
    }
    let options = options.of_record(&format);
    let mut records: Vec<RunRecord> =
        runs.iter().map(|run| record(std::slice::from_ref(run), &options)).collect::<Result<_>>()?;
    records.sort_by(|one, other| one.run_id.cmp(&other.run_id));
    Ok(records)
}

impl IngestOptions {
    /// Files of one format, known by themselves, or described by a file that is named. Errors: no format has this name; the
    /// description cannot be followed.
    pub(crate) fn of_format(name: &str) -> Result<Self> {
        let format = Some(name.to_owned());
        if let Some((described, sum)) = described_by(name)? {
            return Ok(Self {
                format,
                described: Some(described),
                described_by: Some(sum),
                ..Self::default()
            });
        }
        if name != AUTO {
            named(name)?;
        }
        Ok(Self { format, ..Self::default() })
    }

    fn of_record(&self, format: &str) -> RecordOptions {
        RecordOptions {
            suite: self.suite.clone().unwrap_or_else(|| SUITE.into()),
            format: format.to_owned(),
            units: self.units.clone(),
            better: self.better.clone(),
        }
    }

    /// The options as flags for a shell, with a blank before each; what describes rows is given as the user wrote it.
    pub(crate) fn flags(&self) -> String {
        let format = self.format.clone().filter(|format| format != AUTO);
        let repeats = Some(self.repeats).filter(|repeats| *repeats != Repeats::default());
        let repeats = repeats.map(|repeats| repeats.into_str().to_owned());
        let flags =
            [("--input-format", format), ("--input-suite", self.suite.clone()), ("--repeats", repeats)];
        let pair = |(name, value): (&String, &str)| format!("{name}={value}");
        let units = self.units.iter().map(|(name, unit)| ("--unit", Some(pair((name, unit)))));
        let better = self.better.iter().map(|(name, way)| ("--better", Some(pair((name, way.into_str())))));
        let given = self.given.iter().map(|(flag, value)| (*flag, Some(value.clone())));
        shell_flags(flags.into_iter().chain(units).chain(better).chain(given))
    }

    /// True if a flag is given that only applies to files of other programs.
    pub(crate) fn speaks_of_files(&self) -> bool {
        !self.units.is_empty()
            || !self.better.is_empty()
            || self.suite.is_some()
            || !self.conditions.is_empty()
            || self.repeats != Repeats::default()
    }

    /// True if anything says how a file of another program is to be read.
    pub(crate) fn says_how(&self) -> bool {
        self.described.is_some() || self.format.as_deref().is_some_and(|format| format != AUTO)
    }
}

fn format_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = formats::every().map(|format| format.name()).collect();
    names.sort_unstable();
    names
}

/// True if a path is a document of ours: the folder of a run, or a file that records that in its first lines.
pub(crate) fn is_own(path: &Path, options: &IngestOptions) -> Result<bool> {
    if options.says_how() {
        return Ok(false);
    }
    if path.is_dir() {
        return Ok(holds_run(path) || !(has_files(path) || is_result_folder(path)));
    }
    let mut head = Vec::new();
    let Ok(file) = std::fs::File::open(path) else { return Ok(true) };
    if file.take(HEAD as u64).read_to_end(&mut head).is_err() {
        return Ok(true);
    }
    let blank = head.iter().all(u8::is_ascii_whitespace);
    Ok(blank || memchr::memmem::find(&head, b"\"gbench-ci/").is_some() || !is_known(&LoadedFile::read(path)?))
}

/// True if a format is certain for a file. Other files are left to the reader of records, whose errors explain what is wrong.
pub(super) fn is_known(file: &LoadedFile) -> bool {
    let is_known = |file: &ResultFile| !formats::recognised(file).is_empty();
    let alone = || formats::documents_alone(file.result().bytes);
    is_known(&file.result())
        || alone().is_some_and(|(bytes, _)| is_known(&ResultFile { bytes: &bytes, ..file.result() }))
}

fn has_files(folder: &Path) -> bool {
    files_in(folder).is_ok_and(|files| !files.is_empty())
}

/// The files in a folder, sorted by name; hidden ones are left out.
fn files_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // The list of failed tests is not a separate result.
        let is_left_out = name.starts_with('.') || name == "pytest.xml";
        if path.is_file() && !is_left_out {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Folders within which a folder of results is looked for, and files that one may hold.
const MAX_DEPTH: usize = 6;
const MAX_FILES: usize = 100_000;

const MAX_BESIDE: u64 = 256 << 20;

fn is_result_folder(folder: &Path) -> bool {
    LoadedFile::folder(folder).is_ok_and(|file| !formats::recognised(&file.result()).is_empty())
}

/// The JSON files below a folder, by their path in it. Links are not followed.
fn json_below(folder: &Path) -> std::io::Result<BTreeMap<String, Vec<u8>>> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![(folder.to_owned(), 0)]);
    while let Some((next, depth)) = folders.pop() {
        for entry in std::fs::read_dir(&next)? {
            let entry = entry?;
            let (kind, path) = (entry.file_type()?, entry.path());
            let is_json = path.extension().is_some_and(|extension| extension == "json");
            if kind.is_dir() && depth < MAX_DEPTH {
                folders.push((path, depth + 1));
            } else if kind.is_file()
                && is_json
                && files.len() < MAX_FILES
                && entry.metadata()?.len() < MAX_BESIDE
            {
                let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
                files.insert(name, std::fs::read(&path)?);
            }
        }
    }
    Ok(files)
}

pub(super) struct LoadedFile {
    /// As it was given.
    name: String,
    bytes: Vec<u8>,
    /// The bytes as formats read them, if these are others.
    plain: Option<Vec<u8>>,
    beside: OutputFiles,
    modified: SystemTime,
}

impl LoadedFile {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let fault = |error: std::io::Error| {
            Fault::of_io(path, "it cannot be read", &error, "check the path, and that you may read it")
        };
        let metadata = std::fs::metadata(path).map_err(fault)?;
        if metadata.len() > MAX_BYTES {
            let what =
                format!("it has {} MiB, and at most {} are read", metadata.len() >> 20, MAX_BYTES >> 20);
            return Err(Fault::at_path(path, what, "give the program's summary instead"));
        }
        let mut beside = BTreeMap::new();
        folders_beside(path, &mut beside).map_err(fault)?;
        let bytes = std::fs::read(path).map_err(fault)?;
        let plain = match plain_text(&bytes) {
            Cow::Borrowed(text) if text.len() == bytes.len() => None,
            text => Some(text.into_owned()),
        };
        Ok(Self {
            name: shown(path),
            bytes,
            plain,
            beside: OutputFiles(beside),
            modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        })
    }

    /// A folder that is one result: it has no bytes itself, and all files next to it.
    fn folder(path: &Path) -> std::io::Result<Self> {
        let beside = json_below(path)?;
        let modified = std::fs::metadata(path)?.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Ok(Self { name: shown(path), bytes: Vec::new(), plain: None, beside: OutputFiles(beside), modified })
    }

    /// SHA-256 of the file; of a folder, of the names and contents of all.
    fn sha256(&self) -> String {
        if !self.bytes.is_empty() {
            return sha256_hex(&self.bytes);
        }
        let lines = self.beside.0.iter().map(|(name, bytes)| format!("{}  {name}\n", sha256_hex(bytes)));
        sha256_hex(lines.collect::<String>().as_bytes())
    }

    pub(super) fn result(&self) -> ResultFile<'_> {
        let bytes = self.plain.as_ref().unwrap_or(&self.bytes);
        ResultFile { name: &self.name, bytes, beside: &self.beside }
    }
}

/// Files that belong to a file: parts of it in its folder, and the files of NVBench's folders of samples, such as
/// `out.json-bin/0.bin`.
fn folders_beside(path: &Path, beside: &mut BTreeMap<String, Vec<u8>>) -> std::io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Ok(());
    };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    for entry in std::fs::read_dir(parent)? {
        let entry = entry?;
        let other = entry.file_name().to_string_lossy().into_owned();
        let is_part =
            formats::beside().contains(other.as_str()) && other != name && entry.file_type()?.is_file();
        if is_part && entry.metadata()?.len() < MAX_BESIDE {
            beside.insert(other, std::fs::read(entry.path())?);
        } else if other.strip_prefix(name).is_some_and(|end| end.ends_with("-bin")) && entry.path().is_dir() {
            for file in files_in(&entry.path())? {
                if std::fs::metadata(&file)?.len() < MAX_BESIDE {
                    let below = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    beside.insert(format!("{other}/{below}"), std::fs::read(&file)?);
                }
            }
        }
    }
    Ok(())
}

fn runs_of(paths: &[PathBuf], options: &IngestOptions) -> Result<(String, Vec<FileRun>)> {
    let mut files = Vec::new();
    for path in paths {
        let unreadable =
            |error| Fault::of_io(path, "the folder cannot be read", &error, "check that you may read it");
        if path.is_dir() && !is_result_folder(path) {
            files.extend(files_in(path).map_err(unreadable)?);
        } else {
            files.push(path.clone());
        }
    }
    if files.is_empty() {
        let place = paths.first().map_or_else(|| "ingest".into(), |path| shown(path));
        return Err(Fault::at(
            place,
            "no file of results is there",
            "name files, or a folder that holds some",
        ));
    }
    let mut known: Option<(&'static str, String)> = None;
    let mut runs = Vec::new();
    for path in &files {
        let unreadable =
            |error| Fault::of_io(path, "the folder cannot be read", &error, "check that you may read it");
        let file = if path.is_dir() {
            LoadedFile::folder(path).map_err(unreadable)?
        } else {
            LoadedFile::read(path)?
        };
        let (name, found) = read(&file, path, options)?;
        match &known {
            Some((format, first)) if *format != name => {
                let what = format!("it is of {name}, and {first} is of {format}");
                return Err(Fault::at_path(path, what, "give files of one program"));
            }
            Some(_) => {}
            None => known = Some((name, file.name.clone())),
        }
        let sha256 = file.sha256();
        runs.extend(found.into_iter().map(|run| FileRun {
            path: file.name.clone(),
            sha256: sha256.clone(),
            bytes: file.bytes.len() as u64,
            modified: file.modified,
            run,
        }));
    }
    let format = known.map_or(AUTO, |(name, _)| name).to_owned();
    Ok((format, runs))
}

/// The runs of one file. Errors: its format is not certain; it is broken.
fn read(file: &LoadedFile, path: &Path, options: &IngestOptions) -> Result<(&'static str, Vec<RunReading>)> {
    let result = file.result();
    read_text(result, path, options).or_else(|fault| {
        // The JSON within a log, unless the log itself is of a format.
        let Some((bytes, unread)) = formats::documents_alone(result.bytes) else { return Err(fault) };
        let alone = ResultFile { bytes: &bytes, ..result };
        let names =
            |file: &ResultFile| formats::recognised(file).iter().map(|format| format.name()).collect();
        let [of_log, of_json]: [Vec<&str>; 2] = [names(&result), names(&alone)];
        match read_text(alone, path, options) {
            Ok((format, mut runs)) if of_log.is_empty() || of_log.contains(&format) => {
                runs.iter_mut().take(1).for_each(|run| run.unread.extend(unread.clone()));
                Ok((format, runs))
            }
            Err(inner) if of_log.is_empty() && !of_json.is_empty() => Err(inner),
            _ => Err(fault),
        }
    })
}

fn read_text(
    result: ResultFile,
    path: &Path,
    options: &IngestOptions,
) -> Result<(&'static str, Vec<RunReading>)> {
    let read = |format: &dyn ResultFormat, next: &str| {
        formats::read_repeated(format, &result, options.repeats).map_err(|error| {
            let only_repeats = options.repeats == Repeats::Refuse
                && formats::read_repeated(format, &result, Repeats::Samples).is_ok();
            let next = if only_repeats {
                "say what repeated rows are: `--repeats samples`, or `--repeats processes` if the tool was started for each"
            } else {
                next
            };
            Fault::at(error.place.to_string(), error.what, next)
        })
    };
    if let Some(described) = &options.described {
        let next = match options.format.as_deref().filter(|format| *format != AUTO) {
            None => "change --rows, --where, --parameters or --metric (a way is said so: --metric NAME=FIELD:UNIT:lower), or the file".to_owned(),
            Some(format) => format!("change the description in {format}, or the file"),
        };
        let mut runs = read(described, &next)?;
        for run in &mut runs {
            run.more
                .extend(options.described_by.iter().map(|sum| (DESCRIBED_BY.to_owned(), sum.clone().into())));
        }
        return Ok((described.name(), runs));
    }
    let format = match options.format.as_deref() {
        None | Some(AUTO) => certain(&result, path)?,
        Some(name) => named(name)?,
    };
    let next = format!("look into the file there; docs/formats.md lists what is read of {}", format.name());
    Ok((format.name(), keep(read(format, &next)?, &options.conditions, result.name)?))
}

fn certain(file: &ResultFile, path: &Path) -> Result<&'static dyn ResultFormat> {
    let found = formats::recognised(file);
    let names: Vec<&str> = found.iter().map(|format| format.name()).collect();
    match found.as_slice() {
        [only] => Ok(*only),
        [] => {
            let what = "its content does not identify a format with certainty";
            let next = format!(
                "name it with `--input-format NAME`, or see what is in it and how it would be read: `gbench-ci ingest {}`",
                shell_word(&shown(path))
            );
            Err(Fault::at_path(path, what, next))
        }
        _ => {
            let what = format!("it may be of {}", names.join(" and of "));
            Err(Fault::at_path(path, what, format!("say which: `--input-format {}`", names[0])))
        }
    }
}

fn named(name: &str) -> Result<&'static dyn ResultFormat> {
    formats::named(name).ok_or_else(|| {
        let names = format_names();
        let next = match near(name, &names).first() {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("it is one of: {}", names.join(", ")),
        };
        Fault::at_flag(format!("--input-format {name}"), "no format has this name", next)
    })
}
