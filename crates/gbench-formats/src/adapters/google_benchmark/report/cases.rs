//! The results of each case, folded entry by entry.

use std::collections::{BTreeSet, HashMap};

use super::super::names::{case_name, fixed_iterations};
use super::entry::Entry;
use crate::adapters::interface::prelude::*;
use gbench_model::{Unread, UnreadKind};

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
    /// Their unit, and the number of repetitions, which versions before 1.5 do not say.
    aggregates: Option<(String, Option<u64>)>,
}

impl Case {
    fn new(native: &str) -> Self {
        Self {
            reading: Reading::new(case_name(native)),
            repetitions: 0,
            iterations: 0,
            threads: 1,
            median: None,
            mean: None,
            stddev: None,
            aggregates: None,
        }
    }

    fn finish(self, context: &ReportContext, log: &RunLog, omitted: &mut BTreeSet<String>) -> Reading {
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
                value.map(|value| SummaryReading { value, stddev: self.stddev, count });
        }
        // A counter that was NaN once is omitted.
        let repetitions = self.repetitions as usize;
        reading.metrics.retain(|metric| {
            let is_number =
                |values: &[f64]| values.len() == repetitions && !values.iter().any(|it| it.is_nan());
            let is_whole = metric.summary.is_some() || is_number(&metric.values);
            if !is_whole {
                omitted.insert(metric.name.trim_start_matches("counter/").to_owned());
            }
            is_whole
        });
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
    /// An entry has no `run_type`, as before version 1.5.
    is_old: bool,
    /// Aggregates of the user's own.
    rows: Unread,
    /// Counters of aggregates without their repetitions.
    omitted: BTreeSet<String>,
}

impl Cases {
    /// The readings, and what was not read.
    pub(super) fn finish(mut self, context: &ReportContext, log: &RunLog) -> (Vec<Reading>, Unread) {
        if self.is_old {
            self.fold_aggregates();
        }
        let Self { cases, rows: mut unread, mut omitted, .. } = self;
        let readings = cases.into_iter().map(|case| case.finish(context, log, &mut omitted)).collect();
        unread.fields(omitted);
        (readings, unread)
    }

    /// Before version 1.5 the mean and the deviation of a case, and later the median, are entries with longer names. Both are
    /// there: a single one is a benchmark of that name.
    fn fold_aggregates(&mut self) {
        let one = |name: String| {
            let case = self.cases.get(*self.places.get(&name)?)?;
            let [time] = case.reading.metrics.first()?.values[..] else { return None };
            Some((time, case.reading.metrics.first()?.unit.clone()))
        };
        let mut folded: HashMap<String, Case> = HashMap::new();
        for native in self.places.keys().filter_map(|name| name.strip_suffix("_mean")) {
            let [mean, stddev, median] =
                ["mean", "stddev", "median"].map(|end| one(format!("{native}_{end}")));
            let (Some((mean, unit)), Some((stddev, _))) = (mean, stddev) else { continue };
            let runs = self.places.get(native).and_then(|place| self.cases.get(*place));
            if runs.is_some_and(|runs| runs.repetitions < 2 && runs.reading.end == End::Measured) {
                continue;
            }
            let (mean, stddev, median) = (Some(mean), Some(stddev), median.map(|(time, _)| time));
            let aggregates = Some((unit, None));
            folded.insert(native.to_owned(), Case { mean, stddev, median, aggregates, ..Case::new(native) });
        }
        let is_folded =
            |name: &str, end: &str| name.strip_suffix(end).is_some_and(|base| folded.contains_key(base));
        let cases = std::mem::take(&mut self.cases);
        let mut kept = Vec::with_capacity(cases.len());
        for case in cases {
            let name = case.reading.case.native.as_str();
            match name.strip_suffix("_mean").filter(|_| is_folded(name, "_mean")) {
                // Without repetitions, the aggregates are all that there is of it.
                Some(base) if !self.places.contains_key(base) => {
                    let names = case.reading.metrics.iter().skip(2).map(|metric| metric.name.as_str());
                    self.omitted.extend(names.map(|name| name.trim_start_matches("counter/").to_owned()));
                    kept.push(base.to_owned());
                }
                None if !is_folded(name, "_stddev") && !is_folded(name, "_median") => {
                    self.cases.push(case);
                }
                _ => {}
            }
        }
        self.cases.extend(kept.into_iter().filter_map(|base| folded.remove(&base)));
    }

    /// Repetitions of a case are mostly adjacent: the last place is tried first.
    fn case(&mut self, native: &str) -> &mut Case {
        if self.cases.get(self.last).is_none_or(|case| case.reading.case.native != native) {
            self.last = *self.places.entry(native.to_owned()).or_insert_with(|| {
                self.cases.push(Case::new(native));
                self.cases.len() - 1
            });
        }
        &mut self.cases[self.last]
    }

    pub(super) fn add(&mut self, entry: Entry) -> Result<(), String> {
        let is_old = entry.run_type.is_none() && entry.run_name.is_none();
        self.is_old |= is_old;
        let native = if is_old {
            entry.name.ok_or("`name` is missing")?
        } else {
            entry.run_name.ok_or("`run_name` is missing")?
        };
        let aggregate = match entry.run_type.as_deref() {
            Some("iteration") => false,
            Some("aggregate") => true,
            Some(_) => return Err("`run_type` is neither iteration nor aggregate".into()),
            None if is_old => false,
            None => return Err("`run_type` is missing".into()),
        };
        // A family's complexity does not belong to a case, and the variation follows from mean and deviation.
        let of_family = entry.counters.iter().any(|(name, _)| ["cpu_coefficient", "rms"].contains(&&**name));
        if is_old && of_family && entry.iterations.is_none() {
            return Ok(());
        }
        match entry.aggregate_name.as_deref().filter(|_| aggregate) {
            None if aggregate => return Ok(()),
            Some("cv" | "BigO" | "RMS") => return Ok(()),
            Some("mean" | "median" | "stddev") | None => {}
            Some(name) => {
                self.rows.named(UnreadKind::Row, &format!("{native}_{name}"));
                return Ok(());
            }
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
        let number = |time: Option<f64>| time.filter(|time| !time.is_nan());
        let real = number(entry.real_time).ok_or("`real_time` is missing or no number")?;
        let cpu = number(entry.cpu_time).ok_or("`cpu_time` is missing or no number")?;
        let unit = entry.time_unit.as_deref().filter(|unit| ["s", "ms", "us", "ns"].contains(unit));
        let unit = unit.ok_or("`time_unit` must be s, ms, us or ns")?;
        let iterations = entry.iterations.ok_or("`iterations` is missing")?;
        // A deviation has none before version 1.5.
        if iterations == 0 && !(is_old && native.ends_with("_stddev")) {
            return Err("`iterations` is 0: nothing ran".into());
        }
        if aggregate {
            match entry.aggregate_name.as_deref() {
                Some("median") => case.median = Some(real),
                Some("mean") => case.mean = Some(real),
                _ => case.stddev = Some(real),
            }
            case.aggregates = Some((unit.to_owned(), Some(iterations)));
            if case.repetitions == 0 && entry.aggregate_name.as_deref() == Some("mean") {
                self.omitted.extend(entry.counters.into_iter().map(|(name, _)| name.into_owned()));
            }
            return Ok(());
        }
        if entry.repetition_index.is_some_and(|index| index != case.repetitions) {
            return Err(format!("`{native}` appears twice, or one of its repetitions is missing"));
        }
        case.repetitions += 1;
        case.iterations = case.iterations.saturating_add(iterations);
        let named = || native.rsplit("/threads:").next()?.parse().ok().filter(|_| is_old);
        case.threads = entry.threads.or_else(named).unwrap_or(1);
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
