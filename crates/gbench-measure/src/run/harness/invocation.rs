//! Command, folder and files of a harness's process: adds them to its launch, and reads the results.

use std::fs;
use std::io;
use std::path::Path;

use super::left_files::{self, PutAside};
use crate::run::process::executor::{Execution, Launch};
use crate::run::process::temporary::Temporary;
use crate::run::process::tracer::Tracer;
use gbench_formats::adapters::{self, Amount, HarnessOutput, Invocation, OutputFiles};
use gbench_model::{Params, Settings};
use gbench_suite::plan::PlannedCase;
use gbench_suite::{Action, Benchmark, DirectProgram};

/// How many times its nominal measuring time a harness may take for a case, in addition to the stage's deadline.
pub(crate) const SLACK: f64 = 20.0;
const MAX_FILES_BYTES: u64 = 2 << 30;
pub(super) const STDOUT_BYTES: usize = 256 << 20;

const STDERR_BYTES: usize = 16 << 20;

pub(crate) fn native(case: &PlannedCase) -> Option<&str> {
    case.benchmark.harness.as_ref()?.native(&case.id.params)
}

fn program(benchmark: &Benchmark) -> Option<&DirectProgram> {
    benchmark.harness.as_ref()?.program.as_ref()
}

pub(crate) fn amount(settings: &Settings) -> Amount {
    Amount {
        seconds: settings.duration.value.max(1e-6),
        warmup: settings.burnin.value,
        samples: settings.iterations.value.max(1),
    }
}

/// The suite file's command. A shell command gets the adapter's words as its own arguments, `"$@"`.
pub(crate) fn command(benchmark: &Benchmark) -> Vec<String> {
    if let Some(program) = program(benchmark) {
        return program.argv.clone();
    }
    let mut argv = benchmark.action.argv(&Params::new(), &[]);
    if matches!(benchmark.action, Action::Shell(_)) {
        argv.push("sh".into());
    }
    argv
}

/// Sets the folder and variables of a program that is started directly, and the tracer of one that is traced. Call it before
/// [`invoke`], whose variables take precedence. Cargo passes the package's folder to programs that it starts.
pub(crate) fn start_directly(launch: &mut Launch, benchmark: &Benchmark) {
    // A container has its own.
    if benchmark.is_traced()
        && benchmark.container.is_none()
        && let Some(tracer) = Tracer::find()
    {
        launch.env.push(("GBENCH_TRACER".into(), tracer.word()));
    }
    if let Some(DirectProgram { dir, env, .. }) = program(benchmark) {
        launch.dir = dir.clone();
        launch.env.push(("CARGO_MANIFEST_DIR".into(), dir.into()));
        set(launch, env);
    }
}

pub(crate) fn set(launch: &mut Launch, env: &[(String, String)]) {
    launch.env.extend(env.iter().map(|(name, value)| (name.into(), value.into())));
}

const NODE_OPTIONS: &str = "NODE_OPTIONS";

pub(crate) fn invoke(launch: &mut Launch, invocation: Invocation, out: &Path) {
    launch.allow(out);
    launch.argv = invocation.argv;
    let mut env = invocation.env;
    // It is a list of options, so the project's own are kept.
    for (_, options) in env.iter_mut().filter(|(name, _)| name == NODE_OPTIONS) {
        if let Some((_, own)) = launch.env.iter().rev().find(|(name, _)| name == NODE_OPTIONS) {
            *options = format!("{} {options}", own.to_string_lossy());
        }
    }
    set(launch, &env);
    launch.stdout_limit = launch.stdout_limit.max(STDOUT_BYTES);
    launch.stderr_limit = launch.stderr_limit.max(STDERR_BYTES);
}

pub(crate) fn with_folder(call: impl FnOnce(&Path) -> Execution) -> Execution {
    let folder = Temporary::make();
    let inner = folder.and_then(|folder| {
        let out = folder.path().join("out");
        fs::create_dir(&out)?;
        Ok((folder, out))
    });
    match inner {
        Ok((folder, out)) => folder.guarded(|| call(&out)),
        Err(error) => {
            Execution::not_started(format!("no folder for the harness's files can be made: {error}"))
        }
    }
}

/// Moves an existing file with the name in the suite file out of the way. Errors: in words.
pub(super) fn put_aside(benchmark: &Benchmark) -> std::result::Result<PutAside, String> {
    let file = benchmark.harness.as_ref().and_then(|entry| entry.file.as_deref());
    PutAside::new(file.into_iter(), &benchmark.dir, benchmark.sandbox.is_some())
}

/// Copies the file named in the suite file into the folder of the harness's files. Errors: the process did not write it, or it
/// cannot be read.
pub(super) fn bring_file(benchmark: &Benchmark, out: &Path) -> std::result::Result<(), adapters::ReadError> {
    let Some(file) = benchmark.harness.as_ref().and_then(|entry| entry.file.as_ref()) else { return Ok(()) };
    let fault = |what: String| adapters::ReadError::new(adapters::Place::File(file.clone()), what);
    let path = benchmark.dir.join(file);
    let bytes = left_files::one(&path).map_err(fault)?;
    let name = path.file_name().unwrap_or_default();
    // The process may have put a link there.
    let file = fs::File::create_new(out.join(name));
    file.and_then(|mut file| io::Write::write_all(&mut file, &bytes))
        .map_err(|error| fault(error.to_string()))
}

/// Reads a process's results. Errors: the adapter's; files that cannot be read, or are too large.
pub(crate) fn read<T>(
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

/// The regular files below a folder, by relative path; links are not followed.
pub(crate) fn files_below(folder: &Path) -> io::Result<OutputFiles> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use gbench_model::Stage;

    #[test]
    fn a_harness_that_gives_node_options_keeps_the_projects_own() {
        let dir = std::env::temp_dir();
        let action = Action::Command(vec!["vitest".into()]);
        let benchmark = Benchmark::new("s/v".parse().unwrap(), action, dir.clone());
        let options = |own: Option<&str>| {
            let mut launch = Launch::of_step(&benchmark, Vec::new(), dir.clone(), Stage::Build, None);
            launch.env = own.iter().map(|own| (NODE_OPTIONS.into(), own.into())).collect();
            invoke(&mut launch, Invocation::default().env(NODE_OPTIONS, "--import=x"), &dir);
            launch.env.pop().unwrap().1
        };
        assert_eq!(options(None), "--import=x");
        assert_eq!(options(Some("--max-old-space-size=500")), "--max-old-space-size=500 --import=x");
    }
}
