//! Machines whose cards differ from the usual one: eight with a hot one among them, slices, a driver without its management
//! library, AMD. The stand-ins answer as the real ones do there.

use std::path::Path;

use gbench_ci::compare::Verdict;
use gbench_ci::model::{CaseRecord, Conditions, Probe, RunRecord};
use serde_json::{Value, json};

use crate::fake_nvml;
use crate::support::cli::{command, ended, newest};
use crate::support::gpu::{StandIn, cubins};
use crate::support::repository::{Repository, row, suite};
use crate::support::wait::wait_for;
use crate::support::{folder, folder_with};

/// One benchmark that a shell's line is.
fn shell(keys: &str, line: &str) -> tempfile::TempDir {
    folder_with(&format!("[suite]\nname = 's'\n[[benchmark]]\nid = 'a'\n{keys}\nshell = '{line}'\n"))
}

fn on_cards(folder: &Path, line: &str, settings: &str) -> std::process::Command {
    let mut command = command(folder, line);
    command.env("GBENCH_NVML_LIBRARY", fake_nvml::library("")).env("FAKE_NVML", settings);
    command.env_remove("CUDA_VISIBLE_DEVICES");
    command
}

fn conditions(case: &CaseRecord) -> Vec<&Conditions> {
    case.processes.iter().filter_map(|process| process.conditions.as_ref()).collect()
}

fn has(record: &RunRecord, metric: &str) -> bool {
    record.cases[0].metrics.iter().any(|it| it.name == metric)
}

#[test]
fn b10_a_hot_neighbour_neither_waits_nor_decides() {
    let text = suite("[gate]\nrounds = 12\ncontrols = 0\n", "device = '0'");
    let it = Repository::new(&[("gbench.toml", &text)], &[("cost", "1.3\n")]);
    let library = fake_nvml::library("");
    let hot = [
        ("GBENCH_NVML_LIBRARY", library.to_str().unwrap()),
        ("FAKE_NVML", "count=8 reasons=0 reasons.5=0x40 utilization.5=90 sm_clock.5=900"),
        ("CUDA_VISIBLE_DEVICES", "0"),
    ];
    it.compare_with("HEAD~1..HEAD --benchmark s/c0", &hot);
    let mut busy = false;
    for side in ["base", "head"] {
        let path = it.latest().join(side).join("results/record.json");
        let record: RunRecord = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        for of in conditions(&record.cases[0]) {
            assert!(of.throttled.is_empty() && of.waited.is_none(), "{of:?}");
            assert!(of.telemetry.iter().flat_map(|it| &it.gpus).all(|gpu| gpu.index == 0), "{of:?}");
            busy |= of.busy;
        }
    }
    let verdict = it.verdict();
    let row = row(&verdict, "c0", "time");
    assert!(!row.reason.contains("clock"), "{}", row.reason);
    // Unless this machine itself was too busy.
    assert!(busy || row.verdict == Verdict::Regressed, "{row:?}");
}

#[test]
fn b10_of_a_case_on_each_gpu_each_meets_its_own() {
    let folder = shell("device = 'each'\nprocesses = 1", "true");
    ended(on_cards(folder.path(), "run --quiet", "count=3 reasons=0 reasons.1=0x40")).exits(0);
    let record = newest(folder.path());
    let held: Vec<usize> = record.cases.iter().map(|case| conditions(case)[0].throttled.len()).collect();
    assert_eq!(held, [0, 1, 0]);
    let waited = |case: &CaseRecord| conditions(case)[0].waited.is_some();
    assert_eq!(record.cases.iter().map(waited).collect::<Vec<_>>(), [false, true, false]);
}

#[test]
fn b13_a_slowdown_without_a_cause_is_believed_with_a_second_sign() {
    let folder = shell("processes = 1", "true");
    let held = |settings: &str| {
        ended(on_cards(folder.path(), "run --quiet", &format!("count=1 {settings}"))).exits(0);
        let record = newest(folder.path());
        let of = conditions(&record.cases[0])[0].clone();
        assert!(of.waited.is_none(), "{of:?}");
        of.throttled
    };
    assert_eq!(held("reasons=0x8"), [""; 0]);
    assert_eq!(held("reasons=0x9 held_thermal=0,5000000000@3"), ["thermal_violation"], "an idle card");
    assert_eq!(held("reasons=0x8 held_thermal=0,5000000000@3"), ["hw_slowdown", "thermal_violation"]);
}

/// The events of forty samples of a kernel of the suite.
fn forty_samples(stand_in: &StandIn, process: u32) -> Vec<Value> {
    let request = json!({"protocol": 1, "benchmark": "micro/swish", "process": process, "iterations": 40, "warmup": 2,
        "duration": 0.0, "burnin": 0.0, "cold": false, "seed": 7, "pinned": ["warmup"],
        "params": {"dtype": "f32", "batch_size": 2, "sequence_length": 3, "tensor_dimension": 40}});
    let mut command = stand_in.command(cubins(), "__micro swish");
    command.env("GBENCH_CUBINS", cubins()).env("GBENCH_REQUEST", request.to_string());
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn throttled(events: &[Value]) -> Option<&Value> {
    events.iter().find(|event| event["event"] == "throttled")
}

#[test]
fn b13_a_kernel_is_measured_while_the_card_changes_its_state() {
    let Some(stand_in) = StandIn::new() else { return };
    let changing = stand_in.clone().with_nvml("count=1 reasons=0x8");
    let calm = forty_samples(&changing, 1);
    assert_eq!(throttled(&calm), None, "{calm:?}");
    // The clock of the samples themselves confirms it.
    let slower = forty_samples(&changing.with("kernel.gb_swish=1.0 throttle=1.5@150-170"), 1);
    let throttled = throttled(&slower).unwrap();
    assert!((3..=6).contains(&throttled["samples"].as_u64().unwrap()), "{throttled}");
    assert_eq!(throttled["reasons"], json!(["hw_slowdown"]));
}

#[test]
fn b17_a_slice_is_looked_at_by_its_card_and_by_the_name_that_nvidia_writes() {
    let Some(stand_in) = StandIn::new() else { return };
    let slice = |card: usize| {
        let uuid = format!("MIG-00000000-0000-0000-0002-{card:012x}");
        let name = "name=NVIDIA_H100_80GB_HBM3_MIG_1g.10gb";
        let hot = "count=2 mig=1 reasons=0 reasons.1=0x40";
        forty_samples(&stand_in.clone().with(&format!("{name} uuid={uuid}")).with_nvml(hot), 1)
    };
    assert_eq!(throttled(&slice(1)), None, "the other card is hot");
    assert_eq!(throttled(&slice(2)).unwrap()["reasons"], json!(["hw_thermal_slowdown"]));
}

#[test]
fn b17_a_process_that_rests_on_another_slice_is_not_waited_for() {
    let folder = shell("processes = 1", "true");
    let text = std::fs::read_to_string(folder.path().join("gbench.toml")).unwrap();
    std::fs::write(folder.path().join("gbench.toml"), text + "[run]\nbusy_gpu = 'refuse'\n").unwrap();
    ended(on_cards(folder.path(), "run --quiet", "count=1 mig=1 processes=1")).exits(0);
    let record = newest(folder.path());
    assert!(conditions(&record.cases[0]).iter().all(|it| it.waited.is_none()), "{record:?}");
}

#[test]
fn b31_the_energy_of_someone_elses_work_on_the_card_is_nobodys() {
    let folder = shell("processes = 2", "sleep 0.3");
    let path = folder.path().join("gbench.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text + "[run]\ncalm_wait = '0s'\n").unwrap();
    ended(on_cards(folder.path(), "run --quiet", "count=1 utilization=90 power=200000")).exits(0);
    assert!(!has(&newest(folder.path()), "energy_per_iteration"));
}

#[test]
fn b15_the_energy_of_a_call_is_that_of_a_stretch_of_its_own() {
    let Some(stand_in) = StandIn::new() else { return };
    let energy = |stand_in: &StandIn, process: u32| {
        let events = forty_samples(stand_in, process);
        let found = events.iter().find(|event| event["metric"] == "energy_per_iteration");
        found.map(|event| (event["values"].clone(), event["unit"].clone(), event["gate"].clone()))
    };
    // Each call takes its millisecond of real time, at 200 W; a busy machine only adds to it.
    let counting = stand_in.clone().counting_energy().with("kernel.gb_swish=1.0 sleep=1");
    let counting = counting.with_nvml("count=1 utilization=90 power=200000");
    // A machine that is busy enough keeps the counter from being read in time.
    let (values, unit, gate) = wait_for(|| energy(&counting, 0).ok_or("the counter moves"));
    assert_eq!((unit, gate), (json!("J"), json!(false)));
    assert!(values[0].as_f64().unwrap() > 0.19, "{values}");
    assert_eq!(energy(&counting, 1), None, "once per case");
    assert_eq!(energy(&counting.with_nvml("count=1 energy=5000"), 0), None, "a counter that does not move");
    assert_eq!(energy(&stand_in, 0), None, "a card without one");
}

#[test]
fn b35_the_energy_of_a_call_is_the_kernels_own_on_a_card_whose_power_follows_its_load() {
    let Some(stand_in) = StandIn::new() else { return };
    let folder = crate::support::tempdir().unwrap();
    let load = folder.path().join("load");
    // At rest the card takes nothing: what a call takes is 200 W for its millisecond, however long the host is busy with others.
    let counting =
        stand_in.counting_energy().with(&format!("kernel.gb_swish=1.0 sleep=1 load={}", load.display()));
    let counting = counting.with_nvml(&format!("count=1 power=200000 load={}", load.display()));
    let joules = wait_for(|| {
        let events = forty_samples(&counting, 0);
        let found = events.iter().find(|event| event["metric"] == "energy_per_iteration");
        found.and_then(|event| event["values"][0].as_f64()).ok_or("the counter moves")
    });
    assert!((joules - 0.2).abs() < 0.002, "{joules}");
}

#[test]
fn b35_a_virtual_gpu_tells_little_and_nothing_is_invented_of_it() {
    let folder = shell("processes = 1", "sleep 0.5");
    let text = std::fs::read_to_string(folder.path().join("gbench.toml")).unwrap();
    std::fs::write(folder.path().join("gbench.toml"), text + "[run]\nbusy_gpu = 'refuse'\n").unwrap();
    // The process of a neighbour may rest, as on a slice.
    ended(on_cards(folder.path(), "run --quiet", "count=1 vgpu=1 processes=1")).exits(0);
    let record = newest(folder.path());
    let conditions = conditions(&record.cases[0]);
    let [only] = conditions.as_slice() else { panic!("{record:?}") };
    assert!(only.waited.is_none() && only.health.is_empty() && only.throttled.is_empty(), "{only:?}");
    let gpu = &only.telemetry.as_ref().unwrap().gpus[0];
    assert_eq!((gpu.power, gpu.mean_power, gpu.utilization, gpu.temperature), (None, None, None, None));
    assert_eq!((gpu.link, gpu.pcie_width), (None, None));
    assert!(!has(&record, "energy_per_iteration"));
    ended(on_cards(folder.path(), "doctor", "count=1 vgpu=1")).says("a virtual GPU");
}

/// Where this machine has NVIDIA's management library itself, it cannot be missing.
fn without_nvml(command: &mut std::process::Command) -> bool {
    command.env_remove("GBENCH_NVML_LIBRARY");
    let found = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib", "/usr/lib/aarch64-linux-gnu"];
    let is_here = found.iter().any(|folder| Path::new(folder).join("libnvidia-ml.so.1").exists());
    if is_here {
        crate::support::tools::goes_without("this machine has the library");
    }
    !is_here
}

/// A program that truthfully names its device.
const ON_THE_SECOND: &str = r#"
[suite]
name = "s"
[[benchmark]]
id = "a"
device = "1"
processes = 1
requires = { gpus = 2, gpu_memory = "8 GiB" }
timing = "protocol"
shell = '''echo '{"event":"metadata","device":"cuda:Orin"}' >> "$GBENCH_EVENTS"; ./child ok 0.1'''
"#;

#[test]
fn b11_cuda_without_the_management_library_is_a_gpu() {
    let Some(stand_in) = StandIn::new() else { return };
    let two = stand_in.with("count=2 name=Orin driver=12060 total=8G sm=87 sm.1=90");
    let folder = folder_with(ON_THE_SECOND);
    let mut run = two.command(folder.path(), "run --quiet");
    if !without_nvml(&mut run) {
        return;
    }
    ended(run).exits(0);
    let record = newest(folder.path());
    assert!(record.cases[0].outcome.is_measured(), "{:?}", record.cases[0].outcome);
    let facts = record.manifest.gpu.known().expect("CUDA knows them");
    assert_eq!(facts.cuda, Probe::Known("12.6".into()));
    assert!(matches!(&facts.nvml, Probe::Absent(why) if why.contains("libnvidia-ml.so.1")), "{facts:?}");
    let gpu = &facts.devices[1];
    assert_eq!((&gpu.model, &gpu.memory_total), (&Probe::Known("Orin".into()), &Probe::Known(8 << 30)));
    assert_eq!(gpu.compute_capability, Probe::Known("9.0".into()));
    assert_eq!(record.cases[0].processes[0].gpus[0].index, 1);
    let mut doctor = two.command(folder.path(), "doctor");
    without_nvml(&mut doctor);
    ended(doctor).says("2 x Orin").says("clocks, heat and other processes are not watched");
    // Without a device, the reason is the library's absence.
    let mut none = two.with("cuInit=!100").command(folder.path(), "run --quiet");
    without_nvml(&mut none);
    ended(none).exits(5).says("no NVIDIA driver: libnvidia-ml.so.1 is not here");
}

#[test]
fn b12_torch_on_amd_is_measured() {
    let fakes = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/python/fakes/gpu");
    let text = format!(
        r#"
[suite]
name = "s"
[gate]
watch = false
[defaults]
processes = 1
iterations = 3
warmup = 1
[[benchmark]]
id = "b"
env = {{ FAKE_TORCH_HIP = "6.4" }}
matrix = {{ milliseconds = [2.0] }}
[benchmark.python]
file = "m.py"
way = "class"
path = ["{}"]
"#,
        fakes.display()
    );
    let module = include_str!("../fixtures/python/timing/on_cuda.py");
    let folder = folder(&[("gbench.toml", &text), ("m.py", module)]);
    let mut run = command(folder.path(), "run --quiet");
    run.env("LD_LIBRARY_PATH", folder.path());
    without_nvml(&mut run);
    ended(run).exits(0);
    assert_eq!(newest(folder.path()).cases[0].id.device, "rocm:Scripted GPU");
}
