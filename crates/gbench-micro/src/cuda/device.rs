//! One GPU, its memory and its work, behind functions that cannot be misused. Only `api.rs`, `compiler.rs` and `cublas.rs`
//! also touch CUDA.
//!
//! All work goes into one stream, in order. Nothing here runs on a timer or in another thread, so that none of our calls comes
//! between the two events of a sample.

use std::ffi::{CString, c_int, c_uint, c_void};
use std::ptr;
use std::rc::Rc;

use cudarc::driver::sys::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUmodule, CUstream, CUuuid,
};

use super::api::{Api, api, check};
use super::error::CudaError;
use gbench_device_code::display_name;
use gbench_model::KernelLaunch;

type Result<T> = std::result::Result<T, CudaError>;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Facts {
    pub name: String,
    /// Major and minor.
    pub capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    pub l2_bytes: usize,
    /// The maximum, in Hz; 0 if unknown.
    pub sm_clock: f64,
    /// The maximum, in bytes per second between memory and chip; 0 if unknown.
    pub memory_bandwidth: f64,
    /// The driver's version: 12040 is 12.4.
    pub cuda_version: u32,
    /// It shares the host's memory.
    pub integrated: bool,
    /// In NVML's form.
    pub uuid: Option<String>,
    /// The most shared memory of a block, in bytes; 0 if unknown.
    pub shared_bytes: u32,
}

impl Facts {
    /// In the compilers' form.
    pub(super) fn arch(&self) -> String {
        format!("sm_{}{}", self.capability.0, self.capability.1)
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
    /// An attribute of a function.
    pub(super) const MAX_DYNAMIC_SHARED: i32 = 8;
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

    pub(super) fn stream(&self) -> CUstream {
        self.0.stream
    }

    pub(super) fn free_memory(&self) -> Result<usize> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: two places for numbers.
        check("cuMemGetInfo_v2", unsafe { (self.0.api.cuMemGetInfo_v2)(&mut free, &mut total) })?;
        Ok(free)
    }

    /// `bytes` of uninitialised device memory.
    pub(super) fn allocate(&self, bytes: usize) -> Result<Buffer> {
        // The driver refuses an allocation of zero bytes.
        let address = self.address_of(bytes.max(1))?;
        Ok(Buffer { gpu: self.clone(), address, bytes, has_guard: false })
    }

    /// A buffer with [`GUARD`] bytes behind it that are not its own: [`Buffer::is_guard_intact`].
    pub(super) fn allocate_guarded(&self, bytes: usize) -> Result<Buffer> {
        let address = self.address_of(bytes + GUARD.len())?;
        let buffer = Buffer { gpu: self.clone(), address, bytes, has_guard: true };
        buffer.copy_in(bytes, &GUARD)?;
        Ok(buffer)
    }

    fn address_of(&self, bytes: usize) -> Result<CUdeviceptr> {
        let mut address: CUdeviceptr = 0;
        // SAFETY: a place for the address.
        check("cuMemAlloc_v2", unsafe { (self.0.api.cuMemAlloc_v2)(&mut address, bytes) })?;
        Ok(address)
    }

    /// Zeroed, page-locked host memory that the device can read and write, too.
    pub(super) fn shared_words(&self, length: usize) -> Result<SharedWords> {
        const DEVICE_MAP: c_uint = 2;
        let bytes = length * size_of::<u64>();
        let mut host: *mut c_void = ptr::null_mut();
        let mut address: CUdeviceptr = 0;
        // SAFETY: places for the answers; the memory that is written is the driver's own of that many bytes.
        unsafe {
            check("cuMemHostAlloc", (self.0.api.cuMemHostAlloc)(&mut host, bytes, DEVICE_MAP))?;
            ptr::write_bytes(host.cast::<u8>(), 0, bytes);
            let mut words = SharedWords { gpu: self.clone(), host: host.cast(), address, length };
            check(
                "cuMemHostGetDevicePointer_v2",
                (self.0.api.cuMemHostGetDevicePointer_v2)(&mut address, host, 0),
            )?;
            words.address = address;
            Ok(words)
        }
    }

    pub(super) fn module(&self, cubin: &[u8]) -> Result<Module> {
        let mut handle: CUmodule = ptr::null_mut();
        // SAFETY: the driver reads the image by the sizes in it; `compiler::compile` only returns code that
        // `device_code` has parsed completely.
        check("cuModuleLoadData", unsafe {
            (self.0.api.cuModuleLoadData)(&mut handle, cubin.as_ptr().cast())
        })?;
        Ok(Module(Rc::new(Loaded { gpu: self.clone(), handle })))
    }

    /// Queues one launch. `parameters` must match the kernel's in number and size, see [`Function::new`].
    pub(super) fn launch(
        &self,
        function: &Function,
        launch: &KernelLaunch,
        parameters: &Parameters,
    ) -> Result<()> {
        parameters.check(function)?;
        let [x, y, z] = launch.grid;
        let [tx, ty, tz] = launch.block;
        let mut pointers: Vec<*mut c_void> =
            parameters.0.iter().map(|value| ptr::from_ref(&value.bytes).cast_mut().cast()).collect();
        // SAFETY: the driver reads one value per parameter while it queues, and their number and sizes were checked against
        // the kernel's. Memory accesses of the kernel cannot be checked: a wrong pointer is an error of the device or, if the
        // driver maps the host's memory, corrupts this process, which measures nothing else.
        let code = unsafe {
            (self.0.api.cuLaunchKernel)(
                function.handle,
                x,
                y,
                z,
                tx,
                ty,
                tz,
                launch.shared_bytes,
                self.0.stream,
                pointers.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        check("cuLaunchKernel", code)
    }

    /// Queues filling a buffer with one byte.
    pub(super) fn set(&self, buffer: &Buffer, byte: u8) -> Result<()> {
        let api = self.0.api;
        // SAFETY: the buffer has so many bytes.
        check("cuMemsetD8Async", unsafe {
            (api.cuMemsetD8Async)(buffer.address, byte, buffer.bytes, self.0.stream)
        })
    }

    pub(super) fn upload(&self, target: &Buffer, source: &SharedWords) -> Result<()> {
        let bytes = target.bytes.min(source.length * size_of::<u64>());
        // SAFETY: both have so many bytes, and the caller's handles keep them until it has waited.
        check("cuMemcpyHtoDAsync_v2", unsafe {
            (self.0.api.cuMemcpyHtoDAsync_v2)(target.address, source.host.cast(), bytes, self.0.stream)
        })
    }

    pub(super) fn download(&self, target: &SharedWords, source: &Buffer) -> Result<()> {
        let bytes = source.bytes.min(target.length * size_of::<u64>());
        // SAFETY: as of [`CudaDevice::upload`].
        check("cuMemcpyDtoHAsync_v2", unsafe {
            (self.0.api.cuMemcpyDtoHAsync_v2)(target.host.cast(), source.address, bytes, self.0.stream)
        })
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
        if let Some(reset) = self.0.api.cuCtxResetPersistingL2Cache {
            // SAFETY: takes nothing. A card without such a cache refuses, which is as well.
            let _ = unsafe { reset() };
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
        multiprocessors: number(attribute::MULTIPROCESSOR_COUNT)? as u32,
        l2_bytes: number(attribute::L2_CACHE_SIZE)? as usize,
        sm_clock: clock,
        // Two transfers per clock.
        memory_bandwidth: 2.0 * memory_clock * bus_bytes,
        cuda_version: cuda_version(api)?,
        integrated: number(attribute::INTEGRATED).unwrap_or(0.0) > 0.0,
        uuid,
        shared_bytes: number(attribute::MAX_SHARED_OPTIN).unwrap_or(0.0) as u32,
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

/// The bytes behind the buffers of a kernel.
const GUARD: [u8; 512] = [0xa5; 512];

pub(super) struct Buffer {
    gpu: CudaDevice,
    address: CUdeviceptr,
    bytes: usize,
    has_guard: bool,
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: ours, freed once; freeing waits for the work that uses it.
        unsafe { (self.gpu.0.api.cuMemFree_v2)(self.address) };
    }
}

impl Buffer {
    pub(super) fn address(&self) -> CUdeviceptr {
        self.address
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Copies from the host, and waits. Panics if the sizes differ: both are the caller's.
    pub(super) fn write(&self, source: &[u8]) -> Result<()> {
        assert_eq!(source.len(), self.bytes, "a copy of another size");
        self.copy_in(0, source)
    }

    /// Waits, and copies to the host.
    pub(super) fn read(&self) -> Result<Vec<u8>> {
        self.copy_out(0, self.bytes)
    }

    /// Waits. False if something was written behind the buffer.
    pub(super) fn is_guard_intact(&self) -> Result<bool> {
        Ok(!self.has_guard || self.copy_out(self.bytes, GUARD.len())? == GUARD)
    }

    /// `from`: bytes from the beginning. The callers keep within the allocation.
    fn copy_in(&self, from: usize, source: &[u8]) -> Result<()> {
        // Queued work may still use the buffer.
        self.gpu.wait()?;
        let api = self.gpu.0.api;
        // SAFETY: both have so many bytes.
        check("cuMemcpyHtoD_v2", unsafe {
            (api.cuMemcpyHtoD_v2)(self.address + from as CUdeviceptr, source.as_ptr().cast(), source.len())
        })?;
        // From memory that is not page-locked, the call may return before the copy has arrived.
        self.gpu.wait_for_device()
    }

    fn copy_out(&self, from: usize, bytes: usize) -> Result<Vec<u8>> {
        self.gpu.wait()?;
        let mut target = vec![0; bytes];
        let api = self.gpu.0.api;
        // SAFETY: both have so many bytes.
        check("cuMemcpyDtoH_v2", unsafe {
            (api.cuMemcpyDtoH_v2)(target.as_mut_ptr().cast(), self.address + from as CUdeviceptr, bytes)
        })?;
        Ok(target)
    }
}

/// Words that both host and device can access.
pub(super) struct SharedWords {
    gpu: CudaDevice,
    host: *mut u64,
    address: CUdeviceptr,
    length: usize,
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: ours, freed once, after the work that uses it.
        unsafe {
            (self.gpu.0.api.cuStreamSynchronize)(self.gpu.0.stream);
            (self.gpu.0.api.cuMemFreeHost)(self.host.cast());
        }
    }
}

impl SharedWords {
    pub(super) fn set(&self, at: usize, value: u64) {
        assert!(at < self.length, "word {at} of {}", self.length);
        // SAFETY: within the allocation; volatile, because the device looks at it meanwhile.
        unsafe { self.host.add(at).write_volatile(value) };
    }

    pub(super) fn get(&self, at: usize) -> u64 {
        assert!(at < self.length, "word {at} of {}", self.length);
        // SAFETY: as above.
        unsafe { self.host.add(at).read_volatile() }
    }
}

struct Loaded {
    gpu: CudaDevice,
    handle: CUmodule,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: ours; functions of it hold it alive. Waits for work that runs its code.
        unsafe {
            (self.gpu.0.api.cuStreamSynchronize)(self.gpu.0.stream);
            (self.gpu.0.api.cuModuleUnload)(self.handle);
        }
    }
}

#[derive(Clone)]
pub(super) struct Module(Rc<Loaded>);

impl Module {
    /// A kernel by its name in the machine code. `takes`: the sizes of its parameters in bytes, from that code.
    pub(super) fn function(&self, name: &str, takes: Vec<usize>, shared_bytes: u32) -> Result<Function> {
        let api = self.0.gpu.0.api;
        // A name with a NUL does not exist.
        let c_name = CString::new(name).unwrap_or_default();
        let mut handle: CUfunction = ptr::null_mut();
        // SAFETY: a text that ends in NUL, and a place for the handle, which the module outlives.
        unsafe {
            check(
                "cuModuleGetFunction",
                (api.cuModuleGetFunction)(&mut handle, self.0.handle, c_name.as_ptr()),
            )?;
            // More than 48 KiB, including the kernel's own, must be requested.
            if shared_bytes > 0 {
                let set =
                    (api.cuFuncSetAttribute)(handle, attribute::MAX_DYNAMIC_SHARED, shared_bytes as c_int);
                check("cuFuncSetAttribute", set)?;
            }
        }
        Ok(Function { name: name.to_owned(), handle, takes, _module: self.clone() })
    }
}

impl Module {
    /// Bytes of a variable by its name in the machine code; `None`: there is none.
    pub(super) fn variable_bytes(&self, name: &str) -> Option<usize> {
        self.variable(name).ok().map(|(_, bytes)| bytes)
    }

    /// Sets a variable, whose size the caller knows from [`Module::variable_bytes`].
    pub(super) fn set_variable(&self, name: &str, source: &[u8]) -> Result<()> {
        let (address, bytes) = self.variable(name)?;
        assert_eq!(source.len(), bytes, "a value of another size");
        let gpu = &self.0.gpu;
        // SAFETY: both have so many bytes.
        check("cuMemcpyHtoD_v2", unsafe {
            (gpu.0.api.cuMemcpyHtoD_v2)(address, source.as_ptr().cast(), bytes)
        })?;
        gpu.wait_for_device()
    }

    fn variable(&self, name: &str) -> Result<(CUdeviceptr, usize)> {
        let c_name = CString::new(name).unwrap_or_default();
        let (mut address, mut bytes): (CUdeviceptr, usize) = (0, 0);
        // SAFETY: a text that ends in NUL, and places for the answers.
        check("cuModuleGetGlobal_v2", unsafe {
            let api = self.0.gpu.0.api;
            (api.cuModuleGetGlobal_v2)(&mut address, &mut bytes, self.0.handle, c_name.as_ptr())
        })?;
        Ok((address, bytes))
    }
}

pub(super) struct Function {
    name: String,
    handle: CUfunction,
    takes: Vec<usize>,
    _module: Module,
}

/// The value of a parameter: at most eight bytes, little-endian.
#[derive(Clone, Copy)]
struct Value {
    bytes: u64,
    size: usize,
}

#[derive(Clone, Default)]
pub(super) struct Parameters(Vec<Value>);

impl Parameters {
    pub(super) fn buffer(mut self, buffer: &Buffer) -> Self {
        self.0.push(Value { bytes: buffer.address, size: size_of::<CUdeviceptr>() });
        self
    }

    pub(super) fn shared(mut self, words: &SharedWords, at: usize) -> Self {
        let address = words.address + (at * size_of::<u64>()) as CUdeviceptr;
        self.0.push(Value { bytes: address, size: size_of::<CUdeviceptr>() });
        self
    }

    /// A number as bytes, eight at most.
    pub(super) fn scalar(mut self, bytes: &[u8]) -> Self {
        let mut value = [0; 8];
        let size = bytes.len().min(value.len());
        value[..size].copy_from_slice(&bytes[..size]);
        self.0.push(Value { bytes: u64::from_le_bytes(value), size });
        self
    }

    fn check(&self, function: &Function) -> Result<()> {
        let given = || self.0.iter().map(|value| value.size);
        if given().eq(function.takes.iter().copied()) {
            return Ok(());
        }
        let kernel = display_name(&function.name);
        Err(CudaError::Parameters { kernel, takes: function.takes.clone(), given: given().collect() })
    }
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
