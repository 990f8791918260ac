//! Any program that launches kernels: it runs unmodified under a tracer, and each kernel is a case, each launch a sample.
//!
//! ```text
//! nsys profile --trace=cuda --cuda-graph-trace=node -o OUT/trace PROGRAM
//! nsys stats --report cuda_gpu_trace --format csv OUT/trace.nsys-rep > OUT/trace.csv
//! ```
//!
//! On AMD `rocprofv3 --kernel-trace` writes the table itself. Both print the GPU's own timestamps of each launch: a tracer
//! slows the host, not the kernel, and traces both sides of a comparison alike.

mod names;
mod report;
mod trace;

use super::interface::prelude::*;

pub(crate) struct Kernels;

/// Exists once the tracer has started the program.
const STARTED: &str = "started";

/// Exists if the program ended well and the tracer left nothing.
const NO_REPORT: &str = "no-report";

/// Messages of `nsys stats`.
const STATS: &str = "stats.err";

/// Traces a program by the tracer that the gate has found.
const SCRIPT: &str = include_str!("kernels/trace.sh");

const INSTALL: &str = "read its messages in the run's logs; install Nsight Systems 2022.1 or later as a whole, or name its \
                       program by GBENCH_NSYS";

impl Adapter for Kernels {
    fn about(&self) -> About {
        About {
            name: "kernels",
            title: "kernels of a program",
            language: Language::Cuda,
            tried: &["2022.4.2", "2023.4.4"],
            example: &["./program"],
            whole: Some(report::WHOLE),
            ..About::PLAIN
        }
    }

    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        self.run(ask)
    }

    fn refusal(&self, output: &HarnessOutput) -> Option<Refusal> {
        let files = output.files;
        let unknown = |name: &str| {
            let said = files.get(STATS).map(String::from_utf8_lossy).unwrap_or_default();
            said.lines().any(|line| line.contains(&format!("'{name}' could not be found")))
        };
        let lack = |cause| Some(Refusal { cause, advice: INSTALL, lack: true });
        if files.get(STARTED).is_none() {
            return lack("the tracer did not start the program");
        }
        if files.get(NO_REPORT).is_some() {
            return lack("Nsight Systems wrote no report: its importer is not installed");
        }
        if unknown("cuda_gpu_trace") && unknown("gputrace") {
            return lack(
                "this version of Nsight Systems has neither of the reports `cuda_gpu_trace` and `gputrace`",
            );
        }
        let is_without_kernels = trace::read(files).is_ok_and(|trace| trace.launches().next().is_none());
        is_without_kernels.then_some(Refusal {
            cause: "it launched no kernel on a GPU",
            advice: "let the program use the GPU. If it does, run it under the tracer by hand: a version that does \
                     not know the card or its driver records nothing",
            lack: false,
        })
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        let words = ["sh", "-c", SCRIPT, "trace", ask.out].map(str::to_owned);
        Some(Invocation::of(&words, ask.command.iter().cloned()))
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        report::readings(&trace::read(output.files)?)
    }
}
