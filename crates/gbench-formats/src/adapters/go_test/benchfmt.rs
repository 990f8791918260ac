//! The lines of `go test -v -bench`, also of several packages in sequence.

use std::collections::HashMap;

use crate::adapters::interface::prelude::*;

const LOG: usize = 4;

/// Errors: no package ends with its `PASS` or `FAIL` (also if its program stopped early); a benchmark's line without
/// pairs of value and unit, or without iterations; a line that `-v` has not announced; several numbers of processors.
pub(super) fn read(stdout: &[u8]) -> Result<Vec<Reading>, ReadError> {
    let mut reader = Reader::default();
    for (index, bytes) in stdout.split(|byte| *byte == b'\n').enumerate() {
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        // A benchmark's own output may have any encoding.
        let Ok(line) = std::str::from_utf8(bytes) else { continue };
        reader.line(line).map_err(|what| ReadError::line(index + 1, what))?;
    }
    reader.finish()
}

#[derive(Default)]
struct Reader<'a> {
    readings: Vec<Reading>,
    places: HashMap<String, usize>,
    package: Package<'a>,
    passed: Option<bool>,
}

#[derive(Default)]
struct Package<'a> {
    /// `goos`, `goarch`, `pkg`, `cpu`.
    keys: Vec<(&'a str, &'a str)>,
    current: Option<&'a str>,
    /// A separate line announced its end.
    ended: bool,
    log: Vec<&'a str>,
    panic: Option<&'a str>,
    last_failed: Option<&'a str>,
    units: HashMap<&'a str, Better>,
    places: Vec<usize>,
}

impl<'a> Reader<'a> {
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
            self.passed = None;
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix("FAIL\t") {
            return self.failed_package(rest);
        }
        if let Some(rest) = line.strip_prefix("Unit ") {
            self.unit(rest);
        } else if let Some((key, value)) = line.split_once(": ")
            && ["goos", "goarch", "pkg", "cpu"].contains(&key)
        {
            self.package.keys.retain(|(old, _)| *old != key);
            self.package.keys.push((key, value));
        } else if line.starts_with("panic: ") {
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
                self.package.ended = false;
                self.package.log.clear();
            }
            return Ok(());
        };
        let Ok(iterations) = iterations.parse::<u64>() else { return Ok(()) };
        let processors = self.package.current.and_then(|current| match name.strip_prefix(current)? {
            "" => Some(1),
            rest => rest.strip_prefix('-')?.parse::<u32>().ok(),
        });
        let (Some(current), Some(processors)) = (self.package.current, processors) else {
            return Err(format!("`{name}` does not follow a separate line with its name, as with `-v`"));
        };
        if iterations == 0 {
            return Err(format!("`{name}` ran no iteration"));
        }
        let place = self.place(current);
        let reading = &mut self.readings[place];
        match reading.metadata.get("gomaxprocs").and_then(Value::as_u64) {
            None => _ = reading.metadata.insert("gomaxprocs".into(), processors.into()),
            Some(known) if known == u64::from(processors) => {}
            Some(known) => {
                return Err(format!(
                    "`{current}` ran with {known} and with {processors} processors: give `-cpu` one value"
                ));
            }
        }
        let mut pairs = 0;
        while let Some(value) = fields.next() {
            let Some(unit) = fields.next() else { return Err(format!("`{value}` has no unit")) };
            let value: f64 = value.parse().map_err(|_| format!("`{value}` is not a number"))?;
            add(reading, unit, value, self.package.units.get(unit).copied())?;
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
        // The lines of `-count` are adjacent.
        if let Some(place) = self.package.places.last()
            && self.readings[*place].case.native == native
        {
            return *place;
        }
        let place = *self.places.entry(native).or_insert_with_key(|native| {
            let mut reading = Reading::new(by_parts(native, name, |level| level.split_once('=')));
            let keys = self.package.keys.iter();
            reading.metadata = keys.map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect();
            self.readings.push(reading);
            self.readings.len() - 1
        });
        self.package.places.push(place);
        place
    }

    /// `Unit ns/GC better=lower`.
    fn unit(&mut self, line: &'a str) {
        let mut words = line.split_ascii_whitespace();
        let Some(unit) = words.next() else { return };
        for word in words {
            match word {
                "better=lower" => _ = self.package.units.insert(unit, Better::Lower),
                "better=higher" => _ = self.package.units.insert(unit, Better::Higher),
                _ => {}
            }
        }
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

/// Errors: two units of one name.
fn add(reading: &mut Reading, unit: &str, value: f64, declared: Option<Better>) -> Result<(), String> {
    let (better, judged) = match declared.or_else(|| direction_of_unit(unit)) {
        Some(better) => (Some(better), true),
        None => (None, false),
    };
    let metric = match unit {
        "ns/op" => reading.metric("time", "ns", None),
        "B/op" => reading.metric(unit, "B", None),
        "allocs/op" => reading.metric(unit, "allocations", Some(Better::Lower)),
        _ => {
            let metric = reading.metric(&metric_name(unit), unit, better);
            // Megabytes per second follow from the time.
            metric.judged = judged && unit != "MB/s";
            if metric.unit != unit {
                return Err(format!("`{unit}` and `{}` are one name", metric.unit));
            }
            metric
        }
    };
    metric.values.push(value);
    Ok(())
}
