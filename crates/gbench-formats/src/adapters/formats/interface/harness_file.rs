//! The file of a harness with an adapter, as a format: results of two machines are compared without starting anything.
//! The adapter reads the file; this module defines how it is recognised.

use serde_json::Value;

use super::format::{FormatAbout, ResultFile, ResultFormat, RunReading};
use crate::adapters::formats::readers::outline::Outline;
use crate::adapters::interface::adapter::{Adapter, Reading};
use crate::adapters::interface::check;
use crate::adapters::interface::output::{HarnessOutput, Place};
use crate::adapters::interface::output::{OutputFiles, ReadError};
use gbench_model::Unread;

pub struct HarnessFile {
    pub(crate) adapter: &'static dyn Adapter,
    pub(crate) source: HarnessInput,
    pub(crate) recognises: fn(&ResultFile) -> bool,
    /// The date and commit of the run, as far as the file has them, without readings.
    pub(crate) run: fn(&ResultFile) -> RunReading,
    /// The objects of the file that describe its machine and its software.
    pub(crate) machine: &'static [MachineFacts],
    /// The objects whose values say how often it measured.
    pub(crate) settings: &'static [MachineFacts],
    /// The adapter's notes of each case that are facts of the run.
    pub(crate) notes: &'static [&'static str],
    /// The parts that the adapter passes over, though they may be results; a reader of [`HarnessInput::Own`] returns them itself.
    pub(crate) unread: fn(&ResultFile) -> Unread,
    /// As in [`FormatAbout`].
    pub(crate) versions: &'static str,
    pub(crate) fields: &'static str,
    pub(crate) direction: &'static str,
    pub(crate) failures: &'static str,
}

pub(crate) enum HarnessInput {
    Stdout,
    /// As a file of this name, without other files of its folder.
    File(&'static str),
    /// As a file of this name, together with the files that it names.
    Beside(&'static str),
    /// By this reader, which also uses files of these names in the same folder.
    Own {
        read: fn(&ResultFile) -> Result<RunReading, ReadError>,
        beside: &'static [&'static str],
    },
}

impl HarnessFile {
    /// A file without facts about its run, whose times are better if lower.
    pub(crate) const fn of(
        adapter: &'static dyn Adapter,
        source: HarnessInput,
        recognises: fn(&ResultFile) -> bool,
    ) -> Self {
        let run = |_: &ResultFile| RunReading::default();
        Self {
            adapter,
            source,
            recognises,
            run,
            machine: &[],
            settings: &[],
            notes: &[],
            unread: |_| Unread::default(),
            versions: "",
            fields: "",
            direction: "time lower",
            failures: "",
        }
    }
}

/// An object of a JSON document whose texts, flags and numbers are facts of the machine or of the software, or settings.
pub(crate) struct MachineFacts {
    /// Its path, as [`Outline::at`] takes it; empty: the document, or the first element of its list.
    pub(crate) object: &'static str,
    /// Keys by the name of their fact. Names of the match key (`cpu_model`, `host`) have the match key's strictness.
    pub(crate) names: &'static [(&'static str, &'static str)],
    pub(crate) others: OtherKeys,
}

/// The keys of an object that have no name of a fact.
pub(crate) enum OtherKeys {
    /// They describe a benchmark, or a figure.
    Ignored,
    /// They are facts, too, by their own names, except for these, which change from run to run.
    FactsExcept(&'static [&'static str]),
}

impl MachineFacts {
    /// The facts of a file, in the order of its keys.
    fn read(&self, outline: &Outline) -> Vec<(String, Value)> {
        let document = outline.first().unwrap_or(outline);
        let object = if self.object.is_empty() { Some(document) } else { document.at(self.object) };
        let entries = object.map(Outline::entries).unwrap_or_default().iter();
        let facts = entries.filter_map(|(key, value)| {
            let value = value.scalar().filter(|value| value.as_str() != Some(""))?;
            let named = self.names.iter().find(|(name, _)| name == key).map(|(_, fact)| *fact);
            let own = match self.others {
                OtherKeys::FactsExcept(changing) if !changing.contains(&key.as_str()) => Some(key.as_str()),
                OtherKeys::Ignored | OtherKeys::FactsExcept(_) => None,
            };
            Some((named.or(own)?.to_owned(), value))
        });
        facts.collect()
    }

    /// The first key of its path.
    fn first_key(&self) -> Option<&'static str> {
        self.object.split('.').next().map(|key| key.trim_end_matches("[]")).filter(|key| !key.is_empty())
    }
}

impl ResultFormat for HarnessFile {
    fn name(&self) -> &'static str {
        self.adapter.name()
    }

    fn about(&self) -> FormatAbout {
        let about = self.adapter.about();
        FormatAbout {
            title: about.title,
            versions: self.versions,
            fields: self.fields,
            reads: about.reads,
            direction: self.direction,
            failures: self.failures,
            tried: about.tried,
        }
    }

    fn recognises(&self, file: &ResultFile) -> bool {
        (self.recognises)(file)
    }

    fn beside(&self) -> &'static [&'static str] {
        match self.source {
            HarnessInput::Own { beside, .. } => beside,
            HarnessInput::Stdout | HarnessInput::File(_) | HarnessInput::Beside(_) => &[],
        }
    }

    fn read(&self, file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
        let own: RunReading = match self.source {
            HarnessInput::Stdout => read_stdout(self.adapter, file, file.bytes)?.into(),
            HarnessInput::File(name) => {
                let none = OutputFiles::default();
                read_file(self.adapter, &ResultFile { beside: &none, ..*file }, name)?.into()
            }
            HarnessInput::Beside(name) => read_file(self.adapter, file, name)?.into(),
            HarnessInput::Own { read, .. } => read(file)?,
        };
        let RunReading { mut readings, commit, mut unread, .. } = own;
        readings.iter_mut().for_each(|reading| check::fail_within_a_cycle(self.adapter, reading));
        unread.extend((self.unread)(file));
        let run = (self.run)(file);
        let mut run = RunReading { readings, unread, commit: commit.or(run.commit.clone()), ..run };
        let notes = run.readings.iter().flat_map(|reading| {
            self.notes
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), reading.metadata.get(*name)?.clone())))
        });
        let notes: Vec<(String, Value)> = notes.collect();
        run.also_of_row(notes);
        let objects = self.machine.iter().chain(self.settings);
        let keys: Vec<&str> = objects.clone().filter_map(MachineFacts::first_key).collect();
        if let Some(outline) = objects.clone().next().and_then(|_| Outline::of(file, &keys, &[])) {
            run.more.extend(self.machine.iter().flat_map(|facts| facts.read(&outline)));
            run.settings.extend(self.settings.iter().flat_map(|facts| facts.read(&outline)));
        }
        Ok(vec![run])
    }
}

pub(crate) fn read_stdout(
    adapter: &dyn Adapter,
    file: &ResultFile,
    stdout: &[u8],
) -> Result<Vec<Reading>, ReadError> {
    let none = OutputFiles::default();
    let read = adapter.read(&HarnessOutput { stdout, files: &none });
    read.map_err(|error| renamed(error, None, file.name))
}

/// Reads a file under the adapter's name for it, with the files of its folder.
pub(crate) fn read_file(
    adapter: &dyn Adapter,
    file: &ResultFile,
    name: &str,
) -> Result<Vec<Reading>, ReadError> {
    let mut files = file.beside.clone();
    files.0.insert(name.to_owned(), file.bytes.to_vec());
    let read = adapter.read(&HarnessOutput { stdout: b"", files: &files });
    read.map_err(|error| renamed(error, Some(name), file.name))
}

/// The error with the user's name of the file instead of the adapter's.
pub(crate) fn renamed(error: ReadError, known_as: Option<&str>, name: &str) -> ReadError {
    let is_ours = |file: &Option<String>| file.is_none() || file.as_deref() == known_as;
    let named = |file: Option<String>| if is_ours(&file) { Some(name.to_owned()) } else { file };
    let place = match error.place {
        Place::HarnessOutput | Place::Stdout => Place::File(name.to_owned()),
        Place::File(file) => Place::File(named(Some(file)).unwrap_or_default()),
        Place::Line { file, line } => Place::Line { file: named(file), line },
        Place::Column { file, line, column } => Place::Column { file: named(file), line, column },
        Place::Path { file, path } => Place::Path { file: named(file), path },
        Place::Case(case) => Place::Case(case),
    };
    ReadError { place, what: error.what }
}
