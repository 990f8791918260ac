//! A telemetry reading of one GPU, and the owners of the processes on it.

use gbench_model::{ForeignProcess, MonitorGpu, TelemetryGap};

#[derive(Clone, Debug, PartialEq)]
pub struct GpuReading {
    pub index: u32,
    pub uuid: Option<String>,
    pub model: Option<String>,
    /// Figures are absent if this GPU, its driver or the source does not have them.
    pub state: Result<GpuState, TelemetryGap>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuState {
    /// MHz.
    pub sm_clock: Option<f64>,
    pub memory_clock: Option<f64>,
    /// Watts.
    pub power: Option<f64>,
    /// Joules since the driver's start.
    pub energy: Option<f64>,
    /// Degrees Celsius.
    pub temperature: Option<f64>,
    /// Percent.
    pub utilization: Option<f64>,
    /// Bytes.
    pub memory_used: Option<u64>,
    pub memory_total: Option<u64>,
    /// Everything that limits the clocks, in NVML's names.
    pub reasons: Vec<String>,
    pub pcie_generation: Option<u32>,
    pub pcie_width: Option<u32>,
    /// The most that card and slot have.
    pub pcie_max: [Option<u32>; 2],
    pub processes: Vec<GpuUser>,
}

/// A process on a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuUser {
    pub pid: u32,
    pub name: Option<String>,
    pub whose: Whose,
}

/// The owner of a process, as far as `/proc` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// A descendant of this process.
    Ours,
    Others,
    /// It is not in `/proc`: it has ended, or is of another container.
    Unknown,
}

impl GpuReading {
    /// Its part of a line of the timeline.
    pub fn record(&self) -> MonitorGpu {
        let name = MonitorGpu {
            index: self.index,
            model: self.model.clone(),
            guid: self.uuid.clone(),
            ..MonitorGpu::default()
        };
        match &self.state {
            Err(gap) => MonitorGpu { gap: Some(*gap), ..name },
            Ok(state) => MonitorGpu {
                utilization: state.utilization,
                memory: state.memory_used,
                total_memory: state.memory_total,
                power: state.power,
                energy: state.energy,
                temperature: state.temperature,
                sm_clock: state.sm_clock,
                memory_clock: state.memory_clock,
                throttle_reasons: state.reasons.clone(),
                pcie_generation: state.pcie_generation,
                pcie_width: state.pcie_width,
                foreign: state.users(Whose::Others).collect(),
                ..name
            },
        }
    }
}

impl GpuState {
    /// Those on it, of one kind.
    pub fn users(&self, whose: Whose) -> impl Iterator<Item = ForeignProcess> {
        let those = self.processes.iter().filter(move |user| user.whose == whose);
        those.map(|user| ForeignProcess { pid: user.pid, name: user.name.clone() })
    }
}

impl GpuUser {
    pub fn new(pid: u32, name: Option<String>) -> Self {
        Self { pid, name, whose: whose(pid, std::process::id()) }
    }
}

/// Classifies a process by whether it descends from `ours`. Every benchmark does, through its supervisor.
fn whose(pid: u32, ours: u32) -> Whose {
    /// A chain of processes is short; this bounds a loop.
    const MOST: usize = 256;
    let mut at = pid;
    for _ in 0..MOST {
        if at == ours {
            return Whose::Ours;
        }
        match parent(at) {
            Some(parent) if parent > 0 => at = parent,
            // The first process has no parent; an ended one is unknown.
            Some(_) => return Whose::Others,
            None if at == pid => return Whose::Unknown,
            None => return Whose::Others,
        }
    }
    Whose::Others
}

/// `4711 (a name) S 4700 ...`: the name may hold anything.
fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_ours_ancestors_are_not_and_what_is_not_there_is_unknown() {
        let ours = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert_eq!(whose(child.id(), ours), Whose::Ours);
        assert_eq!(whose(1, ours), Whose::Others);
        child.kill().unwrap();
        child.wait().unwrap();
        // Larger than any process number can be.
        assert_eq!(whose(1 << 30, ours), Whose::Unknown);
    }
}
