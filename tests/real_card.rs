//! What a real card gave (`fixtures/gpu/*-DATE`, kept by `tests/gpu/keep.sh`): its records give the verdicts that were given there.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::cli::ran;
use crate::support::fixture;

fn cards() -> Vec<PathBuf> {
    let folders = std::fs::read_dir(fixture("gpu")).unwrap().map(|entry| entry.unwrap().path());
    let cards: Vec<_> = folders.filter(|folder| folder.join("records").is_dir()).collect();
    assert!(!cards.is_empty());
    cards
}

#[test]
fn each_comparison_on_a_card_is_judged_again_bit_for_bit() {
    for card in cards() {
        let all = ["comment", "slow", "planted", "lockstep", "itself"];
        let kept = all.into_iter().filter(|name| card.join(format!("verdicts/{name}.json")).exists());
        let kept: Vec<_> = kept.collect();
        assert!(kept.len() >= 3, "{kept:?}");
        for name in kept {
            let words = format!(
                "replay records/{name}-base.json records/{name}-head.json --control records/{name}-control.json --format json"
            );
            let again = ran(&card, &words).out;
            let then = std::fs::read_to_string(card.join(format!("verdicts/{name}.json"))).unwrap();
            let [again, then] = [again, then].map(|text| serde_json::from_str::<Value>(&text).unwrap());
            assert!(again == then, "{name} of {}", card.display());
        }
    }
}

#[test]
fn each_record_of_a_card_is_read_and_reported() {
    for card in cards() {
        let names = std::fs::read_dir(card.join("records")).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        for name in names {
            ran(&card, &format!("report records/{name}")).exits(0).says("time");
        }
    }
}
