//! The host's and the repository's checks.

use super::check::{CheckSeverity, CheckSubject, MachineCheck, gibibytes, shown};
use crate::machine::Readings;
use crate::model::text::{percent, short_commit};
use crate::model::{GitFacts, HostFacts, Probe};

/// Share of the processors that other work may keep busy before it shows in the numbers.
const BUSY: f64 = 0.25;

const LITTLE_MEMORY: u64 = 1 << 30;
const LITTLE_DISK: u64 = 1 << 30;

/// Steps of the clock above which short samples are mostly rounding, in nanoseconds.
const COARSE_TIMER_NS: u64 = 1_000;

/// Spread of a fixed spin, relative: below it changes of a few percent can be seen.
const QUIET: f64 = 0.02;

/// Sources that the processor answers without asking the kernel or a slow chip.
const FAST_CLOCKS: [&str; 6] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase", "tod"];

pub(super) fn checks(host: &HostFacts, readings: &Readings) -> Vec<MachineCheck> {
    vec![
        supervisor(&readings.own_binary),
        processor(host),
        governor(&host.governor),
        turbo(&readings.turbo),
        load(host),
        quota(readings.cpu_quota),
        hypervisor(&host.virtualization),
        container(&host.container),
        memory(host),
        timer(&readings.timer_step_ns),
        clocksource(&readings.clocksource),
        randomization(&readings.address_randomization),
        temp_folder(readings),
        counters(&readings.perf_event_paranoid),
        noise(readings),
    ]
}

fn host(name: &str, state: CheckSeverity, finding: impl Into<String>, advice: &str) -> MachineCheck {
    MachineCheck::new(CheckSubject::Host, name, state, finding, advice)
}

/// Without it nothing can be started.
fn supervisor(own_binary: &Probe<String>) -> MachineCheck {
    match own_binary {
        Probe::Known(_) => {
            host("supervisor", CheckSeverity::Ok, "this program can start itself beside each benchmark", "")
        }
        reason => {
            let finding =
                format!("this program cannot start itself beside each benchmark: {}", shown(reason));
            host("supervisor", CheckSeverity::Problem, finding, "mount /proc")
        }
    }
}

fn processor(facts: &HostFacts) -> MachineCheck {
    let finding = format!("{}, {} to use", shown(&facts.cpu_model), cores(facts));
    match (&facts.cpu_model, &facts.cores) {
        (Probe::Failed(_), _) | (_, Probe::Failed(_)) => host(
            "processor",
            CheckSeverity::Warning,
            finding,
            "run where /proc is mounted: records name the processor by it",
        ),
        _ => host("processor", CheckSeverity::Ok, finding, ""),
    }
}

fn cores(facts: &HostFacts) -> String {
    match &facts.cores {
        Probe::Known(1) => "1 core".into(),
        other => format!("{} cores", shown(other)),
    }
}

fn governor(governor: &Probe<String>) -> MachineCheck {
    match governor {
        Probe::Known(name) if name != "performance" => host(
            "governor",
            CheckSeverity::Warning,
            format!("{name}: the clock follows the load"),
            "fix it with `sudo cpupower frequency-set -g performance`",
        ),
        other => host("governor", CheckSeverity::Ok, shown(other), ""),
    }
}

fn turbo(turbo: &Probe<bool>) -> MachineCheck {
    match turbo {
        Probe::Known(true) => host(
            "turbo",
            CheckSeverity::Warning,
            "on: the clock depends on heat and on what the neighbours do",
            "switch it off for steadier numbers: 1 into intel_pstate/no_turbo, or 0 into cpufreq/boost, below \
             /sys/devices/system/cpu",
        ),
        Probe::Known(false) => host("turbo", CheckSeverity::Ok, "off", ""),
        other => host("turbo", CheckSeverity::Ok, shown(other), ""),
    }
}

fn load(facts: &HostFacts) -> MachineCheck {
    let (Probe::Known(load), Probe::Known(cores)) = (&facts.load, &facts.cores) else {
        return host("load", CheckSeverity::Warning, shown(&facts.load), "run where /proc is mounted");
    };
    let finding = format!("{load:.2} on {} over the last minute", self::cores(facts));
    if load / f64::from((*cores).max(1)) > BUSY {
        host("load", CheckSeverity::Warning, finding, "wait for other work to end, or stop it")
    } else {
        host("load", CheckSeverity::Ok, finding, "")
    }
}

fn quota(quota: Option<f64>) -> MachineCheck {
    match quota {
        Some(quota) => host(
            "CPU quota",
            CheckSeverity::Warning,
            format!("{quota:.2} processors: what goes beyond is stopped until the next period"),
            "give the container whole processors (`--cpuset-cpus`) instead of a share (`--cpus`)",
        ),
        None => host("CPU quota", CheckSeverity::Ok, "none", ""),
    }
}

fn hypervisor(virtualization: &Probe<String>) -> MachineCheck {
    match virtualization {
        Probe::Known(name) if name != "none" => host(
            "hypervisor",
            CheckSeverity::Warning,
            format!("{name}: another guest can take the processor away unseen"),
            "compare runs made side by side, with more processes for each case",
        ),
        other => host("hypervisor", CheckSeverity::Ok, shown(other), ""),
    }
}

fn container(container: &Probe<String>) -> MachineCheck {
    host("container", CheckSeverity::Ok, shown(container), "")
}

fn memory(facts: &HostFacts) -> MachineCheck {
    let (Probe::Known(available), Probe::Known(total)) = (&facts.memory_available, &facts.memory_total)
    else {
        return host(
            "memory",
            CheckSeverity::Warning,
            shown(&facts.memory_available),
            "run where /proc is mounted",
        );
    };
    let finding = format!("{} of {} free", gibibytes(*available), gibibytes(*total));
    if *available < LITTLE_MEMORY || *available < total / 10 {
        host("memory", CheckSeverity::Warning, finding, "free some: a benchmark that swaps measures the disk")
    } else {
        host("memory", CheckSeverity::Ok, finding, "")
    }
}

fn timer(step: &Probe<u64>) -> MachineCheck {
    match step {
        Probe::Known(step) if *step > COARSE_TIMER_NS => host(
            "timer",
            CheckSeverity::Warning,
            format!("steps of {step} ns"),
            "let every sample do work of at least a thousand steps",
        ),
        Probe::Known(step) => host("timer", CheckSeverity::Ok, format!("steps of {step} ns"), ""),
        other => host(
            "timer",
            CheckSeverity::Problem,
            shown(other),
            "measure on another machine: nothing can be timed here",
        ),
    }
}

fn clocksource(source: &Probe<String>) -> MachineCheck {
    match source {
        Probe::Known(name) if !FAST_CLOCKS.contains(&name.as_str()) => host(
            "clock source",
            CheckSeverity::Warning,
            format!("{name}: every look at the clock is slow"),
            "boot with `clocksource=tsc` if the processor's counter is reliable",
        ),
        other => host("clock source", CheckSeverity::Ok, shown(other), ""),
    }
}

/// Never a warning: fresh processes each draw a layout, and the statistics take the process as their unit.
fn randomization(level: &Probe<u32>) -> MachineCheck {
    let finding = match level {
        Probe::Known(0) => "off: every process has the same layout, lucky or not".into(),
        Probe::Known(_) => "on: every fresh process draws its layout".into(),
        other => shown(other),
    };
    host("ASLR", CheckSeverity::Ok, finding, "")
}

fn temp_folder(readings: &Readings) -> MachineCheck {
    let temp = &readings.temp;
    let (direct, free) = match (&temp.direct, &temp.free) {
        (Probe::Known(direct), Probe::Known(free)) => (*direct, *free),
        (Probe::Known(_), reason) => {
            return host(
                "temp folder",
                CheckSeverity::Warning,
                shown(reason),
                "name another folder in TMPDIR",
            );
        }
        (reason, _) => {
            let advice = "name a folder in TMPDIR that can be written: logs and results go through it";
            return host("temp folder", CheckSeverity::Problem, shown(reason), advice);
        }
    };
    let way = if direct { "O_DIRECT works" } else { "no O_DIRECT" };
    let finding = format!("{}: {} free, {way}", temp.path.display(), gibibytes(free));
    match (free < LITTLE_DISK, direct) {
        (true, _) => host(
            "temp folder",
            CheckSeverity::Warning,
            finding,
            "free some space, or name another folder in TMPDIR",
        ),
        (_, false) => host(
            "temp folder",
            CheckSeverity::Warning,
            finding,
            "name a folder on a disk in TMPDIR to measure the disk and not the page cache",
        ),
        _ => host("temp folder", CheckSeverity::Ok, finding, ""),
    }
}

fn counters(paranoid: &Probe<i32>) -> MachineCheck {
    match paranoid {
        Probe::Known(level) if *level > 2 => host(
            "counters",
            CheckSeverity::Warning,
            format!("perf_event_paranoid is {level}: `perf` sees nothing"),
            "allow one's own processes with `sudo sysctl kernel.perf_event_paranoid=2`",
        ),
        Probe::Known(level) => {
            host("counters", CheckSeverity::Ok, format!("perf_event_paranoid is {level}"), "")
        }
        other => host("counters", CheckSeverity::Ok, shown(other), ""),
    }
}

fn noise(readings: &Readings) -> MachineCheck {
    let noise = &readings.noise;
    let finding = format!(
        "{} equal spins of {:.1} ms spread over {}, the worst {:.2} times the median",
        noise.repeats,
        noise.median_seconds * 1e3,
        percent(noise.spread),
        noise.worst
    );
    if noise.spread > QUIET {
        host(
            "noise",
            CheckSeverity::Warning,
            finding,
            "quieten the machine first, or take more processes and wider thresholds",
        )
    } else {
        host("noise", CheckSeverity::Ok, finding, "")
    }
}

pub(super) fn repository(git: &Probe<GitFacts>) -> MachineCheck {
    let check = |state, finding: String, advice: &str| {
        MachineCheck::new(CheckSubject::Project, "repository", state, finding, advice)
    };
    let facts = match git {
        Probe::Known(facts) => facts,
        Probe::Absent(reason) => {
            return check(
                CheckSeverity::Warning,
                reason.clone(),
                "work in a git repository, so that records name a commit",
            );
        }
        Probe::Failed(reason) => {
            let advice = "make `git status` work here; `git config --global --add safe.directory <folder>` helps where \
                          the folder belongs to another user";
            return check(CheckSeverity::Warning, reason.clone(), advice);
        }
    };
    let Some(commit) = &facts.commit else {
        return check(
            CheckSeverity::Warning,
            "no commit yet".into(),
            "commit, so that records name what they measured",
        );
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
        return check(CheckSeverity::Ok, finding, "");
    }
    let dirty = facts.dirty;
    let counts = [(dirty.tracked, "changed"), (dirty.staged, "staged"), (dirty.untracked, "untracked")];
    for (count, word) in counts.iter().filter(|(count, _)| *count > 0) {
        finding.push_str(&format!(", {count} {word}"));
    }
    check(CheckSeverity::Warning, finding, "commit or stash, so that the numbers belong to a commit")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, readings};
    use super::*;
    use crate::machine::sample::manifest;
    use crate::model::DirtyFacts;

    fn state(name: &str, spoil: impl FnOnce(&mut HostFacts, &mut Readings)) -> CheckSeverity {
        let (mut host, mut readings) = (manifest().host, readings());
        spoil(&mut host, &mut readings);
        check(&checks(&host, &readings), name).state
    }

    #[test]
    fn a_host_in_order_has_nothing_to_say() {
        let checks = checks(&manifest().host, &readings());
        assert!(
            checks.iter().all(|check| check.state == CheckSeverity::Ok && check.advice.is_empty()),
            "{checks:#?}"
        );
    }

    #[test]
    fn each_disturbance_warns_at_its_own_check() {
        let states = [
            state("governor", |host, _| host.governor = Probe::Known("powersave".into())),
            state("turbo", |_, readings| readings.turbo = Probe::Known(true)),
            state("load", |host, _| host.load = Probe::Known(2.1)),
            state("CPU quota", |_, readings| readings.cpu_quota = Some(1.5)),
            state("hypervisor", |host, _| host.virtualization = Probe::Known("kvm".into())),
            state("memory", |host, _| host.memory_available = Probe::Known(6 << 30)),
            state("timer", |_, readings| readings.timer_step_ns = Probe::Known(1_000_000)),
            state("clock source", |_, readings| readings.clocksource = Probe::Known("hpet".into())),
            state("temp folder", |_, readings| readings.temp.direct = Probe::Known(false)),
            state("temp folder", |_, readings| readings.temp.free = Probe::Known(1 << 20)),
            state("counters", |_, readings| readings.perf_event_paranoid = Probe::Known(4)),
            state("noise", |_, readings| readings.noise.spread = 0.03),
        ];
        assert_eq!(states, [CheckSeverity::Warning; 12]);
    }

    #[test]
    fn n30_without_proc_nothing_can_be_started_and_that_is_a_problem() {
        let hidden = || Probe::Failed("its path is not known: No such file or directory".into());
        assert_eq!(state("supervisor", |_, readings| readings.own_binary = hidden()), CheckSeverity::Problem);
    }

    #[test]
    fn load_is_judged_against_the_cores() {
        assert_eq!(state("load", |host, _| host.load = Probe::Known(1.9)), CheckSeverity::Ok);
        assert_eq!(
            state("load", |host, _| {
                host.load = Probe::Known(1.9);
                host.cores = Probe::Known(2);
            }),
            CheckSeverity::Warning
        );
    }

    #[test]
    fn a_clock_that_stands_still_and_a_folder_that_takes_no_file_are_problems() {
        assert_eq!(
            state("timer", |_, readings| readings.timer_step_ns = Probe::Failed("no step".into())),
            CheckSeverity::Problem
        );
        assert_eq!(
            state("temp folder", |_, readings| readings.temp.direct = Probe::Failed("read-only".into())),
            CheckSeverity::Problem
        );
    }

    #[test]
    fn a_repository_is_in_order_when_its_numbers_belong_to_a_commit() {
        let facts = manifest().git.known().unwrap().clone();
        let clean = repository(&Probe::Known(facts.clone()));
        assert_eq!((clean.state, clean.finding.as_str()), (CheckSeverity::Ok, "0123456789 on main"));
        let dirty = GitFacts {
            branch: None,
            shallow: true,
            dirty: DirtyFacts { tracked: 2, staged: 0, untracked: 1 },
            ..facts.clone()
        };
        let dirty = repository(&Probe::Known(dirty));
        assert_eq!(dirty.state, CheckSeverity::Warning);
        assert_eq!(dirty.finding, "0123456789, detached, shallow, 2 changed, 1 untracked");
        assert_eq!(
            repository(&Probe::Known(GitFacts { commit: None, ..facts })).state,
            CheckSeverity::Warning
        );
        assert_eq!(repository(&Probe::Absent("none".into())).state, CheckSeverity::Warning);
        assert_eq!(repository(&Probe::Failed("owner".into())).state, CheckSeverity::Warning);
    }
}
