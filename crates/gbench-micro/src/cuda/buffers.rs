//! Memory of the device, and memory of the host that it shares.

use std::ffi::{c_uint, c_void};
use std::ptr;

use cudarc::driver::sys::CUdeviceptr;

use super::api::{EncodedMap, check};
use super::device::CudaDevice;
use super::error::CudaError;
use gbench_model::{DType, TensorMap};

type Result<T> = std::result::Result<T, CudaError>;

impl CudaDevice {
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
        check("cuMemAlloc_v2", unsafe { (self.api().cuMemAlloc_v2)(&mut address, bytes) })?;
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
            check("cuMemHostAlloc", (self.api().cuMemHostAlloc)(&mut host, bytes, DEVICE_MAP))?;
            ptr::write_bytes(host.cast::<u8>(), 0, bytes);
            let mut words = SharedWords { gpu: self.clone(), host: host.cast(), address, length };
            check(
                "cuMemHostGetDevicePointer_v2",
                (self.api().cuMemHostGetDevicePointer_v2)(&mut address, host, 0),
            )?;
            words.address = address;
            Ok(words)
        }
    }

    /// Queues filling a buffer with one byte.
    pub(super) fn set(&self, buffer: &Buffer, byte: u8) -> Result<()> {
        let api = self.api();
        // SAFETY: the buffer has so many bytes.
        check("cuMemsetD8Async", unsafe {
            (api.cuMemsetD8Async)(buffer.address, byte, buffer.bytes, self.stream())
        })
    }

    pub(super) fn upload(&self, target: &Buffer, source: &SharedWords) -> Result<()> {
        let bytes = target.bytes.min(source.length * size_of::<u64>());
        // SAFETY: both have so many bytes, and the caller's handles keep them until it has waited.
        check("cuMemcpyHtoDAsync_v2", unsafe {
            (self.api().cuMemcpyHtoDAsync_v2)(target.address, source.host.cast(), bytes, self.stream())
        })
    }

    pub(super) fn download(&self, target: &SharedWords, source: &Buffer) -> Result<()> {
        let bytes = source.bytes.min(target.length * size_of::<u64>());
        // SAFETY: as of [`CudaDevice::upload`].
        check("cuMemcpyDtoHAsync_v2", unsafe {
            (self.api().cuMemcpyDtoHAsync_v2)(target.host.cast(), source.address, bytes, self.stream())
        })
    }
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
        unsafe { (self.gpu.api().cuMemFree_v2)(self.address) };
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
        let api = self.gpu.api();
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
        let api = self.gpu.api();
        // SAFETY: both have so many bytes.
        check("cuMemcpyDtoH_v2", unsafe {
            (api.cuMemcpyDtoH_v2)(target.as_mut_ptr().cast(), self.address + from as CUdeviceptr, bytes)
        })?;
        Ok(target)
    }
}

impl Buffer {
    /// The bytes of a tensor map over it. Errors: the driver has no such maps, or refuses this one.
    pub(super) fn tensor_map(&self, dtype: DType, map: &TensorMap) -> Result<Vec<u8>> {
        let Some(encode) = self.gpu.api().cuTensorMapEncodeTiled else {
            return Err(CudaError::OldDriver { missing: vec!["cuTensorMapEncodeTiled"] });
        };
        let capability = self.gpu.facts().capability;
        if capability.0 < 9 {
            return Err(CudaError::OldCard { what: "tensor maps", capability });
        }
        let steps = vec![1_u32; map.dims.len()];
        let mut encoded = EncodedMap([0; 16]);
        // SAFETY: a place for the map, aligned as it must be; `dims` and the lists of the same length, `strides` one shorter, as
        // the suite file was checked for; the buffer lives as long as the launches that use the map.
        check("cuTensorMapEncodeTiled", unsafe {
            encode(
                &mut encoded,
                tensor_type(dtype),
                map.dims.len() as c_uint,
                self.address as usize as *mut c_void,
                map.dims.as_ptr(),
                map.strides.as_ptr(),
                map.box_dims.as_ptr(),
                steps.as_ptr(),
                map.interleave as c_uint,
                map.swizzle as c_uint,
                map.l2_promotion as c_uint,
                // Elements outside of the tensor are zero.
                0,
            )
        })?;
        Ok(encoded.0.iter().flat_map(|word| word.to_le_bytes()).collect())
    }
}

/// `CUtensorMapDataType` of `cuda.h`; bytes for types that it does not know.
fn tensor_type(dtype: DType) -> c_uint {
    match dtype {
        DType::U16 | DType::I16 => 1,
        DType::U32 => 2,
        DType::I32 => 3,
        DType::U64 => 4,
        DType::I64 => 5,
        DType::F16 => 6,
        DType::F32 => 7,
        DType::F64 => 8,
        DType::Bf16 => 9,
        _ => 0,
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
            (self.gpu.api().cuStreamSynchronize)(self.gpu.stream());
            (self.gpu.api().cuMemFreeHost)(self.host.cast());
        }
    }
}

impl SharedWords {
    /// As the device sees it.
    pub(super) fn address_of_word(&self, at: usize) -> CUdeviceptr {
        self.address + (at * size_of::<u64>()) as CUdeviceptr
    }

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
