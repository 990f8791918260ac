//! The versions of the tools that build or measure a benchmark. Each is queried in its own thread, so that the slowest
//! one sets the total time, and a hung one costs only its deadline.
//!
//! The packages that Python can import (torch, triton) are not queried: that takes seconds, and the benchmark may use
//! another interpreter.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::Beside;
use gbench_model::{Probe, scrubbed};

/// A loaded machine takes seconds to start a compiler, and a record that lacks its version looks like one of another machine.
pub(super) const DEADLINE: Duration = Duration::from_secs(10);

/// Far more than any version or list of GPUs.
const LONGEST_OUTPUT: u64 = 1 << 20;

/// Name, command, and a word in the version line if that is not the first line.
const TOOLS: [(&str, &str, &str); 9] = [
    ("clang", "--version", ""),
    ("cmake", "--version", ""),
    ("gcc", "--version", ""),
    ("ncu", "--version", "Version"),
    ("nsys", "--version", ""),
    ("nvcc", "--version", "release"),
    ("nvidia-smi", "--version", ""),
    ("python3", "--version", ""),
    ("rustc", "--version", ""),
];

pub(super) fn tools() -> BTreeMap<String, Probe<String>> {
    thread::scope(|scope| {
        let asked = TOOLS.map(|(tool, flag, word)| {
            (tool, Beside::start(scope, move || version(Command::new(tool).arg(flag), word, DEADLINE)))
        });
        asked
            .into_iter()
            .map(|(tool, thread)| {
                let line = thread.join().unwrap_or_else(|_| Probe::Failed("the probe broke off".into()));
                (tool.to_owned(), line)
            })
            .collect()
    })
}

/// The first line that contains `word` of what the command prints within the deadline.
pub(super) fn version(command: &mut Command, word: &str, deadline: Duration) -> Probe<String> {
    let ToolOutput { status, out, err } = match output(command, deadline) {
        Probe::Known(output) => output,
        Probe::Absent(reason) => return Probe::Absent(reason),
        Probe::Failed(reason) => return Probe::Failed(reason),
    };
    let first = |text: &str| {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let all: Vec<&str> = lines.by_ref().collect();
        all.iter().find(|line| line.contains(word)).or(all.first()).map(|line| (*line).to_owned())
    };
    match (status.success(), first(&out), first(&err)) {
        (true, Some(line), _) | (true, None, Some(line)) => Probe::Known(line),
        (true, None, None) => Probe::Failed("printed no version".into()),
        (false, out, err) => Probe::Failed(match err.or(out) {
            Some(line) => format!("{status}: {line}"),
            None => status.to_string(),
        }),
    }
}

pub(super) struct ToolOutput {
    pub status: ExitStatus,
    pub out: String,
    pub err: String,
}

/// Runs a command to its end in its own process group, which is killed at the deadline. The command sees no secrets
/// and no input.
pub(super) fn output(command: &mut Command, deadline: Duration) -> Probe<ToolOutput> {
    for (name, _) in std::env::vars_os() {
        if scrubbed(&name.to_string_lossy()) {
            command.env_remove(name);
        }
    }
    let end = Instant::now() + deadline;
    let spawned =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => return Probe::Absent("not on the PATH".into()),
        Err(error) => return Probe::Failed(format!("cannot be started: {error}")),
    };
    let (out, err) = (collect(child.stdout.take()), collect(child.stderr.take()));

    let left = || end.saturating_duration_since(Instant::now());
    let text = out.recv_timeout(left()).and_then(|out| Ok((out, err.recv_timeout(left())?)));
    let status = loop {
        match child.try_wait() {
            Ok(None) if text.is_ok() && !left().is_zero() => thread::sleep(Duration::from_millis(1)),
            other => break other,
        }
    };
    if !matches!(status, Ok(Some(_))) {
        // The child has not been waited for, so its number still names our group.
        let _ = i32::try_from(child.id()).map(|group| killpg(Pid::from_raw(group), Signal::SIGKILL));
        let _ = child.wait();
        return Probe::Failed(format!("no answer within {} s", deadline.as_secs_f64()));
    }
    match (text, status) {
        (Ok((out, err)), Ok(Some(status))) => Probe::Known(ToolOutput { status, out, err }),
        _ => Probe::Failed("left a process behind that holds its output open".into()),
    }
}

/// Reads in its own thread, so that a full pipe, or one that stays open, blocks nothing.
fn collect(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    let _ = thread::Builder::new().spawn(move || {
        let mut bytes = vec![];
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(LONGEST_OUTPUT).read_to_end(&mut bytes);
            // The rest is drained: a tool that cannot write does not end.
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use case_files::Given;

    fn sh(script: &str, word: &str, deadline: Duration) -> Probe<String> {
        version(Command::new("/bin/sh").args(["-c", script]), word, deadline)
    }

    const AMPLE: Duration = Duration::from_secs(30);

    pub(in crate::machine) fn answer(given: &Given) -> String {
        let word = given.get("word").unwrap_or_default();
        format!("{:?}", sh(&given.text(), word.trim_end(), AMPLE))
    }

    #[test]
    fn a_tool_that_is_not_there_is_absent() {
        let missing = version(&mut Command::new("no-such-tool-of-ours"), "", AMPLE);
        assert_eq!(missing, Probe::Absent("not on the PATH".into()));
    }

    #[test]
    fn a_tool_that_hangs_is_killed_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let script = format!("sleep 1000 & echo $! > {}; wait", file.display());
        // On a busy machine it takes some time until the script hangs.
        let probe = sh(&script, "", Duration::from_millis(5500));
        assert_eq!(probe, Probe::Failed("no answer within 5.5 s".into()));
        let pid: i32 = std::fs::read_to_string(file).unwrap().trim().parse().unwrap();
        let gone = || {
            // A killed orphan may stay a zombie until its new parent looks.
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            !status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
        };
        assert!((0..18_000).any(|_| gone() || {
            thread::sleep(Duration::from_millis(10));
            false
        }));
    }

    #[test]
    fn every_tool_of_the_list_has_an_answer() {
        assert_eq!(tools().len(), TOOLS.len());
    }
}
