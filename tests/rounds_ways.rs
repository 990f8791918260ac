//! The two other ways of a round: base and head alive together, and one process for several cases.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gbench_ci::model::{
    Conditions, EndedProcess, Interleaving, Outcome, ParamValue, Params, Probe, RecordState, RunRecord, Stage,
};
use gbench_ci::run::{ConditionsProbe, RoundsSession, StopReason, Supervised};
use gbench_ci::store::{ComparisonFolder, read_comparison, read_sides};
use gbench_ci::suite::plan::{RoundsPlan, check_claims, choose_controls, common_cases};
use gbench_ci::suite::{Action, Benchmark, Source, Suite};

use crate::support::scripted::{
    Fate, Rounded, Scripted, Started, chance, essence, headers, new_folder, noisy, rounds,
};
use crate::support::{folder_with, gbench};

/// A suite whose benchmarks are changed by `with`.
fn suite(names: &[&str], dir: &str, with: &dyn Fn(&mut Benchmark)) -> Suite {
    let benchmark = |name: &&str| {
        let action = Action::Command(vec!["true".into()]);
        let mut benchmark = Benchmark::new(name.parse().unwrap(), action, dir.into());
        benchmark.timing = gbench_ci::model::Timing::Protocol;
        with(&mut benchmark);
        benchmark
    };
    Suite::new("s", Source::Builtin, names.iter().map(benchmark).collect())
}

fn plan_with(names: &[&str], controls: usize, with: &dyn Fn(&mut Benchmark)) -> RoundsPlan {
    let (base, head) = (suite(names, "/base", with), suite(names, "/head", with));
    let common = common_cases(&base, &head);
    RoundsPlan::new(&base, &head, &choose_controls(&common, controls, 1), 7)
}

fn in_turns(benchmark: &mut Benchmark) {
    benchmark.settings.lockstep.value = benchmark.id.name() != "silent";
}

/// Points n = 0, 1, 2 of each benchmark in one process.
fn shared(benchmark: &mut Benchmark) {
    benchmark.settings.share.value = true;
    benchmark.points = (0..3).map(|n| Params::from([("n".into(), ParamValue::Int(n))])).collect();
}

/// Headers that ask for lock-step.
fn asking(plan: &RoundsPlan) -> Vec<RunRecord> {
    let mut comparison = crate::support::rounds::comparison(plan.comparable());
    (comparison.interleaving, comparison.seed) = (Interleaving::Lockstep, plan.order.seed);
    let mut headers = headers(plan);
    headers.iter_mut().for_each(|header| header.comparison = Some(Box::new(comparison.clone())));
    headers
}

type With<'a> = &'a dyn Fn(&mut Benchmark);
type Script<'a> = &'a (dyn Fn(&Started, usize) -> Fate + Sync);

/// Begins a comparison, or goes on with it, for so many rounds.
fn go<'a>(
    plan: &RoundsPlan,
    headers: Vec<RunRecord>,
    script: Script<'a>,
    folder: &ComparisonFolder,
    resume: Vec<RunRecord>,
    most: u32,
) -> (Vec<RunRecord>, Scripted<'a>) {
    let mut executor = Scripted::new(script);
    let run = RoundsSession { resume, ..rounds(plan, &mut executor, folder) };
    let finished = run.run(headers, &mut Rounded(most)).unwrap();
    (finished.into_iter().map(|side| side.record).collect(), executor)
}

fn begin<'a>(
    plan: &RoundsPlan,
    headers: Vec<RunRecord>,
    script: Script<'a>,
    most: u32,
) -> (Vec<RunRecord>, Scripted<'a>) {
    let artifacts = crate::support::tempdir().unwrap();
    go(plan, headers, script, &new_folder(artifacts.path()), Vec::new(), most)
}

fn read(folder: &ComparisonFolder) -> Vec<RunRecord> {
    let (base, head, control) = read_comparison(folder.root()).unwrap();
    [Some(base), Some(head), control].into_iter().flatten().collect()
}

fn assert_same(whole: &[RunRecord], resumed: &[RunRecord], what: &str) {
    for (whole, resumed) in whole.iter().zip(resumed) {
        assert_eq!(essence(whole), essence(resumed), "{what}");
        assert_eq!(resumed.state, RecordState::Complete, "{what}");
    }
}

#[test]
fn base_and_head_take_turns_where_both_are_asked_to_and_can() {
    let plan = plan_with(&["s/a", "s/silent"], 0, &in_turns);
    let (records, executor) = begin(&plan, asking(&plan), &noisy, 6);
    assert_eq!(executor.pairs.len(), 6, "the one that cannot never does");
    for (round, (first, sides)) in executor.pairs.iter().enumerate() {
        assert_eq!([sides[0].side, sides[1].side], ["base", "head"]);
        assert_eq!(
            *first,
            plan.order.in_round(plan.pairs[0].id(), round as u32, 2)[0],
            "the order drawn has the first turn"
        );
        for (side, record) in records.iter().enumerate() {
            let process = &record.cases[0].processes[round];
            assert!(process.lockstep && process.round == Some(round as u32));
            assert_eq!(process.slot, Some(u8::from(side != *first)));
        }
    }
    let silent: Vec<_> = records.iter().map(|record| &record.cases[1]).collect();
    assert!(silent.iter().all(|case| case.processes.iter().all(|process| !process.lockstep)));
    assert_eq!(
        silent[1].warnings,
        ["one after the other instead of in turns: the suite does not say `lockstep = true` of it"]
    );
    assert!(silent[0].warnings.is_empty() && records[1].cases[0].warnings.is_empty(), "said once");
    // Nobody asked: nobody takes turns, and nothing is said of it.
    let (records, executor) = begin(&plan, headers(&plan), &noisy, 2);
    assert!(executor.pairs.is_empty());
    assert!(records.iter().flat_map(|record| &record.cases).all(|case| case.warnings.is_empty()));
}

#[test]
fn what_differs_between_the_sides_or_is_cold_alternates() {
    let why = |base: &dyn Fn(&mut Benchmark), head: &dyn Fn(&mut Benchmark)| {
        let sides = (suite(&["s/a"], "/base", base), suite(&["s/a"], "/head", head));
        let plan = RoundsPlan::new(&sides.0, &sides.1, &[], 7);
        let (records, executor) = begin(&plan, asking(&plan), &noisy, 1);
        assert!(executor.pairs.is_empty());
        records[1].cases[0].warnings.concat()
    };
    let cold = |benchmark: &mut Benchmark| {
        in_turns(benchmark);
        benchmark.settings.thermal.value = gbench_ci::model::Thermal::Cold;
    };
    let more = |benchmark: &mut Benchmark| {
        in_turns(benchmark);
        benchmark.settings.iterations.value += 1;
    };
    assert!(why(&in_turns, &|_| ()).contains("the head's suite does not say"));
    assert!(why(&|_| (), &in_turns).contains("the base's suite does not say"));
    assert!(why(&in_turns, &more).contains("different amounts of work"));
    assert!(why(&cold, &cold).contains("a cold process"));
}

#[test]
fn what_does_not_fit_in_memory_together_alternates_from_the_second_round_on() {
    let suite = |id: &str| {
        format!(
            "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"{id}\"\ntiming = \"protocol\"\nlockstep = true\n\
             command = [\"./child\", \"turns\", \"log\", \"100\"]\n"
        )
    };
    let (base, head) = (folder_with(&suite("a")), folder_with(&suite("a")));
    let load = |folder: &tempfile::TempDir| Suite::load(&folder.path().join("gbench.toml"), &[]).unwrap();
    let plan = RoundsPlan::new(&load(&base), &load(&head), &[], 7);
    let artifacts = crate::support::tempdir().unwrap();
    let comparison = new_folder(artifacts.path());
    let mut headers = asking(&plan);
    // A machine that a single page would fill.
    headers.iter_mut().for_each(|header| header.manifest.host.memory_total = Probe::Known(4096));
    let mut executor = Supervised::new(gbench(), None, false).unwrap();
    let mut run = rounds(&plan, &mut executor, &comparison);
    run.session.binary = gbench();
    let finished = run.run(headers, &mut Rounded(1)).unwrap();
    assert!(finished.iter().all(|side| side.record.cases[0].processes[0].lockstep), "nothing was known yet");
    // The program knows no way but in turns, so that the second round fails: it was not alive with another.
    let headers = asking(&plan);
    let mut run = RoundsSession { resume: read(&comparison), ..rounds(&plan, &mut executor, &comparison) };
    run.session.binary = gbench();
    let finished = run.run(headers, &mut Rounded(2)).unwrap();
    let case = &finished[1].record.cases[0];
    assert!(!case.processes[1].lockstep);
    assert!(case.warnings[0].contains("MiB at its peak") && case.warnings.len() == 1, "{:?}", case.warnings);
}

/// The control has its turns with a second process of the head.
#[test]
fn a_control_is_measured_in_the_circumstances_of_the_base() {
    let plan = plan_with(&["s/a"], 1, &in_turns);
    let (records, executor) = begin(&plan, asking(&plan), &noisy, 12);
    assert_eq!(executor.pairs.len(), 24);
    assert_eq!(executor.started.len(), 48);
    let mut before = 0;
    for round in 0..12 {
        let slot = |side: usize| records[side].cases[0].processes[round].slot.unwrap();
        let mut slots = [slot(0), slot(1), slot(2)];
        assert_eq!(executor.pairs[2 * round].0, executor.pairs[2 * round + 1].0, "one draw for both");
        assert_eq!(executor.pairs[2 * round].0 == 0, slot(0) < slot(1));
        assert_ne!(slot(2), 1);
        before += usize::from(slot(2) == 0);
        slots.sort_unstable();
        assert_eq!(slots, [0, 1, 2]);
    }
    assert!((1..12).contains(&before), "before and after: {before}");
    assert!(records.iter().all(|record| record.cases[0].processes.iter().all(|process| process.lockstep)));
}

#[test]
fn a_side_that_fails_takes_no_other_with_it() {
    let plan = plan_with(&["s/a", "s/b"], 0, &in_turns);
    for broken in ["base", "head"] {
        let script = |started: &Started, nth: usize| match (started.case.as_str(), started.process) {
            ("s/a", 1) if started.side == broken => Fate::Fails,
            _ => noisy(started, nth),
        };
        let (records, executor) = begin(&plan, asking(&plan), &script, 4);
        let (failed, other) = match broken {
            "base" => (&records[0].cases[0], &records[1].cases[0]),
            _ => (&records[1].cases[0], &records[0].cases[0]),
        };
        assert!(failed.outcome.is_failure() && failed.processes.len() == 2);
        // As where they alternate: it was asked whether it still works, and it does.
        assert_eq!((&other.outcome, other.processes.len()), (&Outcome::Measured, 2));
        assert_eq!(other.processes.iter().map(|process| process.lockstep).collect::<Vec<_>>(), [true, false]);
        assert_eq!(other.processes[1].slot.zip(failed.processes[1].slot).map(|(a, b)| a + b), Some(1));
        assert_eq!(executor.started.iter().filter(|started| started.case == "s/a").count(), 5);
        assert_eq!(records[0].cases[1].processes.len(), 4, "the others go on");
    }
}

#[test]
fn both_sides_of_a_pair_have_the_same_conditions() {
    #[derive(Default)]
    struct Counting(f64);
    impl ConditionsProbe for Counting {
        fn begin(&mut self) {}
        fn end(&mut self, ended: &EndedProcess) -> Option<Conditions> {
            assert_eq!(ended.seconds, 0.5);
            self.0 += 1.0;
            Some(Conditions { other_cpu: Some(self.0), ..Conditions::default() })
        }
    }
    let plan = plan_with(&["s/a"], 0, &in_turns);
    let artifacts = crate::support::tempdir().unwrap();
    let folder = new_folder(artifacts.path());
    let (mut executor, mut watch) = (Scripted::new(&noisy), Counting::default());
    let mut run = rounds(&plan, &mut executor, &folder);
    run.session.probe = Some(&mut watch);
    let finished = run.run(asking(&plan), &mut Rounded(3)).unwrap();
    for side in &finished {
        let seen: Vec<_> = side.record.cases[0]
            .processes
            .iter()
            .map(|process| process.conditions.as_ref().unwrap().other_cpu.unwrap())
            .collect();
        assert_eq!(seen, [1.0, 2.0, 3.0]);
    }
}

#[test]
fn after_a_timeout_the_command_runs_for_the_side_that_was_stopped() {
    let plan = plan_with(&["s/a"], 0, &in_turns);
    let script = |started: &Started, nth: usize| match (started.case.as_str(), started.side) {
        ("s/a", "head") => Fate::Ends(StopReason::Stage { stage: Stage::Measure, limit: 1.0, spent: 1.0 }),
        _ => noisy(started, nth),
    };
    let artifacts = crate::support::tempdir().unwrap();
    let folder = new_folder(artifacts.path());
    let mut executor = Supervised::new(gbench(), None, false).unwrap();
    let mut both = Both { scripted: Scripted::new(&script), real: &mut executor };
    let mut run = rounds(&plan, &mut both, &folder);
    run.session.after_timeout = (vec!["true".into()], artifacts.path().to_owned());
    let finished = run.run(asking(&plan), &mut Rounded(1)).unwrap();
    let ended = |side: usize| finished[side].record.cases[0].processes[0].after_timeout;
    assert_eq!(ended(0), None);
    assert_eq!(ended(1), Some(gbench_ci::model::ProcessEnd::Exit(0)));
}

/// Benchmarks from the script, other commands for real.
struct Both<'a> {
    scripted: Scripted<'a>,
    real: &'a mut Supervised,
}

impl gbench_ci::run::Executor for Both<'_> {
    fn execute(&mut self, launch: &gbench_ci::run::Launch) -> gbench_ci::run::Execution {
        match launch.env.iter().any(|(name, _)| name == "GBENCH_REQUEST") {
            true => self.scripted.execute(launch),
            false => self.real.execute(launch),
        }
    }

    fn execute_pair(
        &mut self,
        launches: [&gbench_ci::run::Launch; 2],
        turns: &gbench_ci::run::Turns,
    ) -> [gbench_ci::run::Execution; 2] {
        self.scripted.execute_pair(launches, turns)
    }
}

fn eventful(started: &Started, nth: usize) -> Fate {
    match (started.case.as_str(), started.side, started.process) {
        ("s/breaks", "head", 1) => Fate::Fails,
        _ => noisy(started, nth),
    }
}

/// The gate dies, or is interrupted, at any process, and the comparison goes on.
fn cut_anywhere(plan: &RoundsPlan, headers: &dyn Fn() -> Vec<RunRecord>, script: Script<'_>) {
    let artifacts = crate::support::tempdir().unwrap();
    let (whole, executor) = go(plan, headers(), script, &new_folder(artifacts.path()), Vec::new(), 3);
    for fate in [Fate::Killed, Fate::Ends(StopReason::Interrupt(2))] {
        for at in 0..executor.started.len() {
            let folder = new_folder(artifacts.path());
            let cut = |started: &Started, nth: usize| if nth == at { fate } else { script(started, nth) };
            let ended = catch_unwind(AssertUnwindSafe(|| {
                go(plan, headers(), &cut, &folder, Vec::new(), 3).1.started.len()
            }));
            assert_eq!(ended.is_err(), fate == Fate::Killed);
            let (resumed, _) = go(plan, headers(), script, &folder, read(&folder), 3);
            assert_same(&whole, &resumed, &format!("{fate:?} at process {at}"));
        }
    }
}

#[test]
fn a_comparison_in_turns_goes_on_as_if_nothing_had_been() {
    let plan = plan_with(&["s/a", "s/breaks", "s/silent"], 2, &in_turns);
    cut_anywhere(&plan, &|| asking(&plan), &eventful);
}

#[test]
fn a_comparison_with_shared_processes_goes_on_as_if_nothing_had_been() {
    let plan = plan_with(&["s/a", "s/b"], 2, &shared);
    cut_anywhere(&plan, &|| headers(&plan), &noisy);
}

#[test]
fn the_points_of_a_benchmark_share_a_process_a_side_and_an_order() {
    let plan = plan_with(&["s/a", "s/b"], 0, &shared);
    let (records, executor) = begin(&plan, headers(&plan), &noisy, 6);
    assert_eq!(executor.shared, [3; 2 * 2 * 6]);
    let mut firsts = Vec::new();
    for round in 0..6 {
        for benchmark in [0..3, 3..6] {
            let of = |side: usize| -> Vec<_> {
                let processes = benchmark.clone().map(|case| &records[side].cases[case].processes[round]);
                processes.map(|process| process.slot.unwrap()).collect()
            };
            assert!(of(0).iter().all(|slot| *slot == of(0)[0]), "one draw for all points: {:?}", of(0));
            assert!(of(0).iter().zip(of(1)).all(|(base, head)| base + head == 1));
            firsts.push(of(0)[0]);
        }
    }
    assert!(firsts.contains(&0) && firsts.contains(&1));
    for case in records.iter().flat_map(|record| &record.cases) {
        assert_eq!(case.outcome, Outcome::Measured);
        let seconds: f64 = case.processes.iter().map(|process| process.seconds).sum();
        assert!((seconds - 6.0 * 0.5 / 3.0).abs() < 1e-9, "half a second is not counted three times");
        assert_eq!(case.metrics[0].processes.len(), 6);
    }
    // Each point has its own numbers.
    let first = |case: usize| records[0].cases[case].metrics[0].processes[0].values[0];
    let started = Started { case: "s/a:1".into(), side: "base", process: 0 };
    assert_eq!(Fate::Measures(first(1)), noisy(&started, 0));
    assert!(chance(("s/a:1", "base", 0u32)) != chance(("s/a:2", "base", 0u32)));
}

#[test]
fn points_that_are_decided_are_no_longer_asked_for() {
    use gbench_ci::run::{NextRound, RoundsState, StoppingPolicy};
    /// All three once, then the middle one alone, then the last two.
    struct Choosy(Cell<usize>);
    impl StoppingPolicy for Choosy {
        fn next(&mut self, _: &RoundsState<'_>) -> NextRound {
            let turn = self.0.get();
            self.0.set(turn + 1);
            let wanted: [&[usize]; 4] = [&[0, 1, 2], &[1], &[0, 2], &[0, 1, 2]];
            wanted.get(turn).map_or(NextRound::Stop, |pairs| NextRound::Measure(pairs.to_vec()))
        }
    }
    let plan = plan_with(&["s/a"], 0, &shared);
    let artifacts = crate::support::tempdir().unwrap();
    let folder = new_folder(artifacts.path());
    let mut executor = Scripted::new(&noisy);
    let run = rounds(&plan, &mut executor, &folder);
    let finished = run.run(headers(&plan), &mut Choosy(Cell::new(0))).unwrap();
    assert_eq!(executor.shared, [3, 3, 1, 1, 2, 2, 3, 3]);
    assert!(finished.iter().all(|side| side.record.cases.iter().all(|case| case.processes.len() == 3)));
    // The same round has the same order, whoever took part in it.
    let slot = |case: usize| finished[0].record.cases[case].processes[1].slot;
    assert_eq!((slot(0), slot(1)), (slot(1), slot(2)));
}

#[test]
fn a_shared_process_that_breaks_closes_what_it_had_not_finished() {
    let plan = plan_with(&["s/a"], 0, &shared);
    let script = |started: &Started, nth: usize| match (started.case.as_str(), started.side, started.process)
    {
        ("s/a:1", "head", 1) => Fate::Fails,
        _ => noisy(started, nth),
    };
    let (records, executor) = begin(&plan, headers(&plan), &script, 4);
    let outcomes: Vec<_> = records[1].cases.iter().map(|case| &case.outcome).collect();
    assert_eq!(*outcomes[0], Outcome::Measured);
    assert!(outcomes[1].is_failure(), "{:?}", outcomes[1]);
    assert!(matches!(outcomes[2], Outcome::NotRun { .. }), "{:?}", outcomes[2]);
    let rounds =
        |side: usize| -> Vec<_> { records[side].cases.iter().map(|case| case.processes.len()).collect() };
    assert_eq!((rounds(0), rounds(1)), (vec![4, 2, 2], vec![4, 2, 2]));
    assert!(records[0].cases.iter().all(|case| case.outcome.is_measured()), "the base is whole");
    assert_eq!(executor.shared, [3, 3, 3, 3, 1, 1, 1, 1]);
}

#[test]
fn a_shared_control_measures_all_that_base_does_and_keeps_its_own() {
    let plan = plan_with(&["s/a"], 1, &shared);
    let (records, executor) = begin(&plan, headers(&plan), &noisy, 3);
    assert_eq!(executor.shared, [3; 9]);
    assert_eq!(records[2].cases.len(), 1);
    let control = &records[2].cases[0];
    let base = records[0].cases.iter().find(|case| case.id == control.id).unwrap();
    let values = |case: &gbench_ci::model::CaseRecord| case.metrics[0].processes.clone();
    assert_eq!(values(control), values(base), "the script gives both the same");
}

/// Both ways with real processes.
#[test]
fn real_processes_take_turns_and_are_shared() {
    let suite = "[suite]\nname = \"s\"\n[defaults]\ntiming = \"protocol\"\niterations = 12\n\
                 [[benchmark]]\nid = \"turns\"\ncommand = [\"./child\", \"turns\", \"log\", \"500\"]\nlockstep = true\n\
                 [[benchmark]]\nid = \"crash\"\ncommand = [\"./child\", \"turns-crash\", \"log\", \"500\"]\n\
                 lockstep = true\n\
                 [[benchmark]]\nid = \"shared\"\ncommand = [\"./child\", \"shares\"]\nshare = true\n\
                 matrix.n = [3, 2, 0, 4]\n";
    let healthy = suite.replace("turns-crash", "turns");
    let (base, head) = (folder_with(&healthy), folder_with(suite));
    let load = |folder: &tempfile::TempDir| Suite::load(&folder.path().join("gbench.toml"), &[]).unwrap();
    let plan = RoundsPlan::new(&load(&base), &load(&head), &[], 1);
    let artifacts = crate::support::tempdir().unwrap();
    let comparison = new_folder(artifacts.path());
    let mut executor = Supervised::new(gbench(), None, false).unwrap();
    let mut run = rounds(&plan, &mut executor, &comparison);
    run.session.binary = gbench();
    let finished = run.run(asking(&plan), &mut Rounded(3)).unwrap();
    let case = |side: usize, index: usize| &finished[side].record.cases[index];
    for side in [0, 1] {
        assert_eq!((&case(side, 0).outcome, case(side, 0).processes.len()), (&Outcome::Measured, 3));
        assert!(case(side, 0).processes.iter().all(|process| process.lockstep));
        assert!(case(side, 0).metrics[0].processes.iter().all(|samples| samples.values.len() == 12));
        let lengths: Vec<_> = (2..6).map(|index| case(side, index).processes.len()).collect();
        assert_eq!(lengths, [3, 3, 1, 1]);
        for (index, count) in [(2, 3), (3, 2)] {
            assert_eq!(case(side, index).outcome, Outcome::Measured);
            assert!(case(side, index).metrics[0].processes.iter().all(|it| it.values.len() == count));
        }
        assert!(case(side, 4).outcome.is_failure());
        assert!(matches!(case(side, 5).outcome, Outcome::NotRun { .. }));
    }
    assert!(case(1, 1).outcome.is_failure(), "{:?}", case(1, 1).outcome);
    assert_eq!(case(1, 1).processes.len(), 1);
    crate::runner::assert_nothing_alive(base.path());
    crate::runner::assert_nothing_alive(head.path());
}

/// Headers as a comparison of commits writes them, for either way.
fn drawn(plan: &RoundsPlan, way: Interleaving) -> Vec<RunRecord> {
    let shown =
        gbench_ci::model::Shown { value: plan.order.seed.into(), origin: gbench_ci::model::Origin::Default };
    let mut headers = asking(plan);
    for header in &mut headers {
        header.comparison.as_mut().unwrap().interleaving = way;
        header.config.insert("coin_seed".into(), shown.clone());
    }
    headers
}

/// Whatever way the rounds go, whatever breaks, and wherever they are killed and gone on with, what they leave holds; and
/// the order of it is held to the draw.
#[test]
fn n7_records_of_every_way_hold_their_own_claims() {
    let plain = |_: &mut Benchmark| {};
    let eventful =
        |started: &Started, nth: usize| match (started.case.as_str(), started.side, started.process) {
            ("s/breaks" | "s/breaks:1", "head", 1) => Fate::Fails,
            ("s/gone", "base", 0) => Fate::Fails,
            _ => noisy(started, nth),
        };
    let ways: [(Interleaving, With); 4] = [
        (Interleaving::Alternating, &plain),
        (Interleaving::Alternating, &shared),
        (Interleaving::Lockstep, &in_turns),
        (Interleaving::Lockstep, &shared),
    ];
    let held = |folder: &ComparisonFolder, what: &str| {
        let (base, head, control) = read_sides(folder.root()).unwrap();
        check_claims(&base, &head, control.as_ref()).unwrap_or_else(|fault| panic!("{what}: {fault:?}"));
        (base, head, control)
    };
    for (index, (way, with)) in ways.into_iter().enumerate() {
        let plan = plan_with(&["s/a", "s/breaks", "s/silent", "s/gone"], 2, with);
        let artifacts = crate::support::tempdir().unwrap();
        let whole = artifacts.path().join("whole");
        std::fs::create_dir(&whole).unwrap();
        let folder = new_folder(&whole);
        let (_, executor) = go(&plan, drawn(&plan, way), &eventful, &folder, Vec::new(), 5);
        let (mut base, mut head, control) = held(&folder, "whole");
        for at in (1..executor.started.len()).step_by(8) {
            let what = format!("way {index}, killed at {at}");
            let killed = artifacts.path().join(at.to_string());
            std::fs::create_dir(&killed).unwrap();
            let folder = new_folder(&killed);
            let dies =
                |started: &Started, nth: usize| if nth == at { Fate::Killed } else { eventful(started, nth) };
            let ended = catch_unwind(AssertUnwindSafe(|| {
                go(&plan, drawn(&plan, way), &dies, &folder, Vec::new(), 5);
            }));
            assert!(ended.is_err());
            held(&folder, &what);
            go(&plan, drawn(&plan, way), &eventful, &folder, read(&folder), 5);
            held(&folder, &what);
        }
        for record in [&mut base, &mut head] {
            let slot = record.cases[0].processes[3].slot.as_mut().unwrap();
            // The two of them change places, wherever the control stands.
            *slot = 3 - *slot;
        }
        let fault = check_claims(&base, &head, control.as_ref()).unwrap_err();
        assert_eq!(fault.exit, gbench_ci::model::Exit::Failed, "way {index}");
    }
}
