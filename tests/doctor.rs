//! `gbench-ci doctor`, through the binary.

use serde_json::Value;

use crate::fake_nvml;
use crate::manifest::gbench;

fn doctor(settings: &str, arguments: &[&str], exit: i32) -> String {
    let folder = crate::support::tempdir().unwrap();
    let mut command = gbench(folder.path());
    command.env("GBENCH_NVML_LIBRARY", fake_nvml::library("")).env("FAKE_NVML", settings);
    let output = command.arg("doctor").args(arguments).assert().code(exit).get_output().clone();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout).unwrap()
}

fn check<'a>(document: &'a Value, name: &str) -> &'a Value {
    let checks = document["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap()
}

#[test]
fn a_machine_with_gpus_is_told_what_disturbs_them() {
    let text = doctor("mig.1=1 processes.0=1 power_limit=500000 reasons=0x40", &["--json"], 0);
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["gpu"], true);
    assert_eq!(check(&document, "GPU")["finding"], "2 x NVIDIA Stand-in 80GB, driver 550.54.15, CUDA 12.4");
    assert_eq!(check(&document, "MIG")["state"], "warning");
    assert_eq!(check(&document, "processes")["finding"], "GPU 0: python3 (pid 4000001); GPU 1: none");
    assert_eq!(check(&document, "power limit")["finding"], "500 W, by default 700 W");
    assert_eq!(check(&document, "throttling")["state"], "problem");
    assert_eq!(check(&document, "ECC")["state"], "ok");
    assert!(document["readings"]["noise"]["repeats"].as_u64().unwrap() >= 5);
}

#[test]
fn a_missing_gpu_matters_only_where_one_is_required() {
    let text = doctor("init=!9", &[], 0);
    assert!(text.contains("No GPU can be measured here.") && text.contains("driver is not loaded"), "{text}");
    let text = doctor("init=!9", &["--require-gpu"], 5);
    assert!(text.contains("one is required"), "{text}");
    doctor("count=0", &["--require-gpu"], 5);
    doctor("", &["--require-gpu"], 0);
}

#[test]
fn a_gpu_that_is_hidden_is_not_usable() {
    let folder = crate::support::tempdir().unwrap();
    let mut command = gbench(folder.path());
    command.env("GBENCH_NVML_LIBRARY", fake_nvml::library("")).env("CUDA_VISIBLE_DEVICES", "");
    let output = command.args(["doctor", "--require-gpu"]).assert().code(5).get_output().stdout.clone();
    assert!(String::from_utf8(output).unwrap().contains("hides every GPU"));
}

#[test]
fn a_folder_for_temporary_files_that_takes_none_is_a_problem() {
    let folder = crate::support::tempdir().unwrap();
    let mut command = gbench(folder.path());
    command.env("TMPDIR", folder.path().join("gone"));
    let output = command.arg("doctor").assert().code(5).get_output().stdout.clone();
    let text = String::from_utf8(output).unwrap();
    assert!(text.starts_with("Nothing can be measured here") && text.contains("TMPDIR"), "{text}");
}

#[test]
fn the_table_fits_eighty_columns_and_has_no_colour_in_a_pipe() {
    let text = doctor("mig=1 persistence.0=0 processes=1 temperature.0=91", &[], 0);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(!text.contains('\u{1b}'));
    assert!(text.contains("-> switch it on with"), "{text}");
    assert!(text.trim_end().ends_with("warnings."), "{text}");
}
