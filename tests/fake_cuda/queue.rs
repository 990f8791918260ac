//! Streams, and the commands that wait in them until the host waits for one.
//!
//! A command runs when a call has to wait for it, not before: a host that forgets to wait reads what was there. Within a stream the
//! order is that of the calls. The default stream and the streams made without CU_STREAM_NON_BLOCKING wait for each other, as
//! `cuda.h` says of the legacy default stream; a stream waits for an event of another where it was told to. Under the virtual clock
//! each stream has its own time, and streams do not slow each other.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::driver::Driver;
use crate::elf::Kernel;
use crate::twins::{GbLaunch, Twin};

const NON_BLOCKING: u32 = 1;

/// One recording of an event.
pub struct Mark {
    pub stream: usize,
    pub order: u64,
    /// The device's time, once it has run.
    pub time: OnceLock<f64>,
}

pub struct Launch {
    pub kernel: Arc<Kernel>,
    pub twin: Option<Twin>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
    /// The parameters as the kernel's constant bank holds them, in words of 16 bytes for their alignment.
    pub parameters: Vec<u128>,
    /// Tells launches apart, for the question whether one was run already.
    pub key: Vec<u8>,
}

impl Launch {
    fn bytes(&self) -> &[u8] {
        // SAFETY: any initialised word is 16 readable bytes.
        unsafe { std::slice::from_raw_parts(self.parameters.as_ptr().cast(), self.parameters.len() * 16) }
    }

    /// What could be pointers among the parameters.
    fn words(&self) -> impl Iterator<Item = usize> + '_ {
        let of_parameter = |parameter: &crate::elf::Parameter| {
            let bytes =
                self.bytes().get(parameter.offset..parameter.offset + parameter.size).unwrap_or_default();
            bytes
                .chunks_exact(8)
                .map(|word| word.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
        };
        self.kernel.parameters.iter().flat_map(of_parameter)
    }

    fn word(&self, index: usize) -> u64 {
        let Some(parameter) = self.kernel.parameters.get(index) else { return 0 };
        let bytes = self.bytes().get(parameter.offset..).unwrap_or_default();
        bytes.iter().take(parameter.size.min(8)).rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    }

    fn is_spin(&self) -> bool {
        self.kernel.name == "gb_spin"
    }

    /// Whether a spin kernel's host has let it go.
    fn is_let_go(&self) -> bool {
        let flag = self.word(0) as *const u32;
        // SAFETY: the kernel's first parameter is its flag, of four bytes, as its source says.
        flag.is_null() || unsafe { flag.read_volatile() } != 0
    }
}

#[derive(Clone)]
pub enum Command {
    Kernel(Arc<Launch>),
    /// `staged`: the bytes of pageable host memory, which the call takes away with it.
    Copy {
        to: usize,
        from: usize,
        size: usize,
        over_pcie: bool,
        staged: Option<Arc<Vec<u8>>>,
    },
    Fill {
        at: usize,
        size: usize,
        pattern: u32,
    },
    Record(Arc<Mark>),
    Wait(Arc<Mark>),
    Graph(Arc<Vec<Command>>),
}

struct Queued {
    order: u64,
    /// The host's virtual time, and the real one.
    at: f64,
    real: Instant,
    command: Command,
}

pub struct Capture {
    pub commands: Vec<Command>,
    pub invalid: bool,
}

pub struct Stream {
    pub device: usize,
    blocking: bool,
    /// The default stream of its device.
    default: bool,
    queue: VecDeque<Queued>,
    /// When the last command that ran ended, in the device's time.
    now: f64,
    pub capture: Option<Capture>,
}

impl Stream {
    pub fn new(device: usize, flags: u32, default: bool) -> Self {
        let blocking = flags & NON_BLOCKING == 0;
        Self { device, blocking, default, queue: VecDeque::new(), now: 0.0, capture: None }
    }
}

/// How far a stream was run.
#[derive(Clone, Copy, PartialEq)]
pub enum Ran {
    All,
    /// A spin kernel waits for the host.
    Waits,
}

impl Driver {
    /// Puts a command at the end of a stream, or of what is captured there.
    pub fn queue(&mut self, stream: usize, command: Command) -> u64 {
        self.order += 1;
        let order = self.order;
        let Some(own) = self.streams.get_mut(&stream) else { return order };
        if let Some(capture) = &mut own.capture {
            capture.commands.push(command);
            return order;
        }
        let at = self.clock.queue();
        own.queue.push_back(Queued { order, at, real: Instant::now(), command });
        order
    }

    /// The order that the next command will have.
    pub fn next_order(&self) -> u64 {
        self.order + 1
    }

    /// Runs a stream up to and with the command of an order. `patient`: a spin kernel that nobody lets go runs into its limit;
    /// else it is left where it is, while its limit has not passed.
    pub fn run(&mut self, stream: usize, up_to: u64, patient: bool) -> Result<Ran, u32> {
        loop {
            let Some(own) = self.streams.get(&stream) else { return Ok(Ran::All) };
            let Some(front) = own.queue.front().filter(|front| front.order <= up_to) else {
                return Ok(Ran::All);
            };
            let (order, mut earliest) = (front.order, front.at.max(own.now));
            let before: Vec<usize> = match (own.default, own.blocking) {
                (true, _) => {
                    self.of_device(own.device).filter(|(_, it)| it.blocking).map(|(id, _)| id).collect()
                }
                (false, true) => {
                    self.of_device(own.device).filter(|(_, it)| it.default).map(|(id, _)| id).collect()
                }
                (false, false) => Vec::new(),
            };
            let waited = match &front.command {
                Command::Wait(mark) => Some(mark.clone()),
                _ => None,
            };
            for other in before.into_iter().filter(|other| *other != stream) {
                if self.run(other, order - 1, patient)? == Ran::Waits {
                    return Ok(Ran::Waits);
                }
                earliest = earliest.max(self.streams.get(&other).map_or(0.0, |other| other.now));
            }
            if let Some(mark) = waited {
                if self.run(mark.stream, mark.order, patient)? == Ran::Waits {
                    return Ok(Ran::Waits);
                }
                earliest = earliest.max(mark.time.get().copied().unwrap_or(0.0));
            }
            let Some(own) = self.streams.get_mut(&stream) else { return Ok(Ran::All) };
            let Some(front) = own.queue.front() else { return Ok(Ran::All) };
            if let Command::Kernel(launch) = &front.command
                && !patient
                && launch.is_spin()
                && !launch.is_let_go()
            {
                let limit = launch.word(1) as f64;
                let passed =
                    front.real.elapsed().as_nanos() as f64 >= limit || self.clock.host >= earliest + limit;
                if !passed {
                    return Ok(Ran::Waits);
                }
            }
            let Some(front) = own.queue.pop_front() else { return Ok(Ran::All) };
            let start = self.clock.start(earliest);
            let end = self.execute(&front.command, start)?;
            if let Some(own) = self.streams.get_mut(&stream) {
                own.now = end;
            }
        }
    }

    /// Runs all that is queued on a device.
    pub fn run_device(&mut self, device: usize, patient: bool) -> Result<Ran, u32> {
        let mut ran = Ran::All;
        for stream in self.of_device(device).map(|(id, _)| id).collect::<Vec<_>>() {
            if self.run(stream, u64::MAX, patient)? == Ran::Waits {
                ran = Ran::Waits;
            }
        }
        Ok(ran)
    }

    /// When the last command of a stream ended; of all the device's streams for None.
    pub fn device_time(&self, device: usize, stream: Option<usize>) -> f64 {
        self.of_device(device)
            .filter(|(id, _)| stream.is_none_or(|stream| stream == *id))
            .map(|(_, stream)| stream.now)
            .fold(0.0, f64::max)
    }

    pub fn of_device(&self, device: usize) -> impl Iterator<Item = (usize, &Stream)> + '_ {
        self.streams.iter().filter(move |(_, it)| it.device == device).map(|(id, it)| (*id, it))
    }

    /// What a context's end does to its streams.
    pub fn drop_queues(&mut self, device: usize) {
        for stream in self.streams.values_mut().filter(|it| it.device == device) {
            stream.queue.clear();
            stream.capture = None;
        }
    }

    /// Does one command that starts at `start`; when it ends.
    fn execute(&mut self, command: &Command, start: f64) -> Result<f64, u32> {
        match command {
            Command::Kernel(launch) => self.execute_kernel(launch, start),
            Command::Copy { to, from, size, over_pcie, staged } => {
                let from = staged.as_ref().map_or(*from, |bytes| bytes.as_ptr() as usize);
                self.memory.copy(*to, from, *size);
                let speed = if *over_pcie { ("pcie_gbs", 50.0) } else { ("mem_gbs", 3000.0) };
                let duration = *size as f64 / self.settings.number(speed.0, speed.1);
                Ok(self.clock.end(start, duration))
            }
            Command::Fill { at, size, pattern } => {
                self.memory.fill(*at, *size, *pattern);
                let duration = *size as f64 / self.settings.number("mem_gbs", 3000.0);
                Ok(self.clock.end(start, duration))
            }
            Command::Record(mark) => {
                _ = mark.time.set(start);
                Ok(start)
            }
            Command::Wait(_) => Ok(start),
            Command::Graph(commands) => {
                let mut now = start;
                for command in commands.iter() {
                    let start = self.clock.start(now);
                    now = self.execute(command, start)?;
                }
                Ok(now)
            }
        }
    }

    fn execute_kernel(&mut self, launch: &Launch, start: f64) -> Result<f64, u32> {
        let name = &launch.kernel.name;
        let throttle = self.clock.throttle(&self.settings);
        // The clock is low already when the kernel reads it.
        self.clock.throttled(start, start, throttle);
        let released = !launch.is_spin() || launch.is_let_go();
        let ran = self.run_twin(launch, start)?;
        let end = match (launch.is_spin() && self.clock.is_virtual(), released) {
            // It saw its flag when the host came to wait for it.
            (true, true) => start.max(self.clock.host) + 1e3,
            (true, false) => start + launch.word(1) as f64,
            (false, _) => {
                let duration = self.settings.kernel_ns(name) * throttle;
                let end = self.clock.end(start, duration);
                self.clock.worked(end - start);
                end
            }
        };
        self.clock.throttled(start, end, throttle);
        if self.trace.is_some() {
            let (word, length) = (if ran { "run" } else { "skip" }, (end - start) / 1e3);
            self.write_trace(&format!("{word} {name} start_us={:.3} length_us={length:.3}", start / 1e3));
        }
        Ok(end)
    }

    /// Runs the twin, unless it was run with the same arguments and nothing came in between; whether it ran.
    fn run_twin(&mut self, launch: &Launch, start: f64) -> Result<bool, u32> {
        let given = self.memory.given(launch.words())?;
        let Some(twin) = launch.twin else { return Ok(false) };
        let name = &launch.kernel.name;
        let kept = self.keeps_runs && !given.host && !self.settings.runs_always(name);
        if kept && self.ran.get(&launch.key) == Some(&self.memory.versions(&given)) {
            return Ok(false);
        }
        // Without a comparison each buffer counts as changed.
        let before =
            if self.keeps_runs { self.memory.hashes(&given) } else { vec![None; given.buffers.len()] };
        let gb_launch = GbLaunch {
            grid: launch.grid,
            block: launch.block,
            shared_bytes: launch.shared_bytes,
            pad: 0,
            globaltimer_ns: start as u64,
            clock64: self.clock.sm_ticks(start),
        };
        // A copy, since a twin could write to its parameters.
        let mut parameters = launch.parameters.clone();
        let base = parameters.as_mut_ptr().cast::<u8>();
        let mut arguments: Vec<_> = launch
            .kernel
            .parameters
            .iter()
            // SAFETY: the buffer was made as large as the last parameter's end.
            .map(|parameter| unsafe { base.add(parameter.offset) }.cast())
            .collect();
        // SAFETY: the twin is the kernel's own source, and is given what the kernel's parameters are.
        unsafe { twin(arguments.as_mut_ptr(), &gb_launch) };
        let versions = self.memory.versions(&given);
        self.memory.after_kernel(&given, &before);
        // A kernel that adds to what it finds never settles.
        if kept && (!self.keeps_settled || versions == self.memory.versions(&given)) {
            // A program that launches with ever new arguments is not to fill the memory.
            if self.ran.len() > 10_000 {
                self.ran.clear();
            }
            self.ran.insert(launch.key.clone(), self.memory.versions(&given));
        }
        Ok(true)
    }
}
