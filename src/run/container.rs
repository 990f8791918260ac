//! A benchmark's command in a container: whether it can start there, the words that start it, and its end.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::unistd::{getgid, getuid};

use super::executor::{Execution, ExecutionEnd, Executor, Launch};
use super::requires::{Missing, has_binary};
use super::telling::telling_of;
use crate::model::ProcessEnd;
use crate::suite::{Benchmark, Container, ContainerRuntime};

/// The exit code by which a runtime says that it failed itself, and not the program.
const RUNTIME_FAILED: i32 = 125;

/// A question to the runtime, or the end of a container, takes no longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A container to start.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerLaunch {
    container: Container,
    runtime: ContainerRuntime,
    /// By which it is ended.
    name: String,
    /// Folders that it sees at their own paths.
    mounts: Vec<PathBuf>,
    /// Variables that it gets from the client's environment, so that their values stand in no command line.
    env: Vec<String>,
}

impl ContainerLaunch {
    /// The container of a benchmark, where it has one. `launch`: its environment is complete; `out`: a folder for its files.
    pub(super) fn of(benchmark: &Benchmark, launch: &Launch, out: Option<&Path>) -> Option<Box<Self>> {
        let container = benchmark.container.clone()?;
        let runtime = runtime(&container, &benchmark.dir)?;
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("gbench-{}-{number}-{:08x}", std::process::id(), rand::random::<u32>());
        let is_ours = |name: &str| {
            name.starts_with("GBENCH_")
                || name == "CUDA_VISIBLE_DEVICES"
                || benchmark.env.contains_key(name)
                || benchmark.keep_env.iter().any(|keep| keep == name)
        };
        let mut env: Vec<String> =
            launch.env.iter().filter_map(|(name, _)| name.to_str()).map(str::to_owned).collect();
        env.retain(|name| is_ours(name));
        env.sort();
        env.dedup();
        let mounts = [checkout(&benchmark.dir)].into_iter().chain(out.map(Path::to_owned)).collect();
        Some(Box::new(Self { container, runtime, name, mounts, env }))
    }

    /// The words that start the command in the container. `events`: the channel of the protocol.
    pub(super) fn argv(&self, command: &[String], dir: &Path, events: &Path) -> Vec<String> {
        let Container { image, network, gpus, options, .. } = &self.container;
        let mut argv: Vec<String> =
            [self.runtime.into_str(), "run", "--rm", "--init", "--pull=never", "--name"]
                .map(str::to_owned)
                .to_vec();
        argv.push(self.name.clone());
        if !network {
            argv.push("--network=none".into());
        }
        match self.runtime {
            ContainerRuntime::Podman if !getuid().is_root() => argv.push("--userns=keep-id".into()),
            ContainerRuntime::Docker | ContainerRuntime::Podman => {
                argv.extend(["--user".into(), format!("{}:{}", getuid(), getgid())]);
            }
        }
        let channel = events.parent().map(Path::to_owned);
        for folder in self.mounts.iter().cloned().chain(channel) {
            let folder = folder.display().to_string();
            argv.extend(["--mount".into(), format!("type=bind,src={folder},dst={folder}")]);
        }
        argv.extend(["--workdir".into(), dir.display().to_string()]);
        let own = ["GBENCH_EVENTS".to_owned()];
        for name in self.env.iter().chain(&own) {
            argv.extend(["--env".into(), name.clone()]);
        }
        argv.extend(["--env".into(), "HOME=/tmp".into()]);
        match (gpus, self.runtime) {
            (Some(gpus), ContainerRuntime::Docker) => argv.extend(["--gpus".into(), gpus.clone()]),
            (Some(gpus), ContainerRuntime::Podman) => {
                argv.extend([
                    "--device".into(),
                    format!("nvidia.com/gpu={}", gpus.trim_start_matches("device=")),
                ]);
            }
            (None, _) => {}
        }
        argv.extend(options.iter().cloned());
        argv.extend(["--entrypoint".into(), String::new(), image.clone()]);
        argv.extend(command.iter().cloned());
        argv
    }
}

/// Runs a launch; where it is a container, it is ended with its process, and what only its client took of the machine is
/// not told as its own.
pub(super) fn execute(executor: &mut dyn Executor, launch: &Launch) -> Execution {
    let mut execution = executor.execute(launch);
    let Some(container) = &launch.container else { return execution };
    if execution.stopped.is_some() || execution.end == ExecutionEnd::SupervisorDied {
        // A client that was killed leaves its container running.
        let _ = asked(container.runtime, &["kill", &container.name]);
    }
    (execution.peak_rss_bytes, execution.cpu_seconds) = (None, None);
    if execution.end == ExecutionEnd::Process(ProcessEnd::Exit(RUNTIME_FAILED)) {
        let told = telling_of(&execution.stderr, &execution.stdout);
        let why = told.map_or(String::new(), |told| format!(": {}", told.line));
        let cause = format!("{} could not start the container{why}", container.runtime.into_str());
        execution.end = ExecutionEnd::NotStarted { cause, not_found: false };
    }
    execution
}

/// What a container needs that is not here.
pub(super) fn missing(benchmark: &Benchmark) -> Option<Missing> {
    let container = benchmark.container.as_ref()?;
    let miss = |what: String, next: String| Some(Missing { what, next, gpu: false });
    let Some(runtime) = runtime(container, &benchmark.dir) else {
        let (what, next) = match container.runtime {
            Some(runtime) => (format!("`{}` is not on PATH", runtime.into_str()), runtime.into_str()),
            None => ("neither `docker` nor `podman` is on PATH".to_owned(), "docker or podman"),
        };
        return miss(format!("{what}, and it runs in a container"), format!("install {next}"));
    };
    let name = runtime.into_str();
    if runtime == ContainerRuntime::Docker && !asked(runtime, &["version", "--format", "{{.Server.Version}}"])
    {
        let next = "start it, such as `systemctl start docker`, and see `docker version`";
        return miss("the daemon of docker does not answer".into(), next.into());
    }
    if !asked(runtime, &["image", "inspect", "--format", "{{.Id}}", &container.image]) {
        let image = &container.image;
        return miss(format!("the image {image} is not here"), format!("`{name} pull {image}`, or build it"));
    }
    None
}

/// The runtime that is to be used, where it is here.
fn runtime(container: &Container, dir: &Path) -> Option<ContainerRuntime> {
    let is_here = |runtime: &ContainerRuntime| has_binary(runtime.into_str(), dir);
    match container.runtime {
        Some(runtime) => Some(runtime).filter(is_here),
        None => [ContainerRuntime::Docker, ContainerRuntime::Podman].into_iter().find(is_here),
    }
}

/// Whether the runtime says yes; one that does not answer in time says no.
fn asked(runtime: ContainerRuntime, words: &[&str]) -> bool {
    let mut command = Command::new(runtime.into_str());
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let until = Instant::now() + PATIENCE;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}

/// The repository that a folder lies in, else the folder.
fn checkout(dir: &Path) -> PathBuf {
    dir.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(dir).to_owned()
}
