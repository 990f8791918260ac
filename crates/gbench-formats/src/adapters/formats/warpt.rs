//! warpt: the JSON of one suite run, `warpt_benchmark_<X>_<TIMESTAMP>_<RANDOM>.json`, according to its design.
//!
//! `{suite, components, benchmarks: [{spec: {id: {suite, name}, components, kind, params, ...}, metrics: [{name, value,
//! unit, higher_is_better, tags}], success, error_message, start_time, end_time, system}], metadata}`. Each metric has
//! its own direction. Times without an offset, which are frequent, are not used.

use super::interface::prelude::*;

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "warpt",
    title: "warpt",
    versions: "its `BenchmarkSuiteRun`",
    fields: "`spec.id`, `spec.params`; `metrics[]` with `name`, `value`, `unit`, `higher_is_better`, `tags`; `success`, `error_message`, `start_time`, `system`, `metadata`",
    direction: "as each metric says",
    recognises,
    read,
    ..DeclaredFormat::SUMMARY
};

fn recognises(file: &ResultFile) -> bool {
    let paths =
        ["metrics", "success", "spec.id.suite", "spec.id.name"].map(|path| format!("benchmarks[].{path}"));
    Outline::shows(file, &["suite", "components", "benchmarks"], &paths.each_ref().map(String::as_str))
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let value = document(file)?;
    let document = Fields::of(file, "", &value)?;
    document.need("suite", document.text("suite")?)?;
    let results = document.objects("benchmarks")?;
    let mut run = RunReading::default();
    let mut starts = Vec::new();
    for result in &results {
        run.readings.push(read_result(result)?);
        starts.push(result.text("start_time")?.and_then(utc));
        let system = result.object("system")?;
        let system = system.iter().flat_map(flattened).filter(|(_, value)| !value.is_array());
        run.also_of_row(
            system.filter(|(name, _)| !changes_by_itself(name)).map(|(name, value)| (name, value.clone())),
        );
        let spec = result.object("spec")?;
        let duration = spec.as_ref().and_then(|spec| spec.get("default_duration_seconds")).cloned();
        run.settings_of_row(duration.map(|seconds| ("default_duration_seconds".to_owned(), seconds)));
    }
    run.started =
        starts.into_iter().collect::<Option<Vec<String>>>().and_then(|starts| starts.into_iter().min());
    for (name, value) in document.object("metadata")?.iter().flat_map(flattened) {
        run.facts.insert(name, value.clone());
    }
    Ok(vec![run])
}

fn read_result(result: &Fields) -> Result<Reading, ReadError> {
    let spec = result.need("spec", result.object("spec")?)?;
    let id = spec.need("id", spec.object("id")?)?;
    let (suite, name) = (id.need("suite", id.text("suite")?)?, id.need("name", id.text("name")?)?);
    let mut params = Params::from([text_param("suite", suite)]);
    params.extend(spec.object("params")?.iter().flat_map(Fields::params));
    let mut reading = named(name, params);
    for key in ["kind", "components", "external_tool"] {
        reading.note(key, spec.get(key).cloned());
    }
    let message = result.text("error_message")?.filter(|text| !text.is_empty());
    if !result.need("success", result.flag("success")?)? {
        return Ok(reading.with_end(failed(message.unwrap_or("it did not succeed"))));
    }
    let metrics = result.objects("metrics")?;
    if metrics.is_empty() {
        reading.end = failed("reported as succeeded, but has no metric");
    }
    for metric in &metrics {
        let name = name_of(metric, &metrics)?;
        let value = metric.need("value", metric.number("value")?)?;
        let unit = metric.need("unit", metric.text("unit")?)?;
        if value <= 0.0 && (is_time(unit) || unit.ends_with("/s")) {
            reading.end = failed(format!("`{name}` is {value} {unit}, which is not a valid measurement"));
            return Ok(ended(reading));
        }
        if reading.metrics.iter().any(|other| other.name == name) {
            return Err(metric.wrong("name", format!("`{name}` appears twice")));
        }
        let higher = metric.need("higher_is_better", metric.flag("higher_is_better")?)?;
        let better = if higher { Better::Higher } else { Better::Lower };
        summarised(&mut reading, &name, unit, alone(value)).better = Some(better);
    }
    Ok(reading)
}

/// The name of a metric, with the values of its tags if another metric has the same name.
fn name_of(metric: &Fields, all: &[Fields]) -> Result<String, ReadError> {
    let name = metric.need("name", metric.text("name")?)?;
    let mut parts = vec![name.to_owned()];
    let alike = all.iter().filter(|other| other.get("name") == metric.get("name")).count();
    if alike > 1 {
        let tags = metric.object("tags")?;
        parts.extend(
            tags.iter().flat_map(flattened).filter_map(|(_, value)| Some(param_of(value)?.to_string())),
        );
    }
    Ok(metric_name(&parts.join("/")))
}
