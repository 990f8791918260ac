//! primbench of ROCm: the JSON file of `--json_out`. Each specialization is a case, with the rate at which it moved
//! bytes. <https://github.com/ROCm/rocm-libraries/tree/develop/shared/primbench>.
//!
//! Its settings, such as the size, are parameters as well. It measures until the noise is below a bound, or a time is
//! over; the case records which.

use super::interface::prelude::*;

/// Settings that affect the result; the others set the duration or the output.
const SETTINGS: [&str; 3] = ["size", "hot", "seed"];

/// Facts of `general`.
const GENERAL: [&str; 5] = ["gpu_name", "gpu_arch", "hip_version", "clang_version", "library_build_type"];

#[derive(Deserialize)]
struct Document {
    context: Context,
    specializations: Vec<Specialization>,
}

#[derive(Deserialize)]
struct Context {
    general: Entries<Value>,
    #[serde(default)]
    settings: Entries<Value>,
    #[serde(default)]
    flags: Entries<Value>,
}

#[derive(Deserialize)]
struct Specialization {
    name: String,
    bytes_per_second: Option<f64>,
    items_per_second: Option<f64>,
    noise_timeout: Option<bool>,
    noise_percent: Option<f64>,
    #[serde(default)]
    meta: Entries<Value>,
}

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "primbench",
    title: "primbench",
    versions: "`results_version` 2",
    fields: "`meta`, `bytes_per_second`, `items_per_second`, `noise_percent`, `noise_timeout` of `specializations`; `algorithm`, `gpu_name`, \
             `host_name`, `date` and versions of `general`; `settings`, of which `size`, `hot` and `seed` are parameters; `flags`",
    direction: "rates higher; that of items follows from that of bytes and is shown",
    failures: "`bytes_per_second` or `items_per_second` of 0; neither of them; `dry` true in `settings` (skipped)",
    recognises: |file| Outline::of(file, &["context", "specializations"], &["results_version"]).is_some(),
    read,
    ..DeclaredFormat::SUMMARY
};

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let found: Document = document(file)?;
    let general = |key: &str| found.context.general.text(key);
    let algorithm =
        general("algorithm").ok_or_else(|| file.at("context.general.algorithm", "it is missing"))?;
    let mut run = RunReading { started: general("date").and_then(utc), ..RunReading::default() };
    for key in GENERAL {
        run = run.fact(key, general(key));
    }
    run = run.also("host", general("host_name")).also("build_type", general("library_build_type"));
    let others = |entries: &Entries<Value>| entries.0.clone();
    let general = others(&found.context.general);
    let fields = general.iter().map(|(name, value)| (name.as_str(), value));
    run.also_of_row(unknown(fields, |name| {
        GENERAL.contains(&name) || ["algorithm", "host_name"].contains(&name) || name.contains("bus_id")
    }));
    let settings = others(&found.context.settings).into_iter();
    run.settings_of_row(settings.filter(|(name, _)| {
        !SETTINGS.contains(&name.as_str())
            && !changes_by_itself(name)
            && !["dry", "json_out"].contains(&name.as_str())
    }));
    run.readings = found.specializations.iter().map(|one| reading(algorithm, &found.context, one)).collect();
    Ok(vec![run])
}

fn reading(algorithm: &str, context: &Context, found: &Specialization) -> Reading {
    let settings = context.settings.0.iter().filter(|(name, _)| SETTINGS.contains(&name.as_str()));
    let pairs = settings.chain(&context.flags.0).chain(&found.meta.0);
    let mut params: Params = pairs
        .filter(|(name, _)| name != "algo")
        .filter_map(|(name, value)| Some((name.clone(), scalar(value)?)))
        .collect();
    if found.meta.0.is_empty() {
        params.insert("name".into(), param(&found.name));
    }
    let mut reading = named(algorithm, params);
    if context.settings.get("dry") == Some(&Value::Bool(true)) {
        return reading.with_end(skipped("a dry run, which measures nothing"));
    }
    for (name, unit, value) in [
        ("bytes_per_second", "B/s", found.bytes_per_second),
        ("items_per_second", "items/s", found.items_per_second),
    ] {
        match value {
            Some(value) if value > 0.0 => {
                let judged = reading.metrics.is_empty();
                summarised(&mut reading, name, unit, alone(value)).judged = judged;
            }
            Some(value) => fail(&mut reading, format!("`{name}` is {value}")),
            None => {}
        }
    }
    if reading.metrics.is_empty() {
        fail(&mut reading, "it has no rate");
    }
    reading.note("noise_percent", found.noise_percent.filter(|percent| percent.is_finite()));
    reading.note("noise_timeout", found.noise_timeout);
    ended(reading)
}
