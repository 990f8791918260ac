//! A GPU's time and its cycles. Without locked clocks a time may change because the card ran at another clock: the same
//! rule then judges the cycles of those cases, as a separate comparison. Its result is shown next to a time that is red
//! or open, and decides nothing.

use std::collections::HashMap;

use gbench_model::{Better, CYCLES, CaseId, CaseRecord, Metric, OwnFigure, Probe, RunRecord};

use crate::verdict::document::{Row, RowCycles};
use crate::verdict::outcome::Verdict;
use crate::wording::warning::Warning;

const TIME: &str = "time";

/// True if cycles could explain a row, and the clocks may have moved.
pub(crate) fn are_asked(rows: &[Row], base: &RunRecord, head: &RunRecord) -> bool {
    rows.iter().any(is_open_time) && [base, head].into_iter().any(is_unlocked)
}

fn is_open_time(row: &Row) -> bool {
    row.metric == TIME && matches!(row.verdict, Verdict::Regressed | Verdict::Inconclusive)
}

/// True if by NVML and the gate's own locks the clocks of a GPU of the machine were free.
pub(crate) fn is_unlocked(record: &RunRecord) -> bool {
    let gpus = record.manifest.gpu.known().map(|gpus| gpus.devices.as_slice()).unwrap_or_default();
    gpus.iter().any(|gpu| gpu.clocks_locked == Probe::Known(false))
}

pub(crate) fn has_cycles(case: &CaseRecord) -> bool {
    own_cycles(case).next().is_some()
}

fn own_cycles(case: &CaseRecord) -> impl Iterator<Item = &Metric> {
    let is_own = |metric: &&Metric| {
        metric.name == CYCLES && OwnFigure::of(case, metric) == Some(OwnFigure::Circumstance)
    };
    case.metrics.iter().filter(is_own)
}

pub(crate) fn by_case(rows: Vec<Row>) -> HashMap<CaseId, RowCycles> {
    let of_cycles = |row: Row| (row.case, RowCycles { verdict: row.verdict, change: row.change });
    rows.into_iter().filter(|row| row.metric == CYCLES).map(of_cycles).collect()
}

/// The record with nothing but the cycles, which are now to be judged. The threshold is the time's: it is the time that
/// they stand for. The clock counts them, so that they are not exact figures.
pub(crate) fn of_record(record: &RunRecord) -> RunRecord {
    let cases = record.cases.iter().filter_map(|case| {
        let metrics: Vec<_> = own_cycles(case).cloned().collect();
        let mut declared = case.declared.get(TIME).cloned().unwrap_or_default();
        (declared.gate, declared.exact, declared.margin) = (None, Some(false), None);
        declared.better = Some(Better::Lower);
        let declared = [(CYCLES.to_owned(), declared)].into();
        (!metrics.is_empty()).then(|| CaseRecord {
            metrics,
            declared,
            nothing_measured: Vec::new(),
            warnings: Vec::new(),
            device_code: None,
            ..case.clone()
        })
    });
    RunRecord { cases: cases.collect(), warnings: Vec::new(), ..without_cases(record) }
}

fn without_cases(record: &RunRecord) -> RunRecord {
    RunRecord {
        schema: record.schema.clone(),
        run_id: record.run_id.clone(),
        tool: record.tool.clone(),
        state: record.state,
        cut_short: record.cut_short,
        started: record.started.clone(),
        finished: record.finished.clone(),
        side: record.side,
        comparison: record.comparison.clone(),
        ingested: record.ingested.clone(),
        source: record.source.clone(),
        command: record.command.clone(),
        config: record.config.clone(),
        manifest: record.manifest.clone(),
        clocks: record.clocks.clone(),
        exclusive: record.exclusive.clone(),
        cases: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Adds the verdict on its cycles to every time that is red or open.
pub(crate) fn tell(rows: &mut [Row], cycles: &HashMap<CaseId, RowCycles>) {
    for row in rows.iter_mut().filter(|row| is_open_time(row)) {
        if let Some(of_case) = cycles.get(&row.case) {
            row.in_cycles = Some(of_case.clone());
        }
    }
}

/// For a comparison as a whole: the sides on which kernels were measured without locked clocks.
pub(crate) fn warning(base: &RunRecord, head: &RunRecord) -> Option<Warning> {
    let is_free = |record: &RunRecord| is_unlocked(record) && record.cases.iter().any(has_cycles);
    let (base, head) = (is_free(base), is_free(head));
    (base || head).then_some(Warning::ClocksUnlocked { base, head })
}
