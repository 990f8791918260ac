//! The console of Catch2 2 and 3: a table of benchmarks below the name of each test case and its sections.
//!
//! A long name of a benchmark takes several lines: the first ones have nothing else, or the last ones have the durations next to
//! it. Each duration has its own unit.

use super::interface::prelude::*;
use gbench_model::convert;

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "catch2-text",
    title: "Catch2, console",
    versions: "the console reporter of 2.11 to 3.x, also without analysis; the compact reporter prints no benchmarks",
    fields: "the names of test case, sections and benchmark; `mean`, `std dev`, `samples`; the version of Catch2",
    direction: "time lower",
    failures: "`Benchmark failed`; `FAILED:` in the test case, for all its benchmarks; no count of assertions at the end (refused)",
    tried: &["2.13.10", "2.13.10-failed", "2.13.10-no-analysis", "2.13.10-sections"],
    recognises: |file| file.any_line("benchmark name", |line| Table::of(line).is_some()),
    read,
    ..DeclaredFormat::SUMMARY
};

/// The columns of a table, from the first line of its heading.
#[derive(Clone, Copy)]
struct Table {
    /// Characters of the names.
    width: usize,
    /// The first line has the mean, and there is no other.
    is_short: bool,
}

impl Table {
    fn of(line: &str) -> Option<Self> {
        let is_heading = line.starts_with("benchmark name") && line.contains("iterations");
        let width = line.find("samples").filter(|_| is_heading)?;
        Some(Self { width, is_short: line.trim_end().ends_with("mean") })
    }
}

#[derive(Default)]
struct Console<'a> {
    /// The test case and its sections.
    path: Vec<&'a str>,
    /// The lines since the last rule.
    since: Vec<&'a str>,
    table: Option<Table>,
    /// The beginning of a name of several lines.
    name: String,
    /// Durations of the last benchmark that are still to come: its mean, and its deviation.
    missing: usize,
    readings: Vec<(String, Reading)>,
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let mut console = Console::default();
    let (mut version, mut is_complete) = (None, false);
    for (at, line, is_whole) in lines(file.text()?) {
        let line = line.trim_end();
        is_complete |=
            is_whole && ["All tests passed", "assertions:"].iter().any(|end| line.starts_with(end));
        if let Some((_, rest)) = line.split_once(" is a Catch") {
            let words = rest.split_ascii_whitespace().find_map(|word| word.strip_prefix('v'));
            version = version.or(words);
        }
        console.line(line).map_err(|what| file.line(at, what))?;
    }
    if !is_complete {
        return Err(file.wrong("it is incomplete: the count of assertions at its end is missing"));
    }
    let readings: Vec<Reading> = console.readings.into_iter().map(|(_, reading)| ended(reading)).collect();
    Ok(vec![RunReading::from(readings).also("catch2-version", version)])
}

impl<'a> Console<'a> {
    fn line(&mut self, line: &'a str) -> Result<(), String> {
        if line.len() > 70 && line.bytes().all(|byte| byte == b'-') {
            self.rule();
            return Ok(());
        }
        self.since.push(line);
        if line.starts_with("=====") {
            // The counts of test cases follow.
            self.table = None;
        }
        let case = self.path.first().copied().unwrap_or_default();
        if line.ends_with(": FAILED:") || line.starts_with("due to unexpected exception") {
            let of_case = self.readings.iter_mut().filter(|(of, _)| of == case);
            of_case.for_each(|(_, reading)| fail(reading, format!("its test case has failed: {line}")));
            self.table = None;
        }
        match self.table {
            Some(table) => self.row(table, line),
            None => Ok(()),
        }
    }

    /// A rule is below a heading: that of a test case, whose lines follow another rule, or that of a table.
    fn rule(&mut self) {
        let block = std::mem::take(&mut self.since);
        self.table = block.iter().rev().take(3).find_map(|line| Table::of(line));
        if self.table.is_none() && !block.is_empty() && block.iter().all(|line| !line.is_empty()) {
            self.path = block.into_iter().map(str::trim).collect();
        }
    }

    fn row(&mut self, table: Table, line: &'a str) -> Result<(), String> {
        if line.is_empty() {
            // Blanks are between benchmarks, and nothing is missing there.
            self.name.clear();
            return if self.missing == 0 { Ok(()) } else { Err("a benchmark without its durations".into()) };
        }
        if line.starts_with(' ') {
            return self.durations(line);
        }
        let split = line.char_indices().nth(table.width).map_or(line.len(), |(at, _)| at);
        let (name, rest) = line.split_at(split);
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        // A row of a new benchmark has two numbers first.
        let is_duration = words.get(1).is_some_and(|unit| number(unit).is_none());
        if let Some((_, reading)) = self.readings.last_mut().filter(|_| self.missing > 0 && is_duration) {
            let whole = format!("{} {}", reading.case.native, name.trim());
            reading.case = named(&whole, Params::new()).case;
            return self.durations(rest);
        }
        let between = if self.name.is_empty() { "" } else { " " };
        self.name = format!("{}{between}{}", self.name, name.trim());
        if rest.is_empty() {
            return Ok(());
        }
        let whole = self.path.iter().copied().chain([self.name.as_str()]).collect::<Vec<_>>().join("/");
        let mut reading = named(&whole, Params::new());
        self.name.clear();
        match words.first().and_then(|word| word.parse::<u64>().ok()) {
            Some(samples) => {
                reading.note("samples", Some(samples));
                self.missing = 2;
            }
            None => fail(&mut reading, rest.trim()),
        }
        self.readings.push((self.path.first().copied().unwrap_or_default().to_owned(), reading));
        match (table.is_short && self.missing > 0, words.as_slice()) {
            (true, [_, _, mean, unit]) => {
                self.missing = 1;
                self.add(mean, unit)
            }
            (true, _) => Err("it has no mean".into()),
            (false, _) => Ok(()),
        }
    }

    fn durations(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [value, unit, ..] = words.as_slice() else {
            return Err("it is not a duration with its unit".into());
        };
        self.add(value, unit)
    }

    /// Adds the mean, and then the deviation, of the last benchmark.
    fn add(&mut self, value: &str, unit: &str) -> Result<(), String> {
        let unit = if unit == "m" { "min" } else { unit };
        let value = number(value).and_then(|value| convert(value, unit, "ns"));
        let value = value.ok_or("it is not a duration with its unit")?;
        let Some((_, reading)) = self.readings.last_mut().filter(|_| self.missing > 0) else {
            return Err("a duration without a benchmark".into());
        };
        let samples = reading.metadata.get("samples").and_then(Value::as_u64);
        match reading.metrics.first_mut() {
            None => _ = summarised(reading, "time", "ns", summary(value, None, samples)),
            Some(mean) => {
                let known = mean.summary.map_or(0.0, |mean| mean.value);
                mean.summary = Some(summary(known, Some(value), samples));
            }
        }
        self.missing -= 1;
        Ok(())
    }
}
