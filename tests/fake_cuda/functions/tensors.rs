//! Tensor maps: their limits are those that `cuda.h` documents of `cuTensorMapEncodeTiled`.

use std::ffi::{c_uint, c_void};

use super::{Address, Code};
use crate::driver::{enter, put};
use crate::{INVALID_VALUE, device};

/// Bytes of an element by `CUtensorMapDataType`.
const SIZES: [u64; 13] = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4];
/// By `CUtensorMapSwizzle`; 0: none.
const SWIZZLES: [u64; 4] = [0, 32, 64, 128];

/// The map holds what it was made of: the address, the rank, then dimensions and boxes, of which a twin of a kernel can read.
///
/// # Safety
/// As for `cuda.h`: lists of the rank's length, `strides` one shorter.
#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuTensorMapEncodeTiled(
    map: *mut [u64; 16],
    kind: c_uint,
    rank: c_uint,
    address: *mut c_void,
    dims: *const u64,
    strides: *const u64,
    boxes: *const c_uint,
    steps: *const c_uint,
    interleave: c_uint,
    swizzle: c_uint,
    promotion: c_uint,
    fill: c_uint,
) -> Code {
    enter("cuTensorMapEncodeTiled", |driver| {
        const B32: c_uint = 2;
        const NOT_SUPPORTED: Code = 801;
        let device = driver.context()?;
        if device::sm(&driver.settings, driver.devices[device]) < 90 {
            return Err(NOT_SUPPORTED);
        }
        let refused = |is_wrong: bool| if is_wrong { Err(INVALID_VALUE) } else { Ok(()) };
        let size = *SIZES.get(kind as usize).ok_or(INVALID_VALUE)?;
        let span = *SWIZZLES.get(swizzle as usize).ok_or(INVALID_VALUE)?;
        let address = address as Address;
        refused(!(1..=5).contains(&rank) || interleave > B32 || interleave > 0 && rank < 3)?;
        refused(promotion > 3 || fill > 1 || map as usize % 64 != 0)?;
        refused(dims.is_null() || boxes.is_null() || steps.is_null() || rank > 1 && strides.is_null())?;
        let count = rank as usize;
        // SAFETY: the caller's promise.
        let (dims, boxes, steps) = unsafe {
            (
                std::slice::from_raw_parts(dims, count),
                std::slice::from_raw_parts(boxes, count),
                std::slice::from_raw_parts(steps, count),
            )
        };
        // SAFETY: the same; a list without members is not read.
        let strides = if count > 1 { unsafe { std::slice::from_raw_parts(strides, count - 1) } } else { &[] };
        let grain = if interleave == B32 { 32 } else { 16 };
        refused(address == 0 || address % grain != 0)?;
        refused(dims.iter().any(|dim| !(1..=1 << 31).contains(dim)))?;
        refused(strides.iter().any(|stride| stride % grain != 0 || *stride >= 1 << 40))?;
        refused(boxes.iter().any(|side| !(1..=256).contains(side)))?;
        refused(steps.iter().any(|step| !(1..=8).contains(step)))?;
        let row = u64::from(boxes[0]) * size;
        refused(interleave == 0 && (row % 16 != 0 || span > 0 && row > span))?;
        refused(interleave == B32 && span != 32)?;
        let mut words = [0; 16];
        (words[0], words[1]) = (address, u64::from(rank));
        words[2..2 + count].copy_from_slice(dims);
        for (word, side) in words[7..].iter_mut().zip(boxes) {
            *word = u64::from(*side);
        }
        driver.note(|| format!("kind={kind} dims={dims:?} strides={strides:?} box={boxes:?} swizzle={swizzle} interleave={interleave} promotion={promotion}"));
        // SAFETY: see the module.
        unsafe { put(map, words) }
    })
}
