//! Curves of serving benchmarks: a loss at any load is found, and neither a faster point nor a failed request hides one.

use std::path::Path;

use gbench_ci::compare::{Curve, Policy, Row, SideInput, Verdict, VerdictDocument, compare};
use gbench_ci::model::{Better, CaseId, ParamValue, RunRecord};
use gbench_ci::report::github::{self as render, PublishContext};
use gbench_ci::report::{Format, Options, Style};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;
use serde_json::{Value, json};

use crate::support::cli::ran;
use crate::support::rounds::{Planned, differences, sides, timed};
use crate::support::{records, stories};

const LOADS: [i64; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// What `vllm bench serve` saves of one load; made up, with noise by `seed`.
fn served(load: i64, seed: u64, noise: f64) -> Value {
    let mut random = Pcg64::seed_from_u64(seed * 1000 + load as u64);
    let mut noisy = |value: f64| {
        let drawn: f64 = StandardNormal.sample(&mut random);
        value * (noise * drawn).exp()
    };
    let latency = 600.0 * (1.0 + load as f64 / 40.0);
    let rate = load as f64 * 1000.0 / latency;
    let mut found = json!({
        "date": "20261121-101500", "backend": "openai", "model_id": "example/tiny-7b", "tokenizer_id": "example/tiny-7b",
        "num_prompts": 10 * load, "request_rate": "inf", "max_concurrency": load, "completed": 10 * load, "failed": 0,
        "total_input_tokens": 5120 * load, "total_output_tokens": 1280 * load,
        "request_throughput": noisy(rate), "output_throughput": noisy(128.0 * rate),
    });
    for (name, value) in [("ttft", 0.05 * latency), ("tpot", latency / 140.0), ("e2el", latency)] {
        let (median, p99) = (noisy(value), noisy(1.3 * value));
        found[format!("median_{name}_ms")] = median.into();
        found[format!("mean_{name}_ms")] = (1.01 * median).into();
        found[format!("std_{name}_ms")] = (0.1 * median).into();
        found[format!("p99_{name}_ms")] = p99.into();
    }
    found
}

/// A figure of a point, as a share of what it was.
fn times(found: &mut Value, field: &str, factor: f64) {
    found[field] = (found[field].as_f64().unwrap() * factor).into();
}

/// Five runs of a side, with a file for each load as `--save-result` leaves them.
fn side(folder: &Path, name: &str, seed: u64, change: impl Fn(i64, &mut Value)) {
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    for run in 0..5 {
        for load in LOADS {
            let mut found = served(load, seed + run, 0.005);
            change(load, &mut found);
            std::fs::write(folder.join(format!("c{load}-{run}.json")), found.to_string()).unwrap();
        }
    }
}

fn verdict(folder: &Path, arguments: &str, exit: i32) -> VerdictDocument {
    ran(folder, &format!("compare {arguments} --json v.json --html v.html")).exits(exit);
    serde_json::from_slice(&std::fs::read(folder.join("v.json")).unwrap()).unwrap()
}

fn only(document: &VerdictDocument) -> &Curve {
    let [curve] = document.curves.as_slice() else { panic!("{:?}", document.curves) };
    curve
}

fn load(case: &CaseId, parameter: &str) -> i64 {
    match case.params[parameter] {
        ParamValue::Int(load) => load,
        ref other => panic!("{other:?}"),
    }
}

/// The rows of a verdict: their load and metric.
fn rows(document: &VerdictDocument, verdict: Verdict) -> Vec<(i64, &str)> {
    let rows = document.rows.iter().filter(|row| row.verdict == verdict);
    let mut rows: Vec<_> =
        rows.map(|row| (load(&row.case, "max_concurrency"), row.metric.as_str())).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn p5_one_of_eight_points_is_10_percent_slower_and_that_point_is_red() {
    let folder = crate::support::tempdir().unwrap();
    let folder = folder.path();
    side(folder, "base", 0, |_, _| ());
    side(folder, "head", 100, |load, found| {
        if load == 32 {
            times(found, "median_e2el_ms", 1.1);
        }
    });
    let document = verdict(folder, "base head", 1);
    assert_eq!(rows(&document, Verdict::Regressed), [(32, "e2el")]);
    let curve = only(&document);
    assert_eq!((curve.verdict, curve.load.as_str()), (Verdict::Regressed, "max_concurrency"));
    let loads: Vec<i64> = curve.points.iter().map(|point| load(point, "max_concurrency")).collect();
    assert_eq!(loads, LOADS);
    assert!(!curve.case.params.contains_key("num_prompts") && curve.case.params.contains_key("model_id"));
    assert_eq!(
        (curve.throughput.as_deref(), curve.latency.as_deref()),
        (Some("output_throughput"), Some("e2el"))
    );
    // Every report has the curve, and the terminal within its columns.
    let told = "results/serve by max_concurrency: regressed at 32 (8 loads: 1 regressed, 7 unchanged)";
    let terminal = ran(folder, "report v.json").exits(0).out;
    let words = terminal.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(told), "{terminal}");
    assert!(terminal.lines().all(|line| line.chars().count() <= 80), "{terminal}");
    let markdown = ran(folder, "report v.json --format markdown").exits(0).out;
    assert!(markdown.contains("<details><summary>❌ results/serve by"), "{markdown}");
    let page = std::fs::read_to_string(folder.join("v.html")).unwrap();
    assert!(page.contains("<svg class=\"curve\"") && page.contains("32 regressed</text>"), "{page}");
    assert_eq!(page.matches("<circle").count(), 2 * LOADS.len() + 3, "two sides, two of the legend, a ring");
}

#[test]
fn p5_a_faster_curve_does_not_hide_its_slower_point() {
    let folder = crate::support::tempdir().unwrap();
    let folder = folder.path();
    side(folder, "base", 0, |_, _| ());
    side(folder, "head", 100, |load, found| {
        let slower = if load == 32 { 1.1 } else { 0.8 };
        times(found, "median_e2el_ms", slower);
        times(found, "output_throughput", 1.25);
    });
    let document = verdict(folder, "base head", 1);
    assert_eq!(rows(&document, Verdict::Regressed), [(32, "e2el")]);
    assert_eq!(rows(&document, Verdict::Improved).len(), 15);
    assert_eq!(only(&document).verdict, Verdict::Regressed);
}

/// The record of runs in memory, by the reader and the conversion that `compare` uses.
fn record(runs: impl Iterator<Item = Vec<Value>>) -> RunRecord {
    use gbench_ci::adapters::OutputFiles;
    use gbench_ci::adapters::formats::{ResultFile, named, read};
    use gbench_ci::ingest::{FileRun, RecordOptions, record};
    let beside = OutputFiles::default();
    let files = runs.enumerate().map(|(run, points)| {
        let text: String = points.iter().map(|point| format!("{point}\n")).collect();
        let (path, bytes) = (format!("{run}.json"), text.as_bytes());
        let file = ResultFile { name: &path, bytes, beside: &beside };
        let run = read(named("vllm").unwrap(), &file).unwrap().remove(0);
        FileRun { sha256: path.clone(), path, bytes: 0, modified: std::time::SystemTime::UNIX_EPOCH, run }
    });
    let options =
        RecordOptions { suite: "results".into(), format: "vllm".into(), ..RecordOptions::default() };
    record(&files.collect::<Vec<_>>(), &options).unwrap()
}

/// How many of these curves of files, measured `runs` times a side, are red. `slow`: the latency of one head's point, as a
/// share of the base's.
fn red_curves(curves: u32, runs: u64, noise: f64, slow: f64) -> usize {
    let quiet = record((0..runs).map(|run| LOADS.map(|load| served(load, run, 0.0)).to_vec()));
    let side = |number: u32, of_head: u32| {
        let mut side = quiet.clone();
        for (at, case) in (0_u32..).zip(&mut side.cases) {
            let is_slow = of_head == 1 && load(&case.id, "max_concurrency") == 32;
            for (metric, run) in (0_u32..).zip(&mut case.metrics).flat_map(|(place, metric)| {
                let is_slow = is_slow && metric.name == "e2el";
                metric.processes.iter_mut().map(move |run| ((place, is_slow), run))
            }) {
                let drawn = records::noise([number, 2 * at + of_head, metric.0, run.process]);
                let value = &mut run.stated.as_mut().unwrap().value;
                *value *= (noise * drawn).exp() * if metric.1 { slow } else { 1.0 };
            }
        }
        side
    };
    let is_red = |number: &u32| {
        let [base, head] = [0, 1].map(|of_head| side(*number, of_head));
        only(&compared(&base, &head)).verdict == Verdict::Regressed
    };
    (0..curves).filter(is_red).count()
}

fn compared(base: &RunRecord, head: &RunRecord) -> VerdictDocument {
    let input = |record| SideInput { record, name: "side".into() };
    compare(&input(base), &input(head), &Policy { sessions: 0, ..Policy::default() }).unwrap()
}

#[test]
fn p5_of_200_curves_without_a_change_none_is_red() {
    assert_eq!(red_curves(200, 5, 0.005, 1.0), 0);
    assert_eq!(red_curves(200, 5, 0.02, 1.0), 0);
    assert_eq!(red_curves(50, 5, 0.005, 1.1), 50);
}

/// Likewise with rounds: a point has a throughput and a latency.
fn red_in_rounds(curves: u32, noise: f64, slow: f64) -> usize {
    let document = |number: u32| {
        let plan = |index: u32| {
            let centre = if index == 11 { slow.ln() } else { 0.0 };
            let planned = timed("serving/chat", &differences(1000 * number + index, centre, noise, 40));
            if index % 2 == 1 {
                return planned;
            }
            Planned { metric: "output_throughput".into(), unit: "tokens/s".into(), ..planned }
        };
        let (mut base, mut head) = sides(&(0..16).map(plan).collect::<Vec<_>>());
        stories::join_points(&mut base);
        stories::join_points(&mut head);
        gbench_ci::compare::verdict_of(&base, &head, None).unwrap()
    };
    (0..curves).filter(|number| only(&document(*number)).verdict == Verdict::Regressed).count()
}

#[test]
fn p5_rounds_find_the_slower_point_and_no_other() {
    assert_eq!(red_in_rounds(200, 0.01, 1.0), 0);
    assert_eq!(red_in_rounds(50, 0.01, 1.1), 50);
    let document = stories::serving().verdict();
    let regressed: Vec<&Row> = document.rows.iter().filter(|row| row.verdict == Verdict::Regressed).collect();
    let [row] = regressed.as_slice() else { panic!("{regressed:?}") };
    assert_eq!((load(&row.case, "concurrency"), row.metric.as_str()), (32, "e2el"));
}

/// The table of docs/evaluation.md.
#[test]
#[ignore = "a table, in a minute: `just curves`"]
fn the_table_of_curves() {
    const CURVES: u32 = 1000;
    println!("| noise | measured by | red without a change | red with a point 10 % slower | 5 % slower |");
    for noise in [0.003, 0.01, 0.02, 0.03] {
        let line = |by: &str, red: &dyn Fn(f64) -> usize| {
            let [same, ten, five] = [1.0, 1.1, 1.05].map(red);
            println!("| {} % | {by} | {same} | {ten} | {five} |", noise * 100.0);
        };
        line("5 files a side", &|slow| red_curves(CURVES, 5, noise, slow));
        line("10 files a side", &|slow| red_curves(CURVES, 10, noise, slow));
        line("rounds", &|slow| red_in_rounds(CURVES, noise, slow));
    }
}

#[test]
fn a_comment_has_a_line_for_a_curve_and_its_points_folded() {
    let merged = gbench_ci::compare::Merged::single("", stories::serving().verdict());
    let comment = render::comment(&merged, &PublishContext::default(), "<!-- end -->");
    let line = "❌ serving/chat by concurrency: regressed at 32 (8 loads: 1 regressed, 7 improved)";
    assert!(comment.replace('\u{a0}', " ").contains(line), "{comment}");
    insta::with_settings!({ snapshot_path => "snapshots/curves", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("comment", comment);
        let mut terminal = Vec::new();
        let options = Options { format: Format::Terminal, style: Style::PLAIN, all: false };
        gbench_ci::report::verdict(&stories::serving().verdict(), &options, &mut terminal).unwrap();
        insta::assert_snapshot!("terminal", String::from_utf8(terminal).unwrap());
    });
}

#[test]
fn p5_speed_does_not_count_where_requests_failed() {
    let folder = crate::support::tempdir().unwrap();
    let folder = folder.path();
    let faster = |found: &mut Value| {
        times(found, "median_e2el_ms", 0.7);
        times(found, "output_throughput", 1.4);
        times(found, "request_throughput", 1.4);
    };
    side(folder, "base", 0, |_, _| ());
    // In the words of the tool, or because fewer requests were completed than sent.
    side(folder, "failed", 100, |load, found| {
        faster(found);
        if load == 64 {
            (found["failed"], found["completed"]) = (3.into(), 637.into());
        }
    });
    side(folder, "all", 300, |_, found| faster(found));
    side(folder, "fewer", 200, |load, found| {
        faster(found);
        found.as_object_mut().unwrap().remove("failed");
        if load == 64 {
            found["completed"] = 639.into();
        }
    });
    for head in ["failed", "fewer"] {
        let document = verdict(folder, &format!("base {head}"), 4);
        assert_eq!(only(&document).verdict, Verdict::Invalid, "{head}");
        assert_eq!(rows(&document, Verdict::Invalid), [(64, "")], "{head}");
        assert!(rows(&document, Verdict::Improved).iter().all(|(load, _)| *load != 64), "{head}");
        // Nor are the figures of a base whose requests failed: there is nothing to be slower or faster than.
        let document = verdict(folder, &format!("{head} all"), 0);
        assert_eq!(rows(&document, Verdict::New), [(64, "")], "{head}");
        let of_point = |row: &&Row| load(&row.case, "max_concurrency") == 64;
        assert!(document.rows.iter().filter(of_point).all(|row| row.change.is_none()), "{head}");
    }
}

/// What sglang appends of one load; made up.
fn sglang(load: i64, completed: i64, run: usize, factor: f64) -> Value {
    let latency = 500.0 * factor * (1.0 + 0.003 * run as f64);
    json!({
        "tag": null, "backend": "sglang", "dataset_name": "random", "request_rate": "inf", "max_concurrency": load,
        "completed": completed, "total_output_tokens_retokenized": 10, "request_throughput": 9.0 / factor + 0.01 * run as f64,
        "output_throughput": 900.0 / factor + run as f64, "median_e2e_latency_ms": latency, "std_e2e_latency_ms": 5.0,
    })
}

#[test]
fn p5_sglang_is_not_faster_with_fewer_answers() {
    let folder = crate::support::tempdir().unwrap();
    let folder = folder.path();
    let side = |name: &str, completed: &dyn Fn(i64, usize) -> i64, factor: f64| {
        std::fs::create_dir_all(folder.join(name)).unwrap();
        for run in 0..5 {
            let line = |load| format!("{}\n", sglang(load, completed(load, run), run, factor));
            let lines: String = [1, 8, 64].map(line).concat();
            std::fs::write(folder.join(name).join(format!("{run}.jsonl")), lines).unwrap();
        }
    };
    side("base", &|_, _| 400, 1.0);
    side("all", &|_, _| 400, 0.71);
    side("fewer", &|load, _| if load == 64 { 380 } else { 400 }, 0.7);
    side("once", &|load, run| if (load, run) == (64, 3) { 399 } else { 400 }, 0.7);
    assert_eq!(only(&verdict(folder, "base all", 0)).verdict, Verdict::Improved);
    let document = verdict(folder, "base fewer", 4);
    assert_eq!(rows(&document, Verdict::Invalid), [(64, "")]);
    let reason = &document.rows.iter().find(|row| row.verdict == Verdict::Invalid).unwrap().reason;
    assert!(reason.contains("requests answered"), "{reason}");
    let document = verdict(folder, "base once", 4);
    assert_eq!(rows(&document, Verdict::Invalid), [(64, "")]);
    assert_eq!(rows(&verdict(folder, "once all", 0), Verdict::New), [(64, "")]);
}

#[test]
fn a_load_without_a_file_of_every_run_has_failed() {
    let folder = crate::support::tempdir().unwrap();
    let folder = folder.path();
    side(folder, "base", 0, |_, _| ());
    side(folder, "head", 100, |_, _| ());
    std::fs::remove_file(folder.join("head/c128-3.json")).unwrap();
    let document = verdict(folder, "base head", 4);
    assert_eq!(rows(&document, Verdict::Invalid), [(128, "")]);
    for run in [0, 1, 2, 4] {
        std::fs::remove_file(folder.join(format!("head/c128-{run}.json"))).unwrap();
    }
    let document = verdict(folder, "base head", 4);
    assert_eq!(rows(&document, Verdict::Missing), [(128, "")]);
    assert_eq!(only(&document).verdict, Verdict::Missing);
}

/// Runs without a change, at these loads: concurrency, rate and prompts.
fn at(points: &[(i64, Value, i64)]) -> VerdictDocument {
    let run = |run| {
        let point = |(load, rate, prompts): &(i64, Value, i64)| {
            let mut found = served(*load, run, 0.005);
            (found["request_rate"], found["num_prompts"]) = (rate.clone(), (*prompts).into());
            found["completed"] = (*prompts).into();
            found
        };
        points.iter().map(point).collect()
    };
    let record = |from: u64| record((0..5).map(|it| from + it).map(run));
    compared(&record(0), &record(100))
}

#[test]
fn points_of_a_curve_differ_in_the_load_and_in_nothing_else() {
    let curves = |points: &[(i64, Value, i64)]| -> Vec<(String, usize)> {
        at(points).curves.iter().map(|curve| (curve.load.clone(), curve.points.len())).collect()
    };
    let concurrency = |load: i64| (load, json!("inf"), 10 * load);
    assert_eq!(curves(&[1, 2, 4].map(concurrency)), [("max_concurrency".to_owned(), 3)]);
    assert_eq!(curves(&[1, 2].map(concurrency)), []);
    // By the rate, which is no whole number everywhere.
    let rates = [json!(4), json!(2.5), json!(1), json!("inf")].map(|rate| (16, rate, 400));
    let document = at(&rates);
    let order: Vec<String> =
        only(&document).points.iter().map(|point| point.params["request_rate"].to_string()).collect();
    assert_eq!((only(&document).load.as_str(), order.join(" ")), ("request_rate", "1 2.5 4 inf".to_owned()));
    // Two workloads at the same loads are two curves, and nothing is a point of both.
    let both = [1, 2, 4].map(|load| (load, json!("inf"), 100)).into_iter();
    let both: Vec<_> = both.chain([1, 2, 4].map(|load| (load, json!("inf"), 900))).collect();
    assert_eq!(curves(&both), vec![("max_concurrency".to_owned(), 3); 2]);
    // A grid is a curve by concurrency for each rate.
    let grid = [1, 2, 4].iter().flat_map(|load| [2, 3, 5, 7].map(|rate| (*load, json!(rate), 100)));
    assert_eq!(curves(&grid.collect::<Vec<_>>()), vec![("max_concurrency".to_owned(), 3); 4]);
}

#[test]
fn records_without_a_declared_load_have_no_curve() {
    let document = compared(&records::standard(1), &records::standard(2));
    assert!(document.curves.is_empty());
    assert!(!serde_json::to_string(&document).unwrap().contains("\"curves\""));
    // Nor is a curve believed that is not one of the rows.
    let mut told = stories::serving().verdict();
    assert_eq!(gbench_ci::compare::check_consistency(&told), Ok(()));
    told.curves[0].verdict = Verdict::Improved;
    assert!(gbench_ci::compare::check_consistency(&told).is_err());
}

#[test]
fn a_suite_names_its_load() {
    let suite = "[suite]\nname = 'serving'\n[defaults]\nprocesses = 2\n\
                 [[benchmark]]\nid = 'chat'\nload = 'users'\nshell = 'echo latency $GBENCH_PARAM_USERS'\n\
                 matrix = { users = [1, 2, 4] }\n\
                 [[benchmark.extract]]\nmetric = 'latency'\nregex = 'latency ([0-9.]+)'\nunit = 'ms'\n";
    let folder = crate::support::folder_with(suite);
    ran(folder.path(), "run").exits(0);
    let record = crate::support::cli::newest(folder.path());
    assert_eq!(record.cases.len(), 3);
    assert!(record.cases.iter().all(|case| case.load.as_ref().unwrap().parameters == ["users"]));
    assert_eq!(record.cases[0].metrics[0].better.unwrap_or(Better::Lower), Better::Lower);
    let refused = suite.replace("'users'", "''");
    let folder = crate::support::folder_with(&refused);
    ran(folder.path(), "run").exits(2).says("`load` is empty");
}

#[test]
fn a_program_of_a_suite_has_the_load_of_its_format() {
    let suite = "[suite]\nname = 's'\n[gate]\nwatch = false\n[[benchmark]]\nid = 'serve'\nharness = 'sglang'\n\
                 command = ['cat', 'served.jsonl']\nprocesses = 2\n";
    let folder = crate::support::folder_with(suite);
    let lines: String = [1, 8, 64].map(|load| format!("{}\n", sglang(load, 400, 0, 1.0))).concat();
    std::fs::write(folder.path().join("served.jsonl"), lines).unwrap();
    ran(folder.path(), "run --quiet").exits(0);
    let record = crate::support::cli::newest(folder.path());
    let loads: Vec<i64> = record.cases.iter().map(|case| load(&case.id, "max_concurrency")).collect();
    assert_eq!(loads, [1, 8, 64]);
    for case in &record.cases {
        assert_eq!(case.load.as_ref().unwrap().parameters, ["max_concurrency", "request_rate"]);
        assert_eq!(case.answer["requests answered"].values, [Some(400.0)]);
    }
}
