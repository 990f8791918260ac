//! Samples of the GPU while the processes of a row ran, side by side. They explain a row, and decide nothing.

use std::collections::HashMap;

use crate::identity::cases::PairedCase;
use crate::verdict::document::{Row, RowTelemetry, SideTelemetry, TelemetryRemark};
use crate::verdict::outcome::Verdict;
use gbench_model::{CaseId, CaseRecord, GpuTelemetry, PcieLink, Side, Telemetry};
use gbench_stats as stats;

/// A share by which one side's clock is lower before it is worth a word; boost clocks move by less from process to
/// process.
const MIN_CLOCK_DROP: f64 = 0.02;

/// Processes a side below which clocks are not set against each other.
const MIN_PROCESSES: usize = 3;

/// Shares of the processes by which the sides must differ before the power limit speaks for one of them.
const MIN_CAP_SHARE: f64 = 0.25;

const POWER_CAP: &str = "sw_power_cap";

/// Adds the samples of telemetry to each row that is not plainly unchanged.
pub(crate) fn tell(rows: &mut [Row], pairs: &[PairedCase]) {
    let by_case: HashMap<&CaseId, (&CaseRecord, &CaseRecord)> =
        pairs.iter().filter_map(|pair| Some((pair.id, (pair.base?, pair.head?)))).collect();
    let wants = |row: &&mut Row| {
        matches!(row.verdict, Verdict::Regressed | Verdict::Improved | Verdict::Inconclusive)
    };
    for row in rows.iter_mut().filter(wants) {
        if let Some((base, head)) = by_case.get(&row.case)
            && let Some(telemetry) = of_case(base, head)
        {
            row.telemetry = Some(Box::new(telemetry));
        }
    }
}

fn of_case(base: &CaseRecord, head: &CaseRecord) -> Option<RowTelemetry> {
    let sampled = [base, head].map(Sampled::of);
    if sampled.iter().any(|side| side.windows.is_empty()) {
        return None;
    }
    let [base, head] = sampled.each_ref().map(Sampled::summary);
    let remarks = [clock(&base, &head), power_cap(&base, &head)].into_iter().flatten();
    let remarks = remarks
        .chain(others(&sampled))
        .chain(restless(&sampled))
        .chain(narrow_link(&sampled))
        .chain(gaps(&base, &head));
    Some(RowTelemetry { remarks: remarks.collect(), base, head })
}

struct Sampled<'a> {
    case: &'a CaseRecord,
    windows: Vec<(&'a Telemetry, Option<&'a GpuTelemetry>)>,
}

impl<'a> Sampled<'a> {
    fn of(case: &'a CaseRecord) -> Self {
        let measured = case.processes.iter().filter(|process| process.outcome.is_measured());
        let windows = measured.filter_map(|process| process.conditions.as_ref()?.telemetry.as_deref());
        Self { case, windows: windows.map(|window| (window, window.gpu())).collect() }
    }

    fn summary(&self) -> SideTelemetry {
        let gpus = || self.windows.iter().filter_map(|(_, gpu)| *gpu);
        let median = |figure: &dyn Fn(&GpuTelemetry) -> Option<f64>| {
            stats::median(&mut gpus().filter_map(figure).collect::<Vec<_>>())
        };
        SideTelemetry {
            processes: self.windows.len() as u32,
            clocked: gpus().filter(|gpu| gpu.sm_clock.is_some()).count() as u32,
            sm_clock: median(&|gpu| Some(gpu.sm_clock?.mean)),
            power: median(&|gpu| gpu.mean_power.map(|it| it.watts).or(gpu.power.map(|it| it.mean))),
            temperature: median(&|gpu| Some(gpu.temperature?.max)),
            capped: gpus().filter(|gpu| gpu.throttled.contains_key(POWER_CAP)).count() as u32,
            gaps: self.windows.iter().filter(|(window, _)| has_gap(window)).count() as u32,
        }
    }
}

/// A GPU that did not answer. Late samples are not a gap of the card.
fn has_gap(window: &Telemetry) -> bool {
    window.gpus.iter().any(|gpu| !gpu.gaps.is_empty())
}

fn clock(base: &SideTelemetry, head: &SideTelemetry) -> Option<TelemetryRemark> {
    let (base_mhz, head_mhz) = base.sm_clock.zip(head.sm_clock)?;
    let enough = (base.clocked.min(head.clocked) as usize) >= MIN_PROCESSES;
    let (side, share) = if head_mhz < base_mhz {
        (Side::Head, 1.0 - head_mhz / base_mhz)
    } else {
        (Side::Base, 1.0 - base_mhz / head_mhz)
    };
    (enough && share >= MIN_CLOCK_DROP).then_some(TelemetryRemark::LowerClock {
        side,
        share,
        base_mhz,
        head_mhz,
    })
}

fn power_cap(base: &SideTelemetry, head: &SideTelemetry) -> Option<TelemetryRemark> {
    let share = |side: &SideTelemetry| f64::from(side.capped) / f64::from(side.processes.max(1));
    let apart = (share(base) - share(head)).abs() >= MIN_CAP_SHARE;
    apart.then_some(TelemetryRemark::PowerCap { base: base.capped, head: head.capped })
}

fn others(sides: &[Sampled; 2]) -> Vec<TelemetryRemark> {
    let mut found: Vec<TelemetryRemark> = Vec::new();
    for (side, sampled) in sides.iter().enumerate() {
        for (window, of_process) in &sampled.windows {
            let gpus = window.gpus.iter().filter(|gpu| of_process.is_none_or(|own| own.index == gpu.index));
            for (gpu, process) in gpus.flat_map(|gpu| gpu.foreign.iter().map(|it| (gpu.index, it))) {
                let at = found.iter().position(|known| {
                    matches!(known, TelemetryRemark::OtherProcess { gpu: on, process: other, .. }
                        if *on == gpu && other.pid == process.pid)
                });
                let at = at.unwrap_or_else(|| {
                    let process = process.clone();
                    found.push(TelemetryRemark::OtherProcess { gpu, process, base: 0, head: 0 });
                    found.len() - 1
                });
                if let TelemetryRemark::OtherProcess { base, head, .. } = &mut found[at] {
                    *if side == 0 { base } else { head } += 1;
                }
            }
        }
    }
    found
}

fn restless(sides: &[Sampled; 2]) -> Option<TelemetryRemark> {
    let count = |side: &Sampled| {
        let conditions = side.case.processes.iter().filter_map(|process| process.conditions.as_ref());
        conditions.filter(|it| it.waited.as_ref().is_some_and(|wait| wait.in_vain)).count() as u32
    };
    let [base, head] = sides.each_ref().map(count);
    (base + head > 0).then_some(TelemetryRemark::NotCalm { base, head })
}

fn narrow_link(sides: &[Sampled; 2]) -> Option<TelemetryRemark> {
    let of_side = |side: &Sampled| -> Vec<PcieLink> {
        let links = side.windows.iter().filter_map(|(_, gpu)| gpu.as_ref()?.link);
        links.filter(PcieLink::is_narrow).collect()
    };
    let [base, head] = sides.each_ref().map(of_side);
    let link = base.iter().chain(&head).min_by_key(|link| (link.width, link.generation))?;
    Some(TelemetryRemark::NarrowLink { link: *link, base: base.len() as u32, head: head.len() as u32 })
}

fn gaps(base: &SideTelemetry, head: &SideTelemetry) -> Option<TelemetryRemark> {
    let (base, head) = (base.gaps, head.gaps);
    (base + head > 0).then_some(TelemetryRemark::Gaps { base, head })
}
