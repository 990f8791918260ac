//! What readers of rows share: cases that are named by their parameters, and figures of each kind.

use crate::adapters::{CaseName, MetricReading, Reading, SummaryReading};
use crate::model::Params;

/// A case with its parameters behind its name: `all_reduce[size=8]`, or the name alone.
pub(super) fn named(case: &str, params: Params) -> CaseName {
    let pairs: Vec<String> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let native = if pairs.is_empty() { case.to_owned() } else { format!("{case}[{}]", pairs.join(",")) };
    CaseName { native, case: case.to_owned(), params }
}

/// Likewise, with nothing read of it yet.
pub(super) fn named_by_params(case: &str, params: Params) -> Reading {
    Reading::new(named(case, params))
}

/// Adds one measurement.
pub(super) fn measured<'a>(
    reading: &'a mut Reading,
    name: &str,
    unit: &str,
    value: f64,
) -> &'a mut MetricReading {
    let metric = reading.metric(name, unit, None);
    metric.values.push(value);
    metric
}

/// Adds a figure that is shown and not judged.
pub(super) fn shown(reading: &mut Reading, name: &str, unit: &str, value: f64) {
    measured(reading, name, unit, value).judged = false;
}

/// Adds a summary of the tool's own.
pub(super) fn summarised<'a>(
    reading: &'a mut Reading,
    name: &str,
    unit: &str,
    summary: SummaryReading,
) -> &'a mut MetricReading {
    let metric = reading.metric(name, unit, None);
    metric.summary = Some(summary);
    metric
}

/// A summary that says nothing of spread and number.
pub(super) fn alone(value: f64) -> SummaryReading {
    SummaryReading { value, stddev: None, count: None }
}

/// Letters, digits and `_`, as the name of a metric: `Elapsed Cycles` is `elapsed_cycles`.
pub(super) fn word(text: &str) -> String {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    parts.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("_")
}

/// The lines of a text from 1, each with whether it ends as a line does. What no line end follows may be half a line.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    text.split_inclusive('\n').enumerate().map(|(at, line)| {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        (at + 1, bare.strip_suffix('\r').unwrap_or(bare), line.ends_with('\n'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ParamValue;

    #[test]
    fn a_case_is_named_by_its_parameters() {
        let params = Params::from([("n".into(), ParamValue::Int(8)), ("b".into(), ParamValue::Bool(true))]);
        assert_eq!(named_by_params("gemm", params).case.native, "gemm[b=true,n=8]");
        assert_eq!(named_by_params("gemm", Params::new()).case.native, "gemm");
        assert_eq!(word("L1/TEX Cache Throughput"), "l1_tex_cache_throughput");
        assert_eq!(lines("a\r\nb").collect::<Vec<_>>(), [(1, "a", true), (2, "b", false)]);
    }
}
