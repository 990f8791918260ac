//! The readings of `doctor` beyond the manifest: they show whether numbers from here can be trusted, but a record does
//! not need them.

use std::fs::OpenOptions;
use std::hint::black_box;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::host::{Root, cpu_quota};
use super::nvml::StandingHealth;
use super::{locks, nvml, tools};
use gbench_model::line::env::LOCKS;
use gbench_model::{CounterState, Probe};

/// Read once, by [`readings`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Readings {
    /// The path of this program, which starts itself again next to every benchmark.
    pub own_binary: Probe<String>,
    /// The smallest step of the clock that was observed, in nanoseconds.
    pub timer_step_ns: Probe<u64>,
    pub clocksource: Probe<String>,
    /// `/proc/sys/kernel/randomize_va_space`: 0 is off.
    pub address_randomization: Probe<u32>,
    pub turbo: Probe<bool>,
    /// Processors that the control group's quota allows; absent without a quota.
    pub cpu_quota: Option<f64>,
    pub temp: TempFolder,
    /// `/proc/sys/kernel/perf_event_paranoid`: above 2, users cannot even count their own events.
    pub perf_event_paranoid: Probe<i32>,
    /// The state of the processor's instruction counters for this user.
    pub instruction_counter: CounterState,
    /// The version line of `valgrind`, which counts instructions without hardware counters.
    pub valgrind: Probe<String>,
    /// The NVIDIA driver reserves its counters for the administrator.
    pub gpu_counters_restricted: Probe<bool>,
    /// The compiler for this machine's driver and cards: `NVRTC 12.4, CUDA 12.4 in the driver`. Failed: what is here is of no use
    /// for them.
    pub cuda_compiler: Probe<String>,
    /// The next step if the machine has no such compiler.
    pub cuda_compiler_next: Option<String>,
    /// The gate can lock the clocks of GPUs; absent: why not.
    pub clock_control: Probe<bool>,
    /// One for each GPU that answers.
    pub(super) gpu_health: Vec<StandingHealth>,
    pub measuring_lock: LockReading,
    pub noise: TimingNoise,
}

/// The gates that keep others from measuring now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LockReading {
    /// `None`: the environment switches locks off; failed: no lock is possible.
    pub folder: Option<Probe<String>>,
    /// One line each; empty if no gate measures.
    pub holders: Vec<String>,
}

/// The folder for temporary files, which disk benchmarks use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TempFolder {
    #[serde(serialize_with = "as_shown")]
    pub path: PathBuf,
    /// Bytes that this user may still write.
    pub free: Probe<u64>,
    /// A file there can be written past the page cache; failed: no file can be written at all.
    pub direct: Probe<bool>,
}

/// A name that is not UTF-8 is shown lossily.
fn as_shown<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// Spread of repeated identical work: a lower bound for every benchmark on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TimingNoise {
    pub repeats: u32,
    pub median_seconds: f64,
    /// From the 10th to the 90th percentile, relative to the median.
    pub spread: f64,
    /// The slowest repeat relative to the median: 1.5 is half as long again.
    pub worst: f64,
}

/// Takes about half a second, nearly all of it for the noise. `counter` and `cuda_compiler` with its next step come from
/// callers that may ask the kernel and the driver.
pub fn readings(
    counter: CounterState,
    (cuda_compiler, cuda_compiler_next): (Probe<String>, Option<String>),
) -> Readings {
    let root = Root::new("/");
    Readings {
        own_binary: std::env::current_exe()
            .map(|path| path.display().to_string())
            .map_err(|error| format!("its path is not known: {error}"))
            .into(),
        timer_step_ns: timer_step(),
        clocksource: text(&root, "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        address_randomization: number(&root, "proc/sys/kernel/randomize_va_space"),
        turbo: turbo(&root),
        cpu_quota: cpu_quota(&root),
        temp: temp_folder(&std::env::temp_dir()),
        perf_event_paranoid: number(&root, "proc/sys/kernel/perf_event_paranoid"),
        instruction_counter: counter,
        valgrind: tools::version(Command::new("valgrind").arg("--version"), "", tools::DEADLINE),
        gpu_counters_restricted: gpu_counters(&root),
        cuda_compiler,
        cuda_compiler_next,
        clock_control: clock_control(),
        gpu_health: nvml::standing_health(),
        measuring_lock: measuring_lock(),
        noise: noise(Duration::from_millis(400)),
    }
}

fn measuring_lock() -> LockReading {
    let failed = |why| LockReading { folder: Some(Probe::Failed(why)), holders: Vec::new() };
    match locks::lock_folder(std::env::var_os(LOCKS).as_deref()) {
        Ok(None) => LockReading { folder: None, holders: Vec::new() },
        Ok(Some(folder)) => match locks::holders(&folder) {
            Ok(holders) => LockReading { folder: Some(Probe::Known(folder.display().to_string())), holders },
            Err(why) => failed(why),
        },
        Err(why) => failed(why),
    }
}

fn text(root: &Root, file: &str) -> Probe<String> {
    root.text(file).map_or_else(|| Probe::Absent(format!("/{file} is not here")), Probe::Known)
}

fn number<T: std::str::FromStr>(root: &Root, file: &str) -> Probe<T> {
    match text(root, file) {
        Probe::Known(text) => match text.parse() {
            Ok(number) => Probe::Known(number),
            Err(_) => Probe::Failed(format!("/{file} reads `{text}`")),
        },
        Probe::Absent(reason) | Probe::Failed(reason) => Probe::Absent(reason),
    }
}

/// Intel's driver reports whether turbo is off, the generic one whether boost is on.
fn turbo(root: &Root) -> Probe<bool> {
    match number::<u32>(root, "sys/devices/system/cpu/intel_pstate/no_turbo") {
        Probe::Known(off) => Probe::Known(off == 0),
        _ => match number::<u32>(root, "sys/devices/system/cpu/cpufreq/boost") {
            Probe::Known(on) => Probe::Known(on != 0),
            _ => Probe::Absent("the kernel does not show it".into()),
        },
    }
}

fn gpu_counters(root: &Root) -> Probe<bool> {
    let Some(parameters) = root.text("proc/driver/nvidia/params") else {
        return Probe::Absent("no NVIDIA driver in the kernel".into());
    };
    let restricted = parameters.lines().find_map(|line| line.strip_prefix("RmProfilingAdminOnly:"));
    match restricted {
        Some(value) => Probe::Known(value.trim() != "0"),
        None => Probe::Absent("the driver does not say".into()),
    }
}

/// Determined without setting a clock: the driver's library has the function, and this user may call it.
fn clock_control() -> Probe<bool> {
    match nvml::knows_locked_clocks() {
        None => Probe::Absent("no NVIDIA driver's library".into()),
        Some(false) => Probe::Absent("this driver's library cannot lock clocks".into()),
        Some(true) if !nix::unistd::geteuid().is_root() => {
            Probe::Absent("only root may lock clocks, and this user is not root".into())
        }
        Some(true) => Probe::Known(true),
    }
}

fn timer_step() -> Probe<u64> {
    const READS: usize = 20_000;
    let steps = (0..READS).filter_map(|_| {
        let start = Instant::now();
        let step = start.elapsed().as_nanos();
        u64::try_from(step).ok().filter(|step| *step > 0)
    });
    steps.min().map_or_else(|| Probe::Failed(format!("{READS} reads of the clock saw no step")), Probe::Known)
}

fn temp_folder(path: &Path) -> TempFolder {
    let free = nix::sys::statvfs::statvfs(path)
        .map(|stat| stat.blocks_available().saturating_mul(stat.fragment_size()))
        .map_err(|error| format!("{}: {error}", path.display()));
    TempFolder { path: path.to_owned(), free: free.into(), direct: direct(path).into() }
}

/// Writes one aligned block with `O_DIRECT` into a temporary file.
fn direct(folder: &Path) -> Result<bool, String> {
    const BLOCK: usize = 4096;
    let say = |error: std::io::Error| format!("no file can be written in {}: {error}", folder.display());
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(say)?;
    file.write_all(&[0; BLOCK]).map_err(say)?;
    let buffer = vec![0u8; 2 * BLOCK];
    let start = buffer.as_ptr().align_offset(BLOCK);
    let Some(block) = buffer.get(start..start + BLOCK) else { return Ok(false) };
    let opened = OpenOptions::new().write(true).custom_flags(nix::libc::O_DIRECT).open(file.path());
    Ok(opened.and_then(|mut file| file.write_all(block)).is_ok())
}

/// Repeats one fixed spin of some milliseconds until the time is up.
fn noise(time: Duration) -> TimingNoise {
    const MIN_REPEATS: usize = 5;
    let start = Instant::now();
    // A calibrating spin, so that slow machines and unoptimised builds get as many repeats as fast ones.
    const TRIAL: u64 = 200_000;
    let trial = spin(TRIAL).max(1e-9);
    let steps = ((0.004 / trial) * TRIAL as f64).clamp(1_000.0, 1e9) as u64;
    let mut seconds = vec![];
    while seconds.len() < MIN_REPEATS || start.elapsed() < time {
        seconds.push(spin(steps));
    }
    summary(seconds)
}

/// Seconds for `steps` dependent integer operations, which neither cache nor another core can speed up.
fn spin(steps: u64) -> f64 {
    let start = Instant::now();
    let mut state = black_box(1u64);
    for _ in 0..steps {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
    black_box(state);
    start.elapsed().as_secs_f64()
}

fn summary(mut seconds: Vec<f64>) -> TimingNoise {
    seconds.sort_by(f64::total_cmp);
    let at = |share: f64| seconds[((seconds.len() - 1) as f64 * share).round() as usize];
    let median = at(0.5);
    TimingNoise {
        repeats: u32::try_from(seconds.len()).unwrap_or(u32::MAX),
        median_seconds: median,
        spread: (at(0.9) - at(0.1)) / median,
        worst: at(1.0) / median,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::machine) fn of_files(root: &Root) -> [Probe<bool>; 2] {
        [turbo(root), gpu_counters(root)]
    }

    #[test]
    fn the_spread_leaves_the_worst_tenth_to_the_worst() {
        let mut seconds = vec![1.0; 18];
        seconds.extend([0.5, 3.0]);
        let noise = summary(seconds);
        assert_eq!((noise.repeats, noise.median_seconds, noise.spread, noise.worst), (20, 1.0, 0.0, 3.0));
    }

    #[test]
    fn this_machines_clock_steps_and_its_spin_takes_time() {
        assert!(matches!(timer_step(), Probe::Known(step) if step > 0));
        let noise = noise(Duration::ZERO);
        assert!(noise.repeats == 5 && noise.median_seconds > 0.0 && noise.worst >= 1.0);
    }

    #[test]
    fn a_folder_that_is_not_there_takes_no_file_and_a_real_one_keeps_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(temp_folder(folder.path()).direct, Probe::Known(_)));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let gone = temp_folder(&folder.path().join("gone"));
        assert!(matches!((gone.free, gone.direct), (Probe::Failed(_), Probe::Failed(_))));
    }
}
