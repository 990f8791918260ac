//! Observes what else the machine does while one process runs: the work of others on the processors that the process
//! may use, and throttling of the GPUs.
//!
//! It looks right before and right after the process; while the process measures it looks only if the run is
//! monitored. Not observed: throttling by a control group's quota; contention for memory bandwidth; processors of the
//! host in a container with a synthetic `/proc/stat` (lxcfs, gVisor), where the work of others may read as zero or be
//! absent; a GPU that was throttled only in the middle of the process, if its driver does not count that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sched::CpuSet;

use super::host::{Root, affinity};
use super::nvml::{self, CardHealth, ClocksNow};
use super::telemetry::{CalmCheck, MachineSampler};
use gbench_model::{
    Conditions, EndedProcess, GpuPlace, GpuSign, Telemetry, Unrest, add_violations, confirms_slowdown,
};

/// Ticks of `/proc/stat` per second: USER_HZ, 100 on every supported architecture.
const TICKS: f64 = 100.0;
/// In fewer seconds than this, ticks of 10 ms are too coarse for a share.
const MIN_WALL: f64 = 0.05;
/// A process that had less than this much of a processor had too little. It is below one because ticks and the gate's
/// own work account for a quarter.
const MIN_LEFT: f64 = 0.75;
/// NVML's name of a slowdown by the card itself; its cause has a separate name.
const HW_SLOWDOWN: &str = "hw_slowdown";
/// Throttling for a smaller share of the process's time is ignored.
const MIN_HELD: f64 = 0.01;

type GpuLook = Box<dyn FnMut(&[String]) -> Option<ClocksNow> + Send>;

pub struct HostConditions {
    root: Root,
    /// The processors to look at; `None`: all.
    processors: fn() -> Option<CpuSet>,
    gpu: Option<GpuLook>,
    /// Looks before and after; otherwise it only samples.
    looks: bool,
    sampler: Option<Arc<MachineSampler>>,
    calm: CalmCheck,
    /// The GPUs that matter; `None`: all.
    gpus: Option<Vec<GpuPlace>>,
    before: Option<Before>,
}

struct Before {
    at: Instant,
    processors: Option<CpuSet>,
    ticks: Option<Ticks>,
    gpu: Option<ClocksNow>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Ticks {
    cores: usize,
    busy: u64,
    all: u64,
}

impl HostConditions {
    /// Conditions of this machine. Opens the driver's library if there is one, and keeps it open. `gpus`: those that matter;
    /// `None`: all.
    pub fn here(gpus: Option<Vec<GpuPlace>>) -> Self {
        let look = || nvml::clocks_and_health(&uuids(gpus.as_deref())).map(|look| Box::new(look) as GpuLook);
        let gpu = if is_empty(gpus.as_deref()) { None } else { look() };
        Self { gpu, looks: true, ..Self::without_looks(gpus) }
    }

    /// Only samples; skips the looks before and after.
    pub fn without_looks(gpus: Option<Vec<GpuPlace>>) -> Self {
        let (root, calm) = (Root::new("/"), CalmCheck::default());
        let processors = || affinity().ok();
        Self { root, processors, gpu: None, looks: false, sampler: None, calm, gpus, before: None }
    }

    /// Also samples while processes run. `max_temperature`: degrees Celsius above which a GPU is not idle enough to
    /// start.
    pub fn sampled(self, sampler: Option<Arc<MachineSampler>>, max_temperature: Option<f64>) -> Self {
        Self { sampler, calm: CalmCheck::new(max_temperature), ..self }
    }

    /// From now on, these GPUs matter; `None`: all do.
    pub fn concern(&mut self, gpus: Option<Vec<GpuPlace>>) {
        self.gpus = gpus;
    }

    /// Why the GPUs are not idle while no process of the run uses them; empty if they are idle or cannot be asked.
    /// `waited`: for more than a second.
    pub fn unrest(&mut self, waited: bool) -> Vec<Unrest> {
        let Some(sampler) = &self.sampler else { return Vec::new() };
        let mut gpus = sampler.gpus_now();
        gpus.retain(|gpu| is_of(self.gpus.as_deref(), gpu.index));
        self.calm.unrest(&gpus, waited)
    }

    pub fn sampler(&self) -> Option<&Arc<MachineSampler>> {
        self.sampler.as_ref()
    }

    /// Other processes of the run were on the GPUs before the first one here.
    pub fn follows_others(&mut self) {
        self.calm.started = true;
    }

    /// Call this right before a process starts.
    pub fn begin(&mut self) {
        let processors = (self.processors)();
        let ticks = if self.looks { ticks(&self.root, processors.as_ref()) } else { None };
        let gpu = self.look();
        let at = Instant::now();
        if let Some(sampler) = &self.sampler {
            // A process that began and never ended would keep all readings.
            self.before.take().into_iter().for_each(|before| sampler.end(before.at));
            sampler.begin(at);
        }
        self.calm.started = true;
        self.before = Some(Before { at, processors, ticks, gpu });
    }

    /// Call this right after the process ended. `None` if nothing could be observed.
    pub fn end(&mut self, ended: &EndedProcess) -> Option<Conditions> {
        let before = self.before.take()?;
        let wall = ended.seconds;
        let telemetry = self.sampler.as_ref().map(|sampler| {
            let after = |seconds: f64| before.at + Duration::try_from_secs_f64(seconds).unwrap_or_default();
            let (from, to) = ended.measured.unwrap_or((0.0, wall));
            let mut telemetry = sampler.window(before.at, (after(from), after(to)));
            sampler.end(before.at);
            telemetry.gpus.retain(|gpu| is_of(self.gpus.as_deref(), gpu.index));
            Box::new(telemetry)
        });
        let gpu_after = self.look();
        // The kernel adds up every interrupt since boot when this file is read, so it is read only where it is useful.
        let look = || before.ticks.zip(ticks(&self.root, before.processors.as_ref()));
        let ticks = if wall < MIN_WALL { None } else { look() };
        let other = ticks.and_then(|(before, after)| other_cpu(before, after, ended.cpu_seconds?, wall));
        if other.is_none() && gpu_after.is_none() && telemetry.is_none() {
            return None;
        }
        let cores = ticks.map_or(1, |(before, _)| before.cores);
        Some(Conditions {
            other_cpu: other,
            busy: other.is_some_and(|other| other > cores as f64 - MIN_LEFT),
            throttled: throttled(before.gpu.as_ref(), gpu_after.as_ref(), wall),
            health: health(before.gpu.as_ref(), gpu_after.as_ref()),
            sm_clock_mhz: telemetry.as_deref().and_then(sm_clock),
            telemetry,
            waited: None,
        })
    }

    fn look(&mut self) -> Option<ClocksNow> {
        let gpus = self.gpus.as_deref();
        let look = self.gpu.as_mut().filter(|_| !is_empty(gpus))?;
        look(&uuids(gpus))
    }
}

fn is_empty(gpus: Option<&[GpuPlace]>) -> bool {
    gpus.is_some_and(<[GpuPlace]>::is_empty)
}

fn is_of(gpus: Option<&[GpuPlace]>, index: u32) -> bool {
    gpus.is_none_or(|gpus| gpus.iter().any(|gpu| gpu.index == index))
}

fn uuids(gpus: Option<&[GpuPlace]>) -> Vec<String> {
    gpus.into_iter().flatten().map(|gpu| gpu.uuid.clone()).collect()
}

fn sm_clock(telemetry: &Telemetry) -> Option<u32> {
    Some(telemetry.gpus.first()?.sm_clock?.mean.round() as u32)
}

/// Work of others, in processors; `None` if the counters do not advance. `wall` must be long enough for the counters.
fn other_cpu(before: Ticks, after: Ticks, own_seconds: f64, wall: f64) -> Option<f64> {
    let counts = after.all > before.all && after.cores == before.cores;
    if !counts {
        return None;
    }
    let busy = after.busy.saturating_sub(before.busy) as f64 / TICKS;
    Some(((busy - own_seconds) / wall).clamp(0.0, before.cores as f64))
}

/// `proc/stat`: `cpu3 user nice system idle iowait irq softirq steal ...`. Stolen time is the work of other machines on
/// the same host.
fn ticks(root: &Root, processors: Option<&CpuSet>) -> Option<Ticks> {
    let text = root.text("proc/stat")?;
    let mut sum = Ticks { cores: 0, busy: 0, all: 0 };
    for line in text.lines() {
        let Some((number, counts)) = line.strip_prefix("cpu").and_then(|rest| rest.split_once(' ')) else {
            continue;
        };
        let Ok(number) = number.parse::<usize>() else { continue };
        if processors.is_some_and(|set| !set.is_set(number).unwrap_or(false)) {
            continue;
        }
        let counts: Vec<u64> =
            counts.split_whitespace().map_while(|count| count.parse().ok()).take(8).collect();
        let all: u64 = counts.iter().sum();
        let idle: u64 = counts.iter().skip(3).take(2).sum();
        sum = Ticks { cores: sum.cores + 1, busy: sum.busy + (all - idle), all: sum.all + all };
    }
    (sum.cores > 0).then_some(sum)
}

impl ClocksNow {
    /// The reasons related to heat or power. An idle GPU's clocks are low, too, but that is expected.
    pub fn holding(&self) -> Vec<String> {
        let counts = |reason: &&String| {
            ["thermal", "power"].iter().any(|word| reason.contains(word))
                || (self.by_hardware && *reason == HW_SLOWDOWN)
        };
        self.reasons.iter().filter(counts).cloned().collect()
    }
}

/// Thermal and power reasons active at either look, and those whose counter grew noticeably.
fn throttled(before: Option<&ClocksNow>, after: Option<&ClocksNow>, wall: f64) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for reason in before.into_iter().chain(after).flat_map(ClocksNow::holding) {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    if let (Some(before), Some(after)) = (before, after) {
        let held = |at: usize| after.held_ns[at].saturating_sub(before.held_ns[at]) as f64 / 1e9;
        let grew = [0, 1].map(|at| held(at) > wall * MIN_HELD);
        let perhaps = before.perhaps_by_hardware || after.perhaps_by_hardware;
        if perhaps && confirms_slowdown(grew, before.by_power || after.by_power) {
            reasons.push(HW_SLOWDOWN.into());
        }
        add_violations(&mut reasons, grew);
    }
    reasons
}

/// The signs of each GPU that answered both looks.
fn health(before: Option<&ClocksNow>, after: Option<&ClocksNow>) -> Vec<GpuSign> {
    let met = |now: &CardHealth| {
        let before = before?.health.iter().find(|before| before.gpu == now.gpu)?;
        Some(now.since(before))
    };
    after.into_iter().flat_map(|after| &after.health).filter_map(met).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::super::test_support::tree;
    use super::*;

    const STAT: &str = "cpu  300 0 0 900 0 0 0 0 0 0\n\
                        cpu0 100 0 0 300 0 0 0 0 0 0\n\
                        cpu1 100 0 0 300 0 0 0 0 0 0\n\
                        cpu2 100 0 0 300 0 0 0 0 0 0\nintr 5\n";

    fn now(reasons: &[&str], held_ns: [u64; 2]) -> ClocksNow {
        ClocksNow {
            reasons: reasons.iter().map(|r| r.to_string()).collect(),
            held_ns,
            ..ClocksNow::default()
        }
    }

    fn without_gpu(root: Root) -> HostConditions {
        HostConditions {
            root,
            processors: || None,
            gpu: None,
            looks: true,
            sampler: None,
            calm: CalmCheck::default(),
            gpus: None,
            before: None,
        }
    }

    fn ended(cpu_seconds: Option<f64>, seconds: f64) -> EndedProcess {
        EndedProcess { cpu_seconds, seconds, measured: None }
    }

    fn the_first_two() -> Option<CpuSet> {
        let mut set = CpuSet::new();
        [0, 1].into_iter().try_for_each(|cpu| set.set(cpu)).ok()?;
        Some(set)
    }

    /// Conditions of a process that took one second and 0.9 s of CPU, while the counters of three processors, two of
    /// them allowed, went to these values.
    fn said(cpu0: &str, cpu1: &str, wall: f64) -> Option<Conditions> {
        let (folder, root) = tree(&[("proc/stat", STAT)]);
        let mut watch = HostConditions { processors: the_first_two, ..without_gpu(root) };
        watch.begin();
        let after = format!("cpu0 {cpu0} 0 0 0\ncpu1 {cpu1} 0 0 0\ncpu2 900 0 0 300 0 0 0 0\n");
        std::fs::write(folder.path().join("proc/stat"), after).unwrap();
        watch.end(&ended(Some(0.9), wall))
    }

    #[test]
    fn the_work_of_others_is_what_is_left_on_our_processors() {
        let calm = said("190 0 0 310 0", "110 0 0 390 0", 1.0).unwrap();
        assert!((calm.other_cpu.unwrap() - 0.1).abs() < 1e-9 && !calm.busy, "{calm:?}");
        // Nice, system, interrupts and stolen time are work too; waiting for a disk is not.
        let full = said("120 60 20 300 0", "150 20 30 300 0", 1.0).unwrap();
        assert!((full.other_cpu.unwrap() - 1.1).abs() < 1e-9 && !full.busy, "{full:?}");
        let waiting = said("190 0 0 300 10", "100 0 0 300 100", 1.0).unwrap();
        assert_eq!(waiting.other_cpu, Some(0.0));
    }

    #[test]
    fn a_process_that_others_leave_less_than_a_processor_is_disturbed() {
        let busy = said("320 0 0 300 0", "260 0 0 300 0", 2.0).unwrap();
        // 3.8 seconds of work in all, 0.9 of them its own, in 2 seconds on 2 processors.
        assert!((busy.other_cpu.unwrap() - 1.45).abs() < 1e-9 && busy.busy, "{busy:?}");
        assert!(busy.busy);
    }

    #[test]
    fn what_cannot_be_told_is_not_told() {
        assert_eq!(said("190 0 0 310 0", "110 0 0 390 0", 0.04), None, "too short");
        assert_eq!(said("100 0 0 300 0", "100 0 0 300 0", 1.0), None, "counters that stand still");
        let (_folder, root) = tree(&[]);
        let mut watch = without_gpu(root);
        assert_eq!(watch.end(&ended(Some(1.0), 1.0)), None, "nobody began");
        watch.begin();
        assert_eq!(watch.end(&ended(Some(1.0), 1.0)), None, "no counters");
    }

    #[test]
    fn thermal_and_power_reasons_count_and_others_do_not() {
        let mut looks = vec![
            now(&["gpu_idle", "sw_power_cap"], [7, 0]),
            now(&["hw_thermal_slowdown"], [2_000_000_007, 0]),
        ];
        looks.reverse();
        let (_folder, root) = tree(&[]);
        let mut watch = HostConditions { gpu: Some(Box::new(move |_| looks.pop())), ..without_gpu(root) };
        watch.begin();
        let said = watch.end(&ended(None, 1.0)).unwrap();
        assert_eq!(said.throttled, ["sw_power_cap", "hw_thermal_slowdown"]);
        assert_eq!(
            (said.sm_clock_mhz, said.other_cpu),
            (None, None),
            "the clock after its end is not its own"
        );
    }

    #[test]
    fn a_counter_tells_what_neither_look_saw() {
        let held = |ns| throttled(Some(&now(&[], [5, 0])), Some(&now(&["gpu_idle"], [5, ns])), 1.0);
        assert_eq!(held(200_000_000), ["thermal_violation"]);
        assert!(held(1_000_000).is_empty());
    }

    #[test]
    fn a_slowdown_without_a_cause_needs_a_counter_that_grew() {
        let changing = |held_ns| ClocksNow { perhaps_by_hardware: true, ..now(&["hw_slowdown"], held_ns) };
        let said = |held_ns| throttled(Some(&now(&["gpu_idle"], [5, 5])), Some(&changing(held_ns)), 1.0);
        assert!(said([5, 5]).is_empty());
        assert_eq!(said([5, 500_000_005]), ["hw_slowdown", "thermal_violation"]);
        let caused = ClocksNow { by_hardware: true, ..now(&["hw_slowdown", "hw_thermal_slowdown"], [0, 0]) };
        assert_eq!(caused.holding(), ["hw_slowdown", "hw_thermal_slowdown"]);
    }

    #[test]
    fn only_the_gpus_of_a_case_are_looked_at() {
        let (_folder, root) = tree(&[]);
        let (tell, told) = std::sync::mpsc::channel();
        let look = move |of: &[String]| {
            let _ = tell.send(of.to_vec());
            Some(ClocksNow::default())
        };
        let mut watch = HostConditions { gpu: Some(Box::new(look)), ..without_gpu(root) };
        for gpus in [None, Some(vec![]), Some(vec![GpuPlace { index: 5, uuid: "GPU-5".into() }])] {
            watch.concern(gpus);
            watch.begin();
        }
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [vec![], vec!["GPU-5".to_owned()]]);
    }
}
