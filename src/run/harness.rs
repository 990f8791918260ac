//! Processes of a benchmark harness: started with the adapter's words, read by the adapter, and taken apart case by case.
//!
//! A case that is lost with its process (a crash, a time-out, output that cannot be read) costs itself only: the others are
//! measured again in fresh processes, and the one that fails by itself has failed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::case_record::ProcessContext;
use super::executor::{Execution, ExecutionEnd, Launch};
use super::launcher::Launcher;
use super::temporary::Temporary;
use crate::adapters::{
    self, Amount, CaseRequest, End, Harness, HarnessOutput, Invocation, OutputFiles, Reading,
};
use crate::model::{CutShort, Params, ProcessEnd, Result, Settings, Stage};
use crate::suite::plan::PlannedCase;
use crate::suite::{Action, Benchmark};

/// Processes of one side and round that may give nothing at all, before what is left of its cases counts as failed.
const MAX_BARREN: u32 = 12;
/// A harness may take so many times its nominal measuring time for a case, beside the deadline of the stage.
pub(super) const SLACK: f64 = 20.0;
/// Bytes of a harness's files that are read.
const MAX_FILES_BYTES: u64 = 2 << 30;
/// Bytes of its standard output that are kept for the reader.
pub(super) const STDOUT_BYTES: usize = 256 << 20;

/// Likewise of its standard error.
const STDERR_BYTES: usize = 16 << 20;

/// What one process gave for each of its cases.
pub(super) type CaseParts = Vec<(Execution, ProcessContext)>;

/// Measures cases of one benchmark with a harness: in one process, and in further ones where that fails. Gives one part for
/// each case, or what cut it short.
///
/// `processes`: by case, the index that the process has within it. `shared`: the cases may share their process by design.
/// `log` is told each process and the end of its log's name.
pub(super) fn measure(
    launcher: &mut Launcher<'_>,
    cases: &[&PlannedCase],
    processes: &[u32],
    shared: bool,
    log: &mut dyn FnMut(&Execution, &str) -> Result<()>,
) -> Result<std::result::Result<CaseParts, CutShort>> {
    let mut parts: Vec<Option<(Execution, ProcessContext)>> = cases.iter().map(|_| None).collect();
    let mut waiting: Vec<Vec<usize>> = vec![(0..cases.len()).collect()];
    let (mut started, mut barren, mut fruitful) = (0, 0, false);
    while let Some(members) = waiting.pop() {
        let natives: Vec<&str> = members.iter().filter_map(|at| native(cases[*at])).collect();
        let first = members[0];
        if started > 0 {
            launcher.total += 1;
        }
        let (execution, context) = launcher.harness_process(cases[first], processes[first], &natives);
        log(&execution, &if started == 0 { String::new() } else { format!(".again-{started}") })?;
        started += 1;
        if let Some(ended) = execution.cut_short() {
            return Ok(Err(ended));
        }
        let given_up = !fruitful && barren >= MAX_BARREN;
        let (mut lost, mut taken) = (Vec::new(), 0);
        for (at, part) in members.iter().zip(split(&execution, &natives, members.len() == 1 || given_up)) {
            let Some(part) = part else {
                lost.push(*at);
                continue;
            };
            taken += 1;
            let shared = shared.then_some(members.len() as u32);
            let context = ProcessContext { process: processes[*at], shared, ..context.clone() };
            parts[*at] = Some((part, context));
        }
        fruitful |= taken > 0 && members.len() > 1;
        barren += u32::from(taken == 0);
        match lost.as_slice() {
            [] => {}
            // Harnesses measure in an order, mostly that of their list: the first that is missing is the likely culprit.
            [culprit, rest @ ..] if taken > 0 => {
                if !rest.is_empty() {
                    waiting.push(rest.to_vec());
                }
                waiting.push(vec![*culprit]);
            }
            all => {
                let (front, back) = all.split_at(all.len() / 2);
                waiting.push(back.to_vec());
                waiting.push(front.to_vec());
            }
        }
    }
    Ok(Ok(parts.into_iter().flatten().collect()))
}

/// The harness's own name of a case.
pub(super) fn native(case: &PlannedCase) -> Option<&str> {
    case.benchmark.harness.as_ref()?.native(&case.id.params)
}

/// Takes one process apart: for each case an execution as if it had had a process of its own, or `None` where the process
/// tells nothing about it. `last`: there will be no other process for it, so that what became of this one is its own fate.
///
/// A case that the harness reports is trusted where the process ended well, or the harness reports another one as failed,
/// or a case is missing that can be blamed for how the process ended.
fn split(execution: &Execution, natives: &[&str], last: bool) -> Vec<Option<Execution>> {
    let readings: &[Reading] = match &execution.readings {
        Some(Ok(readings)) => readings,
        Some(Err(_)) | None => &[],
    };
    let of = |native: &&str| readings.iter().find(|reading| reading.case.native == **native);
    let stopped = execution.stopped.is_some();
    let ended_well = execution.end == ExecutionEnd::Process(ProcessEnd::Exit(0)) && !stopped;
    let by_itself = matches!(execution.end, ExecutionEnd::Process(ProcessEnd::Exit(_))) && !stopped;
    let explained = readings.iter().any(|reading| matches!(reading.end, End::Failed { .. }));
    let blamed = natives.iter().any(|native| of(native).is_none());
    let trusted = ended_well || (by_itself && explained) || (natives.len() > 1 && blamed);
    // What a part needs of the process: a copy of its whole output for each case would be a square of it.
    let common = Execution { readings: None, stdout: execution.stdout.forgotten(), ..execution.clone() };
    let part = |native: &&str| {
        let reading = of(native);
        if !last && (reading.is_none() || !trusted) {
            return None;
        }
        let mut it = common.clone();
        it.seconds /= natives.len().max(1) as f64;
        if natives.len() > 1 {
            (it.peak_rss_bytes, it.cpu_seconds) = (None, None);
        }
        it.readings = match (reading, &execution.readings) {
            (Some(reading), _) => Some(Ok(vec![reading.clone()])),
            (None, Some(Err(error))) => Some(Err(error.clone())),
            (None, _) => Some(Ok(Vec::new())),
        };
        if reading.is_some() && trusted {
            it.end = ExecutionEnd::Process(ProcessEnd::Exit(0));
            it.stopped = None;
        }
        Some(it)
    };
    natives.iter().map(part).collect()
}

/// The program behind the command, where it is started directly.
fn program(benchmark: &Benchmark) -> Option<&(Vec<String>, PathBuf)> {
    benchmark.harness.as_ref()?.program.as_ref()
}

/// How much of a case a process measures.
fn amount(settings: &Settings) -> Amount {
    Amount {
        seconds: settings.duration.value.max(1e-6),
        warmup: settings.burnin.value,
        samples: settings.iterations.value.max(1),
    }
}

/// The command as the suite file has it. A shell's line gets the adapter's words as its own arguments, `"$@"`.
pub(super) fn command(benchmark: &Benchmark) -> Vec<String> {
    if let Some((argv, _)) = program(benchmark) {
        return argv.clone();
    }
    let mut argv = benchmark.action.argv(&Params::new(), &[]);
    if matches!(benchmark.action, Action::Shell(_)) {
        argv.push("sh".into());
    }
    argv
}

impl Launcher<'_> {
    /// One process of a harness that measures cases by their own names, with what it wrote read.
    fn harness_process(
        &mut self,
        case: &PlannedCase,
        process: u32,
        natives: &[&str],
    ) -> (Execution, ProcessContext) {
        let started = SystemTime::now();
        if let Some(probe) = &mut self.session.probe {
            probe.begin();
        }
        let execution = self.execute_harness(case, process, natives);
        let probe = self.session.probe.as_mut();
        let conditions = probe.and_then(|probe| probe.end(execution.cpu_seconds, execution.seconds));
        let after_timeout = self.after_timeout(&execution, case);
        self.tell_end(&execution);
        let context = ProcessContext {
            started,
            process,
            place: None,
            shared: None,
            lockstep: false,
            after_timeout,
            conditions,
        };
        (execution, context)
    }

    fn execute_harness(&mut self, case: &PlannedCase, process: u32, natives: &[&str]) -> Execution {
        let benchmark = &case.benchmark;
        let Some(Harness(adapter)) = benchmark.harness.as_ref().and_then(|entry| entry.harness) else {
            return Execution::not_started("nothing is known of its harness".into());
        };
        if natives.is_empty() {
            return Execution::not_started("its harness has not listed this case".into());
        }
        let run = |out: &Path| {
            let command = command(benchmark);
            let ask = CaseRequest {
                command: &command,
                cases: natives,
                out: &out.to_string_lossy(),
                amount: amount(&benchmark.settings),
            };
            adapter.run(&ask)
        };
        with_folder(|out| {
            let Some(invocation) = run(out) else {
                return Execution::not_started("this harness is a format without a program".into());
            };
            let mut launch = self.launch(case, process, None, &[], false);
            start_directly(&mut launch, benchmark);
            invoke(&mut launch, invocation);
            let each = launch.stages.deadlines.get(&Stage::Measure).map_or(0.0, |setting| setting.value);
            let nominal = amount(&benchmark.settings);
            let more = natives.len() as f64 * SLACK * (nominal.seconds + nominal.warmup);
            if let Some(deadline) = launch.stages.deadlines.get_mut(&Stage::Measure) {
                deadline.value = each + more;
            }
            let mut execution = self.session.executor.execute(&launch);
            execution.readings = Some(read(&execution, out, |output| adapters::read(adapter, output)));
            execution
        })
    }
}

/// Gives a launch the folder of the program that is started directly. Cargo names the package's folder to what it starts.
pub(super) fn start_directly(launch: &mut Launch, benchmark: &Benchmark) {
    if let Some((_, dir)) = program(benchmark) {
        launch.dir = dir.clone();
        launch.env.push(("CARGO_MANIFEST_DIR".into(), dir.into()));
    }
}

/// Gives a launch the adapter's words.
pub(super) fn invoke(launch: &mut Launch, invocation: Invocation) {
    launch.argv = invocation.argv;
    launch.env.extend(invocation.env.into_iter().map(|(name, value)| (name.into(), value.into())));
    launch.stdout_limit = launch.stdout_limit.max(STDOUT_BYTES);
    launch.stderr_limit = launch.stderr_limit.max(STDERR_BYTES);
}

/// Calls with an empty folder for a harness's files.
pub(super) fn with_folder(call: impl FnOnce(&Path) -> Execution) -> Execution {
    let folder = Temporary::make();
    let inner = folder.and_then(|folder| {
        let out = folder.path().join("out");
        fs::create_dir(&out)?;
        Ok((folder, out))
    });
    match inner {
        Ok((_folder, out)) => call(&out),
        Err(error) => {
            Execution::not_started(format!("no folder for the harness's files can be made: {error}"))
        }
    }
}

/// Reads what a process wrote. Errors: the adapter's; files that cannot be read, or are too large.
pub(super) fn read<T>(
    execution: &Execution,
    out: &Path,
    by: impl FnOnce(&HarnessOutput) -> std::result::Result<T, adapters::ReadError>,
) -> std::result::Result<T, adapters::ReadError> {
    let mut files = files_below(out).map_err(|error| {
        adapters::ReadError::new(adapters::Place::HarnessOutput, format!("its files cannot be read: {error}"))
    })?;
    if !execution.stdout.is_whole() {
        let what = format!("it is longer than the {} bytes that are kept", execution.stdout.bytes().len());
        return Err(adapters::ReadError::new(adapters::Place::Stdout, what));
    }
    files.0.insert(adapters::STDERR.into(), execution.stderr.bytes());
    by(&HarnessOutput { stdout: &execution.stdout.bytes(), files: &files })
}

/// The regular files below a folder, by their path in it; links are not followed.
pub(super) fn files_below(folder: &Path) -> io::Result<OutputFiles> {
    let (mut files, mut folders, mut size) = (OutputFiles::default(), vec![folder.to_owned()], 0);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next)? {
            let entry = entry?;
            let (kind, path) = (entry.file_type()?, entry.path());
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                size += entry.metadata()?.len();
                if size > MAX_FILES_BYTES {
                    return Err(io::Error::other(format!("they are more than {MAX_FILES_BYTES} bytes")));
                }
                let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
                files.0.insert(name, fs::read(&path)?);
            }
        }
    }
    Ok(files)
}
