//! The next step after an error of a GPU, its driver or its compiler.

use std::env;

use super::error::{CudaError, REFUSED_CODE, UNAVAILABLE};
use super::toolkits;
use gbench_model::NVRTC_LIBRARY;

/// Where the name of a library begins with it, and not with the compiler's.
const CUBLAS: &str = "cuBLAS";

/// The kernel accessed memory that is not its own.
const ILLEGAL_ADDRESS: [u32; 4] = [700, 716, 717, 719];

const NO_DEVICE: &str = "start the container with its GPUs (`docker run --gpus all`), and let CUDA_VISIBLE_DEVICES name a GPU or unset it";

const NO_HIP_DEVICE: &str = "start the container with its GPUs (`--device=/dev/kfd --device=/dev/dri`), be in the groups `video` and `render`, and let \
                             HIP_VISIBLE_DEVICES name a GPU or unset it";

/// `None` for an error that already names its remedy.
pub fn next(error: &CudaError) -> Option<String> {
    let is_of_compiler = match error {
        CudaError::NoCompiler { .. } | CudaError::OldCompiler { .. } => true,
        CudaError::NewLibrary { library, .. } => !library.starts_with(CUBLAS),
        _ => false,
    };
    // Whatever is installed, the variable decides.
    let named = env::var_os(NVRTC_LIBRARY).filter(|_| is_of_compiler);
    let advice = advice(error)?;
    Some(match named {
        Some(_) => format!("let {NVRTC_LIBRARY} name another library, or unset it: {advice}"),
        None => advice,
    })
}

fn advice(error: &CudaError) -> Option<String> {
    let package = toolkits::package;
    Some(match error {
        CudaError::NoDriver => {
            "install the NVIDIA driver, or start the container with its GPUs (`docker run --gpus all`)".into()
        }
        CudaError::OldDriver { .. } => "install a newer driver".into(),
        CudaError::NoDevice => NO_DEVICE.into(),
        CudaError::NoHip => {
            "install ROCm's HIP runtime (`hip-runtime-amd`, on Debian `libamdhip64-5`), or name ROCm's folder by ROCM_PATH".into()
        }
        CudaError::OldHip { .. } => "install ROCm 5 or newer".into(),
        CudaError::NoHipDevice => NO_HIP_DEVICE.into(),
        CudaError::NoHiprtc { .. } => {
            "install hiprtc of the runtime's version (`hip-runtime-amd` has both), or name ROCm's folder by ROCM_PATH".into()
        }
        CudaError::NotOnHip { what } => format!("remove {what}"),
        CudaError::NoCompiler { driver, .. } => format!(
            "install the Python package {} or a CUDA toolkit, or name the library by GBENCH_NVRTC",
            package("cuda-nvrtc", *driver)
        ),
        CudaError::NewLibrary { library, cuda_version, arch } => {
            newer_than_driver(library, *cuda_version, arch.as_deref())
        }
        CudaError::NewCode { compiler, cuda_version, .. } => {
            format!("compile it again; {}", newer_than_driver(compiler, *cuda_version, None))
        }
        CudaError::NoCublas { driver } => {
            format!("install the Python package {} or a CUDA toolkit", package("cublas", Some(*driver)))
        }
        CudaError::OldCompiler { arch, driver, .. } => toolkits::advice_for(arch, *driver),
        CudaError::Compile { log, toolkit, .. } => match missing_header(log) {
            Some(header) => for_header(header, *toolkit),
            None => {
                "mend the kernel at the place that the compiler names; its whole output is in the run's logs"
                    .into()
            }
        },
        CudaError::SharedMemory { own, most, .. } => {
            format!("let `shared` be at most {}", u64::from(*most).saturating_sub(*own))
        }
        CudaError::OldCard { .. } => "skip it on such cards: `requires = { compute_capability = \"9.0\" }`".into(),
        CudaError::NoGrid { .. } => "let the expression give a whole number of blocks, and of clusters, on every card".into(),
        CudaError::TooManyBlocks { most: 0, .. } => "let a block have fewer threads, or less shared memory".into(),
        CudaError::TooManyBlocks { most, .. } => {
            format!("let `grid` have at most {most} blocks, of which each does more: \"sms\" is the number of multiprocessors")
        }
        CudaError::Parameters { .. } => {
            "let the arguments of `[benchmark.cuda]` be the kernel's parameters, in their order and types"
                .into()
        }
        CudaError::NoImage { .. } => "let `image` be a cubin, a fatbin or PTX: `nvcc -cubin -arch=sm_90 -o k.cubin k.cu`".into(),
        CudaError::NotInImage { .. } => {
            "write the readable name with its namespaces and template arguments, or the symbol that `cuobjdump -elf` shows".into()
        }
        CudaError::SeveralInImage { .. } => "write one of these symbols".into(),
        CudaError::ForeignImage { card, .. } => format!("build it for this card, too: {}", for_card(card)),
        CudaError::NewImage { tool, is_ptx, cuda_version, card, .. } => {
            let newer = if *is_ptx { "a newer driver".into() } else { driver_of(tool) };
            let machine_code = if *is_ptx { format!("or build machine code ({}), ", for_card(card)) } else { String::new() };
            format!("build it with a toolkit of at most {}, {machine_code}or install {newer}", toolkits::shown(*cuda_version))
        }
        CudaError::RefusedImage { is_ptx: true, card, .. } => {
            format!("run `ptxas -arch={card}` on it, which names the line, or build machine code: {}", for_card(card))
        }
        CudaError::RefusedImage { card, .. } => format!("build it again on this machine: {}", for_card(card)),
        CudaError::NoVariable { .. } => "write the name as the source does, with its namespace".into(),
        CudaError::VariableSize { .. } => "correct the type and `length` in `data`".into(),
        CudaError::UnsetConstants { .. } => {
            "give it values by `data = { NAME = { input = \"f32\", length = N } }` in `[benchmark.cuda]`, with `fill = \"zero\"` if zeros are \
             meant"
                .into()
        }
        CudaError::Call { function, code, .. } => after_call(function, *code)?.into(),
        CudaError::Cublas { .. }
        | CudaError::NoEntry { .. }
        | CudaError::NoKernel { .. }
        | CudaError::Code { .. }
        | CudaError::NoRoom { .. } => return None,
    })
}

/// The option of nvcc for machine code. `card`: `sm_90`.
fn for_card(card: &str) -> String {
    format!("`nvcc -gencode arch=compute_{0},code=sm_{0}`", card.trim_start_matches("sm_"))
}

/// The driver for the code of a library or tool: `NVRTC 13.5`.
fn driver_of(tool: &str) -> String {
    toolkits::major_of(tool).map_or_else(|| "a newer driver".to_owned(), toolkits::driver)
}

/// `library`: with its version, `NVRTC 13.5`.
fn newer_than_driver(library: &str, cuda_version: u32, arch: Option<&str>) -> String {
    let of_driver = cuda_version / 1000;
    let stem = if library.starts_with(CUBLAS) { "cublas" } else { "cuda-nvrtc" };
    let driver = driver_of(library);
    // No compiler for this driver knows the card.
    if arch.and_then(toolkits::first_for).is_some_and(|(major, _)| major > of_driver) {
        return format!("needs {driver}");
    }
    format!("needs {driver}, or install {}", toolkits::package(stem, Some(of_driver)))
}

fn after_call_of_hip(code: u32) -> Option<&'static str> {
    Some(match code {
        100 | 101 => NO_HIP_DEVICE,
        code if REFUSED_CODE.contains(&code) => {
            "this code is not for this GPU and its runtime: remove the folder that GBENCH_CUBINS names, and compile it here"
        }
        code if ILLEGAL_ADDRESS.contains(&code) => {
            "a kernel reached beyond its buffers: check each `length` and the grid"
        }
        _ => return None,
    })
}

fn after_call(function: &str, code: u32) -> Option<&'static str> {
    if function.starts_with("hip") {
        return after_call_of_hip(code);
    }
    Some(match code {
        34 => "remove the toolkit's folder `stubs` from LD_LIBRARY_PATH: no driver is there",
        UNAVAILABLE => {
            "wait for the other process, set `nvidia-smi -c DEFAULT`, or compare without `--interleave lockstep`"
        }
        100 | 101 => NO_DEVICE,
        221 => {
            "the driver's compiler for PTX (libnvidia-ptxjitcompiler.so.1) is not here: start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility"
        }
        802 => {
            "start NVIDIA's fabric manager (`systemctl start nvidia-fabricmanager`), or wait until it has started"
        }
        803 => {
            "the driver's library and its kernel module differ after an update: restart the machine, or the container"
        }
        804 => {
            "this GPU takes no compatibility package: take `cuda-compat` out of LD_LIBRARY_PATH, or install a newer driver"
        }
        999 if function == "cuInit" => {
            "load the driver's module (`nvidia-modprobe -u`), and restart the container, which may have lost its devices; see `dmesg`"
        }
        _ if function == "cuInit" => "make `nvidia-smi` work first, and see `dmesg`",
        912 => {
            "let `cluster` have fewer blocks, or a block less shared memory: more than 8 blocks run on some cards only"
        }
        702 => {
            "the watchdog of a display ends long kernels: measure on a GPU without a display, or make the kernel shorter"
        }
        code if REFUSED_CODE.contains(&code) => {
            "this code is not for this GPU and its driver: remove the folder that GBENCH_CUBINS names, and compile it here"
        }
        code if ILLEGAL_ADDRESS.contains(&code) => {
            "a kernel reached beyond its buffers: check each `length` and the grid; `gbench-ci profile --profile memcheck` finds the line"
        }
        _ => return None,
    })
}

/// The file that the compiler's log misses first.
fn missing_header(log: &str) -> Option<&str> {
    // CUDA 11 says `could not`.
    let (_, rest) = log.split_once("open source file \"")?;
    rest.split_once('"').map(|(header, _)| header)
}

/// Headers of C that kernels include out of habit.
const OF_C: [&str; 9] =
    ["assert.h", "float.h", "limits.h", "math.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h"];

/// `toolkit`: the compiler's major version, which the headers have to match.
fn for_header(header: &str, toolkit: u32) -> String {
    let package = |stem| toolkits::package(stem, Some(toolkit));
    let begins = |starts: &[&str]| starts.iter().any(|start| header.starts_with(start));
    if begins(&["cub/", "thrust/", "cuda/", "nv/"]) {
        return format!("install {}, which has `{header}`", package("cuda-cccl"));
    }
    if begins(&["cuda_", "crt/", "mma.h", "cooperative_groups", "cuComplex", "vector_", "device_"]) {
        let second = package(if toolkit < 13 { "cuda-nvcc" } else { "cuda-crt" });
        return format!("install {} and {second}, which have `{header}`", package("cuda-runtime"));
    }
    if OF_C.contains(&header) {
        return format!(
            "NVRTC has no headers of the host, and knows much of <{header}> by itself: leave it out"
        );
    }
    if !header.contains(['.', '/']) {
        let cccl = package("cuda-cccl");
        return format!(
            "NVRTC has no headers of the host: include <cuda/std/{header}> of {cccl}, if it is there"
        );
    }
    format!("name the folder of `{header}` by `include` of `[benchmark.cuda]`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b36_a_missing_header_names_its_package_for_the_compiler_s_version() {
        let told = |header: &str, toolkit| {
            let log =
                format!("k.cu(1): catastrophic error: cannot open source file \"{header}\"\n  #include\n");
            next(&CudaError::Compile { file: "k.cu".into(), arch: "sm_90".into(), log, toolkit }).unwrap()
        };
        for (header, toolkit, words) in [
            ("nv/target", 13, "install nvidia-cuda-cccl==13.*, which has `nv/target`"),
            ("cub/cub.cuh", 12, "install nvidia-cuda-cccl-cu12,"),
            ("cuda_fp16.h", 12, "install nvidia-cuda-runtime-cu12 and nvidia-cuda-nvcc-cu12,"),
            ("mma.h", 13, "install nvidia-cuda-runtime==13.* and nvidia-cuda-crt==13.*,"),
            ("vector", 13, "include <cuda/std/vector> of nvidia-cuda-cccl==13.*"),
            ("stdint.h", 12, "leave it out"),
            ("my/tile.h", 12, "name the folder of `my/tile.h` by `include`"),
        ] {
            assert!(told(header, toolkit).contains(words), "{}", told(header, toolkit));
        }
    }

    #[test]
    fn b31_code_that_the_driver_refuses_is_the_machine_s_lack_only_where_its_toolkit_is_newer() {
        let refused =
            |code| CudaError::Call { function: "cuModuleLoadData", code, name: "X".into(), text: "x".into() };
        for code in REFUSED_CODE {
            let newer = refused(code).of_code("NVRTC 13.5", 12_040);
            let words = "needs driver 580 or newer, or install nvidia-cuda-nvrtc-cu12";
            assert!(newer.is_of_machine() && next(&newer).unwrap().contains(words), "{newer:?}");
            let own = refused(code).of_code("NVRTC 12.9", 12_040);
            assert!(!own.is_of_machine() && next(&own).is_some(), "{own:?}");
        }
        let other = refused(700).of_code("NVRTC 13.5", 12_040);
        assert!(matches!(other, CudaError::Call { code: 700, .. }));
    }

    #[test]
    fn b35_a_driver_that_does_not_start_and_a_taken_gpu_are_the_machine_s_lack_with_words() {
        let called = |function, code| CudaError::Call { function, code, name: "X".into(), text: "x".into() };
        for code in [3, 100, 802, 803, 804, 999] {
            let error = called("cuInit", code);
            assert!(error.is_of_machine() && next(&error).is_some(), "{code}");
        }
        let taken = called("cuDevicePrimaryCtxRetain", 46);
        assert!(taken.is_of_machine() && next(&taken).unwrap().contains("nvidia-smi -c DEFAULT"));
        let lost = called("cuStreamSynchronize", 999);
        assert!(!lost.is_of_machine() && next(&lost).is_none());
        let watched = called("cuStreamSynchronize", 702);
        assert!(!watched.is_of_machine() && next(&watched).unwrap().contains("watchdog"));
    }
}
