//! The functions of the installed CUDA driver, by name.
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

use super::error::CudaError;

/// The result of every function: 0, or a code of `cuda.h`.
pub(super) type Code = c_uint;

macro_rules! functions {
    (needed { $($name:ident($($type:ty),*);)* } optional { $($maybe:ident($($given:ty),*);)* }) => {
        /// One pointer per function, with the driver's names.
        #[allow(non_snake_case)]
        pub(super) struct Api {
            $(pub $name: unsafe extern "C" fn($($type),*) -> Code,)*
            $(pub $maybe: Option<unsafe extern "C" fn($($given),*) -> Code>,)*
        }

        impl Api {
            /// Errors: there is no library, or it lacks a function.
            #[allow(non_snake_case)]
            fn load() -> Result<Self, CudaError> {
                // SAFETY: opening the library runs its initialisers, which is what it is there for.
                if !unsafe { is_culib_present() } {
                    return Err(CudaError::NoDriver);
                }
                // SAFETY: it is there, as just seen, so that this does not panic; it is never closed.
                let library = unsafe { culib() };
                let mut missing = Vec::new();
                $(
                    // SAFETY: the type is that of `cuda.h` for this name.
                    let $name = unsafe {
                        library.get::<unsafe extern "C" fn($($type),*) -> Code>(concat!(stringify!($name), "\0").as_bytes())
                    };
                    if $name.is_err() {
                        missing.push(stringify!($name));
                    }
                )*
                $(
                    // SAFETY: as above.
                    let $maybe = unsafe {
                        library.get::<unsafe extern "C" fn($($given),*) -> Code>(concat!(stringify!($maybe), "\0").as_bytes())
                    };
                )*
                match ($($name,)*) {
                    ($(Ok($name),)*) => Ok(Self { $($name: *$name,)* $($maybe: $maybe.ok().map(|it| *it),)* }),
                    _ => Err(CudaError::OldDriver { missing }),
                }
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
    cuInit(c_uint);
    cuDriverGetVersion(*mut c_int);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGet(*mut CUdevice, c_int);
    cuDeviceGetName(*mut c_char, c_int, CUdevice);
    cuDeviceGetAttribute(*mut c_int, c_int, CUdevice);
    cuDevicePrimaryCtxRetain(*mut CUcontext, CUdevice);
    cuDevicePrimaryCtxRelease_v2(CUdevice);
    cuCtxSetCurrent(CUcontext);
    cuCtxSynchronize();
    cuStreamCreate(*mut CUstream, c_uint);
    cuStreamDestroy_v2(CUstream);
    cuStreamSynchronize(CUstream);
    cuEventCreate(*mut CUevent, c_uint);
    cuEventDestroy_v2(CUevent);
    cuEventRecord(CUevent, CUstream);
    cuEventElapsedTime(*mut f32, CUevent, CUevent);
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemAlloc_v2(*mut CUdeviceptr, usize);
    cuMemFree_v2(CUdeviceptr);
    cuMemHostAlloc(*mut *mut c_void, usize, c_uint);
    cuMemFreeHost(*mut c_void);
    cuMemHostGetDevicePointer_v2(*mut CUdeviceptr, *mut c_void, c_uint);
    cuMemcpyHtoD_v2(CUdeviceptr, *const c_void, usize);
    cuMemcpyDtoH_v2(*mut c_void, CUdeviceptr, usize);
    cuMemcpyHtoDAsync_v2(CUdeviceptr, *const c_void, usize, CUstream);
    cuMemcpyDtoHAsync_v2(*mut c_void, CUdeviceptr, usize, CUstream);
    cuMemsetD8Async(CUdeviceptr, u8, usize, CUstream);
    cuModuleLoadData(*mut CUmodule, *const c_void);
    cuModuleUnload(CUmodule);
    cuModuleGetFunction(*mut CUfunction, CUmodule, *const c_char);
    cuModuleGetGlobal_v2(*mut CUdeviceptr, *mut usize, CUmodule, *const c_char);
    cuFuncSetAttribute(CUfunction, c_int, c_int);
    cuLaunchKernel(CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void, *mut *mut c_void);
    cuGetErrorName(Code, *mut *const c_char);
    cuGetErrorString(Code, *mut *const c_char);
    }
    optional {
    cuDeviceTotalMem_v2(*mut usize, CUdevice);
    cuDeviceGetUuid_v2(*mut CUuuid, CUdevice);
    cuDeviceGetUuid(*mut CUuuid, CUdevice);
    cuCtxResetPersistingL2Cache();
    cuStreamBeginCapture_v2(CUstream, c_uint);
    cuStreamEndCapture(CUstream, *mut CUgraph);
    cuGraphInstantiateWithFlags(*mut CUgraphExec, CUgraph, c_ulonglong);
    cuGraphLaunch(CUgraphExec, CUstream);
    cuGraphExecDestroy(CUgraphExec);
    cuGraphDestroy(CUgraph);
    cuFuncGetAttribute(*mut c_int, c_int, CUfunction);
    cuTensorMapEncodeTiled(*mut EncodedMap, c_uint, c_uint, *mut c_void, *const u64, *const u64, *const c_uint, *const c_uint, c_uint, c_uint, c_uint, c_uint);
    cuLaunchKernelEx(*const LaunchConfig, CUfunction, *mut *mut c_void, *mut *mut c_void);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(*mut c_int, CUfunction, c_int, usize);
    }
}

/// The driver of this machine. Errors: see [`Api::load`]; always the same one.
pub(super) fn api() -> Result<&'static Api, CudaError> {
    static API: OnceLock<Result<Api, CudaError>> = OnceLock::new();
    API.get_or_init(Api::load).as_ref().map_err(CudaError::clone)
}

/// Turns a result other than 0 into an error with the driver's name and text for the code.
pub(super) fn check(function: &'static str, code: Code) -> Result<(), CudaError> {
    if code == 0 {
        return Ok(());
    }
    let api = api()?;
    let said = |ask: unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
        let mut text = std::ptr::null();
        // SAFETY: the function takes any number, and a place for a pointer.
        let known = unsafe { ask(code, &mut text) } == 0 && !text.is_null();
        // SAFETY: the driver gives a text that ends in NUL and that it keeps.
        known.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    };
    let name = said(api.cuGetErrorName).unwrap_or_else(|| format!("error {code}"));
    Err(CudaError::Call { function, code, name, text: said(api.cuGetErrorString).unwrap_or_default() })
}
