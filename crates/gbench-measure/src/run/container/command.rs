//! The command that starts a benchmark in a container.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use nix::unistd::{getgid, getuid};

use crate::run::process::binaries::has_binary;
use gbench_suite::{Benchmark, Container, ContainerRuntime};

#[derive(Clone, Debug, PartialEq)]
pub struct ContainerLaunch {
    container: Container,
    pub(super) runtime: ContainerRuntime,
    pub(crate) name: String,
    mounts: Vec<PathBuf>,
    /// Variables passed on from the client's environment, so that their values are not in the command line.
    env: Vec<String>,
}

impl ContainerLaunch {
    /// The container of a benchmark, if it has one. `environment`: the complete one of its process; `out`: a folder for its
    /// files.
    pub(crate) fn of(
        benchmark: &Benchmark,
        environment: &[(OsString, OsString)],
        out: Option<&Path>,
    ) -> Option<Box<Self>> {
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
            environment.iter().filter_map(|(name, _)| name.to_str()).map(str::to_owned).collect();
        env.retain(|name| is_ours(name));
        env.sort();
        env.dedup();
        let mounts = [checkout(&benchmark.dir)].into_iter().chain(out.map(Path::to_owned)).collect();
        Some(Box::new(Self { container, runtime, name, mounts, env }))
    }

    pub(crate) fn is_podman(&self) -> bool {
        self.runtime == ContainerRuntime::Podman
    }

    /// The words that start the command in the container. `events`: the channel of the protocol.
    pub(crate) fn argv(&self, command: &[String], dir: &Path, events: &Path) -> Vec<String> {
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

pub(super) fn runtime(container: &Container, dir: &Path) -> Option<ContainerRuntime> {
    let is_here = |runtime: &ContainerRuntime| has_binary(runtime.into_str(), dir);
    match container.runtime {
        Some(runtime) => Some(runtime).filter(is_here),
        None => [ContainerRuntime::Docker, ContainerRuntime::Podman].into_iter().find(is_here),
    }
}

fn checkout(dir: &Path) -> PathBuf {
    dir.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(dir).to_owned()
}
