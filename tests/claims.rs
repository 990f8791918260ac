//! Records are held against what they say of themselves before anything is said by them; and which comparison is the
//! latest.

use std::path::{Path, PathBuf};

use gbench_ci::model::{Exit, RecordState};
use gbench_ci::store::{latest_comparison, read_sides};
use gbench_ci::suite::plan::check_claims;

use crate::support::cli::ran;
use crate::support::fixture;
use crate::support::repository::{Repository, UNWATCHED, copy, edit, suite};

/// A finished comparison with a control, three rounds of some cases and more of others.
fn compared() -> Repository {
    let text = suite(UNWATCHED, "");
    let it = Repository::new(&[("gbench.toml", &text)], &[("cost", "1.1\n")]);
    it.compare("HEAD~1..HEAD --order-seed 11").exits(1);
    it
}

/// Every way to a verdict refuses what lies in the latest comparison's folder, and prints no verdict.
fn is_refused(it: &Repository, words: &str) {
    let folder = it.latest();
    let folder = folder.display();
    let id = it.latest();
    let id = id.file_name().unwrap().to_str().unwrap();
    for line in [
        "replay".to_owned(),
        format!("replay {id} --format json"),
        format!("report {folder}/reports/verdict.json"),
        format!("compare --resume {id} --quiet"),
        format!("compare {folder}/base/results/record.json {folder}/head/results/record.json"),
        "explain c0".to_owned(),
    ] {
        let ran = ran(it.root(), &line).exits(4).says(words);
        assert_eq!(ran.out, "", "{line}");
    }
}

/// What must be said, and what is done to the folder before.
type Broken<'a> = (&'a str, &'a dyn Fn(&Path));

/// The same for a changed copy of the comparison, put back afterwards.
fn each_is_refused(it: &Repository, changes: &[Broken]) {
    let kept = crate::support::tempdir().unwrap();
    let folder = it.latest();
    copy(&folder, kept.path());
    for (words, change) in changes {
        change(&folder);
        is_refused(it, words);
        std::fs::remove_dir_all(&folder).unwrap();
        copy(kept.path(), &folder);
    }
    ran(it.root(), "replay").exits(1).says("identical to");
}

#[test]
fn n7_records_that_break_their_own_claims_are_refused_before_any_verdict() {
    let it = compared();
    each_is_refused(
        &it,
        &[
            ("its SHA-256 is not that of SHA256SUMS", &|folder| {
                let path = folder.join("head/results/record.json");
                let text = std::fs::read_to_string(&path).unwrap();
                std::fs::write(&path, text.replacen("0.0011", "0.0010", 1)).unwrap();
            }),
            ("SHA256SUMS does not name the record", &|folder| {
                std::fs::write(folder.join("base/results/SHA256SUMS"), "").unwrap();
            }),
            ("another order than the seed implies", &|folder| {
                for side in ["base", "head"] {
                    edit(folder, side, |record| {
                        let slot = record.cases[1].processes[2].slot.as_mut().unwrap();
                        *slot = 1 - *slot;
                    });
                }
            }),
            ("two sides have the same position", &|folder| {
                edit(folder, "head", |record| {
                    let slot = record.cases[1].processes[0].slot.as_mut().unwrap();
                    *slot = 1 - *slot;
                });
            }),
            ("does not record which side went first", &|folder| {
                edit(folder, "head", |record| record.cases[1].processes[0].slot = None);
            }),
            ("round 1 of s/c2 is missing", &|folder| {
                for side in ["base", "head"] {
                    edit(folder, side, |record| {
                        record.cases[2].processes.remove(1);
                        record.cases[2].metrics[0].processes.remove(1);
                    });
                }
            }),
            ("round 1 of s/c2 appears twice", &|folder| {
                for side in ["base", "head"] {
                    edit(folder, side, |record| {
                        let case = &mut record.cases[2];
                        case.processes.insert(2, case.processes[1].clone());
                    });
                }
            }),
            ("the samples of `time` of s/c2", &|folder| {
                edit(folder, "head", |record| {
                    let samples = &mut record.cases[2].metrics[0].processes;
                    samples[2].process = 1;
                });
            }),
            ("rounds on one side", &|folder| {
                edit(folder, "head", |record| {
                    let case = &mut record.cases[2];
                    let last = case.processes.len() - 1;
                    case.processes.truncate(last);
                    case.metrics[0].processes.truncate(last);
                });
            }),
            ("differ in their seed", &|folder| {
                edit(folder, "head", |record| record.comparison.as_mut().unwrap().seed = 12);
            }),
            ("the order was drawn with 11", &|folder| {
                for side in ["base", "head", "control"] {
                    edit(folder, side, |record| record.comparison.as_mut().unwrap().seed = 12);
                }
            }),
            ("differ in their policy", &|folder| {
                edit(folder, "head", |record| {
                    record.comparison.as_mut().unwrap().policy.threshold = Some(0.5);
                });
            }),
            ("differ in their rule", &|folder| {
                edit(folder, "head", |record| record.comparison.as_mut().unwrap().rule.alpha = 0.5);
            }),
        ],
    );
}

/// With another seed the order of some round is another one, whatever else agrees.
#[test]
fn n7_a_seed_that_does_not_give_the_order_is_refused() {
    let it = compared();
    for side in ["base", "head", "control"] {
        edit(&it.latest(), side, |record| {
            record.comparison.as_mut().unwrap().seed = 12;
            record.config.get_mut("coin_seed").unwrap().value = 12.into();
        });
    }
    is_refused(&it, "another order than the seed implies");
}

/// The folder of every comparison that is kept here, whatever is missing in it.
fn kept(below: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(below).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir()) {
        let path = entry.path();
        match path.join("base").is_dir() && path.join("head").is_dir() {
            true => found.push(path),
            false => kept(&path, found),
        }
    }
}

#[test]
fn n7_records_that_were_kept_before_still_hold() {
    let mut found = Vec::new();
    for name in ["rounds", "rounds_gaps"] {
        kept(&fixture(name), &mut found);
    }
    assert!(found.len() > 3, "{found:?}");
    for folder in found {
        let (base, head, control) = read_sides(&folder).unwrap();
        check_claims(&base, &head, control.as_ref()).unwrap_or_else(|fault| panic!("{folder:?}: {fault:?}"));
    }
}

/// What a gate left that was killed between the two sides of a round: legitimate, and gone on with.
#[test]
fn n7_a_round_that_a_kill_left_half_written_is_no_broken_claim() {
    let it = compared();
    let (base, mut head, control) = read_sides(&it.latest()).unwrap();
    let case = &mut head.cases[2];
    let last = case.processes.len() - 1;
    case.processes.truncate(last);
    case.metrics[0].processes.truncate(last);
    let refused = check_claims(&base, &head, control.as_ref()).unwrap_err();
    assert_eq!(refused.exit, Exit::Failed);
    head.state = RecordState::Recovered;
    check_claims(&base, &head, control.as_ref()).unwrap();
}

#[test]
fn n8_the_latest_comparison_is_the_one_started_last_and_not_the_largest_id() {
    let text = suite(UNWATCHED, "");
    let it = Repository::new(&[("gbench.toml", &text)], &[]);
    it.compare("HEAD~1..HEAD").exits(0);
    // As if its clock had been years ahead: the folder and the records bear the id that it gave.
    let artifacts = it.root().join("artifacts");
    let (then, ahead) = (it.latest(), artifacts.join("20991231T000000.000Z-00beef"));
    std::fs::rename(&then, &ahead).unwrap();
    let id = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    for side in ["base", "head", "control"] {
        edit(&ahead, side, |record| {
            record.comparison.as_mut().unwrap().id = id(&ahead).parse().unwrap();
        });
    }
    ran(it.root(), "replay").says("reports/verdict.json");

    it.commit(&[("cost", "1.1\n")]);
    it.compare("HEAD~1..HEAD").exits(1);
    let newest = latest_comparison(&artifacts).unwrap();
    assert_ne!(newest, ahead);
    ran(it.root(), "replay").exits(1).says(&id(&newest));
    ran(it.root(), "compare --resume --quiet").exits(1);
    assert_eq!(latest_comparison(&artifacts).unwrap(), newest);
}
