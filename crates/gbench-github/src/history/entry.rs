//! One run in a history: its record, and what CI knew about it.

use std::io::{Read, Write};
use std::time::SystemTime;

use flate2::Compression;
use flate2::GzBuilder;
use flate2::read::GzDecoder;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::store_address::is_branch;
use crate::api::address::Sha;
use gbench_model::{Exit, Fault, Probe, RecordState, Result, RunId, RunRecord, SCHEMAS_READ, Shard};

const SCHEMA_HISTORY: &str = "gbench-ci/history/v1";

/// Bytes of an entry's JSON: no more is written, and no more is unpacked, whatever a file claims to be.
pub(super) const MAX_BYTES: usize = 64 << 20;

/// One run. A history has a file for each and never changes one.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HistoryEntry {
    /// `gbench-ci/history/v1`.
    pub schema: String,
    /// The record's.
    pub run_id: RunId,
    /// When it was added, RFC 3339.
    pub appended: String,
    /// Name of the event that started the run: `schedule`, `push`.
    pub event: String,
    /// The branch that was measured: `main`.
    pub branch: String,
    /// Full id of the commit that was measured.
    pub commit: String,
    /// Which machine of a matrix it was: `h100`; empty for the only one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// Which part of the suite it measured; absent for the whole of it.
    pub shard: Option<Shard>,
    /// Digest of how the suite was cut into shards: shards of other cuts do not belong together. Absent of the whole suite, and
    /// of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
    /// The gate's conclusion, in the word of the verdict; absent where it was only measured.
    pub conclusion: Option<String>,
    pub exit_code: Option<u8>,
    /// Full id of the commit that it was judged against.
    pub base: Option<String>,
    /// The acceptances that changed the conclusion: files of this branch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
    pub record: RunRecord,
}

impl HistoryEntry {
    /// A run of the whole suite that no gate judged, added now. `event`: what brought it.
    pub fn of_record(record: RunRecord, branch: &str, commit: String, event: &str) -> Self {
        Self {
            schema: SCHEMA_HISTORY.into(),
            run_id: record.run_id.clone(),
            appended: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            event: event.to_owned(),
            branch: branch.to_owned(),
            commit,
            label: String::new(),
            shard: None,
            cut: None,
            conclusion: None,
            exit_code: None,
            base: None,
            accepted: Vec::new(),
            record,
        }
    }

    /// True if both are the same run with the same figures: all but the time at which they were added.
    pub fn is_same_run(&self, other: &Self) -> bool {
        // The id of a run that was read from files is that of its figures, wherever the files lie.
        let is_read = |entry: &Self| entry.record.ingested.is_some();
        if is_read(self) && is_read(other) {
            return self.run_id == other.run_id && self.commit == other.commit && self.branch == other.branch;
        }
        Self { appended: String::new(), ..self.clone() } == Self { appended: String::new(), ..other.clone() }
    }

    /// The name of the series of runs that it belongs to: `main`, and `main@h100` where there are several machines.
    pub fn series(&self) -> String {
        if self.label.is_empty() { self.branch.clone() } else { format!("{}@{}", self.branch, self.label) }
    }

    /// The whole entry, compressed: the same bytes for the same entry, whenever and wherever it is written.
    ///
    /// Errors: what may not enter a history. Exit code 4 where the run is at fault.
    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        let place = || format!("run {}", self.run_id);
        if let Some((what, next)) = self.refusal() {
            return Err(Fault::at(place(), what, next).exits(Exit::Failed));
        }
        let defect = |what: String| Fault::defect(place(), what);
        self.check().map_err(defect)?;
        let text = serde_json::to_vec(self).map_err(|error| defect(error.to_string()))?;
        if text.len() > MAX_BYTES {
            let what =
                format!("its record has {} MiB, and a history takes {}", text.len() >> 20, MAX_BYTES >> 20);
            return Err(Fault::at(place(), what, "measure fewer iterations, or in shards"));
        }
        // Neither a time nor a system in the header.
        let mut packer =
            GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::new(6));
        let packed = packer.write_all(&text).and_then(|()| packer.finish());
        packed.map_err(|error| defect(error.to_string()))
    }

    fn refusal(&self) -> Option<(&'static str, &'static str)> {
        let again = "run again; a history keeps whole runs only, because later ones are judged by it";
        let measured = self.record.cases.iter().filter(|case| case.outcome.is_measured()).count();
        let is_dirty = matches!(&self.record.manifest.git, Probe::Known(git) if git.dirty.any());
        match self.record.state {
            RecordState::Interrupted | RecordState::Recovered => Some(("the run was cut short", again)),
            RecordState::Complete if measured == 0 => Some(("nothing in it was measured", again)),
            RecordState::Complete if is_dirty => Some((
                "it measured changes that are in no commit",
                "commit them, or put them aside with `git stash --include-untracked`, and measure again",
            )),
            RecordState::Complete => None,
        }
    }

    /// Reads an entry's file. Errors in words: not an entry, whole or in part, or one of another version.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let mut text = Vec::new();
        let unpacked = GzDecoder::new(bytes).take(MAX_BYTES as u64 + 1).read_to_end(&mut text);
        unpacked.map_err(|error| format!("it cannot be unpacked: {error}"))?;
        if text.len() > MAX_BYTES {
            return Err(format!("it unpacks to more than {} MiB", MAX_BYTES >> 20));
        }
        let entry = serde_json::from_slice::<Self>(&text);
        // Another version may differ in more than its name, so its name is asked of what could not be read, too.
        let schema = entry.as_ref().map_or_else(|_| schema_of(&text), |entry| Some(entry.schema.clone()));
        if let Some(other) = schema.filter(|schema| schema != SCHEMA_HISTORY) {
            return Err(format!("its schema is `{}`, not `{SCHEMA_HISTORY}`", other.escape_debug()));
        }
        let entry = entry.map_err(|error| format!("it is not an entry of a history: {error}"))?;
        entry.check()?;
        match entry.refusal() {
            Some((what, _)) => Err(what.into()),
            None => Ok(entry),
        }
    }

    /// Checks beyond the types. The words of an entry reach terminals and reports, so each may contain only the
    /// characters of its kind.
    fn check(&self) -> Result<(), String> {
        let word = |text: &str, most: usize| {
            !text.is_empty()
                && text.len() <= most
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        };
        let plain = |text: &str| text.len() <= 100 && !text.chars().any(char::is_control);
        let commit = |text: &str| text.parse::<Sha>().is_ok();
        let wrong = [
            (self.schema != SCHEMA_HISTORY, "schema"),
            (self.run_id != self.record.run_id, "run_id"),
            (humantime::parse_rfc3339(&self.appended).is_err(), "appended"),
            (!word(&self.event, 100), "event"),
            (!is_branch(&self.branch), "branch"),
            (!commit(&self.commit), "commit"),
            (!plain(&self.label), "label"),
            (!self.shard.is_none_or(|shard| shard.is_one()), "shard"),
            (!self.conclusion.as_deref().is_none_or(|text| word(text, 100)), "conclusion"),
            (!self.base.as_deref().is_none_or(commit), "base"),
            (!self.accepted.iter().all(|path| plain(path)), "accepted"),
            (!SCHEMAS_READ.contains(&self.record.schema.as_str()), "record.schema"),
        ];
        if let Some((_, field)) = wrong.into_iter().find(|(wrong, _)| *wrong) {
            return Err(format!("its `{field}` is not what an entry of a history has"));
        }
        self.record.repeated().map_or(Ok(()), |twice| Err(format!("{twice} is in it twice")))
    }
}

fn schema_of(text: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Schema {
        schema: Option<String>,
    }
    serde_json::from_slice::<Schema>(text).ok()?.schema
}
