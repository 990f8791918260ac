//! Programs and libraries that some tests use besides ours: GitHub's emulator, a runner of workflows, linters, GitHub's
//! Markdown, CUDA's compiler and headers, the driver's own libraries.
//!
//! `.ci/run tools` installs them. They lie in the folder that `GBENCH_TEST_TOOLS` names, or else in `ci-tools` in the
//! build folder. A test without what it needs says so by name and passes; it fails where `GBENCH_TEST_REQUIRE` has the name,
//! in a list by blanks: `.ci/run test` requires what `.ci/run tools` has installed.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn folder() -> PathBuf {
    match std::env::var_os("GBENCH_TEST_TOOLS") {
        Some(folder) => folder.into(),
        None => PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("ci-tools"),
    }
}

/// The program at `place` below the folder. Says which test goes without it where it is missing.
fn found(place: &str, name: &str) -> Option<PathBuf> {
    let program = folder().join(place);
    if program.is_file() {
        return Some(program);
    }
    skipped(name);
    None
}

/// What is not installed, by its name in `GBENCH_TEST_REQUIRE`.
///
/// # Panics
/// Where it is required.
fn skipped(name: &str) {
    let required = std::env::var("GBENCH_TEST_REQUIRE").unwrap_or_default();
    let is_required = required.split_whitespace().any(|required| required == name);
    assert!(!is_required, "GBENCH_TEST_REQUIRE has {name}, and it is not in {}", folder().display());
    goes_without(&format!("{name} is not installed (.ci/run tools)"));
}

/// Says which test does nothing, and why. Not by `eprintln!`, which the test runner keeps to itself when the test passes.
pub fn goes_without(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {reason}");
}

/// An executable of an npm package.
pub fn npm_tool(name: &str) -> Option<PathBuf> {
    found(&format!("node_modules/.bin/{name}"), name)
}

/// A stateful emulator of GitHub's API: `emulate start --service github --port N --seed FILE`.
pub fn emulate() -> Option<PathBuf> {
    npm_tool("emulate")
}

/// Runs workflows as GitHub's runner does.
pub fn act() -> Option<PathBuf> {
    found("bin/act", "act")
}

/// Looks over workflows and actions for what is unsafe.
pub fn zizmor() -> Option<PathBuf> {
    found("bin/zizmor", "zizmor")
}

/// Looks over workflows for what is wrong.
pub fn actionlint() -> Option<PathBuf> {
    found("bin/actionlint", "actionlint")
}

/// Looks over shell scripts.
pub fn shellcheck() -> Option<PathBuf> {
    found("bin/shellcheck", "shellcheck")
}

/// The folder of a CUDA toolkit, with `include` (cuda.h, cuda_fp16.h, mma.h, nvml.h), `lib` (libnvrtc) and `bin` (cuobjdump):
/// what `GBENCH_CUDA_HOME` names, or else the packages that `.ci/run tools` installs. No GPU or driver is needed for it.
pub fn cuda() -> Option<PathBuf> {
    let named = std::env::var_os("GBENCH_CUDA_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let home = named.or_else(cuda_packages).filter(|home| home.join("include/nvml.h").is_file());
    if home.is_none() {
        skipped("cuda");
    }
    home
}

/// `lib/python3.11/site-packages/nvidia/cu13`, whatever the Python.
fn cuda_packages() -> Option<PathBuf> {
    let pythons = std::fs::read_dir(folder().join("lib")).ok()?;
    let homes = pythons.flatten().map(|python| python.path().join("site-packages/nvidia/cu13"));
    homes.filter(|home| home.is_dir()).max()
}

/// The package of an older compiler, `11.8`, `12.4`, `12.8` or `12.9`: a folder with `lib/libnvrtc.so.*`. `.ci/run tools` installs the
/// first two, `.ci/run compilers` the others, too.
pub fn nvrtc(version: &str) -> Option<PathBuf> {
    let package = folder().join("nvrtc").join(version).join("nvidia/cuda_nvrtc");
    if !package.is_dir() {
        skipped(&format!("nvrtc-{version}"));
        return None;
    }
    Some(package)
}

/// AMD's compiler of kernels at run time, as Debian and ROCm install it: HIP 5.2 has it in the runtime. It needs no card.
pub fn hiprtc() -> Option<PathBuf> {
    let places = ["/usr/lib/x86_64-linux-gnu/libamdhip64.so.5", "/opt/rocm/lib/libhiprtc.so"];
    let found = places.iter().map(PathBuf::from).find(|path| path.exists());
    if found.is_none() {
        goes_without("hiprtc is not installed (Debian's package libamdhip64-5, or ROCm)");
    }
    found
}

/// NVIDIA's own reader of device code: `cuobjdump -res-usage FILE` tells registers, stack and shared memory.
pub fn cuobjdump() -> Option<PathBuf> {
    let program = cuda()?.join("bin/cuobjdump");
    if !program.is_file() {
        skipped("cuda");
        return None;
    }
    Some(program)
}

/// A folder with the driver's own `libcuda.so.1` and `libnvidia-ml.so.1`. As root they make device nodes: a test starts
/// what loads them by [`without_root`].
pub fn driver() -> Option<PathBuf> {
    found("driver/libcuda.so.1", "driver")?;
    Some(folder().join("driver"))
}

/// A command that runs `program` as nobody where the tests run as root, else as it is. `None` where there is no way to that.
pub fn without_root(program: &Path) -> Option<Command> {
    if !nix::unistd::geteuid().is_root() {
        return Some(Command::new(program));
    }
    if Command::new("setpriv").arg("--version").stdout(Stdio::null()).status().is_err() {
        goes_without("there is no setpriv to stop being root with");
        return None;
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
    Some(command)
}

/// A Python with the package `cmarkgfm`: GitHub's own Markdown engine.
pub fn cmark() -> Option<PathBuf> {
    python_with("cmarkgfm")
}

/// A Python with a package: `prometheus_client`, `duckdb`, `chdb`, `pandas`. `.ci/run columns` installs the last three.
pub fn python_with(package: &str) -> Option<PathBuf> {
    let python = found("bin/python3", package)?;
    let program = format!("import {package}");
    let has =
        Command::new(&python).args(["-c", &program]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if has.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    skipped(package);
    None
}

/// What GitHub's engine makes of each text: HTML, raw HTML let through, its extensions on. `None` without [`cmark`].
pub fn rendered(texts: &[String]) -> Option<Vec<String>> {
    const PROGRAM: &str = "import cmarkgfm, json, sys
from cmarkgfm.cmark import Options
texts = json.load(sys.stdin)
html = [cmarkgfm.github_flavored_markdown_to_html(t, options=Options.CMARK_OPT_UNSAFE) for t in texts]
json.dump(html, sys.stdout)";
    let mut python = Command::new(cmark()?);
    let python = python.args(["-c", PROGRAM]).env("PYTHONIOENCODING", "utf-8");
    let mut child = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let input = serde_json::to_vec(texts).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // On a thread of its own: the engine may answer before it has read everything.
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "cmarkgfm fails");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}
