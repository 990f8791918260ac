//! The machine code of all kernels of the suite, made where the compiler is for machines where it is not.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;

use super::compiler::{Source, compile_into};
use super::kernel::support_source;
use super::operator::source;
use super::operators::OPERATORS;
use crate::device_code;
use crate::micro::spec::{Doing, MicroError};
use crate::micro::workload::points;
use crate::model::{Exit, Fault};

/// `gbench-ci __cubins sm_90 FOLDER`: compiles the suite's kernels into a folder for `GBENCH_CUBINS`, and prints what each takes of the
/// device, one line of JSON a kernel.
pub fn main(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> ExitCode {
    let (arch, folder) = (arguments.next(), arguments.next());
    let (Some(arch), Some(folder), None) = (arch, folder, arguments.next()) else {
        eprintln!("gbench-ci __cubins: give an architecture and a folder: gbench-ci __cubins sm_90 cubins/");
        return Exit::Usage.into();
    };
    match compile_suite(&arch.to_string_lossy(), &PathBuf::from(folder)) {
        Ok(lines) => {
            lines.iter().for_each(|line| println!("{line}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            let exit = match &error {
                MicroError::Cuda(error) if error.is_of_machine() => Exit::Machine,
                _ => Exit::Failed,
            };
            let next = "see docs/gpu.md for what the compiler needs";
            eprintln!("gbench-ci __cubins: {}", Fault::at(arch.to_string_lossy(), error, next));
            exit.into()
        }
    }
}

fn compile_suite(arch: &str, folder: &Path) -> Result<Vec<serde_json::Value>, MicroError> {
    fs::create_dir_all(folder).doing("making the folder")?;
    // What it keeps is made anew, whatever the folder holds.
    let folder = folder.canonicalize().doing("opening the folder")?;
    let mut lines = Vec::new();
    for (path, compiled) in compile_into(&folder, &sources()?, arch)? {
        let spills = device_code::spills(&compiled.about.log);
        let read = device_code::read(&compiled.cubin).map_err(|error| super::CudaError::Code {
            kernel: path.display().to_string(),
            what: error.to_string(),
        })?;
        for (name, kernel) in read.into_iter().flat_map(|code| code.kernels) {
            let spilled = spills.get(&name).map(|it| it.store + it.load);
            lines.push(json!({
                "cubin": path, "kernel": name, "compiler": compiled.about.compiler, "sha256": kernel.sha256,
                "registers": kernel.registers, "shared_bytes": kernel.shared_bytes,
                "frame_bytes": kernel.frame_bytes, "spill_bytes": spilled,
            }));
        }
    }
    Ok(lines)
}

/// Every source once, in the order in which cases need them.
fn sources() -> Result<Vec<Source>, MicroError> {
    let mut known = BTreeSet::new();
    let mut sources = vec![support_source()];
    for operator in OPERATORS {
        for point in points(operator.params) {
            let source = source(&operator.case(&point)?);
            if known.insert((source.text.clone(), source.options.clone(), source.entries.clone())) {
                sources.push(source);
            }
        }
    }
    Ok(sources)
}
