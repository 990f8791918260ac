//! CUDA kernels of a suite, as a user meets them: what `init` writes of a folder of sources, what `list`, `describe` and a dry run say,
//! and what becomes of a kernel whose file is not there. Nothing here needs a GPU.

use std::path::Path;

use gbench_ci::model::{Access, DType, Documented, Fill, KernelArgument, KernelCall, KernelLaunch, Outcome};
use gbench_ci::store::read_comparison;
use gbench_ci::suite::Suite;
use serde_json::Value;

use crate::support::cli::{newest, ran};
use crate::support::folder;
use crate::support::repository::Repository;

const SAXPY: &str = "// y = a x + y\nextern \"C\" __global__ void saxpy(float a, const float* __restrict__ x, float* y, int n) {\n    \
                     int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = a * x[i] + y[i];\n}\n";
const TILES: &str = "#include <cuda_fp16.h>\nnamespace ops {\n__global__ void __launch_bounds__(256) transpose(__half *out, const __half2 *in, size_t n) {\n    \
                     extern __shared__ __half tile[];\n    int y = blockIdx.y * 16 + threadIdx.y;\n}\n\
                     template <typename T> __global__ void blur(T* x) {}\n__global__ void sample(cudaTextureObject_t t, float* x) {}\n\
                     __global__ void move(Particle p, float* x) {}\n}\n";
const HOST: &str = "#include <vector>\n__global__ void scale(float* x) {}\nvoid all(std::vector<float>& x) { scale<<<1, 2>>>(x.data()); }\n";
const PROGRAM: &str = "__global__ void k(float* x) {}\nint main() { return 0; }\n";

const FOLDER: [(&str, &str); 5] = [
    ("kernels/saxpy.cu", SAXPY),
    ("kernels/tiles.cuh", TILES),
    ("kernels/host.cu", HOST),
    ("kernels/program.cu", PROGRAM),
    ("kernels/helpers.cuh", "__device__ float one() { return 1.0f; }\n"),
];

fn call(suite: &Suite, at: usize) -> KernelCall {
    let benchmark = &suite.benchmarks[at];
    benchmark.kernel_call(&benchmark.points[0]).unwrap().unwrap()
}

fn loaded(folder: &Path) -> Suite {
    Suite::load(&folder.join("gbench.toml"), &[]).unwrap()
}

#[test]
fn a_kernel_of_one_axis_is_written_so_that_it_can_be_measured_without_an_edit() {
    let folder = folder(&FOLDER);
    ran(folder.path(), "init")
        .exits(0)
        .says("with 3 benchmarks:")
        .says("/program (kernels)")
        .says("/saxpy (CUDA kernel)")
        .says("/transpose (CUDA kernel)")
        .says("the kernel `ops::blur` of kernels/tiles.cuh is not proposed: it is a template")
        .says("2 kernels take an argument that the gate does not make and are not proposed")
        .says("`ops::sample` of kernels/tiles.cuh (it takes a texture or a surface")
        .says("`ops::move` of kernels/tiles.cuh (it takes a `Particle` by value")
        .says("such as `entry = \"ops::blur<float>\"`")
        .says("1 kernel of 1 file is not proposed: kernels/host.cu (it includes <vector>)");
    let suite = loaded(folder.path());
    let random = Fill::Uniform { low: -1.0, high: 1.0 };
    let buffer = |dtype, length, access| KernelArgument::Buffer { dtype, length, access, fill: random };
    let saxpy = call(&suite, 1);
    assert_eq!(saxpy.file, folder.path().canonicalize().unwrap().join("kernels/saxpy.cu"));
    assert_eq!((saxpy.entry.as_str(), saxpy.flush_l2), ("saxpy", true));
    assert_eq!(saxpy.launch, KernelLaunch::new([4096, 1, 1], [256, 1, 1], 0));
    let n = 1 << 20;
    assert_eq!(
        saxpy.arguments,
        [
            KernelArgument::Scalar { dtype: DType::F32, value: 1.5 },
            buffer(DType::F32, n, Access::Input),
            buffer(DType::F32, n, Access::InputOutput),
            KernelArgument::Scalar { dtype: DType::I32, value: n as f64 },
        ]
    );
    let transpose = call(&suite, 2);
    assert_eq!(transpose.entry, "ops::transpose");
    assert_eq!(transpose.launch, KernelLaunch::new([64, 64, 1], [16, 16, 1], 512));
    assert_eq!(transpose.arguments[1], buffer(DType::F16, 2 * n, Access::Input));
    let text = std::fs::read_to_string(folder.path().join("gbench.toml")).unwrap();
    let entry = "[[benchmark]]\nid = \"saxpy\"\nmatrix = { n = [1048576] }\n# work = { bytes = \"4 * n + 8 * n\" }\n\n[benchmark.cuda]\n\
                 file = \"kernels/saxpy.cu\"\nentry = \"saxpy\"\ngrid = \"(n + 255) // 256\"\nblock = 256\narguments = [\n    \
                 { value = 1.5, type = \"f32\" }, # a\n    { input = \"f32\", length = \"n\" }, # x\n    \
                 { inout = \"f32\", length = \"n\" }, # y\n    { value = \"n\", type = \"i32\" }, # n\n]\n";
    assert!(text.contains(entry), "{entry} in\n{text}");
    assert!(text.contains("# A signature does not say everything."), "{text}");
    assert!(!text.contains("the whole process is timed"), "{text}");
}

#[test]
fn list_describe_and_a_dry_run_show_the_file_the_kernel_and_its_launch() {
    let folder = folder(&FOLDER);
    ran(folder.path(), "init").exits(0);
    ran(folder.path(), "list --cases")
        .exits(0)
        .says("saxpy of kernels/saxpy.cu, grid (n + 255) // 256, block 256")
        .says("/transpose[n=1024]")
        .says("3 benchmarks, 2 cases");
    ran(folder.path(), "describe saxpy")
        .exits(0)
        .says("kernel saxpy")
        .says("of file kernels/saxpy.cu")
        .says("launch grid (n + 255) // 256, block 256")
        .says("argument inout f32 x n: random from -1 to 1")
        .says("L2 cache cold")
        .says("needs GPUs 1");
    let json: Value =
        serde_json::from_str(&ran(folder.path(), "describe saxpy --json").exits(0).out).unwrap();
    let cuda = &json["benchmarks"][0]["action"]["cuda"];
    assert_eq!((&cuda["file"], &cuda["entry"]), (&"kernels/saxpy.cu".into(), &"saxpy".into()), "{json}");
    assert_eq!(cuda["block"], serde_json::json!([256]));
    // Cells are wrapped, so that a line of one holds a part.
    let dry = ran(folder.path(), "run --dry-run").exits(0);
    let parts = [
        "saxpy of",
        "kernels/saxpy.cu,",
        "grid 4096, block 256",
        "ops::transpose of",
        "grid 64x64, block",
        "shared 512 B",
    ];
    parts.iter().fold(dry, |dry, part| dry.says(part));
}

#[test]
fn discovery_has_the_kernels_in_its_document() {
    let folder = folder(&FOLDER);
    let document: Value = serde_json::from_str(&ran(folder.path(), "discover --json").exits(0).out).unwrap();
    let schema = gbench_ci::app::discover::V1Discovery::schema();
    let complaints: Vec<String> =
        jsonschema::validator_for(&schema).unwrap().iter_errors(&document).map(|it| it.to_string()).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    let found = &document["benchmarks"][1];
    assert_eq!(
        found["cuda"],
        serde_json::json!({
            "file": "kernels/saxpy.cu", "entry": "saxpy", "n": 1 << 20, "grid": ["(n + 255) // 256"], "block": [256],
            "arguments": [
                {"name": "a", "kind": "value", "type": "f32", "value": "1.5"},
                {"name": "x", "kind": "input", "type": "f32", "length": "n"},
                {"name": "y", "kind": "inout", "type": "f32", "length": "n"},
                {"name": "n", "kind": "value", "type": "i32", "value": "n"},
            ],
        })
    );
    assert_eq!((found.get("command"), &found["gpu"]), (None, &true.into()));
    ran(folder.path(), "discover").exits(0).says("CUDA kernel").says("saxpy of kernels/saxpy.cu");
}

#[test]
fn a_kernel_of_a_program_that_has_an_entry_is_measured_by_the_program() {
    let cmake = "project(x LANGUAGES CUDA)\nadd_executable(bench_saxpy bench_saxpy.cu kernels/saxpy.cu)\n";
    let folder =
        folder(&[("CMakeLists.txt", cmake), ("bench_saxpy.cu", PROGRAM), ("kernels/saxpy.cu", SAXPY)]);
    ran(folder.path(), "init").exits(0).says("with 1 benchmark:").says("/bench_saxpy");
    // A library of no program that is found: its kernel is proposed.
    std::fs::write(folder.path().join("CMakeLists.txt"), "add_library(x kernels/saxpy.cu)\n").unwrap();
    ran(folder.path(), "init --force").exits(0).says("with 2 benchmarks:").says("/saxpy (CUDA kernel)");
}

const GONE: &str = "[defaults]\nprocesses = 1\n[[benchmark]]\nid = \"k\"\nrequires = { gpus = 0 }\n[benchmark.cuda]\nfile = \"gone.cu\"\n\
                    entry = \"k\"\ngrid = 1\nblock = 1\noptions = [\"-DN=4\"]\n";

#[test]
fn a_kernel_whose_file_is_not_there_is_a_mistake_of_the_suite_file_at_its_line() {
    let folder = folder(&[("gbench.toml", GONE)]);
    for words in ["list", "run --dry-run", "run"] {
        ran(folder.path(), words)
            .exits(2)
            .says("gbench.toml:7:8")
            .says("`file = \"gone.cu\"` is not there")
            .says("or set `dir`");
    }
    std::fs::create_dir(folder.path().join("gone.cu")).unwrap();
    ran(folder.path(), "list").exits(2).says("is a folder");
}

#[test]
fn a_kernel_whose_file_the_build_step_does_not_make_fails_and_says_which() {
    let text = GONE.replace("requires", "build = [\"true\"]\nrequires");
    let folder = folder(&[("gbench.toml", &text)]);
    ran(folder.path(), "run --quiet").exits(4);
    let record = newest(folder.path());
    let case = &record.cases[0];
    assert_eq!(case.command, ["cuda", "gone.cu", "k", "-DN=4"]);
    let Outcome::Failed { cause, advice, .. } = &case.outcome else { panic!("{:?}", case.outcome) };
    assert!(cause.contains("there is no file") && cause.contains("gone.cu"), "{cause}");
    assert!(advice.contains("`file` of `[benchmark.cuda]` at gbench.toml:3"), "{advice}");
}

#[test]
fn a_source_that_one_side_lacks_is_the_failure_of_that_side() {
    let kernel = "extern \"C\" __global__ void k() {}\n";
    let with = [("gbench.toml", GONE), ("gone.cu", kernel)];
    let repository = Repository::new(&with, &[("note", "x")]);
    repository.git(&["rm", "--quiet", "gone.cu"]);
    repository.git(&["commit", "--quiet", "--amend", "--message", "second"]);
    repository.compare("HEAD~1..HEAD");
    let (_, head, _) = read_comparison(&repository.latest()).unwrap();
    let outcome = &head.cases[0].outcome;
    let Outcome::Failed { advice, .. } = outcome else { panic!("{outcome:?}") };
    assert!(advice.contains("`file` of `[benchmark.cuda]` at gbench.toml:3"), "{advice}");
}

#[test]
fn without_a_gpu_a_kernel_is_skipped_with_what_is_missing() {
    if std::path::Path::new("/dev/nvidiactl").exists() {
        eprintln!("skipped: this machine has a GPU");
        return;
    }
    let folder = folder(&FOLDER);
    ran(folder.path(), "init").exits(0);
    let ended = ran(folder.path(), "run --quiet");
    assert_eq!(ended.code, 5, "{ended:?}");
    let record = newest(folder.path());
    assert!(record.cases.iter().all(|case| matches!(case.outcome, Outcome::Skipped { .. })), "{record:?}");
}
