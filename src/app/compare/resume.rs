//! Going on with a comparison of two commits: what was begun stays what it is.

use std::collections::BTreeSet;
use std::path::Path;

use crate::app::request::CommitsRequest;
use crate::app::store::comparison::{StoredComparison, comparison_folder};
use crate::model::text::short_commit;
use crate::model::{BenchmarkId, CaseId, Comparison, Fault, Params, Result, RunRecord, SandboxState};
use crate::store::{ComparisonFolder, begun_for_nothing, hold};
use crate::suite::Suite;
use crate::trees::{self, Range, Revision, Sides};

pub(crate) struct Resumed {
    pub sides: Sides,
    pub folder: ComparisonFolder,
    pub comparison: Comparison,
    pub records: Vec<RunRecord>,
}

impl Resumed {
    /// Leaves out benchmarks that the comparison began without, by its flags: they need not be built or listed.
    pub(crate) fn keep_benchmarks(&self, suites: [&mut Suite; 2]) {
        for (suite, record) in suites.into_iter().zip(&self.records) {
            let began: BTreeSet<&BenchmarkId> = record.cases.iter().map(|case| &case.id.benchmark).collect();
            suite.benchmarks.retain(|benchmark| began.contains(&benchmark.id));
        }
    }

    /// Leaves out cases that the comparison began without.
    pub(crate) fn keep_cases(&self, suites: [&mut Suite; 2]) {
        for (suite, record) in suites.into_iter().zip(&self.records) {
            for benchmark in &mut suite.benchmarks {
                let of_benchmark = record.cases.iter().filter(|case| case.id.benchmark == benchmark.id);
                let began: BTreeSet<&Params> = of_benchmark.map(|case| &case.id.params).collect();
                benchmark.points.retain(|point| began.contains(point));
            }
            suite.benchmarks.retain(|benchmark| !benchmark.points.is_empty());
        }
    }

    /// Those of the cases that the comparison began to measure against themselves; `None` if it has no control.
    pub(crate) fn controls(&self, cases: &[CaseId]) -> Option<Vec<CaseId>> {
        let control = self.records.get(2)?;
        let is_controlled = |id: &&CaseId| {
            control.cases.iter().any(|case| case.id.benchmark == id.benchmark && case.id.params == id.params)
        };
        Some(cases.iter().filter(is_controlled).cloned().collect())
    }

    /// Refuses flags that would make it another comparison, rather than passing over them.
    pub(crate) fn allows(&self, request: &CommitsRequest) -> Result<()> {
        let begun = &self.comparison;
        let threshold = request.run.settings.overrides.settings.threshold.given().copied();
        let differs = [
            (request.rounds.order_seed.is_some_and(|seed| seed != begun.seed), "--order-seed"),
            (request.rounds.interleave.is_some_and(|mode| mode != begun.interleaving), "--interleave"),
            (
                request.rounds.no_sandbox && matches!(begun.sandbox, Some(SandboxState::Landlock(_))),
                "--no-sandbox",
            ),
            (threshold.is_some() && threshold != begun.policy.threshold, "--threshold"),
        ];
        match differs.into_iter().find(|(differs, _)| *differs) {
            Some((_, flag)) => {
                let what =
                    "the comparison began with other settings, and its rounds cannot be judged by new ones";
                Err(Fault::at_flag(flag, what, "take the flag out, or begin a new comparison"))
            }
            None => Ok(()),
        }
    }
}

/// A comparison to continue, by its id, its folder, or as the latest one.
pub(crate) fn resumed(text: &str, artifacts: &Path, home: &Path) -> Result<Resumed> {
    if let (true, Some(range)) = (text.is_empty(), begun_for_nothing(artifacts)) {
        let range = if range.is_empty() { range } else { format!(" {range}") };
        let what = "the comparison that was begun last ended before anything was measured";
        let next = format!(
            "begin it again with `gbench-ci compare{range}`, or resume an older one by its id: `--resume ID`"
        );
        return Err(Fault::at_flag("--resume", what, next));
    }
    let path = comparison_folder(Some(text).filter(|text| !text.is_empty()), artifacts)?;
    let StoredComparison { base, head, control, .. } = StoredComparison::in_folder(&path)?;
    hold(&path);
    let folder = ComparisonFolder::open(&path)?;
    let Some(comparison) = base.comparison.as_deref().cloned() else {
        let what = "these records were not measured in rounds";
        return Err(Fault::at_path(&path, what, "begin a comparison: `gbench-ci compare BASE..HEAD`"));
    };
    // Said as they were when it began: a name may mean another commit by now.
    let side = |record, words: &str| -> Result<Revision> {
        Ok(Revision { words: words.to_owned(), ..revision_of(record, home, &path)? })
    };
    let sides = Sides { base: side(&base, &comparison.base)?, head: side(&head, &comparison.head)? };
    let records = [Some(base), Some(head), control].into_iter().flatten().collect();
    Ok(Resumed { sides, folder, comparison, records })
}

/// The state that a record was measured on: its commit, or the working tree as long as that is still the same.
fn revision_of(record: &RunRecord, home: &Path, path: &Path) -> Result<Revision> {
    let git = record.manifest.git.known();
    let Some((git, commit)) = git.and_then(|git| Some((git, git.commit.clone()?))) else {
        let what = "its records do not say which commits they measured";
        return Err(Fault::at_path(path, what, "begin a new comparison: `gbench-ci compare BASE..HEAD`"));
    };
    if !git.dirty.any() {
        let range = format!("{commit}..{commit}");
        return Ok(trees::resolve(home, &Range::parse(Some(&range)))?.head);
    }
    let now = trees::resolve(home, &Range::parse(Some("HEAD..")))?.head;
    let before = record.comparison.as_ref().and_then(|comparison| comparison.head_changes.as_ref());
    let known = now.changed == 0 || now.fingerprint.is_some();
    if now.commit == commit && (now.fingerprint.as_ref() != before || !known) {
        let what = "its head was your working tree, and files have changed since";
        return Err(Fault::at_path(path, what, "take the changes back, or begin a new comparison"));
    }
    if now.commit != commit {
        let what = format!(
            "its head was a working tree at {}, and yours is at {}",
            short_commit(&commit),
            short_commit(&now.commit)
        );
        return Err(Fault::at_path(path, what, "check that commit out again, or begin a new comparison"));
    }
    Ok(now)
}
