//! The rule `process-session`: what a history of stored runs lets say of two records of different sessions.

use gbench_ci::compare::*;
use gbench_ci::model::*;

use crate::support::records::{Planned, build_sized, case_of, noise, plan, scale, standard};

fn side<'a>(record: &'a RunRecord, name: &str) -> SideInput<'a> {
    SideInput { record, name: name.into() }
}

/// The verdict on two runs with what is stored of the past: `main`, oldest first.
fn judged(stored: &[RunRecord], base: &RunRecord, head: &RunRecord, policy: &Policy) -> VerdictDocument {
    let history = past(stored, base, head);
    compare_with(&history, &side(base, "main"), &side(head, "head.json"), policy).unwrap()
}

fn past(stored: &[RunRecord], base: &RunRecord, head: &RunRecord) -> History {
    let mut history = History::default();
    for record in stored {
        history.add("main", record, (base, head), &Policy::default().match_key);
    }
    history
}

/// A suite of quiet times. `session`: the deviation between runs, shared by all processes of one.
struct Machine {
    cases: usize,
    processes: u32,
    session: f64,
    process: f64,
    seed: u32,
}

const NAMES: [&str; 24] = [
    "s/a", "s/b", "s/c", "s/d", "s/e", "s/f", "s/g", "s/h", "s/i", "s/j", "s/k", "s/l", "s/m", "s/n", "s/o",
    "s/p", "s/q", "s/r", "s/s", "s/t", "s/u", "s/v", "s/w", "s/x",
];

impl Machine {
    /// The run number `session`, from 1.
    fn run(&self, session: u32) -> RunRecord {
        let plans: Vec<Planned> = NAMES[..self.cases]
            .iter()
            .map(|name| plan(name, 0, "host", "time", "s", 1e-3, self.process))
            .collect();
        let mut record = build_sized(session, &plans, self.processes, 1);
        for (index, case) in record.cases.iter_mut().enumerate() {
            // Cases are restless to different degrees, from a half to one and a half.
            let restless = self.session * (0.5 + (index as f64 * 0.618).fract());
            let shift = restless * noise([self.seed, session, index as u32, 77]);
            for (process, samples) in case.metrics[0].processes.iter_mut().enumerate() {
                let own = self.process * noise([self.seed, session, index as u32, process as u32]);
                samples.values = vec![1e-3 * (shift + own).exp()];
            }
        }
        record
    }

    fn runs(&self, sessions: std::ops::RangeInclusive<u32>) -> Vec<RunRecord> {
        sessions.map(|session| self.run(session)).collect()
    }
}

const QUIET: Machine = Machine { cases: 8, processes: 5, session: 0.003, process: 0.002, seed: 1 };

fn verdicts(document: &VerdictDocument, verdict: Verdict) -> u32 {
    document.counts[&verdict]
}

fn row<'a>(document: &'a VerdictDocument, benchmark: &str) -> &'a Row {
    document.rows.iter().find(|row| row.case.benchmark.as_str() == benchmark).unwrap()
}

/// Suites of one program against itself, with sessions that differ: at most `alpha` of them may hold a false red or
/// green. The threshold of 0 is the hardest, since every row then lies on it.
fn false_alarms(machine: impl Fn(u32) -> Machine, stored: u32, suites: u32, sessions: u32) -> u32 {
    let policy = Policy { threshold: Some(0.0), sessions, ..Default::default() };
    let wrong = (0..suites).filter(|seed| {
        let machine = machine(*seed);
        let (past, head) = (machine.runs(1..=stored), machine.run(stored + 1));
        let document = judged(&past, &past[past.len() - 1], &head, &policy);
        let decided = [Verdict::Regressed, Verdict::Improved, Verdict::Unchanged];
        decided.iter().any(|verdict| document.counts[verdict] > 0)
    });
    wrong.count() as u32
}

/// 5 % of the suites and two and a half deviations of a count with that mean.
fn allowed(suites: u32) -> u32 {
    let mean = 0.05 * f64::from(suites);
    (mean + 2.5 * (mean * 0.95).sqrt()).ceil() as u32
}

#[test]
fn sessions_that_differ_give_no_more_false_verdicts_than_promised_where_processes_alone_give_many() {
    let suites = 100;
    let machine = |cases, session| {
        move |seed| Machine { cases, processes: 5, session, process: 0.004, seed: seed + 1000 }
    };
    for (cases, stored, session) in [(24, 5, 0.01), (12, 4, 0.002), (3, 8, 0.01)] {
        let wrong = false_alarms(machine(cases, session), stored, suites, 4);
        assert!(wrong <= allowed(suites), "{cases} cases, {stored} stored, {session}: {wrong} of {suites}");
    }
    let by_processes = false_alarms(machine(24, 0.01), 5, suites, 0);
    assert!(by_processes > suites * 9 / 10, "{by_processes} of {suites}: the simulation does not bite");
}

#[test]
fn without_a_history_nothing_is_green_and_only_a_large_change_is_red() {
    let (base, mut head) = (standard(1), standard(2));
    let policy = Policy::default();
    let same = judged(&[], &base, &head, &policy);
    assert_eq!((same.exit_code, same.conclusion), (3, Conclusion::Inconclusive));
    assert_eq!(same.method.rule, "process-session-4");
    assert_eq!(same.method.sessions, Some(Sessions { needed: 4, runs: 0 }));
    // The size in bytes is known, whatever the session.
    assert_eq!((verdicts(&same, Verdict::Inconclusive), verdicts(&same, Verdict::Unchanged)), (3, 1));
    let gemm = row(&same, "kernels/gemm");
    assert!(gemm.reason.starts_with("no history shows how much this benchmark differs"), "{}", gemm.reason);
    assert!(gemm.next.contains("save 4 more runs") && gemm.next.contains("--sessions 0"), "{}", gemm.next);

    scale(&mut head, "kernels/gemm", 1.08);
    let slower = judged(&[], &base, &head, &policy);
    assert_eq!(row(&slower, "kernels/gemm").verdict, Verdict::Inconclusive, "sessions of 4 % explain it");
    scale(&mut head, "kernels/gemm", 1.3);
    let slower = judged(&[], &base, &head, &policy);
    assert_eq!((row(&slower, "kernels/gemm").verdict, slower.exit_code), (Verdict::Regressed, 1));
    assert!(row(&slower, "kernels/gemm").reason.contains("exceeds what sessions that differ by 4 % explain"));

    let asked = judged(&[], &base, &standard(2), &Policy { sessions: 0, ..policy });
    assert_eq!((asked.exit_code, asked.method.rule.as_str()), (0, "process-welch-holm-4"));
    assert_eq!(asked.method.sessions, None);
}

/// Two sessions of one program on an H200, seconds apart (28 November 2026): 7.058 µs and 8.403 µs in five quiet processes
/// each, with one stored session.
#[test]
fn two_sessions_as_far_apart_as_on_a_real_card_are_not_red_without_a_history() {
    let session = |seed, centre, spread| {
        let plans = [
            plan("gpu/copy", 16, "host", "time", "s", centre, spread),
            plan("gpu/copy", 256, "host", "time", "s", 129e-6, 1e-3),
        ];
        build_sized(seed, &plans, 5, 1)
    };
    let (base, head) = (session(1, 7.058e-6, 0.0091), session(2, 8.403e-6, 0.0134));
    let document = judged(std::slice::from_ref(&base), &base, &head, &Policy::default());
    let copied = &document.rows[0];
    assert_eq!((copied.verdict, document.exit_code), (Verdict::Inconclusive, 3), "{copied:?}");
    assert!(copied.change.as_ref().unwrap().slowdown > 0.17, "{copied:?}");
}

#[test]
fn n12_without_a_history_an_improvement_is_believed_where_a_slowdown_of_its_size_is() {
    let (base, mut head) = (standard(1), standard(2));
    for (factor, believed) in [(1.08, false), (1.4, true), (16.0, true)] {
        head.cases.clone_from(&standard(2).cases);
        scale(&mut head, "kernels/gemm", factor);
        let there = judged(&[], &base, &head, &Policy::default());
        let back = judged(&[], &head, &base, &Policy::default());
        let of = |document: &VerdictDocument| row(document, "kernels/gemm").verdict;
        let expected = match believed {
            true => (Verdict::Regressed, Verdict::Improved),
            false => (Verdict::Inconclusive, Verdict::Inconclusive),
        };
        assert_eq!((of(&there), of(&back)), expected, "{factor}");
    }
}

#[test]
fn with_a_history_unchanged_is_green_and_a_small_change_is_red() {
    let stored = QUIET.runs(1..=6);
    let (base, mut head) = (&stored[5], QUIET.run(7));
    let same = judged(&stored, base, &head, &Policy::default());
    assert_eq!((same.exit_code, verdicts(&same, Verdict::Unchanged)), (0, 8), "{:#?}", same.rows);
    assert_eq!(same.method.sessions, Some(Sessions { needed: 4, runs: 6 }));
    scale(&mut head, "s/c", 1.08);
    let slower = judged(&stored, base, &head, &Policy::default());
    assert_eq!((row(&slower, "s/c").verdict, verdicts(&slower, Verdict::Unchanged)), (Verdict::Regressed, 7));
    let few = judged(&stored[3..], base, &head, &Policy::default());
    let reason = &row(&few, "s/a").reason;
    assert!(reason.starts_with("there are 3 stored sessions") && reason.contains("4 are needed"), "{reason}");
    assert!(row(&few, "s/a").next.starts_with("save 1 more run:"));
}

#[test]
fn real_changes_between_stored_commits_do_not_hide_the_next_one() {
    let mut stored = QUIET.runs(1..=8);
    // Two commits out of eight, each of which made everything a quarter faster.
    for (at, record) in stored.iter_mut().enumerate() {
        let factor = if at < 3 {
            1.6
        } else if at < 6 {
            1.25
        } else {
            1.0
        };
        NAMES[..8].iter().for_each(|name| scale(record, name, factor));
    }
    let mut head = QUIET.run(9);
    scale(&mut head, "s/e", 1.1);
    let document = judged(&stored, &stored[7], &head, &Policy::default());
    assert_eq!(
        (row(&document, "s/e").verdict, verdicts(&document, Verdict::Unchanged)),
        (Verdict::Regressed, 7)
    );
}

#[test]
fn sessions_that_differ_much_are_the_reason_for_doubt_and_more_processes_are_not_advised() {
    let restless = Machine { session: 0.04, ..QUIET };
    let stored = restless.runs(1..=8);
    let document = judged(&stored, &stored[7], &restless.run(9), &Policy::default());
    let doubtful = document.rows.iter().find(|row| row.verdict == Verdict::Inconclusive).unwrap();
    assert!(doubtful.reason.contains("8 stored ones show it"), "{}", doubtful.reason);
    assert!(!doubtful.next.contains("--processes"), "{}", doubtful.next);
    // The history was long enough: what is open is open by the suite file's policy, as within one session.
    let any_green = verdicts(&document, Verdict::Unchanged) > 0;
    assert_eq!(document.exit_code, if any_green { 0 } else { 3 });
}

#[test]
fn the_sides_of_one_interleaved_run_are_one_session() {
    let interleaved = |side, order_seed: u64| {
        let mut record = standard(if side == Side::Base { 1 } else { 2 });
        record.side = Some(side);
        record.started = standard(1).started;
        let seed = Shown { value: order_seed.into(), origin: Origin::Default };
        record.config.insert("coin_seed".into(), seed);
        for process in record.cases.iter_mut().flat_map(|case| &mut case.processes) {
            process.round = Some(process.index);
        }
        record
    };
    let (base, head) = (interleaved(Side::Base, 7), interleaved(Side::Head, 7));
    assert!(one_session(&base, &head));
    assert_eq!(judged(&[], &base, &head, &Policy::default()).method.rule, "process-welch-holm-4");
    // Sides of two runs, and a base against a base, are no pair that took turns.
    let again = RunRecord { run_id: standard(3).run_id, ..interleaved(Side::Base, 7) };
    for other in [interleaved(Side::Head, 8), again, standard(3)] {
        assert_eq!(judged(&[], &base, &other, &Policy::default()).method.rule, "process-session-4");
    }
    // In a history both are one session.
    assert_eq!(past(&[base, head], &standard(8), &standard(9)).runs, 1);
}

#[test]
fn a_history_holds_each_run_once_and_neither_the_head_nor_other_machines() {
    let stored = QUIET.runs(1..=4);
    let (base, head) = (&stored[3], QUIET.run(5));
    let mut elsewhere = QUIET.run(6);
    elsewhere.manifest.host.cpu_model = Probe::Known("another".into());
    let mut all = stored.clone();
    all.extend([stored[2].clone(), head.clone(), elsewhere]);
    let history = past(&all, base, &head);
    assert_eq!(history, past(&stored, base, &head));
    assert_eq!((history.runs, history.pasts[0].sequences["main"].len()), (4, 4));
    // What goes into a document comes back and says the same.
    let text = serde_json::to_string(&history).unwrap();
    let back: History = serde_json::from_str(&text).unwrap();
    let again =
        |history| compare_with(history, &side(base, "a"), &side(&head, "b"), &Policy::default()).unwrap();
    assert_eq!(again(&back), again(&history));
}

/// A foreign harness: one process a run, which states a figure and perhaps its deviation.
fn foreign(record: &RunRecord, stddev: Option<f64>) -> RunRecord {
    let mut record = record.clone();
    for case in &mut record.cases {
        let samples = &mut case.metrics[0].processes[0];
        let value = std::mem::take(&mut samples.values)[0];
        let count = stddev.map(|_| 100);
        samples.stated = Some(Stated { value, stddev: stddev.map(|share| share * value), count });
    }
    record
}

#[test]
fn summaries_of_single_processes_are_compared_as_far_as_they_allow() {
    let single = Machine { processes: 1, ..QUIET };
    let (base, head) = (foreign(&single.run(1), Some(0.01)), foreign(&single.run(2), Some(0.01)));
    let document = judged(&[], &base, &head, &Policy::default());
    assert_eq!((document.exit_code, verdicts(&document, Verdict::Inconclusive)), (3, 8));
    let some = row(&document, "s/a");
    let change = some.change.as_ref().unwrap();
    // Welch of 100 and 100 iterations with 1 %: 1.972 * 0.01 * sqrt(2 / 100).
    assert!(((change.high.ln_1p() - change.low.ln_1p()) / 2.0 - 0.002_789).abs() < 1e-5, "{change:?}");
    assert!(some.reason.contains("says nothing of how processes differ"), "{}", some.reason);
    // The same without a history to ask, and within one session.
    let alone = judged(&[], &base, &head, &Policy { sessions: 0, ..Default::default() });
    assert_eq!(alone.rows[0].verdict, Verdict::Inconclusive);

    let (base, head) = (foreign(&single.run(1), None), foreign(&single.run(2), None));
    let bare = judged(&[], &base, &head, &Policy::default());
    let some = row(&bare, "s/a");
    assert!(some.change.is_none() && some.reason.contains("head / base is"), "{some:?}");

    // Several runs of the same kind show what one process does not.
    let stored: Vec<RunRecord> =
        single.runs(1..=7).iter().map(|record| foreign(record, Some(0.01))).collect();
    let mut slower = foreign(&single.run(8), Some(0.01));
    for samples in &mut case_of(&mut slower, "s/b").metrics[0].processes {
        samples.stated.as_mut().unwrap().value *= 1.12;
    }
    let known = judged(&stored, &stored[6], &slower, &Policy::default());
    assert_eq!((row(&known, "s/b").verdict, known.exit_code), (Verdict::Regressed, 1));
    assert!(verdicts(&known, Verdict::Unchanged) >= 5, "{:#?}", known.rows);
    // Runs of many processes hold less noise than one process does: they do not speak for it.
    let many = QUIET.runs(1..=7);
    let unknown = judged(&many, &stored[6], &slower, &Policy::default());
    assert_eq!(verdicts(&unknown, Verdict::Inconclusive), 8);
}
