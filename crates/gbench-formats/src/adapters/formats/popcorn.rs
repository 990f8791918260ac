//! gpu-mode: what the `eval.py` and `eval.cu` of its problems write to `POPCORN_FD`, and the JSON of its bot that contains it.
//! Each `benchmark.N.` block is a case, with its `spec` as parameters. <https://github.com/gpu-mode/reference-kernels>.
//!
//! `benchmark-count` says how many blocks there are, and `check` is the last line: without it the evaluation was killed. In
//! leaderboard mode it ends after the first wrong result, and the blocks after that one are missing.

use std::collections::BTreeMap;

use super::interface::prelude::*;

const COUNT: &str = "benchmark-count";
/// The seed is another one in each ranked run.
const SEED: &str = "seed";

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "popcorn",
    title: "gpu-mode's popcorn output",
    versions: "the lines of `POPCORN_FD` from Python and C++, and the bot's JSON with `runs`",
    fields: "`benchmark-count`, `spec`, `mean`, `std`, `runs`, `best`, `worst`, `status`, `error` of each block, `check`; `seed` as a setting; \
             `system`, `start`, `passed`, `exit_code`, `compilation.nvcc_version` of the JSON",
    direction: "times lower: the mean is judged",
    failures: "`status` other than `pass`, or an `error`; a `mean` of 0; `check: fail` without a block that failed, or \
             `passed` false, for all blocks; a `report` (skipped); no `check`, or fewer blocks than `benchmark-count` \
             (refused)",
    recognises,
    read,
    ..DeclaredFormat::SUMMARY
};

type Lines = BTreeMap<String, String>;

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    system: Entries<Value>,
    runs: BTreeMap<String, Mode>,
}

#[derive(Deserialize)]
struct Mode {
    start: Option<String>,
    compilation: Option<Entries<Value>>,
    run: Option<Process>,
}

#[derive(Deserialize)]
struct Process {
    #[serde(default)]
    passed: bool,
    exit_code: Option<i64>,
    #[serde(default)]
    result: Lines,
}

fn recognises(file: &ResultFile) -> bool {
    if file.begins(b'{') {
        return file.holds(&["\"benchmark-count\"", "\"benchmark.0.spec\""])
            && Outline::has_keys(file, &["system", "runs"]);
    }
    let is_count = |line: &str| line.strip_prefix("benchmark-count: ").is_some_and(|it| number(it).is_some());
    file.any_line(COUNT, is_count) && file.any_line(".spec: ", |line| line.starts_with("benchmark.0.spec: "))
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    if file.begins(b'{') {
        return read_document(file);
    }
    let mut found = Lines::new();
    for (line, text, _) in lines(file.text()?) {
        // The lines of a message after its first one have no key.
        let Some((key, value)) = text.split_once(':') else { continue };
        let is_key = ["benchmark", "test", "check"].iter().any(|word| key.starts_with(word));
        if is_key && found.insert(key.to_owned(), value.trim().to_owned()).is_some() {
            return Err(file.line(line, format!("`{key}` appears twice: the file has several evaluations")));
        }
    }
    let mut run = RunReading::default();
    add(file, &found, None, &mut run)?;
    Ok(vec![run])
}

fn read_document(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let found: Document = document(file)?;
    let mut run = RunReading::default();
    for key in ["gpu", "cpu", "runtime", "platform", "torch"] {
        run = run.fact(key, found.system.text(key));
    }
    run = run.also("host", found.system.text("hostname"));
    run = run.also("device_count", found.system.get("device_count").cloned().unwrap_or_default());
    run.started = found.runs.values().filter_map(|mode| utc(mode.start.as_deref()?)).min();
    for (name, mode) in &found.runs {
        let compiler = mode.compilation.as_ref().and_then(|it| it.text("nvcc_version"));
        run = run.also("nvcc_version", compiler);
        if let Some(process) = mode.run.as_ref().filter(|process| process.result.contains_key(COUNT)) {
            add(file, &process.result, Some((name, process)), &mut run)?;
        }
    }
    if let Some(error) = found.error.filter(|error| run.readings.is_empty() && !error.is_empty()) {
        return Err(file.at("error", format!("it has no benchmark: {error}")));
    }
    Ok(vec![run])
}

/// Adds the cases of one evaluation. Errors: it is incomplete.
fn add(
    file: &ResultFile,
    found: &Lines,
    process: Option<(&str, &Process)>,
    run: &mut RunReading,
) -> Result<(), ReadError> {
    let Some(count) = found.get(COUNT) else {
        return Err(file.wrong("it has the results of tests, and no benchmark"));
    };
    let count: usize = count.parse().map_err(|_| file.at(COUNT, format!("{count} is not a number")))?;
    let check = found.get("check").map(String::as_str);
    let has_failed = process.is_some_and(|(_, process)| !process.passed);
    if !has_failed && !matches!(check, Some("pass" | "fail")) {
        return Err(file.wrong("it is incomplete: it does not end with `check: pass` or `check: fail`"));
    }
    let part = |at: usize, name: &str| found.get(&format!("benchmark.{at}.{name}")).map(String::as_str);
    if part(count, "spec").is_some() {
        return Err(file.wrong(format!("it has more blocks than its `{COUNT}` of {count}")));
    }
    let first = run.readings.len();
    let mut missing = 0;
    for at in 0..count {
        let Some(spec) = part(at, "spec") else {
            if !has_failed && check == Some("pass") {
                return Err(file.wrong(format!("it lacks benchmark {at} of {count}")));
            }
            missing += 1;
            continue;
        };
        let of_block = |name: &str| part(at, name);
        run.readings.push(block(file, at, spec, process.map(|(mode, _)| mode), &of_block)?);
        let seed = pairs(spec).into_iter().find(|(name, _)| *name == SEED);
        run.settings_of_row(seed.map(|(name, value)| (name.to_owned(), Value::from(value))));
    }
    let blocks = run.readings.get_mut(first..).unwrap_or_default();
    let is_unexplained =
        check == Some("fail") && missing == 0 && blocks.iter().all(|block| block.end == End::Measured);
    if is_unexplained || has_failed {
        let code = process.and_then(|(_, process)| process.exit_code);
        let code = code.map(|code| format!(", with exit code {code}")).unwrap_or_default();
        blocks.iter_mut().for_each(|block| fail(block, format!("the evaluation did not pass{code}")));
    }
    if missing > 0 {
        run.also_of_row([("benchmarks_not_run".to_owned(), Value::from(missing))]);
    }
    Ok(())
}

fn block<'a>(
    file: &ResultFile,
    at: usize,
    spec: &str,
    mode: Option<&str>,
    part: &dyn Fn(&str) -> Option<&'a str>,
) -> Result<Reading, ReadError> {
    let mut params: Params = pairs(spec)
        .into_iter()
        .filter(|(name, _)| *name != SEED)
        .map(|(name, value)| (name.to_owned(), param(value)))
        .collect();
    params.extend(mode.map(|mode| text_param("mode", mode)));
    let mut reading = named("benchmark", params);
    let error = part("error");
    if error.is_some() || part("status").is_some_and(|status| status != "pass") {
        return Ok(reading.with_end(failed(error.unwrap_or("its status is not `pass`"))));
    }
    if part("report").is_some() {
        return Ok(reading.with_end(skipped("it was profiled, and not measured")));
    }
    let figure = |name: &str| {
        let text = part(name);
        let value = text.map(|text| {
            number(text)
                .ok_or_else(|| file.at(format!("benchmark.{at}.{name}"), format!("`{text}` is not a number")))
        });
        value.transpose()
    };
    let Some(mean) = figure("mean")? else {
        return Err(file.at(format!("benchmark.{at}.mean"), "it is missing: the file is incomplete"));
    };
    if mean <= 0.0 {
        return Ok(reading.with_end(failed(format!("its mean is {mean} ns"))));
    }
    let runs = figure("runs")?.map(|runs| runs as u64);
    let deviation = figure("std")?.filter(|_| runs != Some(1));
    summarised(&mut reading, "time", "ns", summary(mean, deviation, runs));
    for (name, key) in [("time_min", "best"), ("time_max", "worst")] {
        if let Some(value) = figure(key)? {
            summarised(&mut reading, name, "ns", alone(value)).judged = false;
        }
    }
    Ok(reading)
}

/// `m: 1024; n: 2048; seed: 71`.
fn pairs(spec: &str) -> Vec<(&str, &str)> {
    let pairs = spec.split(';').map(str::trim).filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once(':').map_or(("spec", pair), |(name, value)| (name.trim(), value.trim())))
        .collect()
}
