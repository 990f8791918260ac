//! The compiler of kernels: which one is taken for a driver and a card, where it is found, and what is said where none fits.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use gbench_ci::model::{Outcome, RunRecord};
use serde_json::Value;

use crate::support::cli::{ended, newest};
use crate::support::gpu::StandIn;
use crate::support::kernels::{self, Gate};
use crate::support::{folder_with, tools};

const SMALL: &str = "[[benchmark]]\nid = 'small'\nbuiltin = 'swish'\nmatrix = { batch_size = [2], sequence_length = [3], tensor_dimension = [40] }\n\
     [defaults]\nprocesses = 1\niterations = 3\n";

/// A folder as a virtual environment is laid out, with the packages of these compilers; `13` is that of the tools.
fn environment(versions: &[&str]) -> Option<tempfile::TempDir> {
    let folder = crate::support::tempdir().unwrap();
    for version in versions {
        let site = folder.path().join("lib/python3.11/site-packages/nvidia");
        std::fs::create_dir_all(&site).unwrap();
        match *version {
            "13" => symlink(tools::cuda()?, site.join("cu13")).unwrap(),
            version => symlink(tools::nvrtc(version)?, site.join("cuda_nvrtc")).unwrap(),
        }
    }
    Some(folder)
}

/// Without any compiler but those of the environment.
fn with(stand_in: &StandIn, environment: &Path, folder: &Path, line: &str) -> Command {
    let mut command = stand_in.command(folder, line);
    command.env("CUDA_HOME", folder.join("nowhere")).env("VIRTUAL_ENV", environment);
    command
}

fn first(record: &RunRecord) -> &Outcome {
    &record.cases[0].outcome
}

/// The check `compiler` of the doctor: its state, finding and advice.
fn doctor(mut command: Command) -> [String; 3] {
    let document: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    let checks = document["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "compiler").unwrap();
    ["state", "finding", "advice"].map(|key| check[key].as_str().unwrap().to_owned())
}

#[test]
fn b31_a_compiler_that_is_newer_than_the_driver_is_not_taken_and_the_package_for_it_is_named() {
    let (Some(stand_in), Some(environment)) = (StandIn::new(), environment(&["13"])) else { return };
    let words = "needs driver 580 or newer, or install nvidia-cuda-nvrtc-cu12";
    let stand_in = stand_in.with("driver=12040");
    let folder = folder_with(SMALL);
    ended(with(&stand_in, environment.path(), folder.path(), "run")).exits(5).says(words);
    let record = newest(folder.path());
    let Outcome::Skipped { cause, advice, .. } = first(&record) else { panic!("{record:?}") };
    assert_eq!(
        (cause.as_str(), advice.as_str()),
        ("NVRTC 13.5 is too new for this driver, which is for CUDA 12.4", words)
    );
    let [state, finding, advice] =
        doctor(with(&stand_in, environment.path(), folder.path(), "doctor --json"));
    assert_eq!((state.as_str(), &finding, advice.as_str()), ("problem", cause, words));
    // The one that is named is not taken, either.
    let mut named = stand_in.command(folder.path(), "run");
    named.env(
        "GBENCH_NVRTC",
        environment.path().join("lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13"),
    );
    ended(named).exits(5).says(words);
}

#[test]
fn b31_of_two_compilers_the_one_that_the_driver_knows_the_code_of_is_taken() {
    let (Some(stand_in), Some(environment)) = (StandIn::new(), environment(&["13", "12.4"])) else { return };
    for (driver, compiler) in [("12020", "NVRTC 12.4"), ("13000", "NVRTC 13.5")] {
        let folder = folder_with(SMALL);
        let stand_in = stand_in.clone().with(&format!("driver={driver}"));
        ended(with(&stand_in, environment.path(), folder.path(), "run")).exits(0);
        let record = newest(folder.path());
        let code = record.cases[0].device_code.as_ref().unwrap();
        assert_eq!(code.compiler.as_deref(), Some(compiler), "{driver}");
    }
}

#[test]
fn b31_an_older_compiler_that_does_not_know_the_card_is_a_problem_that_names_what_to_install() {
    let (Some(stand_in), Some(environment)) = (StandIn::new(), environment(&["12.4"])) else { return };
    let stand_in = stand_in.with("driver=12080 sm=120").with_nvml("count=1 compute=120");
    let folder = folder_with(SMALL);
    let words = "install nvidia-cuda-nvrtc-cu12 12.8 or newer";
    ended(with(&stand_in, environment.path(), folder.path(), "run")).exits(5).says(words);
    let [state, finding, advice] =
        doctor(with(&stand_in, environment.path(), folder.path(), "doctor --json"));
    let expected = ("problem", "NVRTC 12.4 does not compile for sm_120", words);
    assert_eq!((state.as_str(), finding.as_str(), advice.as_str()), expected);
}

#[test]
fn b31_code_of_a_newer_toolkit_in_a_kept_folder_is_not_used() {
    let (Some(stand_in), Some(newest)) = (StandIn::new(), environment(&["13"])) else { return };
    let folder = folder_with(SMALL);
    let kept = crate::support::tempdir().unwrap();
    let run = |settings: &str, environment: &Path| {
        let stand_in = stand_in.clone().with(settings);
        let mut command = with(&stand_in, environment, folder.path(), "run");
        command.env("GBENCH_CUBINS", kept.path());
        ended(command)
    };
    run("driver=13000", newest.path()).exits(0);
    for code in ["200", "209", "222"] {
        let ran = run(&format!("driver=12040 newer={code}"), newest.path()).exits(5);
        ran.says("needs driver 580 or newer, or install nvidia-cuda-nvrtc-cu12");
    }
    // The same driver and card refuse it for another reason: then the folder is wrong, and the case has failed.
    run("driver=13000 cuModuleLoadData=!200", newest.path())
        .exits(4)
        .says("remove the folder that GBENCH_CUBINS names");
    // A compiler that fits compiles it again.
    let Some(both) = environment(&["13", "12.4"]) else { return };
    run("driver=12040 newer=200", both.path()).exits(0);
}

#[test]
fn b34_a_compiler_from_before_the_suffix_compiles_for_hopper() {
    let (Some(stand_in), Some(environment)) = (StandIn::new(), environment(&["11.8"])) else { return };
    let (folder, twins) = kernel("", 128);
    let stand_in = stand_in.with("driver=11080").with_twins(&twins.display().to_string());
    ended(with(&stand_in, environment.path(), folder.path(), "run")).exits(0);
    let record = newest(folder.path());
    let code = record.cases[0].device_code.as_ref().unwrap();
    assert_eq!((code.arch.as_str(), code.compiler.as_deref()), ("sm_90", Some("NVRTC 11.8")));
}

#[test]
fn b33_a_compiler_of_the_python_on_the_path_is_found_with_its_headers() {
    let (Some(stand_in), Some(environment)) = (StandIn::new(), environment(&["13"])) else { return };
    let (folder, twins) = kernel("#include <cuda_fp16.h>\n", 128);
    let stand_in = stand_in.with_twins(&twins.display().to_string());
    let bin = environment.path().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    symlink("/bin/true", bin.join("python3")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = stand_in.command(folder.path(), "run");
    ended({
        command.env("CUDA_HOME", folder.path().join("nowhere")).env("PATH", path);
        command
    })
    .exits(0);
}

#[test]
fn b33_a_compiler_that_the_loader_finds_has_its_headers() {
    let (Some(stand_in), Some(home)) = (StandIn::new(), tools::cuda()) else { return };
    let (folder, twins) = kernel("#include <cuda_fp16.h>\n", 128);
    let stand_in = stand_in.with_twins(&twins.display().to_string());
    let mut command = stand_in.command(folder.path(), "run");
    let driver = crate::fake_cuda::library("").parent().unwrap().to_owned();
    let path = format!("{}:{}", driver.display(), home.join("lib").display());
    command.env("CUDA_HOME", folder.path().join("nowhere")).env("LD_LIBRARY_PATH", path);
    ended(command).exits(0);
}

/// A suite with one kernel that requests so much shared memory, and its twin.
fn kernel(include: &str, shared: u32) -> (tempfile::TempDir, PathBuf) {
    // Where a kernel uses shared memory, the compiler counts what the system takes of it.
    let text = format!(
        "{include}extern \"C\" __global__ void doubled(const float *from, float *to) {{\n\
         #ifdef GB_CPU\n  float tile[32];\n#else\n  extern __shared__ float tile[];\n#endif\n  \
         tile[threadIdx.x] = from[threadIdx.x];\n  to[threadIdx.x] = 2.0f * tile[threadIdx.x];\n}}\n"
    );
    let suite = format!(
        "[defaults]\nprocesses = 1\niterations = 3\n[[benchmark]]\nid = 'doubled'\n[benchmark.cuda]\nfile = 'k.cu'\n\
         entry = 'doubled'\ngrid = 1\nblock = 32\nshared = {shared}\n\
         arguments = [{{ input = 'f32', length = 32 }}, {{ output = 'f32', length = 32 }}]\n"
    );
    let folder = folder_with(&suite);
    let file = folder.path().join("k.cu");
    std::fs::write(&file, text).unwrap();
    let twins = crate::fake_cuda::twins_of_kernels(
        &file,
        &[("doubled", "doubled")],
        &[],
        &folder.path().join("twins.so"),
    );
    (folder, twins.unwrap())
}

#[test]
fn b32_a_kernel_may_request_all_shared_memory_of_the_card_and_no_more() {
    let Some(stand_in) = StandIn::new() else { return };
    for (shared, code) in [(232_448, 0), (232_449, 4)] {
        let (folder, twins) = kernel("", shared);
        let stand_in = stand_in.clone().with_twins(&twins.display().to_string());
        let ran = ended(stand_in.command(folder.path(), "run")).exits(code);
        let record = newest(folder.path());
        match first(&record) {
            Outcome::Measured => {
                let kernels = &record.cases[0].device_code.as_ref().unwrap().kernels;
                assert_eq!(kernels["doubled"].shared_bytes, Some(0), "ptxas says nothing of shared memory");
            }
            _ => _ = ran.says("let `shared` be at most 232448"),
        }
    }
}

#[test]
fn b35_a_driver_that_does_not_start_and_a_card_in_exclusive_mode_are_the_machine_s_lack() {
    let Some(stand_in) = StandIn::new() else { return };
    let folder = folder_with(SMALL);
    for (settings, words) in [
        ("cuInit=!999", "restart the container, which may have lost its devices"),
        ("cuInit=!802", "fabric manager"),
        ("cuInit=!3", "make `nvidia-smi` work first"),
    ] {
        ended(stand_in.clone().with(settings).command(folder.path(), "run")).exits(5).says(words);
    }
    // Another process has the card.
    let cards = crate::support::tempdir().unwrap();
    let held = std::fs::File::create(cards.path().join("card-0")).unwrap();
    held.lock().unwrap();
    let exclusive = stand_in.with(&format!("exclusive={}", cards.path().display()));
    ended(exclusive.command(folder.path(), "run")).exits(5).says("set `nvidia-smi -c DEFAULT`");
    drop(held);
    ended(exclusive.command(folder.path(), "run")).exits(0);
}

#[test]
fn b35_two_sides_that_take_turns_cannot_share_a_card_in_exclusive_mode() {
    let Some(stand_in) = kernels::stand_in() else { return };
    let mut gate = Gate::new(&stand_in, kernels::NOISE);
    let folder = gate.repository.root().join(".git/gpu");
    gate.stand_in = gate.stand_in.with(&format!("exclusive={}", folder.display()));
    let text = kernels::suite("", &[("saxpy", "saxpy.cu")], "lockstep = true\nprocesses = 2");
    gate.commit(&[kernels::SAXPY_FILE], &[("gbench.toml", &text), ("card", "\n"), kernels::IGNORED]);
    gate.commit(&[], &[("card", "# the same\n")]);
    let ran = gate.compare("--interleave lockstep");
    assert!(ran.code != 0, "{}", ran.out);
    ran.says("it is in exclusive mode, and another process has it");
    let ran = gate.compare("");
    assert!(
        !ran.out.contains("exclusive mode") && gate.record("head").cases[0].outcome.is_measured(),
        "{ran:?}"
    );
}

#[test]
fn b36_a_failed_compilation_names_the_missing_file_and_what_to_install() {
    let Some(stand_in) = StandIn::new() else { return };
    for (include, named, words) in [
        ("#include <cub/cub.cuh>\n", "\"cub/cub.cuh\"", "install nvidia-cuda-cccl==13.*"),
        ("#include <cstdint>\n", "\"cstdint\"", "include <cuda/std/cstdint>"),
        ("int oops\n", "k.cu(1): error: ", "mend the kernel at the place that the compiler names"),
    ] {
        let (folder, _) = kernel("", 128);
        let file = folder.path().join("k.cu");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{include}{text}")).unwrap();
        ended(stand_in.command(folder.path(), "run")).exits(4);
        let record = newest(folder.path());
        let Outcome::Failed { cause, advice, .. } = first(&record) else { panic!("{record:?}") };
        assert!(cause.contains(named) && advice.contains(words), "{cause}\n{advice}");
    }
}

/// A library of matrix products for a version of CUDA, which works where the driver is for that version or a later one.
fn cublas(folder: &Path, major: u32, works: bool) {
    std::fs::create_dir_all(folder).unwrap();
    let (source, code) = (folder.join("cublas.c"), i32::from(!works));
    let text = format!(
        "int cublasGetProperty(int what, int *value) {{ *value = what == 0 ? {major} : 0; return 0; }}\n\
         int cublasCreate_v2(void **handle) {{ *handle = handle; return {code}; }}\n\
         int cublasDestroy_v2(void *handle) {{ return 0; }}\n\
         int cublasSetStream_v2(void *handle, void *stream) {{ return 0; }}\n\
         int cublasGetVersion_v2(void *handle, int *version) {{ *version = {major} * 10000; return 0; }}\n\
         int cublasGemmEx(void) {{ return 0; }}\n"
    );
    std::fs::write(&source, text).unwrap();
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-w", "-o"])
        .arg(folder.join(format!("libcublas.so.{major}")))
        .arg(source);
    assert!(compiler.status().unwrap().success());
}

#[test]
fn b33_the_library_of_products_fits_the_driver_too() {
    let (Some(stand_in), Some(environment)) = (StandIn::new(), environment(&["12.4"])) else { return };
    let stand_in = stand_in.with("driver=12040");
    let nvidia = environment.path().join("lib/python3.11/site-packages/nvidia");
    let events = || {
        let mut command = with(&stand_in, environment.path(), environment.path(), "__micro gpu_flops");
        command.env("GBENCH_PARAM_IMPL", "cublas").env("GBENCH_PARAM_N", "64");
        child(command)
    };
    cublas(&nvidia.join("cu13/lib"), 13, false);
    let skip = events().into_iter().find(|event| event["event"] == "skip").unwrap();
    assert_eq!(skip["reason"], "cuBLAS 13 is too new for this driver, which is for CUDA 12.4");
    assert_eq!(skip["next"], "needs driver 580 or newer, or install nvidia-cublas-cu12");
    cublas(&nvidia.join("cublas/lib"), 12, true);
    let notes = events();
    assert!(notes.iter().any(|event| event["notes"]["cublas"] == 120_000), "{notes:?}");
}

/// Capabilities of cards, from Turing to Blackwell.
const CARDS: [u32; 11] = [75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121];
const DRIVERS: [u32; 5] = [11_080, 12_020, 12_040, 12_080, 13_000];

/// Each compiler with each driver and each card: what runs, by which code, and what is said where nothing does.
#[test]
#[ignore = "four more compilers of 90 MB each, and minutes: `just compilers`"]
fn every_compiler_with_every_driver_and_every_card_runs_or_says_what_to_install() {
    let Some(stand_in) = StandIn::new() else { return };
    let mut said: Vec<String> = Vec::new();
    let head: String = CARDS.iter().map(|card| format!("{:>9}", format!("sm_{card}"))).collect();
    println!("{:<12}{:<8}{head}", "compiler", "driver");
    for compiler in ["11.8", "12.4", "12.8", "12.9", "13"] {
        let Some(environment) = environment(&[compiler]) else { return };
        for driver in DRIVERS {
            let cell = |card: &u32| {
                let stand_in = stand_in.clone().with(&format!("driver={driver} sm={card}"));
                let events = child(with(&stand_in, environment.path(), environment.path(), "__micro swish"));
                let of = |name: &str| events.iter().find(|event| event["event"] == name);
                if let Some(code) = of("device_code") {
                    assert!(of("sample").or(of("samples")).is_some() && of("error").is_none(), "{events:?}");
                    return code["arch"].as_str().unwrap().to_owned();
                }
                let skip =
                    of("skip").unwrap_or_else(|| panic!("NVRTC {compiler} {driver} {card}: {events:?}"));
                let next = skip["next"].as_str().unwrap();
                assert!(next.contains("nvidia-cuda-nvrtc") || next.contains("needs driver"), "{next}");
                let text = format!("{}: {next}", skip["reason"].as_str().unwrap());
                let place = said.iter().position(|known| *known == text).unwrap_or_else(|| {
                    said.push(text);
                    said.len() - 1
                });
                format!("({})", place + 1)
            };
            let cells: String = CARDS.iter().map(cell).map(|cell| format!("{cell:>9}")).collect();
            println!(
                "{:<12}{:<8}{cells}",
                format!("NVRTC {compiler}"),
                format!("{}.{}", driver / 1000, driver % 1000 / 10)
            );
        }
    }
    for (number, text) in said.iter().enumerate() {
        println!("({}) {text}", number + 1);
    }
}

/// The events of a child that is started by hand.
fn child(mut command: Command) -> Vec<Value> {
    for (key, value) in
        [("BATCH_SIZE", "2"), ("SEQUENCE_LENGTH", "3"), ("TENSOR_DIMENSION", "40"), ("DTYPE", "f32")]
    {
        command.env(format!("GBENCH_PARAM_{key}"), value);
    }
    let output = command.env("GBENCH_ITERATIONS", "3").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
