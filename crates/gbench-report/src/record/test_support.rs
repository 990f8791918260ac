//! Records for the tests of this room.

use std::collections::BTreeMap;

use crate::test_support::case;
use gbench_model::{
    Better, CaseRecord, Component, DeviceCode, DirtyFacts, FailureKind, GitFacts, HostFacts, Kind, Manifest,
    Metric, MetricDeclaration, Outcome, Probe, ProcessEnd, ProcessRecord, ProcessSamples, RecordState,
    RunRecord, RunSource, SCHEMA_RECORD, Stage, StageReport, StageStatus, ToolInfo,
};

fn manifest() -> Manifest {
    let absent = || Probe::Absent("not needed here".to_owned());
    let host = HostFacts {
        hostname: Probe::Known("bench-1".into()),
        os: Probe::Known("Debian GNU/Linux 12".into()),
        kernel: Probe::Known("6.1.0".into()),
        architecture: "x86_64".into(),
        cpu_model: Probe::Known("AMD EPYC 9554 64-Core Processor".into()),
        cores: Probe::Known(64),
        last_level_cache: Probe::Known(256 << 20),
        governor: absent(),
        memory_total: Probe::Known(768 << 30),
        memory_available: Probe::Known(700 << 30),
        load: Probe::Known(0.1),
        container: Probe::Known("none".into()),
        virtualization: Probe::Known("none".into()),
    };
    let git = GitFacts {
        commit: Some("02ab45cd66778899aabbccddeeff00112233aabb".into()),
        commit_time: None,
        branch: Some("faster-gemm".into()),
        detached: false,
        shallow: false,
        worktree: false,
        dirty: DirtyFacts { tracked: 1, ..DirtyFacts::default() },
        merge_parents: Vec::new(),
        submodules: BTreeMap::new(),
    };
    Manifest {
        host,
        gpu: Probe::Absent("libnvidia-ml.so.1 is not installed".into()),
        git: Probe::Known(git),
        tools: BTreeMap::new(),
        environment: BTreeMap::new(),
    }
}

fn process(index: u32, outcome: Outcome) -> ProcessRecord {
    ProcessRecord {
        after_timeout: None,
        index,
        started: "2026-11-21T11:01:02.345Z".into(),
        seconds: 1.25,
        outcome,
        end: Some(ProcessEnd::Exit(0)),
        stages: Vec::new(),
        peak_rss_bytes: Some(87_654_400),
        device_peak_bytes: None,
        cpu_seconds: Some(1.2),
        leftovers: 0,
        output_bytes: 120,
        absent: Vec::new(),
        round: None,
        slot: None,
        shared: None,
        lockstep: false,
        gpus: Vec::new(),
        conditions: None,
        error: None,
    }
}

fn record_of(cases: Vec<CaseRecord>) -> RunRecord {
    RunRecord {
        schema: SCHEMA_RECORD.into(),
        run_id: "20261121T110102.345Z-7d01aa".parse().unwrap(),
        tool: ToolInfo { name: "gbench-ci".into(), version: "0.1.0".into() },
        state: RecordState::Complete,
        cut_short: None,
        exclusive: None,
        started: "2026-11-21T11:01:02.345Z".into(),
        finished: Some("2026-11-21T11:02:31.120Z".into()),
        side: None,
        comparison: None,
        ingested: None,
        source: RunSource { suite: "kernels".into(), path: Some("gbench.toml".into()), sha256: None },
        command: ["gbench-ci", "run", "--suite", "kernels", "--tag", "it's fast"].map(String::from).to_vec(),
        config: BTreeMap::new(),
        manifest: manifest(),
        clocks: None,
        cases,
        warnings: Vec::new(),
    }
}

/// One case with a time in seconds; `centers` are the processes' medians.
fn measured(benchmark: &str, n: i64, centers: &[f64]) -> CaseRecord {
    let sets = centers.iter().enumerate().map(|(index, center)| ProcessSamples {
        process: index as u32,
        values: vec![center * 0.998, *center, center * 1.004],
        ..ProcessSamples::default()
    });
    CaseRecord {
        group: None,
        command: Vec::new(),
        env: Default::default(),
        id: case(benchmark, &[("n", n)]),
        description: String::new(),
        components: vec![Component::Cpu],
        kind: Kind::Synthetic,
        tags: Vec::new(),
        config: BTreeMap::new(),
        outcome: Outcome::Measured,
        processes: (0..centers.len() as u32).map(|index| process(index, Outcome::Measured)).collect(),
        metrics: vec![Metric {
            name: "time".into(),
            unit: "s".into(),
            better: Some(Better::Lower),
            processes: sets.collect(),
            summary: None,
        }],
        declared: BTreeMap::new(),
        metadata: BTreeMap::new(),
        warnings: Vec::new(),
        nothing_measured: Vec::new(),
        device_code: None,
        device_code_varies: false,
        profiles: Vec::new(),
    }
}

fn troubled(benchmark: &str, outcome: Outcome) -> CaseRecord {
    let processes = match outcome {
        Outcome::Skipped { .. } | Outcome::NotRun { .. } => Vec::new(),
        _ => vec![ProcessRecord { peak_rss_bytes: None, ..process(0, outcome.clone()) }],
    };
    CaseRecord { outcome, metrics: Vec::new(), processes, ..measured(benchmark, 1, &[]) }
}

/// Cases of the gate's own GPU programs on a machine with two cards of one model, selected beside a suite file; and one
/// of a program that will not have a figure of its own judged.
pub(crate) fn gpu() -> RunRecord {
    let figure = |name: &str, unit: &str, gate, exact, values: &[f64]| {
        let processes = values.iter().enumerate().map(|(index, value)| ProcessSamples {
            process: index as u32,
            values: vec![*value],
            ..ProcessSamples::default()
        });
        let metric = Metric {
            name: name.into(),
            unit: unit.into(),
            better: None,
            processes: processes.collect(),
            summary: None,
        };
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
    let device = gbench_model::test_support::gpu;
    let mut manifest = gbench_model::test_support::manifest();
    *gbench_model::test_support::devices(&mut manifest) = vec![device(0), device(1)];
    record.manifest.gpu = manifest.gpu;
    record
}

/// Five good processes everywhere.
pub(crate) fn quiet() -> RunRecord {
    record_of(vec![
        measured("kernels/gemm", 1024, &[0.01231, 0.01229, 0.01235, 0.01230, 0.01233]),
        measured("kernels/reduce", 4096, &[3.2e-4, 3.21e-4, 3.19e-4, 3.2e-4, 3.2e-4]),
    ])
}

/// Some of everything.
pub(crate) fn record() -> RunRecord {
    let skipped = Outcome::Skipped {
        code: None,
        cause: "needs 2 GPUs, this machine has none".into(),
        advice: "run it on a machine with 2 GPUs".into(),
    };
    let crashed = Outcome::Failed {
        kind: FailureKind::Signal,
        cause: "ended by SIGSEGV in measure".into(),
        advice: "see logs/kernels_conv.0.err for its last words".into(),
    };
    let hung = Outcome::TimedOut {
        stage: Stage::Setup,
        limit: 60.0,
        spent: 60.2,
        advice: "raise deadlines.setup, or find out what it waits for".into(),
    };
    let mut copy = measured("memory/copy", 1 << 28, &[21.1, 21.3, 20.9, 21.2, 21.0]);
    copy.metrics[0].name = "bandwidth".into();
    copy.metrics[0].unit = "GB/s".into();
    copy.metrics[0].better = Some(Better::Higher);
    copy.warnings.push("the governor is powersave".into());
    let mut partial = troubled("kernels/conv", crashed);
    partial.metrics = measured("kernels/conv", 1, &[0.5]).metrics;
    partial.metrics[0].processes[0].partial = true;
    let mut quiet = quiet();
    quiet.cases.extend([
        copy,
        measured("kernels/noisy", 7, &[1.0e-3, 1.3e-3, 0.9e-3, 1.25e-3, 1.1e-3]),
        measured("kernels/once", 7, &[1.0e-3]),
        measured("kernels/disturbed", 7, &[1.0e-3, 1.002e-3, 1.08e-3, 1.001e-3, 0.999e-3]),
        troubled("kernels/attention", skipped),
        partial,
        troubled("loading/warm", hung),
    ]);
    quiet.warnings.push("the machine was busy at the start: load 3.1 on 64 cores".into());
    quiet
}

/// A case of the group `softmax`, of one size for all; `centers` are the processes' medians in seconds.
pub(crate) fn answer(benchmark: &str, centers: &[f64]) -> CaseRecord {
    CaseRecord { group: Some("softmax".into()), ..measured(benchmark, 1024, centers) }
}

pub(crate) fn contest(cases: Vec<CaseRecord>) -> RunRecord {
    record_of(cases)
}

/// Two problems: one with a clear best, one whose best two are in each other's noise, and answers that have no place.
pub(crate) fn contested() -> RunRecord {
    let large = |benchmark: &str, centers: &[f64]| CaseRecord {
        id: case(benchmark, &[("n", 65536)]),
        ..answer(benchmark, centers)
    };
    let wrong = Outcome::Invalid {
        code: None,
        cause: "the output differs from the reference by 0.3".into(),
        advice: "mend the kernel: a wrong answer has no speed".into(),
    };
    let mut online = answer("kernels/softmax_online", &[8.1e-5, 8.12e-5, 8.09e-5, 8.1e-5, 8.11e-5]);
    for (index, process) in online.processes.iter_mut().enumerate() {
        process.device_peak_bytes = Some((640 + index as u64) << 20);
    }
    record_of(vec![
        answer("kernels/softmax_naive", &[1.52e-4, 1.524e-4, 1.519e-4, 1.521e-4, 1.52e-4]),
        online,
        answer("kernels/softmax_fused", &[9.3e-5, 9.31e-5, 9.28e-5, 9.3e-5, 9.29e-5]),
        CaseRecord { outcome: wrong, ..answer("kernels/softmax_fast_math", &[4e-5, 4.1e-5]) },
        large("kernels/softmax_naive", &[9.1e-3, 9.12e-3, 9.11e-3, 9.09e-3, 9.1e-3]),
        large("kernels/softmax_online", &[5.02e-3, 5.1e-3, 4.95e-3, 5.06e-3, 4.99e-3]),
        large("kernels/softmax_fused", &[5.03e-3, 4.94e-3, 5.12e-3, 5.05e-3, 4.98e-3]),
        measured("kernels/gemm", 1024, &[0.01231, 0.01229, 0.01235, 0.01230, 0.01233]),
    ])
}

/// Programs that start for longer than they measure, leave children behind, or vary beyond all hope.
pub(crate) fn wasteful() -> RunRecord {
    let mut imports = measured("torch/gemm", 64, &[1.0e-3, 1.002e-3, 1.001e-3, 0.999e-3, 1.0e-3]);
    let stage = |stage, seconds| StageReport { stage, status: StageStatus::Completed, seconds, limit: 60.0 };
    for process in &mut imports.processes {
        process.stages = vec![stage(Stage::Start, 4.25), stage(Stage::Measure, 0.03)];
    }
    let mut workers = measured("loading/dataloader", 8, &[0.31, 0.311, 0.309, 0.31, 0.31]);
    (workers.processes[0].leftovers, workers.processes[3].leftovers) = (4, 3);
    workers.processes[0].cpu_seconds = None;
    record_of(vec![imports, workers, measured("kernels/wild", 1, &[1.0e-3, 2.2e-3, 0.7e-3, 1.9e-3, 1.2e-3])])
}

/// A run that was killed in the middle.
pub(crate) fn killed() -> RunRecord {
    let not_run = Outcome::NotRun {
        code: None,
        cause: "the run ended before its turn".into(),
        advice: "run the suite again".into(),
    };
    let mut record = quiet();
    record.cases.push(troubled("kernels/scan", not_run));
    record.state = RecordState::Recovered;
    record.finished = None;
    record
}

/// Names and messages that try to break out of every format.
pub(crate) fn hostile() -> RunRecord {
    let text = "a|b `c` @octo #12 <img src=x> ](http://evil) \u{1b}[31mred\u{202e}\n=cmd() ]]> é";
    let mut record = quiet();
    record.cases[0].id.device = text.into();
    record.cases[0].metrics[0].name = format!("={text}");
    record.cases[0].metrics[0].unit = text.into();
    record.cases[0].warnings.push(text.into());
    record.cases[1].outcome = Outcome::Invalid { code: None, cause: text.into(), advice: text.into() };
    for name in ["kernels/a", "kernels/b"] {
        let mut case = answer(name, &[1.0, 1.1]);
        (case.group, case.id.device) = (Some(text.into()), text.into());
        (case.metrics[0].name, case.metrics[0].unit) = (text.into(), text.into());
        record.cases.push(case);
    }
    record.warnings.push(text.into());
    record.source.suite = text.into();
    record.command.push("it's `$(x)` \u{1b}[31m".into());
    record
}

/// A member of a pair of the benchmark `book/pairs`; `params`: names and texts.
pub(crate) fn member(params: &[(&str, &str)], centers: &[f64]) -> CaseRecord {
    let mut case = measured("book/pairs", 0, centers);
    let text = |text: &str| gbench_model::ParamValue::Text(text.to_owned());
    case.id.params = params.iter().map(|(name, value)| ((*name).to_owned(), text(value))).collect();
    case
}

fn failing(case: CaseRecord, cause: &str) -> CaseRecord {
    let advice = "install the missing module".into();
    let outcome = Outcome::Failed { kind: FailureKind::Error, cause: cause.into(), advice };
    CaseRecord { outcome, metrics: Vec::new(), ..case }
}

/// Three chapters of pairs: faster, slower and too noisy; one measured once; one that fails on each side; a chapter that cannot run.
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
    let skipped =
        Outcome::Skipped { code: None, cause: "needs CUDA".into(), advice: "run it on a GPU".into() };
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
            case.id.params.insert(name.into(), gbench_model::ParamValue::Text(value.into()));
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
    lone.id.params.insert("precision".into(), gbench_model::ParamValue::Text("fp16".into()));
    let mut other = lone.clone();
    other.id.params.insert("precision".into(), gbench_model::ParamValue::Text("bf16".into()));
    record_of(vec![
        way("fp16", "cpu", &fast, &[("error.max_error", 4e-4), ("error.rmse", 1.2e-4)]),
        way("fp32", "cpu", &slow, &[("error.max_error", 2e-7), ("error.rmse", 4e-8)]),
        failing(way("bf16", "cpu", &[], &[]), "the output differs from the reference by 0.3"),
        way("fp16", "blas", &[4.0e-3, 4.1e-3, 3.9e-3, 4.0e-3, 4.0e-3], &[("error.max_error", 4e-4)]),
        lone,
        other,
    ])
}
