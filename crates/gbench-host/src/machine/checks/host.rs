use super::check::{CheckResult, CheckSubject, MachineCheck, gibibytes, ok, problem, shown, warning};
use crate::machine::{LockReading, Readings, TempFolder, TimingNoise};
use gbench_model::text::{percent, short_commit};
use gbench_model::{CounterState, GitFacts, HostFacts, Probe};

/// Share of the processors that other work may keep busy before it shows in the numbers.
const BUSY: f64 = 0.25;

const LITTLE_MEMORY: u64 = 1 << 30;
const LITTLE_DISK: u64 = 1 << 30;

/// Clock steps, in nanoseconds, above which short samples are mostly rounding.
const COARSE_TIMER_NS: u64 = 1_000;

/// The highest setting at which users may count events of processes that belong to them.
const PARANOID: i32 = 2;

/// Relative spread of a fixed spin below which changes of a few percent are visible.
const QUIET: f64 = 0.02;

/// Clock sources that the processor answers without asking the kernel or a slow chip.
const FAST_CLOCKS: [&str; 6] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase", "tod"];

pub(super) fn checks(host: &HostFacts, readings: &Readings) -> Vec<MachineCheck> {
    [
        ("supervisor", supervisor(&readings.own_binary)),
        ("processor", processor(host)),
        ("governor", governor(&host.governor)),
        ("turbo", turbo(&readings.turbo)),
        ("load", load(host)),
        ("CPU quota", quota(readings.cpu_quota)),
        ("hypervisor", hypervisor(&host.virtualization)),
        ("container", ok(shown(&host.container))),
        ("memory", memory(host)),
        ("timer", timer(&readings.timer_step_ns)),
        ("clock source", clocksource(&readings.clocksource)),
        ("ASLR", randomization(&readings.address_randomization)),
        ("temp folder", temp_folder(&readings.temp)),
        ("counting", counting(readings)),
        ("measuring lock", measuring_lock(&readings.measuring_lock)),
        ("noise", noise(&readings.noise)),
    ]
    .map(|(name, result)| MachineCheck::new(CheckSubject::Host, name, result))
    .into()
}

/// Without the supervisor, nothing can be started.
fn supervisor(own_binary: &Probe<String>) -> CheckResult {
    match own_binary {
        Probe::Known(_) => ok("this program can start itself next to each benchmark"),
        reason => problem(
            format!("this program cannot start itself next to each benchmark: {}", shown(reason)),
            "mount /proc",
        ),
    }
}

fn processor(facts: &HostFacts) -> CheckResult {
    let finding = format!("{}, {} to use", shown(&facts.cpu_model), cores(facts));
    match (&facts.cpu_model, &facts.cores) {
        (Probe::Failed(_), _) | (_, Probe::Failed(_)) => {
            warning(finding, "run where /proc is mounted: records name the processor by it")
        }
        _ => ok(finding),
    }
}

fn cores(facts: &HostFacts) -> String {
    match &facts.cores {
        Probe::Known(1) => "1 core".into(),
        other => format!("{} cores", shown(other)),
    }
}

fn governor(governor: &Probe<String>) -> CheckResult {
    match governor {
        Probe::Known(name) if name != "performance" => warning(
            format!("{name}: the clock follows the load"),
            "fix it with `sudo cpupower frequency-set -g performance`",
        ),
        other => ok(shown(other)),
    }
}

fn turbo(turbo: &Probe<bool>) -> CheckResult {
    match turbo {
        Probe::Known(true) => warning(
            "on: the clock depends on heat and on what the neighbours do",
            "switch it off for steadier numbers: 1 into intel_pstate/no_turbo, or 0 into cpufreq/boost, below \
             /sys/devices/system/cpu",
        ),
        Probe::Known(false) => ok("off"),
        other => ok(shown(other)),
    }
}

fn measuring_lock(lock: &LockReading) -> CheckResult {
    match (&lock.folder, lock.holders.as_slice()) {
        (None, _) => ok("off: GBENCH_LOCKS says that gates need not take turns here"),
        (Some(Probe::Known(folder)), []) => ok(format!("free, in {folder}")),
        (Some(Probe::Known(_)), holders) => warning(
            format!("held by {}", holders.join("; ")),
            "wait until it has ended: what it does disturbs these readings, too",
        ),
        (Some(reason), _) => warning(
            format!("gates cannot take turns here: {}", shown(reason)),
            "name a folder that all users may write to with GBENCH_LOCKS",
        ),
    }
}

fn load(facts: &HostFacts) -> CheckResult {
    let (Probe::Known(load), Probe::Known(cores)) = (&facts.load, &facts.cores) else {
        return warning(shown(&facts.load), "run where /proc is mounted");
    };
    let finding = format!("{load:.2} on {} over the last minute", self::cores(facts));
    if load / f64::from((*cores).max(1)) > BUSY {
        warning(finding, "wait for other work to end, or stop it")
    } else {
        ok(finding)
    }
}

fn quota(quota: Option<f64>) -> CheckResult {
    match quota {
        Some(quota) => warning(
            format!("{quota:.2} processors: what goes beyond is stopped until the next period"),
            "give the container whole processors (`--cpuset-cpus`) instead of a share (`--cpus`)",
        ),
        None => ok("none"),
    }
}

fn hypervisor(virtualization: &Probe<String>) -> CheckResult {
    match virtualization {
        Probe::Known(name) if name != "none" => warning(
            format!("{name}: another guest can take the processor away unseen"),
            "compare runs made side by side, with more processes for each case",
        ),
        other => ok(shown(other)),
    }
}

fn memory(facts: &HostFacts) -> CheckResult {
    let (Probe::Known(available), Probe::Known(total)) = (&facts.memory_available, &facts.memory_total)
    else {
        return warning(shown(&facts.memory_available), "run where /proc is mounted");
    };
    let finding = format!("{} of {} free", gibibytes(*available), gibibytes(*total));
    if *available < LITTLE_MEMORY || *available < total / 10 {
        warning(finding, "free some: a benchmark that swaps measures the disk")
    } else {
        ok(finding)
    }
}

fn timer(step: &Probe<u64>) -> CheckResult {
    match step {
        Probe::Known(step) if *step > COARSE_TIMER_NS => {
            warning(format!("steps of {step} ns"), "let every sample do work of at least a thousand steps")
        }
        Probe::Known(step) => ok(format!("steps of {step} ns")),
        other => problem(shown(other), "measure on another machine: nothing can be timed here"),
    }
}

fn clocksource(source: &Probe<String>) -> CheckResult {
    match source {
        Probe::Known(name) if !FAST_CLOCKS.contains(&name.as_str()) => warning(
            format!("{name}: every look at the clock is slow"),
            "boot with `clocksource=tsc` if the processor's counter is reliable",
        ),
        other => ok(shown(other)),
    }
}

/// Never a warning: each fresh process draws a layout, and the process is the unit of the statistics.
fn randomization(level: &Probe<u32>) -> CheckResult {
    ok(match level {
        Probe::Known(0) => "off: every process has the same layout, lucky or not".into(),
        Probe::Known(_) => "on: every fresh process draws its layout".into(),
        other => shown(other),
    })
}

fn temp_folder(temp: &TempFolder) -> CheckResult {
    let (direct, free) = match (&temp.direct, &temp.free) {
        (Probe::Known(direct), Probe::Known(free)) => (*direct, *free),
        (Probe::Known(_), reason) => return warning(shown(reason), "name another folder in TMPDIR"),
        (reason, _) => {
            let advice = "name a folder in TMPDIR that can be written: logs and results go through it";
            return problem(shown(reason), advice);
        }
    };
    let way = if direct { "O_DIRECT works" } else { "no O_DIRECT" };
    let finding = format!("{}: {} free, {way}", temp.path.display(), gibibytes(free));
    if free < LITTLE_DISK {
        warning(finding, "free some space, or name another folder in TMPDIR")
    } else if !direct {
        warning(finding, "name a folder on a disk in TMPDIR to measure the disk and not the page cache")
    } else {
        ok(finding)
    }
}

/// The ways to count a case's instructions that work here.
fn counting(readings: &Readings) -> CheckResult {
    let (valgrind, here) = match &readings.valgrind {
        Probe::Known(version) => (format!("{version} counts by simulation"), true),
        _ => ("valgrind is not here".to_owned(), false),
    };
    let level = match &readings.perf_event_paranoid {
        Probe::Known(level) => format!("kernel.perf_event_paranoid is {level}"),
        other => shown(other),
    };
    match (readings.instruction_counter, &readings.perf_event_paranoid) {
        (CounterState::Works, _) => ok(format!("the processor's counters work; {level}")),
        (CounterState::Unsupported, _) => {
            let finding = format!("this machine has no counters of instructions; {level}; {valgrind}");
            if here { ok(finding) } else { warning(finding, "install valgrind, for `count = \"valgrind\"`") }
        }
        (CounterState::Refused, Probe::Known(set)) if *set > PARANOID => warning(
            format!("the kernel keeps its counters from this user: {level}; {valgrind}"),
            "allow one's own processes with `sudo sysctl kernel.perf_event_paranoid=2`, or count with valgrind",
        ),
        (CounterState::Refused, _) => warning(
            format!("`perf_event_open` is refused, as by a container's filter; {level}; {valgrind}"),
            "allow it in the container's seccomp profile, or count with valgrind",
        ),
    }
}

fn noise(noise: &TimingNoise) -> CheckResult {
    let finding = format!(
        "{} equal spins of {:.1} ms spread over {}, the worst {:.2} times the median",
        noise.repeats,
        noise.median_seconds * 1e3,
        percent(noise.spread),
        noise.worst
    );
    if noise.spread > QUIET {
        warning(finding, "quieten the machine first, or take more processes and wider thresholds")
    } else {
        ok(finding)
    }
}

pub(super) fn repository(git: &Probe<GitFacts>) -> CheckResult {
    let facts = match git {
        Probe::Known(facts) => facts,
        Probe::Absent(reason) => {
            return warning(reason, "work in a git repository, so that records name a commit");
        }
        Probe::Failed(reason) => {
            let advice = "make `git status` work here; `git config --global --add safe.directory <folder>` helps where \
                          the folder belongs to another user";
            return warning(reason, advice);
        }
    };
    let Some(commit) = &facts.commit else {
        return warning("no commit yet", "commit, so that records name what they measured");
    };
    let short = short_commit(commit);
    let mut finding = match &facts.branch {
        Some(branch) => format!("{short} on {branch}"),
        None => format!("{short}, detached"),
    };
    if facts.shallow {
        finding.push_str(", shallow");
    }
    if !facts.dirty.any() {
        return ok(finding);
    }
    let dirty = facts.dirty;
    let counts = [(dirty.tracked, "changed"), (dirty.staged, "staged"), (dirty.untracked, "untracked")];
    for (count, word) in counts.iter().filter(|(count, _)| *count > 0) {
        finding.push_str(&format!(", {count} {word}"));
    }
    warning(finding, "commit or stash, so that the numbers belong to a commit")
}
