//! The functions of `hip_runtime_api.h`: those of `cuda.h` by other names. Codes have the numbers of CUDA and names of their own.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::{Address, Code, Handle};
use crate::INVALID_VALUE;
use crate::driver::enter;

macro_rules! same {
    ($($(#[$attribute:meta])* $hip:ident = $cuda:ident($($parameter:ident: $type:ty),*);)*) => {$(
        $(#[$attribute])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $hip($($parameter: $type),*) -> Code {
            // SAFETY: see the module.
            unsafe { super::$cuda($($parameter),*) }
        }
    )*};
}

same! {
    hipInit = cuInit(flags: c_uint);
    hipGetDeviceCount = cuDeviceGetCount(count: *mut c_int);
    hipDeviceGet = cuDeviceGet(device: *mut c_int, ordinal: c_int);
    hipDeviceGetName = cuDeviceGetName(text: *mut c_char, length: c_int, device: c_int);
    #[cfg(not(old_driver))]
    hipDeviceTotalMem = cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int);
    hipDevicePrimaryCtxRetain = cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int);
    hipDevicePrimaryCtxRelease = cuDevicePrimaryCtxRelease_v2(device: c_int);
    hipCtxSetCurrent = cuCtxSetCurrent(context: Handle);
    hipDeviceSynchronize = cuCtxSynchronize();
    hipStreamCreateWithFlags = cuStreamCreate(stream: *mut Handle, flags: c_uint);
    hipStreamDestroy = cuStreamDestroy_v2(stream: Handle);
    hipStreamSynchronize = cuStreamSynchronize(stream: Handle);
    hipEventCreateWithFlags = cuEventCreate(event: *mut Handle, flags: c_uint);
    hipEventDestroy = cuEventDestroy_v2(event: Handle);
    hipEventRecord = cuEventRecord(event: Handle, stream: Handle);
    hipEventElapsedTime = cuEventElapsedTime(milliseconds: *mut f32, from: Handle, to: Handle);
    hipMemGetInfo = cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    hipMalloc = cuMemAlloc_v2(address: *mut Address, size: usize);
    hipFree = cuMemFree_v2(address: Address);
    hipHostMalloc = cuMemHostAlloc(place: *mut *mut c_void, size: usize, flags: c_uint);
    hipHostFree = cuMemFreeHost(place: *mut c_void);
    hipHostGetDevicePointer = cuMemHostGetDevicePointer_v2(address: *mut Address, place: *mut c_void, flags: c_uint);
    hipMemcpyHtoD = cuMemcpyHtoD_v2(to: Address, from: *const c_void, size: usize);
    hipMemcpyDtoH = cuMemcpyDtoH_v2(to: *mut c_void, from: Address, size: usize);
    hipMemcpyHtoDAsync = cuMemcpyHtoDAsync_v2(to: Address, from: *const c_void, size: usize, stream: Handle);
    hipMemcpyDtoHAsync = cuMemcpyDtoHAsync_v2(to: *mut c_void, from: Address, size: usize, stream: Handle);
    hipMemsetD8Async = cuMemsetD8Async(at: Address, value: u8, count: usize, stream: Handle);
    hipModuleLoadData = cuModuleLoadData(module: *mut Handle, image: *const c_void);
    hipModuleUnload = cuModuleUnload(module: Handle);
    hipModuleGetFunction = cuModuleGetFunction(function: *mut Handle, module: Handle, text: *const c_char);
    hipModuleGetGlobal = cuModuleGetGlobal_v2(address: *mut usize, bytes: *mut usize, module: Handle, text: *const c_char);
    #[cfg(not(old_driver))]
    hipFuncGetAttribute = cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: Handle);
    hipModuleLaunchKernel = cuLaunchKernel(
        function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared_bytes: c_uint, stream: Handle, parameters: *mut *mut c_void, extra: *mut *mut c_void
    );
}

/// HIP's function is for functions of the host. A caller who gives one of a module gets what a real one says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipFuncSetAttribute(_: *const c_void, _: c_int, _: c_int) -> Code {
    const INVALID_DEVICE_FUNCTION: Code = 98;
    INVALID_DEVICE_FUNCTION
}

/// 6.0, or 5.2.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDriverGetVersion(version: *mut c_int) -> Code {
    let number = if cfg!(old_driver) { 50_221_153 } else { 60_032_830 };
    // SAFETY: see the module.
    enter("cuDriverGetVersion", |_| unsafe { crate::driver::put(version, number) })
}

/// Those of `hipDeviceAttribute_t` that something asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) -> Code {
    let in_cuda = match attribute {
        16 => 18,
        19 => 38,
        63 => 16,
        74 => 8,
        _ => return INVALID_VALUE,
    };
    // SAFETY: see the module.
    unsafe { super::cuDeviceGetAttribute(value, in_cuda, device) }
}

/// Writes the architecture where `hipDeviceProp_t` has it.
unsafe fn put_properties(place: *mut u8, device: c_int, size: usize, offset: usize) -> Code {
    enter("cuDeviceGetAttribute", |driver| {
        driver.device(device)?;
        let arch = driver.arch();
        // SAFETY: the caller's struct has `size` bytes.
        unsafe {
            place.write_bytes(0xee, size);
            place.write(0);
            place.add(offset - 1).write(0);
            place.add(offset).copy_from_nonoverlapping(arch.as_ptr(), arch.len());
            place.add(offset + arch.len()).write(0);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDeviceProperties(place: *mut u8, device: c_int) -> Code {
    // SAFETY: see the module.
    unsafe { put_properties(place, device, 792, 396) }
}

#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDevicePropertiesR0600(place: *mut u8, device: c_int) -> Code {
    // SAFETY: see the module.
    unsafe { put_properties(place, device, 1472, 1160) }
}

/// Codes of `hipError_t` that this library answers, with what HIP 5.2 says of them.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetErrorName(code: Code) -> *const c_char {
    let name = match code {
        1 => c"hipErrorInvalidValue",
        2 => c"hipErrorOutOfMemory",
        98 => c"hipErrorInvalidDeviceFunction",
        100 => c"hipErrorNoDevice",
        200 => c"hipErrorInvalidImage",
        209 => c"hipErrorNoBinaryForGpu",
        500 => c"hipErrorNotFound",
        700 => c"hipErrorIllegalAddress",
        _ => c"hipErrorUnknown",
    };
    name.as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn hipGetErrorString(code: Code) -> *const c_char {
    let text = match code {
        1 => c"invalid argument",
        2 => c"out of memory",
        98 => c"invalid device function",
        100 => c"no ROCm-capable device is detected",
        200 => c"device kernel image is invalid",
        209 => c"no kernel image is available for execution on the device",
        500 => c"named symbol not found",
        700 => c"an illegal memory access was encountered",
        _ => c"unknown error",
    };
    text.as_ptr()
}
