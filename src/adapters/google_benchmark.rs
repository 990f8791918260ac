//! Google Benchmark: `--benchmark_out` in JSON; each repetition is a sample, the mean of its iterations.
//!
//! <https://github.com/google/benchmark/blob/main/docs/user_guide.md>. `--benchmark_min_time` is given without its suffix
//! `s`, which versions before 1.8 refuse and later ones do not need.

use std::collections::HashMap;

use serde::Deserialize;

use super::json::document;
use super::{
    About, Adapter, Ask, CaseName, End, Invocation, Language, Lists, Output, Place, Program, ReadError,
    Reading, Reads,
};
use crate::model::{ParamValue, Params};

pub struct GoogleBenchmark;

const FILE: &str = "google-benchmark.json";

impl Adapter for GoogleBenchmark {
    fn name(&self) -> &'static str {
        "google-benchmark"
    }

    fn about(&self) -> About {
        About {
            title: "Google Benchmark",
            language: Language::Cpp,
            lists: Lists::Named,
            filters: true,
            orders: false,
            reads: Reads::Samples,
            tried: &["1.7.1"],
        }
    }

    fn recognises(&self, program: &Program) -> bool {
        program.holds("benchmark_list_tests") && program.holds("benchmark_min_time")
    }

    fn list(&self, ask: &Ask) -> Option<Invocation> {
        Some(Invocation::of(ask.command, ["--benchmark_list_tests=true"]))
    }

    fn read_list(&self, output: &Output) -> Result<Vec<CaseName>, ReadError> {
        let text = std::str::from_utf8(output.stdout)
            .map_err(|error| ReadError::new(Place::Stdout, format!("it is not UTF-8: {error}")))?;
        Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(case_name).collect())
    }

    fn run(&self, ask: &Ask) -> Option<Invocation> {
        let (amount, out) = (ask.amount, ask.out);
        // A repetition measures for the whole of min_time: the samples share the seconds.
        let each = amount.seconds / f64::from(amount.samples.max(1));
        let mut more = vec![
            format!("--benchmark_out={out}/{FILE}"),
            "--benchmark_out_format=json".into(),
            format!("--benchmark_min_time={each:.6}"),
            format!("--benchmark_repetitions={}", amount.samples.max(1)),
            "--benchmark_report_aggregates_only=false".into(),
            "--benchmark_display_aggregates_only=true".into(),
        ];
        if !ask.cases.is_empty() {
            let names: Vec<String> = ask.cases.iter().map(|case| regex::escape(case)).collect();
            more.push(format!("--benchmark_filter=^({})$", names.join("|")));
        }
        Some(Invocation::of(ask.command, more))
    }

    fn read(&self, output: &Output) -> Result<Vec<Reading>, ReadError> {
        let report: Report = document(Some(FILE), output.files.need(FILE)?)?;
        let mut readings: Vec<Reading> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (index, entry) in report.benchmarks.iter().enumerate() {
            let refused = |key: &str, what: &str| {
                let path = format!("benchmarks[{index}].{key}");
                Err(ReadError::new(Place::Path { file: Some(FILE.into()), path }, what))
            };
            match entry.run_type.as_deref() {
                Some("aggregate") => continue,
                Some("iteration") => {}
                Some(_) => return refused("run_type", "it is neither iteration nor aggregate"),
                None => {
                    return refused(
                        "run_type",
                        "it is missing: versions before 1.5 do not say what they repeat",
                    );
                }
            }
            let Some(native) = &entry.run_name else { return refused("run_name", "it is missing") };
            let place = *places.entry(native.clone()).or_insert_with(|| {
                readings.push(Reading::new(case_name(native)));
                readings.len() - 1
            });
            let reading = &mut readings[place];
            if entry.error_occurred == Some(true) {
                let message = entry.error_message.clone().unwrap_or("it reports an error".into());
                reading.end = End::Failed { message };
                continue;
            }
            if entry.skipped == Some(true) {
                let reason = entry.skip_message.clone().unwrap_or("it skips itself".into());
                reading.end = End::Skipped { reason };
                continue;
            }
            let (Some(real), Some(cpu)) = (entry.real_time, entry.cpu_time) else {
                return refused("real_time", "it is missing, or cpu_time is");
            };
            let Some(unit) = entry.time_unit.as_deref().filter(|unit| ["s", "ms", "us", "ns"].contains(unit))
            else {
                return refused("time_unit", "it is none of s, ms, us and ns");
            };
            if entry.iterations == Some(0) {
                return refused("iterations", "nothing ran");
            }
            let time = reading.metric("time", unit, None);
            if time.unit != unit {
                return refused("time_unit", "another repetition of the case has another one");
            }
            time.values.push(real);
            let cpu_time = reading.metric("cpu_time", unit, None);
            cpu_time.judged = false;
            cpu_time.values.push(cpu);
            let done = entry.iterations.unwrap_or(0) as f64;
            *reading.iterations.get_or_insert(0.0) += done;
        }
        Ok(readings)
    }
}

#[derive(Deserialize)]
struct Report {
    benchmarks: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    run_name: Option<String>,
    run_type: Option<String>,
    iterations: Option<u64>,
    real_time: Option<f64>,
    cpu_time: Option<f64>,
    time_unit: Option<String>,
    error_occurred: Option<bool>,
    error_message: Option<String>,
    skipped: Option<bool>,
    skip_message: Option<String>,
}

/// `BM_sort<int>/n:8/64/threads:2` is `BM_sort<int>/64` with `n = 8` and `threads = 2`.
fn case_name(native: &str) -> CaseName {
    let mut params = Params::new();
    let mut kept = Vec::new();
    for part in native.split('/') {
        let named = part.split_once(':').filter(|(name, value)| {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            !name.is_empty()
                && name.chars().all(word)
                && !value.is_empty()
                && !value.contains(':')
                && !kept.is_empty()
        });
        match named {
            Some((name, value)) if !params.contains_key(name) => {
                let value =
                    value.parse().map_or_else(|_| ParamValue::Text(value.to_owned()), ParamValue::Int);
                params.insert(name.to_owned(), value);
            }
            _ => kept.push(part),
        }
    }
    CaseName { native: native.to_owned(), case: kept.join("/"), params }
}
