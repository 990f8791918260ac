//! Records for the tests of this module.

use gbench_model::test_support::{self, failed, metric, process, skipped};
use gbench_model::{
    Better, CaseRecord, DeviceCode, DirtyFacts, FailureKind, HostFacts, Manifest, Metric, MetricDeclaration,
    ParamValue, Probe, ProcessRecord, RunRecord,
};

use super::case_tests::run;
use crate::kind_tests::told;
use crate::test_support::case;

/// Runs in the notation of a case: a beginning, and changes.
const TOLD: &str = include_str!("../../documents/runs.txt");

pub(super) fn all() -> Vec<(&'static str, RunRecord)> {
    let names = ["pairs", "precisions", "gpu"].into_iter();
    names.chain(told(TOLD).map(|(name, _)| name)).map(|name| (name, named(name))).collect()
}

pub(crate) fn named(name: &str) -> RunRecord {
    match name {
        "pairs" => pairs(),
        "precisions" => precisions(),
        "gpu" => gpu(),
        _ => {
            let found = told(TOLD).find(|(other, _)| *other == name);
            run(found.unwrap_or_else(|| panic!("no run is called `{name}`")).1)
        }
    }
}

/// A machine without GPUs, but with other work.
fn manifest() -> Manifest {
    let mut manifest = test_support::manifest();
    let git = test_support::git(&mut manifest);
    git.commit = Some("02ab45cd66778899aabbccddeeff00112233aabb".into());
    git.branch = Some("faster-gemm".into());
    git.dirty = DirtyFacts { tracked: 1, ..DirtyFacts::default() };
    Manifest {
        host: HostFacts {
            hostname: Probe::Known("bench-1".into()),
            os: Probe::Known("Debian GNU/Linux 12".into()),
            kernel: Probe::Known("6.1.0".into()),
            cpu_model: Probe::Known("AMD EPYC 9554 64-Core Processor".into()),
            cores: Probe::Known(64),
            last_level_cache: Probe::Known(256 << 20),
            governor: Probe::Absent("not needed here".into()),
            memory_total: Probe::Known(768 << 30),
            memory_available: Probe::Known(700 << 30),
            ..manifest.host
        },
        gpu: Probe::Absent("libnvidia-ml.so.1 is not installed".into()),
        tools: [].into(),
        ..manifest
    }
}

pub(crate) fn record_of(cases: Vec<CaseRecord>) -> RunRecord {
    let words = ["gbench-ci", "run", "--suite", "kernels", "--tag", "it's fast"];
    let command = words.map(String::from).to_vec();
    RunRecord { command, manifest: manifest(), ..test_support::record(cases) }
}

/// One case with a time in seconds; `centers` are the processes' medians.
pub(super) fn measured(benchmark: &str, n: i64, centers: &[f64]) -> CaseRecord {
    let process = |index| ProcessRecord {
        seconds: 1.25,
        peak_rss_bytes: Some(87_654_400),
        cpu_seconds: Some(1.2),
        output_bytes: 120,
        ..process(index)
    };
    let samples = centers.iter().map(|center| vec![center * 0.998, *center, center * 1.004]);
    let time = Metric { better: Some(Better::Lower), ..metric("time", "s", samples) };
    let processes = (0..centers.len() as u32).map(process).collect();
    test_support::case(case(benchmark, &[("n", n)]), processes, vec![time])
}

/// Cases of the gate's own GPU programs on a machine with two cards of one model, selected in addition to a suite file;
/// and one of a program that declares its own figure as not judged.
pub(crate) fn gpu() -> RunRecord {
    let figure = |name: &str, unit: &str, gate, exact, values: &[f64]| {
        let metric = metric(name, unit, values.iter().map(|value| vec![*value]));
        (metric, MetricDeclaration { gate, exact, ..MetricDeclaration::default() })
    };
    let with = |mut case: CaseRecord, figures: &[(Metric, MetricDeclaration)]| {
        case.command = vec!["builtin".into(), "gpu_bandwidth".into()];
        case.device_code = Some(DeviceCode::default());
        for (metric, declared) in figures {
            case.declared.insert(metric.name.clone(), declared.clone());
            case.metrics.push(metric.clone());
        }
        case.metrics.sort_by(|a, b| a.name.cmp(&b.name));
        case
    };
    let (shown, exact) = (Some(false), Some(true));
    let figures = [
        figure("bytes_rate", "B/s", shown, None, &[2.01e12, 2.02e12, 2.0e12]),
        figure("items_rate", "items/s", shown, None, &[2.09e11, 2.1e11, 2.097e11]),
        figure("code.frame_bytes", "B", shown, exact, &[0.0; 3]),
        figure("code.registers", "", shown, exact, &[40.0; 3]),
        figure("cycles", "cycles", shown, None, &[7.91e8, 7.92e8, 7.93e8]),
        figure("error.max_abs_error", "", None, exact, &[0.0; 3]),
        figure("sm_clock", "MHz", shown, None, &[1980.0; 3]),
    ];
    let copy = with(measured("micro/gpu_bandwidth", 1024, &[0.01231, 0.01229, 0.01235]), &figures);
    let once = figures.map(|(mut metric, declared)| {
        metric.processes.truncate(1);
        (metric, declared)
    });
    let once = with(measured("micro/gpu_latency", 64, &[0.002]), &once);
    let mut record = record_of(vec![copy, once]);
    record.source.suite = "mine".into();
    record.manifest.gpu = test_support::manifest().gpu;
    record
}

/// A case of the group `softmax`, of one size for all; `centers` are the processes' medians in seconds.
pub(crate) fn answer(benchmark: &str, centers: &[f64]) -> CaseRecord {
    CaseRecord { group: Some("softmax".into()), ..measured(benchmark, 1024, centers) }
}

/// A member of a pair of the benchmark `book/pairs`; `params`: names and texts.
pub(crate) fn member(params: &[(&str, &str)], centers: &[f64]) -> CaseRecord {
    let mut case = measured("book/pairs", 0, centers);
    let text = |text: &str| ParamValue::Text(text.to_owned());
    case.id.params = params.iter().map(|(name, value)| ((*name).to_owned(), text(value))).collect();
    case
}

fn failing(case: CaseRecord, cause: &str) -> CaseRecord {
    let outcome = failed(FailureKind::Error, cause, "install the missing module");
    CaseRecord { outcome, metrics: Vec::new(), ..case }
}

/// Three chapters of pairs: faster, slower and too noisy; one measured once; one that fails on each side; a chapter that
/// cannot run.
pub(crate) fn pairs() -> RunRecord {
    let base = |chapter: &str, case: &str, centers: &[f64]| {
        member(&[("chapter", chapter), ("case", case), ("variant", "baseline")], centers)
    };
    let other = |chapter: &str, case: &str, technique: &str, centers: &[f64]| {
        let params =
            [("chapter", chapter), ("case", case), ("technique", technique), ("variant", "optimized")];
        let named = params.into_iter().filter(|(_, text)| !text.is_empty()).collect::<Vec<_>>();
        member(&named, centers)
    };
    let torch = "import failed: ModuleNotFoundError: No module named 'torch'";
    let skipped = skipped("needs CUDA", "run it on a GPU");
    let mut cases = vec![
        base("ch01", "softmax", &[9.1e-3, 9.12e-3, 9.11e-3, 9.09e-3, 9.1e-3]),
        other("ch01", "softmax", "fused", &[5.02e-3, 5.01e-3, 5.03e-3, 5.02e-3, 5.0e-3]),
        other("ch01", "softmax", "naive_cast", &[1.11e-2, 1.12e-2, 1.1e-2, 1.11e-2, 1.115e-2]),
        base("ch02", "copy", &[1.0e-3, 1.05e-3, 0.95e-3]),
        other("ch02", "copy", "", &[0.99e-3, 1.04e-3, 0.97e-3]),
        base("ch02", "once", &[1.0e-3]),
        other("ch02", "once", "", &[1.25e-3]),
        base("ch02", "half", &[1.0e-3, 1.0e-3]),
        failing(other("ch02", "half", "torch", &[]), torch),
        base("ch02", "alone", &[1.0e-3, 1.01e-3]),
    ];
    for index in 0..17 {
        let case = format!("net{index}");
        cases.push(failing(base("ch03", &case, &[]), torch));
        cases.push(failing(other("ch03", &case, "compiled", &[]), torch));
    }
    cases.push(CaseRecord { outcome: skipped, metrics: Vec::new(), ..base("ch04", "ring", &[]) });
    record_of(cases)
}

/// One problem in three precisions and two backends, with the errors of its results; another one without errors.
pub(crate) fn precisions() -> RunRecord {
    let way = |precision: &str, backend: &str, centers: &[f64], errors: &[(&str, f64)]| {
        let mut case = measured("kernels/gemm", 512, centers);
        for (name, value) in [("precision", precision), ("backend", backend)] {
            case.id.params.insert(name.into(), ParamValue::Text(value.into()));
        }
        for (name, value) in errors {
            let mut metric = case.metrics[0].clone();
            (metric.name, metric.unit) = ((*name).to_owned(), String::new());
            metric.processes.iter_mut().for_each(|process| process.values = vec![*value]);
            case.metrics.push(metric);
        }
        case
    };
    let slow = [2.0e-3, 2.01e-3, 1.99e-3, 2.0e-3, 2.0e-3];
    let fast = [1.1e-3, 1.11e-3, 1.09e-3, 1.1e-3, 1.1e-3];
    let mut lone = measured("kernels/scan", 1, &slow);
    lone.id.params.insert("precision".into(), ParamValue::Text("fp16".into()));
    let mut other = lone.clone();
    other.id.params.insert("precision".into(), ParamValue::Text("bf16".into()));
    record_of(vec![
        way("fp16", "cpu", &fast, &[("error.max_error", 4e-4), ("error.rmse", 1.2e-4)]),
        way("fp32", "cpu", &slow, &[("error.max_error", 2e-7), ("error.rmse", 4e-8)]),
        failing(way("bf16", "cpu", &[], &[]), "the output differs from the reference by 0.3"),
        way("fp16", "blas", &[4.0e-3, 4.1e-3, 3.9e-3, 4.0e-3, 4.0e-3], &[("error.max_error", 4e-4)]),
        lone,
        other,
    ])
}
