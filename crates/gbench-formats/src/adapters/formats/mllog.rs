//! MLPerf training: the lines `:::MLLOG {...}` of a training run, with other lines around them. The run is a case, and its time
//! from `run_start` to `run_stop` is the score. <https://github.com/mlcommons/logging>.
//!
//! `run_stop` has whether the target was reached: an aborted run has a time as well, which is not read. A program may state a
//! measurement twice, as an event `throughput` and in `tracked_stats`: it is one sample.

use super::interface::prelude::*;

const MARK: &str = ":::MLLOG {";

#[derive(Deserialize)]
struct Event {
    time_ms: f64,
    key: String,
    #[serde(default)]
    value: Value,
    #[serde(default)]
    metadata: Entries<Value>,
}

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "mllog",
    title: "MLPerf training logs",
    versions: "lines `:::MLLOG` of mlperf-logging 1.0 to 4.1; not `:::MLPv0.5.0`",
    fields: "`run_start`, `run_stop` with its `status`, `init_start`, `init_stop`, `tracked_stats`, `throughput`, `eval_accuracy`; \
             `submission_benchmark`, `global_batch_size`; `submission_platform`, `submission_org`; `seed` and `opt_*` as settings",
    direction: "the time to train lower, throughputs higher; initialization, epochs and accuracy are shown",
    failures: "`run_stop` without a `status`, or with another one than `success`; a time of 0 or less; no `run_start` or no \
             `run_stop` (refused)",
    tried: &["4.1.68", "4.1.68-aborted"],
    recognises: |file| file.any_line(MARK, |line| event(line).is_some_and(|event| event.is_ok())),
    read,
    ..DeclaredFormat::SUMMARY
};

fn event(line: &str) -> Option<serde_json::Result<Event>> {
    let at = line.find(MARK)?;
    line.get(at + MARK.len() - 1..).map(serde_json::from_str)
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let mut events: Vec<Event> = Vec::new();
    for (line, text, _) in lines(file.text()?) {
        match event(text) {
            Some(Ok(event)) => events.push(event),
            Some(Err(error)) => return Err(file.line(line, format!("its JSON is invalid: {error}"))),
            None => {}
        }
    }
    // Several ranks log the same events.
    let first = |key: &str| events.iter().find(|event| event.key == key);
    let seconds = |from: &str, to: &str| Some((first(to)?.time_ms - first(from)?.time_ms) / 1e3);
    let (Some(start), Some(stop)) = (first("run_start"), first("run_stop")) else {
        return Err(file.wrong("it is incomplete: `run_start` or `run_stop` is missing"));
    };
    let text = |key: &str| first(key).and_then(|event| event.value.as_str());
    let batch = first("global_batch_size").and_then(|event| scalar(&event.value));
    let params: Params = batch.map(|size| ("global_batch_size".to_owned(), size)).into_iter().collect();
    let mut reading = named(text("submission_benchmark").unwrap_or("training"), params);
    let time = (stop.time_ms - start.time_ms) / 1e3;
    match stop.metadata.text("status") {
        Some("success") if time > 0.0 => {}
        Some("success") => reading.end = failed(format!("its time is {time} s")),
        Some(other) => reading.end = failed(format!("the run is `{other}`: the target was not reached")),
        None => reading.end = failed("`run_stop` does not say whether the target was reached"),
    }
    summarised(&mut reading, "time", "s", alone(time));
    shown(&mut reading, "init_time", "s", seconds("init_start", "init_stop"));
    let throughputs = throughputs(&events);
    if !throughputs.is_empty() {
        reading.metric("throughput", "samples/s", None).values = throughputs;
    }
    if let Some(last) = events.iter().rfind(|event| event.key == "eval_accuracy") {
        shown(&mut reading, "accuracy", "", last.value.as_f64());
        for (of, value) in last.value.as_object().into_iter().flatten() {
            shown(&mut reading, &format!("accuracy_{}", word(of)), "", value.as_f64());
        }
        shown(&mut reading, "epochs", "", last.metadata.get("epoch_num").and_then(Value::as_f64));
    }
    let mut run = RunReading { started: utc_millis(start.time_ms), ..RunReading::default() };
    run = run.fact("submission_platform", text("submission_platform"));
    run = run
        .also("submission_org", text("submission_org"))
        .also("submission_division", text("submission_division"));
    let settings = events.iter().filter(|event| event.key == "seed" || event.key.starts_with("opt_"));
    run.settings_of_row(
        settings.filter(|event| !event.value.is_null()).map(|event| (event.key.clone(), event.value.clone())),
    );
    let tracked = events.iter().filter(|event| event.key == "tracked_stats");
    let tracked = tracked.filter_map(|event| event.value.as_object()).flatten();
    let others = tracked.filter(|(name, value)| *name != "throughput" && has_number(value));
    run.unread.fields(others.map(|(name, _)| format!("tracked_stats.{name}")));
    run.readings.push(ended(reading));
    Ok(vec![run])
}

/// The values of both kinds of events, each measurement once.
fn throughputs(events: &[Event]) -> Vec<f64> {
    let mut found: Vec<(&Event, f64)> = Vec::new();
    for event in events {
        let value = match event.key.as_str() {
            "tracked_stats" => event.value.get("throughput").and_then(Value::as_f64),
            "throughput" => event.value.as_f64(),
            _ => None,
        };
        let Some(value) = value.filter(|value| *value > 0.0) else { continue };
        // The program takes the time and computes the value for each of the two events.
        let mut recent = found.iter().rev().take_while(|(other, _)| event.time_ms - other.time_ms <= 10.0);
        let is_stated = recent.any(|(other, known)| {
            let is_same = other.time_ms == event.time_ms && *known == value;
            is_same || other.key != event.key && (value / known - 1.0).abs() < 1e-3
        });
        if !is_stated {
            found.push((event, value));
        }
    }
    found.into_iter().map(|(_, value)| value).collect()
}
