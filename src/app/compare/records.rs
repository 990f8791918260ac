//! Two records, or a stored baseline and a fresh run, become one verdict; with a release baseline, two.

use std::path::{Path, PathBuf};

use super::target::{RecordSides, looks_like_a_record};
use crate::app::compare::selection_filter::{SelectionFilter, of_records};
use crate::app::ingest::{IngestOptions, is_own, load, load_files};
use crate::app::measuring::session::{match_key, measure};
use crate::app::paths::shown;
use crate::app::progress::Reporter;
use crate::app::reports::verdict_files::{ANCHOR_PREFIX, write_reports};
use crate::app::request::{LocalSuite, RunRequest, shell_flags};
use crate::app::store::stores::{Found, Stores, histories};
use crate::compare::{
    History, Policy, Records, Reproduce, SideInput, VerdictDocument, Warning, compare_with,
};
use crate::model::{Fault, Origin, Result, RunRecord, shell_word};
use crate::run::Finished;
use crate::store::read_two_records;
use crate::suite::plan::check_claims;
use crate::suite::words::ratio_text;
use crate::suite::{Gate, Selection, Suite};

#[derive(Clone, Debug)]
pub(crate) struct RecordsRequest {
    pub sides: RecordSides,
    /// The release baseline that the head is judged against, too.
    pub anchor: Option<String>,
    /// The benchmarks to measure, or to take from the records.
    pub run: RunRequest,
    pub store: Option<String>,
    /// Stored runs that must show how much sessions differ; `None`: as the gate has it.
    pub sessions: Option<u32>,
    pub fail_inconclusive: bool,
    pub embed: bool,
    pub ingest: IngestOptions,
}

pub(crate) enum ComparedRecords {
    Verdict(Box<RecordsVerdict>),
    /// The fresh run was cut short, and nothing is compared.
    Interrupted(Box<Finished>),
}

pub(crate) struct RecordsVerdict {
    pub document: VerdictDocument,
    pub anchored: Option<VerdictDocument>,
    pub reports: Option<PathBuf>,
    /// Base, head and release baseline, which live as long as the verdict: taking large ones apart is felt.
    _records: Vec<RunRecord>,
}

/// Compares the records of a request. The reports of a fresh run are written next to its record.
pub(crate) fn compare(
    request: &RecordsRequest,
    stores: &Stores<'_>,
    local: &LocalSuite<'_>,
    reporter: &Reporter,
) -> Result<ComparedRecords> {
    let selection = &request.run.selection;
    // Two files need no suite; where there is one, its gate still decides how they are judged.
    let registry = local.registry()?;
    let threshold = request.run.settings.overrides.settings.threshold.given().copied();
    let mut loaded = match &request.sides {
        RecordSides::Files(files) => Loaded::files(request, files, registry.file.as_ref(), stores)?,
        RecordSides::Stored(names) => Loaded::both(request, names, registry.file.as_ref(), stores)?,
        RecordSides::Fresh(base) => {
            let suite = request.run.configured(registry.select(&selection.selection)?)?;
            // Before anything is measured: a baseline that is not there must not cost a run.
            let base = LoadedRecord::find(base, Some(&suite), request, stores)?;
            let anchor = LoadedRecord::anchor(Some(&suite), request, stores)?;
            let finished = measure(&suite, reporter)?;
            if finished.interrupted.is_some() {
                return Ok(ComparedRecords::Interrupted(Box::new(finished)));
            }
            let path = finished.folder.root().to_owned();
            let reports = Some(path.join("reports"));
            let head = LoadedRecord { record: finished.record, name: "this run".into(), path };
            Loaded { base, head, anchor, suite: Some(suite), reports }
        }
    };
    // Two records know the cases that they contain; a fresh run knows those of its suite.
    let is_fresh = matches!(request.sides, RecordSides::Fresh(_));
    let of_both = (!is_fresh && selection.selection != Selection::default())
        .then(|| of_records(loaded.records().map(|loaded| &loaded.record)));
    let filter = SelectionFilter::new(of_both.as_ref().unwrap_or(registry), &selection.selection)?;
    loaded.records_mut().for_each(|loaded| filter.apply(&mut loaded.record));
    let Loaded { base, head, anchor, suite, reports } = loaded;
    refuse_same_file(&base.record, &head.record)?;
    let mut policy = policy(suite.as_ref().map(|suite| &suite.gate), threshold);
    let is_stored = !Path::new(&base.name).exists() && !matches!(request.sides, RecordSides::Files(_));
    let by_processes =
        request.sessions.is_none() && !is_stored && are_files(&base.record, &head.record, suite.as_ref());
    policy.sessions = request.sessions.unwrap_or(if by_processes { 0 } else { policy.sessions });
    policy.inconclusive_fails |= request.fail_inconclusive;
    let bases = std::iter::once(&base).chain(&anchor);
    let pairs: Vec<_> = bases.clone().map(|base| (&base.record, &head.record)).collect();
    let (histories, unread) = histories(suite.as_ref(), stores, &pairs, &policy)?;
    let judge = |base: &LoadedRecord, history: &History| -> Result<VerdictDocument> {
        let reproduce = Reproduce::Command(reproduce(request, &base.path, &head.path, &policy));
        let policy = Policy { reproduce, ..policy.clone() };
        let mut document = compare_with(history, &base.side(), &head.side(), &policy)?;
        document.warn(unread.iter().map(|text| Warning::HistoryUnread { text: text.clone() }).collect());
        if by_processes {
            document.warn(vec![Warning::FilesByProcesses {}]);
        }
        if request.embed {
            document.records = Some(Box::new(Records {
                base: base.record.clone(),
                head: head.record.clone(),
                history: (history.runs > 0).then(|| history.clone()),
            }));
        }
        Ok(document)
    };
    let document = judge(&base, &histories[0])?;
    let anchored = anchor.as_ref().map(|anchor| judge(anchor, &histories[1])).transpose()?;
    if let Some(folder) = &reports {
        write_reports("", &document, folder)?;
        anchored.as_ref().map_or(Ok(()), |document| write_reports(ANCHOR_PREFIX, document, folder))?;
    }
    let records = [Some(base), Some(head), anchor].into_iter().flatten().map(|loaded| loaded.record);
    let _records = records.collect();
    Ok(ComparedRecords::Verdict(Box::new(RecordsVerdict { document, anchored, reports, _records })))
}

fn are_files(base: &RunRecord, head: &RunRecord, suite: Option<&Suite>) -> bool {
    let asked = suite.is_some_and(|suite| suite.gate.sessions.origin != Origin::Default);
    base.ingested.is_some() && head.ingested.is_some() && !asked
}

/// The same file of another program on both sides shows no difference. Usually the head did not write its own.
fn refuse_same_file(base: &RunRecord, head: &RunRecord) -> Result<()> {
    let files = |record: &RunRecord| record.ingested.as_ref().map(|it| it.files.clone()).unwrap_or_default();
    let of_base = files(base);
    if base.ingested.is_some() && base.run_id == head.run_id {
        let place = of_base.first().map(|file| file.path.clone()).unwrap_or_default();
        let what = "the head has the same figures, all of them: they are one measurement";
        return Err(Fault::at_path(place, what, "see whether the head has written its own file"));
    }
    match files(head).into_iter().find(|file| of_base.iter().any(|other| other.sha256 == file.sha256)) {
        None => Ok(()),
        Some(file) => {
            let what = "its content is that of a file of the base, so that there is nothing to compare";
            Err(Fault::at_path(file.path, what, "see whether the head has written its own file"))
        }
    }
}

struct Loaded {
    base: LoadedRecord,
    head: LoadedRecord,
    anchor: Option<LoadedRecord>,
    suite: Option<Suite>,
    reports: Option<PathBuf>,
}

impl Loaded {
    fn both(
        request: &RecordsRequest,
        names: &[String; 2],
        suite: Option<&Suite>,
        stores: &Stores<'_>,
    ) -> Result<Self> {
        let found = names.each_ref().map(|text| LoadedRecord::found(text, suite, stores));
        let [base_found, head_found] = found;
        let (base_found, head_found) = (base_found?, head_found?);
        let (base, head_record) = match (&base_found, &head_found) {
            (Found::Path(base), Found::Path(head)) if are_own(request, [base, head]) => {
                read_two_records(base, head)
            }
            (base, head) => (read(base, request), read(head, request)),
        };
        let [base_name, head_name] = names.clone();
        let base = LoadedRecord { record: base?, name: base_name, path: base_found.place() };
        let head = LoadedRecord { record: head_record?, name: head_name, path: head_found.place() };
        // Those of one comparison in rounds are judged by its rule, which rests on them.
        check_claims(&base.record, &head.record, None)?;
        let anchor = LoadedRecord::anchor(suite, request, stores)?;
        Ok(Self { base, head, anchor, suite: suite.cloned(), reports: None })
    }

    fn files(
        request: &RecordsRequest,
        files: &[Vec<PathBuf>; 2],
        suite: Option<&Suite>,
        stores: &Stores<'_>,
    ) -> Result<Self> {
        let side = |files: &[PathBuf]| -> Result<LoadedRecord> {
            let record = load_files(files, &request.ingest)?;
            let path = files.first().cloned().unwrap_or_default();
            let name = match files.len() {
                1 => shown(&path),
                more => format!("{} and {} more", shown(&path), more - 1),
            };
            Ok(LoadedRecord { record, name, path })
        };
        let [base, head] = files;
        let (base, head) = (side(base)?, side(head)?);
        let anchor = LoadedRecord::anchor(suite, request, stores)?;
        Ok(Self { base, head, anchor, suite: suite.cloned(), reports: None })
    }

    fn records(&self) -> impl Iterator<Item = &LoadedRecord> {
        [&self.base, &self.head].into_iter().chain(&self.anchor)
    }

    fn records_mut(&mut self) -> impl Iterator<Item = &mut LoadedRecord> {
        [&mut self.base, &mut self.head].into_iter().chain(&mut self.anchor)
    }
}

fn are_own(request: &RecordsRequest, paths: [&Path; 2]) -> bool {
    // Flags that do not apply to them are refused when each is read.
    !request.ingest.speaks_of_files()
        && paths.into_iter().all(|path| is_own(path, &request.ingest).unwrap_or(false))
}

fn read(found: &Found, request: &RecordsRequest) -> Result<RunRecord> {
    match found {
        Found::Path(path) => load(path, &request.ingest),
        Found::Run(_) => found.read(),
    }
}

/// A record that the request names, or the one of its fresh run.
struct LoadedRecord {
    record: RunRecord,
    /// The word of the request, or `this run`.
    name: String,
    /// Where it lies, so that the comparison can be repeated when a name means something newer.
    path: PathBuf,
}

impl LoadedRecord {
    fn find(
        text: &str,
        suite: Option<&Suite>,
        request: &RecordsRequest,
        stores: &Stores<'_>,
    ) -> Result<Self> {
        let found = Self::found(text, suite, stores)?;
        Ok(Self { record: read(&found, request)?, name: text.to_owned(), path: found.place() })
    }

    /// A record's path, or the newest one of a baseline's name. Where both fit, the name wins: a program or folder
    /// called `main` must not hide the baseline.
    fn found(text: &str, suite: Option<&Suite>, stores: &Stores<'_>) -> Result<Found> {
        let path = Path::new(text);
        if looks_like_a_record(text) {
            return Ok(Found::Path(path.to_owned()));
        }
        let store = stores.of(suite)?;
        match store.find(text)? {
            Some(found) => Ok(found),
            None if path.exists() => Ok(Found::Path(path.to_owned())),
            None => Err(store.missing(text)),
        }
    }

    fn anchor(suite: Option<&Suite>, request: &RecordsRequest, stores: &Stores<'_>) -> Result<Option<Self>> {
        request.anchor.as_deref().map(|text| Self::find(text, suite, request, stores)).transpose()
    }

    fn side(&self) -> SideInput<'_> {
        SideInput { record: &self.record, name: self.name.clone() }
    }
}

/// The suite file's gate as the comparison takes it.
pub(crate) fn policy(gate: Option<&Gate>, threshold: Option<f64>) -> Policy {
    let usual = Gate::default();
    let gate = gate.unwrap_or(&usual);
    Policy {
        alpha: gate.alpha.value,
        inconclusive_fails: gate.inconclusive_fails.value,
        failed_fails: gate.failed_fails.value,
        broken_fails: gate.broken_fails.value,
        doubt_fails: true,
        sessions: gate.sessions.value,
        threshold,
        match_key: match_key(gate),
        reproduce: Reproduce::default(),
        no_reference: None,
    }
}

fn reproduce(request: &RecordsRequest, base: &Path, head: &Path, policy: &Policy) -> String {
    let words = |paths: &[PathBuf]| {
        let words: Vec<String> = paths.iter().map(|path| shell_word(&shown(path))).collect();
        words.join(" ")
    };
    let sides = match &request.sides {
        RecordSides::Files([base, head]) => format!("--base {} --head {}", words(base), words(head)),
        _ => format!("{} {}", words(&[base.to_owned()]), words(&[head.to_owned()])),
    };
    let fail = if request.fail_inconclusive { " --fail-inconclusive" } else { "" };
    let given = shell_flags([
        ("--sessions", request.sessions.map(|sessions| sessions.to_string())),
        ("--store", request.store.clone()),
        ("--threshold", policy.threshold.map(ratio_text)),
    ]);
    format!(
        "gbench-ci compare {sides}{}{}{fail}{given}",
        request.ingest.flags(),
        request.run.selection.flags()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_of_the_file_reaches_the_policy() {
        let mut gate = Gate::default();
        gate.alpha.value = 0.01;
        gate.inconclusive_fails.value = true;
        let policy = policy(Some(&gate), Some(0.02));
        assert_eq!((policy.alpha, policy.inconclusive_fails, policy.threshold), (0.01, true, Some(0.02)));
    }
}
