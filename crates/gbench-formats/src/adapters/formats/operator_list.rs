//! The JSON list of a sweep over operators, with a row for each operation, implementation and shape.
//!
//! All fields that are not measured identify a row: texts, whole numbers, booleans and lists of them. `inference_speed`
//! is `1000 / time_ms`, and `gpu_efficiency` is the sweep's own formula, 100 for anything short: both are only shown. A
//! shape that failed has no row.

use super::interface::prelude::*;

/// Measured fields: the field, its metric, unit, direction, and whether it is judged.
const MEASURED: [(&str, &str, &str, Option<Better>, bool); 5] = [
    ("time_ms", "time", "ms", None, true),
    ("memory_mb", "memory", "MB", None, true),
    ("inference_speed", "inference_speed", "iterations/s", None, false),
    ("gpu_efficiency", "gpu_efficiency", "%", None, false),
    ("throughput_gbps", "throughput", "GB/s", None, false),
];

const VARYING: [&str; 4] = ["timestamp", "date", "datetime", "run_id"];

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "operator-list",
    title: "list of an operator sweep",
    versions: "a list of rows with `operation` and `implementation`",
    fields: "`operation`, `implementation`, `batch_size`, `sequence_length`, `tensor_dimension` and other fields as parameters; `time_ms`, `memory_mb`, `inference_speed`, `gpu_efficiency`, `throughput_gbps`",
    direction: "time and memory lower; the others are shown",
    failures: "a text in `error` or `error_message`; no `time_ms`, or one of 0",
    recognises,
    read,
    ..DeclaredFormat::SUMMARY
};

fn recognises(file: &ResultFile) -> bool {
    let keys = ["operation", "implementation", "batch_size", "time_ms", "inference_speed"];
    file.begins(b'[') && Outline::has_keys(file, &keys)
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let value = document(file)?;
    let rows = Fields::each(file, "", &value)?;
    let readings: Result<Vec<Reading>, ReadError> = rows.iter().map(read_row).collect();
    Ok(RunReading::only(readings?))
}

fn read_row(row: &Fields) -> Result<Reading, ReadError> {
    row.need("operation", row.text("operation")?)?;
    row.need("implementation", row.text("implementation")?)?;
    let is_measured = |name: &str| MEASURED.iter().any(|(key, ..)| *key == name);
    let said = |name: &str| ["error", "error_message"].contains(&name);
    let (mut params, mut others) = (Params::new(), Vec::new());
    for (name, value) in flattened(row) {
        match value {
            _ if is_measured(&name) || said(&name) || VARYING.contains(&name.as_str()) => {}
            Value::Number(number) if number.is_f64() => {
                let value = row.number_of(&name, value)?;
                others.push((name, value));
            }
            _ => match param_of(value) {
                Some(param) => _ = params.insert(name, param),
                None => return Err(row.wrong(&name, "it is a list of more than texts and numbers")),
            },
        }
    }
    let mut reading = named("operator", params);
    let error = row.get("error").or(row.get("error_message")).and_then(Value::as_str);
    if let Some(message) = error.filter(|text| !text.is_empty()) {
        return Ok(reading.with_end(failed(message)));
    }
    let time = row.number("time_ms")?;
    if time.is_none_or(|time| time <= 0.0) {
        let time = time.map_or("is missing".into(), |time| format!("is {time}, which is not a valid time"));
        return Ok(reading.with_end(failed(format!("`time_ms` {time}"))));
    }
    for (key, name, unit, better, judged) in MEASURED {
        // Without a memory counter the field is 0.
        let Some(value) = row.number(key)?.filter(|value| key != "memory_mb" || *value != 0.0) else {
            continue;
        };
        let metric = summarised(&mut reading, name, unit, alone(value));
        (metric.better, metric.judged) = (better, judged);
    }
    for (name, value) in others {
        summarised(&mut reading, &name, "", alone(value)).judged = false;
    }
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::adapters::interface::output::OutputFiles;

    #[test]
    fn each_point_of_a_whole_sweep_is_a_case_of_its_own() {
        let mut rows = Vec::new();
        for operation in ["LayerNorm", "GELU", "Swish", "Loss"] {
            for implementation in ["PyTorch", "CUDA", "Triton"] {
                for point in 0..24 {
                    rows.push(serde_json::json!({
                        "operation": operation, "implementation": implementation, "batch_size": 1 << (point % 4),
                        "sequence_length": 128 << (point / 4 % 3), "tensor_dimension": 64 << (point / 12),
                        "time_ms": 0.5, "memory_mb": 8.0, "inference_speed": 2000.0, "gpu_efficiency": 100.0, "throughput_gbps": 1.5,
                    }));
                }
            }
        }
        let (bytes, none) = (serde_json::to_vec(&rows).unwrap(), OutputFiles::default());
        let file = ResultFile { name: "r.json", bytes: &bytes, beside: &none };
        let runs = crate::adapters::formats::interface::check::read(&FORMAT, &file).unwrap();
        let cases: HashSet<&str> =
            runs[0].readings.iter().map(|reading| reading.case.native.as_str()).collect();
        assert_eq!((rows.len(), cases.len()), (288, 288));
    }
}
