use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;

use super::library::{LONGEST_NAME, NvmlLibrary, named, names, watts};
use crate::machine::gpu_reading::{GpuReading, GpuState, GpuUser, Whose};
use gbench_model::TelemetryGap;

/// Returns a function that samples the GPUs with these indices, or every GPU if there are none; create it in the thread that
/// calls it. It returns an empty list if no GPU answers.
///
/// A driver that was reset does not know an old session, so after no GPU answered, the library is opened again for the
/// next call.
pub(in crate::machine) fn telemetry(of: Vec<u32>) -> impl FnMut() -> Vec<GpuReading> {
    let named = named();
    let mut library = None;
    let mut names: Vec<GpuName> = Vec::new();
    move || {
        if library.is_none() {
            library = NvmlLibrary::open(named.as_deref()).ok();
        }
        let Some(nvml) = library.as_ref().and_then(|library: &NvmlLibrary| library.nvml.as_ref()) else {
            return names.iter().map(|name| name.without(TelemetryGap::Refused)).collect();
        };
        if names.is_empty() {
            let indices = 0..nvml.device_count().unwrap_or(0);
            let wanted = indices.filter(|index| of.is_empty() || of.contains(index));
            names = wanted.map(|index| GpuName::of(nvml, index)).collect();
        }
        let readings: Vec<GpuReading> = names.iter().map(|name| name.reading(nvml)).collect();
        if readings.iter().all(|reading| reading.state.is_err()) {
            library = None;
        }
        readings
    }
}

struct GpuName {
    index: u32,
    uuid: Option<String>,
    model: Option<String>,
    pcie_max: [Option<u32>; 2],
}

impl GpuName {
    fn of(nvml: &Nvml, index: u32) -> Self {
        let device = nvml.device_by_index(index).ok();
        let uuid = device.as_ref().and_then(|device| device.uuid().ok());
        let model = device.as_ref().and_then(|device| device.name().ok());
        let pcie_max =
            device.map(|device| [device.max_pcie_link_gen().ok(), device.max_pcie_link_width().ok()]);
        Self { index, uuid, model, pcie_max: pcie_max.unwrap_or_default() }
    }

    fn without(&self, gap: TelemetryGap) -> GpuReading {
        GpuReading { index: self.index, uuid: self.uuid.clone(), model: self.model.clone(), state: Err(gap) }
    }

    fn reading(&self, nvml: &Nvml) -> GpuReading {
        let device = match nvml.device_by_index(self.index) {
            Ok(device) => device,
            Err(error) => return self.without(gap(&error)),
        };
        // Every card answers this, so a failure means that the card is not there.
        let memory = match device.memory_info() {
            Err(error) if gap(&error) == TelemetryGap::GpuLost => return self.without(TelemetryGap::GpuLost),
            memory => memory.ok(),
        };
        let clock = |kind: Clock| device.clock_info(kind).ok().map(f64::from);
        let state = GpuState {
            sm_clock: clock(Clock::SM),
            memory_clock: clock(Clock::Memory),
            power: device.power_usage().ok().map(watts),
            energy: device.total_energy_consumption().ok().map(|millijoules| millijoules as f64 / 1000.0),
            temperature: device.temperature(TemperatureSensor::Gpu).ok().map(f64::from),
            utilization: device.utilization_rates().ok().map(|rates| f64::from(rates.gpu)),
            memory_used: memory.as_ref().map(|memory| memory.used),
            memory_total: memory.as_ref().map(|memory| memory.total),
            reasons: device.current_throttle_reasons().map(names).unwrap_or_default(),
            pcie_generation: device.current_pcie_link_gen().ok(),
            pcie_width: device.current_pcie_link_width().ok(),
            pcie_max: self.pcie_max,
            processes: device.running_compute_processes().map(|found| users(nvml, found)).unwrap_or_default(),
        };
        GpuReading { index: self.index, uuid: self.uuid.clone(), model: self.model.clone(), state: Ok(state) }
    }
}

fn gap(error: &NvmlError) -> TelemetryGap {
    match error {
        NvmlError::GpuLost | NvmlError::ResetRequired => TelemetryGap::GpuLost,
        _ => TelemetryGap::Refused,
    }
}

fn users(nvml: &Nvml, found: Vec<ProcessInfo>) -> Vec<GpuUser> {
    let named = |process: ProcessInfo| {
        let user = GpuUser::new(process.pid, None);
        // Our own process's name is not needed each time.
        let name = (user.whose != Whose::Ours).then(|| nvml.sys_process_name(user.pid, LONGEST_NAME).ok());
        GpuUser { name: name.flatten(), ..user }
    };
    found.into_iter().map(named).collect()
}
