//! The cases of benchmark harnesses, found before anything is planned: both sides are built and their harnesses asked.

use std::path::Path;

use super::executor::SessionMeans;
use crate::app::progress::Reporter;
use crate::machine;
use crate::model::{CutShort, Exit, Fault, Result, Side};
use crate::run::{CaseLister, Observer, Progress};
use crate::suite::{Benchmark, Suite, is_each};

/// Lists the cases of every harness of suites that are measured together. Each has its side and the folder of its tree.
/// Cases that one side cannot list are taken from the other, so that a row shows why they are missing.
///
/// Errors: a selection that leaves no case; an interrupt.
pub(crate) fn list_cases(
    mut sides: Vec<(&mut Suite, Option<Side>, &Path)>,
    reporter: &Reporter,
) -> Result<()> {
    for (suite, _, folder) in &mut sides {
        scale_work(suite, folder);
    }
    spread_over_gpus(&mut sides)?;
    let mut observer = reporter.clone();
    for (suite, side, _) in &sides {
        for text in said_of_files(suite, *side) {
            observer.on(&Progress::Note { text: &text });
        }
    }
    if let [(base, ..), (head, ..)] = sides.as_mut_slice() {
        clear_points(base, head);
        clear_points(head, base);
    }
    let unlisted = |suite: &Suite| suite.benchmarks.iter().any(|benchmark| benchmark.is_unlisted());
    if sides.iter().any(|(suite, ..)| unlisted(suite)) {
        list_harnesses(&mut sides, reporter)?;
    }
    let is_open = |suite: &Suite| suite.benchmarks.iter().any(|benchmark| !benchmark.points.is_empty());
    let nothing = !sides.iter().any(|(suite, ..)| is_open(suite));
    for (suite, ..) in &mut sides {
        suite.benchmarks.retain(|benchmark| !benchmark.points.is_empty());
    }
    if nothing {
        let what = "no harness of the suite has a case that it leaves";
        return Err(Fault::at_flag("--param", what, "loosen it; `gbench-ci list --cases` shows all cases"));
    }
    Ok(())
}

fn list_harnesses(sides: &mut [(&mut Suite, Option<Side>, &Path)], reporter: &Reporter) -> Result<()> {
    let SessionMeans { executor, observer, .. } = &mut SessionMeans::new(reporter)?;
    for (suite, side, folder) in sides.iter_mut() {
        let manifest = machine::manifest(folder);
        let mut lister = CaseLister { executor, observer, manifest: &manifest };
        lister.list(suite, *side).map_err(|ended| interrupted("listing the cases", ended))?;
    }
    if let [(base, ..), (head, ..)] = sides {
        copy_points(base, head);
        copy_points(head, base);
    }
    Ok(())
}

fn spread_over_gpus(sides: &mut [(&mut Suite, Option<Side>, &Path)]) -> Result<()> {
    let benchmarks = sides.iter_mut().flat_map(|(suite, ..)| &mut suite.benchmarks);
    let mut asking = benchmarks.filter(|benchmark| is_each(&benchmark.settings.device.value)).peekable();
    if asking.peek().is_none() {
        return Ok(());
    }
    let gpus = machine::gpus().known().map_or(0, |facts| facts.devices.len());
    for benchmark in asking {
        benchmark.spread_over_gpus(gpus).map_err(|why| {
            let what = format!("`device` asks for each GPU, and {why}");
            Fault::at(benchmark.id.to_string(), what, "name one GPU by its number or UUID")
        })?;
    }
    Ok(())
}

/// Lets modules that ask for it take as much work as the smallest GPU holds.
fn scale_work(suite: &mut Suite, folder: &Path) {
    let asks = |benchmark: &Benchmark| benchmark.python().is_some_and(|entry| entry.options.scale_by_memory);
    if !suite.benchmarks.iter().any(asks) {
        return;
    }
    let manifest = machine::manifest(folder);
    let memories = manifest.gpu.known().into_iter().flat_map(|facts| &facts.devices);
    let memory = memories.filter_map(|gpu| gpu.memory_total.known().copied()).min();
    suite.benchmarks.iter_mut().for_each(|benchmark| benchmark.scale_work(memory));
}

/// Warnings about the files that a suite's benchmarks found: files that belong to no case.
pub(crate) fn said_of_files(suite: &Suite, side: Option<Side>) -> Vec<String> {
    let side = side.map_or(String::new(), |side| format!(" ({})", side.into_str()));
    let of = |benchmark: &Benchmark| -> Vec<String> {
        let warnings = benchmark.said_of_files();
        warnings.iter().map(|warning| format!("warning: {}{side}: {warning}", benchmark.id)).collect()
    };
    suite.benchmarks.iter().flat_map(of).collect()
}

/// Where one side has no files of a benchmark yet, or no longer, those of the other are new, or missing.
fn clear_points(of: &mut Suite, other: &Suite) {
    for benchmark in of.benchmarks.iter_mut().filter(|benchmark| benchmark.has_no_files()) {
        let there = other.benchmarks.iter().find(|other| other.id == benchmark.id);
        if there.is_some_and(|there| !there.has_no_files()) {
            benchmark.points.clear();
        }
    }
}

/// Gives benchmarks of one suite that could not be listed the cases that the other one has found.
fn copy_points(to: &mut Suite, from: &Suite) {
    for benchmark in to.benchmarks.iter_mut().filter(|benchmark| !benchmark.is_listed()) {
        let other = from.benchmarks.iter().find(|other| other.id == benchmark.id && other.is_listed());
        if let Some(other) = other {
            benchmark.take_points_of(other);
        }
    }
}

/// The error of a command that ended before its first measurement.
pub(crate) fn interrupted(during: &str, ended: CutShort) -> Fault {
    let (what, exit) = match ended {
        CutShort::Interrupt { signal: 2 } => ("interrupted before anything was measured", Exit::Interrupted),
        CutShort::Interrupt { .. } => ("ended before anything was measured", Exit::Terminated),
        CutShort::Deadline => ("the run's deadline came before anything was measured", Exit::Failed),
    };
    Fault::at(during, what, "run again").exits(exit)
}
