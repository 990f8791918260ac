//! The stand-in for NVIDIA's management library is held to the real header, and the gate sees in it the cards that it plays.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::fake_nvml;
use crate::manifest::gbench;
use crate::support::cli::{command, ended, newest};
use crate::support::{folder_with, tools};

/// A program in C, made from the real nvml.h and linked to the stand-in. `None` without the header or a compiler.
struct Asker {
    folder: TempDir,
}

impl Asker {
    fn new() -> Option<Self> {
        let include = tools::cuda()?.join("include");
        let folder = crate::support::tempdir().unwrap();
        let library = fake_nvml::library("");
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations"]);
        cc.arg("-isystem").arg(include).arg(fake_nvml::source("abi.c")).arg(&library);
        cc.arg(format!("-Wl,-rpath,{}", library.parent().unwrap().display()));
        let output = cc.arg("-o").arg(folder.path().join("abi")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(Self { folder })
    }

    /// What it answers to the words, a line each; its exit code must be 0.
    fn answers(&self, settings: &str, words: &str) -> Vec<String> {
        let mut program = Command::new(self.folder.path().join("abi"));
        program.args(words.split_whitespace()).env("FAKE_NVML", settings).env_remove("FAKE_NVML_FILE");
        program.env("FAKE_NVML_FILE", self.file());
        let output = program.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        text.lines().map(str::to_owned).collect()
    }

    fn numbers(&self, settings: &str, words: &str) -> Vec<u64> {
        self.answers(settings, words).iter().map(|line| line.parse().unwrap()).collect()
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("settings")
    }
}

#[test]
fn the_stand_ins_structures_are_those_of_nvml_h_and_it_writes_nothing_beside_them() {
    let Some(asker) = Asker::new() else { return };
    assert_eq!(asker.answers("", ""), [""; 0]);
}

/// The header's prototypes become Rust types, which the compiler compares with the stand-in's functions.
#[test]
fn each_function_of_the_stand_in_has_the_type_that_nvml_h_gives_it() {
    let Some(home) = tools::cuda() else { return };
    let header = std::fs::read_to_string(home.join("include/nvml.h")).unwrap();
    let source = std::fs::read_to_string(fake_nvml::source("nvml.rs")).unwrap();
    let is_own = |name: &str| {
        ["fn {}(", "    {}(", "    {} ->"].iter().any(|form| source.contains(&form.replace("{}", name)))
    };
    let mut checks = String::new();
    let mut found = 0;
    for prototype in
        header.split("DECLDIR ").skip(1).filter_map(|text| text.split_once(';')).map(|text| text.0)
    {
        let Some((head, parameters)) = prototype.split_once('(') else { continue };
        // `const DECLDIR char* nvmlErrorString` has a part of its type behind the word.
        let name = head.split_whitespace().last().unwrap_or_default();
        if !is_own(name) {
            continue;
        }
        let parameters = parameters.trim_end().trim_end_matches(')').split(',');
        let types: Vec<String> = parameters.filter(|text| text.trim() != "void").map(rust_type).collect();
        let returned = if name == "nvmlErrorString" { "*const std::ffi::c_char" } else { "u32" };
        let types = types.join(", ");
        checks += &format!("const _: unsafe extern \"C\" fn({types}) -> {returned} = {name};\n");
        found += 1;
    }
    let exported =
        Command::new("nm").args(["-D", "--defined-only"]).arg(fake_nvml::library("")).output().unwrap();
    let exported = String::from_utf8(exported.stdout).unwrap();
    assert_eq!(found, exported.lines().filter(|line| line.contains(" T nvml")).count(), "{exported}");

    let folder = crate::support::tempdir().unwrap();
    for name in ["card.rs", "clocks.rs", "profiles.rs", "settings.rs", "slices.rs"] {
        std::fs::copy(fake_nvml::source(name), folder.path().join(name)).unwrap();
    }
    let root = folder.path().join("nvml.rs");
    std::fs::write(&root, source + &checks).unwrap();
    let output =
        fake_nvml::rustc("").arg("--emit=metadata").arg("--out-dir").arg(folder.path()).arg(&root).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// `unsigned int *minLimit` as the stand-in writes it. Enumerations are unsigned in C; the handles are numbers.
fn rust_type(parameter: &str) -> String {
    let parameter = parameter.trim();
    let end = parameter.rfind(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap();
    let text: String = parameter[..=end].split_whitespace().collect::<Vec<_>>().join(" ").replace(" *", "*");
    let (text, is_const) = match text.strip_prefix("const ") {
        Some(text) => (text, true),
        None => (text.as_str(), false),
    };
    let (base, is_pointer) = match text.strip_suffix('*') {
        Some(base) => (base, true),
        None => (text, false),
    };
    let base = match base.trim() {
        "nvmlDevice_t" | "nvmlEventSet_t" => "usize",
        "unsigned int" => "u32",
        "unsigned long long" => "u64",
        "int" => "i32",
        "char" => "std::ffi::c_char",
        "nvmlMemory_v2_t" => "Memory",
        "nvmlProcessInfo_t" => "Process",
        "nvmlPciInfo_t" => "PciInfo",
        "nvmlUtilization_t" => "Utilization",
        "nvmlViolationTime_t" => "ViolationTime",
        "nvmlSample_t" => "Sample",
        "nvmlEventData_t" => "EventData",
        "nvmlFieldValue_t" => "FieldValue",
        "nvmlReturn_t"
        | "nvmlClockType_t"
        | "nvmlEnableState_t"
        | "nvmlTemperatureSensors_t"
        | "nvmlMemoryErrorType_t"
        | "nvmlEccCounterType_t"
        | "nvmlMemoryLocation_t"
        | "nvmlPerfPolicyType_t"
        | "nvmlSamplingType_t"
        | "nvmlGpuVirtualizationMode_t"
        | "nvmlValueType_t" => "u32",
        other => panic!("`{other}` of nvml.h has no type here"),
    };
    match (is_pointer, is_const) {
        (true, true) => format!("*const {base}"),
        (true, false) => format!("*mut {base}"),
        (false, _) => base.to_owned(),
    }
}

#[test]
fn a_card_that_is_lost_stays_lost_also_for_later_processes() {
    let Some(asker) = Asker::new() else { return };
    // The handle is the first query.
    assert_eq!(asker.answers("lost@3", "power power handle:0 handle:1"), ["71500", "!15", "!15", "1"]);
    assert_eq!(asker.answers("", "handle:0"), ["!15"], "{:?}", std::fs::read_to_string(asker.file()));
    std::fs::write(asker.file(), "").unwrap();
    assert_eq!(asker.answers("", "power"), ["71500"]);
}

#[test]
fn events_are_told_once_and_in_their_order_to_those_who_asked_for_them() {
    let Some(asker) = Asker::new() else { return };
    let xid = |xid: u32| format!("event 8 data {xid} of this GPU 1");
    // Waiting is a query too: the handle is the first, registering the second.
    let told = asker.answers("xid=13@3,31@4", "wait:0 register wait:0 wait:0 wait:0");
    assert_eq!(told, ["!10".to_owned(), "0".into(), xid(13), xid(31), "!10".into()]);
    // What happened before is not told.
    assert_eq!(asker.answers("xid=13@2", "power register wait:0"), ["71500", "0", "!10"]);
    // Of a card that falls off the bus the reason comes first.
    let told = asker.answers("fallen_off_bus@4", "register power wait:0 wait:0 power");
    assert_eq!(told, ["0".into(), "71500".into(), xid(79), "!15".into(), "!15".into()]);
    std::fs::write(asker.file(), "").unwrap();
    let told = asker.answers("ecc_uncorrectable=2@5", "register errors errors wait:0 errors");
    assert_eq!(told, ["0", "0", "0", "event 2 data 0 of this GPU 1", "2"]);
}

#[test]
fn values_change_at_their_time_and_with_the_number_of_questions() {
    let Some(asker) = Asker::new() else { return };
    let reasons = asker.answers("reasons=0,0x48@2-3,!3@4", "reasons reasons reasons reasons");
    assert_eq!(reasons, ["0", "72", "72", "!3"]);
    assert_eq!(asker.numbers("power=1000,2000@0s-500s", "power"), [2000]);
    assert_eq!(asker.numbers("power=1000,2000@500s", "power"), [1000]);
    assert_eq!(asker.numbers("clock=1 sm_clock=1980,1410@2", "clock clock"), [1980, 1410]);
    // What runs on it moves the clock and the power.
    let busy = asker.numbers("profile=h100 utilization=100", "busy clock power reasons samples:0");
    assert_eq!(busy, [100, 1980, 700_000, 0, 700_000]);
    assert_eq!(asker.numbers("profile=h100 utilization=100 reasons=0x40", "clock"), [990]);
    // Its UUID can be that of the device that another stand-in plays.
    let uuid = "GPU-00000000-0000-0000-0000-000000000001";
    assert_eq!(asker.answers(&format!("uuid.0={uuid}"), "uuid"), [format!("{uuid} 0 1")]);
    // A test changes the card while it is asked.
    std::fs::write(asker.file(), "power=5").unwrap();
    assert_eq!(asker.numbers("power=1000", "power"), [5]);
}

#[test]
fn energy_and_the_time_held_down_grow_with_time() {
    let Some(asker) = Asker::new() else { return };
    // 1 kW for at least 50 ms; there is no upper limit on a busy machine.
    let energy = asker.numbers("power=1000000", "energy sleep:50 energy");
    assert!(energy[1] - energy[0] >= 50_000, "{energy:?}");
    let held = asker.numbers("reasons=0x40", "held:1 sleep:50 held:1 held:0");
    assert!(held[1] - held[0] >= 50_000_000 && held[2] == 0, "{held:?}");
    let held = asker.numbers("reasons=0,0x4@0ms-20ms", "sleep:50 held:0 sleep:50 held:0");
    assert_eq!(held, [20_000_000; 2]);
}

#[test]
fn each_profile_is_read_by_the_gate_as_the_card_that_it_is() {
    // By NVIDIA's data: name, compute capability, MiB, highest clock, limit in watts, PCIe generation, and whether it can be cut.
    for (key, name, compute, memory, clock, limit, generation, has_mig) in [
        ("t4", "Tesla T4", "7.5", 15_360, 1590, 70.0, 3, false),
        ("a10", "NVIDIA A10", "8.6", 23_028, 1695, 150.0, 4, false),
        ("l4", "NVIDIA L4", "8.9", 23_034, 2040, 72.0, 4, false),
        ("l40s", "NVIDIA L40S", "8.9", 46_068, 2520, 350.0, 4, false),
        ("a100", "NVIDIA A100-SXM4-40GB", "8.0", 40_960, 1410, 400.0, 4, true),
        ("h100", "NVIDIA H100 80GB HBM3", "9.0", 81_559, 1980, 700.0, 5, true),
        ("h200", "NVIDIA H200", "9.0", 143_771, 1980, 700.0, 5, true),
        ("b200", "NVIDIA B200", "10.0", 183_359, 1965, 1000.0, 5, true),
    ] {
        let folder = crate::support::tempdir().unwrap();
        let mut command = gbench(folder.path());
        command.env("GBENCH_NVML_LIBRARY", fake_nvml::library(""));
        command.env("FAKE_NVML", format!("count=1 profile={key}"));
        let output =
            command.args(["manifest", "show", "--json"]).assert().success().get_output().stdout.clone();
        let manifest: Value = serde_json::from_slice(&output).unwrap();
        let gpu = &manifest["gpu"]["known"]["devices"][0];
        let known = |field: &str| gpu[field]["known"].clone();
        assert_eq!(known("model"), name);
        assert_eq!(known("compute_capability"), compute);
        assert_eq!(known("memory_total"), memory * 1_048_576_u64);
        assert_eq!(known("sm_clock_max"), clock);
        assert_eq!((known("power_limit"), known("power_limit_default")), (limit.into(), limit.into()));
        assert_eq!(known("pcie_generation"), generation);
        assert_eq!(known("ecc"), true);
        // The card of a newer driver has no application clocks; whether a lock holds it is known all the same.
        assert_eq!(known("clocks_locked"), false, "{key}");
        assert_eq!(gpu["mig"]["absent"].is_string(), !has_mig, "{key}: {}", gpu["mig"]);
        assert!(known("uuid").as_str().unwrap().ends_with("-0000-4000-8000-000000000001"));
    }
}

/// The process writes into the card's settings, as a kernel that kills its card does.
#[test]
fn a_card_that_is_lost_while_a_process_runs_leaves_the_record_without_its_clocks() {
    let folder = folder_with(
        "[suite]\nname = 's'\n[run]\ncalm_wait = '0s'\n[defaults]\nprocesses = 3\ntiming = 'protocol'\n[[benchmark]]\nid = 'a'\n\
         shell = 'echo fallen_off_bus >> card; ./child ok 0.1'\n",
    );
    let mut run = command(folder.path(), "run");
    let library = fake_nvml::library("");
    run.env("GBENCH_NVML_LIBRARY", library).env("FAKE_NVML", "count=1 utilization=90");
    run.env("FAKE_NVML_FILE", folder.path().join("card"));
    ended(run).exits(0);
    let record = newest(folder.path());
    for process in &record.cases[0].processes {
        let clock = process.conditions.as_ref().and_then(|conditions| conditions.sm_clock_mhz);
        assert_eq!(clock, None);
    }
    let card = std::fs::read_to_string(folder.path().join("card")).unwrap();
    assert!(card.contains("lost.0"), "{card}");
}

/// Neither look at the card sees it; the driver's count does.
#[test]
fn a_card_that_is_held_down_between_two_looks_is_seen_by_the_drivers_count() {
    let folder = folder_with(
        "[suite]\nname = 's'\n[defaults]\nprocesses = 1\ntiming = 'protocol'\n[[benchmark]]\nid = 'a'\n\
         command = ['./child', 'ok', '0.1']\n",
    );
    let mut run = command(folder.path(), "run");
    run.env("GBENCH_NVML_LIBRARY", fake_nvml::library(""));
    // The first time it is asked is when the library is opened, the second before the process, the third after it.
    run.env("FAKE_NVML", "count=1 reasons=0 held_thermal=0,5000000000@3");
    ended(run).exits(0).says("thermal_violation in 1");
    let record = newest(folder.path());
    assert_eq!(record.cases[0].processes[0].conditions.as_ref().unwrap().throttled, ["thermal_violation"]);
}
