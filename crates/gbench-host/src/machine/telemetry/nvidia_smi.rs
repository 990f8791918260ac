//! `nvidia-smi --query-gpu`, for machines where this program cannot load NVIDIA's library.
//!
//! <https://docs.nvidia.com/deploy/nvidia-smi/index.html>. All fields exist in drivers since 2016. A figure that a
//! card lacks is a word in brackets. Fields are separated by a comma and a blank; any other comma is a decimal comma
//! of some locale, and such a number is not read.

use crate::machine::gpu_reading::{GpuReading, GpuState, GpuUser};
use crate::machine::nvml::reason_names;
use gbench_model::TelemetryGap;

pub(super) const GPUS: &[&str] = &[
    "--query-gpu=index,uuid,name,clocks.sm,clocks.mem,power.draw,temperature.gpu,utilization.gpu,memory.used,memory.total,\
     pcie.link.gen.current,pcie.link.width.current,clocks_throttle_reasons.active",
    "--format=csv,noheader,nounits",
];

pub(super) const PROCESSES: &[&str] =
    &["--query-compute-apps=gpu_uuid,pid,process_name", "--format=csv,noheader,nounits"];

const FIELDS: usize = 13;
const MEBIBYTE: f64 = 1_048_576.0;

/// The GPUs of both lists. An incomplete line means a GPU that did not answer; without an index the line is skipped.
pub(super) fn read(gpus: &str, processes: &str) -> Vec<GpuReading> {
    let users: Vec<(&str, GpuUser)> = processes.lines().filter_map(process).collect();
    gpus.lines().filter_map(|line| gpu(line, &users)).collect()
}

fn gpu(line: &str, users: &[(&str, GpuUser)]) -> Option<GpuReading> {
    let fields: Vec<&str> = line.split(", ").map(str::trim).collect();
    let index = fields.first()?.parse().ok()?;
    let text = |at: usize| fields.get(at).filter(|text| !text.is_empty() && !text.starts_with('['));
    let number = |at: usize| text(at)?.parse::<f64>().ok().filter(|number| number.is_finite());
    let whole = |at: usize| text(at)?.parse::<u32>().ok();
    let bytes = |at: usize| Some((number(at)? * MEBIBYTE) as u64);
    let uuid = text(1).map(|uuid| (*uuid).to_owned());
    let of_this = |(gpu, _): &&(&str, GpuUser)| uuid.as_deref() == Some(*gpu);
    let state = GpuState {
        sm_clock: number(3),
        memory_clock: number(4),
        power: number(5),
        energy: None,
        temperature: number(6),
        utilization: number(7),
        memory_used: bytes(8),
        memory_total: bytes(9),
        pcie_generation: whole(10),
        pcie_width: whole(11),
        pcie_max: [None; 2],
        reasons: text(12).and_then(|bits| reasons(bits)).unwrap_or_default(),
        processes: users.iter().filter(of_this).map(|(_, user)| user.clone()).collect(),
    };
    let is_whole = fields.len() == FIELDS;
    let state = is_whole.then_some(state).ok_or(TelemetryGap::Refused);
    Some(GpuReading { index, uuid, model: text(2).map(|name| (*name).to_owned()), state })
}

fn reasons(bits: &str) -> Option<Vec<String>> {
    u64::from_str_radix(bits.strip_prefix("0x")?, 16).ok().map(reason_names)
}

fn process(line: &str) -> Option<(&str, GpuUser)> {
    let mut fields = line.splitn(3, ", ").map(str::trim);
    let (gpu, pid) = (fields.next()?, fields.next()?.parse().ok()?);
    let name = fields.next().filter(|name| !name.is_empty() && !name.starts_with('['));
    Some((gpu, GpuUser::new(pid, name.map(str::to_owned))))
}
