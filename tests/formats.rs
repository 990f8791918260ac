//! The table of docs/formats.md is what the formats say; `UPDATE_SCHEMAS=1` writes it. Every file of the corpus of real results is known and read,
//! or refused for a reason that stands here.
//!
//! The corpus is no part of the project: `GBENCH_CORPUS` names its folder, else it is `../shared/corpus` where that is there.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use gbench_ci::adapters::formats::{HARNESS_FILES, ResultFile, ResultFormat, every, named, read, recognised};
use gbench_ci::adapters::{End, OutputFiles, Reads};

const BEGIN: &str = "<!-- table: the next lines are written by UPDATE_SCHEMAS=1 cargo test formats -->\n";
const END: &str = "<!-- end of the table -->\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn row(format: &dyn ResultFormat) -> String {
    let (name, about) = (format.name(), format.about());
    let reads = match about.reads {
        Reads::Samples => "samples",
        Reads::Summary => "a summary",
        Reads::Counts => "exact counts",
    };
    let tried = match about.tried {
        [] => "its documented form".to_owned(),
        versions => versions.join(", "),
    };
    let is_harness = HARNESS_FILES.iter().any(|file| file.name() == name);
    let folder = format!("fixtures/{}/{name}", if is_harness { "adapters" } else { "formats" });
    assert!(root().join(&folder).is_dir(), "{folder} is missing");
    let cells = [
        format!("`{name}`"),
        about.title.to_owned(),
        about.versions.to_owned(),
        about.fields.to_owned(),
        reads.to_owned(),
        about.direction.to_owned(),
        about.failures.to_owned(),
        format!("[{tried}](../{folder})"),
    ];
    assert!(cells.iter().all(|cell| !cell.contains(['|', '\n'])), "{name}: a cell would break the table");
    format!("| {} |\n", cells.join(" | "))
}

#[test]
fn the_table_of_formats_is_what_they_say() {
    let mut formats: Vec<&dyn ResultFormat> = every().collect();
    formats.sort_by_key(|format| format.name());
    let mut table = format!(
        "There are {} formats.\n\n\
         | `--format` | of | versions | fields | samples | better | failed | tried with |\n|---|---|---|---|---|---|---|---|\n",
        formats.len()
    );
    table.extend(formats.iter().map(|format| row(*format)));
    let page = root().join("docs/formats.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the page has the mark before the table");
    let (found, after) = rest.split_once(END).expect("the page has the mark behind the table");
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(page, format!("{before}{BEGIN}\n{table}\n{END}{after}")).unwrap();
        return;
    }
    assert!(
        found.trim() == table.trim(),
        "docs/formats.md: the table is to be (UPDATE_SCHEMAS=1 writes it)\n\n{table}"
    );
}

/// What becomes of every file of the corpus: its path there, its format, and
///
/// - `3 cases`, `some cases`, `no case`: it is known and read, and so many of its cases have a number;
/// - `asked: ...`: likewise, but nobody can know it, so that `--format` names its format;
/// - `refused: ...`: reading it ends with a message that holds this;
/// - `part of another`: it is known as nothing.
///
/// A folder is what Criterion leaves.
const CORPUS: &[(&str, &str, &str)] = &[
    ("formats/babelstream/superbench_gpu_stream.log", "babelstream", "refused: whose rows name no unit"),
    ("formats/criterion/local_target_criterion", "criterion", "3 cases"),
    ("formats/criterion/local_target_criterion/fold/flat/1000000/new/benchmark.json", "criterion", "1 cases"),
    ("formats/criterion/local_target_criterion/fold/flat/1000000/new/estimates.json", "", "part of another"),
    ("formats/criterion/local_target_criterion/fold/flat/1000000/new/sample.json", "criterion", "1 cases"),
    ("formats/criterion/local_target_criterion/fold/flat/1000000/new/tukey.json", "", "part of another"),
    (
        "formats/criterion/local_target_criterion/fold/linear/10000/change/estimates.json",
        "",
        "part of another",
    ),
    ("formats/criterion/local_target_criterion/fold/linear/10000/new/benchmark.json", "criterion", "1 cases"),
    ("formats/criterion/local_target_criterion/fold/linear/10000/new/estimates.json", "", "part of another"),
    ("formats/criterion/local_target_criterion/fold/linear/10000/new/sample.json", "criterion", "1 cases"),
    ("formats/criterion/local_target_criterion/fold/linear/10000/new/tukey.json", "", "part of another"),
    ("formats/criterion/local_target_criterion/iter_custom_us/new/benchmark.json", "criterion", "1 cases"),
    ("formats/criterion/local_target_criterion/iter_custom_us/new/estimates.json", "", "part of another"),
    ("formats/criterion/local_target_criterion/iter_custom_us/new/sample.json", "criterion", "1 cases"),
    ("formats/criterion/local_target_criterion/iter_custom_us/new/tukey.json", "", "part of another"),
    ("formats/github-action-benchmark/cudajl_tail4_data.js", "github-action-benchmark", "224 cases"),
    ("formats/google-benchmark/local_reps5_aggregates.json", "google-benchmark", "5 cases"),
    ("formats/hpl/superbench_hpl_results.log", "hpl", "1 case"),
    ("formats/hyperfine/local_failing_command.json", "hyperfine", "no case"),
    ("formats/hyperfine/local_two_commands.json", "hyperfine", "2 cases"),
    ("formats/kernelbench/H100_Modal_baseline_time_torch.json", "kernelbench", "250 cases"),
    ("formats/llama-bench/lhl_llama32-1b.default-hip.jsonl", "llama-bench", "10 cases"),
    ("formats/mlperf-loadgen/ASUSTeK_4xH100_bert-99_Server_mlperf_log_summary.txt", "loadgen", "1 case"),
    ("formats/nccl-tests/superbench_nccl_allreduce.log", "nccl-tests", "66 cases"),
    ("formats/nccl-tests/superbench_nccl_alltoall.log", "nccl-tests", "60 cases"),
    ("formats/ncu/superbench_cublaslt_ncu.log", "ncu", "1 case"),
    ("formats/nsys-stats/gprofiler_fixture_cuda_api_sum.csv", "nsys-stats", "2 cases"),
    ("formats/nsys-stats/gprofiler_fixture_cuda_gpu_kern_sum.csv", "nsys-stats", "1 case"),
    ("formats/nvbandwidth/superbench_nvbandwidth_results.log", "nvbandwidth", "36 cases"),
    ("formats/nvbench/test_ref.min.json", "nvbench", "88 cases"),
    ("formats/primbench/rocm_copy_benchmark_MI210.json", "primbench", "2 cases"),
    ("formats/pytest-benchmark/local_summary_only.json", "pytest-benchmark", "3 cases"),
    ("formats/pytest-benchmark/local_with_data.json", "pytest-benchmark", "3 cases"),
    ("formats/telemetry/superbench_monitor.jsonl", "monitor", "45 cases"),
    ("formats/torch-profiler-trace/kineto_v100_excerpt.json", "chrome-trace", "1 case"),
    ("samples/convolution_milo_A100.json.gz", "kernel-tuner", "4201 cases"),
    ("samples/convolution_milo_A4000.json.gz", "kernel-tuner", "4201 cases"),
    // A history in a layout of the corpus's own.
    ("samples/cudajl_ci_history_332commits.json.gz", "github-action-benchmark", "18592 cases"),
    ("samples/pnpoly_RTX_3090.json.gz", "kernel-tuner", "3762 cases"),
];

fn corpus() -> Option<PathBuf> {
    let named = std::env::var_os("GBENCH_CORPUS").map(PathBuf::from);
    let beside = root().join("../shared/corpus");
    named.or_else(|| beside.is_dir().then_some(beside))
}

/// Files below a folder by their path from `root`.
fn files_below(folder: &Path, root: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, root, files);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.insert(name, std::fs::read(&path).unwrap());
        }
    }
}

/// A sample with its path and its bytes, unpacked, and what lies in its folder.
fn sample(root: &Path, path: &str) -> (String, Vec<u8>, OutputFiles) {
    let whole = root.join(path);
    let folder = if whole.is_dir() { whole.as_path() } else { whole.parent().unwrap() };
    let mut beside = BTreeMap::new();
    files_below(folder, folder, &mut beside);
    if whole.is_dir() {
        return (path.to_owned(), Vec::new(), OutputFiles(beside));
    }
    let bytes = beside.remove(whole.file_name().unwrap().to_str().unwrap()).unwrap();
    let Some(name) = path.strip_suffix(".gz") else { return (path.to_owned(), bytes, OutputFiles(beside)) };
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut unpacked).unwrap();
    (name.to_owned(), unpacked, OutputFiles(beside))
}

/// What is wrong with what became of a sample.
fn differs(root: &Path, path: &str, format: &str, becomes: &str) -> Option<String> {
    let (name, bytes, beside) = sample(root, path);
    let file = ResultFile { name: &name, bytes: &bytes, beside: &beside };
    let known: Vec<&str> = recognised(&file).iter().map(|format| format.name()).collect();
    let (asked, becomes) = becomes.strip_prefix("asked: ").map_or((false, becomes), |rest| (true, rest));
    let refused = becomes.strip_prefix("refused: ");
    let certain: Vec<&str> = if asked || format.is_empty() { vec![] } else { vec![format] };
    // What is refused may be known or not.
    if known != certain && (refused.is_none() || !known.is_empty()) {
        return Some(format!("it is known as {known:?}"));
    }
    if format.is_empty() {
        return None;
    }
    let Some(format) = named(format) else { return Some(format!("there is no format {format}")) };
    let runs = match (read(format, &file), refused) {
        (Ok(runs), None) => runs,
        (Ok(runs), Some(_)) => return Some(format!("it is read: {} runs", runs.len())),
        (Err(error), why) => {
            let said = error.to_string();
            return why.is_none_or(|why| !said.contains(why)).then_some(said);
        }
    };
    let readings = runs.iter().flat_map(|run| &run.readings);
    let measured = readings.filter(|reading| reading.end == End::Measured).count();
    eprintln!("{path}: {} runs, {measured} cases with a number", runs.len());
    let count = becomes.strip_suffix(" cases").or_else(|| becomes.strip_suffix(" case"));
    let fits = match count {
        Some("some") => measured > 0,
        Some("no") => measured == 0,
        count => count.and_then(|count| count.parse().ok()) == Some(measured),
    };
    (!fits).then(|| format!("{measured} cases have a number, and not {becomes}"))
}

#[test]
fn every_sample_of_the_corpus_is_read_or_refused_for_a_known_reason() {
    let Some(root) = corpus() else {
        eprintln!("skipped: GBENCH_CORPUS names no folder with samples of real results");
        return;
    };
    let mut found = BTreeMap::new();
    for folder in ["formats", "samples"] {
        files_below(&root.join(folder), &root, &mut found);
    }
    let expected: BTreeSet<&str> = CORPUS.iter().map(|(path, ..)| *path).collect();
    let mut wrong: Vec<String> = found
        .keys()
        .filter(|path| !expected.contains(path.as_str()))
        .map(|path| format!("{path}: nothing says what becomes of it"))
        .collect();
    for (path, format, becomes) in CORPUS {
        // Another corpus may have less.
        if root.join(path).exists() {
            wrong.extend(differs(&root, path, format, becomes).map(|what| format!("{path}: {what}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
