//! Criterion.rs as files: the folder `target/criterion` or a folder below it, as a result without bytes whose other files
//! are in `beside`; or one `sample.json` or `benchmark.json`, with the other next to it.

use crate::adapters::criterion::Criterion;
use crate::adapters::formats::interface::prelude::*;
use crate::adapters::interface::adapter::Adapter;
use crate::adapters::interface::output::{HarnessOutput, OutputFiles};

pub(super) const PARTS: [&str; 2] = ["sample.json", "benchmark.json"];

pub(super) fn is_criterion(file: &ResultFile) -> bool {
    if file.bytes.is_empty() {
        let mut cases = file.beside.ending("benchmark.json");
        return cases.any(|(path, bytes)| {
            let none = OutputFiles::default();
            is_part(&ResultFile { name: path, bytes, beside: &none })
        });
    }
    is_part(file)
}

fn is_part(file: &ResultFile) -> bool {
    let sample = ["sampling_mode", "iters", "times"];
    let benchmark = ["group_id", "full_id", "directory_name", "title"];
    file.begins(b'{') && (Outline::has_keys(file, &sample) || Outline::has_keys(file, &benchmark))
}

/// The amounts of work that throughputs are computed from.
pub(super) fn run(file: &ResultFile) -> RunReading {
    #[derive(Deserialize)]
    struct Benchmark {
        throughput: Option<Value>,
    }
    let own = (file.file_name() == PARTS[1]).then_some(file.bytes);
    let mut run = RunReading::default();
    // `base` has the run before.
    let is_new = |path: &str| path == PARTS[1] || path.ends_with("new/benchmark.json");
    let beside = file.beside.ending(PARTS[1]).filter(|(path, _)| is_new(path)).map(|(_, bytes)| bytes);
    for bytes in own.into_iter().chain(beside) {
        let found: Option<Benchmark> = serde_json::from_slice(bytes).ok();
        let throughput = found.and_then(|found| found.throughput).filter(|value| !value.is_null());
        run.also_of_row(throughput.map(|value| ("throughput".to_owned(), value.to_string().into())));
    }
    run
}

pub(super) fn read(file: &ResultFile) -> Result<RunReading, ReadError> {
    // The adapter reads the files in the folder `new` of a case.
    let folder = match file.name.rsplit_once('/') {
        Some((folder, _)) if !file.bytes.is_empty() => folder,
        _ => "criterion",
    };
    let is_new = folder.ends_with("/new");
    let of_case =
        |part: &str| if is_new { format!("{folder}/{part}") } else { format!("{folder}/new/{part}") };
    let mut files = OutputFiles::default();
    for (path, bytes) in &file.beside.0 {
        let is_folder = file.bytes.is_empty();
        let place = match path.rsplit_once('/') {
            // For a single file, only the other part of its case.
            Some(_) if !is_folder => continue,
            None if PARTS.contains(&path.as_str()) => of_case(path),
            Some(("new", part)) => of_case(part),
            _ => path.clone(),
        };
        files.0.insert(place, bytes.clone());
    }
    if !file.bytes.is_empty() {
        let part = if file.file_name() == PARTS[1] { PARTS[1] } else { PARTS[0] };
        files.0.insert(of_case(part), file.bytes.to_vec());
    }
    Ok(Criterion.read(&HarnessOutput { stdout: b"", files: &files })?.into())
}
