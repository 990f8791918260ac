//! The past of a comparison, out of the store.

use super::baseline::store_of;
use super::run::shown;
use crate::compare::{History, Policy, one_session};
use crate::model::{Result, RunRecord};
use crate::store::read_record;
use crate::suite::{Source, Suite};

/// The histories of several comparisons, each base with its head, in the same order: every stored record is read once
/// and let go. Beside them a warning for each that cannot be read. Nothing is read where no comparison asks the past.
///
/// Errors: a store that the command line names and that is none.
pub fn histories(
    suite: Option<&Suite>,
    flag: Option<&str>,
    pairs: &[(&RunRecord, &RunRecord)],
    policy: &Policy,
) -> Result<(Vec<History>, Vec<String>)> {
    let mut histories = vec![History::default(); pairs.len()];
    let mut warnings = Vec::new();
    if policy.sessions == 0 || pairs.iter().all(|(base, head)| one_session(base, head)) {
        return Ok((histories, warnings));
    }
    let builtin = Suite::new("micro", Source::Builtin, Vec::new());
    let store = match store_of(suite.unwrap_or(&builtin), flag) {
        Ok(store) => store,
        Err(fault) if flag.is_some() => return Err(fault),
        // Two records are compared without a store, too; only its past is missing then.
        Err(fault) => {
            warnings.push(format!("no history was read: {}", fault.what));
            return Ok((histories, warnings));
        }
    };
    for entry in store.list() {
        match read_record(&entry.path) {
            Ok(record) => {
                for (history, pair) in histories.iter_mut().zip(pairs) {
                    history.add(entry.name.as_str(), &record, *pair, &policy.match_key);
                }
            }
            Err(fault) => {
                warnings.push(format!("{} is no part of the history: {}", shown(&entry.path), fault.what));
            }
        }
    }
    Ok((histories, warnings))
}
