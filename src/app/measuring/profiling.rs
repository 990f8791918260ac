//! The confirmed regressions of a comparison that profilers look into.

use std::path::Path;

use super::clocks::HeldClocks;
use super::executor::SessionMeans;
use super::session::base_and_head;
use crate::app::progress::Reporter;
use crate::compare::{Verdict, VerdictDocument};
use crate::model::{CaseId, Result, RunRecord};
use crate::run::{Finished, ProfileSession, RunSession};
use crate::suite::Suite;
use crate::suite::plan::RoundsPlan;

/// Regressions of one comparison that are profiled, the worst first: each takes a process a side and profiler.
const MAX_PROFILED: usize = 3;

/// Runs base and head of the worst confirmed regressions under the profilers that are asked for, one after the other, into
/// the records of the comparison. Decides nothing.
///
/// Says whether there was anything to profile. Errors: a record cannot be written.
pub(crate) fn profile_regressions(
    (plan, finished): (&RoundsPlan, &mut [Finished]),
    (head, tree): (&Suite, &Path),
    document: &VerdictDocument,
    reporter: &Reporter,
) -> Result<bool> {
    let regressed = worst_regressed(document);
    if head.profile.profilers.value.is_empty() || regressed.is_empty() {
        return Ok(false);
    }
    let [base_record, head_record] = base_and_head(finished)?.map(|side| &side.record);
    let pairs: Vec<[usize; 2]> = regressed
        .into_iter()
        .filter_map(|id| Some([place(base_record, id)?, place(head_record, id)?]))
        .collect();
    // Those of the measurement were given back. Both sides have the gate of the base.
    let clocks = HeldClocks::take(head, &[head], reporter)?;
    let mut means = SessionMeans::new(reporter)?;
    // Each process has its own limit, and there are few.
    let session = RunSession { deadline: 0.0, calm_wait: 0.0, ..means.session(&head.run, tree, None) };
    let profiling = ProfileSession { session, options: &head.profile, clocks_locked: clocks.are_locked() };
    let ended = profiling.run(plan, finished, &pairs)?;
    reporter.finish();
    if ended.is_some() {
        reporter.note("warning: the profiles were interrupted; the verdict is not affected");
    }
    Ok(true)
}

fn worst_regressed(document: &VerdictDocument) -> Vec<&CaseId> {
    let mut cases: Vec<&CaseId> = Vec::new();
    for row in document.rows.iter().filter(|row| row.verdict == Verdict::Regressed) {
        // A program is represented by its likeliest case.
        let of_case = |name: &str| document.rows.iter().find(|row| row.case.to_string() == name);
        let case = row.likeliest().map_or(Some(row), of_case).map(|row| &row.case);
        if let Some(case) = case.filter(|case| !cases.contains(case) && cases.len() < MAX_PROFILED) {
            cases.push(case);
        }
    }
    cases
}

/// A side may name another device than the row does.
fn place(record: &RunRecord, id: &CaseId) -> Option<usize> {
    let same = |other: &CaseId| CaseId { device: id.device.clone(), ..other.clone() } == *id;
    record.cases.iter().position(|case| same(&case.id))
}
