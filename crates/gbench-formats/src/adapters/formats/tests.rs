//! Reads every fixture below `fixtures/formats`, and checks that refused and damaged files are refused.
//!
//! ```text
//! fixtures/formats/<format>/<version of the tool, or by-hand...>/FILE [...]
//! ```
//!
//! The result is the first file by name; the others are next to it. Folders whose names end in `-refused` contain files that
//! must not be read. `tests/formats.rs` checks the files of `GBENCH_CORPUS`, if it is set.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::*;
use crate::adapters::interface::adapter::{End, LoadFields, MetricReading, Reading};
use crate::adapters::interface::output::{OutputFiles, ReadError};
use crate::adapters::tests::{damaged, damaged_copies};

pub(super) struct Fixture {
    format: &'static dyn ResultFormat,
    version: String,
    pub(super) file: String,
    pub(super) bytes: Vec<u8>,
    beside: OutputFiles,
}

impl Fixture {
    fn read(&self) -> Result<Vec<RunReading>, ReadError> {
        self.read_as(&self.bytes)
    }

    fn read_as(&self, bytes: &[u8]) -> Result<Vec<RunReading>, ReadError> {
        read(self.format, &self.file(bytes))
    }

    fn file<'a>(&'a self, bytes: &'a [u8]) -> ResultFile<'a> {
        ResultFile { name: &self.file, bytes, beside: &self.beside }
    }

    pub(super) fn is_refused(&self) -> bool {
        self.version.ends_with("-refused")
    }

    pub(super) fn name(&self) -> String {
        format!("{}@{}", self.format.name(), self.version)
    }
}

fn files_of(folder: &Path, root: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_of(&path, root, files);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.insert(name, std::fs::read(&path).unwrap());
        }
    }
}

pub(super) fn fixtures() -> Vec<Fixture> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/formats");
    let mut fixtures = Vec::new();
    for format in FORMATS.iter() {
        let folders = std::fs::read_dir(root.join(format.name())).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
        folders.sort();
        for folder in folders {
            let mut files = BTreeMap::new();
            files_of(&folder, &folder, &mut files);
            let (file, bytes) = files.pop_first().unwrap_or_else(|| panic!("{} is empty", folder.display()));
            let version = folder.file_name().unwrap().to_str().unwrap().to_owned();
            fixtures.push(Fixture { format: *format, version, file, bytes, beside: OutputFiles(files) });
        }
    }
    fixtures
}

#[test]
fn every_fixture_of_a_format_is_read_or_refused() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/snapshots/formats"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for fixture in fixtures() {
        let runs = fixture.read();
        settings.bind(|| match &runs {
            Ok(runs) => insta::assert_debug_snapshot!(fixture.name(), runs),
            Err(error) => insta::assert_snapshot!(fixture.name(), error),
        });
        assert_eq!(runs.is_err(), fixture.is_refused(), "{}: {runs:?}", fixture.name());
    }
}

#[test]
fn every_format_has_a_fixture_and_says_what_was_tried() {
    let fixtures = fixtures();
    assert!(HARNESS_FILES.iter().all(|file| !file.about().failures.is_empty()));
    for format in FORMATS.iter() {
        let (name, about) = (format.name(), format.about());
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{name}");
        let same = FORMATS.iter().filter(|other| other.name() == name).count();
        assert_eq!(same, 1, "{name} twice");
        assert!(!about.failures.is_empty(), "{name} does not say how a failure looks");
        let of_format = || fixtures.iter().filter(|fixture| fixture.format.name() == name);
        assert!(of_format().any(|fixture| !fixture.is_refused()), "{name} has no fixture that is read");
        for tried in about.tried {
            assert!(of_format().any(|fixture| fixture.version == *tried), "{name} {tried} has no fixture");
        }
        for fixture in of_format().filter(|fixture| !about.tried.contains(&fixture.version.as_str())) {
            let version = &fixture.version;
            assert!(version.starts_with("by-hand"), "{name}/{version} is neither tried nor marked by-hand");
        }
    }
}

#[test]
fn the_load_and_the_axes_of_a_format_are_in_its_fixtures() {
    let fixtures = fixtures();
    for format in FORMATS.iter().filter(|format| format.load() != LoadFields::NONE) {
        let (name, load) = (format.name(), format.load());
        let of_format = fixtures.iter().filter(|fixture| fixture.format.name() == name);
        let runs: Vec<RunReading> = of_format.filter_map(|fixture| fixture.read().ok()).flatten().collect();
        let readings = || runs.iter().flat_map(|run| &run.readings);
        let has_load =
            |reading: &Reading| load.parameters.iter().any(|it| reading.case.params.contains_key(*it));
        assert!(readings().any(has_load), "no fixture of {name} has a load");
        for axis in load.axes {
            let is_there = readings().flat_map(|reading| &reading.metrics).any(|metric| metric.name == *axis);
            assert!(is_there, "no fixture of {name} has the axis {axis}");
        }
    }
}

#[test]
fn a_file_is_never_taken_for_one_of_another_format() {
    for fixture in fixtures() {
        let found: Vec<&str> =
            recognised(&fixture.file(&fixture.bytes)).iter().map(|format| format.name()).collect();
        let others = found.iter().filter(|name| **name != fixture.format.name()).count();
        assert_eq!(others, 0, "{} is taken for {found:?}", fixture.name());
        // Nothing in its table identifies it.
        let is_known = !found.is_empty() || fixture.format.name() == "triton";
        assert!(is_known || fixture.is_refused(), "{} is not known", fixture.name());
    }
}

#[test]
fn damaged_files_never_panic_and_never_give_what_is_no_number() {
    let random = &mut Pcg64::seed_from_u64(20_261_122);
    let fixtures: Vec<Fixture> = fixtures().into_iter().filter(|fixture| !fixture.is_refused()).collect();
    for fixture in &fixtures {
        let same = fixtures.iter().filter(|other| other.format.name() == fixture.format.name()).count();
        let mutations = damaged_copies().div_ceil(same);
        for _ in 0..mutations {
            let bytes = damaged(&fixture.bytes, random);
            let _ = recognised(&fixture.file(&bytes));
            let Ok(runs) = fixture.read_as(&bytes) else { continue };
            let readings = runs.iter().flat_map(|run| &run.readings);
            for reading in readings.filter(|reading| reading.end == End::Measured) {
                for metric in &reading.metrics {
                    let summary = metric.summary.map(|summary| summary.value);
                    let mut values = metric.values.iter().copied().chain(summary);
                    assert!(values.all(f64::is_finite), "{}", fixture.name());
                }
            }
        }
    }
}

/// After any cut, each case that is still read has its original values.
#[test]
fn a_file_that_is_cut_off_gives_no_other_figures() {
    let random = &mut Pcg64::seed_from_u64(20_261_128);
    let mut wrong = Vec::new();
    for fixture in fixtures().into_iter().filter(|fixture| !fixture.is_refused()) {
        let whole = fixture.read().unwrap();
        let (length, most) = (fixture.bytes.len(), damaged_copies() / 4);
        for cut in 0..length.min(most) {
            let cut = if length <= most { cut } else { random.random_range(0..length) };
            for run in fixture.read_as(&fixture.bytes[..cut]).into_iter().flatten() {
                let of_run = || whole.iter().filter(|before| before.commit == run.commit);
                for reading in run.readings {
                    let same_case = || {
                        let readings = of_run().flat_map(|before| &before.readings);
                        // A row that was cut off may be the reason why the name has all parameters.
                        readings.filter(|before| {
                            let (before, case) = (&before.case, &reading.case);
                            before.case == case.case && before.params == case.params
                        })
                    };
                    // Several runs of a file may have it.
                    let before = same_case().find(|before| is_same(&reading, before)).or(same_case().next());
                    let is_shorter = LOGS.contains(&fixture.format.name())
                        && before.is_some_and(|before| is_beginning(&reading, before));
                    // Without the others of its kind, an aggregate is a benchmark of this name.
                    let is_aggregate = before.is_none()
                        && fixture.format.name().starts_with("google-benchmark-")
                        && ["_mean", "_median"].iter().any(|end| reading.case.native.ends_with(end));
                    if !is_shorter && !is_aggregate && !before.is_some_and(|before| is_same(&reading, before))
                    {
                        wrong.push(format!(
                            "{} cut off at byte {cut}: {reading:?} instead of {before:?}",
                            fixture.name()
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Formats with a line for each measurement or metric, and nothing at the end: fewer lines are fewer of them.
const LOGS: [&str; 8] = [
    "aiperf",
    "google-benchmark-csv",
    "google-benchmark-text",
    "gpt-fast",
    "perf-stat",
    "pytorch-benchmark",
    "rocprof",
    "vllm",
];

fn is_same(reading: &Reading, whole: &Reading) -> bool {
    let mut renamed = reading.clone();
    renamed.case.native.clone_from(&whole.case.native);
    renamed == *whole
}

fn is_beginning(reading: &Reading, whole: &Reading) -> bool {
    // A summary of which there is one more is a value.
    let values = |metric: &MetricReading| -> Vec<f64> {
        metric.values.iter().copied().chain(metric.summary.map(|summary| summary.value)).collect()
    };
    let is_known = |metric: &MetricReading| {
        let other = whole.metrics.iter().find(|other| other.name == metric.name);
        other.is_some_and(|other| values(other).starts_with(&values(metric)))
    };
    reading.metrics.iter().all(is_known)
}

#[test]
fn a_file_that_is_empty_or_of_something_else_is_refused() {
    for format in FORMATS.iter() {
        for text in ["", "\n", "{}", "[]", "null", "hello\n", "a,b\n1,2\n", "\0\u{1}\u{2}"] {
            let none = OutputFiles::default();
            let file = ResultFile { name: "file", bytes: text.as_bytes(), beside: &none };
            assert!(!format.recognises(&file), "{} recognises {text:?}", format.name());
            let is_table = text.contains(',');
            let read = read(*format, &file);
            assert!(read.is_err() || is_table, "{} takes {text:?}: {read:?}", format.name());
        }
    }
}
