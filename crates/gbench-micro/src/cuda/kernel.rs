//! Measures one kernel: compiles and loads it, creates its inputs, times it, and checks its answer.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand_pcg::Pcg64;
use serde_json::json;

use super::accuracy::Accuracy;
use super::compiler::compile;
use super::cublas::{Cublas, SquareProduct};
use super::device::CudaDevice;
use super::error::CudaError;
use super::floor::{KernelWork, floor, shown, shown_peaks};
use super::hip;
use super::host_buffer::{HostBuffer, POISON};
use super::image::KernelImage;
use super::machine_code::{Compiled, KernelSource, variable};
use super::measuring::measure;
use super::modules::{Function, Module, Parameters};
use super::sampler::Sampler;
use super::slots::{Slots, Surroundings};
use super::support::{Support, function, module};
use crate::channel::Channel;
use crate::pace::Limit;
use crate::spec::MicroError;
use crate::throttle_state::OpenLook;
use gbench_device_code::{display_name, unset_constants};
use gbench_model::line::{Event, Request};
use gbench_model::{
    Access, DeviceCode, Fill, KernelArgument, KernelBuffer, KernelLaunch, L2_STATE, PEAK_NOTES, Stage,
    buffers,
};

/// Share of the free device memory that copies of a kernel's buffers may take.
const COPIES_SHARE: usize = 4;

pub(super) struct Kernel {
    pub code: KernelForm,
    /// The name in the source, or in the image.
    pub entry: String,
    pub launch: KernelLaunch,
    pub arguments: Vec<KernelArgument>,
    /// Yields the least possible time, and the rates.
    pub work: KernelWork,
}

pub(super) enum KernelForm {
    /// For an architecture: `sm_90`.
    Source(KernelSource, String),
    Image(KernelImage),
}

/// Work on the device, ready to start.
pub(super) struct Loaded {
    pub gpu: CudaDevice,
    callee: Callee,
    launch: KernelLaunch,
    arguments: Vec<KernelArgument>,
}

enum Callee {
    Kernel { module: Module, compiled: Compiled, function: Function },
    Cublas { library: Cublas, product: SquareProduct },
}

/// Compiles the source for the GPU, or takes the image, loads it, and sends the device code on the channel.
pub(super) fn load(channel: &mut Channel, gpu: &CudaDevice, kernel: &Kernel) -> Result<Loaded, MicroError> {
    let (compiled, module) = match &kernel.code {
        KernelForm::Source(source, arch) => {
            let compiled = compile(source, arch, gpu.facts().cuda_version)?;
            let module = module(gpu, &compiled)?;
            (compiled, module)
        }
        KernelForm::Image(image) => image.load(gpu)?,
    };
    let mut code = code_of(&compiled, &kernel.entry);
    check_shared(gpu, code.as_ref(), kernel.launch.shared_bytes)?;
    let function = function(&module, &compiled, &kernel.entry, &kernel.launch)?;
    check_constants(&compiled, kernel)?;
    for kernel in code.iter_mut().flat_map(|code| code.kernels.values_mut()) {
        function.complete(kernel);
    }
    if let Some(code) = code {
        let DeviceCode { arch, compiler, kernels } = code;
        channel.send(&Event::DeviceCode { arch, compiler, kernels })?;
    }
    let (launch, arguments) = (kernel.launch, kernel.arguments.clone());
    let callee = Callee::Kernel { module, compiled, function };
    Ok(Loaded { gpu: gpu.clone(), callee, launch, arguments })
}

/// Uses NVIDIA's library instead of a kernel.
pub(super) fn load_cublas(
    channel: &mut Channel,
    gpu: &CudaDevice,
    kernel: &Kernel,
    product: SquareProduct,
) -> Result<Loaded, MicroError> {
    let library = Cublas::open(gpu)?;
    channel.notes([("cublas", json!(library.version))])?;
    let callee = Callee::Cublas { library, product };
    Ok(Loaded { gpu: gpu.clone(), callee, launch: kernel.launch, arguments: kernel.arguments.clone() })
}

/// Errors: the kernel declares and requests more shared memory than a block of the card has.
fn check_shared(gpu: &CudaDevice, code: Option<&DeviceCode>, asked: u32) -> Result<(), CudaError> {
    let most = gpu.facts().shared_bytes;
    let declared = code.and_then(|code| code.kernels.values().filter_map(|kernel| kernel.shared_bytes).max());
    let own = declared.unwrap_or(0);
    if most > 0 && asked > 0 && own + u64::from(asked) > u64::from(most) {
        return Err(CudaError::SharedMemory { asked, own, most });
    }
    Ok(())
}

/// Errors: the kernel reads constants that nothing sets.
fn check_constants(compiled: &Compiled, kernel: &Kernel) -> Result<(), CudaError> {
    let entry = compiled.about.names.get(&kernel.entry).unwrap_or(&kernel.entry);
    // Code that cannot be read is reported where its parameters are read.
    let mut unset = unset_constants(&compiled.cubin, entry).unwrap_or_default();
    unset.retain(|name| compiled.about.variables().all(|set| set != name));
    if unset.is_empty() {
        return Ok(());
    }
    let names = unset.iter().map(|name| format!("`{}`", display_name(name))).collect();
    Err(CudaError::UnsetConstants { kernel: kernel.entry.clone(), names })
}

fn code_of(compiled: &Compiled, entry: &str) -> Option<DeviceCode> {
    let (name, kernel) = compiled.code.kernels.get_key_value(compiled.about.names.get(entry)?)?;
    let kernels = BTreeMap::from([(name.clone(), kernel.clone())]);
    let DeviceCode { arch, compiler, .. } = compiled.code.clone();
    Some(DeviceCode { arch, compiler, kernels })
}

/// Creates the initial content of each buffer argument.
pub(super) type Inputs<'a> = &'a dyn Fn(&[KernelArgument], u64) -> Result<Vec<HostBuffer>, MicroError>;

/// Initial contents as the arguments specify, such as random numbers.
pub(super) fn filled(arguments: &[KernelArgument], seed: u64) -> Result<Vec<HostBuffer>, MicroError> {
    let mut random = Pcg64::seed_from_u64(seed);
    let filled = |it: KernelBuffer| {
        // An output is poisoned before it is checked; until then it is zero.
        let fill = if it.access == Access::Output { Fill::Value { value: 0.0 } } else { it.fill };
        HostBuffer::filled(it.dtype, it.length, &fill, &mut random)
    };
    buffers(arguments).into_iter().map(filled).collect()
}

/// Checks a kernel's answer, given all buffers before and after a launch, and the loaded kernel with its buffers, for checks
/// that launch another kernel on the same data.
pub(super) type Check<'a> = &'a dyn Fn(&Loaded, &[HostBuffer], &[HostBuffer]) -> Result<Accuracy, MicroError>;

/// How the answer of a kernel is verified.
pub(super) struct Verified<'a> {
    pub inputs: Inputs<'a>,
    pub check: Option<Check<'a>>,
    /// The answer is sent, so that base and head can be compared by it.
    pub sends_answer: bool,
}

impl Loaded {
    /// Queues one call. `parameters`: those of the slots.
    fn call(&self, slots: &Slots, parameters: &Parameters) -> Result<(), CudaError> {
        match &self.callee {
            Callee::Kernel { function, .. } => self.gpu.launch(function, &self.launch, parameters),
            Callee::Cublas { library, product } => {
                let [a, b, c] = slots.buffers()[..] else {
                    let kernel = "cublasGemmEx".into();
                    return Err(CudaError::Parameters { kernel, takes: vec![8; 3], given: Vec::new() });
                };
                library.multiply(product.dtype, product.n, a, b, c)
            }
        }
    }

    /// Sets a variable of the source. Errors: the source has no such variable, or it has another size.
    pub(super) fn set_variable(&self, name: &str, file: &str, value: &HostBuffer) -> Result<(), MicroError> {
        let Callee::Kernel { module, compiled, .. } = &self.callee else {
            return Err(CudaError::NoKernel { entry: name.into() }.into());
        };
        let missing = || CudaError::NoVariable { file: file.to_owned(), name: name.to_owned() };
        let lowered = compiled.about.names.get(&variable(name)).ok_or_else(missing)?;
        let (takes, given) = (module.variable_bytes(lowered).ok_or_else(missing)?, value.bytes().len());
        if takes != given {
            return Err(CudaError::VariableSize { name: name.to_owned(), given, takes }.into());
        }
        Ok(module.set_variable(lowered, value.bytes())?)
    }

    /// Launches another kernel of the same code once, on its own inputs; returns its buffers.
    pub(super) fn run_other(
        &self,
        entry: &str,
        launch: &KernelLaunch,
        inputs: &[HostBuffer],
    ) -> Result<Vec<HostBuffer>, MicroError> {
        let Callee::Kernel { module, compiled, .. } = &self.callee else {
            return Err(CudaError::NoKernel { entry: entry.into() }.into());
        };
        let other = function(module, compiled, entry, launch)?;
        let slots = Slots::new(&self.gpu, &self.arguments, inputs, Surroundings::Guarded)?;
        slots.prepare(&self.gpu, &self.arguments, inputs, POISON)?;
        self.gpu.launch(&other, launch, &slots.parameters())?;
        Ok(slots.read(&self.arguments)?)
    }

    /// Warms up, measures and verifies.
    pub(super) fn measure(
        &self,
        request: &Request,
        channel: &mut Channel,
        look: OpenLook,
        (work, verified): (&KernelWork, &Verified),
    ) -> Result<(), MicroError> {
        let gpu = &self.gpu;
        let facts = gpu.facts().clone();
        if work.cold && facts.l2_bytes == 0 {
            let reason = "the driver does not tell the size of the L2 cache: set flush_l2 = false";
            return Err(MicroError::Skip(reason.into()));
        }
        if let (Some(_), true) = (work.sustained, request.cold) {
            let reason = "a sustained case loads the card before its samples, which a cold start excludes: leave one of the two out";
            return Err(MicroError::Skip(reason.into()));
        }
        let support = (!hip::is_used()).then(|| Support::load(gpu)).transpose()?;
        let mut sampler = Sampler::new(gpu, support.as_ref(), work.cold)?;
        // Checked before the host creates the inputs, which would run out of memory first.
        let (bytes, free) = (self.bytes(|_| true), gpu.free_memory()?);
        if bytes > free as f64 {
            return Err(CudaError::NoRoom { needed: bytes, free }.into());
        }
        let bytes = bytes as usize;
        let first = (verified.inputs)(&self.arguments, request.seed)?;
        let around = if request.profiled { Surroundings::Bare } else { Surroundings::Guarded };
        let mut sets = vec![Slots::new(gpu, &self.arguments, &first, around)?];
        let launch = |set: &Slots| self.call(set, &set.parameters());
        if request.profiled {
            // A profiler would count the kernels that measuring needs, and hold the host while the device waits for it.
            channel.stage(Stage::Measure)?;
            let mut alone = || Ok(sampler.call_alone(|| launch(&sets[0]))?);
            Limit::of_warmup(request).repeat(&mut alone)?;
            return Limit::of_measuring(request).repeat(alone);
        }
        channel.stage(Stage::Warmup)?;
        let mut calls = sampler.calls_per_sample(request, |_| launch(&sets[0]))?;
        sampler.sustained = work.sustained;
        if work.cold {
            // Each call of a sample uses buffers that nothing has touched since the cache was overwritten. If memory is short,
            // a sample has fewer calls rather than warm ones.
            let room = gpu.free_memory()? / COPIES_SHARE / bytes.max(1);
            calls = calls.min(u32::try_from(room).unwrap_or(u32::MAX).max(1));
            for _ in 1..calls {
                sets.push(Slots::new(gpu, &self.arguments, &first, around)?);
            }
        }
        // It may take gigabytes.
        drop(first);
        channel.work_on(&facts.name, [work.items, work.bytes, work.flops])?;
        channel.notes([
            ("buffer_bytes", json!(bytes)),
            ("buffer_sets", json!(sets.len())),
            // Compared with base's: cold times of a cache whose lines were written are longer.
            (L2_STATE, json!(l2_state(work.cold))),
            ("arch", json!(facts.arch())),
            (if hip::is_used() { "hip" } else { "cuda_driver" }, json!(facts.cuda_version)),
        ])?;
        for (note, peak) in PEAK_NOTES.into_iter().zip(shown_peaks(&facts, work.dtype)) {
            if let Some(peak) = peak {
                channel.notes([(note, json!(peak))])?;
            }
        }
        if let Callee::Kernel { .. } = self.callee {
            channel.notes([("grid", json!(self.launch.grid)), ("block", json!(self.launch.block))])?;
        }
        // The values of a launch are created in advance, so that queueing always costs the same.
        let parameters: Vec<Parameters> = sets.iter().map(Slots::parameters).collect();
        let call = |number: u32| {
            let at = number as usize % parameters.len();
            self.call(&sets[at], &parameters[at])
        };
        let seconds = measure(request, channel, look(facts.uuid.as_deref()), (&mut sampler, calls), call)?;
        let work = KernelWork { written: self.bytes(|access| access != Access::Input), ..*work };
        if let Some(least) = floor(&facts, &work).filter(|least| seconds < least.seconds) {
            return Err(MicroError::Impossible(format!(
                "{} are less than the {} that {} needs at least for the {} that are declared: the work was not done, or less is to be declared",
                shown(seconds),
                shown(least.seconds),
                facts.name,
                least.by,
            )));
        }
        // The data of the measurement and those of the check may lead to different places.
        let mut beyond = sets.iter().map(Slots::written_beyond).collect::<Result<Vec<_>, _>>()?;
        sets.truncate(1);
        // Other numbers than in the measurement, so that a kept answer is wrong.
        let fresh = (verified.inputs)(&self.arguments, request.seed.wrapping_add(1))?;
        if verified.sends_answer {
            sets[0].prepare(gpu, &self.arguments, &fresh, 0)?;
            launch(&sets[0])?;
            self.send_answer(channel, &sets[0].read(&self.arguments)?)?;
        }
        sets[0].prepare(gpu, &self.arguments, &fresh, POISON)?;
        launch(&sets[0])?;
        let outputs = sets[0].read(&self.arguments)?;
        beyond.push(sets[0].written_beyond()?);
        if let Some(argument) = beyond.into_iter().flatten().next() {
            return Err(MicroError::Impossible(format!(
                "the kernel writes past the end of the buffer of argument {argument}: check its `length`, the grid and the kernel's bounds"
            )));
        }
        // A check may take as much memory for another kernel.
        drop(sets);
        let Some(check) = verified.check else { return channel.notes([("answer_checked", json!(false))]) };
        let accuracy = check(self, &fresh, &outputs)?;
        let errors = BTreeMap::from([("max_abs_error".to_owned(), finite(accuracy.max_abs_error))]);
        let passed = accuracy.worst <= 1.0;
        let message = (!passed).then(|| {
            if accuracy.worst.is_nan() {
                "the answer is not a number in some element, or was never written".to_owned()
            } else {
                let Accuracy { max_abs_error, worst } = accuracy;
                format!("the answer is off by {max_abs_error:.3e}, {worst:.3} times what is allowed")
            }
        });
        channel.send(&Event::Validation { passed, message, errors })
    }

    /// Sends what represents the buffers that the kernel writes, counted from 1: the place of an argument changes with the
    /// others.
    fn send_answer(&self, channel: &mut Channel, read: &[HostBuffer]) -> Result<(), MicroError> {
        let described = buffers(&self.arguments);
        let written = read.iter().zip(described).filter(|(_, it)| it.access != Access::Input);
        for (number, (buffer, _)) in (1..).zip(written) {
            for (what, values, tolerance) in buffer.figures() {
                let output = format!("output {number}{what}");
                channel.send(&Event::Answer { output, values, tolerance: Some(tolerance) })?;
            }
        }
        Ok(())
    }

    /// Bytes of the buffers with such an access; as a number, it may exceed all memory.
    fn bytes(&self, counts: impl Fn(Access) -> bool) -> f64 {
        let counted = buffers(&self.arguments).into_iter().filter(|it| counts(it.access));
        counted.map(|it| it.length as f64 * it.dtype.bits() as f64 / 8.0).sum()
    }
}

fn l2_state(is_cold: bool) -> &'static str {
    if !is_cold {
        return "hot";
    }
    if hip::is_used() { "cold, its lines written" } else { "cold, its lines read" }
}

fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}
