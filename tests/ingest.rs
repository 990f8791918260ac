//! Results of other programs: `ingest`, `compare` of files, `report --by`, `export`, and programs in a suite whose table is their cases.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use gbench_ci::compare::{Verdict, VerdictDocument};
use gbench_ci::model::{Outcome, ParamValue, RunRecord};
use gbench_ci::store::read_record;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::support::cli::{Ran, newest, ran};
use crate::support::fixture;

/// What `all_reduce_perf` prints; made up: the time of each size times `slow` of it, with noise by `seed`.
fn nccl_log(seed: u64, slow: impl Fn(u64) -> f64) -> String {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut log = String::from(
        "# nThread 1 nGpus 2 minBytes 1024 maxBytes 8388608 step: 2(factor)\n#\n# Using devices\n\
         #  Rank  0 Group  0 Pid   4711 on      node device  0 [0x1a] NVIDIA H100 80GB HBM3\n#\n\
         #                                      out-of-place                       in-place\n\
         #  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n",
    );
    for power in 10..24 {
        let size = 1_u64 << power;
        write!(log, "{size} {} float sum -1", size / 4).unwrap();
        for _ in 0..2 {
            let noise: f64 = (0..12).map(|_| random.random_range(-0.5..0.5)).sum();
            let time = (10.0 + size as f64 / 40e3) * slow(size) * (1.0 + 0.006 * noise);
            write!(log, " {time:.2} {0:.2} {0:.2} 0", size as f64 / time / 1e3).unwrap();
        }
        log.push('\n');
    }
    log + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 12.3\n#\n"
}

fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn verdict(folder: &Path, arguments: &str, exit: i32) -> VerdictDocument {
    ran(folder, &format!("compare {arguments} --json v.json")).exits(exit);
    serde_json::from_slice(&std::fs::read(folder.join("v.json")).unwrap()).unwrap()
}

fn size(row: &gbench_ci::compare::Row) -> i64 {
    match row.case.params["size"] {
        ParamValue::Int(size) => size,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn g3_five_files_a_side_find_the_one_size_that_is_slower_and_no_other() {
    let folder = crate::support::tempdir().unwrap();
    for run in 0..5 {
        let slow = |size: u64| if size == 1 << 18 { 1.08 } else { 1.0 };
        write(folder.path(), &format!("base/{run}.log"), nccl_log(run, |_| 1.0));
        write(folder.path(), &format!("head/{run}.log"), nccl_log(100 + run, slow));
        write(folder.path(), &format!("same/{run}.log"), nccl_log(200 + run, |_| 1.0));
    }
    for sides in [
        "base head",
        "--base base/0.log base/1.log base/2.log base/3.log base/4.log --head head/0.log head/1.log head/2.log head/3.log head/4.log",
    ] {
        let document = verdict(folder.path(), sides, 1);
        let red: Vec<i64> =
            document.rows.iter().filter(|row| row.verdict == Verdict::Regressed).map(size).collect();
        assert_eq!(red, [1 << 18, 1 << 18], "both halves of its row, and nothing else");
        assert!(document.rows.iter().all(|row| row.metric == "time"), "bandwidths follow from the time");
        // The command beside the verdict gives it again.
        let again = document.reproduce.strip_prefix("gbench-ci ").unwrap().to_owned();
        ran(folder.path(), &again).exits(1);
    }
    let same = verdict(folder.path(), "base same", 0);
    assert!(same.rows.iter().all(|row| row.verdict == Verdict::Unchanged));
    // It is said what such a green rests on, and what one file a side is worth.
    assert!(
        same.warnings.iter().any(|text| text.contains("judged by processes alone")),
        "{:?}",
        same.warnings
    );
    let one = verdict(folder.path(), "base/0.log same/0.log", 3);
    assert!(one.rows.iter().all(|row| row.verdict == Verdict::Inconclusive), "one file is never green");
    // B19: what can be done with files.
    let can_be_done = |row: &gbench_ci::compare::Row| row.next.contains("give 5 files or more for each side");
    assert!(one.rows.iter().all(can_be_done), "{:?}", one.rows[0].next);
    let stored = verdict(folder.path(), "base same --sessions 4", 3);
    assert!(stored.rows.iter().all(|row| row.verdict == Verdict::Inconclusive));
}

/// A file that failed by its own words is no number, and never green.
fn never_green(fixture_path: &str, good: &str, words: &str) {
    let folder = crate::support::tempdir().unwrap();
    let path = fixture(fixture_path);
    let name = path.file_name().unwrap().to_str().unwrap();
    for side in ["base", "head"] {
        for run in 0..3 {
            // Each file of its own, as runs are: white space at the end means nothing.
            let mut bytes = std::fs::read(&path).unwrap();
            bytes.extend(std::iter::repeat_n(b'\n', run + if side == "head" { 4 } else { 1 }));
            write(folder.path(), &format!("{side}/{run}-{name}"), bytes);
        }
    }
    ran(folder.path(), "ingest head -o record.json").exits(4);
    let record = read_record(&folder.path().join("record.json")).unwrap();
    let failed: Vec<String> = record
        .cases
        .iter()
        .filter(|case| matches!(case.outcome, Outcome::Failed { .. }))
        .map(|case| case.outcome.cause())
        .collect();
    assert!(failed.iter().any(|cause| cause.contains(words)), "{fixture_path}: {failed:?}");
    let failed_cases = record.cases.iter().filter(|case| !case.outcome.is_measured());
    assert!(
        failed_cases.flat_map(|case| &case.metrics).all(|metric| metric.summary.is_none()),
        "{fixture_path}"
    );
    // If both sides failed alike, they are refused as one measurement, failed, or broken on both sides: nothing is green.
    let code = ran(folder.path(), "compare base head").code;
    assert!([2, 3, 4].contains(&code), "{fixture_path}: {code}");
    let good = path.parent().unwrap().parent().unwrap().join(good);
    for run in 0..3 {
        let mut bytes = std::fs::read(&good).unwrap();
        bytes.extend(std::iter::repeat_n(b'\n', run + 1));
        write(folder.path(), &format!("good/{run}"), bytes);
    }
    ran(folder.path(), "compare good head").exits(4);
}

#[test]
fn g3_what_failed_by_its_own_words_is_never_green_and_never_a_number() {
    for (path, good, words) in FAILED {
        never_green(path, good, words);
    }
}

/// The fixture, one beside it that did not fail, and its words.
const FAILED: [(&str, &str, &str); 4] = [
    ("formats/vllm/by-hand-serve-all-failed/result.json", "by-hand-serve/result.json", "completed"),
    (
        "formats/loadgen/6.0.17-invalid/mlperf_log_summary.txt",
        "6.0.17-server/mlperf_log_summary.txt",
        "INVALID",
    ),
    ("formats/hpl/2.0-hpcc-1.5.0-failed/hpccoutf.txt", "2.0-hpcc-1.5.0/hpccoutf.txt", "residual"),
    ("formats/babelstream/by-hand-isolated/out.csv", "by-hand-5.0-csv/out.csv", "same"),
];

/// The list of a sweep over operators: 4 operations, 3 implementations, 24 shapes.
fn operators() -> String {
    let mut rows = Vec::new();
    for operation in ["LayerNorm", "GELU", "Swish", "Loss"] {
        for (implementation, factor) in [("pytorch", 1.0), ("cuda", 0.7), ("triton", 0.6)] {
            for batch in [32_u32, 64] {
                for sequence in [128_u32, 256, 512, 1024] {
                    for dimension in [256_u32, 512, 1024] {
                        let elements = f64::from(batch * sequence * dimension);
                        let time = elements / 4e7 * factor + 0.01;
                        rows.push(serde_json::json!({
                            "operation": operation, "implementation": implementation, "batch_size": batch,
                            "sequence_length": sequence, "tensor_dimension": dimension, "time_ms": time,
                            "memory_mb": elements * 4e-6, "inference_speed": 1000.0 / time,
                            "gpu_efficiency": 50.0, "throughput_gbps": elements * 8e-6 / time,
                        }));
                    }
                }
            }
        }
    }
    serde_json::to_string_pretty(&rows).unwrap()
}

#[test]
fn g2_a_list_of_288_rows_is_288_cases_looked_at_by_parameters_and_given_back() {
    let folder = crate::support::tempdir().unwrap();
    write(folder.path(), "sweep.json", operators());
    ran(folder.path(), "ingest sweep.json -o record.json").exits(0);
    assert_eq!(read_record(&folder.path().join("record.json")).unwrap().cases.len(), 288);

    let json = |arguments: &str| -> Vec<serde_json::Value> {
        let Ran { out, .. } = ran(folder.path(), &format!("report {arguments} --format json")).exits(0);
        let document: serde_json::Value = serde_json::from_str(&out).unwrap();
        document["tables"].as_array().unwrap().clone()
    };
    // From the file itself and from the record alike.
    assert_eq!(json("sweep.json --by sequence_length"), json("record.json --by sequence_length"));
    let by = &json("sweep.json --by sequence_length")[0];
    let rows = by["rows"].as_array().unwrap();
    assert_eq!(
        rows.iter().map(|row| row["sequence_length"].clone()).collect::<Vec<_>>(),
        [128, 256, 512, 1024]
    );
    assert!(rows.iter().all(|row| row["cases"] == 72));

    let tables = json("sweep.json --group-by implementation --where operation=LayerNorm");
    let means: Vec<(String, f64)> = tables[0]["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["implementation"].as_str().unwrap().to_owned(), row["mean"].as_f64().unwrap()))
        .collect();
    // Of time_ms = elements / 4e7 * factor + 0.01 over the 24 shapes, by hand: the mean of the elements is 48 * 480 * 597.33.
    let elements = 48.0 * 480.0 * (256.0 + 512.0 + 1024.0) / 3.0;
    for ((name, mean), (expected, factor)) in
        means.iter().zip([("cuda", 0.7), ("pytorch", 1.0), ("triton", 0.6)])
    {
        assert_eq!(name, expected);
        assert!((mean - (elements / 4e7 * factor + 0.01)).abs() < 1e-9, "{name}: {mean}");
    }
    let best = tables[1]["rows"].as_array().unwrap();
    assert_eq!(best.len(), 24, "a winner for each shape");
    assert!(best.iter().all(|row| row["best"] == "triton" && row["against noise"] == "unknown"));
    let terminal =
        ran(folder.path(), "report sweep.json --group-by implementation --where operation=LayerNorm")
            .exits(0);
    assert!(terminal.out.contains("one process shows none"), "{}", terminal.out);

    // The same rows again, whatever their order.
    ran(folder.path(), "export sweep.json --to operator-list -o again.json").exits(0);
    let rows = |name: &str| {
        let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
        let rows: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        let mut rows: Vec<String> = rows.iter().map(serde_json::Value::to_string).collect();
        rows.sort();
        rows
    };
    assert_eq!(rows("sweep.json"), rows("again.json"));
}

#[test]
fn a_winner_is_told_with_its_margin_against_noise_where_several_files_show_it() {
    let folder = crate::support::tempdir().unwrap();
    let mut random = Pcg64::seed_from_u64(8);
    for run in 0..5 {
        let mut lines = String::new();
        for size in [8, 16] {
            for (implementation, time) in [("a", 1.0), ("b", 1.3), ("c", 1.001)] {
                let time = time * f64::from(size) * (1.0 + random.random_range(-0.01..0.01));
                writeln!(lines, "{{\"impl\": \"{implementation}\", \"size\": {size}, \"t\": {time}}}")
                    .unwrap();
            }
        }
        write(folder.path(), &format!("runs/{run}.jsonl"), lines);
    }
    let ingest = "ingest runs --metric time=t:ms --parameters impl,size -o record.json";
    ran(folder.path(), ingest).exits(0);
    let report = |more: &str| {
        let out =
            ran(folder.path(), &format!("report record.json --group-by impl --format json {more}")).exits(0);
        serde_json::from_str::<serde_json::Value>(&out.out).unwrap()["tables"][1]["rows"].clone()
    };
    assert_eq!(report("")[0]["against noise"], "may be chance");
    assert_eq!(report("--where impl=a").as_array().unwrap()[0]["against noise"], "alone");
    let wrong = ran(folder.path(), "report record.json --by siz").exits(2);
    assert!(wrong.err.contains("write `size`"), "{}", wrong.err);
    ran(folder.path(), "report record.json --by size --where impl=z").exits(2);
    ran(folder.path(), "report record.json --by size --format junit").exits(2);
    // A margin with its interval, which does not hold 1.
    let rows: RunRecord = read_record(&folder.path().join("record.json")).unwrap();
    assert_eq!(rows.cases.len(), 6);
    write(folder.path(), "two.json", serde_json::to_string(&without(rows, "c")).unwrap());
    let out = ran(folder.path(), "report two.json --group-by impl").exits(0);
    assert!(out.out.contains("clear") && out.out.contains("1.30x (1.2"), "{}", out.out);
}

fn without(mut record: RunRecord, name: &str) -> RunRecord {
    record.cases.retain(|case| case.id.params["impl"].to_string() != name);
    record
}

#[test]
fn a_file_that_no_format_is_certain_of_is_refused_with_what_to_do() {
    let folder = crate::support::tempdir().unwrap();
    write(folder.path(), "table.csv", "N,fast,slow\n1024,10.5,9\n2048,12,10\n");
    let refused = ran(folder.path(), "ingest table.csv").exits(2);
    assert!(refused.err.contains("does not identify a format"), "{}", refused.err);
    assert!(refused.err.contains("--input-format"), "{}", refused.err);
    let unknown = ran(folder.path(), "ingest table.csv --format tritn").exits(2);
    assert!(unknown.err.contains("did you mean `triton`?"), "{}", unknown.err);
    // Its unit and direction are nobody's guess.
    let out = ran(folder.path(), "ingest table.csv --format triton -o r.json").exits(0);
    assert!(out.out.contains("2 cases") || out.out.contains("4 cases"), "{}", out.out);
    let record = read_record(&folder.path().join("r.json")).unwrap();
    assert!(
        record.cases.iter().all(|case| case.declared.values().all(|declared| declared.gate == Some(false)))
    );
    ran(folder.path(), "ingest missing.log").exits(2);
    ran(folder.path(), "ingest table.csv --metric time=fast:ms --better nothing=lower").exits(2);
    for wrong in ["--metric time", "--metric ti me=x", "--metric t=x:ms:up", "--unit t", "--better t=up"] {
        let arguments: Vec<&str> = wrong.split_inclusive(' ').collect();
        let [flag, value @ ..] = arguments.as_slice() else { panic!() };
        let out = crate::support::gate()
            .args(["ingest", "table.csv", flag.trim(), &value.concat()])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert_eq!(out.status.code(), Some(2), "{wrong}: {}", String::from_utf8_lossy(&out.stderr));
    }
}

#[test]
fn a_file_of_several_runs_becomes_a_history_and_no_processes_of_one() {
    let repository = crate::support::repository::Repository::new(&[("a", "1")], &[("a", "2")]);
    let folder = repository.root();
    let entries: Vec<serde_json::Value> = (1..=3)
        .map(|day| {
            serde_json::json!({
                "commit": {"id": format!("{day:040}"), "timestamp": format!("2026-01-0{day}T10:00:00Z"), "message": "m", "url": ""},
                "date": 1_767_261_600_000_i64 + day * 86_400_000, "tool": "customSmallerIsBetter",
                "benches": [{"name": "gemm", "value": 10 + day, "unit": "ms"}],
            })
        })
        .collect();
    let data = serde_json::json!({"lastUpdate": 0, "repoUrl": "", "entries": {"suite": entries}});
    write(folder, "data.js", format!("window.BENCHMARK_DATA = {data}"));
    let refused = ran(folder, "compare data.js data.js").exits(2);
    assert!(refused.err.contains("ingest --each"), "{}", refused.err);
    let kept = ran(folder, "ingest data.js --each --history git:bench").exits(0);
    assert!(kept.out.contains("kept 3 runs, 2026-01-0"), "{}", kept.out);
    let again = ran(folder, "ingest data.js --each --history git:bench").exits(0);
    assert!(again.out.contains("3 of them known already"), "{}", again.out);
    let listed = ran(folder, "baseline list --store git:bench").exits(0);
    assert_eq!(listed.out.lines().filter(|line| line.starts_with("main")).count(), 3, "{}", listed.out);
    ran(folder, "ingest data.js --each --save nights --store dir:store").exits(0);

    // Nights without a commit: their order is that of their names.
    for day in 1..=4 {
        write(folder, &format!("nights/2026-02-0{day}.json"), format!("{{\"n\": 1, \"ms\": {day}}}"));
    }
    let each = "ingest nights --each --metric time=ms:ms --parameters n --save nights --store dir:store";
    let undated = ran(folder, each).exits(2);
    assert!(undated.err.contains("--dated-by name"), "{}", undated.err);
    let dated = ran(folder, &format!("{each} --dated-by name")).exits(0);
    assert!(dated.out.contains("2026-02-01T00:00:00.000Z to 2026-02-04"), "{}", dated.out);
    let history = each.replace("--save nights --store dir:store", "--history git:bench --dated-by name");
    ran(folder, &history).exits(2).says("does not say which commit");
}

#[test]
fn a9_an_ingest_that_was_killed_is_not_in_the_way_of_the_next() {
    let folder = crate::support::tempdir().unwrap();
    for day in 1..=3 {
        write(folder.path(), &format!("nights/2026-02-0{day}.json"), format!("{{\"n\": 1, \"ms\": {day}}}"));
    }
    let each = "ingest nights --each --metric time=ms:ms --parameters n --dated-by name --artifacts kept";
    ran(folder.path(), each).exits(0);
    let folders = || -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder.path().join("kept")).unwrap();
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        found.retain(|path| path.is_dir());
        found.sort();
        found
    };
    let whole = folders();
    assert_eq!(whole.len(), 3, "nothing but the runs: {whole:?}");
    // As a version left the second one that made its folder in its place.
    let record = whole[1].join("results/record.json");
    std::fs::rename(&record, record.with_file_name("journal.jsonl")).unwrap();
    let again = ran(folder.path(), each).exits(0);
    assert!(again.out.contains("2 of them known already"), "{}", again.out);
    assert!(record.is_file() && folders() == whole, "{:?}", folders());
}

#[test]
fn files_that_name_different_cards_are_not_compared() {
    let folder = crate::support::tempdir().unwrap();
    for run in 0..3 {
        let log = nccl_log(run, |_| 1.0);
        write(folder.path(), &format!("base/{run}.log"), &log);
        write(folder.path(), &format!("head/{run}.log"), log.replace("H100 80GB", "A100 40GB"));
    }
    let document = verdict(folder.path(), "base head", 5);
    assert!(
        document.differences.iter().any(|it| it.field == "file.devices" && it.strict),
        "{:?}",
        document.differences
    );
}

/// A harness's file, what it calls its machine, another machine, and the fact that refuses the comparison.
const MACHINES: [(&str, &str, &str, Option<&str>); 6] = [
    ("pytest-benchmark/5.3.1/out/pytest-benchmark.json", "AMD EPYC", "AMD Ryzen", Some("file.cpu_model")),
    (
        "google-benchmark/1.9.1/out/google-benchmark.json",
        r#""host_name": ""#,
        r#""host_name": "other-"#,
        Some("file.host"),
    ),
    ("go-test/1.27.3/stdout", "cpu: AMD EPYC", "cpu: AMD Ryzen", Some("file.cpu_model")),
    ("pyperf/2.10.0/out/pyperf.json", "AMD EPYC", "AMD Ryzen", Some("file.cpu_model")),
    (
        "benchmarkdotnet/by-hand-0.14/out/results/Sample.Sort-report-full.json",
        r#""ProcessorName": "CPU""#,
        r#""ProcessorName": "Other""#,
        Some("file.cpu_model"),
    ),
    // It names its Java, and no machine.
    ("jmh/by-hand-1.37/out/jmh.json", r#""jdkVersion": "17.0.15""#, r#""jdkVersion": "21.0.1""#, None),
];

/// The same text with other figures: the last digit of each number with three or more decimals, and of each time an operation.
fn measured_again(text: &str) -> String {
    let mut again: Vec<char> = text.chars().collect();
    for at in 4..again.len() {
        let is_digit = |at: usize| again.get(at).is_some_and(char::is_ascii_digit);
        let decimals = (1..at).take_while(|back| is_digit(at - back)).count();
        let is_decimal = decimals >= 2 && again[at - 1 - decimals] == '.' && is_digit(at);
        let is_time = is_digit(at) && again[at + 1..].iter().take(6).collect::<String>() == " ns/op";
        if (is_decimal || is_time) && !is_digit(at + 1) {
            again[at] = if again[at] == '9' { '8' } else { '9' };
        }
    }
    again.into_iter().collect()
}

#[test]
fn b1_files_that_name_their_machine_are_compared_only_with_those_of_it() {
    for (file, here, there, strict) in MACHINES {
        let folder = crate::support::tempdir().unwrap();
        let text = std::fs::read_to_string(fixture("adapters").join(file)).unwrap();
        let elsewhere = text.replace(here, there);
        assert_ne!(text, elsewhere, "{file}");
        let elsewhere = measured_again(&elsewhere);
        let name = file.rsplit('/').next().unwrap();
        write(folder.path(), &format!("base/{name}"), &text);
        write(folder.path(), &format!("head/{name}"), elsewhere);
        let exit = if strict.is_some() { 5 } else { 3 };
        let document = verdict(folder.path(), &format!("base/{name} head/{name}"), exit);
        let differing = |is_strict: bool| -> Vec<&str> {
            let differences = document.differences.iter().filter(|it| it.strict == is_strict);
            differences.map(|it| it.field.as_str()).collect()
        };
        assert_eq!(differing(true), Vec::from_iter(strict), "{file}");
        assert!(strict.is_some() || differing(false).contains(&"file.jdk"), "{:?}", document.differences);
    }
}

fn go_test(package: &str, benchmark: &str, ns: u32) -> String {
    format!(
        "goos: linux\ngoarch: amd64\npkg: {package}\ncpu: C\n{benchmark}-8\t100\t{ns} ns/op\nPASS\nok  \t{package}\t1.0s\n"
    )
}

#[test]
fn go_test_output_may_have_several_packages_be_appended_and_come_from_a_terminal() {
    let folder = crate::support::tempdir().unwrap();
    let ingested = |name: &str, bytes: &[u8]| {
        write(folder.path(), name, bytes);
        ran(folder.path(), &format!("ingest {name} -o record.json")).exits(0);
        let record = read_record(&folder.path().join("record.json")).unwrap();
        let samples = |case: &gbench_ci::model::CaseRecord| case.metrics[0].processes[0].values.len();
        record.cases.iter().map(samples).collect::<Vec<_>>()
    };
    let one = go_test("ex/one", "BenchmarkA", 100);
    let same_name = one.clone() + &go_test("ex/two", "BenchmarkA", 200);
    assert_eq!(ingested("packages.txt", same_name.as_bytes()), [1, 1]);
    assert_eq!(
        ingested("appended.txt", (one.clone() + &go_test("ex/one", "BenchmarkA", 104)).as_bytes()),
        [2]
    );
    assert_eq!(ingested("mark.txt", format!("\u{feff}{one}").as_bytes()), [1]);
    let wide: Vec<u8> = format!("\u{feff}{one}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(ingested("wide.txt", &wide), [1]);
    let coloured = one.replace("BenchmarkA-8", "\x1b[32mBenchmarkA-8\x1b[0m");
    assert_eq!(ingested("colour.txt", coloured.as_bytes()), [1]);
}

#[test]
fn b28_a_headline_with_gaps_counts_the_rows_that_were_decided() {
    let folder = crate::support::tempdir().unwrap();
    let both = go_test("p", "BenchmarkA", 100) + &go_test("p", "BenchmarkB", 200);
    write(folder.path(), "both.txt", both);
    write(folder.path(), "one.txt", go_test("p", "BenchmarkA", 101));
    let open = verdict(folder.path(), "both.txt one.txt", 4);
    assert!(
        open.sentence.starts_with("Nothing could be decided in 1 compared row, and"),
        "{}",
        open.sentence
    );

    for run in 0..5 {
        // One size scatters, and the largest is not there on head.
        let scatter = |size: u64| if size == 1 << 18 { 1.0 + 0.4 * run as f64 } else { 1.0 };
        write(folder.path(), &format!("base/{run}.log"), nccl_log(run, scatter));
        let head = nccl_log(10 + run, scatter);
        let largest = |line: &&str| line.trim_start().starts_with("8388608 ");
        let head: Vec<&str> = head.lines().filter(|line| !largest(line)).collect();
        write(folder.path(), &format!("head/{run}.log"), head.join("\n") + "\n");
    }
    let some = verdict(folder.path(), "base head --sessions 0", 4);
    let decided = some.rows.iter().filter(|row| row.verdict == Verdict::Unchanged).count();
    let words = format!("Nothing regressed in {decided} decided rows, but the comparison has gaps");
    assert!(decided > 0 && some.sentence.starts_with(&words), "{}", some.sentence);
}

#[test]
fn files_of_two_programs_are_no_one_side() {
    let folder = crate::support::tempdir().unwrap();
    write(folder.path(), "base/a.log", nccl_log(1, |_| 1.0));
    write(folder.path(), "base/b.json", operators());
    let refused = ran(folder.path(), "ingest base").exits(2);
    assert!(refused.err.contains("give files of one program"), "{}", refused.err);
}

#[test]
fn a_program_of_a_suite_whose_table_is_a_known_format_has_its_rows_as_cases() {
    let folder = crate::support::tempdir().unwrap();
    write(folder.path(), "table.log", nccl_log(1, |_| 1.0));
    let suite = |command: &str, more: &str| {
        format!(
            "[suite]\nname = \"s\"\n[gate]\nwatch = false\n[[benchmark]]\nid = \"reduce\"\nharness = \"nccl-tests\"\n{command}\n\
             processes = 2\n{more}\n"
        )
    };
    for (command, more) in [
        ("command = [\"cat\", \"table.log\"]", ""),
        ("command = [\"cp\", \"table.log\", \"{out}/left.log\"]", ""),
        ("shell = \"cp table.log $GBENCH_OUT/left.log; echo other\"", ""),
        ("shell = \"cat table.log > left.log\"", "file = \"left.log\""),
    ] {
        write(folder.path(), "gbench.toml", suite(command, more));
        ran(folder.path(), "run --quiet").exits(0);
        let record = newest(folder.path());
        assert_eq!(record.cases.len(), 28, "{command}");
        let time = record.cases[0].metrics.iter().find(|metric| metric.name == "time").unwrap();
        assert_eq!((time.unit.as_str(), time.processes.len()), ("us", 2), "{command}");
    }
    // A file that lay there before is no result of this process.
    write(folder.path(), "old.log", nccl_log(1, |_| 1.0));
    write(folder.path(), "gbench.toml", suite("command = [\"true\"]", "file = \"old.log\""));
    ran(folder.path(), "run --quiet").exits(4).says("the process did not write it");
    assert!(folder.path().join("old.log").is_file(), "what was there before is not lost");
    write(folder.path(), "gbench.toml", suite("command = [\"true\"]", "file = \"../old.log\""));
    ran(folder.path(), "list").exits(2).says("leaves the benchmark's folder");
    // Both are for formats alone.
    write(
        folder.path(),
        "gbench.toml",
        suite("command = [\"./x\", \"{out}\"]", "").replace("nccl-tests", "ctest"),
    );
    ran(folder.path(), "list").exits(2);
    write(
        folder.path(),
        "gbench.toml",
        suite("command = [\"./x\"]", "file = \"x\"").replace("nccl-tests", "hyperfine"),
    );
    ran(folder.path(), "list").exits(2);
}

#[test]
fn the_rows_that_extract_describes_are_cases_with_parameters() {
    let folder = crate::support::tempdir().unwrap();
    let rows = r#"{"results": [
        {"op": "gelu", "shape": [2, 8], "ms": 1.5, "gb": 4}, {"op": "gelu", "shape": [4, 8], "ms": 3, "gb": 4},
        {"op": "swish", "shape": [2, 8], "ms": 2, "gb": 5}]}"#;
    write(folder.path(), "rows.json", rows);
    let extract = |metric: &str, more: &str| {
        format!(
            "[[benchmark.extract]]\nmetric = \"{metric}\"\n{more}\nfile = \"out.json\"\nrows = \"$.results[*]\"\n\
             where = {{ op = \"gelu\" }}\n"
        )
    };
    let parameters = "parameters = [\"op\", \"shape\"]\n";
    let suite = |extracts: &str| {
        format!(
            "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"ops\"\nshell = \"cat rows.json > out.json\"\nprocesses = 3\n{extracts}"
        )
    };
    let (time, rate) = (
        extract("time", "unit = \"ms\"\njson = \"$.ms\""),
        extract("rate", "unit = \"GB/s\"\njson = \"$.gb\""),
    );
    write(folder.path(), "gbench.toml", suite(&format!("{time}{parameters}{rate}{parameters}")));
    ran(folder.path(), "run --quiet").exits(0);
    let record = newest(folder.path());
    let names: Vec<String> = record.cases.iter().map(|case| case.id.to_string()).collect();
    assert_eq!(names, ["s/ops[op=gelu,shape=2x8]", "s/ops[op=gelu,shape=4x8]"]);
    let time_of = |index: usize| record.cases[index].metrics.iter().find(|it| it.name == "time").unwrap();
    assert_eq!(time_of(1).processes.iter().map(|it| it.values[0]).collect::<Vec<_>>(), [3.0; 3]);
    let run = ran(folder.path(), "run --quiet --by shape").exits(0);
    assert!(run.out.contains("time by shape, lower is better"), "{}", run.out);
    let csv = |metric: &str, op: &str| {
        format!(
            "[[benchmark.extract]]\nmetric = \"{metric}\"\ncsv = \"ms\"\nwhere = {{ op = \"{op}\" }}\nparameters = [\"n\"]\n"
        )
    };
    write(folder.path(), "gbench.toml", suite(&(csv("gelu", "gelu") + &csv("swish", "swish"))));
    ran(folder.path(), "list").exits(2).says("select different rows");
    // Without parameters all chosen rows are samples of one case.
    write(folder.path(), "gbench.toml", suite(&time));
    ran(folder.path(), "run --quiet").exits(0);
    let record = newest(folder.path());
    assert_eq!(record.cases[0].metrics[0].processes[0].values, [1.5, 3.0]);
    // Rows that cannot be told apart, and extractions that take different rows.
    write(folder.path(), "gbench.toml", suite(&format!("{time}parameters = [\"op\"]\n")));
    ran(folder.path(), "run --quiet").exits(4).says("it appears twice");
    write(folder.path(), "gbench.toml", suite(&format!("{time}{parameters}{rate}")));
    let differ = ran(folder.path(), "list").exits(2);
    assert!(differ.err.contains("select different rows"), "{}", differ.err);
}

#[test]
fn a_run_is_exported_for_benchstat() {
    let folder = crate::support::tempdir().unwrap();
    for run in 0..2 {
        write(folder.path(), &format!("runs/{run}.log"), nccl_log(run, |_| 1.0));
    }
    ran(folder.path(), "ingest runs -o record.json").exits(0);
    let out = ran(folder.path(), "export record.json --to benchfmt").exits(0);
    let lines: Vec<&str> = out.out.lines().filter(|line| line.starts_with("Benchmark")).collect();
    assert_eq!(lines.len(), 2 * 28, "a line for each process of each case");
    assert!(lines[0].contains(" ns/op") && lines[0].contains("algbw-GB/s"), "{}", lines[0]);
    assert!(out.out.contains("Unit algbw-GB/s better=higher"), "{}", out.out);
    ran(folder.path(), "export record.json --to record -o again.json").exits(0);
    let [before, after] =
        ["record.json", "again.json"].map(|name| read_record(&folder.path().join(name)).unwrap());
    assert_eq!(before, after);
    let text = ran(folder.path(), "export record.json --to perfetto").exits(2);
    assert!(text.err.contains("benchfmt"), "{}", text.err);
}

#[test]
fn a_comparison_of_a_sweep_is_shown_by_its_parameters() {
    let folder = crate::support::tempdir().unwrap();
    for run in 0..5 {
        write(folder.path(), &format!("base/{run}.log"), nccl_log(run, |_| 1.0));
        write(
            folder.path(),
            &format!("head/{run}.log"),
            nccl_log(100 + run, |size| if size > 1 << 20 { 1.25 } else { 1.0 }),
        );
    }
    let out = ran(folder.path(), "compare base head --markdown v.md").exits(1);
    assert!(out.out.contains("time by size"), "{}", out.out);
    assert!(
        out.out.lines().any(|line| line.contains("8388608") && line.contains("0.80x")),
        "below 1 is below 1"
    );
    let page = std::fs::read_to_string(folder.path().join("v.md")).unwrap();
    assert!(page.contains("<summary>Time by size</summary>"), "{page}");
    let by = ran(folder.path(), "compare base head --by in_place --group-by size").exits(1);
    assert!(by.out.contains("time by in_place and size"), "{}", by.out);
    ran(folder.path(), "compare base head --by size --format json").exits(2);
}

#[test]
fn files_of_a_side_belong_together() {
    let folder = crate::support::tempdir().unwrap();
    let log = nccl_log(1, |_| 1.0);
    write(folder.path(), "twice/a.log", &log);
    write(folder.path(), "twice/b.log", &log);
    ran(folder.path(), "ingest twice").exits(2).says("it has the same content as twice/a.log");
    write(folder.path(), "cards/a.log", &log);
    write(folder.path(), "cards/b.log", nccl_log(2, |_| 1.0).replace("H100 80GB", "H200"));
    ran(folder.path(), "ingest cards").exits(2).says("give files of one machine");
    ran(folder.path(), "compare cards/a.log cards/a.log").exits(2).says("they are one measurement");
    ran(folder.path(), "ingest cards/a.log cards/a.log").exits(2).says("it is given twice");
    // Two collectives are two things, and tables without a name are none.
    let named = |name: &str, seed| format!("# Collective test starting: {name}\n{}", nccl_log(seed, |_| 1.0));
    write(folder.path(), "two.log", named("all_reduce_perf", 1) + &named("reduce_scatter_perf", 2));
    ran(folder.path(), "ingest two.log -o two.json").exits(0);
    assert_eq!(read_record(&folder.path().join("two.json")).unwrap().cases.len(), 56);
    write(folder.path(), "unnamed.log", nccl_log(1, |_| 1.0) + &nccl_log(2, |_| 1.0));
    ran(folder.path(), "ingest unnamed.log").exits(2).says("a second table");
}

#[test]
fn a_case_that_some_files_lack_is_not_judged_by_the_others() {
    let folder = crate::support::tempdir().unwrap();
    for run in 0..5 {
        write(folder.path(), &format!("base/{run}.log"), nccl_log(run, |_| 1.0));
        let whole = nccl_log(100 + run, |_| 1.0);
        let kept = |line: &&str| run > 2 || !line.starts_with("1048576 ");
        let cut: Vec<&str> = whole.lines().filter(kept).collect();
        write(folder.path(), &format!("head/{run}.log"), cut.join("\n") + "\n");
    }
    let document = verdict(folder.path(), "base head", 4);
    let lost: Vec<i64> =
        document.rows.iter().filter(|row| row.verdict == Verdict::Invalid).map(size).collect();
    assert_eq!(lost, [1 << 20, 1 << 20]);
    ran(folder.path(), "compare base head").exits(4).says("is in only 2 of 5 files");
}

#[test]
fn flags_that_speak_of_files_contradict_nothing_and_are_never_without_effect() {
    let folder = crate::support::tempdir().unwrap();
    for (name, time) in [("b", 1.0), ("h", 2.0)] {
        write(
            folder.path(),
            &format!("{name}.json"),
            format!("[{{\"n\": 1, \"ms\": {time}, \"score\": {time}}}]"),
        );
        write(folder.path(), &format!("{name}.log"), nccl_log(time as u64, |_| time));
    }
    for (line, words) in [
        ("compare b.log h.log --unit time=s", "the file gives it in us"),
        ("compare b.log h.log --better time=higher", "by its file or its unit lower is better"),
        ("compare b.log --head h.log", "cannot be used with"),
        ("compare b.log --unit time=s", "it only applies when two result files are compared"),
        ("ingest b.json --parameters n --metric time=ms:ms --metric time=score:ms", "is named twice"),
    ] {
        ran(folder.path(), line).exits(2).says(words);
    }
    let completed = "ingest b.json --parameters n --metric score=score --unit score=points --better score=higher -o r.json";
    ran(folder.path(), completed).exits(0);
    let record = read_record(&folder.path().join("r.json")).unwrap();
    assert_eq!(record.cases[0].metrics[0].unit, "points");
    // A row without its number failed, and the others are measured.
    write(folder.path(), "n.json", "[{\"n\": 1, \"ms\": null}, {\"n\": 2, \"ms\": 3}]");
    ran(folder.path(), "ingest n.json --parameters n --metric time=ms:ms -o r.json")
        .exits(4)
        .says("`ms` is null");
    // What is asked beside a verdict does not change its exit code.
    let wrong = ran(folder.path(), "compare b.log h.log --by nope").exits(3);
    assert!(wrong.err.contains("no case has the parameter `nope`"), "{}", wrong.err);
}

#[test]
fn a_sweep_of_one_parameter_has_one_contest() {
    let folder = crate::support::tempdir().unwrap();
    write(folder.path(), "r.json", "[{\"impl\": \"a\", \"ms\": 1}, {\"impl\": \"b\", \"ms\": 2}]");
    ran(folder.path(), "ingest r.json --parameters impl --metric time=ms:ms -o record.json").exits(0);
    let out = ran(folder.path(), "report record.json --group-by impl --format json").exits(0).out;
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    let best = &document["tables"][1];
    assert_eq!((best["rows"].as_array().unwrap().len(), &best["rows"][0]["best"]), (1, &"a".into()));
    assert_eq!((&best["rows"][0]["margin"], &best["unit"]), (&2.0.into(), &"ms".into()));
    assert_eq!(document["tables"][0]["rows"][1]["best at"], 0);
}
