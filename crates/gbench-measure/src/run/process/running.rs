//! Follows one process under its supervisor: its events, its output, its deadlines.

use std::fs::File;
use std::io::{PipeReader, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use super::executor::{Execution, ExecutionEnd, Launch, StopReason};
use super::oom_kills::OomKills;
use super::stages::StageClock;
use crate::run::process::io::event_lines::Lines;
use crate::run::process::io::stream::{Stream, read_available, read_report};
use gbench_host::supervise::{self, Report, Supervisor};
use gbench_model::line::{Event, Order};
use gbench_model::{ProcessEnd, StageStatus};

/// After a batch that only has samples, the channel is not read for this long, so that a fast benchmark does not keep the gate
/// awake.
const REST: Duration = Duration::from_millis(50);
/// How long a supervisor may take to report after it was told to stop: SIGTERM's grace, SIGKILL's patience twice, and a
/// margin. One that takes longer is stopped itself, or hangs in the kernel.
const PATIENCE: Duration = Duration::from_secs(15);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sign {
    Yield,
    Measured,
}

pub(crate) struct RunningProcess {
    supervisor: Supervisor,
    channel: File,
    /// Where turns are granted, for a process that takes them. While it is open, the channel is always read: a returned turn
    /// must not wait.
    turns: Option<File>,
    takes_turns: bool,
    clock: StageClock,
    lines: Lines,
    told: usize,
    stdout: Stream,
    stderr: Stream,
    /// Bytes of both at the last call of [`Self::newest_output`], and which of them had grown.
    told_output: (u64, u64, bool),
    stopped: Option<StopReason>,
    give_up: Option<Instant>,
    until: Option<Instant>,
    rest_until: Option<Instant>,
    report: Vec<u8>,
    over: Option<Instant>,
}

impl RunningProcess {
    /// `output`: its standard output and standard error. `channel`: receives its events. `turns`: sends its turns, kept open
    /// here.
    pub(crate) fn new(
        launch: &Launch,
        supervisor: Supervisor,
        [stdout, stderr]: [PipeReader; 2],
        channel: File,
        turns: Option<File>,
    ) -> Self {
        Self {
            stdout: Stream::new(Some(stdout), launch.stdout_limit),
            stderr: Stream::new(Some(stderr), launch.stderr_limit),
            supervisor,
            channel,
            takes_turns: turns.is_some(),
            turns,
            clock: StageClock::start(&launch.stages, Instant::now()),
            lines: Lines::default(),
            told: 0,
            told_output: (0, 0, false),
            stopped: None,
            give_up: None,
            until: launch.until,
            rest_until: None,
            report: Vec::new(),
            over: None,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.is_some()
    }

    pub(crate) fn stopped(&self) -> Option<StopReason> {
        self.stopped
    }

    /// The descriptors to poll: the supervisor first, then those that the process writes to.
    pub(super) fn descriptors(&mut self, now: Instant) -> Vec<BorrowedFd<'_>> {
        self.rest_until = self.rest_until.filter(|until| *until > now);
        let mut all = vec![self.supervisor.as_fd()];
        all.extend([&self.stdout, &self.stderr].into_iter().filter_map(Stream::descriptor));
        if self.rest_until.is_none() {
            all.push(self.channel.as_fd());
        }
        all
    }

    pub(super) fn next_wake(&self) -> Option<Instant> {
        let limits = match self.stopped {
            Some(_) => [self.give_up, None],
            None => [self.clock.deadline(), self.until],
        };
        limits.into_iter().chain([self.rest_until]).flatten().min()
    }

    /// Reads new data. `spoke`: the supervisor's socket is readable.
    pub(crate) fn look(&mut self, now: Instant, spoke: bool) -> std::io::Result<()> {
        self.stdout.drain()?;
        self.stderr.drain()?;
        // Also while the channel is paused: the deadline may belong to a stage that has ended meanwhile.
        let due = self.clock.deadline().is_some_and(|deadline| now >= deadline);
        if (self.rest_until.is_none() || due) && self.read_channel(now)? && !self.takes_turns {
            self.rest_until = Some(now + REST);
        }
        let has_reported = spoke && read_report(self.supervisor.control(), &mut self.report)?;
        if has_reported || self.give_up.is_some_and(|at| now >= at) {
            self.conclude()?;
        }
        Ok(())
    }

    /// Reads the available events. True if all were samples, so that the channel may be paused.
    fn read_channel(&mut self, now: Instant) -> std::io::Result<bool> {
        let before = self.lines.events.len();
        read_available(&mut self.channel, |bytes| self.lines.push(bytes))?;
        let fresh = &self.lines.events[before..];
        for event in fresh {
            self.clock.on_event(event, now);
        }
        let samples = |event: &Event| matches!(event, Event::Sample { .. });
        Ok(!fresh.is_empty() && fresh.iter().all(samples))
    }

    /// All writers are gone; their output is still in the pipes.
    fn conclude(&mut self) -> std::io::Result<()> {
        let now = Instant::now();
        if !self.leaves_its_supervisor_free() {
            self.supervisor.dismiss()?;
        }
        self.read_channel(now)?;
        self.stdout.finish()?;
        self.stderr.finish()?;
        self.over = Some(now);
        Ok(())
    }

    /// Kills it: the caller stops following it, and it must not run concurrently with the next one.
    pub(super) fn abandon(&mut self) -> std::io::Result<()> {
        self.dismiss_supervisor()
    }

    pub(super) fn dismiss_supervisor(&mut self) -> std::io::Result<()> {
        self.supervisor.dismiss()
    }

    /// True if its supervisor can serve the next process. A supervisor that was told to stop may apply the unread message to
    /// the next process, and one with surviving descendants would count them again.
    fn leaves_its_supervisor_free(&self) -> bool {
        let unremarkable =
            matches!(self.end(), Some(Report::Ended { survivors: 0, .. } | Report::NotStarted { .. }));
        self.stopped.is_none() && unremarkable
    }

    pub(super) fn check_deadlines(&mut self, now: Instant) {
        if self.clock.deadline().is_some_and(|deadline| now >= deadline) {
            let (stage, limit) = (self.clock.current(), self.clock.limit());
            self.stop(StopReason::Stage { stage, limit, spent: self.clock.spent(now) }, false);
        } else if self.until.is_some_and(|until| now >= until) {
            self.stop(StopReason::RunDeadline, false);
        } else if self.lines.is_over_limit() {
            self.stop(StopReason::OutputLimit, false);
        }
    }

    /// Tells the supervisor to end the child; the first reason is kept. `again`: the user insists.
    pub(crate) fn stop(&mut self, reason: StopReason, again: bool) {
        let word = match self.stopped {
            None => supervise::STOP,
            Some(StopReason::Interrupt(_)) if again => supervise::KILL,
            Some(_) => return,
        };
        self.stopped.get_or_insert(reason);
        self.give_up.get_or_insert(Instant::now() + PATIENCE);
        self.supervisor.tell(word);
    }

    /// The end of the stream that has grown since the last call: stderr if both have, the previous one if neither has.
    pub(super) fn newest_output(&mut self) -> String {
        let (stdout, stderr) = (self.stdout.capture.total(), self.stderr.capture.total());
        let (before, also_before, was_stdout) = self.told_output;
        let is_stdout = match (stdout > before, stderr > also_before) {
            (_, true) => false,
            (true, false) => true,
            (false, false) => was_stdout,
        };
        self.told_output = (stdout, stderr, is_stdout);
        let stream = if is_stdout { &self.stdout } else { &self.stderr };
        stream.capture.newest(4096)
    }

    /// The newest case that it has announced since the last call.
    pub(super) fn announced(&mut self) -> Option<u32> {
        let fresh = &self.lines.events[self.told..];
        self.told = self.lines.events.len();
        fresh.iter().rev().find_map(|event| match event {
            Event::Case { index } => Some(*index),
            _ => None,
        })
    }

    pub(crate) fn signs(&mut self) -> Vec<Sign> {
        let fresh = &self.lines.events[self.told..];
        self.told = self.lines.events.len();
        let sign = |event: &Event| match event {
            Event::Yield {} => Some(Sign::Yield),
            Event::Sample { .. } | Event::Samples { .. } | Event::Summary { .. } => Some(Sign::Measured),
            _ => None,
        };
        fresh.iter().filter_map(sign).collect()
    }

    pub(crate) fn is_garbled(&self) -> bool {
        self.lines.is_bad()
    }

    pub(crate) fn rest(&mut self, now: Instant) {
        self.clock.pause(now);
    }

    pub(crate) fn give(&mut self, iterations: u32, now: Instant) -> std::io::Result<()> {
        self.clock.resume(now);
        let mut line = serde_json::to_vec(&Order::Turn { iterations })?;
        line.push(b'\n');
        match &mut self.turns {
            Some(turns) => turns.write_all(&line),
            None => Ok(()),
        }
    }

    pub(crate) fn supervisor(&self) -> u32 {
        self.supervisor.id()
    }

    pub(crate) fn cpu(&self) -> Duration {
        self.supervisor.cpu_below()
    }

    pub(crate) fn end_turns(&mut self, now: Instant) {
        self.clock.resume(now);
        self.turns = None;
    }

    /// How it ended, once it is over; `None` if its supervisor was lost.
    pub(crate) fn end(&self) -> Option<Report> {
        serde_json::from_slice(&self.report).ok()
    }

    pub(crate) fn said_why(&self) -> bool {
        let why = |event: &Event| matches!(event, Event::Skip { .. } | Event::Error { .. });
        self.lines.events.iter().any(why)
    }

    /// All observations, and its supervisor and channel if they can be reused. `before`: from before its start. `blame`: why
    /// an end that looks good is not.
    pub(crate) fn finish(
        self,
        before: &OomKills,
        blame: Option<StopReason>,
    ) -> (Execution, Option<(Supervisor, File)>) {
        let report = self.end();
        let is_free = self.leaves_its_supervisor_free();
        let stopped = self.stopped.or(blame);
        let ended_well = matches!(report, Some(Report::Ended { end: ProcessEnd::Exit(0), .. }));
        let status = match stopped {
            Some(StopReason::Stage { .. }) => StageStatus::TimedOut,
            None if ended_well => StageStatus::Completed,
            _ => StageStatus::Ended,
        };
        let stages = match report {
            Some(Report::NotStarted { .. }) => Vec::new(),
            _ => self.clock.finish(status, self.over.unwrap_or_else(Instant::now)),
        };
        // The kernel generates a long text for the answer, so it is only read if necessary.
        let was_killed = !matches!(
            report,
            Some(Report::NotStarted { .. } | Report::Ended { end: ProcessEnd::Exit(_), .. })
        );
        let oom_killer = was_killed && before.have_grown();
        let (events, bad_line) = self.lines.finish();
        let mut execution = Execution {
            end: ExecutionEnd::SupervisorDied,
            stopped,
            events,
            bad_line,
            stages,
            stdout: self.stdout.capture,
            stderr: self.stderr.capture,
            oom_killer,
            ..Execution::not_started(String::new())
        };
        match report {
            None => {}
            Some(Report::NotStarted { cause, not_found }) => {
                execution.end = ExecutionEnd::NotStarted { cause, not_found }
            }
            Some(Report::Ended { end, seconds, peak_rss_bytes, cpu_seconds, leftovers, survivors }) => {
                execution.end = ExecutionEnd::Process(end);
                execution.seconds = seconds;
                execution.peak_rss_bytes = Some(peak_rss_bytes);
                execution.cpu_seconds = Some(cpu_seconds);
                execution.leftovers = leftovers;
                execution.survivors = survivors;
            }
        }
        (execution, is_free.then_some((self.supervisor, self.channel)))
    }
}
