//! The output of `go test -bench`, with or without `-v`, and other files of its format.

use crate::adapters::formats::interface::harness_file::renamed;
use crate::adapters::formats::interface::prelude::*;
use crate::adapters::go_test::benchfmt::{is_benchfmt, read_file};

pub(super) fn is_go(file: &ResultFile) -> bool {
    file.holds(&["Benchmark"]) && is_benchfmt(file.bytes)
}

/// With the facts of the machine, which precede the benchmarks of each package.
pub(super) fn run(file: &ResultFile) -> RunReading {
    const FACTS: [(&[u8], &str); 3] =
        [(b"goos: ", "os"), (b"goarch: ", "architecture"), (b"cpu: ", "cpu_model")];
    let mut run = RunReading::default();
    for line in file.bytes.split(|byte| *byte == b'\n') {
        let fact = FACTS.iter().find_map(|(start, name)| Some((*name, line.strip_prefix(*start)?)));
        if let Some((name, value)) = fact {
            let value = String::from_utf8_lossy(value.trim_ascii());
            run.more.entry(name.to_owned()).or_insert_with(|| value.into());
        }
    }
    run
}

pub(super) fn read(file: &ResultFile) -> Result<RunReading, ReadError> {
    let (readings, commit, unread) =
        read_file(file.bytes).map_err(|error| renamed(error, None, file.name))?;
    Ok(RunReading { readings, commit, unread, ..RunReading::default() })
}
