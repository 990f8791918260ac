//! A benchmark's process in a container: whether it can start there, and its end.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::command::runtime;
use crate::run::outcome::telling_line::telling_of;
use crate::run::process::executor::{Execution, ExecutionEnd, Executor, Launch, Meanwhile};
use gbench_model::ProcessEnd;
use gbench_suite::{Benchmark, ContainerRuntime};

/// The exit code by which a runtime reports that it failed itself, and not the program.
const RUNTIME_FAILED: i32 = 125;

const PATIENCE: Duration = Duration::from_secs(30);

/// Runs a launch. A container is ended with its process, and resource usage of the client is not reported as the program's.
/// `tell`: see [`Executor::execute_telling`]; it hears of the cases of the process.
pub(crate) fn execute(
    executor: &mut dyn Executor,
    launch: &Launch,
    tell: &mut dyn FnMut(Meanwhile<'_>),
) -> Execution {
    let mut execution = executor.execute_telling(launch, Duration::MAX, tell);
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

pub(crate) fn missing(benchmark: &Benchmark) -> Option<(String, String)> {
    let container = benchmark.container.as_ref()?;
    let miss = |what: String, next: String| Some((what, next));
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
