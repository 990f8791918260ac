//! Kernels of loaded machine code, and those that support measuring.

use super::compiler::{Compiled, KernelSource, compile};
use super::device::{CudaDevice, Function, Module};
use super::error::CudaError;
use gbench_device_code as device_code;

/// A kernel of loaded code by its name in the source. Errors: it does not exist, or the driver refuses its requirements.
pub(super) fn function(
    module: &Module,
    compiled: &Compiled,
    entry: &str,
    shared_bytes: u32,
) -> Result<Function, CudaError> {
    let name = compiled.about.names.get(entry).map_or(entry, String::as_str);
    let unread =
        |source: device_code::CodeError| CudaError::Code { kernel: entry.into(), what: source.to_string() };
    let takes = device_code::parameter_sizes(&compiled.cubin, name).map_err(unread)?;
    module.function(name, takes, shared_bytes)
}

pub(super) struct Support {
    module: Module,
    compiled: Compiled,
}

impl Support {
    pub(super) fn load(gpu: &CudaDevice) -> Result<Self, CudaError> {
        let compiled = compile(&support_source(), &gpu.facts().arch(), gpu.facts().cuda_version)?;
        Ok(Self { module: gpu.module(&compiled.cubin)?, compiled })
    }

    pub(super) fn function(&self, name: &str) -> Result<Function, CudaError> {
        function(&self.module, &self.compiled, name, 0)
    }
}

pub(super) fn support_source() -> KernelSource {
    KernelSource {
        name: "support.cu".into(),
        text: include_str!("kernels/support.cu").into(),
        options: Vec::new(),
        include: Vec::new(),
        entries: Vec::new(),
    }
}
