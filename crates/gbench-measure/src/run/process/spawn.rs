//! The executor that starts real processes, each under a supervisor.
//!
//! One thread, one poll: while a child measures, the gate sleeps until there is something to read or a deadline comes, and
//! writes nothing to disk. The same loop follows two processes that take turns.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::executor::{Execution, Executor, Launch, Meanwhile, StopReason};
use super::interrupt::Interrupt;
use super::oom_kills::OomKills;
use super::running::RunningProcess;
use super::temporary::{self, Temporary};
use super::watched::Watched;
use crate::run::lockstep::pair;
use crate::run::lockstep::schedule::{TurnToken, Turns};
use crate::run::process::io::channel;
use gbench_host::supervise::{self, Assignment, ProcessStanding, Supervisor};
use gbench_model::line;

const GRACE: f64 = 2.0;

/// Starts every child under a supervisor, with a FIFO as its channel.
pub struct Supervised {
    /// The gbench-ci binary, which is its own supervisor.
    binary: PathBuf,
    folder: Temporary,
    interrupt: Option<Interrupt>,
    /// This process belongs to the executor, so orphans of a killed supervisor may be cleaned up.
    owns_process: bool,
    /// The first folder that each side may write to; `None` without a sandbox.
    sides: Vec<Option<PathBuf>>,
    /// By place, of which each side has two: supervisor and channel for the next process; the second place is for the second
    /// process of a pair. If a process changes its supervisor, such as its priority, only its own side is affected.
    free: Vec<Option<Free>>,
    temps: Vec<u32>,
    standings: Vec<(u32, ProcessStanding)>,
}

struct Free {
    supervisor: Supervisor,
    channel: Option<File>,
}

impl From<(Supervisor, File)> for Free {
    fn from((supervisor, channel): (Supervisor, File)) -> Self {
        Self { supervisor, channel: Some(channel) }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        // A supervisor that is already gone need not be dismissed.
        let _ = self.dismiss_free();
    }
}

impl Supervised {
    /// `binary`: the gbench-ci executable. `interrupt`: signals that end the run early.
    ///
    /// `owns_process`: true if this process has no other children than this executor's; it then adopts and ends the orphans of
    /// a killed supervisor. Errors: no temporary folder can be made.
    pub fn new(binary: PathBuf, interrupt: Option<Interrupt>, owns_process: bool) -> std::io::Result<Self> {
        if owns_process {
            supervise::adopt_orphans()?;
            supervise::hide_from_children()?;
        }
        // A gate that was killed could not remove its own.
        temporary::remove_abandoned();
        let folder = Temporary::make()?;
        let (sides, free, temps) = (Vec::new(), Vec::new(), Vec::new());
        let gate = std::process::id();
        let standings = ProcessStanding::of(gate).map(|standing| (gate, standing)).into_iter().collect();
        Ok(Self { binary, folder, interrupt, owns_process, sides, free, temps, standings })
    }

    /// Starts one process. `slot`: 0, or 1 for the second of a pair. `turns`: it is asked to take turns.
    fn start(&mut self, launch: &Launch, slot: usize, turns: bool) -> std::io::Result<RunningProcess> {
        if !self.folder.is_in_place() {
            // Its channels lead elsewhere, and the case that replaced it has already failed.
            self.folder = Temporary::make()?;
        }
        let place = self.place(launch, slot);
        let names = [format!("events{place}"), format!("turns{place}")];
        let [events, orders] = names.each_ref().map(|name| self.folder.path().join(name));
        let turns = turns.then_some(orders);
        let temp = self.empty_temp(launch, place)?;
        let folder = self.folder.folder();
        let orders = turns.is_some().then(|| channel::make(folder, &names[1])).transpose()?;
        let (stdout, child_stdout) = std::io::pipe()?;
        let (stderr, child_stderr) = std::io::pipe()?;
        let message = assignment(launch, &events, turns, temp.as_deref())?;
        let Free { mut supervisor, channel } = self.free(place)?;
        let folder = self.folder.folder();
        let channel = channel.and_then(|channel| channel::for_the_next(folder, &names[0], channel));
        let channel = channel.map_or_else(|| channel::make(folder, &names[0]), Ok);
        let output = [child_stdout.as_fd(), child_stderr.as_fd()];
        match channel.and_then(|channel| supervisor.assign(&message, output).map(|()| channel)) {
            Ok(channel) => Ok(RunningProcess::new(launch, supervisor, [stdout, stderr], channel, orders)),
            Err(error) => {
                supervisor.dismiss()?;
                Err(error)
            }
        }
    }

    fn place(&mut self, launch: &Launch, slot: usize) -> usize {
        let side = launch.sandbox.as_ref().and_then(|sandbox| sandbox.writable.first().cloned());
        let known = self.sides.iter().position(|other| *other == side);
        let side = known.unwrap_or_else(|| {
            self.sides.push(side);
            self.free.extend([None, None]);
            self.temps.extend([0, 0]);
            self.sides.len() - 1
        });
        2 * side + slot
    }

    /// An empty folder for the temporary files of a process, inside a folder of its place, so that sandbox rules with the
    /// outer folder also serve the next process.
    fn empty_temp(&mut self, launch: &Launch, place: usize) -> std::io::Result<Option<PathBuf>> {
        if !launch.confined().is_some_and(|sandbox| sandbox.own_temp) {
            return Ok(None);
        }
        let outer = format!("tmp{place}");
        // Nearly always the last one is empty.
        if self.temps[place] == 0 || !self.folder.is_empty_inner(&outer, &name_of(self.temps[place])) {
            self.temps[place] += 1;
            let [before, name] = [self.temps[place] - 1, self.temps[place]].map(name_of);
            return self.folder.empty_inner(&outer, &name, &before).map(Some);
        }
        Ok(Some(self.folder.path().join(outer).join(name_of(self.temps[place]))))
    }

    /// The parts that the last process left, or a new supervisor, also if the old one has ended.
    fn free(&mut self, place: usize) -> std::io::Result<Free> {
        if let Some(mut free) = self.free[place].take()
            && free.supervisor.is_alive()
        {
            return Ok(free);
        }
        let supervisor = Supervisor::start(&self.binary)?;
        let pid = supervisor.id();
        // Process ids are reused.
        self.standings.retain(|(known, _)| *known != pid);
        self.standings.extend(ProcessStanding::of_new(pid).map(|standing| (pid, standing)));
        Ok(Free { supervisor, channel: None })
    }

    fn dismiss_free(&mut self) -> std::io::Result<()> {
        self.free.iter_mut().filter_map(Option::take).try_for_each(|mut free| free.supervisor.dismiss())
    }

    fn run(
        &mut self,
        launch: &Launch,
        every: Duration,
        tell: &mut dyn FnMut(Meanwhile<'_>),
    ) -> std::io::Result<Execution> {
        let oom_kills = OomKills::now();
        let folders = launch.sandbox.as_ref().map_or(&[][..], |sandbox| &sandbox.watched);
        let watched = (!folders.is_empty()).then(|| Watched::begin(folders));
        let from = SystemTime::now();
        let mut processes = [self.start(launch, 0, false)?];
        let began = Instant::now();
        let mut last = began;
        self.follow(&mut processes, every, &mut |processes, now| {
            let seconds = now.saturating_duration_since(began).as_secs_f64();
            if let Some(index) = processes[0].announced() {
                tell(Meanwhile::Case { index, seconds });
            }
            if now.saturating_duration_since(last) >= every && !processes[0].is_over() {
                last = now;
                let text = processes[0].newest_output();
                tell(Meanwhile::Output { seconds, text: &text });
            }
            Ok(())
        })?;
        let [process] = processes;
        let own = process.supervisor();
        let misdeed = self.replaced().or_else(|| self.changed(launch, Some(own)));
        let (mut execution, free) = process.finish(&oom_kills, misdeed);
        let place = self.place(launch, 0);
        self.free[place] = free.map(Free::from);
        if let Some(times) = launch.sandbox.as_ref().and_then(|sandbox| sandbox.times.as_ref()) {
            times.note(from, SystemTime::now());
        }
        if let Some(watched) = watched {
            self.end_what_left_its_supervisor();
            execution.reached = watched.changed();
            if execution.reached.is_some() {
                execution.stopped.get_or_insert(StopReason::OtherSideChanged);
            }
        }
        Ok(execution)
    }

    fn run_pair(&mut self, launches: [&Launch; 2], turns: &Turns) -> std::io::Result<[Execution; 2]> {
        let oom_kills = OomKills::now();
        // The random order decides everything that one side does before the other.
        let first = turns.first.min(1);
        let mut started = self.start(launches[first], first, true)?;
        let second = match self.start(launches[1 - first], 1 - first, true) {
            Ok(process) => process,
            Err(error) => {
                started.abandon()?;
                return Err(error);
            }
        };
        let mut processes = if first == 0 { [started, second] } else { [second, started] };
        let mut token = TurnToken::new(*turns);
        let mut idle = None;
        let mut steer = |processes: &mut [_], now| pair::steer(processes, &mut token, &mut idle, now);
        self.follow(&mut processes, Duration::MAX, &mut steer)?;
        let blames = [0, 1].map(|side| pair::blame(&processes[side], &token, side));
        let [base, head] = processes;
        // It cannot be determined which of the two did it.
        let replaced = self.replaced().or_else(|| self.changed(launches[1], None));
        let (base, first_free) = base.finish(&oom_kills, blames[0].or(replaced));
        let (head, second_free) = head.finish(&oom_kills, blames[1].or(replaced));
        for (slot, free) in [first_free, second_free].into_iter().enumerate() {
            let place = self.place(launches[slot], slot);
            self.free[place] = free.map(Free::from);
        }
        let mut executions = [base, head];
        for (execution, blocks) in executions.iter_mut().zip(token.into_blocks()) {
            execution.blocks = blocks;
        }
        Ok(executions)
    }

    /// Blames a process of head if the priority, processors or limits of the gate or of a supervisor have changed since the
    /// last check. `own`: the supervisor of that process, which no other process gets.
    fn changed(&mut self, launch: &Launch, own: Option<u32>) -> Option<StopReason> {
        launch.sandbox.as_ref()?.times.as_ref()?;
        // A reported change becomes the new state, because later processes did not cause it.
        let changed = self.standings.iter_mut().filter_map(|(pid, standing)| {
            let is_other = standing.update(ProcessStanding::of(*pid)?);
            (is_other && Some(*pid) != own).then_some(())
        });
        (changed.count() > 0).then_some(StopReason::GateChanged)
    }

    /// Without Landlock, a process can make its supervisor lose it, and continue while the other side measures.
    fn end_what_left_its_supervisor(&mut self) {
        if self.owns_process {
            let ours: Vec<u32> = self.free.iter().flatten().map(|free| free.supervisor.id()).collect();
            supervise::end_strangers(&ours);
        }
    }

    fn replaced(&self) -> Option<StopReason> {
        (!self.folder.is_in_place()).then_some(StopReason::FolderReplaced)
    }

    /// Follows all processes to their end. `every`: how often to look even if nothing comes. `steer`: called after each look.
    fn follow(
        &mut self,
        processes: &mut [RunningProcess],
        every: Duration,
        steer: &mut dyn FnMut(&mut [RunningProcess], Instant) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        while processes.iter().any(|process| !process.is_over()) {
            if let Err(error) = self.turn(processes, every, steer) {
                for process in processes.iter_mut().filter(|process| !process.is_over()) {
                    process.abandon()?;
                }
                return Err(error);
            }
        }
        // Only now: a process that still runs is a descendant, too.
        if self.owns_process && processes.iter().any(|process| process.end().is_none()) {
            // Free supervisors are descendants, too, and would be reaped without their handles' knowledge.
            processes.iter_mut().try_for_each(RunningProcess::dismiss_supervisor)?;
            self.dismiss_free()?;
            supervise::kill_descendants(Duration::from_secs(5));
        }
        Ok(())
    }

    fn turn(
        &mut self,
        processes: &mut [RunningProcess],
        every: Duration,
        steer: &mut dyn FnMut(&mut [RunningProcess], Instant) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        let now = Instant::now();
        let readable = |descriptor| PollFd::new(descriptor, PollFlags::POLLIN);
        let interrupts = self.interrupt.iter().flat_map(Interrupt::descriptors);
        let mut fds: Vec<PollFd> = interrupts.map(readable).collect();
        let (mut controls, mut wake) = (Vec::new(), now.checked_add(every));
        for process in processes.iter_mut() {
            if process.is_over() {
                controls.push(None);
                continue;
            }
            wake = [wake, process.next_wake()].into_iter().flatten().min();
            controls.push(Some(fds.len()));
            fds.extend(process.descriptors(now).into_iter().map(readable));
        }
        match poll(&mut fds, timeout(wake, now)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let spoke = |at: usize| fds[at].any().unwrap_or(false);
        let spoke: Vec<_> = controls.into_iter().map(|at| at.map(spoke)).collect();
        let now = Instant::now();
        for (process, spoke) in processes.iter_mut().zip(spoke) {
            if let Some(spoke) = spoke {
                process.look(now, spoke)?;
            }
        }
        let (signal, fresh) = self.interrupt.as_mut().map_or((None, false), Interrupt::check);
        for process in processes.iter_mut().filter(|process| !process.is_over()) {
            if let Some(signal) = signal {
                // A second Ctrl-C means now.
                process.stop(StopReason::Interrupt(signal), fresh);
            }
            process.check_deadlines(now);
        }
        steer(processes, now)
    }

    fn interrupted(&mut self) -> Option<Execution> {
        let (signal, _) = self.interrupt.as_mut()?.check();
        let stopped = Some(StopReason::Interrupt(signal?));
        Some(Execution { stopped, ..Execution::not_started("the run was interrupted".into()) })
    }
}

fn not_followed(error: &std::io::Error) -> Execution {
    Execution::not_started(format!("the gate itself could not start or follow it: {error}"))
}

impl Executor for Supervised {
    fn end_strays(&mut self) {
        if self.owns_process && self.dismiss_free().is_ok() {
            supervise::kill_descendants(Duration::from_secs(5));
        }
    }

    fn is_interrupted(&mut self) -> bool {
        self.interrupted().is_some()
    }

    fn execute(&mut self, launch: &Launch) -> Execution {
        self.execute_telling(launch, Duration::MAX, &mut |_| {})
    }

    fn execute_telling(
        &mut self,
        launch: &Launch,
        every: Duration,
        tell: &mut dyn FnMut(Meanwhile<'_>),
    ) -> Execution {
        if let Some(execution) = self.interrupted() {
            return execution;
        }
        self.run(launch, every, tell).unwrap_or_else(|error| not_followed(&error))
    }

    fn execute_pair(&mut self, launches: [&Launch; 2], turns: &Turns) -> [Execution; 2] {
        if let Some(execution) = self.interrupted() {
            return [execution.clone(), execution];
        }
        self.run_pair(launches, turns).unwrap_or_else(|error| [not_followed(&error), not_followed(&error)])
    }
}

fn name_of(number: u32) -> String {
    format!("{number:06}")
}

fn assignment(
    launch: &Launch,
    events: &Path,
    turns: Option<PathBuf>,
    temp: Option<&Path>,
) -> std::io::Result<Vec<u8>> {
    let variables = launch.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let own = [
        Some((line::env::EVENTS, events)),
        turns.as_deref().map(|path| (line::env::TURNS, path)),
        temp.map(|path| ("TMPDIR", path)),
    ];
    let own = own.into_iter().flatten().map(|(name, path)| (OsStr::new(name), path.as_os_str()));
    let mut environment = Vec::new();
    for (name, value) in variables.chain(own) {
        for part in [name.as_encoded_bytes(), b"=", value.as_encoded_bytes(), b"\0"] {
            environment.extend_from_slice(part);
        }
    }
    let assignment = Assignment {
        argv: match &launch.container {
            Some(container) => container.argv(&launch.argv, &launch.dir, events),
            None => launch.argv.clone(),
        },
        dir: launch.dir.clone().into(),
        env_bytes: environment.len(),
        events: events.into(),
        turns: turns.map(PathBuf::into_os_string),
        writable: launch.confined().filter(|sandbox| sandbox.kept).map(|sandbox| {
            let own = [Some(events), temp.and_then(Path::parent)].into_iter().flatten();
            let paths = sandbox.writable.iter().map(PathBuf::as_path).chain(own);
            paths.map(Into::into).collect()
        }),
        hidden: launch.confined().map_or(&[][..], |sandbox| &sandbox.hidden).iter().map(Into::into).collect(),
        // For a container it would limit the client.
        memory_limit: if launch.container.is_some() { 0 } else { launch.memory_limit },
        grace: GRACE,
    };
    let mut message = serde_json::to_vec(&assignment)?;
    message.push(b'\n');
    message.extend(environment);
    Ok(message)
}

fn timeout(wake: Option<Instant>, now: Instant) -> PollTimeout {
    match wake {
        None => PollTimeout::NONE,
        Some(at) => {
            // Rounded up: waking a moment early would only cost another iteration.
            let millis = at.saturating_duration_since(now).as_millis().saturating_add(1);
            PollTimeout::try_from(millis.min(i32::MAX as u128) as i32).unwrap_or(PollTimeout::MAX)
        }
    }
}
