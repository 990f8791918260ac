//! The results of each case, folded entry by entry.

use std::collections::HashMap;

use super::super::names::{case_name, fixed_iterations};
use super::entry::Entry;
use crate::adapters::interface::prelude::*;

#[derive(Default, Deserialize)]
pub(super) struct ReportContext {
    library_version: Option<String>,
    library_build_type: Option<String>,
    pub(super) json_schema_version: Option<u64>,
}

pub(super) struct Case {
    reading: Reading,
    repetitions: u64,
    iterations: u64,
    threads: u64,
    median: Option<f64>,
    mean: Option<f64>,
    stddev: Option<f64>,
    aggregates: Option<(String, u64)>,
}

impl Case {
    pub(super) fn finish(self, context: &ReportContext, log: &RunLog) -> Reading {
        let mut reading = self.reading;
        for (key, value) in [
            ("library_version", &context.library_version),
            ("library_build_type", &context.library_build_type),
        ] {
            reading.note(key, value.clone());
        }
        if reading.end != End::Measured {
            reading.metrics.clear();
            return reading;
        }
        // With `->ReportAggregatesOnly()` there are no entries for repetitions.
        if let (true, Some((unit, count))) = (self.repetitions == 0, self.aggregates) {
            let value = self.median.or(self.mean);
            reading.metric("time", &unit, None).summary =
                value.map(|value| SummaryReading { value, stddev: self.stddev, count: Some(count) });
        }
        // A counter that was NaN once is omitted.
        let repetitions = self.repetitions as usize;
        reading.metrics.retain(|metric| metric.summary.is_some() || metric.values.len() == repetitions);
        // Only a case with a fixed number of iterations runs without a search for that number. An argument may have the same
        // name: it is a parameter.
        let (named, all) = (fixed_iterations(&reading.case.native), self.iterations as f64);
        let of_all = self.repetitions as f64 * self.threads as f64;
        let fixed = named.filter(|named| *named as f64 * of_all == all);
        if let (Some(argument), None, 1..) = (named, fixed, self.repetitions) {
            reading.case.params.insert("iterations".into(), ParamValue::Int(argument as i64));
        }
        let counted = log.iterations(&reading.case.native, self.threads);
        reading.iterations = counted.or(fixed.map(|_| all));
        reading
    }
}

/// `-- LOG(2): Running BM_sort/8 for 1000`: iterations of each thread.
pub(super) struct RunLog<'a>(HashMap<&'a str, u64>);

impl<'a> RunLog<'a> {
    pub(super) fn of(output: &HarnessOutput<'a>) -> Self {
        let mut runs = HashMap::new();
        for text in [output.files.get(STDERR).unwrap_or_default(), output.stdout] {
            let Ok(text) = std::str::from_utf8(text) else { continue };
            let said =
                text.lines().filter_map(|line| line.split_once("LOG(2): Running ")?.1.rsplit_once(" for "));
            for (name, count) in said {
                if let Ok(count) = count.trim_end().parse::<u64>() {
                    let sum = runs.entry(name).or_insert(0_u64);
                    *sum = sum.saturating_add(count);
                }
            }
        }
        Self(runs)
    }

    fn iterations(&self, native: &str, threads: u64) -> Option<f64> {
        self.0.get(native).map(|runs| *runs as f64 * threads as f64)
    }
}

#[derive(Default)]
pub(super) struct Cases {
    pub(super) cases: Vec<Case>,
    places: HashMap<String, usize>,
    last: usize,
}

impl Cases {
    /// Repetitions of a case are mostly adjacent: the last place is tried first.
    fn case(&mut self, native: &str) -> &mut Case {
        if self.cases.get(self.last).is_none_or(|case| case.reading.case.native != native) {
            self.last = *self.places.entry(native.to_owned()).or_insert_with(|| {
                self.cases.push(Case {
                    reading: Reading::new(case_name(native)),
                    repetitions: 0,
                    iterations: 0,
                    threads: 1,
                    median: None,
                    mean: None,
                    stddev: None,
                    aggregates: None,
                });
                self.cases.len() - 1
            });
        }
        &mut self.cases[self.last]
    }

    pub(super) fn add(&mut self, entry: Entry) -> Result<(), String> {
        let native = entry.run_name.ok_or("`run_name` is missing")?;
        let aggregate = match entry.run_type.as_deref() {
            Some("iteration") => false,
            Some("aggregate") => true,
            Some(_) => return Err("`run_type` is neither iteration nor aggregate".into()),
            None => {
                return Err("`run_type` is missing: versions before 1.5 do not say what they repeat".into());
            }
        };
        // A family's complexity does not belong to a case.
        if aggregate && !matches!(entry.aggregate_name.as_deref(), Some("mean" | "median" | "stddev")) {
            return Ok(());
        }
        let case = self.case(&native);
        if entry.error_occurred == Some(true) {
            let message = entry.error_message.unwrap_or("it reports an error".into()).into_owned();
            case.reading.end = failed(message);
            return Ok(());
        }
        if entry.skipped == Some(true) {
            if case.reading.end == End::Measured {
                let reason = entry.skip_message.unwrap_or("it skips itself".into()).into_owned();
                case.reading.end = skipped(reason);
            }
            return Ok(());
        }
        let real = entry.real_time.ok_or("`real_time` is missing or no number")?;
        let cpu = entry.cpu_time.ok_or("`cpu_time` is missing or no number")?;
        let unit = entry.time_unit.as_deref().filter(|unit| ["s", "ms", "us", "ns"].contains(unit));
        let unit = unit.ok_or("`time_unit` must be s, ms, us or ns")?;
        let iterations = entry.iterations.ok_or("`iterations` is missing")?;
        if iterations == 0 {
            return Err("`iterations` is 0: nothing ran".into());
        }
        if aggregate {
            match entry.aggregate_name.as_deref() {
                Some("median") => case.median = Some(real),
                Some("mean") => case.mean = Some(real),
                _ => case.stddev = Some(real),
            }
            case.aggregates = Some((unit.to_owned(), iterations));
            return Ok(());
        }
        if entry.repetition_index.is_some_and(|index| index != case.repetitions) {
            return Err(format!("`{native}` appears twice, or one of its repetitions is missing"));
        }
        case.repetitions += 1;
        case.iterations = case.iterations.saturating_add(iterations);
        case.threads = entry.threads.unwrap_or(1);
        let time = case.reading.metric("time", unit, None);
        if time.unit != unit {
            return Err("`time_unit` is another one than that of another repetition".into());
        }
        time.values.push(real);
        shown(&mut case.reading, "cpu_time", unit, cpu);
        for (name, value) in entry.counters {
            let (name, unit, better) = counter(&name);
            let metric = case.reading.metric(&name, unit, better);
            metric.judged = false;
            metric.values.push(value);
        }
        case.reading.note("label", entry.label.map(|label| label.into_owned()));
        Ok(())
    }
}

/// Name, unit and direction of a counter. Two counters come from the library; the direction of others is unknown.
fn counter(name: &str) -> (String, &'static str, Option<Better>) {
    match name {
        "bytes_per_second" => (name.into(), "B/s", None),
        "items_per_second" => (name.into(), "items/s", None),
        _ => (format!("counter/{}", metric_name(name)), "", None),
    }
}
