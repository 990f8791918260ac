//! `gbench-ci manifest`, through the binary: GPUs by a stand-in library, tools, environment, differences.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::OnceLock;

use assert_cmd::Command;
use gbench_ci::model::{Gpu, GpuFacts, Manifest, Probe};

use crate::fake_nvml;

/// The binary in a folder without a repository, and without the caller's devices and job.
pub fn gbench(folder: &Path) -> Command {
    let mut command = Command::new(crate::support::gbench());
    command.current_dir(folder);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if ["CUDA_", "GITHUB_", "FAKE_NVML", "GBENCH_"].iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.env("GBENCH_LOCKS", "off");
    command
}

/// What `manifest show --json` prints, with nothing on standard error.
fn manifest(command: &mut Command) -> Manifest {
    let output = command.args(["manifest", "show", "--json"]).assert().success().get_output().clone();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The GPUs as seen through a stand-in library with those settings.
fn gpus(cfg: &'static str, settings: &str) -> Probe<GpuFacts> {
    let folder = crate::support::tempdir().unwrap();
    let library = fake_nvml::library(cfg);
    manifest(gbench(folder.path()).env("GBENCH_NVML_LIBRARY", library).env("FAKE_NVML", settings)).gpu
}

fn devices(cfg: &'static str, settings: &str) -> Vec<Gpu> {
    match gpus(cfg, settings) {
        Probe::Known(gpus) => gpus.devices,
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_healthy_gpus_are_read_in_every_field() {
    let Probe::Known(gpus) = gpus("", "processes.1=1 temperature.1=61") else { panic!("no GPUs") };
    assert_eq!(gpus.driver, Probe::Known("550.54.15".into()));
    assert_eq!(gpus.cuda, Probe::Known("12.4".into()));
    assert_eq!(gpus.nvml, Probe::Known("12.550.54.15".into()));
    assert_eq!(gpus.devices.len(), 2);
    insta::assert_json_snapshot!(gpus.devices[1]);
}

#[test]
fn what_one_gpu_says_is_not_said_of_the_other() {
    let gpus = devices("", "mig.1=1 ecc.0=0 persistence.1=0 power_limit.0=500000");
    assert_eq!((&gpus[0].mig, &gpus[1].mig), (&Probe::Known(false), &Probe::Known(true)));
    assert_eq!((&gpus[0].ecc, &gpus[1].ecc), (&Probe::Known(false), &Probe::Known(true)));
    assert_eq!((&gpus[0].persistence, &gpus[1].persistence), (&Probe::Known(true), &Probe::Known(false)));
    assert_eq!((&gpus[0].power_limit, &gpus[1].power_limit), (&Probe::Known(500.0), &Probe::Known(700.0)));
}

#[test]
fn throttle_reasons_are_named_and_unknown_ones_do_no_harm() {
    let gpus = devices("", "reasons.0=0x48 reasons.1=0x8000000000000004");
    let names =
        |names: &[&str]| Probe::Known(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!(gpus[0].throttle_reasons, names(&["hw_slowdown", "hw_thermal_slowdown"]));
    assert_eq!(gpus[1].throttle_reasons, names(&["sw_power_cap"]));
}

#[test]
fn clocks_are_locked_when_a_setting_holds_them_or_was_chosen() {
    let locked = |settings: &str| devices("", settings)[0].clocks_locked.clone();
    assert_eq!(locked(""), Probe::Known(false));
    assert_eq!(locked("reasons=0x2"), Probe::Known(true));
    assert_eq!(locked("application_clock=1200"), Probe::Known(true));
    assert_eq!(locked("application_clock=!3"), Probe::Known(false));
    assert!(matches!(locked("application_clock=!3 reasons=!3"), Probe::Absent(_)));
}

#[test]
fn a_refusal_costs_its_own_field() {
    let gpu = &devices("", "ecc=!3 power=!4 temperature=!999 persistence=!26 graphics=!3 name.0=!15")[0];
    assert_eq!(gpu.ecc, Probe::Absent("not supported by this GPU".into()));
    assert!(matches!(&gpu.power, Probe::Failed(reason) if reason.contains("permission")));
    assert!(matches!(gpu.temperature, Probe::Failed(_)));
    assert!(matches!(gpu.persistence, Probe::Failed(_)));
    assert_eq!(gpu.model, Probe::Failed("the GPU has fallen off the bus".into()));
    assert_eq!(gpu.processes, Probe::Known(vec![]));
    assert_eq!(gpu.memory_total, Probe::Known(80 << 30));
}

#[test]
fn a_gpu_that_cannot_be_opened_leaves_the_other_one_whole() {
    let gpus = devices("", "handle.0=!15");
    assert_eq!(gpus[0].uuid, Probe::Failed("the GPU has fallen off the bus".into()));
    assert_eq!(gpus[1].uuid, Probe::Known("GPU-0000-2".into()));
}

#[test]
fn an_old_driver_lacks_functions_and_loses_only_their_fields() {
    let gpu = &devices("old_driver", "")[0];
    let lacking = "this driver's library lacks the function";
    assert_eq!(gpu.mig, Probe::Failed(lacking.into()));
    assert_eq!(gpu.memory_total, Probe::Failed(lacking.into()));
    assert_eq!(gpu.processes, Probe::Failed(lacking.into()));
    assert_eq!(gpu.model, Probe::Known("NVIDIA Stand-in 80GB".into()));
    assert_eq!(gpu.power, Probe::Known(71.5));
}

#[test]
fn a_driver_that_is_not_loaded_or_mismatched_fails_with_its_reason() {
    assert_eq!(gpus("", "init=!9"), Probe::Failed("the NVIDIA driver is not loaded".into()));
    assert!(matches!(gpus("", "init=!18"), Probe::Failed(reason) if reason.contains("different versions")));
    assert!(matches!(gpus("", "count=!999"), Probe::Failed(reason) if reason.contains("550.54.15")));
    assert!(matches!(gpus("", "count=0"), Probe::Known(gpus) if gpus.devices.is_empty()));
}

#[test]
fn a_library_without_shutdown_is_read_without_a_panic() {
    assert_eq!(devices("no_shutdown", "").len(), 2);
    assert_eq!(gpus("no_shutdown", "init=!9"), Probe::Failed("the NVIDIA driver is not loaded".into()));
}

#[test]
fn the_library_is_shut_down_when_the_facts_are_read() {
    let folder = crate::support::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let library = fake_nvml::library("");
    manifest(gbench(folder.path()).env("GBENCH_NVML_LIBRARY", library).env("FAKE_NVML_SHUTDOWN", &mark));
    assert_eq!(std::fs::read_to_string(mark).unwrap(), "shut down");
}

#[test]
fn a_library_that_was_asked_for_must_be_one() {
    let folder = crate::support::tempdir().unwrap();
    let text = folder.path().join("text.so");
    std::fs::write(&text, "not a library").unwrap();
    for library in [text, folder.path().join("missing.so")] {
        let facts = manifest(gbench(folder.path()).env("GBENCH_NVML_LIBRARY", &library)).gpu;
        assert!(
            matches!(&facts, Probe::Failed(reason) if reason.contains(&*library.to_string_lossy())),
            "{facts:?}"
        );
    }
}

#[test]
fn a_tool_on_the_path_is_asked_without_the_jobs_secrets() {
    let folder = crate::support::tempdir().unwrap();
    let nvcc = folder.path().join("nvcc");
    let script = "#!/bin/sh\necho nvcc: NVIDIA\necho \"release 12.4 ${GITHUB_TOKEN:-no token} $PLAIN\"\n";
    std::fs::write(&nvcc, script).unwrap();
    std::fs::set_permissions(&nvcc, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = gbench(folder.path());
    command.env("PATH", folder.path()).env("GITHUB_TOKEN", "ghs_secret").env("PLAIN", "plain");
    let manifest = manifest(&mut command);
    assert_eq!(manifest.tools["nvcc"], Probe::Known("release 12.4 no token plain".into()));
    assert_eq!(manifest.tools["rustc"], Probe::Absent("not on the PATH".into()));
}

#[test]
fn the_environment_is_an_allow_list_without_secrets() {
    let folder = crate::support::tempdir().unwrap();
    let mut command = gbench(folder.path());
    command
        .env("CUDA_VISIBLE_DEVICES", "0")
        .env("GITHUB_SHA", "abc")
        .env("CUDA_API_KEY", "s3cret-1")
        .env("TORCH_TOKEN", "s3cret-2")
        .env("GITHUB_TOKEN", "s3cret-3")
        .env("MY_SETTING", "s3cret-4");
    let output = command.args(["manifest", "show", "--json"]).assert().success().get_output().stdout.clone();
    let text = String::from_utf8(output).unwrap();
    assert!(!text.contains("s3cret"), "{text}");
    let manifest: Manifest = serde_json::from_str(&text).unwrap();
    assert_eq!(manifest.environment["CUDA_VISIBLE_DEVICES"], "0");
    assert_eq!(manifest.environment["GITHUB_SHA"], "abc");
}

#[test]
fn the_table_of_the_manifest_fits_eighty_columns() {
    let folder = crate::support::tempdir().unwrap();
    let output =
        gbench(folder.path()).args(["manifest", "show"]).assert().success().get_output().stdout.clone();
    let text = String::from_utf8(output).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("host.kernel"));
}

/// Writes this machine's manifest with one change, as a bare manifest. It is read once: on a busy machine a tool may be too slow to say its
/// version the second time.
fn saved(folder: &Path, name: &str, change: impl FnOnce(&mut Manifest)) {
    static READ: OnceLock<Manifest> = OnceLock::new();
    let mut manifest = READ.get_or_init(|| manifest(&mut gbench(folder))).clone();
    manifest.host.load = Probe::Known(0.5);
    manifest.host.memory_available = Probe::Known(1 << 30);
    change(&mut manifest);
    std::fs::write(folder.join(name), serde_json::to_string_pretty(&manifest).unwrap()).unwrap();
}

#[test]
fn differences_are_listed_between_manifests_records_and_folders() {
    let folder = crate::support::tempdir().unwrap();
    saved(folder.path(), "a.json", |_| {});
    saved(folder.path(), "b.json", |manifest| {
        manifest.host.kernel = Probe::Known("9.9-other".into());
        manifest.host.load = Probe::Known(7.5);
    });
    let b = std::fs::read_to_string(folder.path().join("b.json")).unwrap();
    std::fs::write(folder.path().join("record.json"), format!("{{\"schema\": \"x\", \"manifest\": {b}}}"))
        .unwrap();
    std::fs::create_dir(folder.path().join("run")).unwrap();
    std::fs::write(folder.path().join("run/manifest.json"), &b).unwrap();
    for other in ["b.json", "record.json", "run"] {
        let output = gbench(folder.path()).args(["manifest", "diff", "a.json", other]).assert().success();
        let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
        assert!(text.starts_with("1 field differs."), "{text}");
        assert!(text.contains("host.kernel") && text.contains("9.9-other"), "{text}");
        assert!(!text.contains("host.load"), "{text}");
    }
    let same = gbench(folder.path()).args(["manifest", "diff", "a.json", "a.json"]).assert().success();
    assert_eq!(same.get_output().stdout, b"Nothing lasting differs.\n");
    let json = gbench(folder.path()).args(["manifest", "diff", "a.json", "run", "--json"]).assert().success();
    let changes: serde_json::Value = serde_json::from_slice(&json.get_output().stdout).unwrap();
    assert_eq!(changes[1]["field"], "host.load");
    assert_eq!(changes[1]["volatile"], true);
}

#[test]
fn a_file_that_is_no_manifest_is_a_fault_with_its_place() {
    let folder = crate::support::tempdir().unwrap();
    saved(folder.path(), "good.json", |_| {});
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    std::fs::write(folder.path().join("broken.json"), "{\n  \"host\": }\n").unwrap();
    std::fs::write(folder.path().join("other.json"), "{\"suites\": []}").unwrap();
    std::fs::write(folder.path().join("list.json"), "[1]").unwrap();
    std::fs::write(folder.path().join("wrong.json"), "{\"manifest\": {\n\"host\": 3}}").unwrap();
    std::fs::write(folder.path().join("nothing.json"), "").unwrap();
    std::fs::write(folder.path().join("bytes.json"), b"\xff\xfe").unwrap();
    for (file, said) in [
        ("missing.json", "missing.json"),
        ("empty", "neither a manifest nor a record"),
        ("broken.json", "broken.json:2:11"),
        ("other.json", "not a manifest of this version"),
        ("list.json", "not a manifest of this version"),
        ("wrong.json", "wrong.json:2:"),
        ("nothing.json", "not JSON"),
        ("bytes.json", "not UTF-8"),
    ] {
        for arguments in [[file, "good.json"], ["good.json", file]] {
            let output = gbench(folder.path()).args(["manifest", "diff"]).args(arguments).assert().code(2);
            let text = String::from_utf8(output.get_output().stderr.clone()).unwrap();
            assert!(text.contains(said) && text.contains("name a manifest.json"), "{file}: {text}");
            assert!(output.get_output().stdout.is_empty());
        }
    }
}
