//! OpenMetrics 1.0 and the text format of Prometheus, as files: `*.prom`, the metrics report of GitLab, and what a client library
//! writes. <https://prometheus.io/docs/specs/om/open_metrics_spec/>
//!
//! A gauge is a case, its labels are parameters. A counter, a histogram or a sum has grown since some process began, and is not a
//! figure of a benchmark. The moments that libraries add, and the families about the exporting process, are not read.

use std::collections::HashMap;

use super::interface::prelude::*;
use gbench_model::{Unread, UnreadKind};

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "openmetrics",
    title: "OpenMetrics and Prometheus",
    versions: "the text of OpenMetrics 1.0 and of Prometheus 0.0.4, with `# TYPE`",
    fields: "gauges, and the median of summaries; their labels as parameters; `# UNIT`, else the unit at the end of a name",
    direction: "by the unit; else it is shown",
    failures: "`Inf` as a value; `NaN` (skipped); a sample that is cut off, or `# UNIT` without `# EOF` at the end (refused)",
    tried: &["prometheus_client-0.26-openmetrics", "prometheus_client-0.26-prometheus"],
    recognises,
    read,
    ..DeclaredFormat::SUMMARY
};

/// Units at the end of a name; the longest first.
const UNITS: [(&str, &str); 14] = [
    ("_bytes_per_second", "B/s"),
    ("_tokens_per_second", "tokens/s"),
    ("_per_second", "1/s"),
    ("_nanoseconds", "ns"),
    ("_microseconds", "us"),
    ("_milliseconds", "ms"),
    ("_seconds", "s"),
    ("_bytes", "B"),
    ("_joules", "J"),
    ("_watts", "W"),
    ("_celsius", "C"),
    ("_ratio", ""),
    ("_percent", "%"),
    ("_hertz", "Hz"),
];

/// Families about the process that wrote the file.
const OWN: [&str; 8] = [
    "process_cpu_",
    "process_resident_",
    "process_virtual_",
    "process_open_fds",
    "process_max_fds",
    "python_",
    "go_",
    "promhttp_",
];

/// Ends of names, without the unit, of spreads.
const SPREADS: [&str; 5] = ["_stddev", "_stdev", "_error", "_stderr", "_variance"];

const KINDS: [&str; 9] =
    ["gauge", "unknown", "untyped", "summary", "counter", "histogram", "gaugehistogram", "info", "stateset"];

fn recognises(file: &ResultFile) -> bool {
    !file.begins(b'{') && !file.begins(b'[') && file.any_line("# TYPE ", |line| kind(line).is_some())
}

fn kind(line: &str) -> Option<(&str, &str)> {
    let (name, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
    KINDS.contains(&kind).then_some((name, kind))
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let text = file.text()?;
    let (mut kinds, mut units) = (HashMap::new(), HashMap::new());
    let (mut cases, mut is_ended, mut unread) = (CaseReadings::default(), false, Unread::default());
    for (at, line, is_whole) in lines(text).filter(|(_, line, _)| !line.trim().is_empty()) {
        is_ended = line == "# EOF";
        if let Some((name, kind)) = kind(line) {
            kinds.insert(name, kind);
        } else if let Some((name, unit)) = line.strip_prefix("# UNIT ").and_then(|rest| rest.split_once(' '))
        {
            units.insert(name, unit);
        } else if !line.starts_with('#') {
            if !is_whole {
                return Err(file.line(at, "the file ends within this line, and may be cut off"));
            }
            let sample = Sample::parse(line)
                .ok_or_else(|| file.line(at, "it is not a sample such as `name{label=\"value\"} 1.5`"))?;
            match sample.reading(&kinds, &units) {
                Some(reading) => add(&mut cases, reading),
                // A counter or a histogram may be a measurement.
                None if !sample.is_own() => unread.line(UnreadKind::Sample, at, line),
                None => {}
            }
        }
    }
    // Only OpenMetrics has units, and its complete files end with a mark.
    if !units.is_empty() && !is_ended {
        return Err(file.wrong("it is incomplete: `# EOF` is missing at its end"));
    }
    Ok(vec![RunReading { readings: cases.into(), unread, ..RunReading::default() }])
}

/// `kernel_seconds` and `kernel_bytes` are two figures of one case.
fn add(cases: &mut CaseReadings, mut reading: Reading) {
    let known = cases.find(&reading, |known| known.case == reading.case && known.end == reading.end);
    let is_new = |known: &Reading| {
        reading.metrics.iter().all(|metric| known.metrics.iter().all(|other| other.name != metric.name))
    };
    match known {
        Some(known) if !reading.metrics.is_empty() && is_new(known) => {
            known.metrics.append(&mut reading.metrics)
        }
        _ => _ = cases.add(reading),
    }
}

struct Sample<'a> {
    name: &'a str,
    labels: Vec<(&'a str, String)>,
    value: &'a str,
}

impl<'a> Sample<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_:.".contains(c);
        let end = line.find(|c| !is_name(c)).unwrap_or(line.len());
        let (name, mut rest) = line.split_at(end);
        let mut labels = Vec::new();
        if let Some(mut within) = rest.strip_prefix('{') {
            loop {
                within = within.trim_start_matches([' ', ',']);
                if let Some(after) = within.strip_prefix('}') {
                    rest = after;
                    break;
                }
                let (label, after) = within.split_once("=\"")?;
                let (value, after) = quoted(after)?;
                labels.push((label.trim(), value));
                within = after;
            }
        }
        let value = rest.split_ascii_whitespace().next()?;
        let is_sample = !name.is_empty() && value.parse::<f64>().is_ok();
        is_sample.then_some(Self { name, labels, value })
    }

    fn is_own(&self) -> bool {
        OWN.iter().any(|own| self.name.starts_with(own))
            || self.name.ends_with("_created")
            || self.name.ends_with("_info")
    }

    /// `None`: it is not a figure.
    fn reading(&self, kinds: &HashMap<&str, &str>, units: &HashMap<&str, &str>) -> Option<Reading> {
        let kind = kinds.get(self.name).copied();
        let quantile =
            self.labels.iter().find(|(label, _)| *label == "quantile").map(|(_, value)| value.as_str());
        let is_figure = match kind {
            Some("gauge" | "unknown" | "untyped") => true,
            Some("summary") => quantile == Some("0.5"),
            // A family may have no type. A sample such as `launches_total` or `step_seconds_bucket` belongs to one of another
            // kind.
            None => !["_total", "_bucket", "_sum", "_count", "_created"]
                .iter()
                .any(|end| self.name.ends_with(end)),
            Some(_) => false,
        };
        let is_moment = ["_created", "_timestamp_seconds", "_start_time_seconds", "_info"]
            .iter()
            .any(|end| self.name.ends_with(end));
        if !is_figure || is_moment || self.is_own() {
            return None;
        }
        let known = UNITS.iter().find(|(end, _)| self.name.ends_with(end));
        let declared = units.get(self.name).and_then(|unit| UNITS.iter().find(|(end, _)| end[1..] == **unit));
        let unit = declared
            .or(known)
            .map_or_else(|| units.get(self.name).copied().unwrap_or_default(), |(_, unit)| unit);
        let case = known.map_or(self.name, |(end, _)| self.name.strip_suffix(end).unwrap_or(self.name));
        let labels = self.labels.iter().filter(|(label, _)| *label != "quantile");
        let params = labels.map(|(label, value)| ((*label).to_owned(), param(value))).collect();
        let mut reading = named(case, params);
        let value: f64 = self.value.parse().ok()?;
        if value.is_nan() {
            reading.end = skipped("its value is NaN");
        } else if value.is_infinite() {
            reading.end = failed(format!("its value is {}", self.value));
        } else {
            let name = if is_time(unit) { "time" } else { "value" };
            let metric = summarised(&mut reading, name, unit, alone(value));
            let is_spread = SPREADS.iter().any(|end| case.ends_with(end));
            metric.judged = direction_of_unit(unit).is_some() && !is_spread;
        }
        Some(reading)
    }
}

/// The text up to the closing quote, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match chars.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::interface::output::OutputFiles;

    #[test]
    fn what_is_no_figure_by_its_kind_is_named_as_that() {
        let none = OutputFiles::default();
        let bytes = b"# TYPE a gauge\na 1\n# TYPE n counter\nn 5\nn{x=\"1\"} 6\n";
        let runs = read(&ResultFile { name: "file", bytes, beside: &none }).unwrap();
        assert_eq!(
            runs[0].unread.0[0].sentence(),
            "2 samples of counters, histograms, summaries or moments were not read: the first is line 4, `n 5`"
        );
    }
}
