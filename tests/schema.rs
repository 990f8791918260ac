//! The public documents keep to their checked-in schemas, and the schemas to the types.

use std::path::{Path, PathBuf};

use gbench_ci::app::discover::V1Discovery;
use gbench_ci::compare::{
    AcceptanceLedger, Calibration, LandedDecision, Merged, Policy, SideInput, VerdictDocument, compare,
};
use gbench_ci::history::HistoryEntry;
use gbench_ci::model::{BisectDocument, BisectEntry, Documented, Job, RunRecord, Shard};
use gbench_ci::report::V1Profiles;
use gbench_ci::trend::TrendsDocument;
use serde_json::Value;

use crate::support::{fixture, history};

fn schema_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema").join(name)
}

fn read(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Fails with every complaint of the validator.
fn valid(schema: &jsonschema::Validator, document: &Value, name: &str) {
    let complaints: Vec<String> =
        schema.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(complaints.is_empty(), "{name}: {complaints:#?}");
}

/// Every JSON file below a folder of `fixtures/`, in order.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn the_checked_in_schemas_are_those_of_the_types() {
    let schemas = [
        ("record-v2.json", RunRecord::schema()),
        ("verdict-v2.json", VerdictDocument::schema()),
        ("calibration-v1.json", Calibration::schema()),
        ("merged-v1.json", Merged::schema()),
        ("job-v1.json", Job::schema()),
        ("history-v1.json", HistoryEntry::schema()),
        ("acceptances-v1.json", AcceptanceLedger::schema()),
        ("accepted-v1.json", LandedDecision::schema()),
        ("discovery-v1.json", V1Discovery::schema()),
        ("trends-v1.json", TrendsDocument::schema()),
        ("bisect-v1.json", BisectDocument::schema()),
        ("profiles-v1.json", V1Profiles::schema()),
        ("bisect-state-v1.json", BisectEntry::schema()),
    ];
    for (name, schema) in schemas {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::create_dir_all(schema_path("")).unwrap();
            std::fs::write(schema_path(name), &text).unwrap();
        }
        let found = std::fs::read_to_string(schema_path(name)).unwrap();
        assert!(found == text, "docs/schema/{name} differs from the types: run with UPDATE_SCHEMAS=1");
    }
}

#[test]
fn every_record_among_the_fixtures_keeps_to_the_schema() {
    let schema = jsonschema::validator_for(&RunRecord::schema()).unwrap();
    let mut files = files_below(&fixture("comparisons"));
    files.extend(files_below(&fixture("records")));
    assert!(files.len() >= 51);
    for file in files {
        valid(&schema, &read(&file), &file.display().to_string());
    }
}

#[test]
fn what_a_matrix_leaves_keeps_to_the_schemas() {
    let schemas = [
        ("merged.json", Merged::schema()),
        ("verdict.json", VerdictDocument::schema()),
        ("job.json", Job::schema()),
    ];
    let files = files_below(&fixture("merged"));
    assert!(files.len() >= 22);
    for file in files {
        let (_, schema) = schemas.iter().find(|(name, _)| file.ends_with(name)).unwrap();
        let schema = jsonschema::validator_for(schema).unwrap();
        valid(&schema, &read(&file), &file.display().to_string());
    }
}

#[test]
fn the_verdict_on_every_pair_keeps_to_the_schema() {
    let schema = jsonschema::validator_for(&VerdictDocument::schema()).unwrap();
    for file in files_below(&fixture("verdicts")) {
        valid(&schema, &read(&file), &file.display().to_string());
    }
    let folders = std::fs::read_dir(fixture("comparisons")).unwrap();
    let folders: Vec<PathBuf> = folders.map(|entry| entry.unwrap().path()).collect();
    assert!(folders.len() >= 24);
    for folder in folders {
        let record = |name| -> RunRecord { serde_json::from_value(read(&folder.join(name))).unwrap() };
        let (base, head) = (record("base.json"), record("head.json"));
        let side = |record, name: &str| SideInput { record, name: name.into() };
        let document = compare(&side(&base, "base"), &side(&head, "head"), &Policy::default()).unwrap();
        valid(&schema, &serde_json::to_value(&document).unwrap(), &folder.display().to_string());
    }
}

#[test]
fn a_run_of_a_history_keeps_to_the_schema() {
    let schema = jsonschema::validator_for(&HistoryEntry::schema()).unwrap();
    let entry = history::entry(1);
    let shard = Some(Shard { index: 2, of: 3 });
    let whole = HistoryEntry { label: "h100".into(), shard, base: Some("ab".repeat(20)), ..entry.clone() };
    let bare = HistoryEntry { conclusion: None, exit_code: None, ..entry.clone() };
    for entry in [entry, whole, bare] {
        valid(&schema, &serde_json::to_value(&entry).unwrap(), "history");
    }
}

/// The schemas of earlier versions are contracts too: they stand as they were, and what was written then keeps to them.
#[test]
fn old_documents_keep_to_the_schema_of_their_time_and_to_the_newest() {
    let newest = [RunRecord::schema(), VerdictDocument::schema()];
    let kinds = [("records/v1", "record-v1.json"), ("verdicts/v1", "verdict-v1.json")];
    for ((folder, schema), newest) in kinds.into_iter().zip(newest) {
        let of_its_time = jsonschema::validator_for(&read(&schema_path(schema))).unwrap();
        let newest = jsonschema::validator_for(&newest).unwrap();
        let files = files_below(&fixture(folder));
        assert!(!files.is_empty());
        for file in files {
            valid(&of_its_time, &read(&file), &file.display().to_string());
            valid(&newest, &read(&file), &file.display().to_string());
        }
    }
}

#[test]
fn the_schema_refuses_what_the_reader_would_refuse() {
    let schema = jsonschema::validator_for(&RunRecord::schema()).unwrap();
    let good = read(&fixture("comparisons/same/base.json"));
    type Change = (&'static str, fn(&mut Value));
    let changes: [Change; 4] = [
        ("a field that does not exist", |record| record["surprise"] = 1.into()),
        ("a missing field", |record| drop(record.as_object_mut().unwrap().remove("manifest"))),
        ("an unknown outcome", |record| record["cases"][0]["outcome"]["status"] = "fine".into()),
        ("a value that is text", |record| {
            record["cases"][0]["metrics"][0]["processes"][0]["values"][0] = "fast".into();
        }),
    ];
    for (what, change) in changes {
        let mut bad = good.clone();
        change(&mut bad);
        assert!(!schema.is_valid(&bad), "{what}");
        assert!(serde_json::from_value::<RunRecord>(bad).is_err(), "{what}");
    }
}

/// The codes of one type in a schema, each with its figures and whether they are always there.
fn codes(schema: &Value, name: &str) -> Vec<(String, Vec<(String, bool)>)> {
    let code = |variant: &Value| {
        let required = variant["required"].as_array().unwrap();
        let fields = variant["properties"].as_object().unwrap().keys().filter(|field| *field != "code");
        let fields = fields.map(|field| (field.clone(), required.iter().any(|name| name == field)));
        (variant["properties"]["code"]["const"].as_str().unwrap().to_owned(), fields.collect())
    };
    schema["$defs"][name]["oneOf"].as_array().unwrap().iter().map(code).collect()
}

#[test]
fn the_page_of_codes_lists_every_code_once_with_its_figures() {
    let page = std::fs::read_to_string(schema_path("../reasons.md")).unwrap();
    let schema = VerdictDocument::schema();
    let codes: Vec<_> =
        ["Reason", "Advice", "Warning"].into_iter().flat_map(|name| codes(&schema, name)).collect();
    let listed: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    for (code, figures) in &codes {
        let of_code = format!("| `{code}` | ");
        let lines: Vec<&&str> = listed.iter().filter(|line| line.starts_with(&of_code)).collect();
        let [line] = lines.as_slice() else { panic!("{code} stands in {} lines", lines.len()) };
        let cell = line[of_code.len()..].split(" |").next().unwrap();
        let mut shown: Vec<&str> = cell.trim().split(", ").filter(|figure| !figure.is_empty()).collect();
        let mut held: Vec<String> = figures
            .iter()
            .map(|(figure, always)| if *always { format!("`{figure}`") } else { format!("(`{figure}`)") })
            .collect();
        shown.sort_unstable();
        held.sort_unstable();
        assert_eq!(shown, held, "{code}");
        assert!(!line.ends_with("|  |"), "{code} has a meaning");
    }
    assert_eq!(listed.len(), codes.len(), "the page lists a code that there is not");
}
