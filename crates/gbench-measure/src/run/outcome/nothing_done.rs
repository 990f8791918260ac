//! Detects processes that were timed from outside and ended well, but did nothing: compares their output with messages of
//! programs that decline to run, and their time with the bare start of their interpreter.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::first_line::first_line;
use crate::run::process::executor::{Execution, ExecutionEnd, Executor, Launch};
use gbench_formats::adapters::Harness;
use gbench_model::{NothingMeasured, Params, ProcessEnd, RefusalReason, Stage, Timing};
use gbench_suite::Benchmark;

/// Messages of programs that decline to run and exit with 0, the clearest sign first. Case-insensitive.
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

const MAX_OUTPUT_BYTES: usize = 16 << 10;

/// A process that took less than this many times the bare start of its interpreter did hardly more than start.
const MAX_START_RATIO: f64 = 1.25;

/// Interpreters by prefix of their names, and the arguments that make them do nothing.
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

/// The number of timed starts of an empty program, whose median is used; and the seconds after which no further one is made.
const MAX_STARTS: usize = 3;
const MAX_SECONDS: f64 = 1.0;

#[derive(Clone, Debug)]
pub(crate) struct InterpreterStart {
    argv: Vec<String>,
    seconds: f64,
}

/// The signs of a process that was timed from outside and ended well. `calibrating`: the harness of its program.
pub(crate) fn signs(
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

/// Times the empty program of a benchmark's interpreter, if it has one that was not timed yet.
pub(crate) fn time_start(
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
        // An interpreter that is missing or does not know the flag gives no time.
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

/// The interpreter of a benchmark's script with arguments to do nothing; `None` for other programs.
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
    // `python3.12` and `node20` are interpreters, `shuffle` is not.
    let fits = |known: &str| {
        let rest = name.strip_prefix(known);
        rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
    };
    INTERPRETERS.iter().find(|(known, _)| fits(known)).map(|(_, arguments)| *arguments)
}

fn leaf(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

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
pub(crate) mod tests {
    use super::*;

    pub(crate) fn interpreter(benchmark: &Benchmark) -> Option<Vec<String>> {
        empty_program(benchmark)
    }

    #[test]
    fn n19_every_pattern_is_a_regular_expression() {
        assert_eq!(PATTERNS.len(), REFUSALS.len());
    }
}
