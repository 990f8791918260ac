//! The functions that the library has, as data: for their names in the settings, for `cuGetProcAddress`, and for the comparison of
//! their parameters with `cuda.h` in `abi.cpp`.

use std::ffi::{CString, c_char, c_void};
use std::sync::OnceLock;

use crate::functions::*;

pub struct Export {
    pub name: &'static str,
    pub address: usize,
    /// Sizes of the answer and of each parameter in bytes: `4 8 8`.
    sizes: String,
}

/// A function of the driver's calling convention, of any number of parameters.
trait Signature {
    fn sizes() -> Vec<usize>;
}

macro_rules! signatures {
    ($($($parameter:ident)*;)*) => {$(
        impl<R, $($parameter),*> Signature for unsafe extern "C" fn($($parameter),*) -> R {
            fn sizes() -> Vec<usize> {
                vec![size_of::<R>(), $(size_of::<$parameter>()),*]
            }
        }
    )*};
}

signatures! {
    ;
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G H I J K;
    A B C D E F G H I J K L;
}

fn sizes<F: Signature>(_: F) -> String {
    F::sizes().iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
}

macro_rules! exports {
    ($($(#[$attribute:meta])* $name:ident($($parameter:tt),*);)*) => {
        fn list() -> Vec<Export> {
            let mut list = Vec::new();
            $(
                $(#[$attribute])*
                {
                    let function = $name as unsafe extern "C" fn($($parameter),*) -> _;
                    let sizes = sizes(function);
                    list.push(Export { name: stringify!($name), address: function as usize, sizes });
                }
            )*
            list
        }
    };
}

exports! {
    cuInit(_);
    cuDriverGetVersion(_);
    cuGetErrorName(_, _);
    cuGetErrorString(_, _);
    cuGetExportTable(_, _);
    #[cfg(not(old_driver))]
    cuGetProcAddress_v2(_, _, _, _, _);
    cuDeviceGetCount(_);
    cuDeviceGet(_, _);
    cuDeviceGetName(_, _, _);
    cuDeviceGetUuid(_, _);
    #[cfg(not(old_driver))]
    cuDeviceGetUuid_v2(_, _);
    cuDeviceGetAttribute(_, _, _);
    cuDeviceTotalMem_v2(_, _);
    cuDeviceGetPCIBusId(_, _, _);
    cuDevicePrimaryCtxRetain(_, _);
    cuDevicePrimaryCtxRelease_v2(_);
    cuCtxSetCurrent(_);
    cuCtxGetCurrent(_);
    cuCtxSynchronize();
    #[cfg(not(old_driver))]
    cuCtxResetPersistingL2Cache();
    cuStreamCreate(_, _);
    cuStreamDestroy_v2(_);
    cuStreamSynchronize(_);
    cuStreamQuery(_);
    cuStreamWaitEvent(_, _, _);
    #[cfg(not(old_driver))]
    cuStreamBeginCapture_v2(_, _);
    cuStreamEndCapture(_, _);
    cuEventCreate(_, _);
    cuEventDestroy_v2(_);
    cuEventRecord(_, _);
    cuEventQuery(_);
    cuEventSynchronize(_);
    cuEventElapsedTime(_, _, _);
    cuMemGetInfo_v2(_, _);
    cuMemAlloc_v2(_, _);
    cuMemFree_v2(_);
    cuMemAllocHost_v2(_, _);
    cuMemHostAlloc(_, _, _);
    cuMemFreeHost(_);
    cuMemHostGetDevicePointer_v2(_, _, _);
    cuMemcpyHtoD_v2(_, _, _);
    cuMemcpyDtoH_v2(_, _, _);
    cuMemcpyHtoDAsync_v2(_, _, _, _);
    cuMemcpyDtoHAsync_v2(_, _, _, _);
    cuMemcpyDtoDAsync_v2(_, _, _, _);
    cuMemsetD8_v2(_, _, _);
    cuMemsetD8Async(_, _, _, _);
    cuMemsetD32Async(_, _, _, _);
    cuModuleLoadData(_, _);
    cuModuleLoadDataEx(_, _, _, _, _);
    cuModuleUnload(_);
    cuModuleGetFunction(_, _, _);
    cuModuleGetGlobal_v2(_, _, _, _);
    cuFuncGetAttribute(_, _, _);
    cuFuncSetAttribute(_, _, _);
    cuLaunchKernel(_, _, _, _, _, _, _, _, _, _, _);
    #[cfg(not(old_driver))]
    cuLaunchKernelEx(_, _, _, _);
    #[cfg(not(old_driver))]
    cuTensorMapEncodeTiled(_, _, _, _, _, _, _, _, _, _, _, _);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(_, _, _, _);
    #[cfg(not(old_driver))]
    cuGraphInstantiateWithFlags(_, _, _);
    cuGraphLaunch(_, _);
    cuGraphExecDestroy(_);
    cuGraphDestroy(_);
}

pub fn exports() -> &'static [Export] {
    static LIST: OnceLock<Vec<Export>> = OnceLock::new();
    LIST.get_or_init(list)
}

pub fn names() -> Vec<&'static str> {
    exports().iter().map(|export| export.name).collect()
}

/// The function that a program means which asks for a name without its version.
pub fn find(name: &str) -> Option<&'static Export> {
    let versioned = format!("{name}_v2");
    let of = |name: &str| exports().iter().find(|export| export.name == name);
    of(&versioned).or_else(|| of(name))
}

/// For `abi.cpp`: `NAME SIZE SIZE...` of the function with this number, null behind the last. The text stays for ever.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_signature(index: usize) -> *const c_char {
    let Some(export) = exports().get(index) else { return std::ptr::null() };
    CString::new(format!("{} {}", export.name, export.sizes)).map_or(std::ptr::null(), |text| text.into_raw())
}

/// The address as a caller of `cuGetProcAddress` takes it.
impl Export {
    pub fn pointer(&self) -> *mut c_void {
        self.address as *mut c_void
    }
}
