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

fn met(record: &mut RunRecord, rounds: std::ops::Range<u32>, sign: HealthSign) {
    for process in record.cases.iter_mut().flat_map(|case| &mut case.processes) {
        let health =
            if rounds.contains(&process.index) { vec![GpuSign { gpu: 1, sign }] } else { Vec::new() };
        process.conditions = Some(Conditions { health, ..Default::default() });
    }
}

#[test]
fn b35_a_fault_of_the_card_on_one_side_is_no_regression_and_the_error_of_a_program_is_none_of_the_card() {
    for (sign, words) in [
        (HealthSign::UncorrectedErrors, "uncorrected memory errors"),
        (HealthSign::RemapPending, "memory rows that wait for a remap"),
        (HealthSign::Xid(79), "Xid 79"),
    ] {
        let (base, mut head) = held("sw_power_cap");
        met(&mut head, 2..20, sign);
        let mut base = base;
        met(&mut base, 0..0, sign);
        let verdict = judged(&base, &head);
        assert_eq!(verdict.counts[&Verdict::Regressed], 0, "{words}: {:?}", verdict.counts);
        let slow = row(&verdict, "slow", "time");
        let reason =
            format!("a GPU had a fault ({words}) in 18 of 20 rounds, and the others alone do not show it");
        assert!(slow.reason.contains(&reason), "{}", slow.reason);
        assert!(slow.next.contains("reset it, or measure on another one"), "{}", slow.next);
        let said = format!("{words} on GPU 1 in 0 of 180 on base and 162 of 180 on head");
        assert!(verdict.warnings.iter().any(|warning| warning.contains(&said)), "{:?}", verdict.warnings);
    }
    // What a program causes on a healthy card, and what the card mended, are only told.
    for sign in [HealthSign::Xid(31), HealthSign::CorrectedErrors, HealthSign::PcieReplays] {
        let (mut base, mut head) = held("sw_power_cap");
        met(&mut base, 0..0, sign);
        met(&mut head, 0..20, sign);
        let verdict = judged(&base, &head);
        assert_eq!(verdict.counts[&Verdict::Regressed], 1, "{sign}: {:?}", verdict.counts);
        assert!(verdict.warnings.iter().any(|warning| warning.contains(&sign.to_string())));
    }
}

#[test]
fn b35_one_round_with_a_fault_is_left_out_and_records_apart_decide_nothing() {
    let (mut base, mut head) = held("sw_power_cap");
    met(&mut base, 7..8, HealthSign::Xid(48));
    met(&mut head, 0..0, HealthSign::Xid(48));
    assert_eq!(judged(&base, &head).counts[&Verdict::Regressed], 1);

    let input = |record| SideInput { record, name: String::new() };
    let policy = Policy { sessions: 0, ..Default::default() };
    let (base, mut head) = (records::standard(1), records::standard(2));
    records::scale(&mut head, "kernels/gemm", 1.5);
    met(&mut head, 0..1, HealthSign::UncorrectedErrors);
    let verdict = compare(&input(&base), &input(&head), &policy).unwrap();
    let gemm = row(&verdict, "gemm", "time");
    assert_eq!(gemm.verdict, Verdict::Inconclusive);
    assert!(
        gemm.reason.contains("a GPU had a fault (uncorrected memory errors) in 1 process of it"),
        "{}",
        gemm.reason
    );
    assert_eq!(row(&verdict, "module", "size").verdict, Verdict::Unchanged, "bytes are the same on any card");
}

fn linked(record: &mut RunRecord, width: u32) {
    for process in record.cases.iter_mut().flat_map(|case| &mut case.processes) {
        let link = PcieLink { generation: 5, width, max_generation: Some(5), max_width: Some(16) };
        let gpu = GpuTelemetry { used: true, link: Some(link), ..Default::default() };
        let telemetry = Telemetry { gpus: vec![gpu], ..Default::default() };
        process.conditions = Some(Conditions { telemetry: Some(telemetry.into()), ..Default::default() });
    }
}

#[test]
fn b35_a_narrow_link_is_told_and_decides_nothing_where_one_side_alone_had_it() {
    let (mut base, mut head) = held("sw_power_cap");
    linked(&mut base, 8);
    linked(&mut head, 8);
    let verdict = judged(&base, &head);
    assert_eq!(verdict.counts[&Verdict::Regressed], 1, "{:?}", verdict.counts);
    let slow = row(&verdict, "slow", "time");
    let told = "the GPU's PCIe link was generation 5 x8 of 5 x16 in 20 of 20 processes on base and 20 of 20 processes on head";
    assert!(slow.reason.contains(told), "{}", slow.reason);

    linked(&mut base, 16);
    let verdict = judged(&base, &head);
    assert_eq!(verdict.counts[&Verdict::Regressed], 0, "{:?}", verdict.counts);
    let slow = row(&verdict, "slow", "time");
    assert!(
        slow.reason.contains("PCIe link was not the same on both sides in 20 of 20 rounds"),
        "{}",
        slow.reason
    );
}

#[test]
fn b35_a_run_tells_what_befell_the_card_while_its_processes_ran() {
    // The second process is on the card when it happens.
    let folder = folder_with(
        "[suite]\nname = 's'\n[defaults]\nprocesses = 3\ntiming = 'protocol'\n[[benchmark]]\nid = 'a'\n\
         command = ['sh', '-c', 'echo >> count; [ $(wc -l < count) = 2 ] && \
         echo remap_pending=1 pcie_replays=3 xid=79@1 > card; exec ./child ok 0.1']\n",
    );
    let card = folder.path().join("card");
    std::fs::write(&card, "").unwrap();
    let library = fake_nvml::library("");
    let mut run = command(folder.path(), "run");
    run.env("GBENCH_NVML_LIBRARY", &library).env("FAKE_NVML", "count=1").env("FAKE_NVML_FILE", &card);
    let said = "in 1 of 3 processes: PCIe replays on GPU 0 in 1, Xid 79 on GPU 0 in 1, \
                memory rows that wait for a remap on GPU 0 in 1";
    ended(run).exits(0).says(said);
    let record = newest(folder.path());
    let processes = &record.cases[0].processes;
    let health = |index: usize| processes[index].conditions.as_ref().map_or(&[][..], |it| &it.health);
    let met = [HealthSign::RemapPending, HealthSign::PcieReplays, HealthSign::Xid(79)];
    assert_eq!(health(1), met.map(|sign| GpuSign { gpu: 0, sign }));
    assert!(health(0).is_empty() && health(2).is_empty(), "{:?}", record.cases[0].processes);

    // A card and a driver that know none of it say nothing of it.
    for (cfg, words) in [("old_driver", "count=1"), ("", "count=1 remap_pending=!3 pcie_replays=!3 ecc=0")] {
        std::fs::write(folder.path().join("count"), "").unwrap();
        let mut run = command(folder.path(), "run");
        run.env("GBENCH_NVML_LIBRARY", fake_nvml::library(cfg)).env("FAKE_NVML", words);
        let ran = ended(run).exits(0);
        assert!(!ran.out.contains("health") && !ran.err.contains("health"), "{}{}", ran.out, ran.err);
    }
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
