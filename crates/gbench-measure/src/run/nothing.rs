//! Whether a process that was timed from outside and ended well did anything: its output against the words of programs
//! that decline, its time against the bare start of its interpreter.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::executor::{Execution, ExecutionEnd, Executor, Launch};
use super::lines::first_line;
use gbench_formats::adapters::Harness;
use gbench_model::{NothingMeasured, Params, ProcessEnd, RefusalReason, Stage, Timing};
use gbench_suite::Benchmark;

/// The output of programs that decline to run and end with 0, the clearest sign first. Lower case and upper case are one.
const REFUSALS: [(&str, RefusalReason); 12] = [
    (
        r"\bno (usable |available |compatible |suitable |supported |nvidia |cuda[- ]capable )*(cuda|gpus?)\b",
        RefusalReason::Gpu,
    ),
    (
        r"\b(cuda|gpu|cudnn|nvml|nvidia driver)s? (is |are |was |were )?(not |un)(available|found|supported|detected|enabled|installed)",
        RefusalReason::Gpu,
    ),
    (
        r"\b(requires|needs|need) (a |an |at least one )?(nvidia |cuda[- ]capable )?(cuda|gpu)\b",
        RefusalReason::Gpu,
    ),
    (
        r"not compiled with cuda|no kernel image is available|cuda driver version is insufficient|found no nvidia driver",
        RefusalReason::Gpu,
    ),
    (r"\b(falling back|fall back|fallback) to (the )?cpu\b", RefusalReason::Gpu),
    (r"libcuda\.so|libcudart\.so|nvidia-smi: (command )?not found", RefusalReason::Gpu),
    (r"\b(modulenotfounderror|importerror)\b|no module named|cannot find module", RefusalReason::Module),
    (r"cannot open shared object file|package .* (is not installed|not found)", RefusalReason::Module),
    (
        r"\bno such file or directory\b|\bfile not found\b|\bfilenotfounderror\b|command not found",
        RefusalReason::File,
    ),
    (r"^usage: ", RefusalReason::Usage),
    (r"^(benchmark |test )?skip(ped|ping)?\s*([:(\[.-]|$|because|since)", RefusalReason::Skipped),
    (
        r"\b(not supported|unsupported) on this (machine|platform|device|system)\b|\bnothing to (do|measure|run)\b",
        RefusalReason::Skipped,
    ),
];

static PATTERNS: LazyLock<Vec<(Regex, RefusalReason)>> = LazyLock::new(|| {
    let compiled =
        |(pattern, why): &(&str, RefusalReason)| Some((Regex::new(&format!("(?i){pattern}")).ok()?, *why));
    REFUSALS.iter().filter_map(compiled).collect()
});

/// Bytes of a process's output that are looked at, from its end: a program that declines says little else.
const MAX_OUTPUT_BYTES: usize = 16 << 10;

/// A process within so many times the bare start of its interpreter did hardly more than start.
const MAX_START_RATIO: f64 = 1.25;

/// Interpreters by the beginning of their names, and how they are told to do nothing.
const INTERPRETERS: [(&str, [&str; 2]); 11] = [
    ("python", ["-c", "pass"]),
    ("pypy", ["-c", "pass"]),
    ("node", ["-e", "0"]),
    ("ruby", ["-e", "0"]),
    ("perl", ["-e", "0"]),
    ("julia", ["-e", "0"]),
    ("Rscript", ["-e", "0"]),
    ("php", ["-r", "0;"]),
    ("bash", ["-c", ":"]),
    ("dash", ["-c", ":"]),
    ("sh", ["-c", ":"]),
];

/// Starts of an empty program, of which the median counts; and seconds after which no further one is made.
const MAX_STARTS: usize = 3;
const MAX_SECONDS: f64 = 1.0;

/// How long an interpreter takes to start.
#[derive(Clone, Debug)]
pub(super) struct InterpreterStart {
    /// Program and arguments of the empty program.
    argv: Vec<String>,
    seconds: f64,
}

/// The signs of a process; only of one that was timed from outside and ended well. `calibrating`: the harness of its program.
pub(super) fn signs(
    execution: &Execution,
    benchmark: &Benchmark,
    starts: &[InterpreterStart],
    calibrating: Option<Harness>,
) -> Vec<NothingMeasured> {
    let ended_well =
        execution.end == ExecutionEnd::Process(ProcessEnd::Exit(0)) && execution.stopped.is_none();
    if benchmark.timing != Timing::Process || !ended_well {
        return Vec::new();
    }
    let sign = refused(execution).or_else(|| only_started(execution.seconds, benchmark, starts));
    let calibrates =
        calibrating.map(|it| NothingMeasured::CalibratesItself { harness: it.0.name().to_owned() });
    sign.into_iter().chain(calibrates).collect()
}

fn refused(execution: &Execution) -> Option<NothingMeasured> {
    let output = [&execution.stderr, &execution.stdout].map(|output| output.newest(MAX_OUTPUT_BYTES));
    PATTERNS.iter().find_map(|(pattern, why)| {
        let mut lines = output.iter().flat_map(|text| text.lines());
        let line = lines.find(|line| pattern.is_match(line.trim()))?;
        Some(NothingMeasured::Refused { why: *why, line: first_line(line) })
    })
}

fn only_started(seconds: f64, benchmark: &Benchmark, starts: &[InterpreterStart]) -> Option<NothingMeasured> {
    let argv = empty_program(benchmark)?;
    let start = starts.iter().find(|start| start.argv == argv)?;
    (seconds <= start.seconds * MAX_START_RATIO).then(|| NothingMeasured::OnlyStarted {
        interpreter: argv.first().map(|name| leaf(name).to_owned()).unwrap_or_default(),
        seconds,
        start: start.seconds,
    })
}

/// Times the empty program of a benchmark's interpreter, where it has one that was not timed yet.
pub(super) fn time_start(
    executor: &mut dyn Executor,
    benchmark: &Benchmark,
    starts: &mut Vec<InterpreterStart>,
) {
    let Some(argv) = empty_program(benchmark).filter(|_| benchmark.timing == Timing::Process) else { return };
    if starts.iter().any(|start| start.argv == argv) {
        return;
    }
    let mut times: Vec<f64> = Vec::new();
    while times.len() < MAX_STARTS && times.iter().sum::<f64>() < MAX_SECONDS {
        let launch = Launch::of_step(benchmark, argv.clone(), benchmark.dir.clone(), Stage::Setup, None);
        let execution = executor.execute(&launch);
        // One that is not there, or does not know the flag, tells nothing.
        if execution.end != ExecutionEnd::Process(ProcessEnd::Exit(0)) || execution.stopped.is_some() {
            return;
        }
        times.push(execution.seconds);
    }
    times.sort_by(f64::total_cmp);
    if let Some(seconds) = times.get(times.len() / 2) {
        starts.push(InterpreterStart { argv, seconds: *seconds });
    }
}

/// The interpreter of a benchmark's program, told to do nothing; none for a program that is no script.
fn empty_program(benchmark: &Benchmark) -> Option<Vec<String>> {
    let argv = benchmark.argv(benchmark.points.first().unwrap_or(&Params::new()), &[]);
    let words = without_env(&argv);
    let program = words.first()?;
    let interpreter = match arguments_of(leaf(program)) {
        Some(_) => program.clone(),
        None => shebang(&benchmark.dir.join(program))?,
    };
    let arguments = arguments_of(leaf(&interpreter))?;
    Some(std::iter::once(interpreter).chain(arguments.map(str::to_owned)).collect())
}

fn arguments_of(name: &str) -> Option<[&'static str; 2]> {
    // `python3.12` and `node20` are the interpreters, `shuffle` is none.
    let fits = |known: &str| {
        let rest = name.strip_prefix(known);
        rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
    };
    INTERPRETERS.iter().find(|(known, _)| fits(known)).map(|(_, arguments)| *arguments)
}

fn leaf(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The words behind `env`, its flags and its variables.
fn without_env(argv: &[String]) -> &[String] {
    match argv.first() {
        Some(first) if leaf(first) == "env" => {
            let rest = &argv[1..];
            let skipped = rest.iter().take_while(|word| word.starts_with('-') || word.contains('=')).count();
            &rest[skipped..]
        }
        _ => argv,
    }
}

/// The interpreter that a script names in its first line.
fn shebang(path: &Path) -> Option<String> {
    if !path.is_file() {
        return None;
    }
    let mut line = Vec::new();
    BufReader::new(File::open(path).ok()?.take(256)).read_until(b'\n', &mut line).ok()?;
    let line = String::from_utf8(line).ok()?;
    let words: Vec<String> = line.strip_prefix("#!")?.split_whitespace().map(str::to_owned).collect();
    without_env(&words).first().cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::io::capture::Capture;
    use gbench_suite::Action;

    fn printed(text: &str) -> Option<(RefusalReason, String)> {
        let mut execution = Execution::not_started(String::new());
        execution.end = ExecutionEnd::Process(ProcessEnd::Exit(0));
        execution.stdout = Capture::new(1 << 16);
        execution.stdout.push(text.as_bytes());
        match refused(&execution)? {
            NothingMeasured::Refused { why, line } => Some((why, line)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn n19_programs_that_decline_are_known_by_what_they_say() {
        let known = [
            ("no CUDA", RefusalReason::Gpu),
            ("CUDA is not available, exiting", RefusalReason::Gpu),
            ("Error: no CUDA-capable device is detected", RefusalReason::Gpu),
            ("No GPU found", RefusalReason::Gpu),
            ("This benchmark requires a GPU.", RefusalReason::Gpu),
            ("AssertionError: Torch not compiled with CUDA enabled", RefusalReason::Gpu),
            ("warning: falling back to CPU", RefusalReason::Gpu),
            ("No module named 'torch'", RefusalReason::Module),
            (
                "error while loading shared libraries: libx.so: cannot open shared object file",
                RefusalReason::Module,
            ),
            ("cannot open data/big.bin: No such file or directory", RefusalReason::File),
            ("usage: bench.py [-h] --size N", RefusalReason::Usage),
            ("SKIPPED (needs 2 nodes)", RefusalReason::Skipped),
        ];
        for (line, why) in known {
            let said = printed(&format!("starting\n{line}\n"));
            assert_eq!(said, Some((why, line.to_owned())), "{line}");
        }
        assert_eq!(PATTERNS.len(), REFUSALS.len(), "every pattern compiles");
    }

    #[test]
    fn n19_programs_that_measure_are_left_alone() {
        for line in [
            "GPU usage: 93 %",
            "cuda:0 NVIDIA H100: 12.3 ms",
            "using CUDA 12.4",
            "skipped 3 warm-up iterations of 10",
            "skipping ahead to step 4",
            "memory usage: 3 GB",
            "no errors",
            "import took 0.3 s",
        ] {
            assert_eq!(printed(line), None, "{line}");
        }
    }

    #[test]
    fn n19_the_interpreter_is_found_behind_env_and_in_the_first_line() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("bench"), "#!/usr/bin/env python3\nprint()\n").unwrap();
        std::fs::write(folder.path().join("program"), b"\x7fELF").unwrap();
        let empty = |words: &[&str]| {
            let action = Action::Command(words.iter().map(|word| word.to_string()).collect());
            let benchmark = Benchmark::new("s/x".parse().unwrap(), action, folder.path().into());
            empty_program(&benchmark).map(|argv| argv.join(" "))
        };
        assert_eq!(empty(&["python3.12", "b.py"]).as_deref(), Some("python3.12 -c pass"));
        assert_eq!(empty(&["/usr/bin/env", "A=1", "python3", "b.py"]).as_deref(), Some("python3 -c pass"));
        assert_eq!(empty(&["./bench"]).as_deref(), Some("python3 -c pass"));
        for none in ["./program", "shuffle", "nodes", "./missing"] {
            assert_eq!(empty(&[none]), None, "{none}");
        }
    }
}
