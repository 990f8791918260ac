//! Processes of the Python driver: one interpreter imports once and measures many modules; its messages are split by case.
//!
//! A case that ends the process (a crash, `os._exit`, a deadline) only costs itself. The cases not reached get another
//! process. A case that crashed among others is tried once more alone, because an earlier case may have caused it.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::interpreter::find_interpreter;
use crate::driver;
use crate::run::harness::invocation::{native, with_folder};
use crate::run::harness::shared_process::split_by_case;
use crate::run::process::environment;
use crate::run::process::executor::{Execution, ExecutionEnd, ShareFault, StopReason};
use crate::run::process::stages::stage_of;
use crate::run::process::temporary::Temporary;
use crate::run::record::case_record::{CaseParts, ProcessContext};
use crate::run::session::launcher::Launcher;
use gbench_model::line::{Event, PROTOCOL};
use gbench_model::{Isolation, ProcessEnd, Result, Sandbox, Stage, Thermal};
use gbench_suite::plan::PlannedCase;
use gbench_suite::{Benchmark, PythonEntry, PythonSource};

/// Measures cases of one benchmark of Python modules: in one process, and in further ones if that ends early. Arguments: see [`crate::run::harness::harness_process::measure`].
pub(crate) fn measure(
    launcher: &mut Launcher<'_>,
    cases: &[&PlannedCase],
    processes: &[u32],
    shared: bool,
    log: &mut dyn FnMut(&Execution, &str) -> Result<()>,
) -> Result<CaseParts> {
    let mut all = CaseParts { parts: cases.iter().map(|_| None).collect(), ended: None };
    let mut waiting: Vec<Vec<usize>> = vec![(0..cases.len()).collect()];
    // By plan, and not because only one case is left: otherwise only some processes would report its memory.
    let mut started = 0;
    while let Some(members) = waiting.pop() {
        if started > 0 {
            launcher.count.total += 1;
        }
        let asked: Vec<&PlannedCase> = members.iter().map(|at| cases[*at]).collect();
        let (execution, context) =
            launcher.observed(asked[0], processes[members[0]], |launcher| launcher.execute_python(&asked));
        log(&execution, &if started == 0 { String::new() } else { format!(".again-{started}") })?;
        started += 1;
        all.ended = execution.cut_short();
        let fates = fates(&execution, members.len());
        let (mut rest, mut again) = (Vec::new(), Vec::new());
        for (at, (part, fate)) in members.iter().zip(split(execution, members.len()).into_iter().zip(fates)) {
            match fate {
                // Of the case that was cut off, only samples are worth keeping.
                Fate::Told if part.cut_short().is_some() && !has_samples(&part) => {}
                Fate::NotReached => rest.push(*at),
                Fate::Crashed if members.len() > 1 => again.push(vec![*at]),
                Fate::Crashed | Fate::Told => {
                    let shared = shared.then_some(members.len() as u32);
                    let context = ProcessContext { process: processes[*at], shared, ..context.clone() };
                    all.parts[*at] = Some((part, context));
                }
            }
        }
        if all.ended.is_some() {
            break;
        }
        if !rest.is_empty() {
            waiting.push(rest);
        }
        waiting.extend(again);
    }
    Ok(all)
}

fn has_samples(part: &Execution) -> bool {
    part.events.iter().any(|event| matches!(event, Event::Sample { .. } | Event::Samples { .. }))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Told,
    Crashed,
    NotReached,
}

/// By case. A process that reached none of them decides for all: the next one would end in the same way.
fn fates(execution: &Execution, cases: usize) -> Vec<Fate> {
    let announced: Vec<usize> = execution
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Case { index } => Some(*index as usize),
            _ => None,
        })
        .collect();
    let Some(last) = announced.last() else { return vec![Fate::Told; cases] };
    let crashed = execution.stopped.is_none() && !ended_by_driver(execution);
    let known: BTreeSet<&usize> = announced.iter().collect();
    let of = |case: usize| {
        if !known.contains(&case) {
            Fate::NotReached
        } else if crashed && case == *last {
            Fate::Crashed
        } else {
            Fate::Told
        }
    };
    (0..cases).map(of).collect()
}

/// The driver sent its last message, and nothing went wrong afterwards.
fn ended_by_driver(execution: &Execution) -> bool {
    let said = execution.events.iter().any(|event| matches!(event, Event::End {}));
    said && execution.end == ExecutionEnd::Process(ProcessEnd::Exit(0))
}

/// Splits one process, see [`split_by_case`]: also with the stages of each case, and with an error for a process that ended
/// well before the driver was done.
fn split(mut execution: Execution, cases: usize) -> Vec<Execution> {
    let exited = execution.end == ExecutionEnd::Process(ProcessEnd::Exit(0)) && execution.stopped.is_none();
    if exited && execution.bad_line.is_none() && !ended_by_driver(&execution) {
        execution.events.push(Event::Error {
            message: "it ended the interpreter by itself (os._exit, or a child process that went on in its place) before the driver \
                      had done its work"
                .into(),
            kind: Some("exit".into()),
            trace: None,
        });
    }
    let ranges = stages_by_case(&execution, cases);
    let mut parts = split_by_case(&execution, cases);
    for (part, range) in parts.iter_mut().zip(ranges) {
        part.stages = execution.stages.get(range).unwrap_or_default().to_vec();
        // The driver ended the process because an earlier case left something behind; this case gets another process.
        if part.stopped == Some(StopReason::Share(ShareFault::NeverAnnounced)) {
            part.stopped = Some(StopReason::Share(ShareFault::NotReached));
        }
    }
    parts
}

/// The stages of each case among those of its process; the first case includes those before it.
fn stages_by_case(execution: &Execution, cases: usize) -> Vec<Range<usize>> {
    let mut ranges = vec![0..0; cases];
    let (mut stage, mut index, mut case) = (Stage::Start, 0, None);
    for event in &execution.events {
        if let Some(next) = stage_of(event, stage).filter(|next| *next != stage) {
            (stage, index) = (next, index + 1);
        }
        if let Event::Case { index: of } = event {
            let begin = if case.is_none() { 0 } else { index };
            case = Some(*of as usize);
            if let Some(range) = ranges.get_mut(*of as usize) {
                *range = begin..index + 1;
            }
        }
        if let Some(range) = case.and_then(|at: usize| ranges.get_mut(at)) {
            range.end = index + 1;
        }
    }
    // If a process reached no case, its stages belong to all.
    if case.is_none() { vec![0..execution.stages.len(); cases] } else { ranges }
}

impl Launcher<'_> {
    pub(crate) fn execute_python(&mut self, cases: &[&PlannedCase]) -> Execution {
        let benchmark = &cases[0].benchmark;
        let Some(entry) = benchmark.python() else {
            return Execution::not_started("its modules are not known".into());
        };
        let start = match self.driver(benchmark.sandbox.as_ref()) {
            Ok(start) => start,
            Err(error) => return Execution::not_started(format!("the driver cannot be written: {error}")),
        };
        let interpreter = match find_interpreter(&entry.interpreter, &benchmark.dir) {
            Ok(words) => words,
            Err(cause) => return Execution::not_started(cause),
        };
        with_folder(|out| {
            let cold = (cases[0].id.thermal == Thermal::Cold).then_some(out);
            let file = out.join("request.json");
            let mut request = request(entry, cases, benchmark_root(&benchmark.dir));
            if let Some([trace, table]) = self.wrapping.as_ref().and_then(|wrapping| wrapping.torch.as_ref())
            {
                request["torch_profile"] = json!({ "trace": trace, "table": table });
            }
            let request = request.to_string();
            if let Err(error) = fs::write(&file, &request) {
                return Execution::not_started(format!("the driver's request cannot be written: {error}"));
            }
            let mut launch = self.launch(cases[0], 0, cold, &[], false);
            launch.env = environment::of_driver(benchmark, &cases[0].id, cold);
            start.parent().into_iter().for_each(|driver| launch.allow(driver));
            launch.argv = interpreter;
            launch.argv.extend([start, file].map(|path| path.to_string_lossy().into_owned()));
            let interpreter = launch.argv[0].clone();
            let mut execution = self.start(launch, cases);
            if let ExecutionEnd::NotStarted { cause, .. } = &mut execution.end {
                *cause = format!("{interpreter}: {cause}");
            }
            Execution { request: Some(request), ..execution }
        })
    }

    /// The driver's first file. It is written once, so that Python compiles it once.
    fn driver(&mut self, sandbox: Option<&Sandbox>) -> std::io::Result<PathBuf> {
        let known = self.drivers.iter().find(|(side, _)| side.as_ref() == sandbox);
        if let Some((_, folder)) = known {
            return Ok(folder.path().join(driver::START));
        }
        let folder = Temporary::make()?;
        driver::write(folder.path())?;
        let start = folder.path().join(driver::START);
        self.drivers.push((sandbox.cloned(), folder));
        Ok(start)
    }
}

fn benchmark_root(dir: &Path) -> PathBuf {
    fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned())
}

/// True if, by the suite file, a process has one case, whose memory is then the process's. The number of selected cases or
/// existing modules must not matter: a case's metrics must not depend on its neighbours.
fn is_alone(benchmark: &Benchmark, entry: &PythonEntry) -> bool {
    let one_point = matches!(entry.source, PythonSource::Module(_)) && entry.calls.len() == 1;
    one_point || benchmark.settings.isolation.value == Isolation::Process
}

fn request(entry: &PythonEntry, cases: &[&PlannedCase], root: PathBuf) -> Value {
    let first = cases[0];
    let own = environment::request(&first.benchmark.settings, &first.id, 0);
    let call = |case: &&PlannedCase| native(case).and_then(|name| entry.calls.get(name)).cloned();
    json!({
        "protocol": PROTOCOL,
        "root": root,
        "benchmark": own.benchmark,
        "iterations": own.iterations,
        "warmup": own.warmup,
        "duration": own.duration,
        "burnin": own.burnin,
        "cold": own.cold,
        "seed": own.seed,
        "pinned": own.pinned,
        // Not by the number of cases: a case's metrics must not depend on its neighbours.
        "alone": is_alone(&first.benchmark, entry),
        "options": entry.options,
        "tree": entry.tree,
        "cases": cases.iter().map(|case| json!(call(case))).collect::<Vec<_>>(),
    })
}
