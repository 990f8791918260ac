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
pub(super) mod tests {
    use super::*;

    pub(crate) fn interpreter(benchmark: &Benchmark) -> Option<Vec<String>> {
        empty_program(benchmark)
    }

    #[test]
    fn n19_every_pattern_is_a_regular_expression() {
        assert_eq!(PATTERNS.len(), REFUSALS.len());
    }
}
