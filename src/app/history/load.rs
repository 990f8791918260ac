//! The runs of a store, through a cache next to it: what is in the cache is not read again. The cache is never the truth:
//! it is made again wherever it does not fit, and nothing is lost without it.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::selection::RunSelection;
use super::source::TrendSource;
use crate::app::store::stores::folder_of;
use crate::compare::strictness;
use crate::history::{Address, HistoryBranch};
use crate::model::{HOST, Result, RunRecord, Strictness, sha256_hex};
use crate::stats::TQuantiles;
use crate::store::FrameFile;
use crate::suite::Suite;
use crate::trend::{CACHE_VERSION, Dictionary, RunPoints, SeriesFilter, TableBuilder, TrendRun, TrendTable};

/// Runs of the cache that the store no longer has, beyond which the cache is rebuilt.
const MOST_STALE: usize = 1_000;

pub(super) struct LoadedTrends {
    pub table: TrendTable,
    pub dictionary: Dictionary,
    pub left_out: usize,
    /// Runs that were passed over, and a cache that could not be used.
    pub warnings: Vec<String>,
}

/// The cache of a store's runs, next to the trees and calibrations of the suite.
pub(super) fn cache_file(suite: &Suite, address: &Address) -> Result<FrameFile> {
    let folder = folder_of(suite, None)?;
    let digest = sha256_hex(address.to_string().as_bytes());
    let path = folder.root().join("cache").join(format!("trends-{}.bin", &digest[..16]));
    Ok(FrameFile::new(path, CACHE_VERSION))
}

/// Reads the newest runs of a store that may be wanted, and `with`, a run that is in no store yet. Errors: the store cannot be
/// read.
pub(super) fn load(
    source: &TrendSource<'_>,
    cache: &FrameFile,
    runs: &RunSelection<'_>,
    filter: SeriesFilter<'_>,
    with: Option<(TrendRun, &RunRecord)>,
    match_key: &BTreeMap<String, Strictness>,
) -> Result<LoadedTrends> {
    let stored = source.runs();
    let mut candidates: Vec<usize> = (0..stored.len()).filter(|at| source.may_take(*at, runs)).collect();
    candidates.sort_by(|one, other| stored[*other].id.cmp(stored[*one].id));
    let shown: HashSet<usize> = candidates.iter().copied().take(runs.newest).collect();
    let left_out = candidates.len() - shown.len();
    let mut builder = TableBuilder::new(filter, shown.len());
    let mut warnings = Vec::new();
    // The place of each run in the store, until the cache has shown its figures.
    let mut missing: HashMap<&str, usize> =
        stored.iter().enumerate().map(|(at, run)| (run.key.as_str(), at)).collect();
    let mut stale = 0;
    let read = cache.read(|key, bytes| {
        let Ok(run) = builder.dictionary().decode(bytes) else { return false };
        match missing.remove(key) {
            Some(at) if shown.contains(&at) => builder.push(run),
            Some(_) => {}
            None => stale += 1,
        }
        true
    });
    let mut missing: Vec<usize> = missing.into_values().filter(|at| shown.contains(at)).collect();
    missing.sort_unstable();
    let unread = missing.len().saturating_sub(source.most());
    if unread > 0 {
        warnings.push(format!(
            "{unread} older runs are not read: each costs a request. Fetch the branch, and name it as git:BRANCH"
        ));
    }
    let mut quantiles = TQuantiles::default();
    let mut frames: Vec<(String, Vec<u8>)> = Vec::new();
    for places in missing[unread..].chunks(HistoryBranch::AT_ONCE) {
        for (at, read) in places.iter().zip(source.read(places)?) {
            let (run, record) = match read {
                Ok(read) => read,
                Err(fault) => {
                    warnings.push(format!("{} is passed over: {}", fault.place, fault.what));
                    continue;
                }
            };
            let points = RunPoints::of(run, &record, &mut quantiles);
            // A run without a form has none in a report either.
            let Ok((bytes, decoded)) = builder.dictionary().encode(&points) else { continue };
            frames.push((stored[*at].key.clone(), bytes));
            builder.push(decoded);
        }
    }
    let kept = read.and_then(|read| {
        if stale > MOST_STALE.max(stored.len()) {
            // The next reading makes it again: what was read here builds on what was in it.
            cache.discard()
        } else if frames.is_empty() {
            Ok(())
        } else {
            cache.append(read, frames.iter().map(|(key, bytes)| (key, bytes)))
        }
    });
    if let Err(error) = kept {
        let path = cache.path().display();
        warnings.push(format!("{path} cannot be used, so that all runs are read each time: {error}"));
    }
    if let Some((run, record)) = with.filter(|(run, _)| stored.iter().all(|it| it.id != run.run_id.as_str()))
    {
        let points = RunPoints::of(run, record, &mut quantiles);
        if let Ok((_, decoded)) = builder.dictionary().encode(&points) {
            builder.push(decoded);
        }
    }
    let (table, dictionary) = builder.finish(strictness(HOST, match_key) == Strictness::Strict);
    if table.hosts > 1 {
        warnings.push(format!(
            "the runs are from {} hosts, and each host has its own series; `host = \"annotate\"` in [gate.match] makes it one",
            table.hosts
        ));
    }
    Ok(LoadedTrends { table, dictionary, left_out, warnings })
}
