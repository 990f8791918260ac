//! Figures as columns: what `gbench-ci history` writes for other programs, read by these programs.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use gbench_ci::history::HistoryEntry;
use gbench_ci::model::{ParamValue, Probe};
use serde_json::Value;

use crate::support::cli::ran;
use crate::support::git::Sandbox;
use crate::support::nightly::{append, night};
use crate::support::tools::python_with;

const CARDS: [&str; 2] = ["cuda:NVIDIA H100 80GB HBM3", "cuda:NVIDIA H200"];

/// By turns on two hosts with a card each. From the 60th on gemm is 6 % slower, which the 60th found.
fn turn(number: u32) -> HistoryEntry {
    let side = number as usize % 2;
    let card = if side == 0 { 1.0 } else { 0.7 };
    let mut entry = night(number, &[("kernels/gemm", if number < 60 { card } else { card * 1.06 })]);
    on_host(&mut entry, &format!("GPU-{side}"));
    for case in &mut entry.record.cases {
        case.id.device = CARDS[side].into();
    }
    if number == 60 {
        entry.conclusion = Some("regressed".into());
    }
    entry
}

/// Machines of one model differ by the ids of their GPUs.
fn on_host(entry: &mut HistoryEntry, uuid: &str) {
    let Probe::Known(gpu) = &mut entry.record.manifest.gpu else { panic!("these records have a GPU") };
    gpu.devices[0].uuid = Probe::Known(uuid.into());
}

/// The answer of a Python program of this project, as JSON.
fn answer(python: &Path, program: &str, arguments: &[&str], folder: &Path) -> Value {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/columns").join(program);
    let output = Command::new(python).arg(program).args(arguments).current_dir(folder).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|wrong| panic!("{wrong}: {error}"))
}

fn page(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)).unwrap()
}

/// Code in the cells of the first table below a heading or a sentence, row by row.
fn table(page: &str, below: &str) -> Vec<Vec<String>> {
    let (_, rest) = page.split_once(below).unwrap_or_else(|| panic!("docs/columns.md has no `{below}`"));
    let rows = rest.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let cells = |line: &str| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
    rows.take_while(|line| line.starts_with('|')).map(cells).collect()
}

/// Words in backquotes.
fn words(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A history with a parameter of an awkward name, as OpenMetrics.
fn openmetrics() -> String {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("code.txt", "one")]);
    let awkward = |number| {
        let mut entry = turn(number);
        for (name, value) in [("block-size", "a\"b\\c"), ("block_size", "1"), ("case", "2"), ("le", "3")] {
            entry.record.cases[0].id.params.insert(name.into(), ParamValue::Text(value.into()));
        }
        entry
    };
    append(&sandbox.root(), (0..6).map(awkward));
    ran(&sandbox.root(), "history --metric * --format openmetrics").exits(0).out
}

#[test]
fn a_parser_of_openmetrics_finds_every_figure_under_the_labels_of_the_page() {
    let Some(python) = python_with("prometheus_client") else { return };
    let folder = crate::support::tempdir().unwrap();
    std::fs::write(folder.path().join("figures.txt"), openmetrics()).unwrap();
    let families = answer(&python, "openmetrics.py", &["figures.txt"], folder.path());
    let samples = |name: &str| families[name].as_array().unwrap().clone();
    assert_eq!(families.as_object().unwrap().len(), 2, "{families}");
    assert_eq!((samples("gbench_value").len(), samples("gbench_run_info").len()), (30, 6));
    let gemm =
        samples("gbench_value").into_iter().find(|sample| sample["labels"]["benchmark"] == "gemm").unwrap();
    for (label, value) in [
        ("param_n", "1024"),
        ("param_block_x2d_size", "a\"b\\c"),
        ("param_block_size", "1"),
        ("param_case", "2"),
        ("param_le", "3"),
        ("device", CARDS[0]),
    ] {
        assert_eq!(gemm["labels"][label], value, "{label}");
    }
    let hosts: BTreeSet<String> =
        samples("gbench_value").iter().map(|sample| sample["labels"]["host"].to_string()).collect();
    assert!(hosts.len() == 2 && hosts.iter().all(|host| host.starts_with("\"GPUs ")), "{hosts:?}");
    assert_eq!(gemm["timestamp"], 1_767_225_600.0);
    assert_eq!(samples("gbench_run_info")[0]["value"], 1.0);
    let page = page("columns.md");
    for row in table(&page, "## OpenMetrics and Grafana") {
        let name = words(&row[0]).pop_first().unwrap();
        let written: BTreeSet<String> = samples(&name)
            .iter()
            .flat_map(|sample| sample["labels"].as_object().unwrap().keys().cloned().collect::<Vec<_>>())
            .map(|label| if label.starts_with("param_") { "param_NAME".into() } else { label })
            .collect();
        assert_eq!(words(&row[1]), written, "{name}");
    }
}

/// The names that a dashboard's queries use: metrics, and labels.
fn names_in(query: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let regex = |pattern: &str| regex::Regex::new(pattern).unwrap();
    let found = |pattern: &str, text: &str| -> Vec<String> {
        regex(pattern).captures_iter(text).map(|found| found[1].to_owned()).collect()
    };
    let metrics = found(r"\b(gbench_\w+)", query).into_iter().collect();
    let mut labels = found(r"[{,]\s*(\w+)\s*(?:=|!)", query);
    for list in found(r"\b(?:by|on|ignoring|group_left|group_right|without)\s*\(([^)]*)\)", query) {
        labels.extend(list.split(',').map(|label| label.trim().to_owned()));
    }
    labels.extend(found(r"\{\{\s*(\w+)\s*\}\}", query));
    labels.extend(found(r"label_values\(.*,\s*(\w+)\)$", query));
    (metrics, labels.into_iter().collect())
}

/// Every query and legend of a dashboard.
fn queries_of(dashboard: &Value) -> Vec<String> {
    fn collect(value: &Value, name: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => members.iter().for_each(|(name, value)| collect(value, name, found)),
            Value::Array(values) => values.iter().for_each(|value| collect(value, name, found)),
            Value::String(text)
                if ["expr", "query", "definition", "legendFormat", "titleFormat", "textFormat"]
                    .contains(&name) =>
            {
                found.push(text.clone());
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    collect(dashboard, "", &mut found);
    found
}

#[test]
fn the_dashboard_asks_for_metrics_and_labels_that_are_written() {
    let text = openmetrics();
    let mut written = (BTreeSet::new(), BTreeSet::new());
    let label = regex::Regex::new(r#"[{,](\w+)=""#).unwrap();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        written.0.insert(line.split_once('{').unwrap().0.to_owned());
        written.1.extend(label.captures_iter(line).map(|found| found[1].to_owned()));
    }
    let dashboard: Value = serde_json::from_str(&page("examples/grafana-dashboard.json")).unwrap();
    let queries = queries_of(&dashboard);
    let mut used = (BTreeSet::new(), BTreeSet::new());
    for query in &queries {
        let (metrics, labels) = names_in(query);
        assert!(metrics.is_subset(&written.0), "{query}: {metrics:?}");
        assert!(labels.is_subset(&written.1), "{query}: {labels:?}");
        used.0.extend(metrics);
        used.1.extend(labels);
    }
    // Else the patterns above would find nothing in any dashboard.
    assert_eq!(used.0, written.0);
    for label in ["case", "metric", "unit", "branch", "label", "host", "commit", "conclusion"] {
        assert!(used.1.contains(label), "{label} is not used");
    }
    let variables: BTreeSet<&str> = dashboard["templating"]["list"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variable| variable["name"].as_str().unwrap())
        .collect();
    let asked = regex::Regex::new(r"\$\{?(\w+)").unwrap();
    for found in asked.captures_iter(&serde_json::to_string(&dashboard).unwrap()) {
        assert!(variables.contains(&found[1]) || found[1].starts_with("__"), "${}", &found[1]);
    }
}

#[cfg(feature = "parquet")]
mod parquet {
    use std::collections::BTreeMap;
    use std::time::SystemTime;

    use super::*;
    use crate::support::nightly::commit;

    fn repository(turns: u32) -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.commit(&[("code.txt", "one")]);
        append(&sandbox.root(), (0..turns).map(turn));
        sandbox
    }

    /// Each file below a folder, with its time and its bytes.
    fn files(folder: &Path) -> BTreeMap<String, (SystemTime, Vec<u8>)> {
        let mut files = BTreeMap::new();
        for month in std::fs::read_dir(folder).unwrap() {
            for file in std::fs::read_dir(month.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                let time = path.metadata().unwrap().modified().unwrap();
                files.insert(name, (time, std::fs::read(&path).unwrap()));
            }
        }
        files
    }

    #[test]
    fn a_new_run_writes_the_file_of_its_month_and_no_other() {
        // Up to the last day of February.
        let sandbox = repository(59);
        let (root, folder) = (sandbox.root(), sandbox.root().join("figures"));
        let export = |line: &str| ran(&root, &format!("history --format parquet --output {line}")).exits(0);
        export("figures/").says("2 months in figures/, 2 written");
        let before = files(&folder);
        let names: Vec<&String> = before.keys().collect();
        assert_eq!(names, ["month=2026-01/part-0.parquet", "month=2026-02/part-0.parquet"]);
        export("figures").says("2 months in figures, 0 written");
        assert_eq!(files(&folder), before);
        // The order in which runs were read is another one without the cache, and rows do not depend on it.
        std::fs::remove_dir_all(root.join(".gbench/cache")).unwrap();
        ran(&root, "history --runs 3").exits(0);
        export("figures/").says("0 written");
        // The 60th is a step that later nights find, and a third host divides what was one series.
        append(
            &root,
            (59..92).map(|number| {
                let mut entry = turn(number);
                if number > 80 {
                    on_host(&mut entry, "GPU-2");
                }
                entry
            }),
        );
        export("figures/").says("4 months in figures/, 2 written");
        let after = files(&folder);
        for (name, file) in before {
            assert_eq!(after[&name], file, "{name}");
        }
    }

    #[test]
    fn what_would_leave_a_month_with_a_part_of_its_runs_is_refused() {
        let sandbox = repository(3);
        let root = sandbox.root();
        ran(&root, "history --format parquet --output figures/ --since 2026-01-02")
            .exits(2)
            .says("--since: figures/ has a file for each month");
        ran(&root, "history --format parquet --output figures/ --runs 2").exits(2).says("--runs");
        assert!(!root.join("figures").exists());
        ran(&root, "history --format parquet --output one.parquet --runs 2").exits(0);
        ran(&root, "history --format csv --output .gbench").exits(2).says("this is a folder");
    }

    /// A repository with its export and its findings, and what an engine answers to the queries of the page.
    fn answers(engine: &str, package: &str) -> Option<Value> {
        let python = python_with(package)?;
        let sandbox = repository(90);
        let root = sandbox.root();
        ran(&root, "history --format parquet --output figures/").exits(0);
        ran(&root, "history --runs 0 --format json --output trends.json").exits(0);
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/columns.md");
        Some(answer(&python, "queries.py", &[engine, &page.display().to_string()], &root))
    }

    /// The answers that DuckDB and ClickHouse share. `number`: ClickHouse writes counts as texts.
    fn check(answers: &Value) {
        let rows = |name: &str| answers[name].as_array().unwrap_or_else(|| panic!("{name}")).clone();
        assert_eq!(rows("last month").len(), 31, "the newest run and the 30 days before it");
        let changes = rows("changes by commit");
        let of_step: BTreeSet<&str> = changes
            .iter()
            .filter(|row| {
                row[0].as_str().unwrap().contains("gemm") && (row[5].as_f64().unwrap() - 0.06).abs() < 0.03
            })
            .map(|row| row[3].as_str().unwrap())
            .collect();
        assert!(of_step.contains(&*commit(60)) && of_step.contains(&*commit(61)), "{changes:?}");
        let spread = rows("spread by host");
        assert_eq!(spread.iter().map(|row| row[0].as_str().unwrap()).collect::<BTreeSet<_>>().len(), 2);
        let slowest = rows("slowest cases");
        assert!(slowest[0][0].as_str().unwrap().contains("gemm"), "{slowest:?}");
        let cards = rows("two cards");
        assert_eq!(cards.len(), 3, "{cards:?}");
        let gemm = cards.iter().find(|row| row[0] == "gemm").unwrap();
        assert!((gemm[4].as_f64().unwrap() - 1.0 / 0.7).abs() < 0.1, "{gemm:?}");
        let red = rows("red nights");
        assert_eq!(red.len(), 1);
        assert_eq!(red[0][1], commit(60));
    }

    #[test]
    fn every_query_of_the_page_runs_in_duckdb_and_finds_what_the_history_has() {
        let Some(answers) = answers("duckdb", "duckdb") else { return };
        check(&answers);
        let lasting = answers["duckdb lasting changes"].as_array().unwrap();
        let gemm: Vec<&Value> = lasting.iter().filter(|row| row[0] == "kernels/gemm").collect();
        assert_eq!(gemm.len(), 2, "{lasting:?}");
        let documented: Vec<Vec<String>> = table(&page("columns.md"), "## Columns")
            .iter()
            .map(|row| vec![row[0].trim_matches('`').to_owned(), row[1].clone()])
            .chain([vec!["month".into(), "VARCHAR".into()]])
            .collect();
        assert_eq!(serde_json::to_value(documented).unwrap(), answers["columns"]);
    }

    #[test]
    fn the_shared_queries_of_the_page_run_in_clickhouse_and_find_the_same() {
        let Some(answers) = answers("clickhouse", "chdb") else { return };
        check(&answers);
        let columns = answers["columns"].to_string();
        for kind in ["Map(String, String)", "DateTime64(3, 'UTC')", "Float64"] {
            assert!(columns.contains(kind), "{columns}");
        }
    }

    #[test]
    fn pandas_reads_the_folder_as_the_page_does() {
        let Some(answers) = answers("pandas", "pandas") else { return };
        assert_eq!(answers["rows"], 5 * 90);
        assert!(answers["n"].as_array().unwrap().contains(&"1024".into()), "{answers}");
        let started = ["started", "datetime64[ms, UTC]"];
        assert!(answers["columns"].as_array().unwrap().contains(&serde_json::json!(started)), "{answers}");
    }
}
