//! Reads `harness`, `cases` and related keys.

use super::metrics_reader::file_below;
use crate::benchmark::definition::Benchmark;
use crate::benchmark::harness::{AUTO, HarnessEntry};
use crate::benchmark::launch::Action;
use crate::benchmark::python::{PythonEntry, PythonSource};
use crate::cases::listed_cases::matcher;
use crate::reader::item::{Item, refuse_each};
use crate::reader::table::Table;
use crate::words::advise;
use gbench_formats::adapters::{Harness, Lists};
use gbench_model::{Counting, Isolation, Origin, Setting, Thermal, Timing};

/// Defaults of the work in a process: short, because the number of processes decides.
const SECONDS: f64 = 0.1;
const WARMUP_SECONDS: f64 = 0.02;
const SAMPLES: u32 = 10;

/// Reads `harness`, `cases` and related keys, after `timing` and `extract`.
pub(super) fn read_harness(it: &mut Benchmark, table: &mut Table) {
    if let Some(entry) = it.python().cloned() {
        return read_modules(it, &entry, table);
    }
    if it.cuda().is_some() {
        return read_kernel(it, table);
    }
    let (harness, cases, file) = (table.take("harness"), table.take("cases"), table.take("file"));
    let file = file.and_then(|item| Some((file_below(&item)?, item)));
    if let Some(described) = it.described_rows().filter(|_| harness.is_none()) {
        refuse_counting(
            it,
            table,
            "`count` is for the cases of a harness, not for a program that prints rows",
            "remove `count`",
        );
        if let Some((_, item)) = &file {
            item.fault("`file` belongs to the extractions here", "move it into each `[[benchmark.extract]]`");
        }
        if let Some(item) = table.again("matrix").or_else(|| table.again("zip")) {
            let next = "remove it, or remove `parameters` and let each process measure one combination";
            item.fault(
                format!("`{}` cannot be combined with `parameters`: the rows are the cases", item.key),
                next,
            );
        }
        let file = it.extract.first().and_then(|extract| extract.rows.file.clone());
        let globs = cases.and_then(|cases| read_globs(&cases)).unwrap_or_default();
        return measured_by(it, table, Some(Harness::described(described)), globs, file);
    }
    if let Some((_, item)) = file.as_ref().filter(|_| harness.is_none()) {
        let next = "name the format, such as `harness = \"vllm\"`, or move `file` to `[[benchmark.extract]]`";
        item.fault("`file` is for results in a known format", next);
    }
    let Some(item) = harness else {
        if let Some(cases) = cases {
            cases.fault(
                "`cases` is for the cases of a harness",
                "name it, such as `harness = \"criterion\"`, or remove `cases`",
            );
        }
        let next =
            "name its harness, such as `harness = \"criterion\"`; programs with the protocol have `share`";
        refuse_isolation(it, table, next);
        refuse_counting(it, table, "`count` is for the cases of a harness", NAME_IT);
        return;
    };
    let next = "remove it: the harness defines its cases and results; `cases = [\"BM_sort*\"]` selects cases";
    let others =
        ["matrix", "zip", "where", "extract", "timing"].into_iter().filter_map(|key| table.again(key));
    refuse_each(others, "cannot be combined with `harness`", next);
    let Some(word) = item.filled() else { return };
    let harness = Harness::named(word);
    if harness.is_none() && word != AUTO {
        let known: Vec<&str> = Harness::all().map(|harness| harness.0.name()).chain([AUTO]).collect();
        item.fault(format!("there is no harness or format `{word}`"), advise(word, &known));
        return;
    }
    if matches!(it.action, Action::Builtin(_)) {
        item.fault("a built-in benchmark has no harness", "remove `harness`, or give a `command`");
        return;
    }
    if let Some(Harness(adapter)) = harness
        && adapter.about().lists == Lists::No
    {
        let title = adapter.about().title;
        item.fault(
            format!("{title} is only a format, without a program to start"),
            "let a program print it, and read it with `extract`",
        );
        return;
    }
    if let Some(harness) = harness {
        refuse_command(it, table, harness);
    }
    if let Some(harness) = harness.filter(|harness| !harness.counts()) {
        let title = harness.0.about().title;
        let what = format!("`count` does not work with {title}: its executions cannot be counted");
        refuse_counting(it, table, &what, "remove `count`");
    }
    if let (Some((_, item)), true) = (&file, harness.is_none_or(|harness| !harness.is_format())) {
        let next = "remove it: the gate sets the harness's output file";
        item.fault("`file` is for programs that choose their output file", next);
    }
    let globs = cases.and_then(|cases| read_globs(&cases)).unwrap_or_default();
    measured_by(it, table, harness, globs, file.map(|(file, _)| file));
}

fn measured_by(
    it: &mut Benchmark,
    table: &Table,
    harness: Option<Harness>,
    globs: Vec<String>,
    file: Option<String>,
) {
    it.timing = Timing::Harness;
    it.harness = Some(HarnessEntry { harness, file, ..HarnessEntry::of(globs) });
    settle_sharing(it, table, "a harness has `isolation`");
    let settings = &mut it.settings;
    by_default(&mut settings.duration, SECONDS);
    by_default(&mut settings.burnin, WARMUP_SECONDS);
    by_default(&mut settings.iterations, SAMPLES);
}

/// Its cases share processes only by `isolation`. `next`: the alternative.
fn settle_sharing(it: &mut Benchmark, table: &Table, next: &str) {
    let others = ["lockstep", "share"].into_iter().filter_map(|key| table.again(key));
    let others = others.filter(|item| item.flag() == Some(true));
    refuse_each(others, "is for programs that speak the protocol", &format!("remove it; {next}"));
    let settings = &mut it.settings;
    (settings.lockstep, settings.share) = (Setting::default(false), Setting::default(false));
    if settings.isolation.origin == Origin::Default {
        settings.isolation = Setting::default(Isolation::SharedScreen);
    }
    if settings.thermal.value == Thermal::Cold {
        // After its first case a shared process is no longer cold.
        settings.isolation = Setting { value: Isolation::Process, origin: settings.thermal.origin.clone() };
    }
}

fn read_modules(it: &mut Benchmark, entry: &PythonEntry, table: &mut Table) {
    let by_layout = matches!(entry.source, PythonSource::Layout { .. });
    let sweeps: &[&'static str] = if by_layout { &["matrix", "zip", "where"] } else { &[] };
    let keys = ["harness", "file", "extract", "timing"].iter().chain(sweeps).copied();
    let next = "remove it: the driver measures the modules and finds their parameters";
    refuse_each(keys.filter_map(|key| table.take(key)), "cannot be combined with `python`", next);
    refuse_counting(it, table, "`count` is for the cases of a harness", "remove `count`");
    it.timing = Timing::Protocol;
    let globs = table.take("cases").and_then(|cases| read_globs(&cases)).unwrap_or_default();
    it.harness = Some(HarnessEntry::of(globs));
    settle_sharing(it, table, "modules have `isolation`");
    let settings = &mut it.settings;
    if settings.iterations.origin == Origin::Default {
        by_default(&mut settings.duration, SECONDS);
        by_default(&mut settings.iterations, SAMPLES);
    }
    if settings.warmup.origin == Origin::Default {
        by_default(&mut settings.burnin, WARMUP_SECONDS);
    }
}

fn read_kernel(it: &mut Benchmark, table: &mut Table) {
    let next = "remove it: the gate itself starts and times the kernel";
    let others =
        ["harness", "cases", "file", "extract", "timing"].into_iter().filter_map(|key| table.take(key));
    refuse_each(others, "cannot be combined with `cuda`", next);
    refuse_counting(it, table, "`count` is for the cases of a harness", "remove `count`");
    refuse_isolation(it, table, "remove `isolation`: a process measures one kernel at one point");
}

/// Its cases cannot share a process. In `[defaults]` the key is for benchmarks that can.
fn refuse_isolation(it: &mut Benchmark, table: &Table, next: &str) {
    let isolation = &mut it.settings.isolation;
    if isolation.origin != Origin::Default {
        *isolation = Setting::default(Isolation::Process);
        if let Some(item) = table.again("isolation") {
            item.fault("`isolation` is for the cases of a harness", next);
        }
    }
}

const NAME_IT: &str = "name it, such as `harness = \"criterion\"`, or remove `count`";

fn refuse_command(it: &Benchmark, table: &Table, harness: Harness) {
    let (key, argv) = match &it.action {
        Action::Command(words) => ("command", words.clone()),
        Action::Shell(_) => ("shell", vec![String::new()]),
        Action::Builtin(_) | Action::Python(_) | Action::Cuda(_) => return,
    };
    if harness.takes(&argv) {
        return;
    }
    let (title, words) = (harness.0.about().title, toml::Value::from(harness.0.example().to_vec()));
    if let Some(item) = table.again(key) {
        let what = format!("the gate cannot insert its arguments for {title} into this command");
        item.fault(what, format!("write it like `command = {words}`, with other words before or after"));
    }
}

/// Its instructions cannot be counted. In `[defaults]` the key is for benchmarks that can.
fn refuse_counting(it: &mut Benchmark, table: &Table, what: &str, next: &str) {
    let asked = it.settings.count.value != Counting::Off;
    it.settings.count = Setting::default(Counting::Off);
    if let Some(item) = table.again("count").filter(|_| asked) {
        item.fault(what.to_owned(), next);
    }
}

fn by_default<T>(setting: &mut Setting<T>, value: T) {
    if setting.origin == Origin::Default {
        *setting = Setting::default(value);
    }
}

fn read_globs(item: &Item) -> Option<Vec<String>> {
    let globs = item.texts("[\"BM_sort*\"]")?;
    for pattern in &globs {
        // A name may contain brackets that are not a class, such as `small-10`: without a wildcard it may be a literal name.
        if let Err(error) = matcher(pattern)
            && pattern.contains(['*', '?'])
        {
            item.fault(
                format!("`{pattern}` is not a glob: {}", error.kind()),
                "write a name or a pattern such as \"BM_sort*\"",
            );
        }
    }
    Some(globs)
}
