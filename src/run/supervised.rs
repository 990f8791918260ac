//! The executor that starts real processes, each under its own supervisor.
//!
//! One thread, one poll: while a child measures, the gate sleeps until there is something to read or a deadline
//! comes, and writes nothing to disk.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::capture::Capture;
use super::executor::{End, Execution, Executor, Launch, Stop};
use super::interrupt::Interrupt;
use super::lines::Lines;
use super::stages::StageClock;
use crate::model::{StageStatus, line};
use crate::supervise::{self, Assignment, Report};

/// Seconds between SIGTERM and SIGKILL.
const GRACE: f64 = 2.0;
/// After a batch of samples alone the channel rests this long: a fast benchmark must not keep the gate awake.
const REST: Duration = Duration::from_millis(50);
/// A pipe this large holds what comes meanwhile; the kernel's usual limit for one pipe.
const PIPE_BYTES: i32 = 1 << 20;
/// Reads of 64 KiB that one round takes from one pipe: all that it can hold.
const READS: usize = 16;
/// How long a supervisor may take to report after it was told to stop: SIGTERM's grace, SIGKILL's patience twice, and a
/// margin. One that takes longer is stopped itself, or hangs in the kernel.
const PATIENCE: Duration = Duration::from_secs(15);

/// Starts every child under a supervisor, with a FIFO as its channel.
pub struct Supervised {
    /// The gbench-ci binary, which is its own supervisor.
    binary: PathBuf,
    /// Private folder of the FIFO.
    folder: tempfile::TempDir,
    interrupt: Option<Interrupt>,
    /// The whole process is ours, so that orphans of a killed supervisor may be cleaned up.
    owns_process: bool,
}

impl Supervised {
    /// `binary`: the gbench-ci executable. `interrupt`: signals that end the run early.
    ///
    /// `owns_process`: true where this process has no other children than this executor's; it then adopts what a
    /// killed supervisor leaves and ends it. Errors: no temporary folder can be made.
    pub fn new(binary: PathBuf, interrupt: Option<Interrupt>, owns_process: bool) -> std::io::Result<Self> {
        if owns_process {
            supervise::adopt_orphans()?;
            supervise::hide_from_children()?;
        }
        let folder = tempfile::Builder::new().prefix("gbench-ci-").tempdir()?;
        Ok(Self { binary, folder, interrupt, owns_process })
    }

    /// A fresh FIFO, held open by us for reading and writing so that it never reports an end of file between two
    /// writers and no writer waits for a reader.
    fn channel(&self) -> std::io::Result<(PathBuf, File)> {
        let path = self.folder.path().join("events");
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR)?;
        let flags = OFlag::O_NONBLOCK.bits();
        let file = File::options().read(true).write(true).custom_flags(flags).open(&path)?;
        // Refused where the user's pipe quota is used up; the default size works too.
        let _ = fcntl(&file, FcntlArg::F_SETPIPE_SZ(PIPE_BYTES));
        Ok((path, file))
    }

    fn start(&self, launch: &Launch, events: &Path) -> std::io::Result<(Child, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        let child = Command::new(&self.binary)
            .arg(supervise::ARGUMENT)
            // The child can read its supervisor's environment; what is not there cannot leak.
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut environment = Vec::new();
        for (name, value) in &launch.env {
            for part in [name.as_encoded_bytes(), b"=", value.as_encoded_bytes(), b"\0"] {
                environment.extend_from_slice(part);
            }
        }
        environment.extend_from_slice(line::env::EVENTS.as_bytes());
        environment.push(b'=');
        environment.extend_from_slice(events.as_os_str().as_encoded_bytes());
        environment.push(0);
        let assignment = Assignment {
            argv: launch.argv.clone(),
            dir: launch.dir.clone(),
            env_bytes: environment.len(),
            events: Some(events.to_owned()),
            memory_limit: launch.memory_limit,
            grace: GRACE,
        };
        let mut message = serde_json::to_vec(&assignment)?;
        message.push(b'\n');
        message.extend(environment);
        (&ours).write_all(&message)?;
        Ok((child, ours))
    }

    fn run(&mut self, launch: &Launch) -> std::io::Result<Execution> {
        let (path, mut channel) = self.channel()?;
        let oom_before = oom_kills();
        let (mut supervisor, control) = self.start(launch, &path)?;
        let execution = self.follow(launch, &mut supervisor, &control, &mut channel, oom_before);
        if execution.is_err() {
            // Nobody follows it any more: it must not run beside the next one.
            supervisor.kill()?;
            supervisor.wait()?;
        }
        execution
    }

    fn follow(
        &mut self,
        launch: &Launch,
        supervisor: &mut Child,
        control: &UnixStream,
        channel: &mut File,
        oom_before: u64,
    ) -> std::io::Result<Execution> {
        let mut watch = Watch::new(launch, Instant::now());
        let mut stdout = supervisor.stdout.take().map(|pipe| Stream::new(pipe.into()));
        let mut stderr = supervisor.stderr.take().map(|pipe| Stream::new(pipe.into()));
        let mut report = Vec::new();
        let mut rest_until: Option<Instant> = None;
        loop {
            let now = Instant::now();
            rest_until = rest_until.filter(|until| *until > now);
            let wake = watch.next_wake(rest_until);
            let mut fds = vec![PollFd::new(control.as_fd(), PollFlags::POLLIN)];
            for descriptor in self.interrupt.iter().flat_map(|interrupt| interrupt.descriptors()) {
                fds.push(PollFd::new(descriptor, PollFlags::POLLIN));
            }
            for stream in [&stdout, &stderr].into_iter().flatten().filter(|stream| stream.open) {
                fds.push(PollFd::new(stream.source.as_fd(), PollFlags::POLLIN));
            }
            if rest_until.is_none() {
                fds.push(PollFd::new(channel.as_fd(), PollFlags::POLLIN));
            }
            match poll(&mut fds, timeout(wake, now)) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
            let supervisor_spoke = fds[0].any().unwrap_or(false);
            let now = Instant::now();
            if let Some(stream) = &mut stdout {
                stream.drain(&mut watch.stdout)?;
            }
            if let Some(stream) = &mut stderr {
                stream.drain(&mut watch.stderr)?;
            }
            // Also when the channel rests: a stage that has begun meanwhile must not be held to the last one's deadline.
            let due = watch.clock.deadline().is_some_and(|deadline| now >= deadline);
            if (rest_until.is_none() || due) && watch.read_channel(channel, now)? {
                rest_until = Some(now + REST);
            }
            if supervisor_spoke && read_report(control, &mut report)? {
                break;
            }
            if watch.give_up.is_some_and(|at| now >= at) {
                supervisor.kill()?;
                break;
            }
            if let Some(interrupt) = &mut self.interrupt {
                let (signal, fresh) = interrupt.check();
                if let Some(signal) = signal {
                    // A second Ctrl-C means now.
                    watch.stop(Stop::Interrupt(signal), control, fresh);
                }
            }
            watch.check_deadlines(now, control);
        }
        // Everything that could write is gone; what it wrote is still in the pipes.
        let status = watch.closing_status();
        watch.read_channel(channel, Instant::now())?;
        for (stream, capture) in [(&mut stdout, &mut watch.stdout), (&mut stderr, &mut watch.stderr)] {
            if let Some(stream) = stream {
                stream.finish(capture)?;
            }
        }
        supervisor.wait()?;
        let report = serde_json::from_slice::<Report>(&report).ok();
        if report.is_none() && self.owns_process {
            supervise::kill_descendants(Duration::from_secs(5));
        }
        Ok(watch.finish(report, status, oom_kills() > oom_before))
    }
}

impl Executor for Supervised {
    fn execute(&mut self, launch: &Launch) -> Execution {
        if let Some((Some(signal), _)) = self.interrupt.as_mut().map(Interrupt::check) {
            let mut watch = Watch::new(launch, Instant::now());
            watch.stopped = Some(Stop::Interrupt(signal));
            let cause = "the run was interrupted".into();
            return watch.finish(
                Some(Report::NotStarted { cause, not_found: false }),
                StageStatus::Ended,
                false,
            );
        }
        self.run(launch).unwrap_or_else(|error| {
            let cause = format!("the gate itself could not start or follow it: {error}");
            let watch = Watch::new(launch, Instant::now());
            watch.finish(Some(Report::NotStarted { cause, not_found: false }), StageStatus::Ended, false)
        })
    }
}

/// What is known so far of the running process.
struct Watch {
    clock: StageClock,
    lines: Lines,
    stdout: Capture,
    stderr: Capture,
    stopped: Option<Stop>,
    /// When a supervisor that was told to stop is no longer waited for.
    give_up: Option<Instant>,
    until: Option<Instant>,
}

impl Watch {
    fn new(launch: &Launch, now: Instant) -> Self {
        Self {
            clock: StageClock::start(&launch.stages, now),
            lines: Lines::default(),
            stdout: Capture::new(launch.stdout_limit),
            stderr: Capture::new(launch.stderr_limit),
            stopped: None,
            give_up: None,
            until: launch.until,
        }
    }

    /// The next moment at which something must be looked at though nothing came.
    fn next_wake(&self, rest_until: Option<Instant>) -> Option<Instant> {
        let limits = match self.stopped {
            Some(_) => [self.give_up, None],
            None => [self.clock.deadline(), self.until],
        };
        limits.into_iter().chain([rest_until]).flatten().min()
    }

    /// Reads what is there. True if it held nothing but samples, so that the channel may rest.
    fn read_channel(&mut self, channel: &mut File, now: Instant) -> std::io::Result<bool> {
        let before = self.lines.events.len();
        let mut buffer = [0; 1 << 16];
        // At most a pipeful a round: a child that writes without end must not keep the gate from its deadlines.
        for _ in 0..READS {
            match channel.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => self.lines.push(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let fresh = &self.lines.events[before..];
        for event in fresh {
            self.clock.on_event(event, now);
        }
        let samples = |event: &line::Event| matches!(event, line::Event::Sample { .. });
        Ok(!fresh.is_empty() && fresh.iter().all(samples))
    }

    fn check_deadlines(&mut self, now: Instant, control: &UnixStream) {
        if self.clock.deadline().is_some_and(|deadline| now >= deadline) {
            let (stage, limit) = (self.clock.current(), self.clock.limit());
            self.stop(Stop::Stage { stage, limit, spent: self.clock.spent(now) }, control, false);
        } else if self.until.is_some_and(|until| now >= until) {
            self.stop(Stop::RunDeadline, control, false);
        } else if self.lines.flooded() {
            self.stop(Stop::Flood, control, false);
        }
    }

    /// Tells the supervisor to end the child; the first reason stays. `again`: the user insists.
    fn stop(&mut self, reason: Stop, control: &UnixStream, again: bool) {
        let word = match self.stopped {
            None => supervise::STOP,
            Some(Stop::Interrupt(_)) if again => supervise::KILL,
            Some(_) => return,
        };
        self.stopped.get_or_insert(reason);
        self.give_up.get_or_insert(Instant::now() + PATIENCE);
        // A supervisor that has just reported does not read this any more, and need not.
        let _ = (&mut &*control).write_all(&[word]);
    }

    fn closing_status(&self) -> StageStatus {
        match self.stopped {
            None => StageStatus::Completed,
            Some(Stop::Stage { .. }) => StageStatus::TimedOut,
            Some(_) => StageStatus::Ended,
        }
    }

    fn finish(self, report: Option<Report>, status: StageStatus, oom_killer: bool) -> Execution {
        let Watch { clock, lines, stdout, stderr, stopped, .. } = self;
        let ended_well = matches!(report, Some(Report::Ended { end: crate::model::ProcessEnd::Exit(0), .. }));
        let status = match status {
            StageStatus::Completed if !ended_well => StageStatus::Ended,
            other => other,
        };
        let stages = match report {
            Some(Report::NotStarted { .. }) => Vec::new(),
            _ => clock.finish(status, Instant::now()),
        };
        let (events, bad_line) = lines.finish();
        let mut execution = Execution {
            end: End::Lost,
            seconds: 0.0,
            stopped,
            events,
            bad_line,
            stages,
            stdout,
            stderr,
            peak_rss_bytes: None,
            cpu_seconds: None,
            leftovers: 0,
            survivors: 0,
            oom_killer,
        };
        match report {
            None => {}
            Some(Report::NotStarted { cause, not_found }) => {
                execution.end = End::NotStarted { cause, not_found }
            }
            Some(Report::Ended { end, seconds, peak_rss_bytes, cpu_seconds, leftovers, survivors }) => {
                execution.end = End::Process(end);
                execution.seconds = seconds;
                execution.peak_rss_bytes = Some(peak_rss_bytes);
                execution.cpu_seconds = Some(cpu_seconds);
                execution.leftovers = leftovers;
                execution.survivors = survivors;
            }
        }
        execution
    }
}

/// One of the child's output pipes.
struct Stream {
    source: File,
    open: bool,
}

impl Stream {
    fn new(source: OwnedFd) -> Self {
        let source = File::from(source);
        // Failing to set the flag would make a read block; the poll before it makes that one read safe.
        if let Ok(bits) = fcntl(&source, FcntlArg::F_GETFL) {
            let flags = OFlag::from_bits_truncate(bits) | OFlag::O_NONBLOCK;
            let _ = fcntl(&source, FcntlArg::F_SETFL(flags));
        }
        Self { source, open: true }
    }

    /// Reads what is there, without waiting.
    fn drain(&mut self, capture: &mut Capture) -> std::io::Result<()> {
        let mut buffer = [0; 1 << 16];
        for _ in 0..READS {
            if !self.open {
                break;
            }
            match self.source.read(&mut buffer) {
                Ok(0) => self.open = false,
                Ok(count) => capture.push(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads to the end, which has come or comes as soon as the supervisor is gone; waits a second at most, as a
    /// process stuck in the kernel may hold the other end.
    fn finish(&mut self, capture: &mut Capture) -> std::io::Result<()> {
        let deadline = Instant::now() + Duration::from_secs(1);
        self.drain(capture)?;
        while self.open && Instant::now() < deadline {
            let mut fds = [PollFd::new(self.source.as_fd(), PollFlags::POLLIN)];
            let _ = poll(&mut fds, PollTimeout::from(100u8));
            self.drain(capture)?;
        }
        Ok(())
    }
}

/// Collects the supervisor's line; true once it is whole or will never be.
fn read_report(control: &UnixStream, report: &mut Vec<u8>) -> std::io::Result<bool> {
    let mut buffer = [0; 4096];
    match (&mut &*control).read(&mut buffer) {
        Ok(0) => Ok(true),
        Ok(count) => {
            report.extend_from_slice(&buffer[..count]);
            Ok(report.ends_with(b"\n"))
        }
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Ok(false),
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Ok(true),
        Err(error) => Err(error),
    }
}

fn timeout(wake: Option<Instant>, now: Instant) -> PollTimeout {
    match wake {
        None => PollTimeout::NONE,
        Some(at) => {
            // Rounded up: waking a moment early would only mean to go round once more.
            let millis = at.saturating_duration_since(now).as_millis().saturating_add(1);
            PollTimeout::try_from(millis.min(i32::MAX as u128) as i32).unwrap_or(PollTimeout::MAX)
        }
    }
}

/// How often the kernel has killed for lack of memory since boot, machine-wide; 0 where it does not say.
fn oom_kills() -> u64 {
    let text = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}
