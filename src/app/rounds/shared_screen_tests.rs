//! The promise with shared screens, on whole comparisons whose harness is made up: plan, rounds, scheduler and rule are the
//! real ones.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::scheduler::SequentialStopping;
use crate::adapters::{CaseName, Harness};
use crate::app::compare::commits::rule_of;
use crate::app::measuring::session::new_comparison;
use crate::app::progress::Reporter;
use crate::compare::{Reason, Row, Verdict, VerdictDocument, verdict_of};
use crate::model::{
    Comparison, Isolation, ProcessEnd, RecordState, RunId, RunRecord, RunSource, SCHEMA_RECORD, Setting,
    Side, Timing, ToolInfo,
};
use crate::run::{
    Execution, ExecutionEnd, Executor, Launch, NextRound, RoundsSession, RoundsState, RunSession, Silent,
    StoppingPolicy, Turns,
};
use crate::store::ComparisonFolder;
use crate::suite::plan::{RoundsPlan, choose_controls, common_cases};
use crate::suite::{Action, Benchmark, Gate, HarnessEntry, Listing, Source, Suite};

struct Simulated {
    random: Pcg64,
    /// By case: the deviation of one process's time.
    noise: Vec<f64>,
    /// Time of a case on the head, as a multiple of the base's; and where it was measured behind another one.
    head: Vec<f64>,
    head_behind: Vec<f64>,
    /// Deviation of what all cases of a process share.
    process: f64,
    /// Every round is of shared processes, and one case is a control.
    always_shared: bool,
    started: [usize; 2],
    /// Time of the machine: it drifts.
    clock: f64,
}

impl Simulated {
    fn new(seed: u64, cases: usize) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        // From 0.2 % to 3 %, as real suites have it.
        let noise = (0..cases).map(|_| 0.002 * 15_f64.powf(random.random())).collect();
        let even = vec![1.0; cases];
        Self {
            random,
            noise,
            head: even.clone(),
            head_behind: even,
            process: 0.005,
            always_shared: false,
            started: [0; 2],
            clock: 0.0,
        }
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.random.random::<f64>()).sum::<f64>() - 6.0
    }
}

impl Executor for Simulated {
    fn execute(&mut self, launch: &Launch) -> Execution {
        let of = |flag: &str| {
            let found = launch.env.iter().find(|(name, _)| name == flag);
            found.and_then(|(_, value)| value.to_str()).unwrap()
        };
        let asked = of("BENCHMARK_FILTER").trim_start_matches("^(").trim_end_matches(")$");
        let is_head = launch.dir == Path::new("/head");
        self.started[usize::from(is_head)] += 1;
        self.clock += 1.0;
        // The whole process is lucky or not; the second one is a little slower, and so are later ones.
        let process = self.process * self.normal() + 0.002 * (self.clock / 7.0).sin();
        let mut entries = Vec::new();
        for (place, name) in asked.split('|').enumerate() {
            let case: usize = name.strip_prefix("case_").unwrap().parse().unwrap();
            let factor = match (is_head, place) {
                (false, _) => 1.0,
                (true, 0) => self.head[case],
                (true, _) => self.head[case] * self.head_behind[case],
            };
            let time =
                100.0 * factor * (process + 0.0005 * place as f64 + self.noise[case] * self.normal()).exp();
            entries.push(format!(
                "{{\"run_name\": \"{name}\", \"run_type\": \"iteration\", \"iterations\": 9, \"real_time\": {time}, \
                 \"cpu_time\": {time}, \"time_unit\": \"ns\", \"repetition_index\": 0}}"
            ));
        }
        std::fs::write(of("BENCHMARK_OUT"), format!("{{\"benchmarks\": [{}]}}", entries.join(","))).unwrap();
        let mut execution = Execution::not_started(String::new());
        execution.end = ExecutionEnd::Process(ProcessEnd::Exit(0));
        execution.seconds = 1.0;
        execution
    }

    fn execute_pair(&mut self, _: [&Launch; 2], _: &Turns) -> [Execution; 2] {
        unreachable!("nothing here takes turns")
    }
}

pub(crate) fn suite(dir: &str, cases: usize) -> Suite {
    let action = Action::Command(vec!["./bench".into()]);
    let mut benchmark = Benchmark::new("s/h".parse().unwrap(), action, dir.into());
    benchmark.timing = Timing::Harness;
    benchmark.harness = Some(HarnessEntry {
        harness: Harness::named("google-benchmark"),
        cases: Vec::new(),
        only: Vec::new(),
        unmatched: Vec::new(),
        listing: Listing::Unlisted,
        program: None,
        file: None,
        built: false,
    });
    benchmark.settings.isolation = Setting::default(Isolation::SharedScreen);
    benchmark.settings.iterations = Setting::default(1);
    benchmark.take_cases((0..cases).map(|case| CaseName::plain(format!("case_{case}"))).collect());
    Suite::new("s", Source::Builtin, vec![benchmark])
}

fn header(side: Option<Side>, salt: u32) -> RunRecord {
    RunRecord {
        schema: SCHEMA_RECORD.into(),
        run_id: RunId::new(SystemTime::now(), salt),
        tool: ToolInfo { name: "gbench-ci".into(), version: "test".into() },
        state: RecordState::Interrupted,
        cut_short: None,
        exclusive: None,
        started: "2026-01-01T00:00:00.000Z".into(),
        finished: None,
        side,
        comparison: None,
        ingested: None,
        source: RunSource { suite: "s".into(), path: None, sha256: None },
        command: Vec::new(),
        config: Default::default(),
        manifest: crate::machine::manifest(Path::new("/")),
        clocks: None,
        cases: Vec::new(),
        warnings: Vec::new(),
    }
}

/// So many rounds of shared processes, and no other: what a short budget buys.
struct SharedAlone(u32);

impl StoppingPolicy for SharedAlone {
    fn next(&mut self, state: &RoundsState<'_>) -> NextRound {
        if state.rounds() < self.0 { NextRound::Measure(state.open()) } else { NextRound::Stop }
    }
}

fn compared(simulated: &mut Simulated, seed: u64) -> VerdictDocument {
    compared_by(simulated, seed, |comparison| {
        Box::new(SequentialStopping::new(comparison, Reporter::new(Silent)))
    })
}

fn compared_by(
    simulated: &mut Simulated,
    seed: u64,
    stopping: impl FnOnce(&Comparison) -> Box<dyn StoppingPolicy>,
) -> VerdictDocument {
    let cases = simulated.noise.len();
    let [base, head] = ["/base", "/head"].map(|dir| {
        let mut suite = suite(dir, cases);
        if simulated.always_shared {
            suite.benchmarks[0].settings.isolation = Setting::default(Isolation::Shared);
        }
        suite
    });
    let controls = choose_controls(&common_cases(&base, &head), usize::from(simulated.always_shared), seed);
    let plan = RoundsPlan::new(&base, &head, &controls, seed);
    let gate = Gate::default();
    let rule = rule_of(&gate, cases);
    assert_eq!(plan.screens_in_shared_processes(), !simulated.always_shared);
    let rule = if simulated.always_shared { rule } else { rule.with_programs() };
    let comparison = new_comparison(["base", "head"], seed, &gate, rule);
    let artifacts = tempfile::tempdir().unwrap();
    let folder = ComparisonFolder::create(artifacts.path(), &comparison.id).unwrap();
    let headers = plan.arms.iter().enumerate().map(|(index, arm)| {
        let comparison = Some(Box::new(comparison.clone()));
        RunRecord { comparison, ..header(arm.side, index as u32) }
    });
    let session = RunSession {
        executor: simulated,
        observer: &mut Silent,
        probe: None,
        binary: PathBuf::from("gbench-ci"),
        deadline: 0.0,
        calm_wait: 0.0,
        after_timeout: Default::default(),
    };
    let mut stopping = stopping(&comparison);
    let rounds = RoundsSession { plan: &plan, session, folder: &folder, resume: Vec::new() };
    let finished = rounds.run(headers.collect(), stopping.as_mut()).unwrap();
    verdict_of(&finished[0].record, &finished[1].record, finished.get(2).map(|control| &control.record))
        .unwrap()
}

fn rows(document: &VerdictDocument, verdict: Verdict) -> Vec<String> {
    let rows = document.rows.iter().filter(|row| row.verdict == verdict);
    rows.map(|row| row.case.params.get("case").map_or("the program".into(), ToString::to_string)).collect()
}

/// Suites of those seeds that are red though nothing changed.
fn red(seeds: std::ops::Range<u64>) -> usize {
    let is_red = |seed: &u64| {
        let mut simulated = Simulated::new(*seed, 10);
        !rows(&compared(&mut simulated, *seed), Verdict::Regressed).is_empty()
    };
    seeds.filter(is_red).count()
}

#[test]
fn f3_suites_without_a_change_are_not_red() {
    // One may be chance: `just shared-screens` has all 200.
    assert!(red(0..6) <= 1);
}

#[test]
#[ignore = "some minutes; `just shared-screens` runs it"]
fn f3_of_200_suites_without_a_change_at_most_2_are_red() {
    let red = red(0..200);
    println!("red: {red} of 200 suites without a change");
    assert!(red <= 2, "{red} of 200");
}

#[test]
fn f3_a_change_is_found_behind_a_shared_screen() {
    let mut found = 0;
    for seed in 1000..1006 {
        let mut simulated = Simulated::new(seed, 8);
        simulated.head[3] = 1.08;
        simulated.noise[3] = 0.01;
        let document = compared(&mut simulated, seed);
        found += usize::from(rows(&document, Verdict::Regressed) == ["case_3"]);
    }
    assert!(found >= 5, "{found} of 6");
}

#[test]
fn f3_an_interaction_is_never_red_and_mostly_named() {
    let mut named = 0;
    for seed in 2000..2006 {
        let mut simulated = Simulated::new(seed, 8);
        simulated.head_behind[3] = 1.3;
        simulated.noise[3] = 0.005;
        let document = compared(&mut simulated, seed);
        assert_eq!(rows(&document, Verdict::Regressed), [""; 0], "seed {seed}");
        let row = document.rows.iter().find(|row| row.case.params["case"].to_string() == "case_3").unwrap();
        let code = row.why.as_ref().map(|why| serde_json::to_value(why).unwrap()["code"].clone());
        named += usize::from(code == Some("shared-processes-differ".into()));
    }
    // Where it came first in most rounds of the screen, shared processes did not show it.
    assert!(named >= 4, "{named} of 6");
}

fn shared_alone(simulated: &mut Simulated, seed: u64) -> VerdictDocument {
    compared_by(simulated, seed, |_| Box::new(SharedAlone(20)))
}

/// The rows that are red, and the case that the reason of a red program names.
fn red_and_likeliest(document: &VerdictDocument) -> (Vec<String>, Option<String>) {
    let likeliest = document.rows.iter().find_map(|row| match &row.why {
        Some(Reason::ProgramWorse { likeliest, .. }) => Some(likeliest.clone()),
        _ => None,
    });
    (rows(document, Verdict::Regressed), likeliest)
}

#[test]
fn e11_programs_without_a_change_are_not_red() {
    let red = |seed: &u64| {
        !rows(&shared_alone(&mut Simulated::new(*seed, 8), *seed), Verdict::Regressed).is_empty()
    };
    // One may be chance.
    assert!((3000..3010).filter(red).count() <= 1);
}

#[test]
fn e11_shared_rounds_make_the_program_red_and_name_its_likeliest_case() {
    let mut found = 0;
    for seed in 4000..4006 {
        let mut simulated = Simulated::new(seed, 8);
        simulated.head[3] = 1.1;
        simulated.noise[3] = 0.01;
        let document = shared_alone(&mut simulated, seed);
        let (red, likeliest) = red_and_likeliest(&document);
        // No case is red by shared processes.
        assert!(red.is_empty() || red == ["the program"], "{red:?}");
        if let Some(likeliest) = likeliest {
            assert!(likeliest.contains("case_3"), "{likeliest}");
            assert_eq!((document.exit_code, document.rows[0].case.params.len()), (1, 0));
            found += 1;
        }
    }
    assert!(found >= 5, "{found} of 6");
}

#[test]
fn e11_a_case_that_slows_its_neighbours_makes_the_program_red_and_none_of_them() {
    for seed in 5000..5006 {
        let mut simulated = Simulated::new(seed, 8);
        simulated.head_behind = vec![1.2; 8];
        let document = shared_alone(&mut simulated, seed);
        assert_eq!(red_and_likeliest(&document).0, ["the program"], "seed {seed}");
    }
}

/// Comparisons of `isolation = "shared"` with process noise of 1.5 %: one of ten cases is 5 % slower, or all are 3 %
/// slower. Those in which every red was taken back, and the rows that came out unchanged.
fn shared_noise(seeds: std::ops::Range<u64>) -> (usize, usize) {
    let compared = |seed: u64, change: fn(usize) -> f64| {
        let mut simulated = Simulated::new(seed, 10);
        (simulated.process, simulated.always_shared) = (0.015, true);
        simulated.head = (0..10).map(change).collect();
        compared(&mut simulated, seed)
    };
    let is_withdrawn = |seed: &u64| {
        let document = compared(*seed, |case| if case == 3 { 1.05 } else { 1.0 });
        let withdrawn = |row: &Row| {
            matches!(row.why, Some(Reason::SerialCorrelation { .. } | Reason::ControlChanged { .. }))
        };
        document.rows.iter().any(withdrawn)
    };
    let withdrawn = seeds.clone().filter(is_withdrawn).count();
    let unchanged = |seed: u64| rows(&compared(seed, |_| 1.03), Verdict::Unchanged).len();
    (withdrawn, seeds.map(unchanged).sum())
}

#[test]
fn r4_shared_noise_takes_no_red_back_and_certifies_no_slowdown() {
    let (withdrawn, unchanged) = shared_noise(6000..6003);
    assert!(withdrawn <= 1 && unchanged <= 1, "{withdrawn} of 3, {unchanged} of 30 rows");
}

#[test]
#[ignore = "some minutes; `just shared-screens` runs it"]
fn r4_of_200_suites_with_shared_noise_few_are_withdrawn_or_certified() {
    let (withdrawn, unchanged) = shared_noise(6000..6200);
    println!("+5 %, all reds taken back: {withdrawn} of 200; +3 % unchanged: {unchanged} of 2,000 rows");
    // The goals are 0.5 % of comparisons and 0.2 % of rows; so few of them may miss these by chance.
    assert!(withdrawn <= 4 && unchanged <= 11, "{withdrawn} of 200, {unchanged} of 2,000 rows");
}
