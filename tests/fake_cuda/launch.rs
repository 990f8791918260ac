//! Modules, functions and launches.

use std::ffi::c_void;
use std::sync::Arc;

use crate::device;
use crate::driver::{Answer, Driver, Function};
use crate::elf::{self, Cubin, Kernel};
use crate::ptx;
use crate::queue::{Command, Launch};
use crate::{INVALID_HANDLE, INVALID_VALUE};

const NO_BINARY_FOR_GPU: u32 = 209;
const INVALID_IMAGE: u32 = 200;
const INVALID_PTX: u32 = 218;
const JIT_COMPILER_NOT_FOUND: u32 = 221;
const NOT_FOUND: u32 = 500;
const OUT_OF_RESOURCES: u32 = 701;

/// Dynamic and static shared memory that a block has without being told more.
const USUAL_SHARED: u32 = 49_152;
const REGISTERS: u32 = 65_536;

impl Driver {
    /// The handle of a module.
    ///
    /// # Safety
    /// `image` points to a cubin, or to a text that ends in NUL.
    pub unsafe fn load(&mut self, image: *const u8) -> Result<usize, u32> {
        let device = self.context()?;
        if image.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        let Some(length) = (unsafe { elf::length(image) }) else {
            // SAFETY: the same: `length` has read these four bytes as well.
            let start = unsafe { std::slice::from_raw_parts(image, 4) };
            let is_text = start[0].is_ascii_whitespace() || start == b".ver" || start.starts_with(b"//");
            if !is_text {
                return Err(refusal(start));
            }
            // SAFETY: a text that ends in NUL.
            let text = unsafe { std::ffi::CStr::from_ptr(image.cast()) }.to_string_lossy();
            if self.settings.text("jit") == Some("none") {
                return Err(JIT_COMPILER_NOT_FOUND);
            }
            let here = device::sm(&self.settings, self.devices[device]);
            let compiled = ptx::compiled(&text, self.version(), here)?;
            return Ok(self.keep(compiled, device));
        };
        // SAFETY: the image has as many bytes as its header says.
        let bytes = unsafe { std::slice::from_raw_parts(image, length) };
        let cubin = elf::read(bytes).ok_or(INVALID_PTX)?;
        if cubin.toolkit > self.version() / 1000 && self.settings.text("newer") != Some("loads") {
            return Err(self.settings.number("newer", f64::from(INVALID_IMAGE)) as u32);
        }
        if let Some(gfx) = &cubin.gfx {
            let runs_here = self.arch().split(':').next() == Some(gfx.as_str());
            return if runs_here { Ok(self.keep(cubin, device)) } else { Err(NO_BINARY_FOR_GPU) };
        }
        // Code of one architecture runs on the later ones of the same major version.
        let here = device::sm(&self.settings, self.devices[device]);
        if cubin.sm / 10 != here / 10 || cubin.sm > here {
            return Err(NO_BINARY_FOR_GPU);
        }
        Ok(self.keep(cubin, device))
    }

    fn keep(&mut self, cubin: Cubin, device: usize) -> usize {
        let handle = self.new_handle();
        self.note(|| format!("sm={} kernels={}", cubin.sm, cubin.kernels.len()));
        self.modules.insert(handle, (Arc::new(cubin), device));
        handle
    }

    pub fn function(&mut self, module: usize, name: &str) -> Result<usize, u32> {
        let (cubin, _) = self.modules.get(&module).ok_or(INVALID_HANDLE)?;
        let kernel = Arc::new(cubin.kernels.get(name).ok_or(NOT_FOUND)?.clone());
        let of_same = |(_, it): &(&usize, &Function)| it.module == module && it.kernel.name == name;
        if let Some((handle, _)) = self.functions.iter().find(of_same) {
            return Ok(*handle);
        }
        let handle = self.new_handle();
        self.functions
            .insert(handle, Function { module, kernel, twin: None, dynamic: None, large_clusters: false });
        Ok(handle)
    }

    /// Address and bytes of a variable: the twins' own, which is memory of the host.
    pub fn variable(&mut self, module: usize, name: &str) -> Result<(usize, usize), u32> {
        let (cubin, device) = self.modules.get(&module).cloned().ok_or(INVALID_HANDLE)?;
        let size = *cubin.variables.get(name).ok_or(NOT_FOUND)?;
        let address = match self.twins.variable(&cubin, name) {
            Some(address) => address,
            None => {
                let capacity = self.capacity(device);
                self.memory.allocate(&self.settings, device, capacity, size)?
            }
        };
        self.memory.adopt(address, size);
        Ok((address, size))
    }

    pub fn function_attribute(&self, function: usize, attribute: i32) -> Result<i32, u32> {
        let function = self.functions.get(&function).ok_or(INVALID_HANDLE)?;
        let (cubin, _) = self.modules.get(&function.module).ok_or(INVALID_HANDLE)?;
        let kernel = &function.kernel;
        Ok(match attribute {
            0 => most_threads(kernel) as i32,
            1 => kernel.shared as i32,
            2 => cubin.constants as i32,
            3 => kernel.frame as i32,
            4 => kernel.registers as i32,
            5 | 6 => cubin.sm as i32,
            7 => 0,
            8 => self.most_dynamic(function) as i32,
            9 => -1,
            _ => return Err(INVALID_VALUE),
        })
    }

    pub fn set_function_attribute(&mut self, function: usize, attribute: i32, value: i32) -> Answer {
        const DYNAMIC_SHARED: i32 = 8;
        const CARVEOUT: i32 = 9;
        const LARGE_CLUSTERS: i32 = 14;
        let own = self.functions.get(&function).ok_or(INVALID_HANDLE)?;
        let (cubin, device) = self.modules.get(&own.module).ok_or(INVALID_HANDLE)?;
        match attribute {
            DYNAMIC_SHARED => {
                let most = device::most_shared(&self.settings, self.devices[*device]);
                let value = u32::try_from(value).map_err(|_| INVALID_VALUE)?;
                if own_shared(&own.kernel, cubin.sm).saturating_add(value) > most {
                    return Err(INVALID_VALUE);
                }
                if let Some(function) = self.functions.get_mut(&function) {
                    function.dynamic = Some(value);
                }
                Ok(())
            }
            CARVEOUT if (-1..=100).contains(&value) => Ok(()),
            LARGE_CLUSTERS if cubin.sm >= 90 => {
                if let Some(function) = self.functions.get_mut(&function) {
                    function.large_clusters = value != 0;
                }
                Ok(())
            }
            _ => Err(INVALID_VALUE),
        }
    }

    fn most_dynamic(&self, function: &Function) -> u32 {
        let sm = self.modules.get(&function.module).map_or(0, |(cubin, _)| cubin.sm);
        function.dynamic.unwrap_or(USUAL_SHARED.saturating_sub(own_shared(&function.kernel, sm)))
    }

    /// Queues a launch.
    ///
    /// # Safety
    /// `parameters` or `extra` are as `cuLaunchKernel` asks.
    pub unsafe fn launch(
        &mut self,
        function: usize,
        (grid, block, shared_bytes): ([u32; 3], [u32; 3], u32),
        stream: usize,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> Answer {
        let stream = self.stream(stream)?;
        let own = self.functions.get(&function).ok_or(INVALID_HANDLE)?;
        let cubin = self.modules.get(&own.module).ok_or(INVALID_HANDLE)?.0.clone();
        let kernel = own.kernel.clone();
        let limits = [i32::MAX as u32, 65_535, 65_535];
        let threads = block.iter().fold(1_u64, |product, side| product * u64::from(*side));
        let grid_fits = grid.iter().zip(limits).all(|(side, limit)| (1..=limit).contains(side));
        let block_fits = block.iter().zip([1024, 1024, 64]).all(|(side, limit)| (1..=limit).contains(side));
        if !grid_fits || !block_fits || threads > 1024 {
            return Err(INVALID_VALUE);
        }
        // Registers are handed out to whole warps.
        let warps = threads.div_ceil(32) as u32;
        if warps * 32 * kernel.registers.next_multiple_of(8) > REGISTERS {
            return Err(OUT_OF_RESOURCES);
        }
        if threads > u64::from(most_threads(&kernel)) || shared_bytes > self.most_dynamic(own) {
            return Err(INVALID_VALUE);
        }
        let twin = match own.twin {
            Some(twin) => twin,
            None => self.twins.find(&cubin, &kernel.name).map_err(|()| NOT_FOUND)?,
        };
        if let Some(own) = self.functions.get_mut(&function) {
            own.twin = Some(twin);
        }
        // SAFETY: the caller's promise.
        let parameters = unsafe { copied(&kernel, parameters, extra) }?;
        let mut key: Vec<u8> = Vec::new();
        for number in [function as u32, shared_bytes].iter().chain(&grid).chain(&block) {
            key.extend(number.to_le_bytes());
        }
        parameters.iter().for_each(|word| key.extend(word.to_le_bytes()));
        self.note(|| {
            let [x, y, z] = grid;
            let [a, b, c] = block;
            format!(
                "{} grid={x},{y},{z} block={a},{b},{c} shared={shared_bytes} stream={stream}",
                kernel.name
            )
        });
        let launch = Launch { kernel, twin, grid, block, shared_bytes, parameters, key };
        let order = self.queue(stream, Command::Kernel(Arc::new(launch)));
        if self.settings.on("replay") {
            self.run(stream, order, true)?;
        }
        Ok(())
    }
}

/// Blocks of a cluster, and whether all blocks wait for each other.
#[derive(Default)]
pub struct Together {
    pub cluster: Option<[u32; 3]>,
    pub cooperative: bool,
}

impl Driver {
    /// Blocks of a kernel that run on one SM at the same time.
    pub fn occupancy(&self, function: usize, threads: u32, shared_bytes: u32) -> Result<u32, u32> {
        let own = self.functions.get(&function).ok_or(INVALID_HANDLE)?;
        let (cubin, device) = self.modules.get(&own.module).ok_or(INVALID_HANDLE)?;
        if threads == 0 || threads > most_threads(&own.kernel) {
            return Err(INVALID_VALUE);
        }
        let warps = threads.div_ceil(32);
        let registers = warps * 32 * own.kernel.registers.max(1).next_multiple_of(8);
        // The system keeps 1 KiB of each block.
        let shared = own_shared(&own.kernel, cubin.sm) + shared_bytes + 1024;
        let of_sm = device::most_shared(&self.settings, self.devices[*device]) + 1024;
        Ok((2048 / (warps * 32)).min(REGISTERS / registers).min(of_sm / shared).min(32))
    }

    /// Errors: the blocks cannot run together so.
    pub fn check_together(
        &self,
        function: usize,
        (grid, block, shared_bytes): ([u32; 3], [u32; 3], u32),
        together: &Together,
    ) -> Answer {
        const COOPERATIVE_TOO_LARGE: u32 = 720;
        const INVALID_CLUSTER: u32 = 912;
        let own = self.functions.get(&function).ok_or(INVALID_HANDLE)?;
        let (_, device) = self.modules.get(&own.module).ok_or(INVALID_HANDLE)?;
        let device = self.devices[*device];
        if let Some(cluster) = together.cluster {
            let blocks = cluster.iter().product::<u32>();
            if device::sm(&self.settings, device) < 90 || blocks == 0 {
                return Err(INVALID_VALUE);
            }
            if blocks > if own.large_clusters { 16 } else { 8 } {
                return Err(INVALID_CLUSTER);
            }
            if grid.iter().zip(cluster).any(|(blocks, of)| blocks % of != 0) {
                return Err(INVALID_VALUE);
            }
        }
        if together.cooperative {
            let sms = device::attribute(&self.settings, device, 16)? as u32;
            let most = self.occupancy(function, block.iter().product(), shared_bytes)? * sms;
            if grid.iter().product::<u32>() > most {
                return Err(COOPERATIVE_TOO_LARGE);
            }
        }
        Ok(())
    }
}

/// Why an image that is no ELF file is not loaded.
fn refusal(start: &[u8]) -> u32 {
    const FATBIN: &[u8] = &0xba55_ed50_u32.to_le_bytes();
    const FATBIN_WRAPPER: &[u8] = &0x4662_43b1_u32.to_le_bytes();
    if start == FATBIN || start == FATBIN_WRAPPER {
        eprintln!("fake_cuda: fatbins are not read");
        return NO_BINARY_FOR_GPU;
    }
    INVALID_PTX
}

fn most_threads(kernel: &Kernel) -> u32 {
    let by_registers = REGISTERS / (kernel.registers.max(1).next_multiple_of(8) * 32) * 32;
    let bounds = if kernel.most_threads == 0 { 1024 } else { kernel.most_threads };
    bounds.min(by_registers).min(1024)
}

/// Static shared memory without what the system keeps of each block, which the cubin counts from sm_90 on.
fn own_shared(kernel: &Kernel, sm: u32) -> u32 {
    kernel.shared.saturating_sub(if sm >= 90 { 1024 } else { 0 })
}

/// The values of the parameters, taken when the launch is asked for.
///
/// # Safety
/// As for `cuLaunchKernel`: each entry of `parameters` points to its parameter's value, or `extra` to a buffer of them all.
unsafe fn copied(
    kernel: &Kernel,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<Vec<u128>, u32> {
    const BUFFER: usize = 1;
    const SIZE: usize = 2;
    let size = kernel.parameters.iter().map(|it| it.offset + it.size).max().unwrap_or(0);
    let mut words = vec![0_u128; size.div_ceil(16)];
    let base = words.as_mut_ptr().cast::<u8>();
    if parameters.is_null() && extra.is_null() {
        return if size == 0 { Ok(words) } else { Err(INVALID_VALUE) };
    }
    if !parameters.is_null() {
        for (index, parameter) in kernel.parameters.iter().enumerate() {
            // SAFETY: there is an entry for each parameter.
            let value = unsafe { parameters.add(index).read() };
            if value.is_null() {
                return Err(INVALID_VALUE);
            }
            // SAFETY: the entry points to a value of the parameter's size, and the buffer reaches to the last parameter's end.
            unsafe { base.add(parameter.offset).copy_from_nonoverlapping(value.cast(), parameter.size) };
        }
        return Ok(words);
    }
    let (mut buffer, mut given) = (std::ptr::null(), 0);
    let mut at = extra;
    // SAFETY: pairs of a key and a value, which a null ends.
    unsafe {
        while !at.read().is_null() {
            match at.read() as usize {
                BUFFER => buffer = at.add(1).read().cast::<u8>().cast_const(),
                SIZE => given = at.add(1).read().cast::<usize>().read(),
                _ => return Err(INVALID_VALUE),
            }
            at = at.add(2);
        }
    }
    if buffer.is_null() || given < size {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller's buffer has `given` bytes, at least as many as are copied.
    unsafe { base.copy_from_nonoverlapping(buffer, size) };
    Ok(words)
}
