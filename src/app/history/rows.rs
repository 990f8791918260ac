//! The newest runs of some rows, read from GitHub by the side that publishes.

use std::collections::{BTreeMap, HashSet};

use super::SHOWN_RUNS;
use super::load::{self, LoadedTrends};
use super::selection::RunSelection;
use super::source::TrendSource;
use crate::app::store::stores::{Stored, Stores};
use crate::model::{CaseId, Fault, Result};
use crate::store::FrameFile;
use crate::trend::{CACHE_VERSION, SeriesFilter, TrendsDocument, trends_of};

pub(crate) struct RowsOfMachine<'r> {
    /// Empty for the only one.
    pub label: &'r str,
    pub rows: HashSet<(&'r CaseId, &'r str)>,
    pub parts: usize,
}

/// The 30 newest nights of each machine's rows in the history at this address, one document a machine that has any. `branch`: of
/// which runs. Errors: the history is there and cannot be read.
pub(crate) fn trends_of_rows(
    address: &str,
    branch: Option<&str>,
    machines: &[RowsOfMachine<'_>],
) -> Result<Vec<TrendsDocument>> {
    let stored = Stores::new(Some(address)).of(None)?;
    let Stored::Branch(there) = &*stored else { return Ok(Vec::new()) };
    if !there.history()?.is_there()? {
        return Ok(Vec::new());
    }
    let source = TrendSource::of(&stored)?;
    // The machine that publishes keeps nothing; here the cache saves what two machines of a matrix would both read.
    let folder = tempfile::tempdir().map_err(|error| {
        Fault::at("the temporary folder", error.to_string(), "set `TMPDIR` to a folder that can be written")
    })?;
    let cache = FrameFile::new(folder.path().join("trends.bin"), CACHE_VERSION);
    // Which facts a suite makes strict is not known here.
    let usual = BTreeMap::new();
    let mut documents = Vec::new();
    for machine in machines {
        let runs = RunSelection::new(None, branch, Some(machine.label), SHOWN_RUNS * machine.parts)?;
        let filter = SeriesFilter {
            run: &|run| runs.takes(run),
            series: &|case, metric| machine.rows.contains(&(case, metric)),
            // Nor what was renamed.
            renamed: &BTreeMap::new(),
        };
        let LoadedTrends { table, dictionary, left_out, warnings } =
            load::load(&source, &cache, &runs, filter, None, &usual)?;
        let trends = trends_of(&table, &dictionary, &usual);
        let mut document = TrendsDocument::new(address.to_owned(), &table, &trends, (left_out, warnings));
        document.unmeasured.clear();
        documents.push(document);
    }
    documents.retain(|document| !document.series.is_empty());
    Ok(documents)
}
