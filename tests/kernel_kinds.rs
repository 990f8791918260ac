//! The kinds of kernels that people write, with the real compiler and the stand-in driver: each is measured, or refused with the
//! true cause and the next step.

use gbench_ci::model::Outcome;

use crate::support::cli::{ended, newest};
use crate::support::gpu::StandIn;
use crate::support::{fixture, folder_with};

enum Ends {
    Measured,
    /// The outcome's cause, and its advice.
    Refused(&'static str, &'static str),
    /// A mistake of the suite file: two parts of what is said.
    OfTheFile(&'static str, &'static str),
}
use Ends::{Measured, OfTheFile, Refused};

const PLAIN: &str =
    "extern \"C\" __global__ void k(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x]; }";
const BUFFERS: &str = "arguments = [{ input = 'f32', length = 64 }, { output = 'f32', length = 64 }]";

/// A kernel `k` of one buffer `y` of this type, with the function's body.
fn written(head: &str, element: &str, body: &str) -> String {
    format!("{head}\nextern \"C\" __global__ void k({element} *y) {{ {body} }}")
}

fn of_type(name: &str) -> String {
    format!("arguments = [{{ output = '{name}', length = 64 }}]")
}

/// Name, source, keys of `[benchmark.cuda]` besides a grid and a block of one warp, and the end.
fn kinds() -> Vec<(&'static str, String, String, Ends)> {
    let plain = |keys: &str| (PLAIN.to_owned(), format!("{keys}\n{BUFFERS}"));
    let kind = |name, (source, keys): (String, String), end| (name, source, keys, end);
    let f32 = |head: &str, body: &str| (written(head, "float", body), of_type("f32"));
    let mut kinds = vec![
        kind("plain", plain(""), Measured),
        kind(
            "namespace",
            (PLAIN.replace("extern \"C\"", "namespace a { namespace b {") + "} }", format!("entry = 'a::b::k'\n{BUFFERS}")),
            Measured,
        ),
        kind(
            "template",
            (
                "template <class T, int N> __global__ void k(T *y) { y[threadIdx.x] = T(N); }".into(),
                format!("entry = 'k<float, 4>'\n{}", of_type("f32")),
            ),
            Measured,
        ),
        kind(
            "half",
            (written("#include <cuda_fp16.h>", "__half", "y[threadIdx.x] = __float2half(1.0f);"), of_type("f16")),
            Measured,
        ),
        kind(
            "bf16",
            (written("#include <cuda_bf16.h>", "__nv_bfloat16", "y[threadIdx.x] = __float2bfloat16(1.0f);"), of_type("bf16")),
            Measured,
        ),
        kind(
            "half2",
            (written("#include <cuda_fp16.h>", "__half2", "y[threadIdx.x] = __float2half2_rn(1.0f);"), of_type("f16")),
            Measured,
        ),
        kind(
            "fp8",
            (
                written("#include <cuda_fp8.h>", "__nv_fp8_e4m3", "y[threadIdx.x] = __nv_fp8_e4m3(1.5f);"),
                of_type("f8e4m3"),
            ),
            Measured,
        ),
        kind(
            "c++17",
            (
                written("template <class T> __device__ T one() { if constexpr (sizeof(T) > 4) return T(2); else return T(1); }", "float", "y[threadIdx.x] = one<float>();"),
                format!("options = ['--std=c++17']\n{}", of_type("f32")),
            ),
            Measured,
        ),
        kind(
            "static shared memory of 80 KB",
            f32("", "__shared__ float t[20000]; t[threadIdx.x] = 1; __syncthreads(); y[threadIdx.x] = t[threadIdx.x ^ 1];"),
            // Compilers of CUDA 13 take it for Hopper and later.
            Measured,
        ),
        kind(
            "dynamic shared memory of 64 KB",
            (
                written("extern __shared__ float t[];", "float", "t[threadIdx.x] = 1; y[threadIdx.x] = t[threadIdx.x];"),
                format!("shared = 65536\n{}", of_type("f32")),
            ),
            Measured,
        ),
        kind(
            "dynamic shared memory of 256 KB",
            (
                written("extern __shared__ float t[];", "float", "t[threadIdx.x] = 1; y[threadIdx.x] = t[threadIdx.x];"),
                format!("shared = 262144\n{}", of_type("f32")),
            ),
            Refused("a block has at most 232448", "let `shared` be at most 232448"),
        ),
        kind(
            "__cluster_dims__",
            (
                "extern \"C\" __global__ void __cluster_dims__(2) k(float *y) { y[threadIdx.x] = blockIdx.x; }".into(),
                format!("grid = 4\n{}", of_type("f32")),
            ),
            Measured,
        ),
        kind("cluster", plain("grid = 4\ncluster = 2"), Measured),
        kind("cooperative", plain("grid = 'sms'\ncooperative = true"), Measured),
        kind(
            "cooperative_groups.h",
            (
                written(
                    "#include <cooperative_groups.h>",
                    "float",
                    "cooperative_groups::this_grid().sync(); y[threadIdx.x] = 1;",
                ),
                format!("cooperative = true\n{}", of_type("f32")),
            ),
            Refused("\"nv/target\"", "install nvidia-cuda-cccl==13.*"),
        ),
        kind(
            "cooperative with too many blocks",
            plain("grid = '40 * sms'\ncooperative = true"),
            Refused("starts 5280 blocks, and at most 4224", "let `grid` have at most 4224 blocks"),
        ),
        kind("printf", f32("", "printf(\"%d\\n\", 1); y[threadIdx.x] = 1;"), Measured),
        kind("assert", f32("", "assert(y != nullptr); y[threadIdx.x] = 1;"), Measured),
        kind(
            "options",
            (
                f32("", "y[threadIdx.x] = __sinf(TILE);").0,
                format!("options = ['-DTILE=32', '--use_fast_math', '-lineinfo']\n{}", of_type("f32")),
            ),
            Measured,
        ),
        kind("inline PTX", f32("", "asm volatile(\"mov.f32 %0, 1.0;\" : \"=f\"(y[threadIdx.x]));"), Measured),
        kind(
            "cub",
            f32("#include <cub/cub.cuh>", "y[0] = 1;"),
            Refused("\"cub/cub.cuh\"", "install nvidia-cuda-cccl==13.*"),
        ),
        kind("headers of the host", f32("#include <vector>", "y[0] = 1;"), Refused("\"vector\"", "<cuda/std/vector>")),
        kind("a mistake", f32("", "y[0] = x;"), Refused("identifier \"x\" is undefined", "mend the kernel at the place")),
        kind("another name", plain("entry = 'kk'"), Refused("k.cu has no kernel `kk`", "read its stderr")),
        kind(
            "another signature",
            (PLAIN.into(), of_type("f32")),
            Refused("`k` takes 2 parameters (of 8, 8 bytes), and 1 are given", "in their order and types"),
        ),
        kind(
            "unset constants",
            f32("__constant__ float w[4];", "y[threadIdx.x] = w[threadIdx.x & 3];"),
            Refused("reads `w`, which nothing sets", "data = { NAME"),
        ),
        kind(
            "launch bounds",
            (
                "extern \"C\" __global__ void __launch_bounds__(16) k(float *y) { y[threadIdx.x] = 1; }".into(),
                of_type("f32"),
            ),
            Refused("CUDA_ERROR_INVALID_VALUE", "read its stderr"),
        ),
        kind(
            "struct",
            (
                "struct S { char c; double d; const float *x; }; extern \"C\" __global__ void k(S s, float *y) { y[threadIdx.x] = s.x[0]; }".into(),
                "arguments = [{ struct = [{ value = 1, type = 'i8' }, { value = 2, type = 'f64' }, { input = 'f32', length = 8 }] }, \
                 { output = 'f32', length = 64 }]"
                    .into(),
            ),
            Measured,
        ),
        kind(
            "a struct of another size",
            (
                "struct S { int a[4]; }; extern \"C\" __global__ void k(S s, float *y) { y[threadIdx.x] = s.a[0]; }".into(),
                "arguments = [{ struct = [{ value = 1, type = 'i32' }] }, { output = 'f32', length = 64 }]".into(),
            ),
            Refused("(of 16, 8 bytes), and 2 are given (of 4, 8 bytes)", "in their order and types"),
        ),
        kind("a grid of 0", plain("grid = 0"), OfTheFile("0 is not from 1 to", "write a number of blocks")),
        kind("a block of 2048", plain("block = 2048"), OfTheFile("2048 is not from 1 to 1024", "write a number of threads")),
        kind("an architecture", plain("options = ['-arch=sm_90']"), OfTheFile("names an architecture", "remove it")),
    ];
    let map = "alignas(64)";
    let mapped = format!(
        "struct {map} Map {{ char bytes[128]; }}; extern \"C\" __global__ void k(const __grid_constant__ Map m, float *y) {{ y[threadIdx.x] = m.bytes[0]; }}"
    );
    let over = |keys: &str| {
        format!(
            "arguments = [{{ input = 'f16', length = 8192, tensor_map = {{ {keys} }} }}, {{ output = 'f32', length = 64 }}]"
        )
    };
    let square = "dims = [128, 64], box = [64, 32]";
    kinds.push(("tensor map", mapped.clone(), over(&format!("{square}, swizzle = '128b'")), Measured));
    kinds.push((
        "a tensor map that no card takes",
        mapped,
        over("dims = [128, 64], box = [128, 32], swizzle = '128b'"),
        OfTheFile("`box` has 256 bytes, and this", "cuTensorMapEncodeTiled"),
    ));
    kinds
}

/// The difference of a run from what its kind expects, if any.
fn complaint(stand_in: &StandIn, source: &str, keys: &str, end: &Ends) -> Option<String> {
    let mut text = String::from(
        "[defaults]\nprocesses = 1\niterations = 3\n[[benchmark]]\nid = 'k'\n[benchmark.cuda]\nfile = 'k.cu'\n",
    );
    for (key, usual) in [("entry", "'k'"), ("grid", "1"), ("block", "32")] {
        if !keys.lines().any(|line| line.starts_with(&format!("{key} ="))) {
            text += &format!("{key} = {usual}\n");
        }
    }
    let folder = folder_with(&(text + keys + "\n"));
    std::fs::write(folder.path().join("k.cu"), source).unwrap();
    let ran = ended(stand_in.command(folder.path(), "run"));
    let said = format!("{}{}", ran.out, ran.err);
    if let OfTheFile(one, other) = end {
        return (ran.code != 2 || !said.contains(one) || !said.contains(other)).then_some(said);
    }
    match (&newest(folder.path()).cases[0].outcome, end) {
        (Outcome::Measured, Measured) => None,
        (Outcome::Failed { cause, advice, .. }, Refused(true_cause, next))
            if cause.contains(true_cause) && advice.contains(next) =>
        {
            None
        }
        (outcome, _) => Some(format!("{outcome:?}\n{said}")),
    }
}

#[test]
fn q3_each_kind_of_kernel_is_measured_or_refused_with_the_cause_and_the_next_step() {
    let Some(stand_in) = StandIn::new() else { return };
    let stand_in = stand_in.with("twins=none driver=13050");
    let kinds = kinds();
    let of = |(name, source, keys, end): &(&str, String, String, Ends)| {
        Some(format!("{name}: {}", complaint(&stand_in, source, keys, end)?))
    };
    let complaints: Vec<String> = kinds.iter().filter_map(of).collect();
    assert!(complaints.is_empty(), "{} of {}:\n{}", complaints.len(), kinds.len(), complaints.join("\n"));
    let (_, source, keys, _) = kinds.iter().find(|(name, ..)| name.starts_with("static")).unwrap();
    let end = Refused("too much shared data", "mend the kernel");
    assert_eq!(complaint(&stand_in.with("sm=80"), source, keys, &end), None);
}

#[test]
fn q3_a_tensor_map_is_that_of_its_buffer_and_needs_a_card_that_knows_it() {
    let Some(stand_in) = StandIn::new() else { return };
    let folder = folder_with(
        "[defaults]\nprocesses = 1\niterations = 3\n[[benchmark]]\nid = 'k'\nmatrix = { n = [64] }\n[benchmark.cuda]\nimage = 'k.ptx'\n\
         entry = 'mapped'\ngrid = 1\nblock = 16\narguments = [{ input = 'f32', length = 'n * n', tensor_map = { dims = ['n', 'n // 2'], \
         strides = '8 * n', box = [8, 4], interleave = 'none', swizzle = '32b', l2_promotion = '256b' } }, { output = 'f32', length = 16 }]\n",
    );
    std::fs::copy(fixture("gpu/code/images.ptx"), folder.path().join("k.ptx")).unwrap();
    let twins = crate::fake_cuda::twins_of_kernels(
        &fixture("gpu/code/images.cu"),
        &[("mapped", "mapped")],
        &[],
        &folder.path().join("twins.so"),
    );
    let trace = folder.path().join("trace");
    let stand_in = stand_in.with_twins(&twins.unwrap().display().to_string()).with("driver=13050");
    let traced = stand_in.clone().with(&format!("trace={}", trace.display()));
    ended(traced.command(folder.path(), "run")).exits(0);
    let text = std::fs::read_to_string(trace).unwrap();
    let words = "kind=7 dims=[64, 32] strides=[512] box=[8, 4] swizzle=1 interleave=0 promotion=3 -> 0";
    assert!(
        text.lines().any(|line| line.starts_with("cuTensorMapEncodeTiled") && line.ends_with(words)),
        "{text}"
    );
    // The twin reads the words of the map: its rank, and its dimensions.
    let elements = newest(folder.path()).cases[0].answer["output 1"].values.clone();
    assert_eq!(elements[1..4], [Some(2.0), Some(64.0), Some(32.0)], "{elements:?}");
    let old = stand_in.with("sm=80");
    ended(old.command(folder.path(), "run")).exits(4).says("only for compute_90");
    // From its source, the kernel is one for this card.
    let source = std::fs::read_to_string(fixture("gpu/code/images.cu")).unwrap();
    std::fs::write(folder.path().join("k.cu"), source).unwrap();
    let suite = folder.path().join("gbench.toml");
    let text = std::fs::read_to_string(&suite).unwrap().replace("image = 'k.ptx'", "file = 'k.cu'");
    std::fs::write(suite, text).unwrap();
    ended(old.command(folder.path(), "run")).says("compute capability 9.0");
}

#[test]
fn q3_the_fields_of_a_struct_and_the_grid_of_a_card_reach_the_kernel() {
    let Some(stand_in) = StandIn::new() else { return };
    let folder = folder_with(
        "[defaults]\nprocesses = 1\niterations = 3\n[[benchmark]]\nid = 'k'\n[benchmark.cuda]\nimage = 'k.cubin'\nentry = 'gathered'\n\
         grid = '2 * sms'\nblock = 32\narguments = [{ struct = [{ value = 3, type = 'i32' }, { value = 0.5, type = 'f64' }, \
         { input = 'f32', length = 32, fill = 10 }, { value = 7, type = 'i16' }] }, { output = 'f32', length = 32 }]\n",
    );
    std::fs::copy(fixture("gpu/code/images.cubin"), folder.path().join("k.cubin")).unwrap();
    let twins = crate::fake_cuda::twins_of_kernels(
        &fixture("gpu/code/images.cu"),
        &[("gathered", "gathered")],
        &[],
        &folder.path().join("twins.so"),
    );
    let stand_in = stand_in.with_twins(&twins.unwrap().display().to_string()).with("driver=13050");
    ended(stand_in.command(folder.path(), "run --dry-run")).exits(0).says("grid 2 * sms");
    for sms in [132, 20] {
        ended(stand_in.clone().with(&format!("sms={sms}")).command(folder.path(), "run")).exits(0);
        let case = newest(folder.path()).cases.remove(0);
        assert!(case.answer["output 1"].values.iter().all(|value| *value == Some(20.5)), "{:?}", case.answer);
        assert_eq!(case.metadata["grid"], serde_json::json!([2 * sms, 1, 1]));
    }
}
