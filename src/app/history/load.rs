//! The runs of a store, through a cache beside it: what is in the cache is not read again. The cache is never the truth: it is made
//! anew wherever it does not fit, and nothing is lost without it.

use std::collections::HashMap;
use std::path::PathBuf;

use super::source::{StoredRun, TrendSource};
use crate::app::stores::folder_of;
use crate::model::{Result, sha256_hex};
use crate::stats::TQuantiles;
use crate::store::{Address, FrameFile};
use crate::suite::Suite;
use crate::trend::{CACHE_VERSION, Dictionary, RunPoints, SeriesFilter, TableBuilder, TrendTable};

/// Runs of the cache that the store no longer has, beyond which it is made anew.
const MOST_STALE: usize = 1_000;

pub(super) struct LoadedTrends {
    pub table: TrendTable,
    pub dictionary: Dictionary,
    /// Runs that were passed over, and a cache that could not be used.
    pub warnings: Vec<String>,
}

/// Where the figures of a store's runs are kept: a file in the suite's folder for what is no record.
pub(super) fn cache_file(suite: &Suite, address: &Address) -> Result<Option<FrameFile>> {
    let folder = folder_of(suite, None)?;
    let digest = sha256_hex(address.to_string().as_bytes());
    let path: PathBuf = folder.root().join("cache").join(format!("trends-{}.bin", &digest[..16]));
    Ok(Some(FrameFile::new(path, CACHE_VERSION)))
}

/// Reads the newest runs of a store. Errors: the store cannot be read.
pub(super) fn load(
    source: &TrendSource<'_>,
    cache: Option<&FrameFile>,
    filter: SeriesFilter<'_>,
    newest: usize,
) -> Result<LoadedTrends> {
    let stored = source.runs();
    let shown = newest_of(&stored, newest);
    let mut builder = TableBuilder::new(filter, shown.len());
    let mut warnings = Vec::new();
    // Where each run stands in the store, and whether its figures are known.
    let mut missing: HashMap<&str, usize> =
        stored.iter().enumerate().map(|(at, run)| (run.key.as_str(), at)).collect();
    let mut stale = 0;
    let mut read = cache.map(|cache| {
        cache.read(|key, bytes| {
            let Ok(run) = builder.dictionary().decode(bytes) else { return false };
            match missing.remove(key) {
                Some(at) if shown.contains(&at) => builder.push(run),
                Some(_) => {}
                None => stale += 1,
            }
            true
        })
    });
    if let (Some(cache), true) = (cache, stale > MOST_STALE.max(stored.len())) {
        // The next reading makes it anew: what is read here builds on what was in it.
        cache.discard();
        read = None;
    }
    let mut missing: Vec<usize> = missing.into_values().filter(|at| shown.contains(at)).collect();
    missing.sort_unstable();
    let left_out = missing.len().saturating_sub(source.most());
    if left_out > 0 {
        warnings.push(format!(
            "{left_out} older runs are not read: each costs a request. Fetch the branch, and name it as git:BRANCH"
        ));
    }
    let mut quantiles = TQuantiles::default();
    let mut frames: Vec<(String, Vec<u8>)> = Vec::new();
    for at in missing.drain(left_out..) {
        let (run, record) = match source.read(at)? {
            Ok(read) => read,
            Err(fault) => {
                warnings.push(format!("{} is passed over: {}", fault.place, fault.what));
                continue;
            }
        };
        let points = RunPoints::of(run, &record, &mut quantiles);
        // A run without a form has none in a report either.
        let Ok((bytes, decoded)) = builder.dictionary().encode(&points) else { continue };
        frames.push((stored[at].key.clone(), bytes));
        builder.push(decoded);
    }
    if let (Some(cache), Some(read)) = (cache, read) {
        let kept = read.and_then(|read| {
            if frames.is_empty() {
                return Ok(());
            }
            cache.append(read, frames.iter().map(|(key, bytes)| (key.as_str(), bytes.as_slice())))
        });
        if let Err(error) = kept {
            let path = cache.path().display();
            warnings.push(format!("{path} cannot be used, so that all runs are read each time: {error}"));
        }
    }
    let (table, dictionary) = builder.finish();
    Ok(LoadedTrends { table, dictionary, warnings })
}

/// The places of the newest runs.
fn newest_of(stored: &[StoredRun<'_>], newest: usize) -> std::collections::HashSet<usize> {
    let mut order: Vec<usize> = (0..stored.len()).collect();
    order.sort_by(|one, other| stored[*other].id.cmp(stored[*one].id));
    order.into_iter().take(newest).collect()
}
