//! The result file of a harness of pairs: chapters of examples, each with a `baseline_` file and its `optimized_` files.
//!
//! `{timestamp, results: [{chapter, status, benchmarks: [{example, type, baseline_file, baseline_time_ms,
//! baseline_p75_ms, ..., optimizations: [{file, technique, status, time_ms, speedup, ...}], best_speedup, status}],
//! summary}]}`. `example` may be only the first word of a name, and several benchmarks of a chapter may have it: the file
//! identifies a benchmark. The harness reports a benchmark that timed out or was invalid as succeeded with 0.0 ms: such a time is a
//! failure here. Its raw times may be invented, and are not read.

use super::interface::prelude::*;
use gbench_model::Variant;

const PERCENTILES: [&str; 6] = ["p25", "p50", "p75", "p90", "p95", "p99"];

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "harness-results",
    title: "results of a harness of pairs",
    versions: "with `results[].benchmarks[].optimizations[]`",
    fields: "`chapter`, `example`, `type`, `technique`, `file`, `status`; `baseline_time_ms`, `time_ms`, their percentiles and `memory_mb`",
    direction: "time and memory lower; percentiles are shown",
    failures: "`status` other than `succeeded`, `success`, `completed`, `passed` and `ok`; one that begins with `skip` \
             (skipped); no time, or one of 0, whatever the `status`; a benchmark without `status` (refused)",
    recognises: |file| {
        Outline::of(file, &["results"], &["chapter", "optimizations", "baseline_file"])
            .is_some_and(|outline| outline.rows_have("results", &["chapter", "benchmarks"]))
    },
    read,
    ..DeclaredFormat::SUMMARY
};

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let value = document(file)?;
    let document = Fields::of(file, "", &value)?;
    let mut run = RunReading { started: document.text("timestamp")?.and_then(utc), ..RunReading::default() };
    run.also_of_row(unknown(document.all(), |_| false));
    for chapter in document.objects("results")? {
        let name = chapter.need("chapter", chapter.text("chapter")?)?;
        let benchmarks = chapter.objects("benchmarks")?;
        let status = chapter.text("status")?.unwrap_or_default();
        if benchmarks.is_empty() && is_failure(status) {
            // The chapter itself is a case, so that it is reported as failed.
            let reading = named(name, Params::from([text_param("chapter", name)]));
            run.readings.push(reading.with_end(failed(said(&chapter, status)?)));
        }
        for benchmark in benchmarks {
            read_benchmark(name, &benchmark, &mut run.readings)?;
        }
    }
    Ok(vec![run])
}

fn succeeded(status: &str) -> bool {
    ["succeeded", "success", "completed", "passed", "ok"].contains(&status)
}

fn is_failure(status: &str) -> bool {
    !succeeded(status) && !status.starts_with("skip") && !status.is_empty()
}

fn said(fields: &Fields, status: &str) -> Result<String, ReadError> {
    for key in ["skip_reason", "error", "error_message", "reason"] {
        if let Some(text) = fields.text(key)? {
            return Ok(format!("its status is `{status}`: {text}"));
        }
    }
    Ok(format!("its status is `{status}`"))
}

fn read_benchmark(chapter: &str, benchmark: &Fields, readings: &mut Vec<Reading>) -> Result<(), ReadError> {
    let file = benchmark.text("baseline_file")?;
    let example = file.and_then(name_of).or(benchmark.text("example")?);
    let example = benchmark.need("example", example)?;
    let status = benchmark.need("status", benchmark.text("status")?)?;
    let mut params = Params::from([text_param("chapter", chapter)]);
    params.extend(benchmark.text("type")?.map(|kind| text_param("type", kind)));
    let with = |variant: Variant| {
        let mut params = params.clone();
        params.extend([text_param("variant", variant.into())]);
        params
    };
    let mut baseline = named(example, with(Variant::Baseline));
    baseline.note("file", file);
    fill(&mut baseline, benchmark, "baseline_", status)?;
    readings.push(baseline);
    let optimizations = benchmark.objects("optimizations")?;
    let mut techniques = Vec::new();
    for optimization in &optimizations {
        techniques.push(optimization.text("technique")?);
    }
    for (optimization, technique) in optimizations.iter().zip(&techniques) {
        let mut params = with(Variant::Optimized);
        let file = optimization.text("file")?;
        params.extend(technique.map(|technique| text_param("technique", technique)));
        // Two files may have the same technique.
        let alike = techniques.iter().filter(|other| *other == technique).count() > 1;
        let named_by_file = file.filter(|_| alike || technique.is_none());
        params.extend(named_by_file.map(|file| text_param("file", file)));
        let mut reading = named(example, params);
        reading.note("file", file);
        let status = optimization.need("status", optimization.text("status")?)?;
        fill(&mut reading, optimization, "", status)?;
        readings.push(reading);
    }
    Ok(())
}

/// The name in `ch1/baseline_kv_cache.py`: `kv_cache`.
fn name_of(file: &str) -> Option<&str> {
    let name = file.rsplit('/').next()?.strip_prefix("baseline_")?;
    Some(name.rsplit_once('.').map_or(name, |(stem, _)| stem)).filter(|name| !name.is_empty())
}

fn fill(reading: &mut Reading, fields: &Fields, prefix: &str, status: &str) -> Result<(), ReadError> {
    let key = |name: &str| format!("{prefix}{name}");
    if status.starts_with("skip") {
        reading.end = skipped(said(fields, status)?);
        return Ok(());
    }
    if !succeeded(status) {
        reading.end = failed(said(fields, status)?);
        return Ok(());
    }
    let time = fields.number(&key("time_ms"))?;
    let Some(value) = time.filter(|time| *time > 0.0) else {
        let time = time.map_or("no time".into(), |time| format!("{time} ms"));
        let message = format!(
            "its status is `{status}`, and `{}` is {time}: it timed out, or is invalid",
            key("time_ms")
        );
        reading.end = failed(message);
        return Ok(());
    };
    summarised(reading, "time", "ms", alone(value));
    for name in PERCENTILES {
        // 0.0 if no value was stored.
        if let Some(value) = fields.number(&key(&format!("{name}_ms")))?.filter(|value| *value > 0.0) {
            summarised(reading, &format!("time_{name}"), "ms", alone(value)).judged = false;
        }
    }
    if let Some(value) = fields.number(&key("memory_mb"))?.filter(|value| *value > 0.0) {
        summarised(reading, "memory", "MB", alone(value));
    }
    Ok(())
}
