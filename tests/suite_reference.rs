//! docs/suite-file.md against the reader: every key that it takes stands there, with its real default.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gbench_ci::model::Fault;
use gbench_ci::suite::Suite;

use crate::support::gate;

const SMALLEST: &str = "[[benchmark]]\nid = 'x'\ncommand = ['true']\n";

/// Each section of the reference, and a file whose table of that name has a key that cannot exist. The
/// reader's advice then lists the keys it takes.
const TABLES: [(&str, &str); 23] = [
    ("[suite]", "[suite]\nqqqqqqqqqqqqqqqqq = 1"),
    ("[run]", "[run]\nqqqqqqqqqqqqqqqqq = 1"),
    ("[profile]", "[profile]\nqqqqqqqqqqqqqqqqq = 1"),
    ("[launcher]", "[launcher]\nqqqqqqqqqqqqqqqqq = 1"),
    ("[gate]", "[gate]\nqqqqqqqqqqqqqqqqq = 1"),
    ("[[gate.rule]]", "[[gate.rule]]\nqqqqqqqqqqqqqqqqq = 1"),
    ("[gate.match]", "[gate.match]\nqqqqqqqqqqqqqqqqq = 1"),
    ("[defaults]", "[defaults]\nqqqqqqqqqqqqqqqqq = 1"),
    ("[defaults.deadlines]", "[defaults.deadlines]\nqqqqqqqqqqqqqqqqq = 1"),
    ("[metrics.\"GLOB\"]", "[metrics.\"*\"]\nqqqqqqqqqqqqqqqqq = 1"),
    ("[components]", "[components]\nqqqqqqqqqqqqqqqqq = 1"),
    ("[[benchmark]]", "[[benchmark]]\nid = 'y'\nshell = 'true'\nqqqqqqqqqqqqqqqqq = 1"),
    (
        "[benchmark.build]",
        "[[benchmark]]\nid = 'y'\nshell = 'true'\nbuild = {shell = 'true', qqqqqqqqqqqqqqqqq = 1}",
    ),
    ("[benchmark.python]", "[[benchmark]]\nid = 'y'\npython = {file = 'y.py', qqqqqqqqqqqqqqqqq = 1}"),
    ("[benchmark.cuda]", "[[benchmark]]\nid = 'y'\ncuda = {file = 'y.cu', qqqqqqqqqqqqqqqqq = 1}"),
    (
        "[[benchmark.cuda.arguments]]",
        "[[benchmark]]\nid = 'y'\ncuda = {file = 'y.cu', arguments = [{value = 1, qqqqqqqqqqqqqqqqq = 1}]}",
    ),
    (
        "[benchmark.cuda.arguments.tensor_map]",
        "[[benchmark]]\nid = 'y'\ncuda = {file = 'y.cu', arguments = [{input = 'f32', length = 1, tensor_map = {qqqqqqqqqqqqqqqqq = 1}}]}",
    ),
    (
        "[benchmark.cuda.reference]",
        "[[benchmark]]\nid = 'y'\ncuda = {grid = 1, block = 1, reference = {entry = 'y', qqqqqqqqqqqqqqqqq = 1}}",
    ),
    (
        "[benchmark.pairs]",
        "[[benchmark]]\nid = 'y'\ncommand = ['./y']\npairs = {extension = 'c', qqqqqqqqqqqqqqqqq = 1}",
    ),
    ("[benchmark.work]", "[[benchmark]]\nid = 'y'\nshell = 'true'\nwork = {qqqqqqqqqqqqqqqqq = 1}"),
    ("[benchmark.requires]", "[[benchmark]]\nid = 'y'\nshell = 'true'\nrequires = {qqqqqqqqqqqqqqqqq = 1}"),
    (
        "[benchmark.container]",
        "[[benchmark]]\nid = 'y'\nshell = 'true'\ntiming = 'protocol'\ncontainer = {image = 'i', qqqqqqqqqqqqqqqqq = 1}",
    ),
    (
        "[[benchmark.extract]]",
        "[[benchmark]]\nid = 'y'\nshell = 'true'\n\
         extract = [{metric = 'm', csv = 'c', qqqqqqqqqqqqqqqqq = 1}]",
    ),
];

fn reference() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/suite-file.md");
    std::fs::read_to_string(path).unwrap()
}

/// The rows of the table below a section's heading: key and default, without backticks.
fn rows(reference: &str, section: &str) -> BTreeMap<String, String> {
    let heading = format!("\n## `{section}`\n");
    let start = reference.find(&heading).unwrap_or_else(|| panic!("no section {section}")) + heading.len();
    let text = reference[start..].split("\n## ").next().unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 4, "{section}: {row}");
        (cells[0].trim_matches('`').to_owned(), cells[2].trim_matches('`').to_owned())
    })
    .fold(BTreeMap::new(), |mut rows, (key, value)| {
        assert!(rows.insert(key.clone(), value).is_none(), "{section}: {key} stands there twice");
        rows
    })
}

/// The keys that the reader says it takes.
fn accepted(text: &str) -> BTreeSet<String> {
    let text = format!("{text}\n{}", if text.contains("[[benchmark]]") { "" } else { SMALLEST });
    let fault = Suite::parse(Path::new("gbench.toml"), &text, &[]).unwrap_err();
    let unknown = |fault: &&Fault| fault.what.contains("has no key `qqqqqqqqqqqqqqqqq`");
    let fault = fault.each().find(unknown).unwrap_or_else(|| panic!("{text}: {fault}"));
    assert!(fault.next.starts_with("use one of "), "{}", fault.next);
    assert!(!fault.next.ends_with(" more"), "the advice no longer lists every key: {}", fault.next);
    fault.next.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_key_stands_in_the_reference_and_no_other() {
    let reference = reference();
    let of_defaults: BTreeSet<String> = rows(&reference, "[defaults]").into_keys().collect();
    for (section, text) in TABLES {
        let mut shown: BTreeSet<String> = rows(&reference, section).into_keys().collect();
        if section == "[[benchmark]]" {
            // It takes these as well, says the reference, and repeats only what it says more about.
            shown.extend(of_defaults.clone());
        }
        assert_eq!(shown, accepted(text), "{section}");
    }
    let sections: Vec<_> = reference.lines().filter_map(|line| line.strip_prefix("## `")).collect();
    assert_eq!(sections.len(), TABLES.len(), "a section is not held against the reader: {sections:?}");
}

#[test]
fn every_default_in_the_reference_is_what_config_show_prints() {
    let shown = gate().args(["config", "show", "--defaults", "--json"]).output().unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    let reference = reference();
    let mut checked = 0;
    let mut check = |prefix: &str, section: &str, values: &serde_json::Value| {
        let rows = rows(&reference, section);
        for (key, setting) in values.as_object().unwrap() {
            let Some(key) = key.strip_prefix(prefix).filter(|key| !key.contains('.')) else { continue };
            let value = match &setting["value"] {
                serde_json::Value::String(text) if text.is_empty() => "\"\"".into(),
                serde_json::Value::String(text) if !text.is_empty() => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(rows.get(key), Some(&value), "{section} {key}");
            checked += 1;
        }
    };
    let (suite, settings) = (&shown["suite"], &shown["defaults"]);
    check("run.", "[run]", suite);
    check("profile.", "[profile]", suite);
    check("launcher.", "[launcher]", suite);
    check("gate.", "[gate]", suite);
    check("gate.match.", "[gate.match]", suite);
    check("", "[defaults]", settings);
    check("deadlines.", "[defaults.deadlines]", settings);
    let all = suite.as_object().unwrap().len() + settings.as_object().unwrap().len();
    assert_eq!(checked, all, "a setting is in no section");
}

#[test]
fn every_example_of_the_reference_is_a_suite_file() {
    let reference = reference();
    let blocks: Vec<&str> =
        reference.split("```toml\n").skip(1).map(|s| s.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 4, "{} examples are found", blocks.len());
    for (index, text) in blocks.into_iter().enumerate() {
        let folder = crate::support::tempdir().unwrap();
        std::fs::write(folder.path().join("gbench.toml"), text).unwrap();
        std::fs::create_dir(folder.path().join("kernels")).unwrap();
        std::fs::write(folder.path().join("kernels/saxpy.cu"), "").unwrap();
        let listed = gate().args(["list", "--json"]).current_dir(&folder).output().unwrap();
        let errors = String::from_utf8_lossy(&listed.stderr);
        assert!(listed.status.success(), "example {index}: {errors}");
    }
}
