//! Loaded code, its kernels and variables, and launches.

use std::ffi::{CString, c_int, c_uint, c_void};
use std::ptr;
use std::rc::Rc;

use cudarc::driver::sys::{CUdeviceptr, CUfunction, CUmodule};

use super::api::{LaunchAttribute, LaunchConfig, check};
use super::buffers::{Buffer, SharedWords};
use super::device::CudaDevice;
use super::error::CudaError;
use gbench_device_code::display_name;
use gbench_model::{KernelCode, KernelLaunch};

type Result<T> = std::result::Result<T, CudaError>;

impl CudaDevice {
    /// Loads a cubin, or PTX that ends in NUL.
    pub(super) fn module(&self, code: &[u8]) -> Result<Module> {
        let mut handle: CUmodule = ptr::null_mut();
        // SAFETY: the driver reads the code by the sizes in it; `compiler::compile` and `KernelImage::load` only pass on what
        // `device_code` has parsed completely.
        check("cuModuleLoadData", unsafe {
            (self.api().cuModuleLoadData)(&mut handle, code.as_ptr().cast())
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
        let mut pointers: Vec<*mut c_void> =
            parameters.0.iter().map(|value| value.words.as_ptr().cast_mut().cast()).collect();
        if launch.cluster.is_some() || launch.cooperative {
            return self.launch_with_attributes(function, launch, &mut pointers);
        }
        let [x, y, z] = launch.grid;
        let [tx, ty, tz] = launch.block;
        // SAFETY: the driver reads one value per parameter while it queues, and their number and sizes were checked against
        // the kernel's. Memory accesses of the kernel cannot be checked: a wrong pointer is an error of the device or, if the
        // driver maps the host's memory, corrupts this process, which measures nothing else.
        let code = unsafe {
            (self.api().cuLaunchKernel)(
                function.handle,
                x,
                y,
                z,
                tx,
                ty,
                tz,
                launch.shared_bytes,
                self.stream(),
                pointers.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        check("cuLaunchKernel", code)
    }

    fn launch_with_attributes(
        &self,
        function: &Function,
        launch: &KernelLaunch,
        pointers: &mut [*mut c_void],
    ) -> Result<()> {
        const COOPERATIVE: c_uint = 2;
        const CLUSTER: c_uint = 4;
        let Some(launch_ex) = self.api().cuLaunchKernelEx else {
            return Err(CudaError::OldDriver { missing: vec!["cuLaunchKernelEx"] });
        };
        let attribute = |id, set: &[c_uint]| {
            let mut value = [0; 16];
            value[..set.len()].copy_from_slice(set);
            LaunchAttribute { id, pad: 0, value }
        };
        let cluster = launch.cluster.map(|cluster| attribute(CLUSTER, &cluster));
        let cooperative = launch.cooperative.then(|| attribute(COOPERATIVE, &[1]));
        let attributes: Vec<LaunchAttribute> = cluster.into_iter().chain(cooperative).collect();
        let config = LaunchConfig {
            grid: launch.grid,
            block: launch.block,
            shared_bytes: launch.shared_bytes,
            stream: self.stream(),
            attributes: attributes.as_ptr(),
            count: attributes.len() as c_uint,
        };
        // SAFETY: as in [`CudaDevice::launch`]; the attributes live as long as the call.
        check("cuLaunchKernelEx", unsafe {
            launch_ex(&config, function.handle, pointers.as_mut_ptr(), ptr::null_mut())
        })
    }
}

/// Larger clusters are possible on some cards.
const PORTABLE_CLUSTER: u32 = 8;

mod attribute {
    pub(super) const SHARED_BYTES: i32 = 1;
    pub(super) const FRAME_BYTES: i32 = 3;
    pub(super) const REGISTERS: i32 = 4;
    pub(super) const MAX_DYNAMIC_SHARED: i32 = 8;
    pub(super) const NON_PORTABLE_CLUSTER: i32 = 14;
}

struct Loaded {
    gpu: CudaDevice,
    handle: CUmodule,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: ours; functions of it hold it alive. Waits for work that runs its code.
        unsafe {
            (self.gpu.api().cuStreamSynchronize)(self.gpu.stream());
            (self.gpu.api().cuModuleUnload)(self.handle);
        }
    }
}

#[derive(Clone)]
pub(super) struct Module(Rc<Loaded>);

impl Module {
    /// A kernel by its name in the machine code, for launches of this kind. `takes`: the sizes of its parameters in bytes, from
    /// that code. Errors: it does not exist, or the card cannot launch it so.
    pub(super) fn function(&self, name: &str, takes: Vec<usize>, launch: &KernelLaunch) -> Result<Function> {
        let gpu = &self.0.gpu;
        let (api, capability) = (gpu.api(), gpu.facts().capability);
        if launch.cluster.is_some() && capability.0 < 9 {
            return Err(CudaError::OldCard { what: "clusters", capability });
        }
        // A name with a NUL does not exist.
        let c_name = CString::new(name).unwrap_or_default();
        let mut handle: CUfunction = ptr::null_mut();
        // SAFETY: a text that ends in NUL, and a place for the handle, which the module outlives.
        unsafe {
            check(
                "cuModuleGetFunction",
                (api.cuModuleGetFunction)(&mut handle, self.0.handle, c_name.as_ptr()),
            )?;
            // HIP's function is for functions of the host; a block there has all shared memory without it.
            let set = |attribute, value: u32| match api.cuFuncSetAttribute {
                Some(set) => check("cuFuncSetAttribute", set(handle, attribute, value as c_int)),
                None => Ok(()),
            };
            // More than 48 KiB, including the kernel's own, must be requested.
            if launch.shared_bytes > 0 {
                set(attribute::MAX_DYNAMIC_SHARED, launch.shared_bytes)?;
            }
            if launch.cluster.is_some_and(|it| it.iter().product::<u32>() > PORTABLE_CLUSTER) {
                set(attribute::NON_PORTABLE_CLUSTER, 1)?;
            }
        }
        if launch.cooperative {
            check_residency(gpu, handle, launch)?;
        }
        Ok(Function { name: name.to_owned(), handle, takes, module: self.clone() })
    }
}

/// Errors: the blocks of a cooperative launch do not fit on the card at once.
fn check_residency(gpu: &CudaDevice, function: CUfunction, launch: &KernelLaunch) -> Result<()> {
    // A driver that does not tell refuses the launch.
    let Some(occupancy) = gpu.api().cuOccupancyMaxActiveBlocksPerMultiprocessor else { return Ok(()) };
    let threads: u32 = launch.block.iter().product();
    let mut each = 0;
    // SAFETY: a place for the number, and the function is of a module that lives.
    check("cuOccupancyMaxActiveBlocksPerMultiprocessor", unsafe {
        occupancy(&mut each, function, threads as c_int, launch.shared_bytes as usize)
    })?;
    let most = u64::from(each.unsigned_abs()) * u64::from(gpu.facts().multiprocessors);
    let blocks = launch.grid.iter().map(|axis| u64::from(*axis)).product();
    if blocks > most { Err(CudaError::TooManyBlocks { blocks, most }) } else { Ok(()) }
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
            (gpu.api().cuMemcpyHtoD_v2)(address, source.as_ptr().cast(), bytes)
        })?;
        gpu.wait_for_device()
    }

    fn variable(&self, name: &str) -> Result<(CUdeviceptr, usize)> {
        let c_name = CString::new(name).unwrap_or_default();
        let (mut address, mut bytes): (CUdeviceptr, usize) = (0, 0);
        // SAFETY: a text that ends in NUL, and places for the answers.
        check("cuModuleGetGlobal_v2", unsafe {
            let api = self.0.gpu.api();
            (api.cuModuleGetGlobal_v2)(&mut address, &mut bytes, self.0.handle, c_name.as_ptr())
        })?;
        Ok((address, bytes))
    }
}

pub(super) struct Function {
    name: String,
    handle: CUfunction,
    takes: Vec<usize>,
    module: Module,
}

impl Function {
    /// Adds the figures that only the driver knows, of code that it has compiled from PTX.
    pub(super) fn complete(&self, kernel: &mut KernelCode) {
        if kernel.registers.is_none() {
            kernel.registers = self.attribute(attribute::REGISTERS);
            kernel.shared_bytes = self.attribute(attribute::SHARED_BYTES).map(u64::from);
            kernel.frame_bytes = self.attribute(attribute::FRAME_BYTES).map(u64::from);
        }
    }

    fn attribute(&self, attribute: i32) -> Option<u32> {
        let ask = self.module.0.gpu.api().cuFuncGetAttribute?;
        let mut value = 0;
        // SAFETY: a place for the number, and the function is of a module that lives.
        let code = unsafe { ask(&mut value, attribute, self.handle) };
        u32::try_from(value).ok().filter(|_| code == 0)
    }
}

/// The value of a parameter, in words that are aligned for every type.
#[derive(Clone)]
struct Value {
    words: Vec<u128>,
    size: usize,
}

impl Value {
    fn of(bytes: &[u8]) -> Self {
        let word = |part: &[u8]| part.iter().rev().fold(0, |word, byte| word << 8 | u128::from(*byte));
        Self { words: bytes.chunks(size_of::<u128>()).map(word).collect(), size: bytes.len() }
    }
}

#[derive(Clone, Default)]
pub(super) struct Parameters(Vec<Value>);

impl Parameters {
    pub(super) fn buffer(self, buffer: &Buffer) -> Self {
        self.value(&buffer.address().to_le_bytes())
    }

    pub(super) fn shared(self, words: &SharedWords, at: usize) -> Self {
        self.value(&words.address_of_word(at).to_le_bytes())
    }

    /// A number or a struct, as bytes.
    pub(super) fn value(mut self, bytes: &[u8]) -> Self {
        self.0.push(Value::of(bytes));
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
