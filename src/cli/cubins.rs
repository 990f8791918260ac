//! `gbench-ci __cubins sm_90 FOLDER`: compiles the kernels of the micro suite for machines without a compiler. See docs/gpu.md.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::micro;
use crate::model::{Exit, Fault};

/// Prints what each kernel takes of the device, one line of JSON a kernel.
pub fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let (arch, folder) = (arguments.next(), arguments.next());
    let (Some(arch), Some(folder), None) = (arch, folder, arguments.next()) else {
        let what = "it takes an architecture and a folder";
        let next = "write: gbench-ci __cubins sm_90 cubins/";
        return ended(&Fault::at_flag("__cubins", what, next));
    };
    let arch = arch.to_string_lossy();
    match micro::cuda::cubins::compile_suite(&arch, Path::new(&folder)) {
        Ok(kernels) => {
            kernels.iter().for_each(|kernel| println!("{kernel}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            let exit = if error.is_of_machine() { Exit::Machine } else { Exit::Failed };
            let usual = "see docs/gpu.md for what the compiler needs";
            let next = error.next().unwrap_or_else(|| usual.into());
            ended(&Fault::at(arch, error, next).exits(exit))
        }
    }
}

fn ended(fault: &Fault) -> ExitCode {
    eprintln!("gbench-ci: {fault}");
    fault.exit.into()
}
