//! Modules, functions and launches.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::{Code, Handle, name};
use crate::INVALID_HANDLE;
use crate::driver::{enter, put};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(module: *mut Handle, image: *const c_void) -> Code {
    enter("cuModuleLoadData", |driver| {
        // SAFETY: see the module.
        let handle = unsafe { driver.load(image.cast()) }?;
        // SAFETY: see the module.
        unsafe { put(module, handle) }
    })
}

/// The options say how PTX is compiled, which is refused anyway.
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
