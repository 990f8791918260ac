//! The machine that a run ran on: host, GPUs, repository, tools and relevant environment variables. Each probe fails
//! by itself.

mod checks;
mod clock_guard;
mod clock_lock;
mod conditions;
mod diff;
mod environment;
mod git;
mod gpu_reading;
mod gpus;
mod host;
#[cfg(test)]
mod kind_tests;
pub mod locks;
mod nvml;
mod readings;
mod telemetry;
#[cfg(test)]
mod test_support;
mod tools;

use std::path::Path;
use std::thread;

use crate::Beside;
use gbench_model::{GpuFacts, Manifest, Probe};

pub use checks::{CheckSeverity, CheckSubject, MachineCheck, checks, gpu_obstacle};
pub use clock_guard::{CLOCKS_ARGUMENT, main as guard_clocks};
pub use clock_lock::{ClockLock, ClockRequest, ClocksGivenBack};
pub use conditions::HostConditions;
pub use diff::{ManifestChange, diff, flat};
pub use git::{git as git_facts, ignored_by_git, open_repository};
pub use nvml::{ClocksNow, HeldSetting, clocks};
pub use readings::{LockReading, Readings, TempFolder, TimingNoise, readings};
pub use telemetry::{MachineSampler, Timeline};

/// Only the GPUs of this machine, as in [`manifest`].
pub fn gpus() -> Probe<GpuFacts> {
    gpus::gpus()
}

/// The facts of this machine, of the repository that contains `folder` and of the tools on the path. Never fails: a
/// fact that cannot be determined is recorded with the reason. It takes as long as the slowest tool's version query,
/// and longer only if the GPU's driver does.
pub fn manifest(folder: &Path) -> Manifest {
    thread::scope(|scope| {
        let tools = Beside::start(scope, tools::tools);
        let gpu = Beside::start(scope, gpus);
        let host = host::host(&host::Root::new("/"), &|name| std::env::var(name).ok());
        let git = git::git(folder);
        // `vars` panics on text that is not UTF-8.
        let variables = std::env::vars_os()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
        Manifest {
            host,
            gpu: gpu.join().unwrap_or_else(|_| Probe::Failed("the probe broke off".into())),
            git,
            tools: tools.join().unwrap_or_default(),
            environment: environment::allowed(variables),
        }
    })
}
