//! Documents for the tests of this crate: small, and each with another answer.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::kind_tests::{given, told};
use gbench_compare::trend::{
    SCHEMA_TRENDS, SeriesState, TrendsDocument, V1Break, V1BrokenField, V1Point, V1Series, V1TrendRun,
};
use gbench_compare::{
    Change, Conclusion, Difference, Method, Row, RowSide, SCHEMA_VERDICT, SideSummary, Verdict,
    VerdictDocument,
};
use gbench_model::test_support::case_id;
use gbench_model::{Better, CaseId, Outcome, ParamValue, Params};

/// Documents in the notation of a case: a beginning, and changes.
const TOLD: &str = include_str!("../documents/documents.txt");

pub(super) fn all() -> Vec<(&'static str, VerdictDocument)> {
    let names = ["all_unchanged", "one_regressed", "long_names"].into_iter();
    names.chain(told(TOLD).map(|(name, _)| name)).map(|name| (name, named(name))).collect()
}

pub(super) fn named(name: &str) -> VerdictDocument {
    match name {
        "all_unchanged" => all_unchanged(),
        "one_regressed" => one_regressed(),
        "long_names" => long_names(),
        _ => {
            let found = told(TOLD).find(|(other, _)| *other == name);
            given(found.unwrap_or_else(|| panic!("no document is called `{name}`")).1, begin)
        }
    }
}

pub(super) fn case(benchmark: &str, params: &[(&str, i64)]) -> CaseId {
    let params = params.iter().map(|(name, n)| ((*name).to_owned(), ParamValue::Int(*n))).collect();
    CaseId { params, ..case_id(benchmark) }
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
        counted: false,
        time_verdict: None,
        in_cycles: None,
        of_peak: None,
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

/// Compares a text with the snapshot of its format's module.
pub(super) fn snapshot(room: &str, format: &str, name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path(format!("{}/src/{room}/snapshots", env!("CARGO_MANIFEST_DIR")));
    let name = format!("gbench_report__{room}__{format}__tests__{name}");
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// The number of columns and lines of a table for spreadsheets, after a check that no cell is a formula.
pub(super) fn without_formulas(text: &str) -> (usize, usize) {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let columns = reader.headers().unwrap().len();
    let lines: Vec<_> = reader.records().collect::<Result<_, _>>().unwrap();
    for cell in lines.iter().flatten() {
        assert!(cell.parse::<f64>().is_ok() || !cell.starts_with(['=', '+', '-', '@']), "{cell}");
    }
    (columns, lines.len())
}

fn counts(rows: &[Row]) -> BTreeMap<Verdict, u32> {
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count() as u32;
    Verdict::tally(count)
}

/// A document of these rows, with correct counts.
pub(super) fn of_rows(rows: Vec<Row>, conclusion: Conclusion, exit_code: u8) -> VerdictDocument {
    VerdictDocument { conclusion, exit_code, counts: counts(&rows), rows, ..one_regressed() }
}

/// A document by its name; `document [conclusion, exit code, sentence, rows]`; or `rows [conclusion, exit code, rows]`,
/// with every other field from `one_regressed`. A row is `[benchmark, verdict]`, with figures `[benchmark, verdict, base,
/// slowdown, half of the interval]`, and a number means so many unchanged rows.
pub(super) fn begin(word: &str, of: Value) -> VerdictDocument {
    match word {
        "document" => {
            let (conclusion, exit_code, sentence, rows): (_, _, String, Vec<Value>) =
                serde_json::from_value(of).unwrap();
            document(conclusion, exit_code, &sentence, rows.iter().flat_map(rows_of).collect())
        }
        "rows" => {
            let (conclusion, exit_code, rows): (_, _, Vec<Value>) = serde_json::from_value(of).unwrap();
            of_rows(rows.iter().flat_map(rows_of).collect(), conclusion, exit_code)
        }
        name => named(name),
    }
}

fn rows_of(it: &Value) -> Vec<Row> {
    if let Some(count) = it.as_u64() {
        return unchanged(count as usize).collect();
    }
    let verdict = serde_json::from_value(it[1].clone()).unwrap();
    let name = it[0].as_str().unwrap();
    let figures: Vec<f64> = (2..5).filter_map(|at| it.get(at)?.as_f64()).collect();
    match figures[..] {
        [base, slowdown, width] => vec![timed(name, verdict, base, slowdown, width)],
        _ => vec![row(name, verdict)],
    }
}

/// The figures of a metric over runs of the trunk, and the runs at which a driver breaks them.
pub(super) fn series(values: &[f64], breaks: &[u32]) -> V1Series {
    let point = |(run, value): (u32, &f64)| V1Point { run, value: *value, low: None, high: None };
    let field = || V1BrokenField { field: "driver".into(), before: "550.54".into(), after: "560.28".into() };
    V1Series {
        case: case_id("a/b"),
        metric: "time".into(),
        unit: "s".into(),
        better: Some(Better::Lower),
        branch: "main".into(),
        label: String::new(),
        points: (0..).zip(values).map(point).collect(),
        breaks: breaks.iter().map(|at| V1Break { at: *at, fields: vec![field()] }).collect(),
        changes: Vec::new(),
        withdrawn: Vec::new(),
        drift: None,
        noise: None,
        state: SeriesState::Searched,
    }
}

pub(super) fn trends(series: V1Series) -> TrendsDocument {
    let run = |number: u32| V1TrendRun {
        run_id: format!("{:08}T000000.000Z-{number:06x}", 20_240_101 + number).parse().unwrap(),
        started: format!(
            "20{:02}-{:02}-{:02}T00:00:00Z",
            number / 336,
            number / 28 % 12 + 1,
            number % 28 + 1
        ),
        commit: format!("{number:040x}"),
        branch: "main".into(),
        label: String::new(),
        host: None,
        event: "schedule".into(),
        conclusion: None,
    };
    TrendsDocument {
        schema: SCHEMA_TRENDS.into(),
        store: "git:gbench-history".into(),
        runs: (0..series.points.len() as u32).map(run).collect(),
        series: vec![series],
        unmeasured: Vec::new(),
        left_out: 0,
        warnings: Vec::new(),
    }
}

fn document(conclusion: Conclusion, exit_code: u8, sentence: &str, rows: Vec<Row>) -> VerdictDocument {
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
        counts: counts(&rows),
        base: side("main", "20261121T100102.345Z-3f9a2c", "9f1c2e7ab04d5566778899aabbccddeeff001122", false),
        head: side("this run", "20261121T110102.345Z-7d01aa", "02ab45cd66778899aabbccddeeff00112233aabb", true),
        method: Method {
            rule: "process-welch-holm".into(),
            alpha: 0.05,
            tested: rows.iter().filter(|row| row.change.is_some()).count() as u32,
            inconclusive_fails: false,
            failed_fails: true,
            broken_fails: false,
            rounds: None,
            sessions: None,
            no_reference: None,
            only_built_in: false,
            suite_file: None,
            sandbox: None,
        },
        differences: Vec::new(),
        rows,
        curves: Vec::new(),
        loads: Vec::new(),
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

/// 40 cases whose names of 120 characters differ only in the last parameter.
pub(super) fn long_names() -> VerdictDocument {
    let rows = (0..40).map(|index| {
        let verdict =
            [Verdict::Regressed, Verdict::Inconclusive, Verdict::Improved, Verdict::Unchanged][index % 4];
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
