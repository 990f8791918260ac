//! Compiles all kernels of the suite on a machine with the compiler, for machines without it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::json;

use super::compiler::compile_into;
use super::machine_code::KernelSource;
use super::operator::source;
use super::operators::OPERATORS;
use super::support::support_source;
use crate::spec::{Doing, MicroError};
use crate::workload::points;

/// Compiles the suite's kernels for an architecture into a folder for `GBENCH_CUBINS`. Returns the resource usage of each, one
/// JSON object per kernel. Errors: no compiler, one that does not know the architecture, or the folder cannot be written.
pub fn compile_suite(arch: &str, folder: &Path) -> Result<Vec<serde_json::Value>, MicroError> {
    fs::create_dir_all(folder).doing("making the folder")?;
    // Compiles everything again, whatever the folder contains.
    let folder = folder.canonicalize().doing("opening the folder")?;
    let mut lines = Vec::new();
    for (path, compiled) in compile_into(&folder, &sources()?, arch)? {
        for (name, kernel) in &compiled.code.kernels {
            lines.push(json!({
                "cubin": path, "kernel": name, "compiler": compiled.code.compiler, "sha256": kernel.sha256,
                "registers": kernel.registers, "shared_bytes": kernel.shared_bytes,
                "frame_bytes": kernel.frame_bytes, "spill_bytes": kernel.spill_bytes(),
            }));
        }
    }
    Ok(lines)
}

/// The distinct sources, in the order in which cases need them.
fn sources() -> Result<Vec<KernelSource>, MicroError> {
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
