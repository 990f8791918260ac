use std::time::{Instant, SystemTime};

use crate::machine::gpu_reading::GpuReading;
use gbench_model::MonitorRecord;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct MachineReading {
    pub at: Instant,
    pub when: SystemTime,
    /// Percent of all processors' time at work since the previous reading.
    pub cpu: Option<f64>,
    pub memory: Option<MemoryReading>,
    pub gpus: Vec<GpuReading>,
    /// CPU seconds that the reading threads had used before.
    pub cost: f64,
}

/// Bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MemoryReading {
    pub total: u64,
    pub used: u64,
}

impl MachineReading {
    pub(super) fn record(&self) -> MonitorRecord {
        let percent = |memory: &MemoryReading| memory.used as f64 / memory.total.max(1) as f64 * 100.0;
        MonitorRecord {
            timestamp: humantime::format_rfc3339_millis(self.when).to_string(),
            cpu_percent: self.cpu,
            total_memory: self.memory.map(|memory| memory.total),
            memory_percent: self.memory.as_ref().map(percent),
            gpu_usage: self.gpus.iter().map(GpuReading::record).collect(),
        }
    }
}
