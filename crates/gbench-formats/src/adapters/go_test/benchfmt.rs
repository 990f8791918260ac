//! The lines of `go test -v -bench`, also of several packages in sequence; and files of the benchmark format, which may come
//! from other programs.

mod file;

pub(crate) use self::file::is_benchfmt;

use std::collections::HashMap;

use self::file::{DeclaredUnit, FileWide, Numbered, numbered};
use crate::adapters::interface::adapter::MetricReading;
use crate::adapters::interface::prelude::*;
use gbench_model::{Unread, UnreadKind};

const LOG: usize = 4;

/// Errors: no package ends with its `PASS` or `FAIL` (also if its program stopped early); a benchmark's line without
/// pairs of value and unit, or without iterations; a line that `-v` has not announced; several numbers of processors.
pub(super) fn read(stdout: &[u8]) -> Result<Vec<Reading>, ReadError> {
    Reader::default().read(stdout)?.finish()
}

/// The results of a file, its commit, and what was not read of it. Errors: as [`read`] where `go test` itself wrote it;
/// the last line is incomplete; a line has iterations and no pairs of value and unit behind them.
pub(crate) fn read_file(text: &[u8]) -> Result<(Vec<Reading>, Option<String>, Unread), ReadError> {
    let file = FileWide::of(text);
    let (is_output, units, commit) = (file.is_output, file.units.clone(), file.commit.map(str::to_owned));
    let mut reader = Reader { file: Some(file), units, ..Reader::default() }.read(text)?;
    let mut unread = std::mem::take(&mut reader.unread);
    if is_output {
        return Ok((reader.finish()?, commit, unread));
    }
    let (last, line) = numbered(text).last().unwrap_or_default();
    if line.starts_with(b"Benchmark") {
        return Err(ReadError::line(last, "the last line has no end: the file may be cut off within it"));
    }
    if !reader.readings.is_empty() {
        unread.named(UnreadKind::End, "PASS");
    }
    Ok((reader.readings, commit, unread))
}

#[derive(Default)]
struct Reader<'a> {
    readings: Vec<Reading>,
    places: HashMap<(String, Vec<(String, ParamValue)>), usize>,
    package: Package<'a>,
    passed: Option<bool>,
    units: HashMap<&'a str, DeclaredUnit<'a>>,
    /// For a file: `None` for the output of a program that was started with `-v`.
    file: Option<FileWide<'a>>,
    unread: Unread,
}

#[derive(Default)]
struct Package<'a> {
    /// `goos`, `goarch`, `pkg`, `cpu`.
    keys: Vec<(&'a str, &'a str)>,
    current: Option<&'a str>,
    /// A separate line names the current one.
    is_announced: bool,
    /// A separate line announced its end.
    ended: bool,
    log: Vec<&'a str>,
    panic: Option<&'a str>,
    /// A line that shows that the program did not pass, and its number.
    stopped: Option<(usize, &'a str)>,
    last_failed: Option<&'a str>,
    places: Vec<usize>,
}

impl<'a> Reader<'a> {
    fn read(mut self, text: &'a [u8]) -> Result<Self, ReadError> {
        for (number, bytes) in numbered(text) {
            // A benchmark's own output may have any encoding.
            let Ok(line) = std::str::from_utf8(bytes) else {
                if self.file.is_some() && bytes.starts_with(b"Benchmark") {
                    self.unread.line(UnreadKind::Line, number, &String::from_utf8_lossy(bytes));
                }
                continue;
            };
            if let Some(file) = &mut self.file {
                file.line(line);
                if let Some(said) = file::stop(line) {
                    self.package.stopped.get_or_insert((number, said));
                }
                let is_no_measurement = file::is_no_measurement(line);
                let is_known = || self.package.current.is_some_and(|name| behind_print(line, name).is_some());
                if is_no_measurement && file::looks_like_a_result(line)
                    || file::is_behind_other_output(line) && !is_known()
                {
                    self.unread.line(UnreadKind::Line, number, line);
                }
                if is_no_measurement {
                    continue;
                }
            }
            self.line(line).map_err(|what| ReadError::line(number, what))?;
        }
        if let Some((number, said)) = self.package.stopped {
            let what = format!("its program did not end as passed or failed after this: {said}");
            return Err(ReadError::line(number, what));
        }
        Ok(self)
    }

    fn line(&mut self, line: &'a str) -> Result<(), String> {
        if line.starts_with("Benchmark") {
            return self.benchmark(line);
        }
        if let Some(rest) = line.strip_prefix("--- ") {
            return self.end(rest);
        }
        if line == "PASS" || line == "FAIL" {
            return self.close(line == "PASS");
        }
        if line.starts_with("ok  \t") {
            self.close(true)?;
            self.passed = None;
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix("FAIL\t") {
            return self.failed_package(rest);
        }
        if let Some(rest) = line.strip_prefix("Unit ") {
            let declared = DeclaredUnit::of(rest);
            self.units.extend(declared);
        } else if let Some((key, value)) = line.split_once(':')
            && file::MACHINE.contains(&key)
        {
            self.package.keys.retain(|(old, _)| *old != key);
            self.package.keys.extend(Some((key, value.trim())).filter(|(_, value)| !value.is_empty()));
        } else if file::is_panic(line) {
            self.package.panic.get_or_insert(line);
        } else if let Some(measured) = self.package.current.and_then(|name| behind_print(line, name)) {
            return self.benchmark(measured);
        } else if line.starts_with("    ") {
            let log = &mut self.package.log;
            log.push(line.trim());
            log.drain(..log.len().saturating_sub(LOG));
        }
        Ok(())
    }

    fn benchmark(&mut self, line: &'a str) -> Result<(), String> {
        let mut fields = line.split_ascii_whitespace();
        let name = fields.next().unwrap_or_default();
        let Some(iterations) = fields.next() else {
            if line == name {
                self.package.current = Some(name);
                self.package.is_announced = true;
                self.package.ended = false;
                self.package.log.clear();
            }
            return Ok(());
        };
        let Ok(iterations) = iterations.parse::<u64>() else { return Ok(()) };
        let announced = self.package.current.and_then(|current| match name.strip_prefix(current)? {
            "" => Some((current, Some(1))),
            rest => Some((current, Some(rest.strip_prefix('-')?.parse::<u32>().ok()?))),
        });
        let Numbered { base, number } = Numbered::of(name);
        let (current, processors) = match (announced, &self.file) {
            (Some(found), _) if self.package.is_announced => found,
            (_, Some(file)) if file.is_whole(base) => (name, None),
            (_, Some(file)) => (base, number.or(file.least_processors())),
            (_, None) => {
                return Err(format!("`{name}` does not follow a separate line with its name, as with `-v`"));
            }
        };
        if self.package.current != Some(current) {
            self.package.current = Some(current);
            self.package.is_announced = false;
        }
        if iterations == 0 {
            return Err(format!("`{name}` ran no iteration"));
        }
        let place = self.place(current);
        let reading = &mut self.readings[place];
        let known = reading.metadata.get("gomaxprocs").and_then(Value::as_u64);
        match (known, processors) {
            (_, None) => {}
            (None, Some(number)) => _ = reading.metadata.insert("gomaxprocs".into(), number.into()),
            (Some(known), Some(number)) if known == u64::from(number) => {}
            (Some(known), Some(processors)) => {
                return Err(format!(
                    "`{current}` ran with {known} and with {processors} processors: give `-cpu` one value"
                ));
            }
        }
        let mut pairs = 0;
        while let Some(value) = fields.next() {
            let Some(unit) = fields.next() else { return Err(format!("`{value}` has no unit")) };
            let value: f64 = value.parse().map_err(|_| format!("`{value}` is not a number"))?;
            let declared = self.units.get(unit).copied().unwrap_or_default();
            metric(reading, unit, declared)?.values.push(value);
            pairs += 1;
        }
        if pairs == 0 {
            return Err(format!("`{name}` has no value"));
        }
        self.package.ended = true;
        Ok(())
    }

    /// After `--- `: `FAIL: BenchmarkX`, `SKIP: BenchmarkX`.
    fn end(&mut self, line: &'a str) -> Result<(), String> {
        let mut words = line.split_ascii_whitespace();
        let (Some(how), Some(name)) =
            (words.next(), words.next().filter(|name| name.starts_with("Benchmark")))
        else {
            return Ok(());
        };
        let log = Some(self.package.log.join("; ")).filter(|log| !log.is_empty());
        let said = |otherwise: &str| log.clone().unwrap_or_else(|| otherwise.to_owned());
        let below =
            |parent: &str, name: &str| name.strip_prefix(parent).is_some_and(|rest| rest.starts_with('/'));
        let end = match how {
            "SKIP:" => skipped(said("it skips itself")),
            // A benchmark fails with its sub-benchmarks, which are printed first.
            "FAIL:" if self.package.last_failed.is_some_and(|failed| below(name, failed)) => return Ok(()),
            "FAIL:" => failed(said("it reports a failure")),
            _ => return Ok(()),
        };
        if matches!(end, End::Failed { .. }) {
            self.package.last_failed = Some(name);
        }
        self.package.ended = true;
        let place = self.place(name);
        self.readings[place].end = end;
        Ok(())
    }

    fn place(&mut self, name: &str) -> usize {
        let package = self.package.keys.iter().find(|(key, _)| *key == "pkg").map(|(_, value)| *value);
        let native = package.map_or_else(|| name.to_owned(), |package| format!("{package}:{name}"));
        let params = self.file.as_ref().map(|file| file.params()).unwrap_or_default();
        // The lines of `-count` are adjacent.
        if let Some(place) = self.package.places.last()
            && self.readings[*place].case.native == native
            && params.is_empty()
        {
            return *place;
        }
        let key = (native, params);
        let place = *self.places.entry(key).or_insert_with_key(|(native, params)| {
            let mut reading = Reading::new(by_parts(native, name, |level| level.split_once('=')));
            reading.also(params.clone());
            let keys = self.package.keys.iter();
            reading.metadata = keys.map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect();
            self.readings.push(reading);
            self.readings.len() - 1
        });
        self.package.places.push(place);
        place
    }

    fn close(&mut self, passed: bool) -> Result<(), String> {
        let package = std::mem::take(&mut self.package);
        if !passed && package.last_failed.is_none() && !package.places.is_empty() {
            return Err("the package failed, but none of its benchmarks did".into());
        }
        self.passed = Some(passed);
        Ok(())
    }

    /// `FAIL\texample.com/a\t0.3s`: from `go test`, for a package that printed `FAIL`, or whose program died.
    fn failed_package(&mut self, line: &'a str) -> Result<(), String> {
        if line.contains("[build failed]") || line.contains("[setup failed]") {
            return Err("this package does not build".into());
        }
        if self.package.places.is_empty() && self.package.current.is_none() {
            let said = self.passed.take() == Some(false);
            return said
                .then_some(())
                .ok_or_else(|| "this package's program failed, and no benchmark".into());
        }
        let message = self.package.panic.unwrap_or("its program ends in it").to_owned();
        let Some(name) = self.package.current.filter(|_| !self.package.ended) else {
            return Err(format!("the package fails between its benchmarks: {message}"));
        };
        let place = self.place(name);
        self.readings[place].end = failed(message);
        self.package.last_failed = Some(name);
        self.close(false)?;
        self.passed = None;
        Ok(())
    }

    fn finish(self) -> Result<Vec<Reading>, ReadError> {
        if let Some(name) = self.package.current {
            let what = format!("it ends without `PASS` or `FAIL`: the program stopped in or after `{name}`");
            return Err(ReadError::new(Place::Stdout, what));
        }
        Ok(self.readings)
    }
}

fn behind_print<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let measured = &line[line.find(name)?..];
    let (own, _) = measured.split_once('\t')?;
    own.trim_end().strip_prefix(name)?.chars().all(|c| c == '-' || c.is_ascii_digit()).then_some(measured)
}

/// The metric of a unit without a declaration. Errors: two units of one name.
pub(crate) fn metric_of_unit<'r>(
    reading: &'r mut Reading,
    unit: &str,
) -> Result<&'r mut MetricReading, String> {
    metric(reading, unit, DeclaredUnit::default())
}

/// Errors: two units of one name.
fn metric<'r>(
    reading: &'r mut Reading,
    unit: &str,
    declared: DeclaredUnit,
) -> Result<&'r mut MetricReading, String> {
    let DeclaredUnit { better, metric, unit: own } = declared;
    let known = own.unwrap_or(unit);
    let (better, judged) = match better.or_else(|| direction_of_unit(known)) {
        Some(better) => (Some(better), true),
        None => (None, false),
    };
    Ok(match unit {
        "ns/op" => reading.metric("time", "ns", None),
        "B/op" => reading.metric(unit, "B", None),
        "allocs/op" => reading.metric(unit, "allocations", Some(Better::Lower)),
        _ => {
            let metric = reading.metric(&metric_name(metric.unwrap_or(unit)), known, better);
            // Megabytes per second follow from the time.
            metric.judged = judged && unit != "MB/s";
            if metric.unit != known {
                return Err(format!("`{unit}` and `{}` are one name", metric.unit));
            }
            metric
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_panicked_measured_nothing() {
        let measured = "goos: linux\npkg: example.com/a\nBenchmarkA-8 \t 100 \t 5 ns/op\n";
        for stop in [
            "panic: boom\n\ngoroutine 1 [running]:\nexit status 2\n",
            "fatal error: all goroutines are asleep - deadlock!\n",
            "--- FAIL: TestA (0.00s)\n",
            "BenchmarkB-8 \t panic: boom\n",
            "BenchmarkB-8 \t --- FAIL: BenchmarkB-8\n",
        ] {
            let text = format!("{measured}{stop}");
            let error = read_file(text.as_bytes()).map(|(readings, ..)| readings.len()).unwrap_err();
            assert!(error.to_string().contains(":4:"), "{error}");
            assert!(
                read_file(format!("{text}pkg: example.com/b\nBenchmarkB-8 100 5 ns/op\n").as_bytes())
                    .is_err()
            );
        }
        // A panic from which the program recovered.
        assert!(read_file(format!("{measured}panic: boom\nPASS\n").as_bytes()).is_ok());
        // A benchmark that failed fails alone.
        let (readings, ..) = read_file(format!("{measured}--- FAIL: BenchmarkB\n").as_bytes()).unwrap();
        assert!(matches!(readings[1].end, End::Failed { .. }));
    }
}
