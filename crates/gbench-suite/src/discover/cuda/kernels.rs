//! Kernels of CUDA sources without `main`: one entry for each whose parameters the gate can provide, measured without host
//! code.

use std::collections::BTreeMap;

use super::code_text::CodeText;
use super::found_kernel::{FoundArgument, FoundKernel, FoundValue};
use super::parameter::{KernelParameter, ParameterWay};
use super::source::{CudaSource, FoundSignature};
use crate::benchmark::cuda::SMS;
use crate::discover::findings::{Discovered, Findings, leaf};
use crate::discover::programs::sources::is_program;
use gbench_formats::adapters::{SourceTree, cmake_program};
use gbench_model::text::{count, list};
use gbench_model::{Access, DType};

/// Maximum number of proposed entries, and of sentences about the rest.
const MAX_KERNELS: usize = 50;
const MAX_SAID: usize = 8;
const MAX_NAMED: usize = 5;

/// Runs last: a kernel of a program is measured by that program.
pub(crate) fn add(tree: &dyn SourceTree, findings: &mut Findings) {
    // Sources of programs come last: most are meant to be that.
    let (mut left_out, mut programs): (Vec<String>, Vec<String>) = Default::default();
    let mut too_many: BTreeMap<String, usize> = BTreeMap::new();
    let mut proposed = 0;
    let sources = tree.files().iter().filter(|path| path.ends_with(".cu") || path.ends_with(".cuh"));
    for path in sources.filter(|path| !findings.claimed.contains(*path)).cloned().collect::<Vec<_>>() {
        let Some(text) = tree.text(&path).filter(|text| text.contains("__global__")) else { continue };
        if is_in_target(tree, &path, findings) {
            continue;
        }
        let CudaSource { kernels, host } = CudaSource::read(&text);
        let is_program = is_program(&CodeText::new(&text).code);
        let why = if is_program { Some(PROGRAM.to_owned()) } else { host.as_deref().map(why_host) };
        if let (Some(why), false) = (&why, kernels.is_empty()) {
            let names: Vec<String> = kernels.iter().map(|kernel| format!("`{}`", kernel.name)).collect();
            let said = if is_program { &mut programs } else { &mut left_out };
            said.push(format!(
                "{} of {path} {} not proposed ({}): {why}",
                count(names.len(), "kernel"),
                if names.len() == 1 { "is" } else { "are" },
                list(&names, MAX_NAMED),
            ));
            continue;
        }
        for kernel in kernels {
            match &kernel.parameters {
                Err(why) => {
                    left_out
                        .push(format!("the kernel `{}` of {path} is not proposed: it {why}", kernel.name));
                }
                Ok(_) if proposed == MAX_KERNELS => *too_many.entry(path.clone()).or_default() += 1,
                Ok(parameters) => {
                    proposed += 1;
                    findings.found.benchmarks.push(entry(&path, &kernel, parameters));
                }
            }
        }
    }
    left_out.append(&mut programs);
    findings.found.unclear.extend(left_out.iter().take(MAX_SAID).cloned());
    if left_out.len() > MAX_SAID {
        let more = count(left_out.len() - MAX_SAID, "more sentence");
        findings.found.more.push(format!("{more} about CUDA kernels without an entry"));
    }
    if !too_many.is_empty() {
        let files: Vec<String> = too_many.keys().cloned().collect();
        let kernels = count(too_many.values().sum(), "more kernel");
        findings.found.more.push(format!(
            "{kernels} in {}: the first {MAX_KERNELS} are proposed, write more entries like them",
            list(&files, MAX_NAMED)
        ));
    }
}

const PROGRAM: &str = "the file is a program with a `main`. Give the program an entry with `build`, \
    `command` and `harness = \"kernels\"`, or move the kernels to a separate file";

fn why_host(host: &str) -> String {
    const OF_TYPES: [&str; 6] =
        ["<stdint.h>", "<inttypes.h>", "<stddef.h>", "<cstdint>", "<cinttypes>", "<cstddef>"];
    let types = if OF_TYPES.iter().any(|header| host.contains(header)) {
        ". Types need no header: `unsigned long long` is `uint64_t`, `int` is `int32_t`"
    } else {
        ""
    };
    format!(
        "{host}, and the run-time compiler only accepts device code. Put host code between `#ifndef \
            __CUDACC_RTC__` and `#endif`, or move the kernels to a separate file{types}"
    )
}

fn is_in_target(tree: &dyn SourceTree, path: &str, findings: &Findings) -> bool {
    let Some(Ok(target)) = cmake_program(tree, path) else { return false };
    target.command.first().is_some_and(|program| findings.starts(program.trim_start_matches("./")))
}

fn entry(path: &str, kernel: &FoundSignature, parameters: &[KernelParameter]) -> Discovered {
    let found = proposal(path, kernel, parameters);
    Discovered {
        name: leaf(&kernel.name.replace("::", "/")).to_owned(),
        gpu: true,
        why: format!("{path} has the kernel `{}` and no main function", kernel.name),
        cuda: Some(found),
        ..Discovered::default()
    }
}

fn proposal(path: &str, kernel: &FoundSignature, parameters: &[KernelParameter]) -> FoundKernel {
    // About a million elements, in as many axes as the body uses; blocks of 256 or 512 threads.
    let (size, edge, length): (u64, u32, &str) = match kernel.axes {
        1 => (1 << 20, 256, "n"),
        2 => (1 << 10, 16, "n * n"),
        _ => (1 << 7, 8, "n * n * n"),
    };
    let blocks = format!("(n + {}) // {edge}", edge - 1);
    // All blocks of a cooperative launch have to fit on the card: one on each multiprocessor does.
    let mut grid = vec![blocks; kernel.axes];
    if kernel.cooperative {
        grid.fill("1".into());
        grid[0] = SMS.into();
    }
    let block = vec![edge; kernel.axes];
    let threads: u32 = block.iter().product();
    let length_of = |lanes: u32| if lanes == 1 { length.to_owned() } else { format!("{lanes} * {length}") };
    let whole = |dtype: DType| !dtype.is_floating();
    let value = |it: &KernelParameter| match it.way {
        ParameterWay::Reads => FoundValue::Buffer { access: Access::Input, length: length_of(it.lanes) },
        ParameterWay::Writes => {
            FoundValue::Buffer { access: Access::InputOutput, length: length_of(it.lanes) }
        }
        // The size does not fit the type: a flag, a byte.
        ParameterWay::Value if matches!(it.dtype, DType::I8 | DType::U8 | DType::Bool) => {
            FoundValue::Number(1.0)
        }
        ParameterWay::Value if whole(it.dtype) => FoundValue::Size,
        ParameterWay::Value => FoundValue::Number(1.5),
    };
    let argument =
        |it: &KernelParameter| FoundArgument { name: it.name.clone(), dtype: it.dtype, value: value(it) };
    FoundKernel {
        file: path.to_owned(),
        entry: kernel.name.clone(),
        size,
        grid,
        block,
        shared: kernel.shared.map(|bytes| bytes * threads),
        cooperative: kernel.cooperative,
        arguments: parameters.iter().map(argument).collect(),
    }
}
