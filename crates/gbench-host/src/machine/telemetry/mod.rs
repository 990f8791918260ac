//! Activity of the machine and its GPUs while processes run: a thread samples it at an interval, and windows of time
//! summarise it.

mod amd;
mod calm;
mod host;
mod nvidia_smi;
mod probe;
mod reading;
mod sampler;
mod source;
mod window;

pub(super) use calm::CalmCheck;
pub use sampler::{MachineSampler, Timeline};

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::machine::gpu_reading::{GpuReading, GpuUser};
    use case_files::Given;

    /// Parses a program's output: `amd-smi`, `rocm-smi`, or `nvidia-smi` with or without `processes`.
    pub(in crate::machine) fn answer(given: &Given) -> String {
        let (amd, rocm) = (given.get("amd-smi"), given.get("rocm-smi"));
        let nvidia = || {
            nvidia_smi::read(&given.get("nvidia-smi").unwrap(), &given.get("processes").unwrap_or_default())
        };
        let readings = match (amd, rocm) {
            (Some(amd), _) => amd::read_amd_smi(&amd),
            (_, Some(rocm)) => amd::read_rocm_smi(&rocm),
            _ => Some(nvidia()),
        };
        let Some(readings) = readings else { return "not understood".into() };
        let text: String = readings.into_iter().map(reading_text).collect();
        if text.is_empty() { "no GPU".into() } else { text }
    }

    fn reading_text(GpuReading { index, uuid, model, state }: GpuReading) -> String {
        let head = format!("GPU {index}, {uuid:?}, {model:?}");
        match state {
            Ok(mut state) => {
                let users = std::mem::take(&mut state.processes);
                // The owner of a process depends on the machine that runs the test.
                let user = |GpuUser { pid, name, whose: _ }: GpuUser| format!("  process {pid} {name:?}\n");
                format!("{head}\n  {state:?}\n") + &users.into_iter().map(user).collect::<String>()
            }
            Err(gap) => format!("{head}: {gap:?}\n"),
        }
    }
}
