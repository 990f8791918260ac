//! Samples of the machine while the cases of a run were measured.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::RunFinding;
use crate::layout::table::ReportTable;
use gbench_model::text::{count, list, percent};
use gbench_model::{
    CaseRecord, Conditions, GpuTelemetry, Spread, Telemetry, TelemetryGap, Unrest, format_duration,
};

const MAX_NAMED: usize = 5;

pub(crate) fn table(cases: &[(&CaseRecord, String)]) -> Option<ReportTable> {
    let sampled = || cases.iter().flat_map(|(case, _)| windows(case));
    let gpus = sampled().any(|window| window.gpu().is_some());
    let own = ["SM clock (least)", "power (most)", "temp (most)", "GPU busy (most)"];
    let columns =
        ["case"].into_iter().chain(own.into_iter().filter(|_| gpus)).chain(["CPU (most)", "RAM (most)"]);
    let rows: Vec<Vec<String>> = cases.iter().filter_map(|(case, name)| row(case, name, gpus)).collect();
    let notes = vec![
        "Means over the processes, with the least or the most of any sample of the time in which they measured"
            .into(),
        effort(&sampled().collect::<Vec<_>>()),
    ];
    (!rows.is_empty()).then(|| ReportTable::new("The machine while it measured".into(), columns, rows, notes))
}

fn windows(case: &CaseRecord) -> impl Iterator<Item = &Telemetry> {
    let complete = case.processes.iter().filter(|process| process.outcome.is_measured());
    complete.filter_map(|process| process.conditions.as_ref()?.telemetry.as_deref())
}

fn row(case: &CaseRecord, name: &str, gpus: bool) -> Option<Vec<String>> {
    let windows: Vec<&Telemetry> = windows(case).collect();
    if windows.is_empty() {
        return None;
    }
    let gpu = |figure: fn(&GpuTelemetry) -> Option<Spread>, unit: &str, least: bool| {
        cell(windows.iter().filter_map(|window| figure(window.gpu()?)), unit, least)
    };
    let host = |figure: fn(&Telemetry) -> Option<Spread>| {
        cell(windows.iter().filter_map(|window| figure(window)), "%", false)
    };
    let mut cells = vec![name.to_owned()];
    if gpus {
        cells.extend([
            gpu(|gpu| gpu.sm_clock, "MHz", true),
            gpu(|gpu| gpu.power, "W", false),
            gpu(|gpu| gpu.temperature, "°C", false),
            gpu(|gpu| gpu.utilization, "%", false),
        ]);
    }
    cells.extend([host(|window| window.cpu), host(|window| window.memory)]);
    Some(cells)
}

/// `1755 MHz (1410)`: the mean, and the least or the most of all.
fn cell(spreads: impl Iterator<Item = Spread>, unit: &str, least: bool) -> String {
    let spreads: Vec<Spread> = spreads.collect();
    let Some(mean) = Spread::of(spreads.iter().map(|spread| spread.mean)) else { return "no sample".into() };
    let end = if least {
        spreads.iter().map(|spread| spread.min).fold(f64::INFINITY, f64::min)
    } else {
        spreads.iter().map(|spread| spread.max).fold(f64::NEG_INFINITY, f64::max)
    };
    format!("{:.0} {unit} ({end:.0})", mean.mean)
}

/// `120 samples, one every 100 ms, by NVML; sampling took 0.2 % of a processor`.
fn effort(windows: &[&Telemetry]) -> String {
    let samples: u32 = windows.iter().map(|window| window.samples).sum();
    let missed: u32 = windows.iter().map(|window| window.missed).sum();
    let intervals: BTreeSet<String> = windows.iter().map(|window| format_duration(window.interval)).collect();
    let intervals: Vec<String> = intervals.into_iter().collect();
    let sources: BTreeSet<&str> = windows.iter().filter_map(|window| window.source.as_deref()).collect();
    let sources: Vec<&str> = sources.into_iter().collect();
    let by = if sources.is_empty() { String::new() } else { format!(", by {}", sources.join(" and ")) };
    let late = if missed > 0 { format!(", {missed} more did not come in time") } else { String::new() };
    let cost = Spread::of(windows.iter().filter_map(|window| window.cost));
    let cost =
        cost.map_or(String::new(), |cost| format!("; sampling took {} of a processor", percent(cost.mean)));
    format!("{}, one every {}{by}{late}{cost}", count(samples as usize, "sample"), intervals.join(" and "))
}

/// Other programs on the GPUs, waits that ended without an idle GPU, and GPUs that did not answer.
pub(crate) fn findings(cases: &[(&CaseRecord, String)]) -> Vec<RunFinding> {
    let gpus =
        |it: &Conditions| it.telemetry.iter().flat_map(|window| window.gpus.clone()).collect::<Vec<_>>();
    let foreign =
        |gpu: GpuTelemetry| gpu.foreign.into_iter().map(move |it| format!("{it} on GPU {}", gpu.index));
    let gaps =
        |gpu: GpuTelemetry| gpu.gaps.into_keys().map(move |gap| format!("GPU {}: {}", gpu.index, words(gap)));
    let in_vain = |it: &Conditions| {
        let vain = it.waited.iter().filter(|wait| wait.in_vain);
        vain.flat_map(|wait| &wait.causes).map(Unrest::to_string).collect()
    };
    let found = [
        finding(
            cases,
            "another program used a GPU while it measured",
            |it| gpus(it).into_iter().flat_map(foreign).collect(),
            "measure when it is free, or give the run a separate GPU with `device`",
        ),
        finding(
            cases,
            "a GPU was not idle when a process began",
            in_vain,
            "see what runs there; `busy_gpu = \"refuse\"` under [run] measures nothing then",
        ),
        finding(
            cases,
            "a GPU gave no sample for a while",
            |it| gpus(it).into_iter().flat_map(gaps).collect(),
            "see the system's log for the driver (`dmesg`); what was not sampled is left out",
        ),
    ];
    found.into_iter().flatten().collect()
}

/// The number of processes with each of some facts: `what: a in 3 processes, b in 1 process`; `None` without any.
fn finding(
    cases: &[(&CaseRecord, String)],
    what: &str,
    things: impl Fn(&Conditions) -> BTreeSet<String>,
    next: &str,
) -> Option<RunFinding> {
    let processes = cases.iter().flat_map(|(case, _)| &case.processes);
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    for thing in processes.filter_map(|process| process.conditions.as_ref()).flat_map(things) {
        *met.entry(thing).or_default() += 1;
    }
    let texts: Vec<String> =
        met.into_iter().map(|(thing, times)| format!("{thing} in {}", count(times, "process"))).collect();
    let fact = || format!("{what}: {}", list(&texts, MAX_NAMED));
    (!texts.is_empty()).then(|| RunFinding { fact: fact(), next: next.into() })
}

fn words(gap: TelemetryGap) -> &'static str {
    match gap {
        TelemetryGap::NoAnswer => "no answer in time",
        TelemetryGap::GpuLost => "it is lost or being reset",
        TelemetryGap::Refused => "the driver refused",
    }
}
