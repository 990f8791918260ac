//! One GPU and its stream, behind functions that cannot be misused; its memory is in `buffers.rs`, its code in `modules.rs`. Only
//! these, `api.rs`, `compiler.rs` and `cublas.rs` touch CUDA.
//!
//! All work goes into one stream, in order. Nothing here runs on a timer or in another thread, so that none of our calls comes
//! between the two events of a sample.

use std::ffi::{c_int, c_uint};
use std::ptr;
use std::rc::Rc;

use cudarc::driver::sys::{CUcontext, CUdevice, CUevent, CUgraph, CUgraphExec, CUstream, CUuuid};

use super::api::{Api, api, check};
use super::error::CudaError;
use super::hip;

type Result<T> = std::result::Result<T, CudaError>;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Facts {
    pub name: String,
    /// Major and minor; zeros on AMD's cards.
    pub capability: (u32, u32),
    /// Of AMD's cards, if known: `gfx942`, also with features.
    pub gfx: Option<String>,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    pub l2_bytes: usize,
    /// The maximum, in Hz; 0 if unknown.
    pub sm_clock: f64,
    /// The maximum, in bytes per second between memory and chip; 0 if unknown.
    pub memory_bandwidth: f64,
    /// The driver's version: 12040 is 12.4. Of HIP: 50_221_153 is 5.2.
    pub cuda_version: u32,
    /// It shares the host's memory.
    pub integrated: bool,
    /// In NVML's form.
    pub uuid: Option<String>,
    /// The most shared memory of a block, in bytes; 0 if unknown.
    pub shared_bytes: u32,
    /// A part of the L2 cache can be claimed.
    pub persisting_l2: bool,
}

impl Facts {
    /// In the compilers' form.
    pub(super) fn arch(&self) -> String {
        match &self.gfx {
            Some(gfx) => gfx.clone(),
            None => format!("sm_{}{}", self.capability.0, self.capability.1),
        }
    }

    /// Also with the features of this card only: from 9.0 on such code does not run on later cards, and need not.
    pub(super) fn own_arch(&self) -> String {
        let own = if self.capability.0 >= 9 { "a" } else { "" };
        format!("{}{own}", self.arch())
    }
}

mod attribute {
    pub(super) const CLOCK_RATE: i32 = 13;
    pub(super) const MULTIPROCESSOR_COUNT: i32 = 16;
    pub(super) const INTEGRATED: i32 = 18;
    pub(super) const MEMORY_CLOCK_RATE: i32 = 36;
    pub(super) const MEMORY_BUS_WIDTH: i32 = 37;
    pub(super) const L2_CACHE_SIZE: i32 = 38;
    pub(super) const CAPABILITY_MAJOR: i32 = 75;
    pub(super) const CAPABILITY_MINOR: i32 = 76;
    pub(super) const MAX_SHARED_OPTIN: i32 = 97;
    pub(super) const MAX_PERSISTING_L2: i32 = 108;
}

/// Those of `hipDeviceAttribute_t`, from version 5 on.
mod hip_attribute {
    pub(super) const INTEGRATED: i32 = 16;
    pub(super) const L2_CACHE_SIZE: i32 = 19;
    pub(super) const MULTIPROCESSOR_COUNT: i32 = 63;
    pub(super) const MAX_SHARED: i32 = 74;
}

/// The first GPU visible to CUDA, its primary context and one stream.
#[derive(Clone)]
pub(super) struct CudaDevice(Rc<Open>);

struct Open {
    api: &'static Api,
    device: CUdevice,
    stream: CUstream,
    facts: Facts,
}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: both are ours and given back once; what was made in them holds this alive.
        unsafe {
            (self.api.cuStreamDestroy_v2)(self.stream);
            (self.api.cuDevicePrimaryCtxRelease_v2)(self.device);
        }
    }
}

impl CudaDevice {
    /// Errors: no driver, an old one, no device, or an error of the driver.
    pub(super) fn open() -> Result<Self> {
        let api = api()?;
        // SAFETY: the calls get places for their answers, of the types of `cuda.h`, that live as long as the calls; handles
        // are used only after the call that gives them.
        unsafe {
            check("cuInit", (api.cuInit)(0))?;
            let mut count: c_int = 0;
            check("cuDeviceGetCount", (api.cuDeviceGetCount)(&mut count))?;
            if count < 1 && hip::is_used() {
                return Err(CudaError::NoHipDevice);
            }
            if count < 1 {
                return Err(CudaError::NoDevice);
            }
            let mut device: CUdevice = 0;
            check("cuDeviceGet", (api.cuDeviceGet)(&mut device, 0))?;
            let facts = facts(api, device)?;
            let mut context: CUcontext = ptr::null_mut();
            check("cuDevicePrimaryCtxRetain", (api.cuDevicePrimaryCtxRetain)(&mut context, device))?;
            check("cuCtxSetCurrent", (api.cuCtxSetCurrent)(context))?;
            let mut stream: CUstream = ptr::null_mut();
            // Does not synchronise with the default stream, which is unused.
            const NON_BLOCKING: c_uint = 1;
            check("cuStreamCreate", (api.cuStreamCreate)(&mut stream, NON_BLOCKING))?;
            Ok(Self(Rc::new(Open { api, device, stream, facts })))
        }
    }

    pub(super) fn facts(&self) -> &Facts {
        &self.0.facts
    }

    pub(super) fn api(&self) -> &'static Api {
        self.0.api
    }

    pub(super) fn stream(&self) -> CUstream {
        self.0.stream
    }

    pub(super) fn free_memory(&self) -> Result<usize> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: two places for numbers.
        check("cuMemGetInfo_v2", unsafe { (self.0.api.cuMemGetInfo_v2)(&mut free, &mut total) })?;
        Ok(free)
    }

    pub(super) fn wait(&self) -> Result<()> {
        // SAFETY: the stream is ours.
        check("cuStreamSynchronize", unsafe { (self.0.api.cuStreamSynchronize)(self.0.stream) })
    }

    /// Waits for everything on the device, in any stream.
    pub(super) fn wait_for_device(&self) -> Result<()> {
        // SAFETY: takes nothing; the context is current.
        check("cuCtxSynchronize", unsafe { (self.0.api.cuCtxSynchronize)() })
    }

    /// Releases lines of the L2 cache that a kernel has claimed, if the driver can.
    pub(super) fn reset_persisting_l2(&self) {
        // A card without such a cache refuses, which `compute-sanitizer` would report as an error.
        if let Some(reset) = self.0.api.cuCtxResetPersistingL2Cache.filter(|_| self.facts().persisting_l2) {
            // SAFETY: takes nothing.
            _ = unsafe { reset() };
        }
    }

    pub(super) fn event(&self) -> Result<StreamEvent> {
        let mut handle: CUevent = ptr::null_mut();
        // SAFETY: a place for the handle. Flags 0: with time.
        check("cuEventCreate", unsafe { (self.0.api.cuEventCreate)(&mut handle, 0) })?;
        Ok(StreamEvent { gpu: self.clone(), handle })
    }

    pub(super) fn record(&self, event: &StreamEvent) -> Result<()> {
        // SAFETY: both handles live.
        check("cuEventRecord", unsafe { (self.0.api.cuEventRecord)(event.handle, self.0.stream) })
    }

    /// Seconds between two recorded events that have completed.
    pub(super) fn seconds_between(&self, begin: &StreamEvent, end: &StreamEvent) -> Result<f64> {
        let mut milliseconds = 0.0_f32;
        // SAFETY: both handles live, and a place for the number.
        check("cuEventElapsedTime", unsafe {
            (self.0.api.cuEventElapsedTime)(&mut milliseconds, begin.handle, end.handle)
        })?;
        Ok(f64::from(milliseconds) / 1e3)
    }

    /// The work that `queue` queues, as a graph; `None` if the driver has no graphs.
    pub(super) fn graph(&self, queue: impl FnOnce() -> Result<()>) -> Result<Option<Graph>> {
        let api = self.0.api;
        let (
            Some(begin),
            Some(end),
            Some(instantiate),
            Some(launch),
            Some(destroy),
            Some(destroy_executable),
        ) = (
            api.cuStreamBeginCapture_v2,
            api.cuStreamEndCapture,
            api.cuGraphInstantiateWithFlags,
            api.cuGraphLaunch,
            api.cuGraphDestroy,
            api.cuGraphExecDestroy,
        )
        else {
            return Ok(None);
        };
        // Calls of other threads are unaffected; there are none.
        const THREAD_LOCAL: c_uint = 1;
        let mut graph: CUgraph = ptr::null_mut();
        let mut handle: CUgraphExec = ptr::null_mut();
        // SAFETY: the stream is ours; the capture is ended whatever happens in between; places for the handles.
        unsafe {
            check("cuStreamBeginCapture_v2", begin(self.0.stream, THREAD_LOCAL))?;
            let queued = queue();
            let ended = check("cuStreamEndCapture", end(self.0.stream, &mut graph));
            queued?;
            ended?;
            let made = check("cuGraphInstantiateWithFlags", instantiate(&mut handle, graph, 0));
            destroy(graph);
            made?;
        }
        Ok(Some(Graph { gpu: self.clone(), handle, launch, destroy: destroy_executable }))
    }
}

/// Every GPU visible to CUDA, with the bytes of its memory, if known. Opens no context.
pub(super) fn all_facts() -> Result<Vec<(Facts, Option<u64>)>> {
    let api = api()?;
    // SAFETY: as in `CudaDevice::open`.
    unsafe {
        check("cuInit", (api.cuInit)(0))?;
        let mut count: c_int = 0;
        check("cuDeviceGetCount", (api.cuDeviceGetCount)(&mut count))?;
        let one = |number| {
            let mut device: CUdevice = 0;
            check("cuDeviceGet", (api.cuDeviceGet)(&mut device, number))?;
            let mut bytes = 0;
            let total = api.cuDeviceTotalMem_v2.filter(|ask| ask(&mut bytes, device) == 0);
            Ok((facts(api, device)?, total.map(|_| bytes as u64)))
        };
        (0..count).map(one).collect()
    }
}

/// SAFETY: the device's number comes from the driver.
unsafe fn facts(api: &Api, device: CUdevice) -> Result<Facts> {
    let number = |attribute: i32| {
        let mut value: c_int = 0;
        // SAFETY: a place for the number.
        let code = unsafe { (api.cuDeviceGetAttribute)(&mut value, attribute, device) };
        check("cuDeviceGetAttribute", code).map(|()| f64::from(value.max(0)))
    };
    let mut name = [0_u8; 256];
    // SAFETY: the name has so many bytes.
    let code = unsafe { (api.cuDeviceGetName)(name.as_mut_ptr().cast(), name.len() as c_int, device) };
    check("cuDeviceGetName", code)?;
    let name = String::from_utf8_lossy(name.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned();
    if hip::is_used() {
        return Ok(Facts {
            name,
            capability: (0, 0),
            gfx: Some(hip::arch(device).ok_or(CudaError::OldHip { missing: vec!["gcnArchName"] })?),
            multiprocessors: number(hip_attribute::MULTIPROCESSOR_COUNT)? as u32,
            l2_bytes: number(hip_attribute::L2_CACHE_SIZE)? as usize,
            // The peaks of AMD's cards do not follow from their clocks as NVIDIA's do.
            sm_clock: 0.0,
            memory_bandwidth: 0.0,
            cuda_version: cuda_version(api)?,
            integrated: number(hip_attribute::INTEGRATED).unwrap_or(0.0) > 0.0,
            uuid: None,
            persisting_l2: false,
            shared_bytes: number(hip_attribute::MAX_SHARED).unwrap_or(0.0) as u32,
        });
    }
    // Newer drivers report 0 for the two clocks.
    let clock = number(attribute::CLOCK_RATE).unwrap_or(0.0) * 1e3;
    let memory_clock = number(attribute::MEMORY_CLOCK_RATE).unwrap_or(0.0) * 1e3;
    let bus_bytes = number(attribute::MEMORY_BUS_WIDTH).unwrap_or(0.0) / 8.0;
    let uuid = uuid(api, device, name.contains(SLICE));
    Ok(Facts {
        name,
        capability: (
            number(attribute::CAPABILITY_MAJOR)? as u32,
            number(attribute::CAPABILITY_MINOR)? as u32,
        ),
        gfx: None,
        multiprocessors: number(attribute::MULTIPROCESSOR_COUNT)? as u32,
        l2_bytes: number(attribute::L2_CACHE_SIZE)? as usize,
        sm_clock: clock,
        // Two transfers per clock.
        memory_bandwidth: 2.0 * memory_clock * bus_bytes,
        cuda_version: cuda_version(api)?,
        integrated: number(attribute::INTEGRATED).unwrap_or(0.0) > 0.0,
        uuid,
        shared_bytes: number(attribute::MAX_SHARED_OPTIN).unwrap_or(0.0) as u32,
        persisting_l2: number(attribute::MAX_PERSISTING_L2).unwrap_or(0.0) > 0.0,
    })
}

/// The newest CUDA that the driver supports: 12040 for 12.4. Needs no device.
pub(super) fn cuda_version(api: &Api) -> Result<u32> {
    let mut version = 0;
    // SAFETY: a place for the number.
    check("cuDriverGetVersion", unsafe { (api.cuDriverGetVersion)(&mut version) })?;
    Ok(version.max(0) as u32)
}

/// In the name of a slice, before its profile: `NVIDIA H100 80GB HBM3 MIG 1g.10gb`.
const SLICE: &str = " MIG ";

/// In NVML's form: `GPU-`, or `MIG-` for a slice, and 16 bytes in five groups; `None` if unknown.
fn uuid(api: &Api, device: CUdevice, is_slice: bool) -> Option<String> {
    let ask = api.cuDeviceGetUuid_v2.or(api.cuDeviceGetUuid)?;
    let mut uuid = CUuuid { bytes: [0; 16] };
    // SAFETY: a place for 16 bytes.
    if unsafe { ask(&mut uuid, device) } != 0 {
        return None;
    }
    let hex: String = uuid.bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect();
    let kind = if is_slice { "MIG" } else { "GPU" };
    Some(format!("{kind}-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

pub(super) struct StreamEvent {
    gpu: CudaDevice,
    handle: CUevent,
}

impl Drop for StreamEvent {
    fn drop(&mut self) {
        // SAFETY: ours, given back once.
        unsafe { (self.gpu.0.api.cuEventDestroy_v2)(self.handle) };
    }
}

/// Recorded work that one call queues.
pub(super) struct Graph {
    gpu: CudaDevice,
    handle: CUgraphExec,
    launch: unsafe extern "C" fn(CUgraphExec, CUstream) -> c_uint,
    destroy: unsafe extern "C" fn(CUgraphExec) -> c_uint,
}

impl Graph {
    pub(super) fn launch(&self) -> Result<()> {
        // SAFETY: the handle lives, and what it refers to is the caller's, who keeps it.
        check("cuGraphLaunch", unsafe { (self.launch)(self.handle, self.gpu.0.stream) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: ours, given back once, after its last run.
        unsafe {
            (self.gpu.0.api.cuStreamSynchronize)(self.gpu.0.stream);
            (self.destroy)(self.handle);
        }
    }
}
