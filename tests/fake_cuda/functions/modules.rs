//! Modules, functions and launches.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::{Code, Handle, name};
use crate::driver::{enter, put};
use crate::launch::Together;
use crate::{INVALID_HANDLE, INVALID_VALUE};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(module: *mut Handle, image: *const c_void) -> Code {
    enter("cuModuleLoadData", |driver| {
        // SAFETY: see the module.
        let handle = unsafe { driver.load(image.cast()) }?;
        // SAFETY: see the module.
        unsafe { put(module, handle) }
    })
}

/// The options say how PTX is compiled, which nothing here depends on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut Handle,
    image: *const c_void,
    _: c_uint,
    _: *mut c_uint,
    _: *mut *mut c_void,
) -> Code {
    enter("cuModuleLoadDataEx", |driver| {
        // SAFETY: see the module.
        let handle = unsafe { driver.load(image.cast()) }?;
        // SAFETY: see the module.
        unsafe { put(module, handle) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleUnload(module: Handle) -> Code {
    enter("cuModuleUnload", |driver| {
        let (_, device) = driver.modules.get(&module).ok_or(INVALID_HANDLE)?;
        let device = *device;
        driver.finish(device)?;
        driver.modules.remove(&module);
        driver.functions.retain(|_, function| function.module != module);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(
    function: *mut Handle,
    module: Handle,
    text: *const c_char,
) -> Code {
    enter("cuModuleGetFunction", |driver| {
        driver.context()?;
        // SAFETY: see the module.
        let name = unsafe { name(text) }?;
        driver.note(|| name.to_owned());
        let handle = driver.function(module, name)?;
        // SAFETY: see the module.
        unsafe { put(function, handle) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetGlobal_v2(
    address: *mut usize,
    bytes: *mut usize,
    module: Handle,
    text: *const c_char,
) -> Code {
    enter("cuModuleGetGlobal_v2", |driver| {
        driver.context()?;
        // SAFETY: see the module.
        let name = unsafe { name(text) }?;
        driver.note(|| name.to_owned());
        let (at, size) = driver.variable(module, name)?;
        // SAFETY: see the module.
        unsafe {
            put(address, at)?;
            put(bytes, size)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: Handle) -> Code {
    enter("cuFuncGetAttribute", |driver| {
        driver.note(|| attribute.to_string());
        // SAFETY: see the module.
        unsafe { put(value, driver.function_attribute(function, attribute)?) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int) -> Code {
    enter("cuFuncSetAttribute", |driver| {
        driver.note(|| format!("{attribute} {value}"));
        driver.set_function_attribute(function, attribute, value)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernel(
    function: Handle,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    stream: Handle,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Code {
    enter("cuLaunchKernel", |driver| {
        let shape = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared_bytes);
        // SAFETY: see the module.
        unsafe { driver.launch(function, shape, stream, parameters, extra) }
    })
}

/// `CUlaunchConfig`.
#[repr(C)]
pub struct Config {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    stream: Handle,
    attributes: *const Attribute,
    count: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Attribute {
    id: c_uint,
    pad: c_uint,
    value: [c_uint; 16],
}

#[cfg(not(old_driver))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernelEx(
    config: *const Config,
    function: Handle,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Code {
    enter("cuLaunchKernelEx", |driver| {
        const COOPERATIVE: c_uint = 2;
        const CLUSTER: c_uint = 4;
        // SAFETY: see the module.
        let config = unsafe { config.as_ref() }.ok_or(INVALID_VALUE)?;
        let mut together = Together::default();
        for at in 0..config.count as usize {
            // SAFETY: see the module: there are `count` attributes.
            let attribute = unsafe { config.attributes.add(at).read() };
            match attribute.id {
                COOPERATIVE => together.cooperative = attribute.value[0] != 0,
                CLUSTER => {
                    together.cluster = Some([attribute.value[0], attribute.value[1], attribute.value[2]])
                }
                _ => return Err(INVALID_VALUE),
            }
        }
        let shape = (config.grid, config.block, config.shared_bytes);
        driver.check_together(function, shape, &together)?;
        // SAFETY: see the module.
        unsafe { driver.launch(function, shape, config.stream, parameters, extra) }?;
        driver.note_more(&format!(" cluster={:?} cooperative={}", together.cluster, together.cooperative));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    function: Handle,
    threads: c_int,
    shared_bytes: usize,
) -> Code {
    enter("cuOccupancyMaxActiveBlocksPerMultiprocessor", |driver| {
        let most = driver.occupancy(function, threads as u32, shared_bytes as u32)?;
        // SAFETY: see the module.
        unsafe { put(blocks, most as c_int) }
    })
}
