//! `cuda_kernel`: a kernel of the user, described by `[benchmark.cuda]`. It is not in the catalogue, because the suite file
//! names it.

use std::collections::BTreeMap;
use std::env;
use std::fs;

use super::accuracy::Accuracy;
use super::device::CudaDevice;
use super::error::CudaError;
use super::floor::KernelWork;
use super::hip;
use super::host_buffer::HostBuffer;
use super::image::KernelImage;
use super::kernel::{Check, Kernel, KernelForm, Loaded, Verified, filled, load};
use super::machine_code::{KernelSource, variable};
use super::measuring::METRICS;
use crate::channel::Channel;
use crate::spec::{Defaults, MicroError};
use crate::throttle_state::OpenLook;
use crate::workload::{Workload, WorkloadRun};
use gbench_model::line::Request;
use gbench_model::{
    Access, Component, KERNEL_CALL, KERNEL_WORKLOAD, KernelArgument, KernelCall, KernelLaunch,
    KernelReference, buffers,
};

pub(crate) const KERNEL: Workload = Workload {
    name: KERNEL_WORKLOAD,
    description: "A CUDA or HIP kernel of a suite",
    components: &[Component::Gpu],
    metrics: &METRICS,
    params: &[],
    defaults: Defaults { processes: 5, iterations: 30, warmup: 10 },
    run: WorkloadRun::Gpu(&run),
};

fn run(request: &Request, channel: &mut Channel, look: OpenLook) -> Result<(), MicroError> {
    let call = call()?;
    if hip::is_source(&call.file) {
        hip::switch_to();
        hip::check_call(&call)?;
    }
    let unreadable = |source| MicroError::Source { file: call.file.display().to_string(), source };
    // Without its folder, because the path may end up in the compiled code.
    let file = call.file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut entries = vec![call.entry.clone()];
    entries.extend(call.reference.as_ref().map(|reference| reference.entry.clone()));
    entries.extend(call.data.keys().map(|name| variable(name)));
    let gpu = CudaDevice::open()?;
    let code = if call.image {
        let bytes = fs::read(&call.file).map_err(unreadable)?;
        KernelForm::Image(KernelImage { name: file.clone(), bytes, entries })
    } else {
        let folder = call.file.parent().map(std::path::Path::to_path_buf);
        let source = KernelSource {
            name: file.clone(),
            text: fs::read_to_string(&call.file).map_err(unreadable)?,
            options: call.options.clone(),
            include: folder.into_iter().chain(call.include.clone()).collect(),
            entries,
        };
        KernelForm::Source(source, gpu.facts().own_arch())
    };
    let kernel = Kernel {
        code,
        entry: call.entry.clone(),
        launch: on_card(call.launch, &call.grids, &gpu)?,
        arguments: call.arguments.clone(),
        work: KernelWork {
            dtype: call.multiplies,
            bytes: call.bytes,
            flops: call.flops,
            cold: call.flush_l2,
            sustained: call.sustained,
            ..KernelWork::default()
        },
    };
    let loaded = load(channel, &gpu, &kernel)?;
    for (name, value) in &call.data {
        for buffer in filled(std::slice::from_ref(value), request.seed)? {
            loaded.set_variable(name, &file, &buffer)?;
        }
    }
    let by_reference = call.reference.as_ref().map(|reference| {
        |loaded: &Loaded, inputs: &[HostBuffer], outputs: &[HostBuffer]| {
            let launch = on_card(reference.launch, &reference.grids, &loaded.gpu)?;
            let expected = loaded.run_other(&reference.entry, &launch, inputs)?;
            Ok(accuracy(reference, &call.arguments, &expected, outputs))
        }
    });
    let check = by_reference.as_ref().map(|check| check as Check);
    let verified = Verified { inputs: &filled, check, sends_answer: true };
    loaded.measure(request, channel, look, (&kernel.work, &verified))
}

/// The launch with the grid for this card. Errors: the grid depends on the card, and cannot be computed for this one.
fn on_card(
    launch: KernelLaunch,
    grids: &BTreeMap<u32, [u32; 3]>,
    gpu: &CudaDevice,
) -> Result<KernelLaunch, CudaError> {
    let multiprocessors = gpu.facts().multiprocessors;
    match grids.get(&multiprocessors) {
        Some(grid) => Ok(KernelLaunch { grid: *grid, ..launch }),
        None if grids.is_empty() => Ok(launch),
        None => Err(CudaError::NoGrid { multiprocessors }),
    }
}

fn call() -> Result<KernelCall, MicroError> {
    let text = env::var(KERNEL_CALL).unwrap_or_default();
    serde_json::from_str(&text).map_err(|error| MicroError::Param {
        name: KERNEL_CALL,
        value: error.to_string(),
        known: "what gbench-ci sends for [benchmark.cuda]".into(),
    })
}

/// The worst of all elements that the kernel writes.
fn accuracy(
    reference: &KernelReference,
    arguments: &[KernelArgument],
    expected: &[HostBuffer],
    found: &[HostBuffer],
) -> Accuracy {
    let mut tolerances = reference.tolerances.iter();
    let is_written = buffers(arguments).into_iter().map(|it| it.access != Access::Input);
    let mut accuracy = Accuracy { worst: 0.0, max_abs_error: 0.0 };
    let mut numbers = 0_usize;
    for ((expected, found), _) in expected.iter().zip(found).zip(is_written).filter(|(_, written)| *written) {
        let Some(tolerance) = tolerances.next() else { break };
        for at in 0..expected.len() {
            let (right, is) = (expected.get(at), found.get(at));
            numbers += usize::from(is.is_finite());
            // The same infinity, or NaN if the right answer is NaN.
            if right == is || (right.is_nan() && is.is_nan()) {
                continue;
            }
            let error = (is - right).abs();
            let share = error / (tolerance.absolute + tolerance.relative * right.abs());
            // `max` would ignore a NaN.
            if share > accuracy.worst || share.is_nan() {
                accuracy.worst = share;
            }
            if error > accuracy.max_abs_error || error.is_nan() {
                accuracy.max_abs_error = error;
            }
            if accuracy.worst.is_nan() {
                return accuracy;
            }
        }
    }
    // If neither kernel wrote a number, nothing was checked.
    if numbers == 0 { Accuracy { worst: f64::NAN, max_abs_error: f64::NAN } } else { accuracy }
}
