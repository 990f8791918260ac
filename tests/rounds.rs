//! Comparisons in rounds: what is measured, in which order, and what becomes of cases that break or are cut short.

use std::cell::Cell;

use gbench_ci::model::{Conditions, EndedProcess, Outcome, ProcessEnd, RecordState, RunId};
use gbench_ci::run::{ConditionsProbe, NextRound, RoundsState, StopReason, StoppingPolicy, Supervised};
use gbench_ci::store::{ComparisonFolder, latest_comparison, latest_run, read_comparison, read_record};
use gbench_ci::suite::Suite;
use gbench_ci::suite::plan::{RoundsPlan, RunOrder};

use crate::support::scripted::{
    Fate, Rounded, Scripted, Started, compare, headers, new_folder, noisy, plan, rounds, suite,
};
use crate::support::{folder_with, gbench};

#[test]
fn every_round_gives_each_side_a_process_in_the_drawn_order() {
    let folder = crate::support::tempdir().unwrap();
    let plan = plan(&["s/a", "s/b"], 1);
    let comparison = new_folder(folder.path());
    let (finished, started) = compare(&plan, &noisy, &comparison, &mut Rounded(6));
    assert_eq!(started.len(), 6 * 5, "two cases on two sides, and one control");
    let control = plan.of_arm(2).next().unwrap().id.clone();
    for round in 0..6 {
        for (arm, side) in finished.iter().enumerate() {
            for case in &side.record.cases {
                let process = &case.processes[round as usize];
                let all = if case.id == control { 3 } else { 2 };
                let slot =
                    RunOrder::from(7).in_round(&case.id, round, all).iter().position(|index| *index == arm);
                assert_eq!((process.index, process.round), (round, Some(round)));
                assert_eq!(process.slot.map(usize::from), slot);
            }
        }
    }
    for side in &finished {
        assert_eq!(side.record.state, RecordState::Complete);
        assert_eq!(side.interrupted, None);
        for case in &side.record.cases {
            assert_eq!(case.outcome, Outcome::Measured);
            assert_eq!(case.metrics[0].summary.as_ref().unwrap().samples, 12);
        }
        assert_eq!(read_record(side.folder.root()).unwrap(), side.record);
    }
    let (base, head, control) = read_comparison(comparison.root()).unwrap();
    assert_eq!((&base, &head), (&finished[0].record, &finished[1].record));
    assert_eq!(control.as_ref(), Some(&finished[2].record));
    assert_eq!(latest_comparison(folder.path()).as_deref(), Some(comparison.root()));
    assert_eq!(latest_run(folder.path()), None, "a side is no run of its own");
}

#[test]
fn what_one_side_alone_has_is_measured_once() {
    let folder = crate::support::tempdir().unwrap();
    let (base, head) = (suite(&["s/a", "s/gone"], "/base"), suite(&["s/a", "s/new"], "/head"));
    let plan = RoundsPlan::new(&base, &head, &[], 7);
    let (finished, _) = compare(&plan, &noisy, &new_folder(folder.path()), &mut Rounded(4));
    let processes = |side: usize| -> Vec<usize> {
        finished[side].record.cases.iter().map(|case| case.processes.len()).collect()
    };
    assert_eq!((processes(0), processes(1)), (vec![4, 1], vec![4, 1]));
    assert!(finished.iter().all(|side| side.record.cases.iter().all(|case| case.outcome.is_measured())));
}

#[test]
fn a_side_that_breaks_ends_its_pair_and_no_other() {
    let folder = crate::support::tempdir().unwrap();
    let plan = plan(&["s/a", "s/b", "s/c"], 0);
    let script = |started: &Started, nth: usize| match (started.case.as_str(), started.side, started.process)
    {
        ("s/b", "head", 2) | ("s/c", _, 0) => Fate::Fails,
        _ => noisy(started, nth),
    };
    let (finished, started) = compare(&plan, &script, &new_folder(folder.path()), &mut Rounded(5));
    let case = |side: usize, index: usize| &finished[side].record.cases[index];
    assert_eq!((case(0, 0).processes.len(), case(1, 0).processes.len()), (5, 5));
    // The round in which it broke is carried through: it says that the base still works.
    assert_eq!((case(0, 1).processes.len(), case(1, 1).processes.len()), (3, 3));
    assert_eq!(case(0, 1).outcome, Outcome::Measured);
    assert!(case(1, 1).outcome.is_failure());
    assert!(case(0, 2).outcome.is_failure() && case(1, 2).outcome.is_failure());
    assert_eq!(started.iter().filter(|started| started.case == "s/c").count(), 2);
}

#[test]
fn a_head_that_cannot_be_built_leaves_base_unmeasured() {
    let suite = |build: &str| {
        format!(
            "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"a\"\ncommand = [\"./child\", \"ok\", \"0.1\"]\n\
             timing = \"protocol\"\nbuild = [\"sh\", \"-c\", \"{build}\"]\n"
        )
    };
    let (base, head) = (folder_with(&suite("echo built >>builds")), folder_with(&suite("exit 3")));
    let load = |folder: &tempfile::TempDir| Suite::load(&folder.path().join("gbench.toml"), &[]).unwrap();
    let (base_suite, head_suite) = (load(&base), load(&head));
    let controls = gbench_ci::suite::plan::common_cases(&base_suite, &head_suite);
    let plan = RoundsPlan::new(&base_suite, &head_suite, &controls, 1);
    let artifacts = crate::support::tempdir().unwrap();
    let comparison = new_folder(artifacts.path());
    let mut executor = Supervised::new(gbench(), None, false).unwrap();
    let mut run = rounds(&plan, &mut executor, &comparison);
    run.session.binary = gbench();
    let finished = run.run(headers(&plan), &mut Rounded(3)).unwrap();
    let [base_case, head_case, control] = [0, 1, 2].map(|side| &finished[side].record.cases[0]);
    assert!(matches!(base_case.outcome, Outcome::NotRun { .. }), "{:?}", base_case.outcome);
    assert!(base_case.processes.is_empty());
    assert!(head_case.outcome.cause().contains("the build step ended with exit code 3"));
    assert!(matches!(control.outcome, Outcome::NotRun { .. }), "a control of nothing: {:?}", control.outcome);
    assert_eq!(std::fs::read_to_string(base.path().join("builds")).unwrap(), "built\n", "once for both arms");
}

#[test]
fn real_processes_are_compared_side_by_side() {
    let suite = "[suite]\nname = \"s\"\n[defaults]\ntiming = \"protocol\"\n[[benchmark]]\nid = \"ok\"\n\
                 command = [\"./child\", \"ok\", \"0.1\"]\nmatrix.n = [1, 2]\n\
                 [[benchmark]]\nid = \"wrong\"\ncommand = [\"./child\", \"wrong\"]\n";
    let (base, head) = (folder_with(suite), folder_with(suite));
    let load = |folder: &tempfile::TempDir| Suite::load(&folder.path().join("gbench.toml"), &[]).unwrap();
    let plan = RoundsPlan::new(&load(&base), &load(&head), &[], 1);
    let artifacts = crate::support::tempdir().unwrap();
    let comparison = new_folder(artifacts.path());
    let mut executor = Supervised::new(gbench(), None, false).unwrap();
    let mut run = rounds(&plan, &mut executor, &comparison);
    run.session.binary = gbench();
    let finished = run.run(headers(&plan), &mut Rounded(3)).unwrap();
    for side in &finished {
        let [one, two, wrong] = side.record.cases.as_slice() else { panic!("three cases") };
        for case in [one, two] {
            assert_eq!((&case.outcome, case.processes.len()), (&Outcome::Measured, 3));
            assert!(case.processes.iter().all(|process| process.end == Some(ProcessEnd::Exit(0))));
            assert!(case.metrics[0].processes.iter().all(|samples| samples.values.len() == 5));
        }
        assert!(matches!(wrong.outcome, Outcome::Invalid { .. }));
        assert_eq!(wrong.processes.len(), 1);
    }
    crate::runner::assert_nothing_alive(base.path());
}

/// Half a round is no round: nothing of it is in the records.
#[test]
fn an_interrupt_leaves_whole_rounds_only() {
    let plan = plan(&["s/a", "s/b"], 1);
    let whole = 4 * 5;
    for at in 0..whole {
        let folder = crate::support::tempdir().unwrap();
        let script = |started: &Started, nth: usize| match nth == at {
            true => Fate::Ends(StopReason::Interrupt(2)),
            false => noisy(started, nth),
        };
        let (finished, started) = compare(&plan, &script, &new_folder(folder.path()), &mut Rounded(4));
        assert_eq!(started.len(), at + 1, "nothing is started after it");
        for side in &finished {
            assert_eq!((side.interrupted, side.record.state), (Some(2), RecordState::Interrupted));
            assert!(side.record.warnings[0].contains("SIGINT ended it"));
            for case in &side.record.cases {
                let base = finished[0].record.cases.iter().find(|other| other.id == case.id).unwrap();
                assert_eq!(case.processes.len(), base.processes.len(), "process {at}");
                let samples = case.metrics.first().map_or(0, |metric| metric.processes.len());
                assert_eq!(samples, case.processes.len());
                match samples {
                    0 => assert!(case.outcome.cause().contains("SIGINT came before its turn")),
                    _ => assert_eq!(case.outcome, Outcome::Measured),
                }
            }
        }
    }
}

#[test]
fn the_suites_deadline_ends_the_rounds() {
    let folder = crate::support::tempdir().unwrap();
    let script = |started: &Started, nth: usize| match nth {
        5 => Fate::Ends(StopReason::RunDeadline),
        _ => noisy(started, nth),
    };
    let (finished, _) = compare(&plan(&["s/a"], 0), &script, &new_folder(folder.path()), &mut Rounded(9));
    assert_eq!(finished[0].record.state, RecordState::Interrupted);
    assert_eq!((finished[0].interrupted, finished[0].record.cases[0].processes.len()), (None, 2));
    assert!(finished[1].record.warnings[0].contains("its deadline came"));
}

/// Time for so many rounds of single cases.
struct Budget(Cell<u32>);

impl StoppingPolicy for Budget {
    fn next(&mut self, state: &RoundsState<'_>) -> NextRound {
        NextRound::Measure(state.open())
    }

    fn may_start(&mut self, pair: usize, state: &RoundsState<'_>) -> bool {
        assert!(state.pairs[pair].rounds == 0 || state.pairs[pair].seconds_per_round().is_some());
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        left > 0
    }
}

#[test]
fn where_the_time_is_up_a_round_ends_between_two_cases() {
    let folder = crate::support::tempdir().unwrap();
    let plan = plan(&["s/a", "s/b", "s/c"], 0);
    let rounds_of = |budget: u32| -> Vec<usize> {
        let (finished, _) =
            compare(&plan, &noisy, &new_folder(folder.path()), &mut Budget(Cell::new(budget)));
        assert_eq!(finished[0].record.state, RecordState::Complete);
        let unmeasured = finished[1].record.cases.iter().filter(|case| case.processes.is_empty());
        assert!(unmeasured.clone().all(|case| case.outcome.cause().contains("before its first")));
        finished[1].record.cases.iter().map(|case| case.processes.len()).collect()
    };
    assert_eq!(rounds_of(5), [2, 2, 1]);
    assert_eq!(rounds_of(1), [1, 0, 0]);
    assert_eq!(rounds_of(0), [0, 0, 0]);
}

/// Says busy of every third process.
#[derive(Default)]
struct EveryThird {
    begun: u32,
    ended: u32,
}

impl ConditionsProbe for EveryThird {
    fn begin(&mut self) {
        assert_eq!(self.begun, self.ended);
        self.begun += 1;
    }

    fn end(&mut self, ended: &EndedProcess) -> Option<Conditions> {
        assert_eq!((ended.cpu_seconds, ended.seconds), (None, 0.5));
        self.ended += 1;
        Some(Conditions { busy: self.ended.is_multiple_of(3), ..Conditions::default() })
    }
}

#[test]
fn conditions_stand_with_the_process_that_they_were_seen_at() {
    let folder = crate::support::tempdir().unwrap();
    let (plan, comparison) = (plan(&["s/a"], 0), new_folder(folder.path()));
    let mut executor = Scripted::new(&noisy);
    let mut watch = EveryThird::default();
    let mut run = rounds(&plan, &mut executor, &comparison);
    run.session.probe = Some(&mut watch);
    let finished = run.run(headers(&plan), &mut Rounded(3)).unwrap();
    let processes = finished.iter().flat_map(|side| &side.record.cases[0].processes);
    let mut seen: Vec<(u32, u8, bool)> = processes
        .map(|process| {
            let busy = process.conditions.as_ref().unwrap().busy;
            (process.round.unwrap(), process.slot.unwrap(), busy)
        })
        .collect();
    seen.sort_unstable();
    let busy: Vec<bool> = seen.into_iter().map(|(_, _, busy)| busy).collect();
    assert_eq!(busy, [false, false, true, false, false, true]);
}

#[test]
fn a_comparison_needs_a_folder_of_its_own() {
    let folder = crate::support::tempdir().unwrap();
    let id = RunId::new(std::time::SystemTime::now(), 1);
    ComparisonFolder::create(folder.path(), &id).unwrap();
    let fault = ComparisonFolder::create(folder.path(), &id).unwrap_err();
    assert!(fault.to_string().contains("cannot be made"), "{fault}");
    let fault = read_comparison(folder.path()).unwrap_err();
    assert!(fault.to_string().contains("contains no comparison"), "{fault}");
}
