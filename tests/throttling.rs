//! A GPU whose clocks are held down while both sides are measured: what is said of it, and what is believed.

use gbench_ci::compare::{Policy, SideInput, Verdict, VerdictDocument, compare, compare_sides};
use gbench_ci::model::*;
use gbench_ci::report::github::{self as render, PublishContext};

use crate::fake_nvml;
use crate::support::cli::{command, ended, newest};
use crate::support::repository::{Repository, row, suite};
use crate::support::rounds::{differences, sides, timed};
use crate::support::{folder_with, records};

/// NVML's bits: the power limit that software keeps, and heat that hardware answers.
const SW_POWER_CAP: &str = "reasons=0x4";
const HW_THERMAL: &str = "reasons=0x48";

/// Eight quiet kernels and one that is 10 % slower; every process met `reason`.
fn held(reason: &str) -> (RunRecord, RunRecord) {
    let mut plans: Vec<_> = (0..8)
        .map(|index| timed(&format!("s/quiet{index}"), &differences(100 + index, 0.0, 0.003, 20)))
        .collect();
    plans.push(timed("s/slow", &differences(1, 0.1, 0.004, 20)));
    let (mut base, mut head) = sides(&plans);
    for record in [&mut base, &mut head] {
        meet(record, reason);
    }
    (base, head)
}

fn meet(record: &mut RunRecord, reason: &str) {
    for process in record.cases.iter_mut().flat_map(|case| &mut case.processes) {
        process.conditions = Some(Conditions { throttled: vec![reason.into()], ..Default::default() });
    }
}

fn judged(base: &RunRecord, head: &RunRecord) -> VerdictDocument {
    let input = |record| SideInput { record, name: String::new() };
    let comparison = base.comparison.as_ref().unwrap();
    compare_sides(&input(base), &input(head), None, &Policy::of(comparison)).unwrap()
}

fn usual(record: &mut RunRecord) {
    for case in &mut record.cases {
        let shown = Shown { value: true.into(), origin: Origin::File("gbench.toml:3".into()) };
        case.config.insert("usual_slowdown".into(), shown);
    }
}

#[test]
fn n5_hardware_slowdown_on_both_sides_decides_nothing_unless_the_base_says_that_it_is_usual() {
    let (mut base, mut head) = held("hw_thermal_slowdown");
    let verdict = judged(&base, &head);
    assert_eq!(verdict.counts[&Verdict::Inconclusive], 9, "{:?}", verdict.counts);
    let slow = row(&verdict, "slow", "time");
    assert!(
        slow.reason.contains("hardware held a GPU's clocks down on both sides in 20 of 20 rounds"),
        "{}",
        slow.reason
    );
    assert!(slow.reason.contains("hw_thermal_slowdown"), "{}", slow.reason);
    assert!(slow.next.contains("usual_slowdown = true"), "{}", slow.next);
    assert_eq!(slow.base.as_ref().unwrap().throttled["hw_thermal_slowdown"], 20);

    // What the head says of it is nothing: a change would loosen its own gate.
    usual(&mut head);
    assert_eq!(judged(&base, &head).counts[&Verdict::Inconclusive], 9);
    usual(&mut base);
    let verdict = judged(&base, &head);
    assert_eq!((verdict.counts[&Verdict::Regressed], verdict.counts[&Verdict::Unchanged]), (1, 8));
    assert!(row(&verdict, "slow", "time").reason.contains("meanwhile a GPU's clocks were held down"));
}

#[test]
fn n5_a_power_limit_on_both_sides_is_only_said() {
    let (base, head) = held("sw_power_cap");
    let verdict = judged(&base, &head);
    assert_eq!((verdict.counts[&Verdict::Regressed], verdict.counts[&Verdict::Unchanged]), (1, 8));
    let said = verdict.warnings.iter().find(|warning| warning.contains("clocks were held down")).unwrap();
    assert!(said.contains("sw_power_cap in 180 of 180 on base and 180 of 180 on head"), "{said}");
    let slow = row(&verdict, "slow", "time");
    assert!(
        slow.reason.contains("held down (sw_power_cap) in 20 of 20 processes on base"),
        "{}",
        slow.reason
    );
    assert_eq!(row(&verdict, "quiet1", "time").reason, "", "a plainly unchanged row has nothing to explain");
    let merged = gbench_ci::compare::Merged::single("", verdict);
    let comment = render::comment(&merged, &PublishContext::default(), "<!-- x -->");
    assert!(comment.contains("clocks were held down while processes ran: sw"), "{comment}");
}

/// One round of many that hardware disturbed takes nothing away from what the others show.
#[test]
fn n5_single_slowed_rounds_are_left_out_and_the_others_decide() {
    let (mut base, mut head) = held("sw_power_cap");
    for record in [&mut base, &mut head] {
        for case in &mut record.cases {
            for process in &mut case.processes {
                let reason = if process.index == 4 { vec!["hw_slowdown".to_owned()] } else { Vec::new() };
                process.conditions = Some(Conditions { throttled: reason, ..Default::default() });
            }
        }
    }
    assert_eq!(judged(&base, &head).counts[&Verdict::Regressed], 1);
}

#[test]
fn n5_records_measured_apart_under_hardware_slowdown_decide_nothing() {
    let apart = |base: &RunRecord, head: &RunRecord| {
        let input = |record| SideInput { record, name: String::new() };
        let policy = Policy { sessions: 0, ..Default::default() };
        compare(&input(base), &input(head), &policy).unwrap()
    };
    let (mut base, mut head) = (records::standard(1), records::standard(2));
    records::scale(&mut head, "kernels/gemm", 1.5);
    assert_eq!(row(&apart(&base, &head), "gemm", "time").verdict, Verdict::Regressed);
    meet(&mut head, "hw_power_brake_slowdown");
    let verdict = apart(&base, &head);
    let gemm = row(&verdict, "gemm", "time");
    assert_eq!(gemm.verdict, Verdict::Inconclusive);
    assert!(gemm.reason.contains("hw_power_brake_slowdown"), "{}", gemm.reason);
    // Bytes are the same at any clock.
    assert_eq!(row(&verdict, "module", "size").verdict, Verdict::Unchanged);
    usual(&mut base);
    assert_eq!(row(&apart(&base, &head), "gemm", "time").verdict, Verdict::Regressed);
}

fn on_a_hot_card<'a>(reasons: &'a str, library: &'a str) -> [(&'a str, &'a str); 2] {
    [("GBENCH_NVML_LIBRARY", library), ("FAKE_NVML", reasons)]
}

#[test]
fn n5_a_comparison_on_a_card_that_is_slowed_all_along_says_so_everywhere() {
    let text = suite("[gate]\nrounds = 5\n[run]\ncalm_wait = '0s'\n", "");
    let it = Repository::new(&[("gbench.toml", &text)], &[("cost", "1.3\n")]);
    let library = fake_nvml::library("");
    let hot = on_a_hot_card(HW_THERMAL, library.to_str().unwrap());
    let said = it.compare_with("HEAD~1..HEAD", &hot).says("clocks were held down");
    assert_ne!(said.code, 1, "{}", said.out);
    let verdict = it.verdict();
    assert_eq!(verdict.counts[&Verdict::Inconclusive], 4, "{:?}", verdict.counts);
    assert!(verdict.warnings.iter().any(|warning| warning.contains("hw_thermal_slowdown in")));
    let explained = ended(command(it.root(), "explain c0"));
    explained
        .exits(0)
        .says("a GPU's clocks held down on both sides: in 5 of 5 rounds (hw_slowdown, hw_thermal_slowdown)");
}

#[test]
fn n5_a_run_looks_at_the_card_around_each_process() {
    let folder = folder_with(
        "[suite]\nname = 's'\n[defaults]\nprocesses = 3\ntiming = 'protocol'\n[[benchmark]]\nid = 'a'\n\
         command = ['./child', 'ok', '0.1']\n",
    );
    let library = fake_nvml::library("");
    let mut run = command(folder.path(), "run");
    run.envs(on_a_hot_card(SW_POWER_CAP, library.to_str().unwrap()));
    ended(run).exits(0).says("a GPU's clocks were held down in 3 of 3 processes: sw_power_cap in 3");
    let record = newest(folder.path());
    for process in &record.cases[0].processes {
        assert_eq!(process.conditions.as_ref().unwrap().throttled, ["sw_power_cap"]);
    }
    // Where the suite says that nobody is to look, nobody does.
    let path = folder.path().join("gbench.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}[gate]\nwatch = false\n")).unwrap();
    let mut run = command(folder.path(), "run --quiet");
    run.envs(on_a_hot_card(SW_POWER_CAP, library.to_str().unwrap()));
    ended(run).exits(0);
    assert!(newest(folder.path()).cases[0].processes[0].conditions.is_none());
}
