//! The functions of the installed CUDA driver, by name, or those of the HIP runtime that do the same.
//!
//! Crate `cudarc` finds and opens the library and provides the types. Its calls are not used: they panic if the library or a
//! function is missing, and they interpret the driver's answer as one of the codes known to the crate, which a newer driver
//! may not respect. Here a missing function is an error that names it, and a code is a number.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::sync::OnceLock;

use cudarc::driver::sys::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUmodule, CUstream, CUuuid,
    culib, is_culib_present,
};

use libloading::Library;

use super::error::CudaError;
use super::hip;

/// The result of every function: 0, or a code of `cuda.h`.
pub(super) type Code = c_uint;

macro_rules! functions {
    (
        needed { $($name:ident $hip:ident($($type:ty),*);)* }
        optional { $($maybe:ident $($its:ident)?($($given:ty),*);)* }
    ) => {
        /// One pointer per function, with the names of NVIDIA's driver.
        #[allow(non_snake_case)]
        pub(super) struct Api {
            $(pub $name: unsafe extern "C" fn($($type),*) -> Code,)*
            $(pub $maybe: Option<unsafe extern "C" fn($($given),*) -> Code>,)*
            said: hip::Said,
        }

        impl Api {
            /// Errors: the library lacks a function.
            #[allow(non_snake_case)]
            fn load(library: &Library, is_hip: bool) -> Result<Self, CudaError> {
                let mut missing = Vec::new();
                $(
                    let name = if is_hip { stringify!($hip) } else { stringify!($name) };
                    // SAFETY: the type is that of `cuda.h`, or of `hip_runtime_api.h`, for this name.
                    let $name = unsafe { library.get::<unsafe extern "C" fn($($type),*) -> Code>(name.as_bytes()) };
                    if $name.is_err() {
                        missing.push(name);
                    }
                )*
                $(
                    let name = if is_hip { concat!($(stringify!($its))?) } else { stringify!($maybe) };
                    // SAFETY: as above. No function has the name of nothing.
                    let $maybe = unsafe { library.get::<unsafe extern "C" fn($($given),*) -> Code>(name.as_bytes()) };
                )*
                let said = hip::Said::load(library);
                match ($($name,)*) {
                    ($(Ok($name),)*) => Ok(Self { $($name: *$name,)* $($maybe: $maybe.ok().map(|it| *it),)* said }),
                    _ if is_hip => Err(CudaError::OldHip { missing }),
                    _ => Err(CudaError::OldDriver { missing }),
                }
            }
        }

        /// The name of a function of NVIDIA's driver in HIP.
        fn name_in_hip(function: &'static str) -> &'static str {
            match function {
                $(stringify!($name) => stringify!($hip),)*
                $($(stringify!($maybe) => stringify!($its),)?)*
                _ => function,
            }
        }
    };
}

/// `CUtensorMap` of `cuda.h`.
#[repr(C, align(64))]
pub(super) struct EncodedMap(pub [u64; 16]);

/// `CUlaunchConfig` of `cuda.h`.
#[repr(C)]
pub(super) struct LaunchConfig {
    pub grid: [c_uint; 3],
    pub block: [c_uint; 3],
    pub shared_bytes: c_uint,
    pub stream: CUstream,
    pub attributes: *const LaunchAttribute,
    pub count: c_uint,
}

/// `CUlaunchAttribute` of `cuda.h`, whose value has 64 bytes.
#[repr(C)]
pub(super) struct LaunchAttribute {
    pub id: c_uint,
    pub pad: c_uint,
    pub value: [c_uint; 16],
}

functions! {
    needed {
    cuInit hipInit(c_uint);
    cuDriverGetVersion hipDriverGetVersion(*mut c_int);
    cuDeviceGetCount hipGetDeviceCount(*mut c_int);
    cuDeviceGet hipDeviceGet(*mut CUdevice, c_int);
    cuDeviceGetName hipDeviceGetName(*mut c_char, c_int, CUdevice);
    cuDeviceGetAttribute hipDeviceGetAttribute(*mut c_int, c_int, CUdevice);
    cuDevicePrimaryCtxRetain hipDevicePrimaryCtxRetain(*mut CUcontext, CUdevice);
    cuDevicePrimaryCtxRelease_v2 hipDevicePrimaryCtxRelease(CUdevice);
    cuCtxSetCurrent hipCtxSetCurrent(CUcontext);
    cuCtxSynchronize hipDeviceSynchronize();
    cuStreamCreate hipStreamCreateWithFlags(*mut CUstream, c_uint);
    cuStreamDestroy_v2 hipStreamDestroy(CUstream);
    cuStreamSynchronize hipStreamSynchronize(CUstream);
    cuEventCreate hipEventCreateWithFlags(*mut CUevent, c_uint);
    cuEventDestroy_v2 hipEventDestroy(CUevent);
    cuEventRecord hipEventRecord(CUevent, CUstream);
    cuEventElapsedTime hipEventElapsedTime(*mut f32, CUevent, CUevent);
    cuMemGetInfo_v2 hipMemGetInfo(*mut usize, *mut usize);
    cuMemAlloc_v2 hipMalloc(*mut CUdeviceptr, usize);
    cuMemFree_v2 hipFree(CUdeviceptr);
    cuMemHostAlloc hipHostMalloc(*mut *mut c_void, usize, c_uint);
    cuMemFreeHost hipHostFree(*mut c_void);
    cuMemHostGetDevicePointer_v2 hipHostGetDevicePointer(*mut CUdeviceptr, *mut c_void, c_uint);
    cuMemcpyHtoD_v2 hipMemcpyHtoD(CUdeviceptr, *const c_void, usize);
    cuMemcpyDtoH_v2 hipMemcpyDtoH(*mut c_void, CUdeviceptr, usize);
    cuMemcpyHtoDAsync_v2 hipMemcpyHtoDAsync(CUdeviceptr, *const c_void, usize, CUstream);
    cuMemcpyDtoHAsync_v2 hipMemcpyDtoHAsync(*mut c_void, CUdeviceptr, usize, CUstream);
    cuMemsetD8Async hipMemsetD8Async(CUdeviceptr, u8, usize, CUstream);
    cuModuleLoadData hipModuleLoadData(*mut CUmodule, *const c_void);
    cuModuleUnload hipModuleUnload(CUmodule);
    cuModuleGetFunction hipModuleGetFunction(*mut CUfunction, CUmodule, *const c_char);
    cuModuleGetGlobal_v2 hipModuleGetGlobal(*mut CUdeviceptr, *mut usize, CUmodule, *const c_char);
    cuLaunchKernel hipModuleLaunchKernel(CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void, *mut *mut c_void);
    }
    optional {
    cuFuncSetAttribute(CUfunction, c_int, c_int);
    cuGetErrorName(Code, *mut *const c_char);
    cuGetErrorString(Code, *mut *const c_char);
    cuDeviceTotalMem_v2 hipDeviceTotalMem(*mut usize, CUdevice);
    cuDeviceGetUuid_v2(*mut CUuuid, CUdevice);
    cuDeviceGetUuid(*mut CUuuid, CUdevice);
    cuCtxResetPersistingL2Cache();
    cuStreamBeginCapture_v2(CUstream, c_uint);
    cuStreamEndCapture(CUstream, *mut CUgraph);
    cuGraphInstantiateWithFlags(*mut CUgraphExec, CUgraph, c_ulonglong);
    cuGraphLaunch(CUgraphExec, CUstream);
    cuGraphExecDestroy(CUgraphExec);
    cuGraphDestroy(CUgraph);
    cuFuncGetAttribute hipFuncGetAttribute(*mut c_int, c_int, CUfunction);
    cuTensorMapEncodeTiled(*mut EncodedMap, c_uint, c_uint, *mut c_void, *const u64, *const u64, *const c_uint, *const c_uint, c_uint, c_uint, c_uint, c_uint);
    cuLaunchKernelEx(*const LaunchConfig, CUfunction, *mut *mut c_void, *mut *mut c_void);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(*mut c_int, CUfunction, c_int, usize);
    }
}

/// The driver of this machine, or the HIP runtime: see [`hip::is_used`]. Errors: it is not here, or see [`Api::load`]; always the
/// same one.
pub(super) fn api() -> Result<&'static Api, CudaError> {
    static APIS: [OnceLock<Result<Api, CudaError>>; 2] = [OnceLock::new(), OnceLock::new()];
    let is_hip = hip::is_used();
    let load = || if is_hip { Api::load(hip::library()?, true) } else { Api::load(driver()?, false) };
    APIS[usize::from(is_hip)].get_or_init(load).as_ref().map_err(CudaError::clone)
}

fn driver() -> Result<&'static Library, CudaError> {
    // SAFETY: opening the library runs its initialisers, which is what it is there for.
    if !unsafe { is_culib_present() } {
        return Err(CudaError::NoDriver);
    }
    // SAFETY: it is there, as just seen, so that this does not panic; it is never closed.
    Ok(unsafe { culib() })
}

/// Turns a result other than 0 into an error with the driver's name and text for the code.
pub(super) fn check(function: &'static str, code: Code) -> Result<(), CudaError> {
    if code == 0 {
        return Ok(());
    }
    let api = api()?;
    let said = |ask: Option<unsafe extern "C" fn(Code, *mut *const c_char) -> Code>| {
        let mut text = std::ptr::null();
        // SAFETY: the function takes any number, and a place for a pointer.
        let known = unsafe { ask?(code, &mut text) } == 0 && !text.is_null();
        // SAFETY: the driver gives a text that ends in NUL and that it keeps.
        known.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    };
    let [name, text] = if hip::is_used() {
        api.said.of(code)
    } else {
        [said(api.cuGetErrorName), said(api.cuGetErrorString)]
    };
    let function = if hip::is_used() { name_in_hip(function) } else { function };
    let name = name.unwrap_or_else(|| format!("error {code}"));
    Err(CudaError::Call { function, code, name, text: text.unwrap_or_default() })
}
