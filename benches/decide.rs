//! What deciding between the rounds costs, by the whole way: records in, what stays open out. Everything is decided anew
//! after each round from all samples so far, which is what `gbench-ci compare BASE..HEAD` does.

#![allow(unreachable_pub, reason = "a program of several files")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints tables")]

#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/support/records.rs"]
mod records;
mod support;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use gbench_ci::compare::{Policy, SeqE, SideInput, case_progress, compare};
use gbench_ci::model::*;

use records::{Planned, build_sized, plan};
use support::{Goals, milliseconds};

const ITERATIONS: u32 = 30;
/// Processor time for each round with 100 cases, and for one look at 10,000.
const ROUND_GOAL: Duration = Duration::from_millis(50);
const LARGE_GOAL: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let mut goals = Goals::default();
    println!("{:<44} {:>12} {:>12}", "records", "per round", "verdict");
    // Noise of 5 %: nothing is decided early, every round is of all cases.
    for (cases, rounds) in [(100, 10), (100, 40)] {
        let (each, verdict) = cost(cases, rounds);
        line(cases, rounds, each, verdict);
        goals.check(
            &format!("{cases} cases, {rounds} rounds"),
            milliseconds(each),
            &milliseconds(ROUND_GOAL),
            each <= ROUND_GOAL,
        );
    }
    let (each, verdict) = cost(10_000, 3);
    line(10_000, 3, each, verdict);
    goals.check("10,000 cases, 3 rounds", milliseconds(each), &milliseconds(LARGE_GOAL), each <= LARGE_GOAL);
    goals.conclude()
}

fn line(cases: u32, rounds: u32, each: Duration, verdict: Duration) {
    let what = format!("{cases} cases x {rounds} rounds x {ITERATIONS} samples a side");
    println!("{what:<44} {:>12} {:>12}", milliseconds(each), milliseconds(verdict));
}

/// The median of five looks, and one whole verdict.
fn cost(cases: u32, rounds: u32) -> (Duration, Duration) {
    let plans: Vec<Planned> =
        (0..cases).map(|n| plan("kernels/gemm", i64::from(n), "host", "time", "s", 1e-3, 0.05)).collect();
    let [base, head] = [(1, Side::Base), (2, Side::Head)].map(|(seed, side)| {
        let mut record = build_sized(seed, &plans, rounds, ITERATIONS);
        record.side = Some(side);
        record.comparison = Some(Box::new(comparison(cases)));
        for process in record.cases.iter_mut().flat_map(|case| &mut case.processes) {
            process.round = Some(process.index);
        }
        record
    });
    let shared = comparison(cases);
    let (rule, policy) = (SeqE::of(&shared), Policy::of(&shared));
    let [base, head] =
        [(&base, "base"), (&head, "head")].map(|(record, name)| SideInput { record, name: name.into() });
    let mut looks: Vec<Duration> = (0..5)
        .map(|_| {
            let begin = Instant::now();
            std::hint::black_box(case_progress(&rule, &base, &head, &policy).expect("no case stands twice"));
            begin.elapsed()
        })
        .collect();
    looks.sort();
    let begin = Instant::now();
    std::hint::black_box(compare(&base, &head, &policy).expect("no case stands twice"));
    (looks[2], begin.elapsed())
}

fn comparison(cases: u32) -> Comparison {
    Comparison {
        id: "20261121T110000.000Z-c0ffee".parse().expect("an id"),
        base: "base".into(),
        head: "head".into(),
        head_changes: None,
        seed: 1,
        interleaving: Interleaving::Alternating,
        budget: Budget::UNLIMITED,
        rule: SequentialRule::for_cases(cases as usize),
        policy: ComparisonPolicy {
            inconclusive_fails: false,
            failed_fails: true,
            broken_fails: false,
            threshold: None,
            match_key: Default::default(),
        },
        no_reference: None,
        suite_file: None,
        sandbox: None,
        pairs: false,
        renamed: Default::default(),
        redefined: Vec::new(),
    }
}
