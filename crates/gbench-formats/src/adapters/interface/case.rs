//! Builds the results of every reader: cases named by their parameters, figures of each kind, and ends.

use std::collections::HashMap;

use super::adapter::{CaseName, End, MetricReading, Reading, SummaryReading};
use gbench_model::{ParamValue, Params};

/// A case whose name includes its parameters: `all_reduce[size=8]`.
pub(crate) fn named(case: &str, params: Params) -> Reading {
    let pairs: Vec<String> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let native = if pairs.is_empty() { case.to_owned() } else { format!("{case}[{}]", pairs.join(",")) };
    Reading::new(CaseName { native, case: case.to_owned(), params })
}

/// A name whose parts between `/` may be parameters, such as `sort/n=8/ints`: `sort/ints` with `n = 8`. `pair` splits a
/// part into name and value. The first part is not a parameter, nor is a second one of the same name.
pub(crate) fn by_parts(native: &str, name: &str, pair: fn(&str) -> Option<(&str, &str)>) -> CaseName {
    let (mut params, mut kept) = (Params::new(), Vec::new());
    let is_word = |key: &str| key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    for part in name.split('/') {
        match pair(part) {
            Some((key, value))
                if !key.is_empty()
                    && is_word(key)
                    && !value.is_empty()
                    && !kept.is_empty()
                    && !params.contains_key(key) =>
            {
                params.insert(key.to_owned(), int_or_text(value));
            }
            _ => kept.push(part),
        }
    }
    CaseName { native: native.to_owned(), case: kept.join("/"), params }
}

pub(crate) fn int_or_text(text: &str) -> ParamValue {
    text.parse().map_or_else(|_| ParamValue::Text(text.to_owned()), ParamValue::Int)
}

pub(crate) fn text_param(name: &str, text: &str) -> (String, ParamValue) {
    (name.to_owned(), ParamValue::Text(text.to_owned()))
}

pub(crate) fn measured<'a>(
    reading: &'a mut Reading,
    name: &str,
    unit: &str,
    value: f64,
) -> &'a mut MetricReading {
    let metric = reading.metric(name, unit, None);
    metric.values.push(value);
    metric
}

/// Adds a measurement, if present, that is shown and not judged.
pub(crate) fn shown(reading: &mut Reading, name: &str, unit: &str, value: impl Into<Option<f64>>) {
    if let Some(value) = value.into() {
        measured(reading, name, unit, value).judged = false;
    }
}

pub(crate) fn summarised<'a>(
    reading: &'a mut Reading,
    name: &str,
    unit: &str,
    summary: SummaryReading,
) -> &'a mut MetricReading {
    let metric = reading.metric(name, unit, None);
    metric.summary = Some(summary);
    metric
}

/// A summary without spread and number.
pub(crate) fn alone(value: f64) -> SummaryReading {
    SummaryReading { value, stddev: None, count: None }
}

/// A summary with the facts that the tool provides. A deviation that is negative or not a number is dropped.
pub(crate) fn summary(value: f64, stddev: Option<f64>, count: Option<u64>) -> SummaryReading {
    SummaryReading { value, stddev: stddev.filter(|stddev| stddev.is_finite() && *stddev >= 0.0), count }
}

/// Readings in their order, found by their cases.
#[derive(Default)]
pub(crate) struct CaseReadings {
    readings: Vec<Reading>,
    /// By the whole name; cases of one may differ in parameters.
    places: HashMap<String, Vec<usize>>,
}

impl CaseReadings {
    /// The reading of a case: the existing one, or this new one.
    pub(crate) fn of(&mut self, new: Reading) -> &mut Reading {
        let place = self.place(&new, |known| known.case == new.case).unwrap_or_else(|| self.add(new));
        &mut self.readings[place]
    }

    /// The first reading of its whole name that fits.
    pub(crate) fn find(&mut self, new: &Reading, fits: impl Fn(&Reading) -> bool) -> Option<&mut Reading> {
        let place = self.place(new, fits)?;
        self.readings.get_mut(place)
    }

    fn place(&self, new: &Reading, fits: impl Fn(&Reading) -> bool) -> Option<usize> {
        self.places.get(&new.case.native)?.iter().copied().find(|place| fits(&self.readings[*place]))
    }

    /// Adds a reading, even if its case has one, and returns its place.
    pub(crate) fn add(&mut self, new: Reading) -> usize {
        let place = self.readings.len();
        self.places.entry(new.case.native.clone()).or_default().push(place);
        self.readings.push(new);
        place
    }

    pub(crate) fn readings(&self) -> &[Reading] {
        &self.readings
    }
}

impl From<CaseReadings> for Vec<Reading> {
    fn from(cases: CaseReadings) -> Self {
        cases.readings
    }
}

pub(crate) fn failed(message: impl Into<String>) -> End {
    End::Failed { message: message.into() }
}

pub(crate) fn skipped(reason: impl Into<String>) -> End {
    End::Skipped { reason: reason.into() }
}

/// Marks the case as failed, for the first reason found.
pub(crate) fn fail(reading: &mut Reading, message: impl Into<String>) {
    if reading.end == End::Measured {
        reading.end = failed(message);
    }
}

/// Drops the numbers of a failed case.
pub(crate) fn ended(mut reading: Reading) -> Reading {
    if reading.end != End::Measured {
        reading.metrics.clear();
    }
    reading
}

/// Letters, digits and `_`, as in a metric's name: `Elapsed Cycles` becomes `elapsed_cycles`.
pub(crate) fn word(text: &str) -> String {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    parts.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("_")
}

/// A name that the user chose, as a metric's name: other characters become `_`.
pub(crate) fn metric_name(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || "_-./".contains(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gbench_model::ParamValue;

    #[test]
    fn a_case_is_named_by_its_parameters() {
        let params = Params::from([("n".into(), ParamValue::Int(8)), ("b".into(), ParamValue::Bool(true))]);
        assert_eq!(named("gemm", params).case.native, "gemm[b=true,n=8]");
        assert_eq!(named("gemm", Params::new()).case, CaseName::plain("gemm"));
        assert_eq!(word("L1/TEX Cache Throughput"), "l1_tex_cache_throughput");
        assert_eq!(metric_name("GFLOP/s (ü)"), "GFLOP/s____");
    }

    #[test]
    fn the_first_reason_stays_and_what_failed_has_no_numbers() {
        let mut reading = named("gemm", Params::new());
        summarised(&mut reading, "time", "ms", summary(1.0, Some(-1.0), None));
        assert_eq!(reading.metrics[0].summary, Some(alone(1.0)));
        fail(&mut reading, "first");
        fail(&mut reading, "second");
        let reading = ended(reading);
        assert_eq!((reading.end, reading.metrics.len()), (failed("first"), 0));
    }
}
