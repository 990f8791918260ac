//! The device code of rows' cases, and the noise of rows whose code is the same.

use super::device_code::{CaseCode, CodeNoise, CodeState};
use crate::identity::cases::PairedCase;
use crate::verdict::conclusion::was_compared;
use crate::verdict::document::Row;
use gbench_model::{CaseId, SPEEDUP_UNIT, is_time};
use gbench_stats as stats;

/// The code of every case that both sides have, where it is known of at least one. In order of the cases.
pub(crate) fn cases(pairs: &[PairedCase]) -> Vec<CaseCode> {
    let of = |pair: &PairedCase| CaseCode::of(pair.id, pair.base?, pair.head?);
    let mut cases: Vec<CaseCode> = pairs.iter().filter_map(of).collect();
    cases.sort_by(|a, b| a.case.cmp(&b.case));
    cases
}

pub(crate) fn tell(rows: &mut [Row], cases: &[CaseCode]) {
    // The speedup of a pair is made of two cases, and a case as a whole has no figure.
    for row in rows.iter_mut().filter(|row| row.unit != SPEEDUP_UNIT && !row.metric.is_empty()) {
        row.device_code = of_case(cases, &row.case).map(|case| case.state);
    }
}

pub(crate) fn of_case<'c>(cases: &'c [CaseCode], id: &CaseId) -> Option<&'c CaseCode> {
    cases.binary_search_by(|case| case.case.cmp(id)).ok().map(|at| &cases[at])
}

/// The noise that rows of identical code show; `None` where there is no such row.
pub(crate) fn noise(rows: &[Row]) -> Option<CodeNoise> {
    let same =
        |row: &&Row| row.device_code == Some(CodeState::Identical) && is_time(&row.unit) && was_compared(row);
    let size = |row: &Row| row.known_change().map(|change| change.slowdown.abs());
    let sizes = rows.iter().filter(same).filter_map(|row| Some((size(row)?, row)));
    let sizes: Vec<(f64, &Row)> = sizes.filter(|(size, _)| size.is_finite()).collect();
    let (largest, row) = sizes.iter().max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let median = stats::median(&mut sizes.iter().map(|(size, _)| *size).collect::<Vec<_>>())?;
    Some(CodeNoise { rows: sizes.len() as u32, median, largest: *largest, case: row.case.clone() })
}
