//! Profiles of what the gate and its Python driver measure themselves: of the user's kernels alone. The stand-ins for the profilers see
//! every launch, and their ncu holds the host until a kernel is over.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::cli::{command, ended};
use crate::support::gpu::StandIn;
use crate::support::kernels::{self, Gate, SAXPY_FILE, UNWATCHED};
use crate::support::profilers::StandIns;
use crate::support::{folder, folder_with};

/// Launches by kernel, of each profile of the only case of `gbench-ci profile`.
fn launches(mut command: Command, tools: &StandIns) -> Vec<BTreeMap<String, u64>> {
    command.envs(tools.env()).args(["--quiet", "--format", "json"]);
    let ran = ended(command).exits(0);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let profiles = document["cases"][0]["profiles"].as_array().unwrap();
    let of = |kernel: &Value| {
        let launches = kernel["figures"]["launches"].as_f64().unwrap() as u64;
        (kernel["kernel"].as_str().unwrap().to_owned(), launches)
    };
    profiles.iter().map(|it| it["kernels"].as_array().unwrap().iter().map(of).collect()).collect()
}

fn just(kernels: &[(&str, u64)]) -> BTreeMap<String, u64> {
    kernels.iter().map(|(name, launches)| ((*name).to_owned(), *launches)).collect()
}

/// Words of the only process that ncu started.
fn started(tools: &StandIns) -> String {
    let calls = tools.calls();
    let mut started = calls.iter().filter(|call| call.starts_with("ncu ") && call.contains(" -o "));
    let only = started.next().unwrap_or_else(|| panic!("{calls:?}")).clone();
    assert_eq!(started.next(), None);
    only
}

/// A folder with the kernel saxpy. `cuda`: a line of its table; `rest`: of the suite file.
fn saxpy(cuda: &str, rest: &str) -> Option<Gate> {
    let gate = Gate::new(&kernels::stand_in()?, "");
    let suite = kernels::suite(rest, &[("saxpy", "saxpy.cu")], "warmup = 2\niterations = 7");
    let suite = suite.replace("block = 256", &format!("block = 256\n{cuda}"));
    gate.commit(&[SAXPY_FILE], &[("gbench.toml", &suite)]);
    Some(gate)
}

fn of_saxpy(gate: &Gate, tools: &StandIns) -> Vec<BTreeMap<String, u64>> {
    let line = "profile saxpy --profile ncu,nsys";
    launches(gate.stand_in.command(gate.repository.root(), line), tools)
}

#[test]
fn b35_a_profile_of_a_kernel_has_its_launches_and_none_of_the_gate() {
    let Some(gate) = saxpy("", UNWATCHED) else { return };
    let tools = StandIns::new("well");
    assert_eq!(of_saxpy(&gate, &tools), [just(&[("saxpy", 9)]), just(&[("saxpy", 9)])]);
    let words = started(&tools);
    assert!(words.contains("--kernel-name saxpy ") && !words.contains("--c"), "{words}");
    // A version without filters gets none, and has the same launches.
    let old = StandIns::new("old");
    assert_eq!(of_saxpy(&gate, &old)[0], just(&[("saxpy", 9)]));
    assert!(!started(&old).contains("--kernel-name"));
}

#[test]
fn b35_a_hot_kernel_keeps_its_cache_and_flags_of_the_suite_are_the_profiler_s() {
    let flags = "[profile]\nncu_flags = [\"--section\", \"WarpStateStats\", \"--launch-count\", \"5\"]\nnsys_flags = [\"--stats=false\"]\n";
    let Some(gate) = saxpy("flush_l2 = false", &format!("{UNWATCHED}{flags}")) else { return };
    let tools = StandIns::new("well");
    assert_eq!(of_saxpy(&gate, &tools), [just(&[("saxpy", 5)]), just(&[("saxpy", 9)])]);
    let words = started(&tools);
    assert!(words.contains("--cache-control none ") && !words.contains("--launch-count 100"), "{words}");
    assert!(words.contains(".ncu-rep --section WarpStateStats --launch-count 5 "), "{words}");
    let calls = tools.calls();
    assert!(calls.iter().any(|call| call.starts_with("nsys profile") && call.contains("--stats=false")));
}

#[test]
fn b35_a_built_in_kernel_is_profiled_alone_too() {
    let Some(stand_in) = StandIn::new() else { return };
    let of = |text: &str| {
        let (folder, tools) = (folder_with(text), StandIns::new("well"));
        let found = launches(stand_in.command(folder.path(), "profile --profile ncu,nsys"), &tools);
        (found, started(&tools))
    };
    let small = "{ dtype = ['f32'], batch_size = [2], sequence_length = [3], tensor_dimension = [40], flush_l2 = ['false'] }";
    let entry = |builtin: &str, matrix: &str| {
        format!(
            "[suite]\nname = 's'\n[defaults]\niterations = 3\nwarmup = 1\n[[benchmark]]\nid = 'a'\nbuiltin = '{builtin}'\n{matrix}"
        )
    };
    let (found, words) = of(&entry("swish", &format!("matrix = {small}\n")));
    assert_eq!(found, [just(&[("gb_swish", 4)]), just(&[("gb_swish", 4)])]);
    assert!(words.contains("--cache-control none"), "{words}");
    // The kernel that fills is one of the check, and no figure of the empty one.
    let (found, _) = of(&entry("launch_latency", ""));
    assert_eq!(found[1].keys().collect::<Vec<_>>(), ["gb_empty"]);
}

const MODULE: &str = "import torch

class Bench:
    device = 'cuda'
    def setup(self):
        self.weights = torch.randn(1024, device='cuda')
    def benchmark_fn(self):
        torch.work(0.01)
";

/// Profiles by ncu and nsys of a Python benchmark whose cache is flushed.
fn of_python(module: &str, option: &str) -> (Vec<BTreeMap<String, u64>>, StandIns) {
    let fakes = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/python/fakes/gpu");
    let text = format!(
        "[suite]\nname = 's'\n[gate]\nwatch = false\n[defaults]\niterations = 3\nwarmup = 2\n[[benchmark]]\nid = 'a'\n\
         [benchmark.python]\nfile = 'm.py'\nway = 'class'\npath = ['{}']\n{option}\n",
        fakes.display()
    );
    let (folder, tools) = (folder(&[("gbench.toml", &text), ("m.py", module)]), StandIns::new("well"));
    (launches(command(folder.path(), "profile --profile ncu,nsys"), &tools), tools)
}

#[test]
fn b35_of_a_python_benchmark_ncu_counts_the_measured_calls_alone() {
    let randn = "at::native::distribution_elementwise_grid_stride_kernel";
    let (found, tools) = of_python(MODULE, "flush_l2 = true");
    assert_eq!(found, [just(&[("work", 3)]), just(&[("work", 5), (randn, 1)])]);
    let words = started(&tools);
    assert!(
        words.contains("--nvtx --nvtx-include gbench: measure/ --nvtx-include gbench: measure "),
        "{words}"
    );
    assert!(!words.contains("--cache-control"), "{words}");

    // Autograd launches from a thread of its own, in no range of the driver's thread.
    let elsewhere = MODULE.replace(
        "torch.work(0.01)",
        "torch.cuda.nvtx.range_pop(); torch.work(0.01); torch.cuda.nvtx.range_push('gbench: measure')",
    );
    let (found, tools) = of_python(&elsewhere, "");
    assert_eq!(found[0], just(&[("work", 3)]));
    assert!(started(&tools).contains("--cache-control none"));

    // Without ranges nothing is selected: what ncu then counts is everything.
    let unmarked = MODULE.replace("import torch\n", "import torch\ntorch.cuda.nvtx = None\n");
    let (found, tools) = of_python(&unmarked, "");
    assert_eq!(found[0], just(&[("work", 5), (randn, 1)]));
    let calls = tools.calls();
    assert_eq!(
        calls.iter().filter(|call| call.starts_with("ncu ") && call.contains(" -o ")).count(),
        2,
        "{calls:?}"
    );
}

#[test]
fn b35_where_the_gate_locks_the_clocks_ncu_leaves_them() {
    for (gate, settings, left) in [
        ("lock_sm_clock = 1410\n", "", true),
        ("lock_sm_clock = 1410\n", "set_sm=!4", false),
        ("", "", false),
    ] {
        let text = format!(
            "[suite]\nname = 's'\n[gate]\nwatch = false\n{gate}[[benchmark]]\nid = 'a'\nshell = 'true'\ntiming = 'process'\n"
        );
        let (folder, tools) = (folder_with(&text), StandIns::new("well"));
        let mut command = command(folder.path(), "profile --profile ncu");
        command.env("GBENCH_NVML_LIBRARY", crate::fake_nvml::library("")).env_remove("CUDA_VISIBLE_DEVICES");
        command.env("FAKE_NVML", format!("count=1 {settings}"));
        command.env("FAKE_NVML_CLOCKS", folder.path().join("clocks"));
        launches(command, &tools);
        let words = started(&tools);
        assert_eq!(words.contains("--clock-control none"), left, "{gate}{settings}: {words}");
    }
}

#[test]
fn a_sanitizer_checks_each_case_once_and_what_it_finds_fails() {
    let Some(gate) = saxpy("", UNWATCHED) else { return };
    let checked = |mode: &str, code: i32| {
        let tools = StandIns::new(mode);
        let line = "profile saxpy --quiet --profile memcheck,racecheck,initcheck";
        let mut command = gate.stand_in.command(gate.repository.root(), line);
        command.envs(tools.env());
        (ended(command).exits(code), tools.calls())
    };
    let (ran, calls) = checked("well", 0);
    ran.says("CHECKED").says("3 checks without an error of 1 case").says("no error was found");
    let started = |call: &&String| call.contains("--tool");
    let tools: Vec<&String> = calls.iter().filter(started).collect();
    assert_eq!(tools.len(), 3, "{calls:?}");
    assert!(tools[1].contains("--tool racecheck --target-processes all --error-exitcode 86"), "{calls:?}");
    let (ran, _) = checked("sick", 4);
    let ran = ran.says("FAILED").says("1 of 3 checks without an error").says(
        "memcheck found an error: Invalid __global__ write of size 4 bytes at saxpy(float, const float *, float *, int)+0x90 in \
         saxpy.cu:4 (1 more message in its report)",
    );
    ran.says("racecheck found an error: Error: Race reported between Write access at saxpy(")
        .says(".memcheck.txt with a text editor");
    // What it says on a machine without a driver, and where a package lacks its library.
    let (ran, _) = checked("fail", 4);
    ran.says("exit code 255 under memcheck: Error: Target application terminated before first instrumented API call; Error:");
    // A tool that let the program run, and looked at nothing.
    checked("blind", 4).0.says("memcheck ended well, but may not have looked: Error: Device not supported");
    checked("mute", 4).0.says("racecheck ended well, but may not have looked: its log has no summary");
    let mut measuring = gate.stand_in.command(gate.repository.root(), "run --profile memcheck");
    measuring.envs(StandIns::new("well").env());
    ended(measuring).exits(2).says("use `gbench-ci profile --profile memcheck`");
    checked("bare", 4).0.says("exit code 13 under initcheck: Unable to find injection library");
    let mut missing = gate.stand_in.command(gate.repository.root(), "profile saxpy --profile memcheck");
    missing.envs(crate::support::profilers::missing());
    ended(missing).exits(5).says("install Compute Sanitizer").says("GBENCH_COMPUTE_SANITIZER");
}

/// A guard would hide a short overflow from a sanitizer.
#[test]
fn under_a_profiler_nothing_lies_behind_a_buffer() {
    let Some(gate) = saxpy("", UNWATCHED) else { return };
    let tools = StandIns::new("well");
    let allocated = |line: &str| {
        let trace = gate.repository.root().join("trace");
        let stand_in = gate.stand_in.clone().with(&format!("attribute.108=0 trace={}", trace.display()));
        let mut command = stand_in.command(gate.repository.root(), line);
        command.envs(tools.env());
        ended(command).exits(0);
        let text = std::fs::read_to_string(&trace).unwrap();
        std::fs::remove_file(&trace).unwrap();
        // A call that a card refuses would be an error for the sanitizer.
        let refused: Vec<&str> =
            text.lines().filter(|line| line.starts_with("cuCtx") && !line.ends_with("-> 0")).collect();
        assert_eq!(refused, Vec::<&str>::new());
        let guarded = |line: &&str| line.starts_with("cuMemAlloc_v2 16896");
        let bare = |line: &&str| line.starts_with("cuMemAlloc_v2 16384");
        [text.lines().filter(guarded).count() > 0, text.lines().filter(bare).count() > 0]
    };
    assert_eq!(allocated("run --benchmark saxpy --quiet --processes 1 --no-profile"), [true, false]);
    assert_eq!(allocated("profile saxpy --quiet --profile memcheck"), [false, true]);
}
