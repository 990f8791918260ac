//! vLLM: the JSON files of `vllm bench serve`, `vllm bench latency` and `vllm bench throughput`. A file is one case; with
//! `--append-result` each line is one. <https://docs.vllm.ai/en/latest/cli/bench/serve.html>.
//!
//! Latencies of 0.0 mean that every request of a serving run failed, or that the endpoint does not stream: they are not
//! times. `--save-detailed` adds the time to the first token of each request, in seconds, which is converted to the
//! milliseconds of the summaries, so that both kinds of file are comparable. Latencies without `_ms` in their names have a
//! unit only if the file's other figures prove it.

use std::collections::BTreeSet;

mod sweep;

use super::interface::prelude::*;
use gbench_model::UnreadKind;

const PARAMS: [&str; 16] = [
    "backend",
    "endpoint_type",
    "label",
    "model_id",
    "tokenizer_id",
    "best_of",
    "num_prompts",
    "request_rate",
    "burstiness",
    "max_concurrency",
    "ramp_up_strategy",
    "ramp_up_start_rps",
    "ramp_up_end_rps",
    "dataset_name",
    "random_input_len",
    "random_output_len",
];
/// More parameters: those of a sweep, which adds the options of server and client, and of the other programs.
const SWEPT: &str = "async_scheduling|attention_backend|batch_size|block_size|custom_output_len|data_parallel_size|\
    dataset_path|dtype|enable_chunked_prefill|enable_prefix_caching|enforce_eager|goodput|\
    gpu_memory_utilization|hf_name|hf_split|hf_subset|ignore_eos|input_len|kv_cache_dtype|logprobs|\
    lora_name|max_model_len|max_num_batched_tokens|max_num_seqs|model|num_speculative_tokens|output_len|\
    pipeline_parallel_size|quantization|random_batch_size|random_prefix_len|random_range_ratio|\
    repetition_penalty|sharegpt_output_len|sonnet_input_len|sonnet_output_len|sonnet_prefix_len|\
    speculative_config|temperature|tensor_parallel_size|top_k|top_p|use_beam_search|use_chat_template";
const SERVE: [&str; 6] =
    ["completed", "model_id", "tokenizer_id", "num_prompts", "total_input_tokens", "request_throughput"];
const LATENCY: [&str; 3] = ["avg_latency", "latencies", "percentiles"];
const THROUGHPUT: [&str; 5] =
    ["elapsed_time", "num_requests", "total_num_tokens", "requests_per_second", "tokens_per_second"];

const LATENCIES: [&str; 4] = ["ttft", "tpot", "itl", "e2el"];

type Document = Entries<Value>;

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "vllm",
    title: "vLLM bench",
    versions: "`bench serve`, also of `benchmark_serving.py` and for embeddings; `bench latency`; `bench throughput`; `bench startup`; \
               `run=N.json`, `summary.json` and `summary.csv` of `bench sweep`",
    fields: "`completed`, `failed`, `median_`, `std_`, `p99_` of `ttft`, `tpot`, `itl`, `e2el`, also without `_ms`, `ttfts`, the throughputs; \
             `latencies`, `percentiles`; `tokens_per_second`; `cold_startup_times` and the other times of starts; the options of a sweep, \
             `run_number`",
    direction: "times lower, throughputs higher",
    failures: "`failed` above 0, fewer `completed` than `num_prompts`, or a text in `errors`; `completed` of 0; `latencies`, rates of `bench \
             throughput` or times of starts of 0; a serving latency of 0 (left out); the `error` of a run of a sweep (refused)",
    load: LoadFields {
        parameters: &["max_concurrency", "request_rate"],
        following: &["num_prompts"],
        axes: &["output_throughput", "request_throughput", "e2el", "ttft"],
        answered: Some("completed"),
    },
    recognises,
    read,
    ..DeclaredFormat::SUMMARY
};

fn recognises(file: &ResultFile) -> bool {
    let kinds = [&SERVE[..], &LATENCY, &THROUGHPUT, &sweep::STARTUP, &sweep::FAILURE];
    let of_sweep = [&SERVE[..], &sweep::STARTUP];
    let has = |keys: &&[&str]| Outline::has_keys(file, keys);
    file.begins(b'{') && kinds.iter().any(has)
        || file.begins(b'[') && file.holds(&[sweep::RUN]) && of_sweep.iter().any(has)
        || sweep::is_header(&file.first_line())
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let found = documents(file)?;
    let (mut run, mut unread, mut bare) = (RunReading::default(), Vec::new(), BTreeSet::new());
    let mut readings = Vec::with_capacity(found.len());
    for found in found.iter().filter(|found| !sweep::is_warmup(found)) {
        let mut reading = reading(file, found)?;
        let options = sweep::options(found);
        let swept = |(key, value): &(String, Value)| {
            let name = option(key);
            let is_option = options.iter().any(|(option, _)| option == key);
            let is_param = (is_option || is_swept(&name)) && !reading.case.params.contains_key(&name);
            let value = if is_option { param_of(value) } else { scalar(value) };
            let value = value.filter(|_| is_param)?;
            Some(match value {
                // The folder depends on the machine.
                ParamValue::Text(path) if name == "dataset_path" => {
                    text_param(&name, path.rsplit('/').next().unwrap_or(&path))
                }
                value => (name, value),
            })
        };
        let swept: Params = found.0.iter().filter_map(swept).collect();
        reading.also(swept);
        let fields = || found.0.iter().map(|(key, value)| (key.as_str(), value));
        let is_known = |key: &str| {
            PARAMS.contains(&key) || is_swept(&option(key)) || options.iter().any(|(option, _)| option == key)
        };
        let settings = fields().filter(|(key, value)| is_setting(key) && value.is_number());
        run.settings_of_row(settings.map(|(key, value)| (key.to_owned(), value.clone())));
        run.also_of_row(unknown(fields(), is_known));
        let passed_over = fields().filter(|(key, value)| {
            found.get(sweep::STARTUP[0]).is_none()
                && has_number(value)
                && value.as_f64() != Some(0.0)
                && !is_known(key)
                && *key != sweep::RUN
                && !is_setting(key)
                && !is_figure(key)
        });
        unread.extend(passed_over.map(|(key, _)| key.to_owned()));
        let is_bare = |name: &&str| reading.metrics.iter().any(|it| it.name == *name && it.unit.is_empty());
        bare.extend(LATENCIES.into_iter().filter(is_bare));
        readings.push((reading, found.get(sweep::RUN).cloned()));
    }
    run.readings = sweep::joined(readings);
    run.unread.fields(unread);
    bare.into_iter().for_each(|name| run.unread.named(UnreadKind::Unit, name));
    Ok(vec![run])
}

fn documents(file: &ResultFile) -> Result<Vec<Document>, ReadError> {
    if file.begins(b',') {
        return sweep::table(file);
    }
    if file.begins(b'[') {
        return document(file);
    }
    let lines = file.bytes.trim_ascii().split(|byte| *byte == b'\n');
    let appended = lines.filter(|line| line.starts_with(b"{\"")).count() > 1;
    if appended { json_lines(file) } else { Ok(vec![document(file)?]) }
}

/// True if a field is read as a figure, or is left out: totals, the requests one by one, and what follows from the others.
fn is_figure(key: &str) -> bool {
    const OTHERS: &str = "avg_latency|completed|duration|elapsed_time|errors|failed|input_lens|input_throughput|itls|latencies|\
        max_concurrent_requests|max_output_tokens_per_s|num_requests|output_lens|output_throughput|request_goodput|\
        request_goodput:|request_throughput|requests_per_second|start_times|tokens_per_second|total_input_tokens|\
        total_num_tokens|total_output_tokens|total_token_throughput|ttfts";
    let is_statistic = |start: &str| {
        let percentile =
            start.strip_prefix('p').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        percentile || ["mean", "median", "std"].contains(&start)
    };
    let of_latency = key.split_once('_').is_some_and(|(start, name)| {
        let name = name.strip_suffix("_ms").unwrap_or(name);
        is_statistic(start) && LATENCIES.contains(&name)
    });
    of_latency || OTHERS.split('|').any(|other| other == key)
}

fn is_swept(name: &str) -> bool {
    SWEPT.split('|').any(|option| option == name)
}

/// `--max-num-seqs` of a sweep as `max_num_seqs`.
fn option(key: &str) -> String {
    key.trim_start_matches('-').replace('-', "_")
}

fn reading(file: &ResultFile, found: &Document) -> Result<Reading, ReadError> {
    let has = |keys: &[&str]| keys.iter().all(|key| found.get(key).is_some());
    if has(&SERVE) {
        serve(file, found)
    } else if has(&LATENCY) {
        latency(file, found)
    } else if has(&THROUGHPUT) {
        throughput(file, found)
    } else if has(&sweep::STARTUP) {
        sweep::startup(file, found)
    } else if has(&sweep::FAILURE) {
        let error = found.text("error").unwrap_or_default();
        Err(file.at("error", format!("the run of this combination failed: {error}")))
    } else {
        Err(file.wrong("not a result of `vllm bench serve`, `latency`, `throughput` or `startup`"))
    }
}

fn serve(file: &ResultFile, found: &Document) -> Result<Reading, ReadError> {
    let param = |key: &&str| Some(((*key).to_owned(), scalar(found.get(key)?)?));
    let mut reading = named("serve", PARAMS.iter().filter_map(param).collect());
    let (asked, completed): (f64, f64) = (found.need(file, "num_prompts")?, found.need(file, "completed")?);
    // Runs of embeddings, and old versions, do not count failed requests.
    let failed_requests: f64 = found.typed(file, "failed")?.unwrap_or(0.0);
    let errors =
        found.get("errors").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let errors: Vec<&str> = errors.map(str::trim).filter(|error| !error.is_empty()).collect();
    let lost = failed_requests.max(asked - completed).max(errors.len() as f64);
    if completed <= 0.0 || lost > 0.0 {
        let why = errors.first().and_then(|error| error.lines().last());
        let why = why.map(|error| format!(": {error}")).unwrap_or_default();
        return Ok(reading.with_end(failed(format!("{completed} requests completed and {lost} failed{why}"))));
    }
    let count = Some(completed as u64);
    reading.note("completed", count);
    // Forks leave the unit out of the names, and have others than milliseconds.
    let is_there = |name: &str| found.0.iter().any(|(key, _)| key.ends_with(&format!("_{name}_ms")));
    let bare = proven_unit(found).unwrap_or_default();
    for name in LATENCIES {
        let (unit, end) =
            if is_there(name) { ("ms", format!("_{name}_ms")) } else { (bare, format!("_{name}")) };
        let mean: Option<f64> = found.typed(file, &format!("mean{end}"))?;
        let median: Option<f64> = found.typed(file, &format!("median{end}"))?;
        let Some(value) = median.or(mean).filter(|_| mean.or(median) != Some(0.0)) else { continue };
        let stddev = found.typed(file, &format!("std{end}"))?;
        // A token's latency is a mean over requests, or over all tokens.
        let time = summary(value, stddev, count.filter(|_| name != "itl"));
        summarised(&mut reading, name, unit, time).better = Some(Better::Lower).filter(|_| unit.is_empty());
        let start = 'p';
        for (key, value) in &found.0 {
            let Some(percentile) = key.strip_prefix(start).and_then(|key| key.strip_suffix(&end)) else {
                continue;
            };
            if percentile != "50" && percentile.starts_with(|c: char| c.is_ascii_digit()) {
                let value = typed(file, key, value)?;
                let metric = summarised(
                    &mut reading,
                    &format!("{name}_p{percentile}"),
                    unit,
                    summary(value, None, count),
                );
                metric.better = Some(Better::Lower).filter(|_| unit.is_empty());
            }
        }
    }
    if let Some(values) = found.get("ttfts") {
        let seconds: Vec<f64> = typed(file, "ttfts", values)?;
        let metric = reading.metrics.iter_mut().find(|metric| metric.name == "ttft");
        if let Some(metric) = metric.filter(|it| it.unit == "ms" && seconds.len() as f64 == completed) {
            metric.values = seconds.iter().map(|seconds| seconds * 1e3).collect();
            metric.summary = None;
        }
    }
    rates(file, found, &mut reading)?;
    Ok(reading)
}

/// The unit of latencies that name none. A server that always has `max_concurrency` requests completes as many in each
/// latency (Little's law), so that only one unit fits; and the latency is that of the first token and of the others.
fn proven_unit(found: &Document) -> Option<&'static str> {
    let number = |key: &str| found.get(key)?.as_f64().filter(|value| *value > 0.0);
    let latency = |name: &str| number(&format!("mean_{name}")).or_else(|| number(&format!("median_{name}")));
    let (whole, first, token) = (latency("e2el")?, latency("ttft")?, latency("tpot")?);
    let (completed, seconds, concurrency) =
        (number("completed")?, number("duration")?, number("max_concurrency")?);
    // Fewer requests than that do not keep the server busy.
    let is_busy = found.text("request_rate") == Some("inf") && completed >= 4.0 * concurrency;
    let tokens = number("total_output_tokens")? / completed;
    let is_one_unit =
        token <= first && first <= whole && (0.67..1.5).contains(&((first + token * (tokens - 1.0)) / whole));
    let fits = |scale: f64| (0.5..1.25).contains(&(whole * scale * completed / seconds / concurrency));
    let unit = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6)].into_iter().find(|(_, scale)| fits(*scale));
    unit.filter(|_| is_busy && is_one_unit).map(|(unit, _)| unit)
}

/// The throughputs of a serving run. With equal inputs, the throughput of all tokens follows from that of the output.
fn rates(file: &ResultFile, found: &Document, reading: &mut Reading) -> Result<(), ReadError> {
    let rates = [
        ("request_throughput", "req/s", true),
        ("output_throughput", "tokens/s", true),
        ("input_throughput", "tokens/s", false),
        ("total_token_throughput", "tokens/s", false),
        ("request_goodput", "req/s", false),
        ("max_output_tokens_per_s", "tokens/s", false),
    ];
    for (name, unit, judged) in rates {
        if let Some(value) = found.typed(file, name)? {
            summarised(reading, name, unit, alone(value)).judged = judged;
        }
    }
    Ok(())
}

/// `vllm bench latency` records nothing about what it ran.
fn latency(file: &ResultFile, found: &Document) -> Result<Reading, ReadError> {
    let mut reading = named("latency", Params::new());
    let value = found.get("latencies").unwrap_or(&Value::Null);
    let latencies: Vec<f64> = typed(file, "latencies", value)?;
    if latencies.is_empty() || latencies.iter().any(|seconds| *seconds <= 0.0) {
        return Ok(
            reading.with_end(failed(format!("{} latencies, and each has to be above zero", latencies.len())))
        );
    }
    reading.metric("latency", "s", None).values = latencies;
    Ok(reading)
}

fn throughput(file: &ResultFile, found: &Document) -> Result<Reading, ReadError> {
    let mut params = Params::new();
    params.insert("num_requests".into(), ParamValue::Int(found.need::<f64>(file, "num_requests")? as i64));
    let mut reading = named("throughput", params);
    let seconds: f64 = found.need(file, "elapsed_time")?;
    for (name, unit) in [("tokens_per_second", "tokens/s"), ("requests_per_second", "req/s")] {
        let value: f64 = found.need(file, name)?;
        if value <= 0.0 || seconds <= 0.0 {
            fail(&mut reading, format!("`{name}` is {value} after {seconds} s: it completed nothing"));
        }
        summarised(&mut reading, name, unit, alone(value)).judged = name == "tokens_per_second";
    }
    summarised(&mut reading, "elapsed_time", "s", alone(seconds)).judged = false;
    Ok(ended(reading))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::OutputFiles;

    fn read_text(text: &str) -> RunReading {
        let beside = OutputFiles::default();
        let file = ResultFile { name: "run.json", bytes: text.as_bytes(), beside: &beside };
        read(&file).unwrap().remove(0)
    }

    #[test]
    fn a_request_that_has_no_answer_is_lost_whatever_the_file_counts() {
        let end = |counts: &str| {
            let text = format!(
                r#"{{"model_id":"m","tokenizer_id":"m","total_input_tokens":9,"request_throughput":2.0,{counts}}}"#
            );
            read_text(&text).readings.remove(0).end
        };
        assert_eq!(end(r#""num_prompts":100,"completed":100,"failed":0,"errors":["",""]"#), End::Measured);
        for (counts, lost) in [
            (r#""num_prompts":100,"completed":90,"failed":0"#, 10),
            (r#""num_prompts":100,"completed":90"#, 10),
            (r#""num_prompts":100,"completed":100,"failed":2"#, 2),
            (r#""num_prompts":100,"completed":100,"failed":0,"errors":["","timeout"]"#, 1),
        ] {
            let End::Failed { message } = end(counts) else { panic!("{counts}") };
            assert!(message.contains(&format!("and {lost} failed")), "{message}");
        }
    }

    #[test]
    fn runs_of_one_number_stay_apart() {
        let row = |run: usize| {
            format!(
                r#"{{"model_id":"m","tokenizer_id":"m","total_input_tokens":9,"request_throughput":2.0,"num_prompts":1,"completed":1,"run_number":{run}}}"#
            )
        };
        let read = |runs: &[usize]| {
            read_text(&format!("[{}]", runs.iter().map(|run| row(*run)).collect::<Vec<_>>().join(",")))
                .readings
                .len()
        };
        assert_eq!((read(&[0, 1, 2]), read(&[0, 1, 1])), (1, 2));
    }
}
