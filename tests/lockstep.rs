//! Two real processes that take turns: never both at once, complete in the end, and neither waits for one that is gone.
//! And one that several cases share.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gbench_ci::model::line::{Event, MICRO_ARGUMENT, PROTOCOL, Request};
use gbench_ci::model::{ParamValue, Params, ProcessEnd, Settings, Stage};
use gbench_ci::run::{
    Execution, ExecutionEnd, Executor, Interrupt, Launch, ShareFault, StagePlan, StopReason, Supervised,
    TurnFault, Turns, split_by_case,
};

use crate::runner::assert_nothing_alive;
use crate::support::wait::wait_until;
use crate::support::{folder_with, gbench};

const TURNS: Turns = Turns { first: 0, iterations: 30, duration: 0.0 };

/// A process that is to take turns.
fn launch(folder: &Path, argv: &[&str]) -> Launch {
    launch_with(folder, argv, &request())
}

fn request() -> Request {
    Request {
        protocol: PROTOCOL,
        benchmark: "s/turns".into(),
        params: Params::from([("n".into(), ParamValue::Int(2000))]),
        iterations: 30,
        warmup: 1,
        seed: 1,
        turns: true,
        ..Request::default()
    }
}

fn launch_with(folder: &Path, argv: &[&str], request: &Request) -> Launch {
    let mut settings = Settings::default();
    settings.deadlines.values_mut().for_each(|seconds| seconds.value = 300.0);
    let mut env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    env.push(("GBENCH_REQUEST".into(), serde_json::to_string(request).unwrap().into()));
    Launch {
        sandbox: None,
        container: None,
        argv: argv.iter().map(|word| word.to_string()).collect(),
        dir: folder.to_owned(),
        env,
        stages: StagePlan {
            follows_events: true,
            first: Stage::Start,
            deadlines: settings.deadlines,
            multiplier: 1.0,
        },
        memory_limit: 0,
        stdout_limit: 1 << 16,
        stderr_limit: 1 << 16,
        until: None,
    }
}

/// `./child MODE LOG MICROSECONDS` on each side.
fn launches(folder: &Path, modes: [&str; 2], us: [u32; 2]) -> [Launch; 2] {
    [0, 1].map(|side| {
        let us = us[side].to_string();
        launch(folder, &["./child", modes[side], ["base.log", "head.log"][side], &us])
    })
}

fn run(launches: &[Launch; 2], turns: &Turns) -> [Execution; 2] {
    let mut executor = Supervised::new(gbench(), None, false).unwrap();
    executor.execute_pair([&launches[0], &launches[1]], turns)
}

/// A side, and when its block began and ended: from what the children saw.
fn blocks(folder: &Path) -> Vec<(usize, i64, i64, u32)> {
    let mut all = Vec::new();
    for (side, name) in ["base.log", "head.log"].into_iter().enumerate() {
        for line in std::fs::read_to_string(folder.join(name)).unwrap().lines() {
            let words: Vec<i64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
            all.push((side, words[0], words[1], words[2] as u32));
        }
    }
    all.sort_by_key(|block| block.1);
    all
}

fn samples(execution: &Execution) -> usize {
    let count = |event: &Event| match event {
        Event::Samples { values, .. } => values.len(),
        _ => 0,
    };
    execution.events.iter().map(count).sum()
}

#[track_caller]
fn assert_complete(execution: &Execution, iterations: usize) {
    assert_eq!(execution.end, ExecutionEnd::Process(ProcessEnd::Exit(0)), "{execution:?}");
    assert_eq!((execution.stopped, &execution.bad_line), (None, &None));
    assert_eq!(samples(execution), iterations);
}

#[test]
fn blocks_alternate_and_never_overlap_and_every_sample_arrives() {
    for first in [0, 1] {
        let folder = folder_with("");
        let turns = Turns { first, ..TURNS };
        let executions = run(&launches(folder.path(), ["turns", "turns"], [3000, 3100]), &turns);
        for execution in &executions {
            assert_complete(execution, 30);
            let given: u32 = execution.blocks.iter().map(|block| block.iterations).sum();
            assert_eq!(given, 30);
        }
        let blocks = blocks(folder.path());
        let order: Vec<_> = blocks.iter().map(|block| block.0 ^ first).collect();
        assert_eq!(order, [0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0]);
        for pair in blocks.windows(2) {
            assert!(pair[0].2 <= pair[1].1, "{pair:?} overlap");
        }
        let seen: Vec<u32> = blocks.iter().filter(|block| block.0 == 0).map(|block| block.3).collect();
        let told: Vec<u32> = executions[0].blocks.iter().map(|block| block.iterations).collect();
        assert_eq!(seen, told);
    }
}

#[test]
fn waiting_for_the_other_is_not_charged_to_a_stage() {
    let folder = folder_with("");
    let pair = launches(folder.path(), ["turns", "turns"], [1000, 60_000]);
    let begun = Instant::now();
    let [quick, slow] = run(&pair, &TURNS);
    let whole = begun.elapsed().as_secs_f64();
    assert_complete(&quick, 30);
    assert_complete(&slow, 30);
    let stages = quick.stages.iter().filter(|report| report.stage == Stage::Measure);
    let charged: f64 = stages.map(|report| report.seconds).sum();
    let of_slow = blocks(folder.path()).into_iter().filter(|block| block.0 == 1);
    let waited: f64 = of_slow.map(|(_, begin, end, _)| (end - begin) as f64 / 1e9).sum();
    assert!(waited >= 1.8, "the slow side measures for 1.8 s: {waited}");
    // However slow the machine is: what is charged to the quick side and the blocks of the slow one have no moment in common.
    assert!(charged + waited <= whole, "{charged} + {waited} of {whole}");
    assert!(quick.seconds >= waited, "it was alive all the time: {} {waited}", quick.seconds);
}

/// One side misbehaves, the other is well: what became of both.
fn beside(mode: &str) -> [Execution; 2] {
    let mut ended = Vec::new();
    // Whoever is first, and whichever side it is on.
    for (first, broken) in [(0, 0), (0, 1), (1, 1)] {
        let folder = folder_with("");
        let modes = if broken == 0 { [mode, "turns"] } else { ["turns", mode] };
        let mut pair = launches(folder.path(), modes, [1000, 1000]);
        if mode == "turns-hang" {
            pair[broken].stages.deadlines.get_mut(&Stage::Measure).unwrap().value = 0.5;
        }
        let [base, head] = run(&pair, &Turns { first, ..TURNS });
        assert_nothing_alive(folder.path());
        let both = if broken == 0 { [base, head] } else { [head, base] };
        // It had more turns to come: it was ended, and nobody waited for its deadline.
        assert_eq!(both[1].end, ExecutionEnd::Process(ProcessEnd::Signal(15)), "{mode}");
        ended.push(both);
    }
    let reasons: Vec<_> = ended.iter().map(|both| (both[0].stopped, both[1].stopped)).collect();
    let alike = |reason: &(Option<StopReason>, Option<StopReason>)| {
        std::mem::discriminant(&reason.0) == std::mem::discriminant(&reasons[0].0) && reason.1 == reasons[0].1
    };
    assert!(reasons.iter().all(alike), "{mode}: {reasons:?}");
    ended.pop().unwrap()
}

fn partner(why: &'static str) -> Option<StopReason> {
    Some(StopReason::Partner { why })
}

#[test]
fn a_side_that_fails_ends_the_other_which_says_why() {
    let [broken, other] = beside("turns-crash");
    assert_eq!((broken.stopped, broken.end), (None, ExecutionEnd::Process(ProcessEnd::Exit(3))));
    assert_eq!(other.stopped, partner("ended before its turns were over"));

    let [broken, other] = beside("turns-early");
    assert_eq!(broken.stopped, Some(StopReason::Turns(TurnFault::LeftEarly)));
    assert_eq!(other.stopped, partner("ended before its turns were over"));

    let [broken, other] = beside("turns-garbage");
    assert_eq!(broken.stopped, Some(StopReason::BadLine));
    assert!(broken.bad_line.is_some());
    assert_eq!(other.stopped, partner("broke the protocol"));

    let [broken, other] = beside("turns-twice");
    assert_eq!(broken.stopped, Some(StopReason::Turns(TurnFault::NotItsTurn)));
    assert_eq!(other.stopped, partner("broke the protocol"));
}

/// The part of a core that a side used between its own turns, by the clocks of the child.
fn share_between_turns(log: &Path) -> f64 {
    let log = std::fs::read_to_string(log).unwrap();
    let turns: Vec<Vec<f64>> =
        log.lines().map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect()).collect();
    let between =
        |from: usize, to: usize| -> f64 { turns.windows(2).map(|pair| pair[1][to] - pair[0][from]).sum() };
    between(4, 3) / between(1, 0)
}

#[test]
fn a13_a_side_that_works_while_the_other_has_its_turn_fails() {
    for broken in [0, 1] {
        let folder = folder_with("");
        let modes = if broken == 0 { ["turns-spin", "turns"] } else { ["turns", "turns-spin"] };
        let both = run(&launches(folder.path(), modes, [4000, 4000]), &TURNS);
        assert_complete(&both[1 - broken], 30);
        // The gate asks for a quarter of a core. It counts only while the other has its turn, and a busy machine may run the
        // spinning threads while the gate waits to be run. More than twice as much leaves room for that.
        let share = share_between_turns(&folder.path().join(["base.log", "head.log"][broken]));
        if share >= 0.6 {
            assert_eq!(both[broken].stopped, Some(StopReason::Turns(TurnFault::WorkedOutOfTurn)), "{share}");
        } else {
            eprintln!(
                "SKIPPED  the fault of side {broken}: the machine is too busy for it to disturb the other"
            );
        }
    }
}

#[test]
fn a_side_that_hangs_in_its_turn_is_held_to_its_deadline_and_the_other_is_ended() {
    let [broken, other] = beside("turns-hang");
    let Some(StopReason::Stage { stage: Stage::Measure, limit, spent }) = broken.stopped else {
        panic!("{:?}", broken.stopped)
    };
    assert!(limit == 0.5 && spent >= 0.5, "{limit} {spent}");
    assert_eq!(other.stopped, partner("ran out of its time"));
}

#[test]
fn a_program_that_does_not_know_turns_is_found_out() {
    let [broken, other] = beside("ok");
    assert_eq!(broken.stopped, Some(StopReason::Turns(TurnFault::NeverWaited)));
    assert_eq!(other.stopped, partner("broke the protocol"));
    // Also where it says nothing at all.
    let [broken, other] = beside("silent");
    assert_eq!(broken.stopped, Some(StopReason::Turns(TurnFault::NeverWaited)));
    assert_eq!(other.stopped, partner("ended before its turns were over"));
}

#[test]
fn a_program_that_is_not_there_ends_the_other() {
    let folder = folder_with("");
    let pair = [launch(folder.path(), &["./missing"]), launch(folder.path(), &["./child", "turns", "log"])];
    let [missing, other] = run(&pair, &TURNS);
    assert!(matches!(missing.end, ExecutionEnd::NotStarted { not_found: true, .. }));
    assert_eq!(other.stopped, partner("could not be started"));
    assert_nothing_alive(folder.path());
}

#[test]
fn two_that_cannot_run_both_say_so_themselves() {
    let folder = folder_with("");
    for mode in ["skip", "import-error"] {
        for execution in run(&launches(folder.path(), [mode, mode], [1, 1]), &TURNS) {
            assert_eq!(execution.stopped, None, "{mode}");
            assert_eq!(execution.events.len(), 1, "{mode}");
        }
    }
}

#[test]
fn after_the_last_turn_each_side_answers_for_itself() {
    let folder = folder_with("");
    let mut pair = launches(folder.path(), ["turns", "turns-hang-verify"], [1000, 1000]);
    pair[1].stages.deadlines.get_mut(&Stage::Verify).unwrap().value = 0.3;
    let [base, head] = run(&pair, &TURNS);
    assert_complete(&base, 30);
    assert!(
        matches!(head.stopped, Some(StopReason::Stage { stage: Stage::Verify, .. })),
        "{:?}",
        head.stopped
    );
    assert_eq!(samples(&head), 30);
}

#[test]
fn the_run_s_own_deadline_ends_both() {
    let folder = folder_with("");
    let mut pair = launches(folder.path(), ["turns", "turns"], [100_000, 100_000]);
    pair.iter_mut().for_each(|launch| launch.until = Some(Instant::now() + Duration::from_millis(700)));
    for execution in run(&pair, &TURNS) {
        assert_eq!(execution.stopped, Some(StopReason::RunDeadline));
    }
    assert_nothing_alive(folder.path());
}

/// The gate of the next test, in a process of its own: signals reach the whole process.
#[test]
#[ignore = "started by `an_interrupt_ends_both`"]
fn a_pair_for_somebody_to_interrupt() {
    let folder = PathBuf::from(std::env::var_os("LOCKSTEP_FOLDER").expect("a folder with the child"));
    let interrupt = Interrupt::install().unwrap();
    let mut executor = Supervised::new(gbench(), Some(interrupt), true).unwrap();
    // Two minutes: they do not end by themselves before they are interrupted.
    let pair = launches(&folder, ["turns", "turns"], [2_000_000, 2_000_000]);
    for execution in executor.execute_pair([&pair[0], &pair[1]], &TURNS) {
        println!("ended by {:?}", execution.stopped);
    }
    // It stays in force: nothing more is started.
    let [base, head] = executor.execute_pair([&pair[0], &pair[1]], &TURNS);
    assert_eq!(
        (base.stopped, head.stopped),
        (Some(StopReason::Interrupt(2)), Some(StopReason::Interrupt(2)))
    );
}

#[test]
fn an_interrupt_ends_both() {
    let folder = folder_with("");
    let gate = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "lockstep::a_pair_for_somebody_to_interrupt", "--ignored", "--nocapture"])
        .env("LOCKSTEP_FOLDER", folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Each opens its log before its first turn: both are in the middle of it.
    let logs = ["base.log", "head.log"].map(|log| folder.path().join(log));
    wait_until("both take turns", || logs.iter().all(|log| log.exists()));
    let pid = nix::unistd::Pid::from_raw(gate.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let output = gate.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert_eq!(text.matches("ended by Some(Interrupt(2))").count(), 2, "{text}");
    assert_nothing_alive(folder.path());
}

#[test]
fn a_built_in_member_takes_turns() {
    let folder = folder_with("");
    let program = gbench();
    let argv = [program.to_str().unwrap(), MICRO_ARGUMENT, "mem_latency"];
    let mut launch = launch(folder.path(), &argv);
    launch.env.retain(|(name, _)| name != "GBENCH_REQUEST");
    let request = r#"{"protocol":1,"benchmark":"micro/mem_latency","process":0,"params":{},"iterations":4,
        "warmup":1,"duration":0.0,"burnin":0.0,"cold":false,"seed":1,"turns":true}"#;
    launch.env.push(("GBENCH_REQUEST".into(), request.into()));
    for execution in run(&[launch.clone(), launch], &Turns { iterations: 4, ..TURNS }) {
        assert_complete(&execution, 4);
    }
}

#[test]
fn one_process_measures_several_cases() {
    let folder = folder_with("");
    let point = |n| Params::from([("n".to_owned(), ParamValue::Int(n))]);
    let cases = [point(3), point(2), point(0), point(4)];
    let request = Request { params: Params::new(), cases: cases.to_vec(), turns: false, ..request() };
    let launch = launch_with(folder.path(), &["./child", "shares"], &request);
    let whole = Supervised::new(gbench(), None, false).unwrap().execute(&launch);
    let parts = split_by_case(&whole, cases.len());
    let samples =
        |part: &Execution| part.events.iter().filter(|event| matches!(event, Event::Sample { .. })).count();
    assert_eq!(parts.iter().map(samples).collect::<Vec<_>>(), [3, 2, 0, 0]);
    let ends: Vec<_> = parts.iter().map(|part| part.end.clone()).collect();
    let exit = |code| ExecutionEnd::Process(ProcessEnd::Exit(code));
    assert_eq!(ends, [exit(0), exit(0), exit(3), exit(3)]);
    let stopped: Vec<_> = parts.iter().map(|part| part.stopped).collect();
    assert_eq!(stopped, [None, None, None, Some(StopReason::Share(ShareFault::NotReached))]);
}

#[test]
fn the_manual_s_example_takes_turns() {
    let there = Command::new("python3").arg("--version").stdout(Stdio::null()).status();
    if !there.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no python3");
        return;
    }
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples/turns.py");
    let folder = folder_with("");
    let launch = launch(folder.path(), &["python3", example.to_str().unwrap()]);
    for execution in run(&[launch.clone(), launch], &TURNS) {
        assert_complete(&execution, 30);
    }
}
