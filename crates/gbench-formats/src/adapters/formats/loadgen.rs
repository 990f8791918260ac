//! MLPerf LoadGen: `mlperf_log_summary.txt`, one case per run. A run that it calls INVALID has no number.
//! <https://github.com/mlcommons/inference/blob/master/loadgen/README.md>.
//!
//! In the Offline scenario all samples are one query, so its latencies are totals of the batch: they are only shown. The
//! estimates of early stopping are the scores of SingleStream and MultiStream. The file of an accuracy run contains no figure.

use super::interface::prelude::*;
use gbench_model::{Unread, UnreadKind};

const TITLE: &str = "MLPerf Results Summary";
const PARAMETERS: &str = "Test Parameters Used";

/// Figures by their name in the file: metric, unit, and whether it is judged.
const FIGURES: [(&str, &str, &str, bool); 13] = [
    ("Samples per second", "samples_per_second", "samples/s", true),
    ("Completed samples per second", "samples_per_second", "samples/s", true),
    ("Tokens per second", "tokens_per_second", "tokens/s", true),
    ("Completed tokens per second", "tokens_per_second", "tokens/s", true),
    // The requested load, and figures derived from the latencies.
    ("Scheduled samples per second", "scheduled_samples_per_second", "samples/s", false),
    ("Samples per second (inferred)", "samples_per_second_inferred", "samples/s", false),
    ("QPS w/ loadgen overhead", "queries_per_second_with_overhead", "queries/s", false),
    ("QPS w/o loadgen overhead", "queries_per_second", "queries/s", false),
    ("TPS w/ loadgen overhead", "tokens_per_second_with_overhead", "tokens/s", false),
    ("TPS w/o loadgen overhead", "tokens_per_second", "tokens/s", false),
    ("Min latency (ns)", "latency_min", "ns", false),
    ("Max latency (ns)", "latency_max", "ns", false),
    ("Mean latency (ns)", "latency_mean", "ns", false),
];

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "loadgen",
    title: "MLPerf LoadGen",
    versions: "`mlperf_log_summary.txt` of 2.0 to 6.0",
    fields: "`SUT name`, `Scenario`, `Mode`, `Result is`, constraints and recommendations; samples and tokens per second; \
             estimates of early stopping; percentiles of latency, first token and time per output token; the test's parameters. `max_async_queries` is the case's, \
             and so are `target_qps` and `samples_per_query` except Offline",
    direction: "latencies lower, rates higher; Offline latencies are totals and are shown",
    failures: "a number of errors in the last line; a judged figure of 0; `INVALID` as `Result is`, with the conditions that \
             are not met; no last line about errors, or the file of an accuracy run (refused)",
    tried: &[
        "6.0.17",
        "6.0.17-accuracy-refused",
        "6.0.17-invalid",
        "6.0.17-offline",
        "6.0.17-server",
        "6.0.17-tokens",
    ],
    load: LoadFields {
        parameters: &["target_qps", "samples_per_query", "max_async_queries"],
        axes: &["tokens_per_second", "samples_per_second", "latency", "latency_p99"],
        ..LoadFields::NONE
    },
    recognises,
    read,
    ..DeclaredFormat::SUMMARY
};

fn recognises(file: &ResultFile) -> bool {
    is_summary(file) || is_of_accuracy(file)
}

fn is_summary(file: &ResultFile) -> bool {
    file.any_line(TITLE, |line| line.trim() == TITLE)
        && file.any_line("SUT name", |line| value_of(line, "SUT name").is_some())
}

/// It has only the numbers of warnings and of errors.
fn is_of_accuracy(file: &ResultFile) -> bool {
    let lines = file.bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    // A third line decides.
    let lines: Vec<_> = lines.take(3).map(String::from_utf8_lossy).collect();
    let is_of = |line: &str, what: &str| {
        let lower = line.to_ascii_lowercase();
        lower.contains(&format!(" {what} encountered")) || lower.contains(&format!(" {what}s encountered"))
    };
    matches!(&lines[..], [warnings, errors] if is_of(warnings, "warning") && is_of(errors, "error"))
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let text = file.text()?;
    if !is_summary(file) {
        return Err(file.wrong(format!("`{TITLE}` is missing, as it is after an accuracy run")));
    }
    let errors = errors(text)
        .ok_or_else(|| file.wrong("the line with the number of errors is missing: the run did not end"))?;
    let need = |name: &str| {
        let found = text.lines().find_map(|line| value_of(line, name));
        found.ok_or_else(|| file.wrong(format!("`{name}` is missing")))
    };
    let scenario = need("Scenario")?;
    let keys = [("sut", need("SUT name")?), ("scenario", scenario), ("mode", need("Mode")?)];
    let params: Params = keys.into_iter().map(|(name, value)| (name.to_owned(), param(value))).collect();
    let mut reading = named("loadgen", params);
    let mut run = RunReading::default();
    let parameters = text.lines().skip_while(|line| line.trim() != PARAMETERS);
    let parameters = parameters.take_while(|line| !line.trim().is_empty());
    for (key, value) in parameters.filter_map(|line| line.split_once(':')) {
        let (key, value) = (key.trim(), param(value));
        // Offline all samples are one query, and the asked rate only says how many they are.
        let is_load = ["samples_per_query", "target_qps"].contains(&key);
        let is_workload = is_load && scenario != "Offline" || key == "max_async_queries";
        let is_setting =
            is_setting(key) || ["min_", "max_", "accuracy_log"].iter().any(|start| key.starts_with(start));
        if is_workload {
            reading.also([(key.to_owned(), value)]);
        } else if is_setting || is_load || key == "print_timestamps" {
            run = run.setting(key, value.to_string());
        } else {
            run = run.also(key, value.to_string());
        }
    }
    figures(&mut reading, &mut run.unread, file, text, scenario)?;
    reading.end = match need("Result is")? {
        "VALID" if reading.end == End::Measured => errors,
        "VALID" => reading.end,
        "INVALID" => failed(format!("the result is INVALID: {}", reasons(text))),
        other => return Err(file.wrong(format!("the result is `{other}`, neither VALID nor INVALID"))),
    };
    run.readings.push(reading);
    Ok(vec![run])
}

fn value_of<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (key, value) = line.split_once(':')?;
    (key.trim() == name).then(|| value.trim())
}

/// The number of errors on the last line: `No errors encountered during test.`, or `2 ERRORS encountered. See detailed
/// log.`
fn errors(text: &str) -> Option<End> {
    let (_, line, _) = lines(text).filter(|(_, line, whole)| *whole && !line.trim().is_empty()).last()?;
    let lower = line.to_ascii_lowercase();
    let (count, rest) = lower.split_once(' ')?;
    let is_of_errors = rest.starts_with("errors encountered") || rest.starts_with("error encountered");
    is_of_errors.then(|| match count {
        "no" => End::Measured,
        count => failed(format!("LoadGen encountered {count} errors in the run")),
    })
}

fn reasons(text: &str) -> String {
    let unmet = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(key, value)| key.trim().ends_with("satisfied") && value.trim() == "NO")
        .map(|(key, _)| format!("{}: NO", key.trim()));
    let advice = text
        .lines()
        .skip_while(|line| !line.starts_with("Recommendations"))
        .skip(1)
        .take_while(|line| line.starts_with(' '))
        .map(|line| line.trim_start_matches([' ', '*']).to_owned());
    let all: Vec<String> = unmet.chain(advice).collect();
    if all.is_empty() { "for an unknown reason".into() } else { all.join("; ") }
}

/// Adds the figures above the parameters as metrics, and the parameters except seeds as metadata.
fn figures(
    reading: &mut Reading,
    unread: &mut Unread,
    file: &ResultFile,
    text: &str,
    scenario: &str,
) -> Result<(), ReadError> {
    let mut is_parameters = false;
    for (at, line, _) in lines(text) {
        is_parameters |= line.trim() == PARAMETERS;
        let Some((key, value)) = line.split_once(':') else { continue };
        let (key, value) = (key.trim(), value.trim());
        if is_parameters {
            if !key.ends_with("seed") {
                reading.metadata.insert(key.to_owned(), value.into());
            }
            continue;
        }
        let Some((name, unit, is_judged)) = figure(key, scenario) else {
            // Such as the intervals that an early MultiStream skipped. The parameters repeat the samples of a query.
            if number(value).is_some() && key != "Samples per query" {
                unread.line(UnreadKind::Row, at, line);
            }
            continue;
        };
        // The first lines repeat a percentile of the list.
        if reading.metrics.iter().any(|metric| metric.name == name) {
            continue;
        }
        let value =
            number(value).ok_or_else(|| file.line(at, format!("`{value}` of `{key}` is not a number")))?;
        // A server that reports no tokens leaves zeros.
        if is_judged && value <= 0.0 && reading.end == End::Measured {
            reading.end = failed(format!("`{key}` is not above zero"));
        }
        if unit != "ns" {
            measured(reading, &name, unit, value).judged = is_judged;
        } else if name.ends_with("_min") || name.ends_with("_max") {
            shown(reading, &name, unit, value);
        } else {
            summarised(reading, &name, unit, alone(value)).judged = is_judged && scenario != "Offline";
        }
    }
    Ok(())
}

/// Metric, unit and whether it is judged. Only scores and the percentiles in MLPerf's rules are judged: 50, 90 and 99.
fn figure(key: &str, scenario: &str) -> Option<(String, &'static str, bool)> {
    if let Some(estimate) = key.strip_prefix("* Early stopping ") {
        let percentile = percentile(estimate.strip_suffix(" percentile estimate")?)?;
        let is_score = ["SingleStream", "MultiStream"].contains(&scenario);
        return Some((format!("early_stopping_p{percentile}"), "ns", is_score));
    }
    if let Some((_, name, unit, is_judged)) = FIGURES.iter().find(|(of, ..)| *of == key) {
        return Some(((*name).to_owned(), unit, *is_judged));
    }
    let lower = key.strip_suffix("(ns)")?.trim().to_ascii_lowercase();
    let quantity = match () {
        () if lower.contains("first token") => "ttft",
        () if lower.contains("output token") => "tpot",
        () if lower.contains("latency") => "latency",
        () => return None,
    };
    let (first, rest) = lower.split_once(' ')?;
    if let Some(extreme) = ["min", "max", "mean"].into_iter().find(|word| *word == first) {
        return Some((format!("{quantity}_{extreme}"), "ns", false));
    }
    let percentile = percentile(first).filter(|_| rest.contains("percentile"))?;
    let is_median = percentile == 50.0;
    let name = if is_median { quantity.to_owned() } else { format!("{quantity}_p{percentile}") };
    Some((name, "ns", is_median || percentile == 90.0 || percentile == 99.0))
}

/// `99.00`, `90th`, `90.0th`.
fn percentile(text: &str) -> Option<f64> {
    number(text.trim_end_matches("th"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::interface::output::OutputFiles;

    #[test]
    fn the_file_of_an_accuracy_run_is_known_though_it_has_no_figure() {
        let none = OutputFiles::default();
        let is_known =
            |text: &str| recognises(&ResultFile { name: "file", bytes: text.as_bytes(), beside: &none });
        let (no_warning, no_error) =
            ("No warnings encountered during test.", "No errors encountered during test.");
        assert!(is_known(&format!("\n{no_warning}\n\n{no_error}\n")));
        assert!(is_known(
            "\n1 warning encountered. See detailed log.\r\n\r\n2 ERRORS encountered. See detailed log.\r\n"
        ));
        assert!(!is_known(no_error));
        assert!(!is_known(&format!("{no_warning}\n{no_error}\nmean 5 ms\n")));
    }
}
