//! What must agree before two measurements of a case may be compared, and which devices a machine has.

use gbench_ci::compare::{Policy, SideInput, Verdict, VerdictDocument, compare};
use gbench_ci::model::*;

use crate::fake_nvml;
use crate::support::cli::{Ran, command, ended, newest, ran, runs};
use crate::support::records::{case_of, standard};
use crate::support::repository::{Repository, UNWATCHED, row, suite};

fn shown(value: impl Into<serde_json::Value>) -> Shown {
    Shown { value: value.into(), origin: Origin::File("gbench.toml:4".into()) }
}

fn judged(base: &RunRecord, head: &RunRecord) -> VerdictDocument {
    let input = |record| SideInput { record, name: String::new() };
    compare(&input(base), &input(head), &Policy { sessions: 0, ..Default::default() }).unwrap()
}

#[test]
fn n9_every_setting_that_reaches_the_program_is_part_of_the_key() {
    for (name, base_value, head_value) in [
        ("iterations", shown(10), shown(30)),
        ("warmup", shown(1), shown(5)),
        ("duration", shown("0s"), shown("5s")),
        ("burnin", shown("0s"), shown("1s")),
        ("seed", shown(1), shown(2)),
        ("device", shown("0"), shown("1")),
    ] {
        let (mut base, mut head) = (standard(1), standard(2));
        case_of(&mut base, "kernels/gemm").config.insert(name.into(), base_value);
        case_of(&mut head, "kernels/gemm").config.insert(name.into(), head_value);
        let document = judged(&base, &head);
        let gemm = row(&document, "gemm", "time");
        assert_eq!(gemm.verdict, Verdict::Invalid, "{name}");
        assert!(gemm.reason.starts_with(&format!("`{name}` is")), "{}", gemm.reason);
        assert_eq!(document.counts[&Verdict::Invalid], 1, "the other cases are compared");
        assert_eq!(document.exit_code, Exit::Failed.code());
    }
}

/// A number of iterations that the program found by itself is its answer, and no question to it.
#[test]
fn n9_what_the_program_chose_itself_is_only_said() {
    let (mut base, mut head) = (standard(1), standard(2));
    let told = |value: u32| Shown { value: value.into(), origin: Origin::Benchmark };
    case_of(&mut base, "kernels/gemm").config.insert("iterations".into(), told(1000));
    case_of(&mut head, "kernels/gemm").config.insert("iterations".into(), told(1024));
    case_of(&mut head, "io/read").command = vec!["read".into(), "--size".into(), "64".into()];
    let document = judged(&base, &head);
    assert_eq!(row(&document, "gemm", "time").verdict, Verdict::Unchanged);
    let said = document.warnings.join("\n");
    assert!(said.contains("`iterations` is 1000 on base and 1024 on head"), "{said}");
    assert!(said.contains("started otherwise on head: io/read[n=64]"), "{said}");
}

#[test]
fn n9_ten_iterations_against_thirty_are_no_regression() {
    let text = suite(UNWATCHED, "iterations = 10");
    let more = "awk -v n=\"$GBENCH_ITERATIONS\" 'BEGIN { printf \"total: %.6f\\n\", n * 0.001 }'\n";
    let text = text.replace("'time: ([0-9.]+)'", "'total: ([0-9.]+)'");
    let it = Repository::new(
        &[("gbench.toml", &text), ("more.sh", more)],
        &[("gbench.toml", &text.replace("iterations = 10", "iterations = 30"))],
    );
    it.compare("HEAD~1..HEAD").exits(4).says("`iterations` is 10 on base and 30 on head");
    assert_eq!(row(&it.verdict(), "c0", "time").verdict, Verdict::Invalid);
}

/// A suite of one program that says which device it ran on.
fn on(device: &str, claim: &str) -> tempfile::TempDir {
    let folder = crate::support::tempdir().unwrap();
    let text = format!(
        "[suite]\nname = 's'\n[gate]\nwatch = false\n[defaults]\nprocesses = 3\ndevice = '{device}'\ntiming = 'protocol'\n\
         [[benchmark]]\nid = 'a'\ncommand = ['sh', 'a.sh']\n"
    );
    std::fs::write(folder.path().join("gbench.toml"), text).unwrap();
    let claim = if claim.is_empty() {
        String::new()
    } else {
        format!(r#"{{"event":"metadata","device":"{claim}"}}"#)
    };
    let script = format!(
        "echo started\nprintf '%s\\n' '{claim}' '{{\"event\":\"stage\",\"stage\":\"measure\"}}' \
         '{{\"event\":\"samples\",\"values\":[0.1,0.2]}}' | grep . >> \"$GBENCH_EVENTS\"\n"
    );
    std::fs::write(folder.path().join("a.sh"), script).unwrap();
    folder
}

/// Runs it on a machine with so many GPUs.
fn run_with(folder: &tempfile::TempDir, gpus: u32) -> Ran {
    let mut run = command(folder.path(), "run");
    run.env("GBENCH_NVML_LIBRARY", fake_nvml::library("")).env("FAKE_NVML", format!("count={gpus}"));
    run.env_remove("CUDA_VISIBLE_DEVICES");
    ended(run)
}

#[test]
fn n9_a_device_that_the_machine_does_not_have_is_refused_before_measuring() {
    let folder = on("7", "");
    run_with(&folder, 2).exits(5).says("`device` asks for `7`, and this machine has 2 GPUs, 0 to 1");
    assert_eq!(newest(folder.path()).cases[0].processes, [], "nothing was started");
    run_with(&on("1", ""), 2).exits(0);
    run_with(&on("0,1", ""), 2).exits(0);
}

/// Other makers' GPUs are numbered alike, so that it is measured; nobody is led to believe that the card was looked for.
#[test]
fn n9_a_device_that_could_not_be_looked_for_is_said() {
    let folder = on("7", "");
    let mut run = command(folder.path(), "run");
    run.env("GBENCH_NVML_LIBRARY", folder.path().join("none.so")).env_remove("CUDA_VISIBLE_DEVICES");
    ended(run).exits(0);
    let warnings = newest(folder.path()).warnings;
    assert!(
        warnings.iter().any(|text| text.contains("whether that is here was not checked")),
        "{warnings:?}"
    );
}

#[test]
fn n9_a_program_cannot_claim_a_device_that_is_not_there() {
    run_with(&on("", "cuda:0"), 0).exits(4).says("it claims to have run on `cuda:0`, but it sees no GPU");
    run_with(&on("", "cuda:2"), 2).exits(4).says("it sees 2 GPUs");
    run_with(&on("1", "cuda:1"), 2).exits(4).says("it sees one GPU");
    run_with(&on("1", "cuda:0"), 2).exits(0);
    run_with(&on("", "cuda:NVIDIA Stand-in 80GB"), 2).exits(0);
    run_with(&on("", "cuda:NVIDIA L4"), 2)
        .exits(0)
        .says("run on `cuda:NVIDIA L4`, but it sees")
        .says("NVIDIA Stand-in 80GB");
}

#[test]
fn n9_records_of_two_devices_are_not_compared_without_a_word() {
    let folder = on("0", "");
    run_with(&folder, 2).exits(0);
    let path = folder.path().join("gbench.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("device = '0'", "device = '1'")).unwrap();
    run_with(&folder, 2).exits(0);
    let records: Vec<_> =
        runs(folder.path()).iter().map(|run| format!("{}/results/record.json", run.display())).collect();
    let line = format!("compare {} --sessions 0", records.join(" "));
    ran(folder.path(), &line)
        .exits(4)
        .says("`device` is \"0\" on base and \"1\" on head, so that they ran on different cards");
}
