//! Device memory, which is host memory with a capacity, and page-locked host memory.
//!
//! An allocation is mapped without being reserved, so that a buffer of which nobody reads or writes a byte costs nothing. A fill of
//! a megabyte or more is noted and done when something looks at the buffer: the flush of a cache before each sample is free.
//! Each allocation has a version that moves when its content may have changed, by which a kernel need not be run again.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_long, c_void};

use crate::INVALID_VALUE;
use crate::settings::Settings;

const OUT_OF_MEMORY: u32 = 2;
const ILLEGAL_ADDRESS: u32 = 700;

/// What an allocation is counted as.
const GRAIN: usize = 512;
const PAGE: usize = 4096;
/// A fill of so many bytes or more is put off.
const PUT_OFF: usize = 1 << 20;
/// A buffer up to this size is compared before and after a kernel, so that one that is only read stays as it was.
const COMPARED: usize = 4 << 20;
/// New memory up to this size holds noise, as on a card, so that nobody relies on zeros.
const NOISY: usize = 1 << 20;

unsafe extern "C" {
    fn mmap(
        at: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: c_long,
    ) -> *mut c_void;
    fn munmap(at: *mut c_void, length: usize) -> c_int;
}

#[derive(Clone, Copy, PartialEq)]
struct Fill {
    start: usize,
    end: usize,
    /// Four bytes that repeat from `start` on.
    pattern: u32,
    /// What the allocation's version was when the fill was noted: while it is that still, the content is the fill's.
    version: u64,
}

struct Allocation {
    size: usize,
    device: usize,
    version: u64,
    fill: Option<Fill>,
    put_off: bool,
    /// The version that was looked at, and what its bytes came to.
    hash: Option<(u64, u64)>,
}

#[derive(Default)]
pub struct Memory {
    allocations: BTreeMap<usize, Allocation>,
    /// Page-locked host memory, which a kernel reaches under the same addresses.
    host: BTreeMap<usize, usize>,
    /// Ranges that were given back and not handed out again.
    freed: BTreeMap<usize, usize>,
    used: BTreeMap<usize, u64>,
    version: u64,
}

/// What a launch was given.
pub struct Given {
    pub buffers: Vec<usize>,
    /// Host memory is among it, of which nobody can tell whether it changed.
    pub host: bool,
}

impl Memory {
    pub fn capacity(settings: &Settings, device: usize) -> u64 {
        settings.size_of_device("total", device, 80 << 30)
    }

    pub fn used(&self, device: usize) -> u64 {
        self.used.get(&device).copied().unwrap_or(0)
    }

    /// `device` counts the visible ones. Errors: nothing is asked for, or more than is left of `capacity`.
    pub fn allocate(
        &mut self,
        settings: &Settings,
        device: usize,
        capacity: u64,
        size: usize,
    ) -> Result<usize, u32> {
        if size == 0 {
            return Err(INVALID_VALUE);
        }
        let counted = size.checked_next_multiple_of(GRAIN).ok_or(OUT_OF_MEMORY)?;
        let used = self.used(device);
        if used.saturating_add(counted as u64) > capacity {
            return Err(OUT_OF_MEMORY);
        }
        let address = map(counted).ok_or(OUT_OF_MEMORY)?;
        self.forget_freed(address, counted);
        if size <= NOISY && settings.text("fresh") != Some("zero") {
            // SAFETY: the range was mapped just now for reading and writing.
            unsafe { std::ptr::write_bytes(address as *mut u8, 0xc5, size) };
        }
        self.used.insert(device, used + counted as u64);
        self.version += 1;
        let allocation =
            Allocation { size, device, version: self.version, fill: None, put_off: false, hash: None };
        self.allocations.insert(address, allocation);
        Ok(address)
    }

    pub fn free(&mut self, address: usize) -> Result<(), u32> {
        let allocation = self.allocations.remove(&address).ok_or(INVALID_VALUE)?;
        let counted = allocation.size.next_multiple_of(GRAIN);
        if let Some(used) = self.used.get_mut(&allocation.device) {
            *used -= counted as u64;
        }
        unmap(address, counted);
        self.freed.insert(address, counted);
        Ok(())
    }

    /// All that is left on a device, as when its context ends.
    pub fn free_all(&mut self, device: usize) {
        let own: Vec<usize> =
            self.allocations.iter().filter(|(_, it)| it.device == device).map(|(at, _)| *at).collect();
        for address in own {
            _ = self.free(address);
        }
    }

    pub fn allocate_host(&mut self, size: usize) -> Result<usize, u32> {
        let address = if size == 0 { None } else { map(size) }.ok_or(INVALID_VALUE)?;
        self.forget_freed(address, size);
        self.host.insert(address, size);
        Ok(address)
    }

    /// Memory that stands elsewhere, as page-locked memory of the host.
    pub fn adopt(&mut self, address: usize, size: usize) {
        self.host.insert(address, size);
    }

    pub fn free_host(&mut self, address: usize) -> Result<(), u32> {
        let size = self.host.remove(&address).ok_or(INVALID_VALUE)?;
        unmap(address, size);
        self.freed.insert(address, size);
        Ok(())
    }

    fn forget_freed(&mut self, address: usize, size: usize) {
        self.freed.retain(|start, length| *start >= address + size || start + *length <= address);
    }

    /// Whether a whole range is page-locked host memory.
    pub fn is_host(&self, address: usize, size: usize) -> bool {
        self.host
            .range(..=address)
            .next_back()
            .is_some_and(|(start, length)| address.checked_add(size).is_some_and(|end| end <= start + length))
    }

    fn owner(&self, address: usize) -> Option<usize> {
        let (start, allocation) = self.allocations.range(..=address).next_back()?;
        (address < start + allocation.size).then_some(*start)
    }

    /// Errors: the range is not within one allocation of the device, nor within page-locked memory.
    pub fn check(&self, address: usize, size: usize) -> Result<(), u32> {
        let end = address.checked_add(size).ok_or(INVALID_VALUE)?;
        let inside = self.owner(address).is_some_and(|start| end <= start + self.allocations[&start].size);
        if inside || self.is_host(address, size) { Ok(()) } else { Err(INVALID_VALUE) }
    }

    /// Does what was put off, before somebody looks at the allocation.
    fn settle(&mut self, start: usize) {
        let Some(allocation) = self.allocations.get_mut(&start) else { return };
        if let Some(fill) = allocation.fill.filter(|_| allocation.put_off) {
            allocation.put_off = false;
            write(fill);
        }
    }

    fn touch(&mut self, start: usize) {
        self.version += 1;
        let version = self.version;
        if let Some(allocation) = self.allocations.get_mut(&start) {
            allocation.version = version;
        }
    }

    /// Copies; the ranges were checked when the copy was asked for, and may have been freed since.
    pub fn copy(&mut self, to: usize, from: usize, size: usize) {
        for address in [to, from] {
            if let Some(start) = self.owner(address) {
                self.settle(start);
            }
        }
        // SAFETY: one side is memory of ours that `check` has seen; the other too, or the caller's, who promises it.
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, size) };
        if let Some(start) = self.owner(to) {
            self.touch(start);
        }
    }

    /// Fills a range that `check` has seen with four bytes that repeat.
    pub fn fill(&mut self, address: usize, size: usize, pattern: u32) {
        let mut fill = Fill { start: address, end: address + size, pattern, version: 0 };
        let Some(start) = self.owner(address) else {
            write(fill);
            return;
        };
        let allocation = &self.allocations[&start];
        // The same fill again, and nothing came in between.
        if allocation
            .fill
            .is_some_and(|old| old.version == allocation.version && Fill { version: 0, ..old } == fill)
        {
            return;
        }
        if allocation.fill.is_some_and(|old| old.start < fill.start || old.end > fill.end) {
            self.settle(start);
        }
        self.touch(start);
        let Some(allocation) = self.allocations.get_mut(&start) else { return };
        fill.version = allocation.version;
        allocation.fill = Some(fill);
        allocation.put_off = size >= PUT_OFF;
        if !allocation.put_off {
            write(fill);
        }
    }

    /// The allocations that a launch's arguments point into. Errors: one points to memory that was given back.
    pub fn given(&mut self, words: impl Iterator<Item = usize>) -> Result<Given, u32> {
        let mut given = Given { buffers: Vec::new(), host: false };
        for word in words {
            if let Some(start) = self.owner(word) {
                given.buffers.push(start);
                self.settle(start);
            } else if self.is_host(word, 1) {
                given.host = true;
            } else if self.freed.range(..=word).next_back().is_some_and(|(start, size)| word < start + size) {
                return Err(ILLEGAL_ADDRESS);
            }
        }
        given.buffers.sort_unstable();
        given.buffers.dedup();
        Ok(given)
    }

    pub fn versions(&self, given: &Given) -> Vec<u64> {
        given.buffers.iter().map(|start| self.allocations[start].version).collect()
    }

    /// What each buffer's bytes come to; None for a large one.
    pub fn hashes(&mut self, given: &Given) -> Vec<Option<u64>> {
        let of = |start: &usize| {
            let allocation = self.allocations.get_mut(start)?;
            if allocation.size > COMPARED {
                return None;
            }
            if let Some((_, hash)) = allocation.hash.filter(|(version, _)| *version == allocation.version) {
                return Some(hash);
            }
            let hash = hash(*start, allocation.size);
            allocation.hash = Some((allocation.version, hash));
            Some(hash)
        };
        given.buffers.iter().map(of).collect()
    }

    /// After a kernel: buffers that it changed have a new version.
    pub fn after_kernel(&mut self, given: &Given, before: &[Option<u64>]) {
        for (start, before) in given.buffers.iter().zip(before) {
            let Some(allocation) = self.allocations.get(start) else { continue };
            let now = before.map(|_| hash(*start, allocation.size));
            if now.is_none() || now != *before {
                self.touch(*start);
                if let Some(allocation) = self.allocations.get_mut(start) {
                    allocation.hash = now.map(|now| (allocation.version, now));
                }
            }
        }
    }
}

fn map(size: usize) -> Option<usize> {
    const READ_WRITE: c_int = 3;
    const PRIVATE_ANONYMOUS_UNRESERVED: c_int = 0x2 | 0x20 | 0x4000;
    const NOTHING: c_int = 0;
    let mapped = size.checked_next_multiple_of(PAGE)?;
    unsafe extern "C" {
        fn mprotect(at: *mut c_void, length: usize, protection: c_int) -> c_int;
    }
    // A page that nobody may touch follows, so that a kernel that runs over the end is seen.
    // SAFETY: a new mapping touches no memory that is in use.
    let place = unsafe {
        mmap(std::ptr::null_mut(), mapped.checked_add(PAGE)?, NOTHING, PRIVATE_ANONYMOUS_UNRESERVED, -1, 0)
    };
    if place as isize == -1 {
        return None;
    }
    // SAFETY: the range lies within the mapping of just now.
    (unsafe { mprotect(place, mapped, READ_WRITE) } == 0).then_some(place as usize)
}

fn unmap(address: usize, size: usize) {
    // SAFETY: the range is one that `map` has made, with its last page.
    unsafe { munmap(address as *mut c_void, size.next_multiple_of(PAGE) + PAGE) };
}

fn write(fill: Fill) {
    let size = fill.end - fill.start;
    let pattern = fill.pattern.to_le_bytes();
    let start = fill.start as *mut u8;
    // SAFETY: the range was checked to lie in memory of ours, and is freed only after what was put off is dropped with it.
    unsafe {
        if pattern == [pattern[0]; 4] {
            start.write_bytes(pattern[0], size);
            return;
        }
        // What is there already is copied behind itself: whole copies are fast in a library that nobody optimised.
        start.copy_from_nonoverlapping(pattern.as_ptr(), size.min(4));
        let mut done = 4;
        while done < size {
            let next = done.min(size - done);
            start.add(done).copy_from_nonoverlapping(start, next);
            done += next;
        }
    }
}

/// Four lanes of a multiplication a word, as in FNV; written so that it is quick without an optimiser as well.
fn hash(start: usize, size: usize) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let words = start as *const u64;
    let count = size.div_ceil(32) * 4;
    let (mut a, mut b, mut c, mut d) = (1_u64, 2_u64, 3_u64, 4_u64);
    let mut at = 0;
    while at < count {
        // SAFETY: the range is an allocation of ours, whose mapping has whole pages.
        unsafe {
            a = (a ^ *words.add(at)).wrapping_mul(PRIME).rotate_left(29);
            b = (b ^ *words.add(at + 1)).wrapping_mul(PRIME).rotate_left(29);
            c = (c ^ *words.add(at + 2)).wrapping_mul(PRIME).rotate_left(29);
            d = (d ^ *words.add(at + 3)).wrapping_mul(PRIME).rotate_left(29);
        }
        at += 4;
    }
    [b, c, d].iter().fold(a, |hash, lane| (hash ^ lane).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23))
}
