//! llama-bench of llama.cpp: its JSON, JSON lines, CSV, SQL and Markdown. A row is a test with a number of prompt and output
//! tokens. <https://github.com/ggml-org/llama.cpp/blob/master/tools/llama-bench/README.md>.
//!
//! Fields vary by version: all fields are parameters except those known to describe the machine, the build or the
//! measurement. Each build in a file is a run. CSV and Markdown contain only means, and Markdown only rates. The empty
//! values of a fork are not JSON, and are refused with their place.

mod markdown;

use super::interface::prelude::*;

/// Fields that are not parameters: facts of the build, the machine and the file, and measured values.
const OTHER: [&str; 14] = [
    "build_commit",
    "build_number",
    "cpu_info",
    "gpu_info",
    "model_filename",
    "model_size",
    "model_n_params",
    "test_time",
    "avg_ns",
    "stddev_ns",
    "avg_ts",
    "stddev_ts",
    "samples_ns",
    "samples_ts",
];
const INSERT: &str = "INSERT INTO llama_bench (";
const KNOWN: [&str; 4] = ["build_commit", "model_filename", "n_gen", "avg_ts"];

type Test = Entries<Value>;

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "llama-bench",
    title: "llama-bench",
    versions: "`-o json`, `jsonl`, `csv`, `md` and `sql`, with any fields",
    fields: "`model_filename`, `n_prompt`, `n_gen`, `n_depth`, `backends` and each setting; `samples_ns`, `samples_ts`, `avg_ns`, \
             `stddev_ns`, `avg_ts`, `stddev_ts`; `test`, `t/s`; `build_commit`, `test_time`",
    reads: Reads::Samples,
    direction: "time lower; tokens a second higher, and judged if there is no time",
    failures: "0 in `avg_ns`, `avg_ts` or their samples, or as the rate of the Markdown; a row that is cut off; Markdown \
             without `build:`, or with tables of several builds or of the same tests (refused)",
    recognises,
    read,
    ..DeclaredFormat::SUMMARY
};

fn recognises(file: &ResultFile) -> bool {
    if is_json(file) {
        return Outline::has_keys(file, &KNOWN);
    }
    let is_sql = |line: &str| line.starts_with(INSERT);
    header_of_csv(&file.first_line())
        || file.any_line(INSERT, is_sql)
        || file.any_line("t/s", |line| markdown::header_of(line).is_some())
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    if is_json(file) {
        return runs(file, rows_of_json(file)?);
    }
    let text = file.text()?;
    if header_of_csv(&file.first_line()) {
        return runs(file, rows_of_csv(file, text)?);
    }
    if text.lines().any(|line| line.starts_with(INSERT)) {
        return runs(file, rows_of_sql(file, text)?);
    }
    markdown::read(file, text)
}

fn is_json(file: &ResultFile) -> bool {
    file.begins(b'[') || file.begins(b'{')
}

fn is_test(test: &Test) -> bool {
    KNOWN.iter().all(|key| test.get(key).is_some())
}

fn rows_of_json(file: &ResultFile) -> Result<Vec<Test>, ReadError> {
    if file.begins(b'[') { document(file) } else { json_lines(file) }
}

fn header_of_csv(header: &str) -> bool {
    KNOWN.iter().all(|key| header.split(',').any(|column| column.trim_matches('"') == *key))
}

/// The statements of `-o sql`: each on a line, with every value in quotes that nothing escapes.
fn rows_of_sql(file: &ResultFile, text: &str) -> Result<Vec<Test>, ReadError> {
    let rows = lines(text).filter(|(_, line, _)| line.starts_with(INSERT));
    let row = |(at, line, _): (usize, &str, bool)| {
        let wrong = || file.line(at, "the statement is incomplete");
        let rest = line
            .strip_prefix(INSERT)
            .and_then(|rest| rest.trim_end().strip_suffix("');"))
            .ok_or_else(wrong)?;
        let (names, values) = rest.split_once(") VALUES ('").ok_or_else(wrong)?;
        let names: Vec<&str> = names.split(", ").collect();
        let values: Vec<&str> = values.split("', '").collect();
        if names.len() != values.len() {
            let what = format!("it has {} values for {} columns", values.len(), names.len());
            return Err(file.line(at, what));
        }
        let pairs = names.into_iter().zip(values);
        Ok(Entries(pairs.map(|(name, value)| (name.to_owned(), serde_json::json!(param(value)))).collect()))
    };
    rows.map(row).collect()
}

fn rows_of_csv(file: &ResultFile, text: &str) -> Result<Vec<Test>, ReadError> {
    if !text.ends_with('\n') {
        return Err(file.line(text.lines().count(), "the row is incomplete"));
    }
    let table = CsvTable::read(*file, text, 1, b',')?;
    let mut tests = Vec::new();
    for row in &table.rows {
        let mut pairs = Vec::new();
        for (at, (name, cell)) in table.header.iter().zip(&row.cells).enumerate() {
            let figure = ["avg_ns", "stddev_ns", "avg_ts", "stddev_ts"].contains(&name.as_str());
            let value = if figure {
                let value = table.number(row, at)?;
                let wrong = || file.line(row.line, format!("`{cell}` under `{name}` is not a usable number"));
                serde_json::Number::from_f64(value).map(Value::Number).ok_or_else(wrong)?
            } else {
                let param = param(cell);
                serde_json::to_value(param).unwrap_or_else(|_| Value::String(cell.clone()))
            };
            pairs.push((name.clone(), value));
        }
        tests.push(Entries(pairs));
    }
    Ok(tests)
}

fn runs(file: &ResultFile, tests: Vec<Test>) -> Result<Vec<RunReading>, ReadError> {
    let mut runs: Vec<RunReading> = Vec::new();
    for (at, test) in tests.iter().enumerate() {
        let path = |key: &str| format!("[{at}].{key}");
        if !is_test(test) {
            return Err(file.at(format!("[{at}]"), "not a test of llama-bench"));
        }
        let text = |key: &str| test.text(key).map(str::to_owned);
        let commit = text("build_commit").filter(|commit| !["unknown", ""].contains(&commit.as_str()));
        let place = runs.iter().position(|run| run.commit == commit).unwrap_or_else(|| {
            let started = text("test_time").and_then(|time| utc(&time));
            runs.push(RunReading { started, commit, ..RunReading::default() });
            runs.len() - 1
        });
        let Some(run) = runs.get_mut(place) else { continue };
        for key in ["build_number", "cpu_info", "gpu_info"] {
            if let Some(value) = test.get(key) {
                run.facts.entry(key.into()).or_insert_with(|| value.clone());
            }
        }
        run.readings.push(reading(file, test, &path)?);
    }
    Ok(runs)
}

/// The short name of a test, as in the Markdown table without its depth.
fn test_name(prompt: i64, output: i64) -> String {
    match (prompt, output) {
        (prompt, 0) => format!("pp{prompt}"),
        (0, output) => format!("tg{output}"),
        (prompt, output) => format!("pp{prompt}+tg{output}"),
    }
}

fn reading(file: &ResultFile, test: &Test, path: &dyn Fn(&str) -> String) -> Result<Reading, ReadError> {
    let mut params: Params = test
        .0
        .iter()
        .filter(|(name, _)| !OTHER.contains(&name.as_str()))
        .filter_map(|(name, value)| Some((name.clone(), scalar(value)?)))
        .collect();
    // The model's folder depends on the machine.
    let model = test.text("model_filename").unwrap_or_default();
    let model = model.rsplit(['/', '\\']).next().unwrap_or(model);
    params.insert("model".into(), ParamValue::Text(model.to_owned()));
    let tokens = |key: &str| test.get(key).and_then(Value::as_i64).unwrap_or(0);
    let mut reading = named(&test_name(tokens("n_prompt"), tokens("n_gen")), params);
    for (metric, unit, end) in [("time", "ns", "ns"), ("throughput", "t/s", "ts")] {
        let figure = |name: &str| -> Result<Option<f64>, ReadError> {
            let key = format!("{name}_{end}");
            test.get(&key).map(|value| typed(file, &path(&key), value)).transpose()
        };
        let samples = format!("samples_{end}");
        let values: Vec<f64> =
            test.get(&samples).map_or(Ok(Vec::new()), |value| typed(file, &path(&samples), value))?;
        let Some(mean) = figure("avg")? else { continue };
        if mean <= 0.0 || values.iter().any(|value| *value <= 0.0) {
            fail(&mut reading, format!("`avg_{end}` is {mean}: a repetition did nothing"));
        }
        // One repetition, or several with exactly the same time, are not samples.
        let differ = values.iter().any(|value| Some(value) != values.first());
        let count = (!values.is_empty()).then_some(values.len() as u64);
        let stddev = figure("stddev")?.filter(|_| differ || values.is_empty());
        let made = summarised(&mut reading, metric, unit, summary(mean, stddev, count));
        made.judged = metric == "time";
        if differ {
            made.values = values;
            made.summary = None;
        }
    }
    // Without a time, the rate is judged.
    if let [only] = reading.metrics.as_mut_slice() {
        only.judged = true;
    }
    Ok(ended(reading))
}
