//! Builds the stand-in driver library, once for each kind of driver and test run, and CPU twins of kernels.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::built::built;

const LIBRARY: &str = "libcuda.so.1";

/// The library's path; its folder is what LD_LIBRARY_PATH has to name, and holds `libcuda.so` as well. `cfg` is empty for a present-day
/// driver; see `cuda.rs` for the other.
pub fn library(cfg: &'static str) -> PathBuf {
    let folder = built("fake_cuda", &[&here()], cfg, |folder| {
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
        let output =
            command.arg("-o").arg(folder.join(LIBRARY)).arg(here().join("cuda.rs")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // A program that looks for `libcuda.so` first finds this one, and not the machine's own.
        std::os::unix::fs::symlink(LIBRARY, folder.join("libcuda.so")).unwrap();
    });
    folder.join(LIBRARY)
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
    command.arg("-o").arg(out).args(sources);
    done(&mut command)?;
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
    let program = library.with_file_name(format!("abi-{}", std::process::id()));
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
