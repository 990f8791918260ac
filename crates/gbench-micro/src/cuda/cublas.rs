//! NVIDIA's matrix product, if its library is installed, as the reference for the card's capability. Loaded at run time, by
//! path or by the loader, like the compiler.

use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::ptr;

use cudarc::driver::sys::CUstream;
use libloading::Library;

use super::buffers::Buffer;
use super::device::CudaDevice;
use super::error::CudaError;
use super::libraries;
use gbench_model::DType;

type Handle = *mut c_void;
type Code = c_int;

const NAMES: [&str; 4] = ["libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"];
/// Folders in Python packages, below `nvidia`.
const PACKAGES: [&str; 2] = ["cu13/lib", "cublas/lib"];

mod number {
    pub(super) const R_32F: i32 = 0;
    pub(super) const R_16F: i32 = 2;
    pub(super) const R_16BF: i32 = 14;
    pub(super) const COMPUTE_32F: i32 = 68;
    pub(super) const NOT_TRANSPOSED: i32 = 0;
    pub(super) const DEFAULT_ALGORITHM: i32 = -1;
}

type Gemm = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    u64,
    c_int,
    c_int,
    u64,
    c_int,
    c_int,
    *const c_void,
    u64,
    c_int,
    c_int,
    c_int,
    c_int,
) -> Code;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SquareProduct {
    pub dtype: DType,
    /// Rows and columns.
    pub n: u32,
}

pub(super) struct Cublas {
    handle: Handle,
    gemm: Gemm,
    destroy: unsafe extern "C" fn(Handle) -> Code,
    /// 13.1.0 is 130100.
    pub version: i32,
    /// Keeps the stream open, which the library uses.
    _gpu: CudaDevice,
    /// Never closed: it starts threads and its own runtime.
    _library: ManuallyDrop<Library>,
}

impl Drop for Cublas {
    fn drop(&mut self) {
        // SAFETY: made by this library, given back once.
        unsafe { (self.destroy)(self.handle) };
    }
}

impl Cublas {
    /// Errors: it is not installed, or cannot use the GPU.
    pub(super) fn open(gpu: &CudaDevice) -> Result<Self, CudaError> {
        let library = newest_for(gpu.facts().cuda_version)?;
        // SAFETY: the types are those of `cublas_v2.h` for these names; places for the answers; the stream lives as long as the GPU,
        // which the caller keeps.
        unsafe {
            let create = library.get::<unsafe extern "C" fn(*mut Handle) -> Code>(b"cublasCreate_v2\0");
            let destroy = library.get::<unsafe extern "C" fn(Handle) -> Code>(b"cublasDestroy_v2\0");
            let set_stream =
                library.get::<unsafe extern "C" fn(Handle, CUstream) -> Code>(b"cublasSetStream_v2\0");
            let get_version =
                library.get::<unsafe extern "C" fn(Handle, *mut c_int) -> Code>(b"cublasGetVersion_v2\0");
            let gemm = library.get::<Gemm>(b"cublasGemmEx\0");
            let (Ok(create), Ok(destroy), Ok(set_stream), Ok(get_version), Ok(gemm)) =
                (create, destroy, set_stream, get_version, gemm)
            else {
                return Err(CudaError::NoCublas { driver: gpu.facts().cuda_version / 1000 });
            };
            let (destroy, gemm) = (*destroy, *gemm);
            let mut handle: Handle = ptr::null_mut();
            check("cublasCreate_v2", create(&mut handle))?;
            let (set_stream, get_version) = (*set_stream, *get_version);
            let mut made = Self {
                handle,
                gemm,
                destroy,
                version: 0,
                _gpu: gpu.clone(),
                _library: ManuallyDrop::new(library),
            };
            check("cublasSetStream_v2", set_stream(made.handle, gpu.stream()))?;
            check("cublasGetVersion_v2", get_version(made.handle, &mut made.version))?;
            Ok(made)
        }
    }

    /// Queues `c = a * b` for row-major square matrices of `n` rows, summed in single precision.
    pub(super) fn multiply(
        &self,
        dtype: DType,
        n: u32,
        a: &Buffer,
        b: &Buffer,
        c: &Buffer,
    ) -> Result<(), CudaError> {
        let kind = match dtype {
            DType::F16 => number::R_16F,
            DType::Bf16 => number::R_16BF,
            _ => number::R_32F,
        };
        let bytes = (n as usize).pow(2) * dtype.size();
        assert!([a, b, c].iter().all(|matrix| matrix.bytes() >= bytes), "matrices of {n} rows");
        let (one, zero) = (1.0_f32, 0.0_f32);
        let n = n as c_int;
        // cuBLAS is column-major: its a * b is b * a here.
        // SAFETY: the matrices have n rows and columns each, as asserted; the factors are read while it queues.
        let code = unsafe {
            (self.gemm)(
                self.handle,
                number::NOT_TRANSPOSED,
                number::NOT_TRANSPOSED,
                n,
                n,
                n,
                ptr::from_ref(&one).cast(),
                b.address(),
                kind,
                n,
                a.address(),
                kind,
                n,
                ptr::from_ref(&zero).cast(),
                c.address(),
                kind,
                n,
                number::COMPUTE_32F,
                number::DEFAULT_ALGORITHM,
            )
        };
        check("cublasGemmEx", code)
    }
}

/// The first library of no newer major version than the driver's, which could not use its code.
fn newest_for(cuda_version: u32) -> Result<Library, CudaError> {
    let driver = cuda_version / 1000;
    let mut missing = CudaError::NoCublas { driver };
    for path in libraries::candidates(&NAMES, &PACKAGES) {
        // SAFETY: opening a library runs its initialisers, which is what it is there for.
        let Ok(opened) = (unsafe { Library::new(&path) }) else { continue };
        match major(&opened) {
            Some(major) if major > driver => {
                let library = format!("cuBLAS {major}");
                missing = CudaError::NewLibrary { library, cuda_version, arch: None };
                // Not closed, like the one in use.
                std::mem::forget(opened);
            }
            _ => return Ok(opened),
        }
    }
    Err(missing)
}

fn major(library: &Library) -> Option<u32> {
    const MAJOR: c_int = 0;
    let mut value = 0;
    // SAFETY: the type is that of `cublas_v2.h` for this name, and a place for the number. It needs no handle.
    let code = unsafe {
        let ask =
            library.get::<unsafe extern "C" fn(c_int, *mut c_int) -> Code>(b"cublasGetProperty\0").ok()?;
        ask(MAJOR, &mut value)
    };
    if code == 0 { u32::try_from(value).ok() } else { None }
}

fn check(function: &'static str, code: Code) -> Result<(), CudaError> {
    if code == 0 { Ok(()) } else { Err(CudaError::Cublas { function, code }) }
}
