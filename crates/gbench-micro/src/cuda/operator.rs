//! Measures a kernel of the suite.

use super::device::CudaDevice;
use super::floor::KernelWork;
use super::host_buffer::HostBuffer;
use super::kernel::{Kernel, KernelForm, Loaded, Verified, filled, load, load_cublas};
use super::machine_code::KernelSource;
use super::measuring::METRICS;
use super::operators::{FLUSH_L2, KernelCase, Operator};
use super::support::DIALECT;
use crate::channel::Channel;
use crate::spec::{Defaults, MicroError};
use crate::throttle_state::OpenLook;
use crate::workload::{GpuWork, Workload, WorkloadRun};
use gbench_model::line::Request;
use gbench_model::{Component, KernelArgument};

pub(super) fn workload(operator: &'static Operator) -> Workload {
    Workload {
        name: operator.name,
        description: operator.description,
        components: &[Component::Gpu],
        metrics: &METRICS,
        params: operator.params,
        defaults: Defaults { processes: 5, iterations: 30, warmup: 10 },
        run: WorkloadRun::Gpu(operator),
    }
}

/// True if the cache is overwritten before each sample, from the parameter of that name.
fn is_cold(operator: &Operator, request: &Request) -> Result<bool, MicroError> {
    let first =
        operator.params.iter().find(|(name, _)| *name == FLUSH_L2.0).and_then(|(_, values)| values.first());
    let given = request.params.get(FLUSH_L2.0).map(ToString::to_string);
    match given.as_deref().or(first.copied()) {
        Some("true") => Ok(true),
        Some("false") | None => Ok(false),
        Some(other) => {
            Err(MicroError::Param { name: FLUSH_L2.0, value: other.into(), known: "true, false".into() })
        }
    }
}

impl GpuWork for Operator {
    fn run(&self, request: &Request, channel: &mut Channel, look: OpenLook) -> Result<(), MicroError> {
        measure(self, request, channel, look)
    }
}

fn measure(
    operator: &Operator,
    request: &Request,
    channel: &mut Channel,
    look: OpenLook,
) -> Result<(), MicroError> {
    let cold = is_cold(operator, request)?;
    let case = operator.case(&request.params)?;
    let gpu = CudaDevice::open()?;
    if let Some(needs) = case.needs.filter(|needs| gpu.facts().capability < needs.capability) {
        let (major, minor) = gpu.facts().capability;
        return Err(MicroError::Skip(format!("{}; this one has {major}.{minor}", needs.why)));
    }
    let kernel = kernel(&case, gpu.facts().arch(), cold);
    let loaded = match case.cublas {
        Some(product) => load_cublas(channel, &gpu, &kernel, product)?,
        None => load(channel, &gpu, &kernel)?,
    };
    let inputs = |arguments: &[KernelArgument], seed: u64| {
        let mut buffers = filled(arguments, seed)?;
        case.prepare(&mut buffers, seed);
        Ok(buffers)
    };
    let check =
        |_: &Loaded, filled: &[HostBuffer], read: &[HostBuffer]| Ok(case.check(filled, read, request.seed));
    // The same on both sides of a comparison: its answer needs no comparing.
    let verified = Verified { inputs: &inputs, check: Some(&check), sends_answer: false };
    loaded.measure(request, channel, look, (&kernel.work, &verified))
}

pub(super) fn source(case: &KernelCase) -> KernelSource {
    KernelSource {
        name: case.file.into(),
        text: case.text(),
        options: case.options.iter().cloned().chain([DIALECT.into()]).collect(),
        include: Vec::new(),
        entries: vec![case.entry.into()],
    }
}

fn kernel(case: &KernelCase, arch: String, cold: bool) -> Kernel {
    Kernel {
        code: KernelForm::Source(source(case), arch),
        entry: case.entry.into(),
        launch: case.launch,
        arguments: case.arguments.clone(),
        work: KernelWork {
            items: case.operations,
            bytes: case.bytes,
            flops: case.flops,
            dtype: case.multiplies,
            cold,
            ..KernelWork::default()
        },
    }
}
