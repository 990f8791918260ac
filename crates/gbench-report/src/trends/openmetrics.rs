//! The text format of OpenMetrics 1.0, each sample with the time of its run: `promtool tsdb create-blocks-from
//! openmetrics` imports it into Prometheus. The format requires that samples of one series are adjacent and sorted by
//! time.
//!
//! No label of `gbench_value` names a run, so a longer history has more samples and not more series. Commits and conclusions
//! are labels of `gbench_run_info`.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use gbench_compare::trend::{TrendsDocument, V1Series, V1TrendRun};

/// TimedSamples by labels.
type TimedSamples = BTreeMap<String, Vec<(Duration, f64)>>;

pub(super) fn render(document: &TrendsDocument, out: &mut dyn io::Write) -> io::Result<()> {
    let mut values = TimedSamples::new();
    for series in &document.series {
        // Hosts of a pool share a series of the document, and each has a separate one here.
        let mut by_host: BTreeMap<(&str, &str), Vec<(Duration, f64)>> = BTreeMap::new();
        for point in series.points.iter().filter(|point| point.value.is_finite()) {
            let Some(run) = document.runs.get(point.run as usize) else { continue };
            let Some(started) = started(run) else { continue };
            by_host.entry((&run.label, host(run))).or_default().push((started, point.value));
        }
        for ((label, host), samples) in by_host {
            values.entry(labels(&of_value(series, label, host))).or_default().extend(samples);
        }
    }
    let mut runs = TimedSamples::new();
    for run in &document.runs {
        let Some(started) = started(run) else { continue };
        runs.entry(labels(&of_run(run))).or_default().push((started, 1.0));
    }
    writeln!(out, "# TYPE gbench_value gauge")?;
    writeln!(out, "# HELP gbench_value The figure of a case's metric in a run, in the unit of the label.")?;
    samples("gbench_value", values, out)?;
    writeln!(out, "# TYPE gbench_run info")?;
    writeln!(out, "# HELP gbench_run The commit and the conclusion of a run, at the time of the run.")?;
    samples("gbench_run_info", runs, out)?;
    writeln!(out, "# EOF")
}

fn samples(name: &str, samples: TimedSamples, out: &mut dyn io::Write) -> io::Result<()> {
    for (labels, mut samples) in samples {
        samples.sort_by_key(|(time, _)| *time);
        // Two samples of one series may not have the same time.
        samples.dedup_by_key(|(time, _)| *time);
        for (time, value) in samples {
            let (whole, milliseconds) = (time.as_secs(), time.subsec_millis());
            writeln!(out, "{name}{{{labels}}} {value:?} {whole}.{milliseconds:03}")?;
        }
    }
    Ok(())
}

fn started(run: &V1TrendRun) -> Option<Duration> {
    let started = humantime::parse_rfc3339(&run.started).ok()?;
    let since = started.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(Duration::from_millis(u64::try_from(since.as_millis()).ok()?))
}

fn host(run: &V1TrendRun) -> &str {
    run.host.as_deref().unwrap_or_default()
}

fn of_value(series: &V1Series, label: &str, host: &str) -> Vec<(String, String)> {
    let case = &series.case;
    let fixed = [
        ("case", case.to_string().as_str()),
        ("suite", case.benchmark.suite()),
        ("benchmark", case.benchmark.name()),
        ("metric", &series.metric),
        ("unit", &series.unit),
        ("timing", case.timing.into_str()),
        ("branch", &series.branch),
        ("label", label),
        ("variant", case.variant.map_or("", |variant| variant.into_str())),
        ("device", &case.device),
        ("host", host),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let params = case.params.iter().map(|(name, value)| (param_label(name), value.to_string()));
    fixed.into_iter().chain(params).collect()
}

fn of_run(run: &V1TrendRun) -> Vec<(String, String)> {
    [
        ("branch", run.branch.as_str()),
        ("label", &run.label),
        ("host", host(run)),
        ("commit", &run.commit),
        ("event", &run.event),
        ("conclusion", run.conclusion.as_deref().unwrap_or_default()),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

/// The label of a parameter: the prefix keeps it apart from every other label and from `le` and `quantile`, which the format
/// reserves. A character that a label cannot have is written as `_xHH_`, its code point in hexadecimal. An underscore that would
/// read as the beginning of one is written so, too, so that two parameters never share a label.
fn param_label(param: &str) -> String {
    let mut label = String::from("param_");
    let mut rest = param.chars();
    while let Some(c) = rest.next() {
        let mut next = rest.clone();
        let reads_as_code =
            c == '_' && next.next() == Some('x') && next.next().is_some_and(|c| c.is_ascii_hexdigit());
        if (c.is_ascii_alphanumeric() || c == '_') && !reads_as_code {
            label.push(c);
        } else {
            label += &format!("_x{:x}_", u32::from(c));
        }
    }
    label
}

fn labels(labels: &[(String, String)]) -> String {
    let labels = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    labels.collect::<Vec<_>>().join(",")
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_support as documents;

    fn text(document: &TrendsDocument) -> String {
        let mut bytes = Vec::new();
        render(document, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// The parameter that a label stands for.
    fn param_of(label: &str) -> String {
        let mut rest = label.strip_prefix("param_").unwrap();
        let mut param = String::new();
        while let Some(first) = rest.chars().next() {
            let code = rest.strip_prefix("_x").and_then(|rest| rest.split_once('_'));
            let code = code.and_then(|(code, rest)| Some((u32::from_str_radix(code, 16).ok()?, rest)));
            let (c, after) = match code {
                Some((code, after)) => (char::from_u32(code).unwrap(), after),
                None => (first, &rest[first.len_utf8()..]),
            };
            param.push(c);
            rest = after;
        }
        param
    }

    #[test]
    fn usual_parameters_keep_their_names_and_reserved_ones_are_no_danger() {
        for name in ["n", "block_x", "le", "case", "quantile", "__name__", "2d"] {
            assert_eq!(param_label(name), format!("param_{name}"));
        }
        assert_eq!(param_label("block-size"), "param_block_x2d_size");
        assert_eq!(param_label("größe"), "param_gr_xf6__xdf_e");
        assert_ne!(param_label("_x2d-"), param_label("-x2d_"));
    }

    proptest! {
        #[test]
        fn a_label_can_be_read_back_so_no_two_parameters_share_one(name in "[-_x2dé.a]{0,12}|\\PC{1,8}") {
            let label = param_label(&name);
            prop_assert!(label.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{label}");
            prop_assert_eq!(param_of(&label), name);
        }
    }

    #[test]
    fn parameters_and_hosts_are_labels_and_a_longer_history_has_no_more_series() {
        let series = |nights: usize| {
            let mut series = documents::series(&vec![1.5; nights], &[]);
            series.case = documents::case("a/b", &[("le", 1), ("block-size", 4)]);
            let mut document = documents::trends(series);
            for (at, run) in document.runs.iter_mut().enumerate() {
                run.host = Some(["one", "two"][at % 2].into());
            }
            text(&document)
        };
        let sets = |text: &str| {
            let lines = text.lines().filter(|line| line.starts_with("gbench_value{"));
            let mut sets: Vec<String> =
                lines.map(|line| line.split_once("} ").unwrap().0.to_owned()).collect();
            sets.dedup();
            sets
        };
        let (short, long) = (series(4), series(40));
        assert_eq!(sets(&short).len(), 2, "one for each host, adjacent");
        assert_eq!(sets(&short), sets(&long));
        assert!(short.contains(r#",host="one",param_block_x2d_size="4",param_le="1"} 1.5 "#), "{short}");
    }

    #[test]
    fn samples_of_one_series_are_sorted_and_have_different_times() {
        let mut document = documents::trends(documents::series(&[1.0, 2.0, 3.0], &[]));
        document.runs[0].started = "2026-01-02T00:00:00Z".into();
        document.runs[1].started = "2026-01-01T00:00:00Z".into();
        document.runs[2].started = "2026-01-01T00:00:00Z".into();
        let text = text(&document);
        let samples: Vec<&str> = text.lines().filter(|line| line.starts_with("gbench_value{")).collect();
        let ends: Vec<&str> = samples.iter().map(|line| line.split_once("} ").unwrap().1).collect();
        assert_eq!(ends, ["2.0 1767225600.000", "1.0 1767312000.000"]);
    }
}
