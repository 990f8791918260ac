//! Comparisons that are killed or interrupted and go on: in the end they are those that were never cut.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use gbench_ci::model::{RecordState, RunRecord};
use gbench_ci::run::{RoundsSession, StopReason, StoppingPolicy};
use gbench_ci::stats::seq_e::{SequentialLimits, Status, Version};
use gbench_ci::store::{ComparisonFolder, read_comparison};
use gbench_ci::suite::plan::RoundsPlan;

use crate::support::scripted::{
    Decided, Fate, Rounded, Scripted, Started, compare, essence, headers, new_folder, noisy, plan, rounds,
};

const LIMITS: SequentialLimits = SequentialLimits {
    version: Version::Three,
    alpha: 0.05,
    alpha_improved: 0.05,
    screen_rounds: 3,
    most_rounds: 12,
    beside: 0,
};

fn read(folder: &ComparisonFolder) -> Vec<RunRecord> {
    let (base, head, control) = read_comparison(folder.root()).unwrap();
    [Some(base), Some(head), control].into_iter().flatten().collect()
}

/// Goes on from what the folder holds.
fn go_on(
    plan: &RoundsPlan,
    script: &(dyn Fn(&Started, usize) -> Fate + Sync),
    folder: &ComparisonFolder,
    referee: &mut dyn StoppingPolicy,
) -> Vec<RunRecord> {
    let mut executor = Scripted::new(script);
    let run = RoundsSession { resume: read(folder), ..rounds(plan, &mut executor, folder) };
    let finished = run.run(headers(plan), referee).unwrap();
    assert_eq!(read(folder), finished.iter().map(|side| side.record.clone()).collect::<Vec<_>>());
    finished.into_iter().map(|side| side.record).collect()
}

/// Begins a comparison whose `at`-th process never returns: what it leaves is what a kill leaves.
fn killed(
    plan: &RoundsPlan,
    script: &(dyn Fn(&Started, usize) -> Fate + Sync),
    at: usize,
    artifacts: &Path,
    referee: &mut dyn StoppingPolicy,
) -> ComparisonFolder {
    let folder = new_folder(artifacts);
    let dies = |started: &Started, nth: usize| if nth == at { Fate::Killed } else { script(started, nth) };
    let ended = catch_unwind(AssertUnwindSafe(|| compare(plan, &dies, &folder, referee)));
    assert!(ended.is_err());
    folder
}

fn assert_same(whole: &[RunRecord], resumed: &[RunRecord], what: &str) {
    assert_eq!(whole.len(), resumed.len());
    for (whole, resumed) in whole.iter().zip(resumed) {
        assert_eq!(essence(whole), essence(resumed), "{what}");
        assert_eq!(resumed.state, RecordState::Complete, "{what}");
    }
}

/// One case breaks on the way, and one is a control.
fn eventful(started: &Started, nth: usize) -> Fate {
    match (started.case.as_str(), started.side, started.process) {
        ("s/breaks", "head", 1) => Fate::Fails,
        _ => noisy(started, nth),
    }
}

#[test]
fn a_comparison_killed_at_any_process_goes_on_as_if_nothing_had_been() {
    let artifacts = crate::support::tempdir().unwrap();
    let plan = plan(&["s/a", "s/breaks", "s/slow"], 2);
    let (whole, started) = compare(&plan, &eventful, &new_folder(artifacts.path()), &mut Rounded(3));
    let whole: Vec<RunRecord> = whole.into_iter().map(|side| side.record).collect();
    for at in 0..started.len() {
        let folder = killed(&plan, &eventful, at, artifacts.path(), &mut Rounded(3));
        let resumed = go_on(&plan, &eventful, &folder, &mut Rounded(3));
        assert_same(&whole, &resumed, &format!("killed at process {at}"));
        let note = resumed[0].warnings.last().unwrap();
        assert!(note.starts_with("resumed at 2") && note.contains(", after "), "{note}");
    }
}

/// Between the two journals of a round, or in the middle of a line.
#[test]
fn a_kill_while_journals_are_written_costs_the_running_round_only() {
    let artifacts = crate::support::tempdir().unwrap();
    let plan = plan(&["s/a", "s/slow"], 1);
    let (whole, _) = compare(&plan, &noisy, &new_folder(artifacts.path()), &mut Rounded(3));
    let whole: Vec<RunRecord> = whole.into_iter().map(|side| side.record).collect();
    for side in ["base", "head", "control"] {
        for cut in [1, 40, usize::MAX] {
            let folder = killed(&plan, &noisy, 12, artifacts.path(), &mut Rounded(3));
            let path = folder.root().join(side).join("results/journal.jsonl");
            let text = std::fs::read_to_string(&path).unwrap();
            let last = text.trim_end().rfind('\n').unwrap() + 1;
            let kept = text.len() - cut.min(text.len() - last);
            std::fs::write(&path, &text[..kept]).unwrap();
            let records = read(&folder);
            assert!(records.iter().all(|record| record.state == RecordState::Recovered));
            for case in &records[1].cases {
                let base = records[0].cases.iter().find(|other| other.id == case.id).unwrap();
                assert_eq!(case.processes.len(), base.processes.len(), "{side} {cut}");
                assert_eq!(case.metrics[0].processes.len(), case.processes.len());
            }
            assert_same(&whole, &go_on(&plan, &noisy, &folder, &mut Rounded(3)), &format!("{side} {cut}"));
        }
    }
}

#[test]
fn interrupting_again_and_again_changes_no_verdict() {
    let artifacts = crate::support::tempdir().unwrap();
    let plan = plan(&["s/a", "s/b", "s/slow", "s/c"], 1);
    let (whole, started) = compare(&plan, &noisy, &new_folder(artifacts.path()), &mut Decided(LIMITS));
    let whole: Vec<RunRecord> = whole.into_iter().map(|side| side.record).collect();
    let verdicts = Decided(LIMITS).statuses(&whole[0], &whole[1]);
    assert_eq!(verdicts[2].0, Status::Regressed, "{verdicts:?}");
    assert!(started.len() > 30, "{}", started.len());
    for at in (0..started.len()).step_by(3) {
        let interrupted = |started: &Started, nth: usize| match nth == at {
            true => Fate::Ends(StopReason::Interrupt(15)),
            false => noisy(started, nth),
        };
        let folder = new_folder(artifacts.path());
        compare(&plan, &interrupted, &folder, &mut Decided(LIMITS));
        // Cut a second time, soon after; then killed; then left alone.
        let soon = |started: &Started, nth: usize| match nth {
            7 => Fate::Ends(StopReason::Interrupt(2)),
            _ => noisy(started, nth),
        };
        let mut executor = Scripted::new(&soon);
        let run = RoundsSession { resume: read(&folder), ..rounds(&plan, &mut executor, &folder) };
        run.run(headers(&plan), &mut Decided(LIMITS)).unwrap();
        let dies = |started: &Started, nth: usize| if nth == 4 { Fate::Killed } else { noisy(started, nth) };
        let mut executor = Scripted::new(&dies);
        let run = RoundsSession { resume: read(&folder), ..rounds(&plan, &mut executor, &folder) };
        // Where fewer processes are left than that, it simply ends.
        let _ = catch_unwind(AssertUnwindSafe(|| run.run(headers(&plan), &mut Decided(LIMITS)).map(drop)));
        let resumed = go_on(&plan, &noisy, &folder, &mut Decided(LIMITS));
        assert_same(&whole, &resumed, &format!("interrupted at {at}"));
        assert_eq!(Decided(LIMITS).statuses(&resumed[0], &resumed[1]), verdicts);
    }
}

#[test]
fn a_finished_comparison_takes_more_rounds() {
    let artifacts = crate::support::tempdir().unwrap();
    let plan = plan(&["s/a", "s/b"], 1);
    let (whole, _) = compare(&plan, &noisy, &new_folder(artifacts.path()), &mut Rounded(5));
    let whole: Vec<RunRecord> = whole.into_iter().map(|side| side.record).collect();
    let folder = new_folder(artifacts.path());
    compare(&plan, &noisy, &folder, &mut Rounded(2));
    let resumed = go_on(&plan, &noisy, &folder, &mut Rounded(5));
    assert_same(&whole, &resumed, "two rounds and three more");
    assert!(resumed[0].warnings.last().unwrap().ends_with("after 2 rounds"));
    assert!(!folder.root().join("base/results/journal.jsonl").exists());
}

#[test]
fn another_comparison_is_not_gone_on_with() {
    let artifacts = crate::support::tempdir().unwrap();
    let first = plan(&["s/a", "s/b"], 0);
    let folder = new_folder(artifacts.path());
    compare(&first, &noisy, &folder, &mut Rounded(2));
    let refused = |plan: &RoundsPlan, headers: Vec<RunRecord>| {
        let mut executor = Scripted::new(&noisy);
        let run = RoundsSession { resume: read(&folder), ..rounds(plan, &mut executor, &folder) };
        let fault = run.run(headers, &mut Rounded(3)).unwrap_err().to_string();
        assert!(executor.started.is_empty());
        assert!(fault.contains("cannot be resumed"), "{fault}");
        fault
    };
    let other = plan(&["s/a", "s/c"], 0);
    assert!(refused(&other, headers(&other)).contains("it has other cases"));
    let with_control = plan(&["s/a", "s/b"], 1);
    assert!(refused(&with_control, headers(&with_control)).contains("it has 2 sides"));
    let mut changed = headers(&first);
    changed[1].source.sha256 = Some("00".into());
    assert!(refused(&first, changed).contains("the suite file has changed"));
    let mut turned = headers(&first);
    turned.reverse();
    assert!(refused(&first, turned).contains("its sides are others"));
    assert!(read(&folder).iter().all(|record| record.state == RecordState::Complete), "nothing was touched");
}

/// A journal grows with the record, whatever the number of rounds.
#[test]
fn a_journal_grows_by_what_is_new() {
    let artifacts = crate::support::tempdir().unwrap();
    let plan = plan(&["s/a"], 0);
    let length = |rounds: usize| {
        let folder = killed(&plan, &noisy, rounds * 2, artifacts.path(), &mut Rounded(u32::MAX));
        std::fs::metadata(folder.root().join("base/results/journal.jsonl")).unwrap().len()
    };
    let (ten, twenty, forty) = (length(10), length(20), length(40));
    let (first, second) = (twenty - ten, forty - twenty);
    assert!(second < first * 2 + 200, "{ten} {twenty} {forty}");
}
