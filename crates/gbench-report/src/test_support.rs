//! Documents for the tests of this room: small, and each a different answer.

use std::collections::BTreeMap;

use strum::{IntoEnumIterator, VariantArray};

use gbench_compare::{
    CaseCode, Change, CodeGap, CodeNoise, CodeState, Conclusion, Difference, KernelChange, Method,
    ProfiledCase, Row, RowSide, SCHEMA_VERDICT, SideSummary, Verdict, VerdictDocument,
};
use gbench_model::{
    Better, CaseId, FailureKind, KernelCode, MovedFigure, Outcome, ParamValue, Params, Profile,
    ProfileFigure, ProfileOutcome, Profiler, Stage, Thermal, Timing,
};

pub(crate) use super::record::test_support::record;

/// Every document with the name of its snapshot.
pub(super) fn all() -> Vec<(&'static str, VerdictDocument)> {
    vec![
        ("all_unchanged", all_unchanged()),
        ("one_regressed", one_regressed()),
        ("inconclusive", inconclusive()),
        ("incomparable", incomparable()),
        ("failed_and_missing", failed_and_missing()),
        ("long_names", long_names()),
        ("hostile", hostile()),
        ("device_code", device_code()),
        ("profiled", profiled()),
    ]
}

pub(super) fn case(benchmark: &str, params: &[(&str, i64)]) -> CaseId {
    CaseId {
        benchmark: benchmark.parse().unwrap(),
        variant: None,
        params: params.iter().map(|(name, n)| ((*name).to_owned(), ParamValue::Int(*n))).collect(),
        timing: Timing::Protocol,
        thermal: Thermal::Warm,
        device: "host".into(),
    }
}

fn side(centre: f64) -> RowSide {
    RowSide {
        throttled: Default::default(),
        outcome: Outcome::Measured,
        processes: 5,
        samples: 150,
        centre: Some(centre),
        change_centre: None,
        spread: Some(0.008),
        trace: None,
    }
}

pub(super) fn change(slowdown: f64, low: f64, high: f64) -> Change {
    Change {
        ratio: 1.0 + slowdown,
        slowdown,
        low,
        high,
        confidence: 0.95,
        adjusted_p: Some(0.0004),
        detectable: Some(0.021),
    }
}

/// A row without figures.
pub(super) fn row(benchmark: &str, verdict: Verdict) -> Row {
    Row {
        case: case(benchmark, &[]),
        metric: "time".into(),
        unit: "s".into(),
        better: Some(Better::Lower),
        verdict,
        reason: String::new(),
        why: None,
        next: String::new(),
        advice: None,
        base: None,
        head: None,
        change: None,
        threshold: 0.05,
        margin: None,
        sequence: None,
        time_verdict: None,
        in_cycles: None,
        pair: None,
        device_code: None,
        telemetry: None,
    }
}

/// A row of a time in seconds, with the interval `width` to either side of the slowdown.
pub(super) fn timed(benchmark: &str, verdict: Verdict, base: f64, slowdown: f64, width: f64) -> Row {
    Row {
        base: Some(side(base)),
        head: Some(side(base * (1.0 + slowdown))),
        change: Some(change(slowdown, slowdown - width, slowdown + width)),
        ..row(benchmark, verdict)
    }
}

fn bandwidth(benchmark: &str, verdict: Verdict, base: f64, slowdown: f64) -> Row {
    let timed = timed(benchmark, verdict, base, slowdown, 0.02);
    Row {
        metric: "bandwidth".into(),
        unit: "GB/s".into(),
        better: Some(Better::Higher),
        head: Some(side(base / (1.0 + slowdown))),
        change: timed.change.clone().map(|change| Change { ratio: 1.0 / (1.0 + slowdown), ..change }),
        ..timed
    }
}

fn document(conclusion: Conclusion, exit_code: u8, sentence: &str, rows: Vec<Row>) -> VerdictDocument {
    let mut counts: BTreeMap<_, _> = Verdict::iter().map(|verdict| (verdict, 0)).collect();
    for row in &rows {
        *counts.entry(row.verdict).or_default() += 1;
    }
    let side = |name: &str, run: &str, commit: &str, dirty| SideSummary {
        run_id: run.parse().unwrap(),
        name: name.into(),
        started: "2026-11-21T10:01:02.345Z".into(),
        commit: Some(commit.into()),
        branch: Some("main".into()),
        dirty,
        cases: rows.len() as u32,
        measured: rows.iter().filter(|row| row.head.is_some()).count() as u32,
        machine: "NVIDIA H100 80GB HBM3".into(),
    };
    VerdictDocument {
        schema: SCHEMA_VERDICT.into(),
        tool_version: "0.1.0".into(),
        conclusion,
        exit_code,
        sentence: sentence.into(),
        counts,
        base: side("main", "20261121T100102.345Z-3f9a2c", "9f1c2e7ab04d5566778899aabbccddeeff001122", false),
        head: side("this run", "20261121T110102.345Z-7d01aa", "02ab45cd66778899aabbccddeeff00112233aabb", true),
        method: Method {
            rule: "process-welch-holm".into(),
            alpha: 0.05,
            tested: rows.iter().filter(|row| row.change.is_some()).count() as u32,
            inconclusive_fails: false,
            failed_fails: true,
            rounds: None,
            sessions: None,
            no_reference: None,
            suite_file: None,
        },
        differences: Vec::new(),
        rows,
        warnings: Vec::new(),
        warning_codes: Vec::new(),
        nothing_measured: Vec::new(),
        device_code: Vec::new(),
        noise_of_identical_code: None,
        profiles: Vec::new(),
        reproduce: "gbench-ci compare .gbench/baselines/main.json artifacts/20261121T110102.345Z-7d01aa/results/record.json"
            .into(),
        replays: Vec::new(),
        records: None,
    }
}

fn unchanged(count: usize) -> impl Iterator<Item = Row> {
    (0..count).map(|index| {
        let mut row = timed("kernels/reduce", Verdict::Unchanged, 3.2e-4 * (index + 1) as f64, 0.004, 0.011);
        row.case = case("kernels/reduce", &[("n", 1 << (10 + index))]);
        row
    })
}

pub(super) fn all_unchanged() -> VerdictDocument {
    document(
        Conclusion::Pass,
        0,
        "Nothing regressed: 8 of 8 compared rows are unchanged.",
        unchanged(8).collect(),
    )
}

pub(super) fn one_regressed() -> VerdictDocument {
    let mut regressed = timed("kernels/gemm", Verdict::Regressed, 0.01231, 0.102, 0.021);
    regressed.case = CaseId {
        params: Params::from([
            ("dtype".into(), ParamValue::Text("fp16".into())),
            ("n".into(), ParamValue::Int(1024)),
        ]),
        device: "cuda:NVIDIA H100 80GB HBM3".into(),
        ..case("kernels/gemm", &[])
    };
    regressed.reason = "the whole interval lies above the threshold of 5 %".into();
    regressed.next = "look at what changed for kernels/gemm since 9f1c2e7ab0".into();
    let mut slow_copy = bandwidth("memory/copy", Verdict::Regressed, 2900.0, 0.1);
    slow_copy.reason = "the whole interval lies above the threshold of 5 %".into();
    slow_copy.next = "look at what changed for memory/copy since 9f1c2e7ab0".into();
    let improved = timed("kernels/softmax", Verdict::Improved, 8.8e-5, -0.31, 0.012);
    let mut rows = vec![regressed, slow_copy, improved];
    rows.extend(unchanged(12));
    let mut document = document(
        Conclusion::Regressed,
        1,
        "2 of 15 cases regressed: kernels/gemm[dtype=fp16,n=1024] time 10.2 % worse (8.1 % to 12.3 %), memory/copy bandwidth 10 % worse (8 % to 12 %).",
        rows,
    );
    document.differences.push(Difference {
        field: "tools.nvcc".into(),
        base: "release 12.4, V12.4.131".into(),
        head: "release 12.6, V12.6.20".into(),
        strict: false,
    });
    document.warnings.push("GPU 0 ran hot during head (84 °C); its clocks were not throttled".into());
    document
}

/// A case whose code changed, others whose code is the same, and one that was compiled otherwise.
pub(super) fn device_code() -> VerdictDocument {
    let mut document = one_regressed();
    let case_code = |row: &Row, state| CaseCode {
        case: row.case.clone(),
        state,
        why: None,
        base: None,
        head: None,
        kernels: Vec::new(),
        more: 0,
    };
    let kernel = |registers, spills| KernelCode {
        sha256: "0a".repeat(32),
        registers: Some(registers),
        shared_bytes: Some(4096),
        frame_bytes: Some(spills),
        spill_store_bytes: Some(spills),
        spill_load_bytes: Some(spills),
    };
    let change = |name: &str, base, head| KernelChange { name: name.into(), base, head };
    let mut changed = case_code(&document.rows[0], CodeState::Changed);
    changed.kernels = vec![
        change("gemm_tiled", Some(kernel(16, 0)), Some(kernel(40, 520))),
        change("gemm_split", Some(kernel(32, 0)), None),
        change("gemm_fused", None, Some(kernel(64, 0))),
    ];
    changed.more = 2;
    let mut other = case_code(&document.rows[1], CodeState::NotComparable);
    other.why = Some(CodeGap::OtherCompiler { base: "NVRTC 12.9".into(), head: "NVRTC 13.5".into() });
    let same = document.rows[2..].iter().map(|row| case_code(row, CodeState::Identical));
    document.device_code = [changed, other].into_iter().chain(same).collect();
    for (row, case) in document.rows.iter_mut().zip(&document.device_code) {
        row.device_code = Some(case.state);
    }
    document.noise_of_identical_code =
        Some(CodeNoise { rows: 13, median: 0.004, largest: 0.31, case: document.rows[2].case.clone() });
    document
}

/// The regressed cases under profilers: one whose kernel moved, one that hung on one side.
pub(super) fn profiled() -> VerdictDocument {
    let mut document = one_regressed();
    let profile = |profiler, side: &str| Profile {
        profiler,
        version: Some("2022.3.0.0".into()),
        outcome: ProfileOutcome::Taken,
        seconds: Some(4.2),
        reports: vec![format!("profiles/000-kernels-gemm.{side}.ncu-rep")],
        kernels: Vec::new(),
    };
    let moved = |figure, base, head| MovedFigure {
        kernel: "void gemm_tiled<float, (int)16>(const float *, const float *, float *, int)".into(),
        head_kernel: None,
        figure,
        base: Some(base),
        head: Some(head),
    };
    let hung = ProfileOutcome::TimedOut { limit: 120.0 };
    let bare = |outcome| Profile {
        version: None,
        outcome,
        seconds: Some(120.0),
        reports: Vec::new(),
        ..profile(Profiler::Nsys, "")
    };
    document.profiles = vec![
        ProfiledCase {
            case: document.rows[0].case.clone(),
            base: profile(Profiler::Ncu, "base"),
            head: profile(Profiler::Ncu, "head"),
            moved: vec![
                moved(ProfileFigure::DramBytesRead, 4.2e6, 1.68e7),
                moved(ProfileFigure::KernelTime, 11.2e-6, 13.4e-6),
                moved(ProfileFigure::DramThroughput, 41.2, 78.9),
                moved(ProfileFigure::Registers, 32.0, 40.0),
                moved(ProfileFigure::Occupancy, 62.5, 50.0),
                moved(ProfileFigure::Instructions, 2_097_152.0, 2_228_224.0),
                moved(ProfileFigure::SmThroughput, 71.0, 66.5),
                MovedFigure { head: None, ..moved(ProfileFigure::L1HitRate, 12.0, 0.0) },
            ],
        },
        ProfiledCase {
            case: document.rows[1].case.clone(),
            base: bare(ProfileOutcome::Missing { program: "nsys".into() }),
            head: bare(hung),
            moved: Vec::new(),
        },
    ];
    document
}

pub(super) fn inconclusive() -> VerdictDocument {
    let rows = ["kernels/scan", "kernels/sort"].into_iter().map(|name| {
        let mut row = timed(name, Verdict::Inconclusive, 4.1e-3, 0.041, 0.11);
        row.change.as_mut().unwrap().adjusted_p = Some(0.41);
        row.reason = "the interval reaches from better to worse than the threshold of 5 %".into();
        row.next =
            "run 14 processes instead of 5, or quiet the machine: the spread between processes is 6 %".into();
        row
    });
    let rows = rows.chain(unchanged(3)).collect();
    document(
        Conclusion::Inconclusive,
        0,
        "Nothing regressed, but 2 of 5 compared rows are inconclusive: kernels/scan time, kernels/sort time.",
        rows,
    )
}

pub(super) fn incomparable() -> VerdictDocument {
    let mut document = document(
        Conclusion::Incomparable,
        5,
        "Nothing was compared, because the machines differ: `gpu_model` is NVIDIA H100 80GB HBM3 on base and NVIDIA A100-SXM4-80GB on head; measure both sides on one machine.",
        Vec::new(),
    );
    for (field, base, head, strict) in [
        ("gpu_model", "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", true),
        ("gpu_driver", "550.54.15", "", false),
    ] {
        document.differences.push(Difference {
            field: field.into(),
            base: base.into(),
            head: head.into(),
            strict,
        });
    }
    document
}

pub(super) fn failed_and_missing() -> VerdictDocument {
    let outcome = |outcome: Outcome| {
        Some(RowSide {
            outcome,
            processes: 0,
            samples: 0,
            centre: None,
            change_centre: None,
            spread: None,
            throttled: Default::default(),
            trace: None,
        })
    };
    let crash = Outcome::Failed {
        kind: FailureKind::Signal,
        cause: "ended by SIGSEGV in measure".into(),
        advice: "run it under cuda-gdb, or see its stderr in logs/kernels_conv.0.err".into(),
    };
    let hang = Outcome::TimedOut {
        stage: Stage::Setup,
        limit: 60.0,
        spent: 60.2,
        advice: "raise deadlines.setup, or find out what it waits for".into(),
    };
    let failed = |name: &str, head: Outcome| Row {
        metric: String::new(),
        unit: String::new(),
        better: None,
        reason: head.cause(),
        next: head.advice().to_owned(),
        base: Some(RowSide { centre: None, spread: None, ..side(1.0) }),
        head: outcome(head),
        ..row(name, Verdict::Invalid)
    };
    let missing = Row {
        verdict: Verdict::Missing,
        reason: "base measured it, head does not have it".into(),
        next: "restore kernels/fft, or save a new baseline if it was removed on purpose".into(),
        head: None,
        ..failed("kernels/fft", Outcome::Measured)
    };
    let new = Row {
        head: Some(side(0.4)),
        reason: "base does not have it".into(),
        ..row("kernels/attention", Verdict::New)
    };
    let mut rows = vec![failed("kernels/conv", crash), failed("loading/warm", hang), missing, new];
    rows.extend(unchanged(2));
    document(
        Conclusion::Failed,
        4,
        "Nothing regressed in 2 compared rows, but the comparison has gaps; 2 are invalid: kernels/conv, loading/warm; 1 is missing: kernels/fft.",
        rows,
    )
}

/// 40 cases whose names of 120 characters differ only in the last parameter.
pub(super) fn long_names() -> VerdictDocument {
    let rows = (0..40).map(|index| {
        let verdict = Verdict::VARIANTS[[0, 3, 4, 6][index % 4]];
        let slowdown = [0.2, 0.04, -0.2, 0.0][index % 4];
        let mut row = timed("s/x", verdict, 1.5e-3, slowdown, 0.03);
        let tail = format!("[batch_size=4096,n={index}]");
        let name = "transformer_block_forward_and_backward_with_flash_attention_and_rotary_embedding_";
        let fill = "k".repeat(120 - tail.len() - name.len() - "models/".len());
        row.case = case(&format!("models/{name}{fill}"), &[("batch_size", 4096), ("n", index as i64)]);
        assert_eq!(row.case.to_string().len(), 120);
        row.reason =
            format!("the reason of row {index}, which is a sentence long enough to need more than one line");
        row
    });
    document(Conclusion::Regressed, 1, "10 of 40 rows regressed.", rows.collect())
}

/// Names and messages that try to break out of every format.
pub(super) fn hostile() -> VerdictDocument {
    let mut row = timed("s/x", Verdict::Regressed, 1.0, 0.5, 0.1);
    let text = "a|b `c` @octo #12 <img src=x> ](http://evil) \u{1b}[31mred\u{202e}\n=cmd() ]]> &amp; $x$";
    row.case.params.insert("evil".into(), ParamValue::Text(text.into()));
    row.metric = "=HYPERLINK(\"http://evil\")".into();
    row.unit = "|furlongs_per_fortnight_and_more|".into();
    row.reason = text.into();
    row.next = text.into();
    let mut document = document(Conclusion::Regressed, 1, text, vec![row]);
    document.base.name = text.into();
    document.head.branch = Some(text.into());
    document.warnings.push(text.into());
    document.differences.push(Difference {
        field: text.into(),
        base: text.into(),
        head: text.into(),
        strict: false,
    });
    document.reproduce = "gbench-ci compare 'a ``` b' \"$(x)\"\n# second line".into();
    document
}
