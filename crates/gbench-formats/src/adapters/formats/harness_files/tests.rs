//! The adapters' fixtures as files: only its own format recognises each file, and reads it like the adapter.

use std::collections::BTreeMap;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::HARNESS_FILES;
use crate::adapters::formats::interface::check::read;
use crate::adapters::formats::interface::format::{ResultFile, ResultFormat};
use crate::adapters::formats::interface::harness_file::HarnessFile;
use crate::adapters::formats::{beside, documents_alone, every, named, recognised};
use crate::adapters::interface::adapter::{End, Reading};
use crate::adapters::interface::output::{HarnessOutput, OutputFiles};
use crate::adapters::tests::damaged;

struct Left {
    name: String,
    bytes: Vec<u8>,
    beside: OutputFiles,
    readings: Vec<Reading>,
}

impl Left {
    fn file(&self) -> ResultFile<'_> {
        ResultFile { name: &self.name, bytes: &self.bytes, beside: &self.beside }
    }
}

fn files_below(folder: &Path, root: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_below(&path, root, files);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.insert(name, std::fs::read(&path).unwrap());
        }
    }
}

/// Each version's file: the program's stdout, or the file that `pick` chooses.
fn left_by(format: &HarnessFile) -> Vec<Left> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/adapters").join(format.name());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).unwrap().flatten() {
        let folder = entry.path();
        if folder.ends_with("tree") {
            continue;
        }
        let mut files = BTreeMap::new();
        files_below(&folder.join("out"), &folder.join("out"), &mut files);
        let stdout = std::fs::read(folder.join("stdout")).unwrap_or_default();
        let output = OutputFiles(files.clone());
        // Criterion.rs prints its warm-up iterations to stdout only.
        let printed: &[u8] = if format.name() == "criterion" { b"" } else { &stdout };
        let harness = HarnessOutput { stdout: printed, files: &output };
        let readings = crate::adapters::interface::check::read(format.adapter, &harness).unwrap();
        let main = files.keys().find(|name| name.ends_with(".json") || name.ends_with("catch2.xml")).cloned();
        let (name, bytes) = match main {
            Some(_) if format.name() == "criterion" => ("target/criterion".to_owned(), Vec::new()),
            Some(name) => {
                let bytes = files.remove(&name).unwrap();
                (name, bytes)
            }
            None => ("log".to_owned(), stdout),
        };
        found.push(Left { name, bytes, beside: OutputFiles(files), readings });
    }
    assert!(!found.is_empty(), "{}", format.name());
    found
}

#[test]
fn what_a_harness_left_is_known_by_its_own_format_and_read_as_its_adapter_reads_it() {
    for format in HARNESS_FILES {
        for left in left_by(format) {
            let names: Vec<&str> = recognised(&left.file()).iter().map(|format| format.name()).collect();
            assert_eq!(names, [format.name()], "{}", left.name);
            let runs = read(format, &left.file()).unwrap();
            assert_eq!(runs[0].readings, left.readings, "{}", format.name());
            // A number that a test adds is not a figure of the tool.
            if format.name() != "pytest-benchmark" {
                assert!(runs[0].unread.is_empty(), "{}: {:?}", format.name(), runs[0].unread);
            }
        }
    }
}

#[test]
fn each_name_is_that_of_one_format() {
    for format in every() {
        let same = every().filter(|other| other.name() == format.name()).count();
        assert_eq!(same, 1, "{}", format.name());
        assert_eq!(named(format.name()).map(|found| found.name()), Some(format.name()));
    }
}

#[test]
fn a_damaged_file_never_panics_and_what_is_read_of_a_cut_one_is_as_it_was() {
    let random = &mut Pcg64::seed_from_u64(20_261_122);
    for format in HARNESS_FILES {
        // A folder itself has no bytes.
        for left in left_by(format).into_iter().filter(|left| !left.bytes.is_empty()) {
            for turn in 0..40 {
                let cut = random.random_range(0..left.bytes.len().max(1)).min(left.bytes.len());
                let bytes =
                    if turn % 2 == 0 { left.bytes[..cut].to_vec() } else { damaged(&left.bytes, random) };
                let file = ResultFile { bytes: &bytes, ..left.file() };
                let _ = format.recognises(&file);
                for reading in read(format, &file).into_iter().flatten().flat_map(|run| run.readings) {
                    let before =
                        left.readings.iter().find(|before| before.case.native == reading.case.native);
                    assert!(turn % 2 == 1 || before == Some(&reading), "{} cut at {cut}", format.name());
                    let values = reading.metrics.iter().flat_map(|metric| &metric.values);
                    let is_measured = reading.end == End::Measured;
                    assert!(
                        !is_measured || values.clone().all(|value| value.is_finite()),
                        "{}",
                        format.name()
                    );
                }
            }
        }
    }
}

#[test]
fn parts_of_files_of_go_and_logs_with_json_never_panic_and_a_cut_one_has_no_other_value() {
    const TEXT: &[u8] = b"toolchain: a\ncommit: 0123456\nUnit x-ns better=lower\nBenchmarkA-8 10 5.5 ns/op 7 x-ns\nBenchmarkA-8 10 5.25 ns/op 8 x-ns\n\
        BenchmarkLoud-8 \t warm\n 100 12345 ns/op\n\ntoolchain: b\nBenchmarkA-8 10 50.75 ns/op\nBenchmarkB/n=8 1 2 text-bytes\n";
    const LOG: &[u8] =
        b"  Compiling a\n[1/2] Building\n{\"results\": [1, {\"a\": \"}\"}]}\n[{\"b\": NaN}]\na::b\nDone.\n";
    let random = &mut Pcg64::seed_from_u64(20_261_127);
    let (go, none) = (named("go-test").unwrap(), OutputFiles::default());
    let values = |bytes: &[u8]| -> Option<Vec<(String, Vec<f64>)>> {
        let runs = read(go, &ResultFile { name: "go.txt", bytes, beside: &none }).ok()?;
        let cases = runs.into_iter().flat_map(|run| run.readings);
        Some(
            cases
                .map(|it| (it.case.native, it.metrics.into_iter().flat_map(|it| it.values).collect()))
                .collect(),
        )
    };
    let whole: Vec<f64> = values(TEXT).unwrap().into_iter().flat_map(|(_, values)| values).collect();
    for _ in 0..2000 {
        let _ = values(&damaged(TEXT, random));
        if let Some((alone, _)) = documents_alone(&damaged(LOG, random)) {
            assert!(alone.len() <= LOG.len() * 2);
        }
        let cut = &TEXT[..random.random_range(0..TEXT.len())];
        let left = values(cut).unwrap_or_default().into_iter().flat_map(|(_, values)| values);
        for value in left {
            assert!(whole.contains(&value), "{value} of {}", String::from_utf8_lossy(cut));
        }
        // A document that is cut off leaves nothing of the log.
        let cut = random.random_range(0..LOG.len());
        let end = LOG.iter().position(|byte| *byte == b'{').unwrap();
        let documents = documents_alone(&LOG[..cut]);
        assert!(documents.is_none() || cut > end, "{cut}");
    }
}

#[test]
fn what_may_lie_beside_a_result_is_named() {
    assert_eq!(beside().into_iter().collect::<Vec<_>>(), ["benchmark.json", "pytest.xml", "sample.json"]);
    assert_eq!(named("criterion").unwrap().beside(), ["sample.json", "benchmark.json"]);
    assert!(named("nvbench").unwrap().beside().is_empty());
}

#[test]
fn what_lies_beside_a_report_is_not_its_own() {
    let left = left_by(HARNESS_FILES.iter().find(|file| file.name() == "benchmarkdotnet").unwrap()).remove(0);
    let other =
        String::from_utf8(left.bytes.clone()).unwrap().replace("\"FullName\": \"", "\"FullName\": \"Other.");
    let beside = OutputFiles([("Other-report-full.json".to_owned(), other.into_bytes())].into());
    let file = ResultFile { beside: &beside, ..left.file() };
    assert_eq!(read(recognised(&file)[0], &file).unwrap()[0].readings, left.readings);
}
