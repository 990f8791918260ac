//! `launch_latency`: the cost of starting work on the device, with a kernel that does nothing; `pcie_bandwidth`: the speed of
//! copies to and from the device.

use std::time::Instant;

use super::device::CudaDevice;
use super::error::CudaError;
use super::modules::{Function, Parameters};
use super::support::Support;
use crate::channel::Channel;
use crate::pace::measure;
use crate::spec::{Defaults, MetricSpec, MicroError};
use crate::throttle_state::OpenLook;
use crate::workload::{Workload, WorkloadRun};
use gbench_model::line::Request;
use gbench_model::{Better, Component, KernelLaunch};

pub(super) const LATENCY: Workload = Workload {
    name: "launch_latency",
    description: "An empty kernel: started and waited for, in a row in one stream, and in a row as a CUDA graph",
    components: &[Component::Gpu],
    metrics: &LATENCIES,
    params: &[],
    defaults: Defaults { processes: 5, iterations: 100, warmup: 20 },
    run: WorkloadRun::Gpu(&latency),
};

pub(super) const PCIE: Workload = Workload {
    name: "pcie_bandwidth",
    description: "Copies of 64 MiB between page-locked memory of the host and the device, one at a time",
    components: &[Component::Gpu],
    metrics: &RATES,
    params: &[],
    defaults: Defaults { processes: 5, iterations: 20, warmup: 3 },
    run: WorkloadRun::Gpu(&pcie),
};

const fn latency_of(name: &'static str) -> MetricSpec {
    MetricSpec { name, unit: "µs", better: Better::Lower, threshold: 0.1, judged: true }
}

static LATENCIES: [MetricSpec; 3] = [latency_of("round_trip"), latency_of("stream"), latency_of("graph")];

const fn rate_of(name: &'static str) -> MetricSpec {
    MetricSpec { name, unit: "GB/s", better: Better::Higher, threshold: 0.05, judged: true }
}

static RATES: [MetricSpec; 2] = [rate_of("to_device"), rate_of("to_host")];

/// Launches in a row: enough for the clock's resolution, few enough for the queue.
const ROW: u32 = 200;
const ONE: KernelLaunch = KernelLaunch::new([1, 1, 1], [1, 1, 1], 0);
/// Bytes of a copy, and 8-byte words.
const COPY_BYTES: usize = 64 << 20;
const COPY_WORDS: usize = COPY_BYTES / size_of::<u64>();

fn latency(request: &Request, channel: &mut Channel, _: OpenLook) -> Result<(), MicroError> {
    let gpu = CudaDevice::open()?;
    let support = Support::load(&gpu)?;
    let (empty, mark) = (support.function("gb_empty")?, support.function("gb_fill")?);
    let none = Parameters::default();
    let launch = || gpu.launch(&empty, &ONE, &none);
    // The first launch loads the code, which a capture may refuse.
    launch()?;
    gpu.wait()?;
    let row = || (0..ROW).try_for_each(|_| launch());
    let Some(graph) = gpu.graph(row)? else {
        return Err(MicroError::Skip("this CUDA driver has no graphs".into()));
    };
    let (begin, end) = (gpu.event()?, gpu.event()?);
    channel.work_on(&gpu.facts().name, [None; 3])?;
    channel.notes([("launches_in_a_row", ROW.into())])?;
    let between = |queue: &dyn Fn() -> Result<(), CudaError>| -> Result<f64, MicroError> {
        gpu.record(&begin)?;
        queue()?;
        gpu.record(&end)?;
        gpu.wait()?;
        Ok(gpu.seconds_between(&begin, &end)? / f64::from(ROW) * 1e6)
    };
    measure(request, channel, &LATENCIES, || {
        let begun = Instant::now();
        launch()?;
        gpu.wait()?;
        let round_trip = begun.elapsed().as_secs_f64() * 1e6;
        Ok([round_trip, between(&row)?, between(&|| graph.launch())?])
    })?;
    check_order(channel, &gpu, &mark)
}

/// A kernel without effect cannot be checked, but the order of launches in the stream can.
fn check_order(channel: &mut Channel, gpu: &CudaDevice, mark: &Function) -> Result<(), MicroError> {
    let buffer = gpu.allocate(size_of::<u32>())?;
    for value in 1..=ROW {
        let parameters =
            Parameters::default().buffer(&buffer).value(&1_u64.to_le_bytes()).value(&value.to_le_bytes());
        gpu.launch(mark, &ONE, &parameters)?;
    }
    let last = buffer.read()?;
    let wrong = f64::from(u8::from(last != ROW.to_le_bytes()));
    channel.validation("launches ran in their order", wrong, 0.5)
}

fn pcie(request: &Request, channel: &mut Channel, _: OpenLook) -> Result<(), MicroError> {
    let gpu = CudaDevice::open()?;
    let (there, back) = (gpu.shared_words(COPY_WORDS)?, gpu.shared_words(COPY_WORDS)?);
    // Numbers without a pattern, different in each process.
    let word = |at: usize| (at as u64 ^ request.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..COPY_WORDS).for_each(|at| there.set(at, word(at)));
    let buffer = gpu.allocate(COPY_BYTES)?;
    let (begin, end) = (gpu.event()?, gpu.event()?);
    channel.work_on(&gpu.facts().name, [None; 3])?;
    channel.notes([("copy_bytes", COPY_BYTES.into())])?;
    let rate = |copy: &dyn Fn() -> Result<(), CudaError>| -> Result<f64, MicroError> {
        gpu.record(&begin)?;
        copy()?;
        gpu.record(&end)?;
        gpu.wait()?;
        Ok(COPY_BYTES as f64 / gpu.seconds_between(&begin, &end)? * 1e-9)
    };
    measure(request, channel, &RATES, || {
        Ok([rate(&|| gpu.upload(&buffer, &there))?, rate(&|| gpu.download(&back, &buffer))?])
    })?;
    gpu.set(&buffer, 0)?;
    gpu.upload(&buffer, &there)?;
    gpu.download(&back, &buffer)?;
    gpu.wait()?;
    let wrong = (0..COPY_WORDS).filter(|at| back.get(*at) != word(*at)).count();
    channel.validation("every word came back", wrong as f64, 0.5)
}
