//! Builds the stand-in driver library, once for each kind of driver and test run, and CPU twins of kernels.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock};

/// The library's path; its folder is what LD_LIBRARY_PATH has to name, and holds `libcuda.so` as well. `cfg` is empty for a present-day
/// driver; see `cuda.rs` for the other.
pub fn library(cfg: &'static str) -> PathBuf {
    static BUILT: Mutex<BTreeMap<&str, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap();
    if let Some(path) = built.get(cfg) {
        return path.clone();
    }
    let own = folder().join(if cfg.is_empty() { "present" } else { cfg });
    std::fs::create_dir_all(&own).unwrap();
    let path = own.join("libcuda.so.1");
    // A neighbour of the cargo that runs the tests: the same toolchain, also where several are installed.
    let neighbour = std::env::var_os("CARGO").map(|cargo| PathBuf::from(cargo).with_file_name("rustc"));
    let rustc = neighbour.filter(|rustc| rustc.exists()).unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "fake_cuda"]);
    command.args(["-Cpanic=abort", "-Cdebuginfo=0", "-Clink-arg=-Wl,-soname,libcuda.so.1"]);
    if !cfg.is_empty() {
        // What only the functions need that it leaves out is left over.
        command.args(["--cfg", cfg, "-Adead_code", "-Aunused_imports"]);
    }
    // Under a name of its own first: another test program may have the library open.
    let new = own.join(format!("libcuda.so.{}", std::process::id()));
    let output = command.arg("-o").arg(&new).arg(here().join("cuda.rs")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&new, &path).unwrap();
    // A program that looks for `libcuda.so` first finds this one, and not the machine's own.
    let short = own.join("libcuda.so");
    if !short.exists() {
        std::os::unix::fs::symlink("libcuda.so.1", &short).unwrap();
    }
    built.insert(cfg, path.clone());
    path
}

/// Compiles the CPU twins of kernels into one library. `sources`: `.cu` files that name their twins by `GB_TWIN`. Errors: what the compiler
/// says, or that there is none.
pub fn twins(sources: &[&Path], out: &Path) -> Result<PathBuf, String> {
    twins_of(sources, &[], out)
}

/// The same with options of the compiler: `-DGB_DTYPE_F16` for the kernels of the micro suite, whose element type it gives.
pub fn twins_of(sources: &[&Path], options: &[&str], out: &Path) -> Result<PathBuf, String> {
    let mut command = compiler();
    command.args(["-O2", "-std=c++17", "-shared", "-fPIC", "-DGB_CPU"]).args(options);
    command.arg("-I").arg(here().join("shim")).args(["-x", "c++", "-include", "gb_cpu.h"]);
    // Under a name of its own first: another test program may have the library open.
    let new = out.with_extension(format!("so.{}", std::process::id()));
    command.arg("-o").arg(&new).args(sources);
    done(&mut command)?;
    std::fs::rename(&new, out).map_err(|error| format!("{}: {error}", out.display()))?;
    Ok(out.to_owned())
}

/// The twins of a user's kernels, whose file does not name them: an `extern "C"` kernel by its name, another as
/// `(name in the cubin, name in the source)`. The file that does is written beside `out`.
pub fn twins_of_kernels(
    source: &Path,
    kernels: &[(&str, &str)],
    options: &[&str],
    out: &Path,
) -> Result<PathBuf, String> {
    let lines = kernels.iter().map(|(symbol, name)| format!("GB_TWIN_AS({symbol}, {name})\n"));
    let text = format!("#include \"{}\"\n{}", source.display(), lines.collect::<String>());
    let named = out.with_extension("twins.cu");
    std::fs::write(&named, text).map_err(|error| error.to_string())?;
    twins_of(&[&named], options, out)
}

/// Holds the functions against NVIDIA's `cuda.h` in a folder of headers. Errors: what differs.
pub fn compare_with_header(include: &Path) -> Result<String, String> {
    let library = library("");
    let program = folder().join("abi");
    let mut command = compiler();
    command.arg("-std=c++17").arg("-I").arg(include).arg(here().join("abi.cpp"));
    command.arg("-o").arg(&program).arg(&library);
    done(&mut command)?;
    let mut run = Command::new(&program);
    run.env_remove("FAKE_CUDA").env_remove("FAKE_CUDA_FILE").env_remove("CUDA_VISIBLE_DEVICES");
    run.env("LD_LIBRARY_PATH", library.parent().unwrap());
    Ok(String::from_utf8_lossy(&done(&mut run)?.stdout).into_owned())
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_cuda")
}

fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    // Below the target folder, since nothing removes a temporary folder at the end of a test run.
    FOLDER.get_or_init(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("fake_cuda"))
}

fn compiler() -> Command {
    Command::new(std::env::var_os("CXX").unwrap_or_else(|| "c++".into()))
}

fn done(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
    Err(format!("{command:?}: {}\n{said}", output.status))
}

mod tests;
