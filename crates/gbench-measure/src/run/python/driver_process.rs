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
use crate::run::session::event::Progress;
use crate::run::session::launcher::Launcher;
use crate::run::session::turn::Turn;
use gbench_model::line::{Event, PROTOCOL};
use gbench_model::{Isolation, LEAVES, ProcessEnd, Result, Sandbox, Stage, Thermal};
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
    let mut turn = Turn::begin(launcher, cases);
    // By case: seconds in processes whose results it does not keep.
    let mut spent = vec![0.0; cases.len()];
    while let Some(members) = waiting.pop() {
        let asked: Vec<&PlannedCase> = members.iter().map(|at| cases[*at]).collect();
        let (execution, context) =
            launcher.observed(asked[0], processes[members[0]], |launcher| launcher.execute_python(&asked));
        log(&execution, &turn.next_mark())?;
        all.ended = execution.cut_short();
        let (fates, leaves) = (fates(&execution, members.len()), leaves(&execution, &asked));
        let (mut rest, mut again) = (Vec::new(), Vec::new());
        let parts = split(execution, members.len()).into_iter().zip(fates);
        for (at, (mut part, fate)) in members.iter().zip(parts) {
            part.seconds += spent[*at];
            match fate {
                Fate::NotReached => rest.push(*at),
                Fate::Crashed if members.len() > 1 => {
                    spent[*at] = part.seconds;
                    again.push(vec![*at]);
                }
                Fate::Crashed | Fate::Told => {
                    // By plan, and not because only one case is left: otherwise only some processes would report its memory.
                    let shared = shared.then_some(members.len() as u32);
                    let context = ProcessContext { process: processes[*at], shared, ..context.clone() };
                    all.parts[*at] = Some((part, context));
                }
            }
        }
        if all.ended.is_some() {
            break;
        }
        // The next process will probably come as far as this one.
        let of_rest = rest.len().div_ceil((members.len() - rest.len()).max(1));
        let expected = waiting.len() + again.len() + of_rest;
        if let Some(leaves) = leaves.filter(|_| !rest.is_empty() && turn.is_first(launcher)) {
            let processes = turn.started + expected;
            let text =
                format!("{leaves}: the cases behind it get another process, about {processes} instead of 1");
            launcher.session.observer.on(&Progress::Note { text: &text });
        }
        turn.expect(launcher, expected);
        if !rest.is_empty() {
            waiting.push(rest);
        }
        waiting.extend(again);
    }
    turn.end(launcher);
    Ok(all)
}

/// The case that the process came to last, and what it leaves behind, so that the driver ended the process.
fn leaves(execution: &Execution, cases: &[&PlannedCase]) -> Option<String> {
    let mut last = None;
    let mut words = None;
    for event in &execution.events {
        match event {
            Event::Case { index } => (last, words) = (cases.get(*index as usize), None),
            Event::Metadata { notes, .. } if notes.contains_key(LEAVES) => words = notes[LEAVES].as_array(),
            _ => {}
        }
    }
    let words: Vec<&str> = words?.iter().filter_map(Value::as_str).collect();
    Some(format!("{} leaves {}", last?.id, words.join(", ")))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Told,
    Crashed,
    NotReached,
}

/// By case. A process that reached none of them decides for all, unless the run ended: the next one would end in the same way.
fn fates(execution: &Execution, cases: usize) -> Vec<Fate> {
    let announced: Vec<usize> = execution
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Case { index } => Some(*index as usize),
            _ => None,
        })
        .collect();
    let Some(last) = announced.last() else {
        return vec![if execution.cut_short().is_some() { Fate::NotReached } else { Fate::Told }; cases];
    };
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
            next: None,
        });
    }
    let ranges = stages_by_case(&execution, cases);
    let mut parts = split_by_case(&execution, cases);
    let seconds = seconds_by_case(&execution, &ranges);
    for (part, (range, seconds)) in parts.iter_mut().zip(ranges.into_iter().zip(seconds)) {
        part.seconds = seconds;
        part.stages = execution.stages.get(range).unwrap_or_default().to_vec();
        // The driver ended the process because an earlier case left something behind; this case gets another process.
        if part.stopped == Some(StopReason::Share(ShareFault::NeverAnnounced)) {
            part.stopped = Some(StopReason::Share(ShareFault::NotReached));
        }
    }
    parts
}

/// The process's seconds, divided by those of each case's stages; in equal parts if no stage took any.
fn seconds_by_case(execution: &Execution, ranges: &[Range<usize>]) -> Vec<f64> {
    let of_stages = |range: &Range<usize>| {
        let stages = execution.stages.get(range.clone()).unwrap_or_default();
        stages.iter().map(|stage| stage.seconds).sum::<f64>()
    };
    let own: Vec<f64> = ranges.iter().map(of_stages).collect();
    let all: f64 = own.iter().sum();
    let share = |own: &f64| if all > 0.0 { own / all } else { 1.0 / ranges.len() as f64 };
    own.iter().map(|own| execution.seconds * share(own)).collect()
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
            if let Some(wrapping) = &self.wrapping {
                request["profiled"] = true.into();
                if let Some([trace, table]) = &wrapping.torch {
                    request["torch_profile"] = json!({ "trace": trace, "table": table });
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use gbench_model::{StageReport, StageStatus};

    #[test]
    fn b23_a_case_has_the_seconds_of_its_own_stages_and_all_of_them_are_those_of_the_process() {
        let stage = |name: Stage| Event::Stage { stage: name };
        let events = vec![
            Event::Case { index: 1 },
            stage(Stage::Measure),
            Event::Case { index: 0 },
            stage(Stage::Measure),
            Event::End {},
        ];
        let stages = [
            (Stage::Start, 2.0),
            (Stage::Setup, 1.0),
            (Stage::Measure, 3.0),
            (Stage::Setup, 1.0),
            (Stage::Measure, 1.0),
            (Stage::Teardown, 2.0),
        ];
        let report =
            |(stage, seconds)| StageReport { stage, status: StageStatus::Completed, seconds, limit: 9.0 };
        let execution = Execution {
            seconds: 20.0,
            events,
            stages: stages.map(report).to_vec(),
            end: ExecutionEnd::Process(ProcessEnd::Exit(0)),
            ..Execution::not_started(String::new())
        };
        let seconds = |cases: usize| {
            split(execution.clone(), cases).iter().map(|part| part.seconds).collect::<Vec<_>>()
        };
        assert_eq!(seconds(2), [8.0, 12.0]);
        // One that was not reached took no time.
        assert_eq!(seconds(3), [8.0, 12.0, 0.0]);
    }
}
