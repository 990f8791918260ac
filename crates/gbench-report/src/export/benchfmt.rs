//! The Go benchmark format, <https://golang.org/design/14313-benchmark-format>: a line for each process of a case, so that tools such as
//! benchstat see processes as the samples.

use std::collections::BTreeMap;
use std::io;

use crate::record::view::metric::process_center;
use gbench_model::{CaseRecord, Metric, RunRecord, Thermal, convert, direction_of_unit, is_time};

pub(super) fn write(record: &RunRecord, out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "tool: gbench-ci\nrun: {}", record.run_id)?;
    if let Some(commit) = record.manifest.git.known().and_then(|git| git.commit.as_ref()) {
        writeln!(out, "commit: {commit}")?;
    }
    let measured = || record.cases.iter().filter(|case| case.outcome.is_measured());
    let metrics = measured().flat_map(|case| &case.metrics);
    let units: BTreeMap<String, String> = metrics.map(|metric| (unit(metric), declaration(metric))).collect();
    let declared = units.iter().filter(|(_, says)| !says.is_empty());
    declared.into_iter().try_for_each(|(unit, says)| writeln!(out, "Unit {unit}{says}"))?;
    measured().try_for_each(|case| lines(case, out))?;
    writeln!(out, "PASS")
}

/// The rest of a metric's line `Unit`: its direction, and the parts of a joined name. Empty: every reader knows the unit.
fn declaration(metric: &Metric) -> String {
    let unit = unit(metric);
    if IN_GO.contains(&unit.as_str()) {
        return String::new();
    }
    let better = metric.better.or_else(|| direction_of_unit(&metric.unit));
    let better = better.map(|better| format!(" better={}", better.into_str())).unwrap_or_default();
    let parts =
        (unit != metric.name).then(|| format!(" metric={} unit={}", word(&metric.name), word(&metric.unit)));
    better + &parts.unwrap_or_default()
}

fn lines(case: &CaseRecord, out: &mut dyn io::Write) -> io::Result<()> {
    let params =
        case.id.params.iter().map(|(name, value)| format!("/{}={}", word(name), word(&value.to_string())));
    let variant = case.id.variant.map_or(String::new(), |variant| format!("/{}", variant.into_str()));
    let name = word(case.id.benchmark.as_str());
    let cold = if case.id.thermal == Thermal::Cold { "/cold" } else { "" };
    let device = match case.id.device.as_str() {
        "host" => String::new(),
        device => format!("/device={}", word(device)),
    };
    let name = format!("Benchmark{}{variant}{cold}{device}{}", capital(&name), params.collect::<String>());
    for process in &case.processes {
        let mut samples = 1;
        let figures: Vec<String> = case
            .metrics
            .iter()
            .filter_map(|metric| {
                let of = metric.processes.iter().find(|it| it.process == process.index && !it.partial)?;
                let center = process_center(of)?;
                samples = samples.max(of.values.len());
                Some(format!("{} {}", value(metric, center), unit(metric)))
            })
            .collect();
        if !figures.is_empty() {
            writeln!(out, "{name} {samples} {}", figures.join(" "))?;
        }
    }
    Ok(())
}

/// Units of `go test`, whose direction every reader knows.
const IN_GO: [&str; 4] = ["ns/op", "MB/s", "B/op", "allocs/op"];

/// True for a metric of `go test`, whose name is its unit there; [`Metric::unit`] is what it counts.
fn is_of_go(metric: &Metric) -> bool {
    let known = [("MB/s", "MB/s"), ("B/op", "B"), ("allocs/op", "allocations")];
    known.contains(&(metric.name.as_str(), metric.unit.as_str()))
}

/// The format has nanoseconds for the time of an operation, and metrics of Go are named by their units; other units may be
/// ambiguous, so the metric's name is used.
fn unit(metric: &Metric) -> String {
    let name = metric.name.as_str();
    if in_ns(metric, 1.0).is_some() {
        "ns/op".into()
    } else if is_of_go(metric) || !IN_GO.contains(&name) && (name == metric.unit || metric.unit.is_empty()) {
        word(name)
    } else {
        format!("{}-{}", word(name), word(&metric.unit))
    }
}

/// The time of an operation, if its unit is known.
fn in_ns(metric: &Metric, value: f64) -> Option<f64> {
    convert(value, &metric.unit, "ns").filter(|_| metric.name == "time" && is_time(&metric.unit))
}

fn value(metric: &Metric, center: f64) -> f64 {
    in_ns(metric, center).unwrap_or(center)
}

/// Without white space, which ends a word in this format.
fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }).collect()
}

/// A name must not begin with a lower-case letter.
fn capital(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_of_go_has_the_unit_of_go() {
        for (name, own, expected, says) in [
            ("time", "ms", "ns/op", ""),
            ("time", "", "time", ""),
            ("B/op", "B", "B/op", ""),
            ("B/op", "KiB", "B/op-KiB", " better=lower metric=B/op unit=KiB"),
            ("B/op", "", "B/op-", " metric=B/op unit="),
            ("MB/s", "MB/s", "MB/s", ""),
            ("MB/s", "GB/s", "MB/s-GB/s", " better=higher metric=MB/s unit=GB/s"),
            ("allocs/op", "allocations", "allocs/op", ""),
            ("score", "", "score", ""),
        ] {
            let metric = Metric {
                name: name.into(),
                unit: own.into(),
                better: None,
                processes: Vec::new(),
                summary: None,
            };
            assert_eq!(
                (unit(&metric).as_str(), declaration(&metric).as_str()),
                (expected, says),
                "{name} in {own}"
            );
            assert_eq!(value(&metric, 2.0), if own == "ms" { 2e6 } else { 2.0 });
        }
    }
}
