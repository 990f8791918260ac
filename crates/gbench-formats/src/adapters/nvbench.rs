//! NVBench: raw samples of the GPU's time from the files next to its JSON report, else a mean or median.
//! <https://github.com/NVIDIA/nvbench/tree/main/docs>.
//!
//! A case is a benchmark with a value for each of its axes, as in NVBench's name of a state: `copy T=I32 BlockSize=2^8`,
//! without the device if there is only one. The filters repeat the benchmark for each case, followed by its values.

mod names;
mod report;
#[cfg(test)]
mod tests;

use self::names::{DEVICE, FILE};
use super::interface::prelude::*;
use super::source::cpp::{self, Library};

pub(crate) struct Nvbench;

const LIBRARY: Library = Library {
    title: "NVBench",
    headers: &["nvbench/nvbench.cuh"],
    words: &["NVBENCH_BENCH"],
    targets: &["nvbench::main", "nvbench::nvbench"],
    flag: "-lnvbench",
    compiled: |_, _, _| None,
    gpu: true,
};

impl Adapter for Nvbench {
    fn about(&self) -> About {
        About {
            name: "nvbench",
            title: "NVBench",
            language: Language::Cuda,
            lists: Lists::Named,
            filters: true,
            reads: Reads::Samples,
            ..About::PLAIN
        }
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        cpp::detect(tree, &LIBRARY)
    }

    fn recognises(&self, program: &Program) -> bool {
        program.holds("--jsonlist-benches") && program.holds("nv/cold/time/gpu/mean")
    }

    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        Some(Invocation::of(ask.command, ["--jsonlist-benches"]))
    }

    fn read_list(&self, output: &HarnessOutput) -> Result<Vec<CaseName>, ReadError> {
        report::list(output.stdout)
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        let mut more = vec!["--quiet".to_owned(), "--jsonbin".into(), format!("{}/{FILE}", ask.out)];
        // Flags before the first benchmark apply to all.
        let chosen = ["-d", "--device", "--devices"];
        if !ask.command.iter().any(|word| chosen.contains(&word.as_str())) {
            more.extend(["--devices".into(), "0".into()]);
        }
        more.extend(["--min-samples".into(), ask.amount.samples.max(1).to_string()]);
        more.extend(["--min-time".into(), format!("{:.6}", ask.amount.seconds)]);
        // Noise is judged over rounds: the harness must not extend a measurement until its own noise is low.
        more.extend(["--max-noise".into(), "100".into()]);
        for case in ask.cases {
            let (benchmark, axes) = parts(case);
            more.extend(["--benchmark".into(), benchmark.to_owned()]);
            for (axis, value) in axes {
                if axis == DEVICE {
                    more.extend(["--devices".into(), value.to_owned()]);
                    continue;
                }
                let word = match value.strip_prefix("2^") {
                    Some(exponent) => format!("{axis}[pow2]={exponent}"),
                    None => format!("{axis}={value}"),
                };
                more.extend(["--axis".into(), word]);
            }
        }
        Some(Invocation::of(ask.command, more))
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        report::read(output)
    }
}

/// `copy T=I32 Text=a b` is `copy` with `T = I32` and `Text = a b`.
fn parts(native: &str) -> (&str, Vec<(&str, &str)>) {
    // Each axis begins after the blank before its name, and a name contains no blank.
    let starts: Vec<usize> =
        native.match_indices('=').filter_map(|(at, _)| native[..at].rfind(' ')).collect();
    let benchmark = starts.first().map_or(native, |at| &native[..*at]);
    let ends = starts.iter().skip(1).copied().chain([native.len()]);
    let axes = starts.iter().zip(ends).filter_map(|(start, end)| native.get(start + 1..end)?.split_once('='));
    (benchmark, axes.collect())
}
