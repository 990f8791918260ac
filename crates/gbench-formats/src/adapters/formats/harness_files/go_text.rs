//! The output of `go test -bench`, also without `-v`: then no line announces a benchmark, and its name ends in the number
//! of processors.

use crate::adapters::formats::interface::harness_file::read_stdout;
use crate::adapters::formats::interface::prelude::*;
use crate::adapters::go_test::GoTest;
use crate::adapters::interface::output::Place;

pub(super) fn is_go(file: &ResultFile) -> bool {
    let starts = |start: &str| file.any_line(start, |line| line.starts_with(start));
    starts("goos: ") && starts("goarch: ") && file.any_line("/op", |line| measured(line).is_some())
}

/// The name on a line with a measurement: a name, a number of iterations, and a value per operation.
fn measured(line: &str) -> Option<&str> {
    let mut words = line.split_ascii_whitespace();
    let name = words.next().filter(|name| name.starts_with("Benchmark"))?;
    words.next()?.parse::<u64>().ok()?;
    words.any(|word| word.ends_with("/op")).then_some(name)
}

fn announced(name: &str) -> &str {
    let numbered = name
        .rsplit_once('-')
        .filter(|(_, count)| !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit()));
    numbered.map_or(name, |(base, _)| base)
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

pub(super) fn read(file: &ResultFile) -> Result<Vec<Reading>, ReadError> {
    let (mut text, mut lines) = (Vec::with_capacity(file.bytes.len()), Vec::new());
    let mut current = String::new();
    for (index, bytes) in file.bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let line = String::from_utf8_lossy(bytes);
        // The next package, or the next run of one, has no current benchmark.
        if ["pkg: ", "PASS", "ok "].iter().any(|start| line.starts_with(start)) {
            current.clear();
        }
        let mut words = line.split_ascii_whitespace();
        if let (Some(name), None) = (words.next().filter(|name| name.starts_with("Benchmark")), words.next())
        {
            current = name.to_owned();
        }
        if let Some(name) = measured(&line).filter(|name| **name != current && announced(name) != current) {
            current = announced(name).to_owned();
            text.extend_from_slice(current.as_bytes());
            text.push(b'\n');
            lines.push(index + 1);
        }
        text.extend_from_slice(bytes);
        lines.push(index + 1);
    }
    read_stdout(&GoTest, file, &text).map_err(|mut error| {
        // The inserted lines are not in the user's file.
        if let Place::Line { line, .. } = &mut error.place {
            *line = line.checked_sub(1).and_then(|at| lines.get(at)).copied().unwrap_or(*line);
        }
        error
    })
}
