//! Records are a contract between years: what an earlier version wrote is read, says the same again, and gives the same
//! verdict.

use gbench_ci::compare::VerdictDocument;
use gbench_ci::store::read_record;

use crate::support::{fixture, gate};

#[test]
fn every_record_of_version_1_is_read_and_nothing_of_it_is_lost() {
    let entries = std::fs::read_dir(fixture("records/v1")).unwrap().flatten().map(|entry| entry.path());
    let records: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    assert!(records.len() >= 3);
    for path in records {
        let record = read_record(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let before: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_value(&record).unwrap(), before, "{}", path.display());
    }
}

#[test]
fn a_stored_verdict_comes_out_the_same_from_its_records() {
    let replayed = gate()
        .args(["compare", "demo-base.json", "demo-head.json", "--format", "json"])
        .current_dir(fixture("records/v1"))
        .output()
        .unwrap();
    let stored = std::fs::read_to_string(fixture("verdicts/v1/demo.json")).unwrap();
    let stored: VerdictDocument = serde_json::from_str(&stored).unwrap();
    assert_eq!(replayed.status.code(), Some(i32::from(stored.exit_code)));
    let replayed: VerdictDocument = serde_json::from_slice(&replayed.stdout).unwrap();
    // The words may grow clearer over the years; the figures and verdicts may not move by a bit.
    assert_eq!(replayed.counts, stored.counts);
    assert_eq!(replayed.conclusion, stored.conclusion);
    for (now, then) in replayed.rows.iter().zip(&stored.rows) {
        assert_eq!((&now.case, now.verdict, &now.change), (&then.case, then.verdict, &then.change));
        assert_eq!((&now.base, &now.head), (&then.base, &then.head));
    }
}
