//! Kernels of CUDA sources without `main`: one entry for each whose parameters the gate can provide, measured without host
//! code.

use std::collections::BTreeMap;

use super::code_text::CodeText;
use super::found_kernel::{FoundArgument, FoundKernel, FoundValue};
use super::parameter::{KernelParameter, ParameterWay};
use super::source::{CudaSource, FoundSignature, NoCall};
use crate::benchmark::cuda::SMS;
use crate::discover::findings::{Discovered, Findings, leaf};
use crate::discover::programs::sources::is_program;
use gbench_formats::adapters::{CMakePrograms, SourceTree};
use gbench_model::text::{count, list};
use gbench_model::{Access, DType};

/// Maximum number of proposed entries.
const MAX_KERNELS: usize = 50;
const MAX_NAMED: usize = 3;

/// Runs last: a kernel of a program is measured by that program.
pub(crate) fn add(tree: &dyn SourceTree, cmake: &CMakePrograms, findings: &mut Findings) {
    let mut left_out = LeftOut::default();
    let mut too_many: BTreeMap<String, usize> = BTreeMap::new();
    let mut proposed = 0;
    let sources = tree.files().iter().filter(|path| path.ends_with(".cu") || path.ends_with(".cuh"));
    for path in sources.filter(|path| !findings.claimed.contains(*path)).cloned().collect::<Vec<_>>() {
        let Some(text) = tree.text(&path).filter(|text| text.contains("__global__")) else { continue };
        if is_in_target(cmake, &path, findings) {
            continue;
        }
        let CudaSource { kernels, host } = CudaSource::read(&text);
        if kernels.is_empty() {
            continue;
        }
        if is_program(&CodeText::new(&text).code) {
            left_out.of_programs.note(&path, kernels.len(), String::new());
            continue;
        }
        if let Some(host) = host {
            left_out.of_host.note(&path, kernels.len(), host);
            continue;
        }
        for kernel in kernels {
            match &kernel.parameters {
                Err(why) => left_out.kernels.push((kernel.name, path.clone(), why.clone())),
                Ok(_) if proposed == MAX_KERNELS => *too_many.entry(path.clone()).or_default() += 1,
                Ok(parameters) => {
                    proposed += 1;
                    findings.found.benchmarks.push(entry(&path, &kernel, parameters));
                }
            }
        }
    }
    findings.found.unclear.extend(left_out.sentences());
    if !too_many.is_empty() {
        let files: Vec<String> = too_many.keys().cloned().collect();
        let kernels = count(too_many.values().sum(), "more kernel");
        findings.found.more.push(format!(
            "{kernels} in {}: the first {MAX_KERNELS} are proposed, write more entries like them",
            list(&files, MAX_NAMED)
        ));
    }
}

/// The kernels without an entry.
#[derive(Default)]
struct LeftOut {
    /// Name, file, reason.
    kernels: Vec<(String, String, NoCall)>,
    of_host: LeftFiles,
    of_programs: LeftFiles,
}

/// Files whose kernels have no entry, with what each has that a kernel alone must not have.
#[derive(Default)]
struct LeftFiles {
    kernels: usize,
    files: Vec<(String, String)>,
}

impl LeftFiles {
    fn note(&mut self, path: &str, kernels: usize, has: String) {
        self.kernels += kernels;
        self.files.push((path.to_owned(), has));
    }

    /// How many kernels of which files. `None`: there are none.
    fn subject(&self) -> Option<String> {
        let named = |(path, has): &(String, String)| match has.as_str() {
            "" => path.clone(),
            has => format!("{path} ({has})"),
        };
        let named: Vec<String> = self.files.iter().map(named).collect();
        let are = if self.kernels == 1 { "is" } else { "are" };
        let subject =
            format!("{} of {} {are} not proposed", count(self.kernels, "kernel"), count(named.len(), "file"));
        (!named.is_empty()).then(|| format!("{subject}: {}", list(&named, MAX_NAMED)))
    }
}

impl LeftOut {
    /// One for each reason.
    fn sentences(&self) -> Vec<String> {
        const TRACED: &str = "`harness = \"kernels\"` measures them in any program that launches them";
        const OF_TYPES: [&str; 6] =
            ["<stdint.h>", "<inttypes.h>", "<stddef.h>", "<cstdint>", "<cinttypes>", "<cstddef>"];
        let of_types =
            self.of_host.files.iter().any(|(_, host)| OF_TYPES.iter().any(|header| host.contains(header)));
        let types = if of_types {
            ". Types need no header: `unsigned long long` is `uint64_t`, `int` is `int32_t`"
        } else {
            ""
        };
        let of_host = self.of_host.subject().map(|subject| {
            format!(
                "{subject}. The run-time compiler only accepts device code: put host code between `#ifndef \
                    __CUDACC_RTC__` and `#endif`, or move the kernels to a separate file; or {TRACED}{types}"
            )
        });
        let of_programs = self.of_programs.subject().map(|subject| {
            format!(
                "{subject}. Each file is a program with a `main`: give it an entry with `build`, `command` and `harness \
                    = \"kernels\"`, or move the kernels to a separate file"
            )
        });
        let group = |is: fn(&NoCall) -> bool, plural: &str, next: &str| -> Option<String> {
            let of_group: Vec<_> = self.kernels.iter().filter(|(_, _, why)| is(why)).collect();
            if let [(name, path, why)] = of_group.as_slice() {
                return Some(format!("the kernel `{name}` of {path} is not proposed: it {}", why.why(name)));
            }
            let named = |(name, path, why): &&(String, String, NoCall)| match why {
                NoCall::Argument(why) => format!("`{name}` of {path} (it {why})"),
                _ => format!("`{name}` of {path}"),
            };
            let named: Vec<String> = of_group.iter().map(named).collect();
            let kernels = count(named.len(), "kernel");
            let named_first = list(&named, MAX_NAMED);
            (!named.is_empty())
                .then(|| format!("{kernels} {plural} and are not proposed: {named_first}. {next}"))
        };
        let traced = |start: &str| format!("{start}{TRACED}");
        let first = self.kernels.iter().find(|(_, _, why)| *why == NoCall::Template);
        let first = first.map_or("", |(name, _, _)| name.as_str());
        let groups = [
            group(
                |why| *why == NoCall::Template,
                "are templates",
                &format!("Write an entry with the arguments, such as `entry = \"{first}<float>\"`"),
            ),
            group(
                |why| matches!(why, NoCall::Argument(_)),
                "take an argument that the gate does not make",
                &traced("They need their own program: "),
            ),
            group(
                |why| matches!(why, NoCall::Constant(_)),
                "read constants that are not set",
                "Write an entry that sets them by `data`",
            ),
            group(|why| *why == NoCall::Ambiguous, "have several signatures", "Give each its own name"),
        ];
        groups.into_iter().flatten().chain(of_host).chain(of_programs).collect()
    }
}

fn is_in_target(cmake: &CMakePrograms, path: &str, findings: &Findings) -> bool {
    let Some(Ok(target)) = cmake.program(path) else { return false };
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
