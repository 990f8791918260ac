//! The text format of OpenMetrics 1.0, each sample with the time of its run: `promtool tsdb create-blocks-from
//! openmetrics` imports it into Prometheus. The format requires that samples of one series are adjacent and sorted by
//! time.

use std::io;

use gbench_compare::trend::{TrendsDocument, V1Series};

pub(super) fn render(document: &TrendsDocument, out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "# TYPE gbench_value gauge")?;
    writeln!(out, "# HELP gbench_value The figure of a case's metric in a run, in the unit of the label.")?;
    for series in &document.series {
        let labels = labels(series);
        let mut last = None;
        for point in &series.points {
            let Some(run) = document.runs.get(point.run as usize) else { continue };
            let Ok(started) = humantime::parse_rfc3339(&run.started) else { continue };
            let Ok(seconds) = started.duration_since(std::time::UNIX_EPOCH) else { continue };
            // Two samples of one series may not have the same time.
            if last.replace(seconds) == Some(seconds) || !point.value.is_finite() {
                continue;
            }
            let (whole, milliseconds) = (seconds.as_secs(), seconds.subsec_millis());
            writeln!(out, "gbench_value{{{labels}}} {:?} {whole}.{milliseconds:03}", point.value)?;
        }
    }
    writeln!(out, "# EOF")
}

fn labels(series: &V1Series) -> String {
    let case = series.case.to_string();
    let timing = series.case.timing.into_str();
    let labels = [
        ("case", case.as_str()),
        ("suite", series.case.benchmark.suite()),
        ("benchmark", series.case.benchmark.name()),
        ("metric", &series.metric),
        ("unit", &series.unit),
        ("timing", timing),
        ("branch", &series.branch),
        ("label", &series.label),
    ];
    labels.map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).join(",")
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
