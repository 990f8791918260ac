//! Kernels of loaded machine code, and those that support measuring.

use super::compiler::compile;
use super::device::CudaDevice;
use super::error::CudaError;
use super::machine_code::{Compiled, KernelSource};
use super::modules::{Function, Module};
use gbench_device_code as device_code;
use gbench_model::KernelLaunch;

/// An option that the suite's own kernels need: CUDA 11 compiles as C++14 by itself, later ones as C++17.
pub(super) const DIALECT: &str = "--std=c++17";

/// A kernel of loaded code by its name in the source. Errors: it does not exist, or the driver refuses its requirements.
pub(super) fn function(
    module: &Module,
    compiled: &Compiled,
    entry: &str,
    launch: &KernelLaunch,
) -> Result<Function, CudaError> {
    let name = compiled.about.names.get(entry).map_or(entry, String::as_str);
    let unread =
        |source: device_code::CodeError| CudaError::Code { kernel: entry.into(), what: source.to_string() };
    let takes = device_code::parameter_sizes(&compiled.cubin, name).map_err(unread)?;
    module.function(name, takes, launch)
}

/// Loads compiled code. Errors: the driver refuses it, with why if its toolkit is too new.
pub(super) fn module(gpu: &CudaDevice, compiled: &Compiled) -> Result<Module, CudaError> {
    let of_code = |error: CudaError| error.of_code(&compiled.about.compiler, gpu.facts().cuda_version);
    gpu.module(&compiled.cubin).map_err(of_code)
}

pub(super) struct Support {
    module: Module,
    compiled: Compiled,
}

impl Support {
    pub(super) fn load(gpu: &CudaDevice) -> Result<Self, CudaError> {
        let compiled = compile(&support_source(), &gpu.facts().arch(), gpu.facts().cuda_version)?;
        Ok(Self { module: module(gpu, &compiled)?, compiled })
    }

    pub(super) fn function(&self, name: &str) -> Result<Function, CudaError> {
        function(&self.module, &self.compiled, name, &KernelLaunch::new([1; 3], [1; 3], 0))
    }
}

pub(super) fn support_source() -> KernelSource {
    KernelSource {
        name: "support.cu".into(),
        text: include_str!("kernels/support.cu").into(),
        options: vec![DIALECT.into()],
        include: Vec::new(),
        entries: Vec::new(),
    }
}
