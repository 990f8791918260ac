//! The one driver of the process: its state, and what comes before every call.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};

use crate::clock::Clock;
use crate::device;
use crate::elf::{Cubin, Kernel};
use crate::memory::Memory;
use crate::queue::{Command, Mark, Stream};
use crate::settings::Settings;
use crate::twins::{Twin, Twins};
use crate::{INVALID_HANDLE, INVALID_VALUE};

const NOT_INITIALIZED: u32 = 3;
const INVALID_CONTEXT: u32 = 201;
const CONTEXT_IS_DESTROYED: u32 = 709;
const UNKNOWN: u32 = 999;

/// Errors of the device's own time: they come up at the next call that waits, and the context is of no use after them.
const OF_THE_DEVICE: &[u32] = &[700, 702, 710, 714, 715, 716, 717, 718, 719];

/// Calls that answer before the device has done what they ask for.
const QUEUEING: &[&str] = &[
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemsetD8Async",
    "cuMemsetD32Async",
    "cuMemsetD8_v2",
    "cuEventRecord",
    "cuGraphLaunch",
    "cuStreamWaitEvent",
];
/// Calls that wait for the device, or look at how far it is.
const WAITING: &[&str] = &[
    "cuCtxSynchronize",
    "cuStreamSynchronize",
    "cuStreamQuery",
    "cuEventSynchronize",
    "cuEventQuery",
    "cuMemcpyHtoD_v2",
    "cuMemcpyDtoH_v2",
    "cuMemFree_v2",
    "cuMemFreeHost",
    "cuModuleUnload",
];
/// Calls that answer whatever happened to the device.
const ALWAYS: &[&str] = &[
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGetExportTable",
    "cuGetProcAddress_v2",
    "cuCtxGetCurrent",
    "cuStreamDestroy_v2",
    "cuEventDestroy_v2",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuDevicePrimaryCtxRelease_v2",
];
/// Calls that need no `cuInit`.
const BEFORE_INIT: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGetExportTable",
    "cuGetProcAddress_v2",
];

/// `Err` holds the code that the call answers.
pub type Answer = Result<(), u32>;

pub struct Event {
    pub timed: bool,
    pub mark: Option<Arc<Mark>>,
    /// It was recorded last in a stream that was captured, so that it has no time.
    pub captured: bool,
}

pub struct Function {
    pub module: usize,
    pub kernel: Arc<Kernel>,
    /// Looked for at the first launch.
    pub twin: Option<Option<Twin>>,
    /// What `cuFuncSetAttribute` allows of dynamic shared memory.
    pub dynamic: Option<u32>,
    /// It allows clusters of more than 8 blocks.
    pub large_clusters: bool,
}

pub struct Driver {
    pub settings: Settings,
    pub clock: Clock,
    pub memory: Memory,
    pub twins: Twins,
    pub trace: Option<File>,
    /// What the call that runs now says of itself in the trace.
    note: String,
    /// A kernel is not run again while nothing changed.
    pub keeps_runs: bool,
    /// It is, until a run has changed nothing.
    pub keeps_settled: bool,
    /// Versions of the buffers after a launch, by its key.
    pub ran: HashMap<Vec<u8>, Vec<u64>>,
    calls: BTreeMap<&'static str, u64>,
    /// Calls that a lost device would not answer.
    counted: u64,
    pub initialised: bool,
    begun: bool,
    /// The devices that this process sees, by their number in the machine.
    pub devices: Vec<usize>,
    /// How often each device's primary context is held.
    pub held: Vec<u32>,
    /// The locked file of a device in exclusive mode, while this process has a context on it.
    pub exclusive: BTreeMap<usize, File>,
    sticky: Option<u32>,
    /// An error of the device that no call has seen yet.
    pending: Option<u32>,
    pub streams: BTreeMap<usize, Stream>,
    pub events: BTreeMap<usize, Event>,
    pub modules: BTreeMap<usize, (Arc<Cubin>, usize)>,
    pub functions: BTreeMap<usize, Function>,
    pub graphs: BTreeMap<usize, Arc<Vec<Command>>>,
    /// Graphs that are ready to be launched.
    pub executables: BTreeMap<usize, Arc<Vec<Command>>>,
    pub order: u64,
    last_handle: usize,
}

thread_local! {
    /// The thread's current context: the device's index plus one.
    static CURRENT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A handle that is a context: of no other kind, and never null.
const CONTEXTS: usize = 0x00c0_0000;

pub fn set_current(context: usize) -> Answer {
    match context {
        0 => CURRENT.set(0),
        _ if context > CONTEXTS && context <= CONTEXTS + 64 => CURRENT.set(context - CONTEXTS),
        _ => return Err(INVALID_CONTEXT),
    }
    Ok(())
}

pub fn current() -> usize {
    match CURRENT.get() {
        0 => 0,
        device => CONTEXTS + device,
    }
}

pub fn context_of(device: usize) -> usize {
    CONTEXTS + device + 1
}

fn driver() -> &'static Mutex<Driver> {
    static DRIVER: OnceLock<Mutex<Driver>> = OnceLock::new();
    DRIVER.get_or_init(|| Mutex::new(Driver::new()))
}

/// Every exported function runs through here: it is counted and traced, and fails or hangs where the settings say so.
pub fn enter(name: &'static str, body: impl FnOnce(&mut Driver) -> Answer) -> u32 {
    // Only a panic would poison it, and a panic ends the process.
    let Ok(mut driver) = driver().lock() else { return UNKNOWN };
    let call = driver.count(name);
    if driver.settings.hangs(name, call) {
        driver.write_trace(&format!("{name} hangs"));
        // Other threads go on; this one is ended with the process.
        drop(driver);
        loop {
            std::thread::sleep(std::time::Duration::from_secs(3600));
        }
    }
    driver.note.clear();
    let answer = match driver.before(name, call) {
        Ok(true) => body(&mut driver),
        Ok(false) => Ok(()),
        Err(code) => Err(code),
    };
    let code = answer.err().unwrap_or(0);
    if OF_THE_DEVICE.contains(&code) {
        driver.sticky = Some(code);
    }
    if driver.trace.is_some() {
        let note = std::mem::take(&mut driver.note);
        let blank = if note.is_empty() { "" } else { " " };
        driver.write_trace(&format!("{name}{blank}{note} -> {code}"));
    }
    code
}

impl Driver {
    fn new() -> Self {
        let settings = Settings::read(&crate::exports::names());
        let clock = Clock::new(&settings);
        let trace = settings
            .text("trace")
            .and_then(|path| std::fs::OpenOptions::new().append(true).create(true).open(path).ok());
        let keeps_runs = match settings.text("run") {
            Some("always") => false,
            Some("changed" | "settled") => true,
            Some(other) => {
                eprintln!("fake_cuda: no such run: {other}");
                std::process::abort()
            }
            None => clock.is_virtual(),
        };
        let twins = Twins::new(settings.text("twins") == Some("none"));
        let devices = device::visible(settings.number("count", 1.0) as usize);
        let streams = (0..devices.len()).map(|device| (device, Stream::new(device, 0, true))).collect();
        Self {
            clock,
            memory: Memory::default(),
            twins,
            trace,
            note: String::new(),
            keeps_runs,
            keeps_settled: settings.text("run") == Some("settled"),
            ran: HashMap::new(),
            calls: BTreeMap::new(),
            counted: 0,
            initialised: false,
            begun: false,
            held: vec![0; devices.len()],
            exclusive: BTreeMap::new(),
            devices,
            sticky: None,
            pending: None,
            streams,
            events: BTreeMap::new(),
            modules: BTreeMap::new(),
            functions: BTreeMap::new(),
            graphs: BTreeMap::new(),
            executables: BTreeMap::new(),
            order: 0,
            last_handle: 0x1000,
            settings,
        }
    }

    /// The newest CUDA that it serves: 12040 for 12.4.
    pub fn version(&self) -> u32 {
        let usual = if cfg!(old_driver) { 10_020.0 } else { 13_000.0 };
        self.settings.number("driver", usual) as u32
    }

    /// Of a card of AMD's.
    pub fn arch(&self) -> String {
        self.settings.text("gfx").unwrap_or("gfx90a").to_owned()
    }

    fn count(&mut self, name: &'static str) -> u64 {
        self.counted += u64::from(!ALWAYS.contains(&name));
        let calls = self.calls.entry(name).or_insert(0);
        *calls += 1;
        *calls
    }

    /// Whether the call is to be done at all; a launch that the settings make fail later is not.
    fn before(&mut self, name: &str, call: u64) -> Result<bool, u32> {
        let always = ALWAYS.contains(&name);
        if self.settings.lost().is_some_and(|first| self.counted >= first) {
            self.sticky.get_or_insert(UNKNOWN);
        }
        if WAITING.contains(&name)
            && let Some(code) = self.pending.take()
        {
            self.sticky.get_or_insert(code);
        }
        if let Some(code) = self.sticky.filter(|_| !always) {
            return Err(code);
        }
        if let Some(fault) = self.settings.faults.get(name).copied().filter(|fault| fault.hits(call)) {
            if OF_THE_DEVICE.contains(&fault.code) && QUEUEING.contains(&name) {
                self.pending.get_or_insert(fault.code);
                return Ok(false);
            }
            return Err(fault.code);
        }
        // Nothing runs behind a command that failed.
        if self.pending.is_some() && QUEUEING.contains(&name) {
            return Ok(false);
        }
        if !self.initialised && !BEFORE_INIT.contains(&name) {
            return Err(NOT_INITIALIZED);
        }
        Ok(true)
    }

    /// What the trace says of the call that runs now.
    pub fn note(&mut self, text: impl FnOnce() -> String) {
        if self.trace.is_some() {
            self.note = text();
        }
    }

    pub fn note_more(&mut self, text: &str) {
        self.note.push_str(text);
    }

    pub fn write_trace(&mut self, line: &str) {
        if let Some(file) = &mut self.trace {
            // One write a line, since several processes may append to the file. A test sees a line that is missing.
            _ = file.write_all(format!("{line}\n").as_bytes());
        }
    }

    pub fn initialise(&mut self) {
        self.initialised = true;
        if !std::mem::replace(&mut self.begun, true) {
            self.clock.begin(&self.settings);
        }
    }

    pub fn new_handle(&mut self) -> usize {
        self.last_handle += 16;
        self.last_handle
    }

    /// The device of the thread's current context.
    pub fn context(&self) -> Result<usize, u32> {
        match CURRENT.get() {
            0 => Err(INVALID_CONTEXT),
            device if self.held.get(device - 1).is_some_and(|held| *held > 0) => Ok(device - 1),
            _ => Err(CONTEXT_IS_DESTROYED),
        }
    }

    /// A device by the number that a caller gives. Errors: there is none.
    pub fn device(&self, number: i32) -> Result<usize, u32> {
        const INVALID_DEVICE: u32 = 101;
        usize::try_from(number).ok().filter(|index| *index < self.devices.len()).ok_or(INVALID_DEVICE)
    }

    /// A stream by its handle; null is the current device's default stream.
    pub fn stream(&self, handle: usize) -> Result<usize, u32> {
        const LEGACY_AND_PER_THREAD: std::ops::RangeInclusive<usize> = 0..=2;
        let device = self.context()?;
        if LEGACY_AND_PER_THREAD.contains(&handle) {
            return Ok(device);
        }
        if self.streams.contains_key(&handle) { Ok(handle) } else { Err(INVALID_HANDLE) }
    }

    pub fn event(&mut self, handle: usize) -> Result<&mut Event, u32> {
        self.events.get_mut(&handle).ok_or(INVALID_HANDLE)
    }

    /// The end of a device's primary context: its memory and its errors go with it.
    pub fn end_context(&mut self, device: usize) {
        self.exclusive.remove(&device);
        self.drop_queues(device);
        self.memory.free_all(device);
        (self.sticky, self.pending) = (None, None);
        let gone: Vec<usize> =
            self.modules.iter().filter(|(_, (_, of))| *of == device).map(|(handle, _)| *handle).collect();
        for module in gone {
            self.modules.remove(&module);
            self.functions.retain(|_, function| function.module != module);
        }
        self.streams.retain(|handle, stream| *handle < self.devices.len() || stream.device != device);
    }
}

/// Writes an answer where the caller wants it. Errors: the caller gave no place.
///
/// # Safety
/// `place` is null or can be written.
pub unsafe fn put<T>(place: *mut T, value: T) -> Answer {
    if place.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    unsafe { place.write(value) };
    Ok(())
}
