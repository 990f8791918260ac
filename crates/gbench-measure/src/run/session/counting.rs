//! Counts the instructions of one execution of a case, in separate processes after the timed one of its side, in the same
//! slot.
//!
//! ```text
//! instructions of an execution = (I_large - I_small) / (n_large - n_small)
//! ```
//!
//! `I` is the count of a whole process and `n` how often it ran the benchmarked code, as reported by its harness. The start,
//! loading of libraries and the harness's own analysis are the same in both processes, and cancel. If the difference makes no
//! sense, or a process fails, there is no number: the case keeps its time, and the record contains the reason.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::launcher::Launcher;
use crate::run::harness::harness_process;
use crate::run::harness::invocation::{
    SLACK, command, files_below, invoke, native, read, start_directly, with_folder,
};
use crate::run::outcome::classify::signal_name;
use crate::run::process::environment;
use crate::run::process::executor::{Execution, ExecutionEnd};
use crate::run::record::case_record::CaseParts;
use gbench_formats::adapters::{
    self, Adapter, Amount, CaseRequest, End, Harness, MetricReading, Reading, wrapped,
};
use gbench_host::supervise::{self, COUNT_ARGUMENT, COUNT_FILE, CountReport, CountedEvent};
use gbench_model::{
    Better, CYCLES, CounterState, Counting, CutShort, Fault, INSTRUCTIONS, ProcessEnd, Result, Stage,
};
use gbench_suite::Benchmark;
use gbench_suite::plan::PlannedCase;

/// Seconds of measuring in the two processes: far enough apart that differences in the start are small compared with the work.
/// Under Valgrind, the start alone takes longer than either.
const SMALL: f64 = 0.01;
const LARGE: f64 = 0.3;
/// If both did the same, as with a long case, a third process gets this many times the seconds that the last one took.
const FURTHER: f64 = 3.0;
const SIMULATED: f64 = 50.0;

#[derive(Default)]
struct CaseCount {
    metrics: Vec<MetricReading>,
    warning: Option<String>,
}

enum Tool {
    Perf,
    Valgrind(PathBuf),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Executed {
    executions: f64,
    instructions: f64,
    cycles: Option<f64>,
    /// The counters were active all the time, so that nothing is estimated.
    whole: bool,
}

enum Stop {
    /// A clause that follows "its instructions are not counted".
    NoCount(String),
    CutShort(CutShort),
    Fault(Fault),
}

impl<S: Into<String>> From<S> for Stop {
    fn from(why: S) -> Self {
        Stop::NoCount(why.into())
    }
}

type Log<'l> = &'l mut dyn FnMut(&Execution) -> Result<()>;

/// [`harness_process::measure`], then counts an execution of each case if the suite asks for it, and adds the counts to the results.
/// `counted`: by case, whether that is wanted now. `log` also receives failed counting processes.
pub(crate) fn measure(
    launcher: &mut Launcher<'_>,
    cases: &[&PlannedCase],
    processes: &[u32],
    shared: bool,
    counted: impl Fn(usize) -> bool,
    log: &mut dyn FnMut(&Execution, &str) -> Result<()>,
) -> Result<CaseParts> {
    let mut all = harness_process::measure(launcher, cases, processes, shared, log)?;
    for (at, part) in all.parts.iter_mut().enumerate().filter(|(at, _)| counted(*at)) {
        let Some((execution, context)) = part.as_mut().filter(|_| all.ended.is_none()) else { continue };
        let Some(Ok([reading])) = execution.readings.as_mut().map(|it| it.as_deref_mut()) else { continue };
        let mark = if cases.len() == 1 { ".count".to_owned() } else { format!(".{at}.count") };
        match count_case(launcher, cases[at], context.process, reading, &mut |execution| {
            log(execution, &mark)
        }) {
            Ok(CaseCount { metrics, warning }) => {
                reading.metrics.extend(metrics);
                execution.warning = warning;
            }
            Err(Stop::NoCount(why)) => {
                execution.warning = Some(format!("its instructions are not counted: {why}"));
            }
            Err(Stop::CutShort(ended)) => all.ended = Some(ended),
            Err(Stop::Fault(fault)) => return Err(fault),
        }
    }
    Ok(all)
}

fn count_case(
    launcher: &mut Launcher<'_>,
    case: &PlannedCase,
    process: u32,
    reading: &Reading,
    log: Log,
) -> std::result::Result<CaseCount, Stop> {
    let benchmark = &case.benchmark;
    let counting = benchmark.settings.count.value;
    let harness = benchmark.harness.as_ref().and_then(|entry| entry.harness);
    // Counts from the harness itself take precedence.
    let counts_itself = reading.metrics.iter().any(|metric| metric.name == INSTRUCTIONS);
    let wanted = counting != Counting::Off && reading.end == End::Measured && !counts_itself;
    let Some(harness) = harness.filter(|_| wanted) else { return Ok(CaseCount::default()) };
    let tool = tool(counting, benchmark, harness)?;
    CountRun { launcher, tool, case, process, adapter: harness.0 }.slope(log)
}

/// The tool for counting a benchmark. Errors: no tool is available for it.
fn tool(counting: Counting, benchmark: &Benchmark, harness: Harness) -> std::result::Result<Tool, Stop> {
    const INSTEAD: &str = "`count = \"valgrind\"` counts without them";
    if !harness.counts() {
        let title = harness.0.about().title;
        return Err(format!("executions of {title} cannot be counted; remove `count`").into());
    }
    if counting == Counting::Valgrind {
        let found = on_path(benchmark, "valgrind").map(Tool::Valgrind);
        return found.ok_or_else(|| "valgrind is not on the PATH; install it, or remove `count`".into());
    }
    match supervise::instruction_counter() {
        CounterState::Works => Ok(Tool::Perf),
        CounterState::Unsupported => {
            Err(format!("this machine has no counters of them, as most virtual ones; {INSTEAD}").into())
        }
        CounterState::Refused => Err(format!(
            "the kernel refuses its counters of them; `gbench-ci doctor` says what to set, and {INSTEAD}"
        )
        .into()),
    }
}

fn on_path(benchmark: &Benchmark, name: &str) -> Option<PathBuf> {
    let env = environment::of_benchmark(benchmark);
    let (_, path) = env.iter().rev().find(|(variable, _)| variable == "PATH")?;
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

struct CountRun<'l, 'h, 'c> {
    launcher: &'l mut Launcher<'h>,
    tool: Tool,
    case: &'c PlannedCase,
    process: u32,
    adapter: &'static dyn Adapter,
}

impl CountRun<'_, '_, '_> {
    /// The instructions per execution, from two processes, or a third if these did the same.
    fn slope(mut self, log: Log) -> std::result::Result<CaseCount, Stop> {
        let (small, _) = self.executed(SMALL, log)?;
        let (mut large, seconds) = self.executed(LARGE, log)?;
        if large.executions <= small.executions {
            (large, _) = self.executed((FURTHER * seconds).max(FURTHER * LARGE), log)?;
        }
        slope_of(small, large)
    }

    fn executed(&mut self, seconds: f64, log: Log) -> std::result::Result<(Executed, f64), Stop> {
        let mut found = Err("no folder for what is counted can be made".into());
        let execution = with_folder(|out| {
            let execution;
            (execution, found) = self.process(seconds, out);
            execution
        });
        if let Some(ended) = execution.cut_short() {
            return Err(Stop::CutShort(ended));
        }
        if let Some(misdeed) = execution.misdeed() {
            found = Err(format!("a counting process cannot be trusted: {misdeed}").into());
        }
        if found.is_err() {
            log(&execution).map_err(Stop::Fault)?;
        }
        found.map(|found| (found, execution.seconds))
    }

    fn process(&mut self, seconds: f64, out: &Path) -> (Execution, std::result::Result<Executed, Stop>) {
        let counts = out.with_file_name("counts");
        let not_started = |why: String| (Execution::not_started(why.clone()), Err(why.into()));
        if let Err(error) = fs::create_dir(&counts) {
            return not_started(format!("no folder for what is counted can be made: {error}"));
        }
        let benchmark = &self.case.benchmark;
        let (command, native) = (command(benchmark), native(self.case).unwrap_or_default());
        let amount = Amount { seconds, warmup: 0.0, samples: 1 };
        let (cases, out_text) = ([native], out.to_string_lossy());
        let ask = CaseRequest { command: &command, cases: &cases, out: &out_text, amount };
        let Some(invocation) = self.adapter.count(&ask) else {
            return not_started("its harness has no words for it".into());
        };
        let words = self.words(&counts);
        if words.iter().any(|word| word.contains(char::is_whitespace)) {
            return not_started(
                "the folder for temporary files or that of a program has a blank in its path; set `TMPDIR`"
                    .into(),
            );
        }
        let mut launch = self.launcher.launch(self.case, self.process, None, &[], false);
        start_directly(&mut launch, benchmark);
        invoke(&mut launch, wrapped(invocation, &words), out);
        launch.allow(&counts);
        let slower = match self.tool {
            Tool::Perf => 1.0,
            Tool::Valgrind(_) => {
                // It needs far more address space than the program.
                launch.memory_limit = 0;
                SIMULATED
            }
        };
        if let Some(deadline) = launch.stages.deadlines.get_mut(&Stage::Measure) {
            deadline.value = slower * (deadline.value + SLACK * seconds);
        }
        let execution = self.launcher.session.executor.execute(&launch);
        let found = self.found(&execution, out, &counts, native);
        (execution, found)
    }

    fn words(&self, counts: &Path) -> Vec<String> {
        let folder = counts.to_string_lossy();
        match &self.tool {
            Tool::Perf => {
                let events = [CountedEvent::Instructions, CountedEvent::Cycles].map(|event| event.into_str());
                let binary = self.launcher.session.binary.to_string_lossy().into_owned();
                vec![binary, COUNT_ARGUMENT.into(), folder.into_owned(), events.join(",")]
            }
            // Without cache simulation it only counts instructions, as fast as any such tool of Valgrind.
            Tool::Valgrind(program) => vec![
                program.to_string_lossy().into_owned(),
                "--tool=cachegrind".into(),
                "--cache-sim=no".into(),
                "--quiet".into(),
                "--trace-children=yes".into(),
                format!("--cachegrind-out-file={folder}/{COUNT_FILE}%p"),
            ],
        }
    }

    fn found(
        &self,
        execution: &Execution,
        out: &Path,
        counts: &Path,
        native: &str,
    ) -> std::result::Result<Executed, Stop> {
        let unread = |error: io::Error| Stop::NoCount(format!("what it wrote cannot be read: {error}"));
        // Before its end is checked: a refused program was never started.
        let counted = files_below(counts).map_err(unread)?;
        let totals = totals(counted.0.values().map(Vec::as_slice), &self.tool)?;
        match &execution.end {
            _ if execution.stopped.is_some() => {
                return Err("a counting process took too long and was ended".into());
            }
            ExecutionEnd::Process(ProcessEnd::Exit(0)) => {}
            ExecutionEnd::Process(ProcessEnd::Exit(code)) => {
                return Err(format!("a counting process ended with exit code {code}; {LOOK}").into());
            }
            ExecutionEnd::Process(ProcessEnd::Signal(signal)) => {
                return Err(
                    format!("a counting process was ended by {}; {LOOK}", signal_name(*signal)).into()
                );
            }
            ExecutionEnd::NotStarted { cause, .. } => {
                return Err(format!("a counting process could not be started: {cause}").into());
            }
            ExecutionEnd::SupervisorDied => {
                return Err("the supervisor of a counting process was killed".into());
            }
        }
        let readings = read(execution, out, |output| adapters::read(self.adapter, output))
            .map_err(|error| format!("what a counting process wrote cannot be read: {error}"))?;
        let reading = readings.into_iter().find(|reading| reading.case.native == native);
        let executions = reading.and_then(|reading| reading.iterations);
        let executions = executions.ok_or("its harness does not tell how often it ran the code")?;
        let totals = totals.ok_or_else(|| Stop::from(format!("a counting process left no count; {LOOK}")))?;
        Ok(Executed { executions, ..totals })
    }
}

const LOOK: &str = "its log ends in `.count`";

/// The sum over all processes of the program; `None` if none left a count. Errors: the kernel refused; a file does not come
/// from the tool.
fn totals<'f>(
    files: impl Iterator<Item = &'f [u8]>,
    tool: &Tool,
) -> std::result::Result<Option<Executed>, Stop> {
    let mut sum: Option<Executed> = None;
    for file in files {
        let one = match tool {
            Tool::Perf => of_perf(file)?,
            Tool::Valgrind(_) => of_cachegrind(file).ok_or("what Valgrind wrote has no total")?,
        };
        let before =
            sum.unwrap_or(Executed { executions: 0.0, instructions: 0.0, cycles: None, whole: true });
        sum = Some(Executed {
            executions: 0.0,
            instructions: before.instructions + one.instructions,
            cycles: one.cycles.map(|cycles| cycles + before.cycles.unwrap_or(0.0)),
            whole: before.whole && one.whole,
        });
    }
    Ok(sum)
}

/// `summary: 89355870`, or `summary: 89355870 12 3` with the caches; the first number is instructions.
fn of_cachegrind(file: &[u8]) -> Option<Executed> {
    let text = String::from_utf8_lossy(file);
    let line = text.lines().rev().find_map(|line| line.strip_prefix("summary:"))?;
    let instructions = line.split_whitespace().next()?.parse::<u64>().ok()? as f64;
    Some(Executed { executions: 0.0, instructions, cycles: None, whole: true })
}

fn of_perf(file: &[u8]) -> std::result::Result<Executed, Stop> {
    let report: CountReport = serde_json::from_slice(file)
        .map_err(|error| Stop::NoCount(format!("what the kernel counted cannot be read: {error}")))?;
    let CountReport::Counted(counts) = report else {
        return Err("the kernel refuses to count the benchmark's process".into());
    };
    let of = |event: CountedEvent| counts.iter().find(|count| count.event == event);
    let instructions = of(CountedEvent::Instructions).ok_or("the kernel did not count them")?;
    let scaled = |count: &supervise::Count| {
        let share = count.running as f64 / count.enabled.max(1) as f64;
        count.value as f64 / if share > 0.0 { share } else { 1.0 }
    };
    Ok(Executed {
        executions: 0.0,
        instructions: scaled(instructions),
        cycles: of(CountedEvent::Cycles).map(scaled),
        whole: counts.iter().all(supervise::Count::is_whole),
    })
}

fn slope_of(small: Executed, large: Executed) -> std::result::Result<CaseCount, Stop> {
    let more = large.executions - small.executions;
    if more.is_nan() || more <= 0.0 {
        return Err("its harness ran the code no more often for more time".into());
    }
    let slope =
        |small: f64, large: f64| Some((large - small) / more).filter(|it| it.is_finite() && *it > 0.0);
    let instructions = slope(small.instructions, large.instructions)
        .ok_or("a process that ran the code more often executed no more instructions")?;
    let metric = |name: &str, value: f64, judged: bool| MetricReading {
        name: name.into(),
        unit: name.into(),
        better: Some(Better::Lower),
        values: vec![value],
        summary: None,
        judged,
    };
    let whole = small.whole && large.whole;
    let cycles = small.cycles.zip(large.cycles).and_then(|(small, large)| slope(small, large));
    let mut metrics = vec![metric(INSTRUCTIONS, instructions, whole)];
    metrics.extend(cycles.map(|cycles| metric(CYCLES, cycles, false)));
    let shared = "its instructions are an estimate and not judged: the processor's counters were shared with other work";
    Ok(CaseCount { metrics, warning: (!whole).then(|| shared.into()) })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use case_files::Given;

    /// Input: executions and instructions of two processes, and optionally a report of `perf` for the first.
    pub(crate) fn slope(given: &Given) -> String {
        let text = given.text();
        let numbers: Vec<f64> = text.split_whitespace().map(|it| it.parse().unwrap()).collect();
        let [small, large] = [0, 2].map(|at| {
            let (executions, instructions) = (numbers[at], numbers[at + 1]);
            Executed { executions, instructions, cycles: Some(2.0 * instructions), whole: true }
        });
        let small = match given.get("perf").map(|report| of_perf(report.as_bytes())) {
            None => Ok(small),
            Some(counted) => counted.map(|it| Executed { executions: small.executions, ..it }),
        };
        match small.and_then(|small| slope_of(small, large)) {
            Ok(CaseCount { metrics, warning }) => {
                let of = |it: MetricReading| format!("{} {:?}, judged {}; ", it.name, it.values, it.judged);
                metrics.into_iter().map(of).collect::<String>() + &format!("{warning:?}")
            }
            Err(Stop::NoCount(why)) => why,
            Err(_) => panic!("nothing can stop it"),
        }
    }

    #[test]
    fn all_processes_of_the_program_are_summed() {
        let files: [&[u8]; 2] = [b"desc: x\nfl=a\nfn=b\n1 2\nsummary: 120\n", b"summary: 80 1 2\n"];
        let tool = Tool::Valgrind("valgrind".into());
        let sum = totals(files.into_iter(), &tool).ok().unwrap().unwrap();
        assert_eq!((sum.instructions, sum.cycles), (200.0, None));
        assert!(totals(std::iter::empty(), &tool).ok().unwrap().is_none());
        assert!(totals([&b"cut of"[..]].into_iter(), &tool).is_err());
    }
}
