//! The GPU workloads of the micro suite, on the stand-ins: real machine code, computed times, answers of CPU twins.

use std::collections::BTreeMap;
use std::process::Command;

use gbench_ci::model::{CaseRecord, FailureKind, Outcome, RunRecord};
use serde_json::{Value, json};

use crate::support::cli::{command, ended, newest};
use crate::support::gpu::{StandIn, cubins};
use crate::support::{folder_with, tools};

/// The smallest shapes that have a rest in every direction.
const SMALL: &str =
    "batch_size=2 sequence_length=3 tensor_dimension=40 classes=37 n=100 mib=1 heads=2 head_dimension=64";

/// The events of one workload as a child that is started by hand.
fn events(stand_in: &StandIn, name: &str, params: &str) -> Vec<Value> {
    let mut command = stand_in.command(cubins(), &format!("__micro {name}"));
    command.env("GBENCH_CUBINS", cubins()).env("GBENCH_ITERATIONS", "3");
    for (key, value) in params.split_whitespace().filter_map(|pair| pair.split_once('=')) {
        command.env(format!("GBENCH_PARAM_{}", key.to_uppercase()), value);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn one<'a>(events: &'a [Value], name: &str) -> &'a Value {
    events.iter().find(|event| event["event"] == name).unwrap_or_else(|| panic!("no {name} in {events:?}"))
}

#[test]
fn d1_every_kernel_compiles_for_the_newest_architecture_and_its_figures_are_cuobjdump_s() {
    compiles_with_the_figures_of_cuobjdump(&["sm_100"]);
}

#[test]
#[ignore = "takes three times as long: `.ci/run nightly`; other tests compile for sm_90"]
fn d1_every_kernel_compiles_for_every_architecture_too() {
    compiles_with_the_figures_of_cuobjdump(&["sm_75", "sm_80", "sm_90"]);
}

fn compiles_with_the_figures_of_cuobjdump(archs: &[&str]) {
    let (Some(home), Some(cuobjdump)) = (tools::cuda(), tools::cuobjdump()) else { return };
    for arch in archs {
        let folder = crate::support::tempdir().unwrap();
        let mut command = command(folder.path(), &format!("__cubins {arch} cubins"));
        let ran = ended({
            command.env("CUDA_HOME", &home).env_remove("VIRTUAL_ENV");
            command
        })
        .exits(0);
        let kernels: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(kernels.len() >= 60, "{arch}: {}", kernels.len());
        let mut said: BTreeMap<String, String> = BTreeMap::new();
        for kernel in &kernels {
            let name = kernel["kernel"].as_str().unwrap();
            assert_eq!(kernel["spill_bytes"], 0, "{arch} {name}");
            let cubin = kernel["cubin"].as_str().unwrap();
            let text = said.entry(cubin.to_owned()).or_insert_with(|| {
                let output = Command::new(&cuobjdump).args(["-res-usage", cubin]).output().unwrap();
                String::from_utf8(output.stdout).unwrap()
            });
            let mut lines = text.lines().skip_while(|line| !line.contains(&format!("Function {name}:")));
            let usage = lines.nth(1).unwrap_or_else(|| panic!("{arch} {name} in {text}"));
            for (key, word) in [("registers", "REG"), ("frame_bytes", "STACK"), ("shared_bytes", "SHARED")] {
                let figure = usage.split_whitespace().find_map(|part| part.strip_prefix(&format!("{word}:")));
                let mut figure: u64 = figure.unwrap().parse().unwrap();
                // It counts what the system takes of each block, from sm_90 on.
                if word == "SHARED" && !["sm_75", "sm_80"].contains(arch) {
                    figure = figure.saturating_sub(1024);
                }
                assert_eq!(figure, kernel[key], "{arch} {name} {usage}");
            }
        }
    }
}

#[test]
fn d1_every_kernel_is_right_in_every_type() {
    let Some(stand_in) = StandIn::new() else { return };
    let mut cases: Vec<(&str, String)> = Vec::new();
    for dtype in ["f32", "f16", "bf16"] {
        for name in ["gpu_flops", "layernorm", "swish", "mse", "cross_entropy", "softmax"] {
            cases.push((name, format!("dtype={dtype}")));
        }
        cases.extend(["erf", "tanh"].map(|form| ("gelu", format!("dtype={dtype} form={form}"))));
        for (way, causal) in [("naive", false), ("naive", true), ("tiled", false), ("tiled", true)] {
            cases.push(("sdpa", format!("dtype={dtype} impl={way} causal={causal}")));
        }
    }
    cases.extend(["copy", "triad", "read", "write"].map(|op| ("gpu_bandwidth", format!("op={op}"))));
    for addresses in ["one", "many"] {
        cases.extend(
            ["u32", "f32"].map(|dtype| ("gpu_atomics", format!("addresses={addresses} dtype={dtype}"))),
        );
    }
    cases.extend(["gpu_latency", "launch_latency", "pcie_bandwidth"].map(|name| (name, String::new())));
    for (name, params) in &cases {
        let events = events(&stand_in, name, &format!("{SMALL} {params}"));
        assert_eq!(one(&events, "validation")["passed"], true, "{name} {params}: {events:?}");
        assert_eq!(events.last().unwrap()["event"], "end", "{name} {params}");
        let samples = one(&events, "samples")["values"].as_array().unwrap();
        assert!(
            samples.len() == 3 && samples.iter().all(|value| value.as_f64().unwrap() > 0.0),
            "{samples:?}"
        );
    }
    // A kernel that writes nothing is wrong, however fast.
    for (name, params) in [("softmax", "dtype=f16"), ("gpu_flops", "dtype=f32"), ("gpu_bandwidth", "op=copy")]
    {
        let idle = stand_in.clone().with("twins=none");
        let events = events(&idle, name, &format!("{SMALL} {params}"));
        assert_eq!(one(&events, "validation")["passed"], false, "{name} {params}");
    }
}

#[test]
fn a_sample_is_the_kernel_s_time_whatever_launching_costs_and_several_calls_where_it_is_short() {
    let Some(stand_in) = StandIn::new() else { return };
    let time = |settings: &str, params: &str| {
        let events = events(&stand_in.clone().with(settings), "swish", &format!("{SMALL} {params}"));
        let notes: BTreeMap<String, Value> =
            events.iter().filter_map(|event| event["notes"].as_object().cloned()).flatten().collect();
        (one(&events, "samples")["values"][0].as_f64().unwrap(), notes)
    };
    // Launches that take longer than the kernel.
    let (seconds, notes) = time("kernel.gb_swish=0.003 launch_us=15", "flush_l2=true");
    assert!((seconds - 3e-6).abs() < 1e-9, "{seconds}");
    assert_eq!((&notes["calls_per_sample"], &notes["buffer_sets"]), (&34.into(), &34.into()));
    assert_eq!((&notes["l2"], &notes["held_back"]), (&"cold, its lines read".into(), &true.into()));
    let (seconds, notes) = time("kernel.gb_swish=0.003 launch_us=15", "flush_l2=false");
    assert!((seconds - 3e-6).abs() < 1e-9, "{seconds}");
    assert_eq!((&notes["buffer_sets"], &notes["l2"]), (&1.into(), &"hot".into()));
    let (seconds, notes) = time("kernel.gb_swish=0.11", "");
    assert!((seconds - 0.11e-3).abs() < 1e-9, "{seconds}");
    assert_eq!(notes["calls_per_sample"], 1);
}

const SUITE: &str = "[suite]\nname = 's'\n[defaults]\nprocesses = 2\niterations = 20\nburnin = '20ms'\n\
     [[benchmark]]\nid = 'first'\nbuiltin = 'swish'\nmatrix = { dtype = ['f32'], batch_size = [2], sequence_length = [3], tensor_dimension = [40] }\n\
     [[benchmark]]\nid = 'second'\nbuiltin = 'softmax'\nmatrix = { dtype = ['f16'], batch_size = [2], sequence_length = [3], tensor_dimension = [40] }\n\
     [[benchmark]]\nid = 'host'\ncommand = ['true']\ntiming = 'process'\n";

/// The only case of a benchmark.
fn case<'a>(record: &'a RunRecord, name: &str) -> &'a CaseRecord {
    record.cases.iter().find(|case| case.id.benchmark.name() == name).unwrap()
}

/// Runs the suite on a machine; gives the exit code and the record.
fn run(stand_in: &StandIn) -> (i32, RunRecord, String) {
    let folder = folder_with(SUITE);
    let ran = ended(stand_in.command(folder.path(), "run"));
    (ran.code, newest(folder.path()), format!("{}{}", ran.out, ran.err))
}

#[test]
fn a_run_knows_the_machine_code_the_rates_and_the_clock() {
    let Some(stand_in) = StandIn::new() else { return };
    let (code, record, said) = run(&stand_in);
    assert_eq!(code, 0, "{said}");
    let first = case(&record, "first");
    let code = first.device_code.as_ref().unwrap();
    assert_eq!((code.arch.as_str(), code.compiler.as_deref()), ("sm_90", Some("NVRTC 13.5")));
    assert!(code.kernels["gb_swish"].registers.unwrap() > 8, "{code:?}");
    let value = |name: &str| {
        first.metrics.iter().find(|it| it.name == name).unwrap().summary.as_ref().unwrap().median
    };
    assert!((value("time") - 20e-6).abs() < 1e-9, "{}", value("time"));
    assert!((value("sm_clock") - 1980.0).abs() < 1.0, "{}", value("sm_clock"));
    assert!((value("cycles") - 39_600.0).abs() < 40.0, "{}", value("cycles"));
    assert!(value("bytes_rate") > 0.0 && value("code.registers") > 8.0);
    // The stand-in has no data sheet: its peaks follow from its clocks.
    assert!((0.0..100.0).contains(&value("bytes_rate_of_peak")), "{}", value("bytes_rate_of_peak"));
    assert_eq!(first.metadata["nearest_peak"], "bytes_rate_of_peak");
    assert_eq!(first.declared["cycles"].gate, Some(false));
    assert_eq!(first.id.device, "cuda:NVIDIA Stand-in 80GB");
}

#[test]
fn d2_a_card_in_trouble_costs_its_own_cases_and_no_other() {
    let Some(stand_in) = StandIn::new() else { return };
    // What is set, and what the outcome of the first case says of it.
    let faults = [
        ("cuEventElapsedTime=!999@2*", "CUDA_ERROR_UNKNOWN"),
        ("cuLaunchKernel=!700@30*", "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("cuModuleGetFunction=!500@1", "CUDA_ERROR_NOT_FOUND"),
        ("sm=80 cuModuleLoadData=!209", "CUDA_ERROR_NO_BINARY_FOR_GPU"),
    ];
    for (settings, name) in faults {
        let (code, record, said) = run(&stand_in.clone().with(settings));
        assert_eq!(code, 4, "{settings}: {said}");
        for id in ["first", "second"] {
            let Outcome::Failed { kind: FailureKind::Error, cause, .. } = &case(&record, id).outcome else {
                panic!("{settings}: {:?}", case(&record, id).outcome)
            };
            assert!(cause.contains(name), "{settings}: {cause}");
        }
        assert!(case(&record, "host").outcome.is_measured(), "{settings}");
    }
    let (code, record, _) = run(&stand_in.clone().with("total=64M"));
    let Outcome::Failed { kind: FailureKind::OutOfMemory, .. } = case(&record, "first").outcome else {
        panic!("{:?}", case(&record, "first").outcome)
    };
    assert_eq!((code, case(&record, "host").outcome.is_measured()), (4, true));
}

#[test]
fn d2_what_the_machine_lacks_is_named_and_the_rest_is_measured() {
    let Some(stand_in) = StandIn::new() else { return };
    for (settings, words) in [
        ("count=0", "no GPU is here that CUDA can use"),
        ("cuInit=!100", "CUDA_ERROR_NO_DEVICE"),
        ("cuInit=!803", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
    ] {
        let (code, record, said) = run(&stand_in.clone().with(settings));
        let Outcome::Skipped { cause, .. } = &case(&record, "first").outcome else {
            panic!("{settings}: {:?}", case(&record, "first").outcome)
        };
        assert!(cause.contains(words), "{settings}: {cause}");
        assert_eq!((code, case(&record, "host").outcome.is_measured()), (0, true), "{settings}: {said}");
    }
    // A driver of another time has no graphs; the rest works.
    let old = stand_in.with_driver("old_driver").with("driver=13000");
    let (code, record, said) = run(&old);
    assert_eq!((code, case(&record, "first").outcome.is_measured()), (0, true), "{said}");
    let events = events(&old, "launch_latency", "");
    assert_eq!(one(&events, "skip")["reason"], "this CUDA driver has no graphs");
}

#[test]
fn d1_without_a_library_a_run_of_the_gpu_suite_ends_with_5_and_says_which() {
    let Some(stand_in) = StandIn::new() else { return };
    let line = "run --suite micro --component gpu --benchmark micro/swish";
    let folder = crate::support::tempdir().unwrap();
    ended(stand_in.command_without_driver(folder.path(), line))
        .exits(5)
        .says("no CUDA driver: libcuda.so.1 is not here");
    let mut command = stand_in.command(folder.path(), line);
    command.env("GBENCH_NVRTC", "/nowhere/libnvrtc.so.13");
    ended(command)
        .exits(5)
        .says("no compiler for kernels: NVRTC (libnvrtc.so) is not here; looked in /nowhere/libnvrtc.so.13");
    let mut command = stand_in.command_without_driver(folder.path(), line);
    command.env_remove("GBENCH_NVML_LIBRARY");
    ended(command).exits(5).says("no GPU can be used here: no NVIDIA driver: libnvidia-ml.so.1 is not here");
    ended(stand_in.with("sm=70").command(folder.path(), line))
        .exits(5)
        .says("does not compile for sm_70")
        .says("install nvidia-cuda-nvrtc-cu12");
}

#[test]
fn doctor_says_what_compiles_kernels_here_and_what_is_missing_for_it() {
    let Some(stand_in) = StandIn::new() else { return };
    let folder = crate::support::tempdir().unwrap();
    let compiler = |mut command: std::process::Command| {
        let document: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        let checks = document["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == "compiler").unwrap();
        (check["state"].clone(), check["finding"].as_str().unwrap().to_owned())
    };
    let (state, finding) = compiler(stand_in.command(folder.path(), "doctor --json"));
    assert!(
        state == "ok" && finding.starts_with("NVRTC ") && finding.ends_with(" in the driver"),
        "{finding}"
    );
    let (state, finding) = compiler(stand_in.command_without_driver(folder.path(), "doctor --json"));
    assert_eq!((state, finding.as_str()), ("warning".into(), "no CUDA driver: libcuda.so.1 is not here"));
    let mut command = stand_in.command(folder.path(), "doctor --json");
    command.env("GBENCH_NVRTC", "/nowhere/libnvrtc.so.13");
    let (state, finding) = compiler(command);
    assert!(state == "warning" && finding.contains("NVRTC (libnvrtc.so) is not here"), "{finding}");
}

#[test]
fn d2_a_card_that_is_slowed_down_is_measured_again_and_said() {
    let Some(stand_in) = StandIn::new() else { return };
    let of = |stand_in: &StandIn| {
        let request = json!({"protocol": 1, "benchmark": "micro/swish", "process": 0, "iterations": 40, "warmup": 2,
            "duration": 0.0, "burnin": 0.0, "cold": false, "seed": 7, "pinned": ["warmup"],
            "params": {"dtype": "f32", "batch_size": 2, "sequence_length": 3, "tensor_dimension": 40}});
        let mut command = stand_in.command(cubins(), "__micro swish");
        command.env("GBENCH_CUBINS", cubins()).env("GBENCH_REQUEST", request.to_string());
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<Value>>()
    };
    // A few samples: kept and marked, and enough others are left. A sample is six kernels, and some 20 come before the first.
    let brief = of(&stand_in.clone().with("kernel.gb_swish=1.0 throttle=1.5@150-170"));
    let throttled = one(&brief, "throttled");
    assert_eq!((&throttled["spoilt"], &throttled["of"]), (&false.into(), &40.into()), "{throttled}");
    assert!((3..=6).contains(&throttled["samples"].as_u64().unwrap()), "{throttled}");
    assert_eq!(one(&brief, "samples")["values"].as_array().unwrap().len(), 40);
    // The clock falls for good: later attempts are slow throughout, and known to be by what was before.
    let long = of(&stand_in.clone().with("kernel.gb_swish=1.0 throttle=1.5@100-100000"));
    assert_eq!(one(&long, "throttled")["spoilt"], true, "{long:?}");
    assert_eq!(one(&long, "throttled")["samples"], 40);
    let quiet = of(&stand_in);
    assert!(quiet.iter().all(|event| event["event"] != "throttled"), "{quiet:?}");
    // Hardware holds clocks down all the time, as the driver says.
    let hot = of(&stand_in.clone().with_nvml("count=1 reasons=0x48"));
    let throttled = one(&hot, "throttled");
    assert_eq!(
        (&throttled["spoilt"], &throttled["samples"], &throttled["of"]),
        (&true.into(), &40.into(), &40.into())
    );
    assert!(throttled["reasons"].as_array().unwrap().contains(&"hw_thermal_slowdown".into()), "{throttled}");
    let attempts = hot.iter().find_map(|event| event["notes"].get("attempts")).unwrap();
    assert_eq!(attempts, 3);
    let given_up: usize = hot
        .iter()
        .filter(|event| event["metric"] == "throttled_time")
        .map(|event| event["values"].as_array().unwrap().len())
        .sum();
    assert_eq!(given_up, 80);
    // A power limit is how a card works.
    let capped = of(&stand_in.with_nvml("count=1 reasons=0x4"));
    let throttled = one(&capped, "throttled");
    assert_eq!((&throttled["spoilt"], &throttled["samples"]), (&false.into(), &0.into()));
}

#[test]
fn a_card_cannot_be_faster_than_it_can_be_nor_work_beside_its_events() {
    let Some(stand_in) = StandIn::new() else { return };
    // 64 MiB twice through 3.35 TB/s take 0.04 ms.
    let fast = stand_in.clone().with("kernel.gb_copy=0.01 twins=none");
    let events = |stand_in: &StandIn, params: &str| events(stand_in, "gpu_bandwidth", params);
    let found = events(&fast, "op=copy mib=64");
    let validation = one(&found, "validation");
    assert_eq!(validation["passed"], false);
    assert!(
        validation["message"].as_str().unwrap().contains("NVIDIA Stand-in 80GB needs at least"),
        "{validation}"
    );
    // Events that tell a tenth of what the device was at work for.
    let liar = stand_in.with("events=0.1 sleep=1 kernel.gb_copy=8 twins=none");
    let found = events(&liar, "op=copy mib=1");
    let validation = one(&found, "validation");
    assert_eq!(validation["passed"], false);
    assert!(validation["message"].as_str().unwrap().contains("outside of what is timed"), "{validation}");
}

/// The kernels that `swish` launches, in order, with its requests' `more`; each sample is one call of a millisecond.
fn kernels_of_swish(stand_in: &StandIn, flush: &str, more: Value, orders: &str) -> Vec<String> {
    let folder = crate::support::folder(&[("orders", orders)]);
    let trace = folder.path().join("trace");
    let mut request = json!({"protocol": 1, "benchmark": "micro/swish", "process": 1, "iterations": 2, "warmup": 1,
        "duration": 0.0, "burnin": 0.0, "cold": false, "seed": 7, "pinned": ["warmup"],
        "params": {"dtype": "f32", "batch_size": 2, "sequence_length": 3, "tensor_dimension": 40, "flush_l2": flush}});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let stand_in = stand_in.clone().with(&format!("kernel.gb_swish=1.0 trace={}", trace.display()));
    let mut command = stand_in.command(cubins(), "__micro swish");
    command.env("GBENCH_CUBINS", cubins()).env("GBENCH_REQUEST", request.to_string());
    command.env("GBENCH_TURNS", folder.path().join("orders"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(&trace).unwrap();
    let ran = text.lines().filter_map(|line| line.strip_prefix("run ").or(line.strip_prefix("skip ")));
    ran.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

#[test]
fn b35_the_clock_is_that_of_the_calls_and_the_flush_leaves_lines_that_were_only_read() {
    let Some(stand_in) = StandIn::new() else { return };
    let cold = kernels_of_swish(&stand_in, "true", json!({}), "");
    let sample = ["gb_fill", "gb_sweep", "gb_spin", "gb_stamp", "gb_swish", "gb_stamp"];
    assert_eq!(cold[..12], [sample, sample].concat()[..], "{cold:?}");
    let hot = kernels_of_swish(&stand_in, "false", json!({}), "");
    assert_eq!(hot[..8], [&sample[2..], &sample[2..]].concat()[..], "{hot:?}");
}

#[test]
fn b35_a_hot_case_is_warmed_again_at_the_start_of_each_turn() {
    let Some(stand_in) = StandIn::new() else { return };
    let turns = r#"{"turn": {"iterations": 2}}
{"turn": {"iterations": 1}}
"#;
    let of = |flush: &str| kernels_of_swish(&stand_in, flush, json!({"turns": true}), turns);
    let (sample, warm) = (["gb_spin", "gb_stamp", "gb_swish", "gb_stamp"], ["gb_swish"]);
    let measured = [&warm[..], &sample, &sample, &warm, &sample].concat();
    let (hot, cold) = (of("false"), of("true"));
    assert!(hot.windows(measured.len()).any(|kernels| kernels == measured), "{hot:?}");
    // Two to find out how long a call takes, one to warm up.
    assert_eq!(cold[..36], ["gb_fill", "gb_sweep", sample[0], sample[1], sample[2], sample[3]].repeat(6));
}
