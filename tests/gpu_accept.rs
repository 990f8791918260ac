//! `tests/gpu/accept.sh` on the stand-ins, with small shapes and few cases, and where no GPU can be used.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::fake_cuda;
use crate::support::gpu::StandIn;
use crate::support::{gbench, tools};

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gpu").join(name)
}

/// The script with the environment of a gate.
fn accept(gate: &Command, out: &Path) -> Command {
    let mut command = Command::new(script("accept.sh"));
    for (name, value) in gate.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    for name in ["ACCEPT_REQUIRE", "ACCEPT_ROUNDS", "ACCEPT_REPOSITORIES"] {
        command.env_remove(name);
    }
    command.env("ACCEPT_STAND_IN", "1").env("ACCEPT_QUICK", "1").env("ACCEPT_SECONDS", "900");
    command.arg(gbench()).arg(out);
    command
}

fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn has_bash() -> bool {
    let is_there = Command::new("bash").arg("--version").output().is_ok();
    if !is_there {
        tools::goes_without("there is no bash");
    }
    is_there
}

#[test]
#[ignore = "30 s of a processor: `.ci/run nightly`"]
fn the_acceptance_passes_on_the_stand_in_and_what_it_found_there_is_not_kept() {
    let Some(stand_in) = StandIn::new() else { return };
    if !has_bash() {
        return;
    }
    let folder = crate::support::tempdir().unwrap();
    let out = folder.path().join("out");
    let kernels = ["saxpy_plain", "saxpy_right", "saxpy_wrong", "saxpy_beyond"].map(|name| (name, name));
    let library = folder.path().join("checked.so");
    let twins = fake_cuda::twins_of_kernels(&script("kernels/checked.cu"), &kernels, &[], &library).unwrap();
    let settings = format!("seed=1 counter={}", folder.path().join("counter").display());
    let stand_in = stand_in.with_twins(&twins.display().to_string()).with(&settings);
    let output = accept(&stand_in.command(folder.path(), ""), &out).output().unwrap();
    let table = std::fs::read_to_string(out.join("table.md")).unwrap_or_default();
    assert_eq!(output.status.code(), Some(0), "{}\n{table}", words(&output));
    assert!(!table.contains("FAILED") && table.contains("On a stand-in"), "{table}");
    // What has to be done here, and what needs programs that may be missing.
    for step in [
        "doctor",
        "manifest",
        "compile",
        "one kernel",
        "micro suite, answers checked",
        "hot against cold",
        "the card sampled",
        "wrong answer, write beyond a buffer, out of memory",
        "init, repositories",
        "a kernel of a user: run",
        "a comment more: identical",
        "a slower kernel: red",
        "planted 2 % and 5 %, alternating",
        "the same pair in lock-step",
        "twelve cases against themselves",
    ] {
        assert!(table.contains(&format!("| {step} | ok |")), "{step} in\n{table}");
    }
    for step in [
        "a faster kernel that is wrong: invalid",
        "kernels of a program, traced",
        "bandwidth and torch's",
        "product by cuBLAS and torch",
        "matmul_torch.py",
    ] {
        assert!(table.contains(&format!("| {step} | skipped: ")), "{step} in\n{table}");
    }
    assert!(
        table.contains("| copy_driver.py | ok |")
            || table.contains("| copy_driver.py | skipped: there is no python3 |")
    );
    for found in ["saxpy named", "none red", "5 % planted: +", "2 % planted: +", "identical device code"] {
        assert!(table.contains(found), "{found} in\n{table}");
    }
    for file in [
        "doctor.txt",
        "manifest.json",
        "records/lockstep-head.json",
        "records/planted-head.csv",
        "verdicts/itself.json",
    ] {
        assert!(out.join(file).is_file(), "{file}");
    }
    let keep = |from: &Path| {
        Command::new(script("keep.sh")).arg(from).arg(folder.path().join("kept")).output().unwrap()
    };
    let output = keep(&out);
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert!(words(&output).contains("is a stand-in"), "{}", words(&output));
    // The same as if a card had given it.
    for name in ["manifest.json", "table.md"] {
        let path = out.join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        let text = text.replace("Stand-in", "H0").replace(" On a stand-in:", "");
        std::fs::write(&path, text).unwrap();
    }
    let output = keep(&out);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let kept = std::fs::read_dir(folder.path().join("kept")).unwrap().next().unwrap().unwrap();
    assert!(kept.file_name().to_string_lossy().starts_with("nvidia-h0-80gb-20"), "{kept:?}");
    let table = std::fs::read_to_string(kept.path().join("table.md")).unwrap();
    assert!(table.contains("| a slower kernel: red | ok |"), "{table}");
    let readme = std::fs::read_to_string(kept.path().join("README.md")).unwrap();
    assert!(readme.contains("real hardware"), "{readme}");
    let record = std::fs::read_to_string(kept.path().join("records/user.json")).unwrap();
    let place = folder.path().display().to_string();
    assert!(!record.contains(&place) && record.contains(r#""environment": {}"#), "{record}");
}

#[test]
fn where_no_gpu_can_be_used_the_acceptance_is_skipped_and_says_why() {
    let Some(stand_in) = StandIn::new() else { return };
    if !has_bash() {
        return;
    }
    let folder = crate::support::tempdir().unwrap();
    let mut none = stand_in.command_without_driver(folder.path(), "");
    none.env("GBENCH_NVML_LIBRARY", "/nowhere/libnvidia-ml.so.1");
    let output = accept(&none, &folder.path().join("none")).output().unwrap();
    assert_eq!(output.status.code(), Some(77), "{}", words(&output));
    assert!(words(&output).contains("skipped: no GPU can be measured on this machine"), "{}", words(&output));
    let no_driver = stand_in.command_without_driver(folder.path(), "");
    let output = accept(&no_driver, &folder.path().join("no_driver")).output().unwrap();
    assert_eq!(output.status.code(), Some(77), "{}", words(&output));
    assert!(words(&output).contains("no CUDA driver: libcuda.so.1 is not here"), "{}", words(&output));
}
