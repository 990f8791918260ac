//! Rows of attention kernels: JSON lines, each with one implementation and shape and the mean of its times.
//!
//! `{impl, B, H, S, d, dtype, causal, ms_mean, ms_std, qps, seed, torch, cuda, driver, cudnn, gpu_name, sm, commit}`.
//! Rows of different commits or machines are different runs. Blank lines are ignored; an incomplete line is refused with
//! its number.

use std::collections::BTreeMap;

use super::interface::prelude::*;

const SHAPE: [&str; 7] = ["impl", "B", "H", "S", "d", "dtype", "causal"];

const ENVIRONMENT: [&str; 6] = ["torch", "cuda", "driver", "cudnn", "gpu_name", "sm"];

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "attention-jsonl",
    title: "rows of attention kernels",
    versions: "JSON lines with `impl` and `ms_mean`",
    fields: "`impl`, `B`, `H`, `S`, `d`, `dtype`, `causal`; `ms_mean`, `ms_std`, `qps`; `torch`, `cuda`, `driver`, `cudnn`, `gpu_name`, `sm`, `commit` of the run",
    direction: "time lower; queries a second follow from it and are shown",
    recognises,
    read,
    ..DeclaredFormat::SUMMARY
};

fn recognises(file: &ResultFile) -> bool {
    let is_row = |row: &Outline| row.has(&SHAPE) && row.has(&["ms_mean", "qps"]);
    file.begins(b'{')
        && file.holds(&["\"ms_mean\"", "\"qps\""])
        && Outline::parse(file.first_line().as_bytes()).as_ref().is_some_and(is_row)
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let mut runs: Vec<RunReading> = Vec::new();
    for (index, line) in file.text()?.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let value: Value = serde_json::from_str(line).map_err(|error| {
            let what =
                if error.is_eof() { "the line is incomplete" } else { "the line is not a JSON object" };
            file.line(index + 1, what)
        })?;
        let row = Fields::of(file, format!("line {}", index + 1), &value)?;
        let commit = row.text("commit")?.map(str::to_owned);
        let facts: BTreeMap<String, Value> = ENVIRONMENT
            .iter()
            .filter_map(|key| row.get(key).map(|value| ((*key).to_owned(), value.clone())))
            .collect();
        let reading = read_row(&row)?;
        match runs.iter_mut().find(|run| run.commit == commit && run.facts == facts) {
            Some(run) => run.readings.push(reading),
            None => runs.push(RunReading { started: None, commit, facts, readings: vec![reading] }),
        }
    }
    Ok(runs)
}

fn read_row(row: &Fields) -> Result<Reading, ReadError> {
    let mut params = Params::new();
    for key in SHAPE {
        let param = row.need(key, row.get(key))?;
        let param = param_of(param).ok_or_else(|| row.wrong(key, "not a plain value"))?;
        params.insert(key.to_owned(), param);
    }
    let mut reading = named("attention", params);
    reading.note("seed", row.get("seed").cloned());
    let (mean, stddev, qps) = (row.number("ms_mean")?, row.number("ms_std")?, row.number("qps")?);
    let error = row.get("error").and_then(Value::as_str).filter(|text| !text.is_empty());
    let Some(value) = mean.filter(|mean| *mean > 0.0 && error.is_none()) else {
        let time = mean.map_or("`ms_mean` is missing".into(), |mean| {
            format!("`ms_mean` is {mean}, which is not a valid time")
        });
        return Ok(reading.with_end(failed(error.map_or(time, str::to_owned))));
    };
    summarised(&mut reading, "time", "ms", summary(value, stddev, None));
    if let Some(value) = qps {
        summarised(&mut reading, "qps", "queries/s", alone(value)).judged = false;
    }
    Ok(reading)
}
