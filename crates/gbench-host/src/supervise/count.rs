//! Counts the events of a program: a process between supervisor and target.
//!
//! ```text
//! supervisor --> this process (events on itself: inherited, off) --> target (exec turns them on) --> its children
//! ```
//!
//! The events are attached to this process, and stay off for it because it never executes another program. Its child inherits
//! them, and the kernel switches them on at the child's `exec`. So the target and its descendants are counted, and the gate's
//! own work is not. The counts of children are added when they end. The arguments are a folder, the events, and the target's
//! command. The result is a [`CountReport`] in a new file in the folder. The exit code or signal is the target's.
//!
//! The system call is written here, because its oldest structure of 64 bytes suffices, and a crate would add its
//! generated bindings to every cold build.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::FromRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use nix::errno::Errno;
use nix::libc;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigHandler, SigSet, Signal, raise, signal};
use nix::unistd::{getpid, getppid};
use serde::{Deserialize, Serialize};

use gbench_model::CounterState;

pub const COUNT_ARGUMENT: &str = "__count";
/// Prefix of the names of its files.
pub const COUNT_FILE: &str = "count.";

/// Events that can be counted, in the kernel's names.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::EnumString, strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum CountedEvent {
    Instructions,
    Cycles,
    /// A software event of the kernel, available without hardware counters.
    PageFaults,
    TaskClock,
}

/// The outcome of counting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountReport {
    /// In the requested order.
    Counted(Vec<Count>),
    /// Nothing was started; the errno.
    Refused(i32),
}

/// One event of the target and its descendants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Count {
    pub event: CountedEvent,
    pub value: u64,
    /// Nanoseconds for which the event was enabled, and for which it had a hardware counter. If they differ, others
    /// used the counter meanwhile, and the value is incomplete.
    pub enabled: u64,
    pub running: u64,
}

impl Count {
    /// True if the event had a counter for the whole time.
    pub fn is_whole(&self) -> bool {
        self.enabled == self.running
    }
}

/// The first version of `struct perf_event_attr`.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const ENABLE_ON_EXEC: u64 = 1 << 12;
const TIME_ENABLED_AND_RUNNING: u64 = 1 | 1 << 1;

impl CountedEvent {
    fn code(self) -> (u32, u64) {
        const HARDWARE: u32 = 0;
        const SOFTWARE: u32 = 1;
        match self {
            Self::Cycles => (HARDWARE, 0),
            Self::Instructions => (HARDWARE, 1),
            Self::TaskClock => (SOFTWARE, 1),
            Self::PageFaults => (SOFTWARE, 2),
        }
    }

    /// The event on the calling thread, off until a child calls `exec`. The kernel's own work is excluded.
    fn open(self) -> Result<File, Errno> {
        let (kind, config) = self.code();
        let attributes = Attributes {
            kind,
            size: size_of::<Attributes>() as u32,
            config,
            sample_period: 0,
            sample_type: 0,
            read_format: TIME_ENABLED_AND_RUNNING,
            flags: DISABLED | INHERIT | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR | ENABLE_ON_EXEC,
            wakeup_events: 0,
            breakpoint_type: 0,
            config1: 0,
        };
        const CLOSE_ON_EXEC: libc::c_ulong = 8;
        let (this_process, any_processor, no_group) = (0, -1, -1);
        // SAFETY: the structure lives until the call returns, and its `size` is its own; the kernel only reads it.
        let descriptor = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                this_process as libc::pid_t,
                any_processor as libc::c_int,
                no_group as libc::c_int,
                CLOSE_ON_EXEC,
            )
        };
        let descriptor = Errno::result(descriptor)? as libc::c_int;
        // SAFETY: the kernel has just made this descriptor, and nothing else has it.
        Ok(unsafe { File::from_raw_fd(descriptor) })
    }

    fn read(self, file: &mut File) -> io::Result<Count> {
        let mut bytes = [0; 24];
        file.read_exact(&mut bytes)?;
        let number = |at: usize| {
            let mut eight = [0; 8];
            eight.copy_from_slice(&bytes[8 * at..8 * at + 8]);
            u64::from_ne_bytes(eight)
        };
        Ok(Count { event: self, value: number(0), enabled: number(1), running: number(2) })
    }
}

/// The state of the instruction counter on this machine.
pub fn instruction_counter() -> CounterState {
    match CountedEvent::Instructions.open() {
        Ok(_) => CounterState::Works,
        Err(errno) => state_of(errno),
    }
}

/// The state of counting that follows from an error of opening an event.
pub fn state_of(errno: Errno) -> CounterState {
    match errno {
        Errno::EACCES | Errno::EPERM => CounterState::Refused,
        _ => CounterState::Unsupported,
    }
}

/// Runs as the counting process: `FOLDER EVENT,EVENT PROGRAM ARGUMENT...`.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    const USAGE: u8 = 64;
    const NOT_FOUND: u8 = 127;
    let mut arguments = arguments.fuse();
    let (folder, events) = (arguments.next(), arguments.next());
    let events = events.and_then(|list| {
        let words = list.to_str()?.split(',');
        words.map(|word| word.parse().ok()).collect::<Option<Vec<CountedEvent>>>()
    });
    let (Some(folder), Some(events)) = (folder, events) else { return ExitCode::from(USAGE) };
    let argv: Vec<OsString> = arguments.collect();
    let fail = |what: String| {
        let _ = writeln!(io::stderr(), "gbench-ci counting: {what}");
        ExitCode::from(NOT_FOUND)
    };
    let (report, status) = match counted(&argv, &events) {
        Ok(Ok((counts, status))) => (CountReport::Counted(counts), Some(status)),
        Ok(Err(errno)) => (CountReport::Refused(errno as i32), None),
        Err(error) => return fail(error.to_string()),
    };
    let file = Path::new(&folder).join(format!("{COUNT_FILE}{}", std::process::id()));
    let written = serde_json::to_vec(&report).map_err(io::Error::from);
    let written = written.and_then(|text| std::fs::write(&file, text));
    if let Err(error) = written {
        return fail(error.to_string());
    }
    status.map_or(ExitCode::from(NOT_FOUND), end_alike)
}

/// Runs a program to its end and counts events. Errors: it cannot be started; inner error: the kernel counts none of
/// these events.
fn counted(
    argv: &[OsString],
    events: &[CountedEvent],
) -> io::Result<Result<(Vec<Count>, ExitStatus), Errno>> {
    let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut open = Vec::new();
    for event in events {
        match event.open() {
            Ok(file) => open.push((*event, file)),
            Err(errno) => return Ok(Err(errno)),
        }
    }
    // The supervisor's SIGTERM goes to the whole group: the target ends, and this process reports the result.
    let mut waits = SigSet::empty();
    [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().for_each(|signal| waits.add(signal));
    waits.thread_block()?;
    let (mut command, this) = (Command::new(program), getpid());
    command.args(arguments).stdin(Stdio::inherit());
    // SAFETY: between fork and exec only async-signal-safe calls are made: pthread_sigmask, prctl, getppid.
    unsafe {
        command.pre_exec(move || {
            SigSet::empty().thread_set_mask()?;
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
            if getppid() == this { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
        });
    }
    let status = command.spawn()?.wait()?;
    let counts =
        open.into_iter().map(|(event, mut file)| event.read(&mut file)).collect::<io::Result<_>>()?;
    Ok(Ok((counts, status)))
}

/// Ends this process in the way the target ended.
fn end_alike(status: ExitStatus) -> ExitCode {
    if let Some(number) = status.signal() {
        // The target's core dump may be useful, ours is not.
        let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
        if let Ok(by) = Signal::try_from(number) {
            // SAFETY: the default action replaces no handler of ours; SIGKILL and SIGSTOP refuse it, which is harmless.
            let _ = unsafe { signal(by, SigHandler::SigDfl) };
            let _ = SigSet::empty().thread_set_mask();
            let _ = raise(by);
        }
        return ExitCode::from(128_u8.wrapping_add(number as u8));
    }
    ExitCode::from(status.code().unwrap_or(1) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(Into::into).collect()
    }

    /// `None`, with a message, if this kernel counts nothing at all.
    fn count(argv: &[&str], events: &[CountedEvent]) -> Option<(Vec<Count>, ExitStatus)> {
        match counted(&words(argv), events).unwrap() {
            Ok(counted) => Some(counted),
            Err(errno) => {
                println!("SKIPPED: the kernel counts nothing here: {errno}");
                None
            }
        }
    }

    #[test]
    fn the_target_and_its_children_are_counted_from_their_exec_on() {
        let events = [CountedEvent::PageFaults, CountedEvent::TaskClock];
        let Some((one, status)) = count(&["sh", "-c", ":"], &events) else { return };
        assert!(status.success());
        let (faults, clock) = (&one[0], &one[1]);
        assert!(faults.value > 20 && clock.value > 0, "{one:?}");
        assert!(one.iter().all(|count| count.is_whole() && count.enabled > 0), "{one:?}");
        // Twenty shells below it cause twenty times as many page faults.
        let Some((many, _)) =
            count(&["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do sh -c :; sh -c :; done"], &events)
        else {
            return;
        };
        assert!(many[0].value > 10 * faults.value, "{many:?} and {one:?}");
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error_and_no_count() {
        assert!(counted(&words(&["/no/such/program"]), &[]).is_err());
        assert!(counted(&[], &[]).is_err());
    }

    #[test]
    fn what_the_kernel_refuses_is_told_from_what_it_does_not_have() {
        assert_eq!(state_of(Errno::EACCES), CounterState::Refused);
        assert_eq!(state_of(Errno::EPERM), CounterState::Refused);
        for errno in [Errno::ENOENT, Errno::EOPNOTSUPP, Errno::ENODEV, Errno::ENOSYS] {
            assert_eq!(state_of(errno), CounterState::Unsupported);
        }
    }
}
