//! `container` in a suite entry. The runtime is a script that takes the place of `docker`: it writes its words down, answers for the daemon and
//! the image, and starts the command of `run` with the folder and the variables that it was given.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use gbench_ci::model::Outcome;
use tempfile::TempDir;

use crate::support::cli::{Ran, command, ended, newest};

const DOCKER: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/log"
case $1 in
    version) [ ! -e "$here/no-daemon" ] ;;
    image) [ ! -e "$here/no-image" ] ;;
    kill) kill "$(cat "$here/pid")" ;;
    run)
        [ -e "$here/broken" ] && { echo 'docker: no such runtime' >&2; exit 125; }
        shift
        while :; do
            case $1 in
                --name | --user | --mount | --env | --gpus) shift 2 ;;
                --workdir) cd "$2" && shift 2 ;;
                --entrypoint) shift 3; break ;;
                *) shift ;;
            esac
        done
        echo $$ > "$here/pid"
        exec "$@" ;;
esac
"#;

/// A suite with one entry, and a folder for the PATH with the runtime.
struct Contained {
    folder: TempDir,
    bin: TempDir,
}

impl Contained {
    fn new(entry: &str) -> Self {
        let (folder, bin) = (crate::support::tempdir().unwrap(), crate::support::tempdir().unwrap());
        let suite = format!("[suite]\nname = \"s\"\n[[benchmark]]\nid = \"b\"\nprocesses = 2\n{entry}\n");
        std::fs::write(folder.path().join("gbench.toml"), suite).unwrap();
        for name in ["sh", "cat", "sleep", "dirname", "kill", "cp"] {
            let found = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(name));
            if let Some(program) = found.iter().find(|path| path.exists()) {
                symlink(program, bin.path().join(name)).unwrap();
            }
        }
        Self { folder, bin }
    }

    fn with_docker(self) -> Self {
        let docker = self.bin.path().join("docker");
        std::fs::write(&docker, DOCKER).unwrap();
        std::fs::set_permissions(&docker, std::fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn run(&self, line: &str) -> Ran {
        let mut command = command(self.folder.path(), line);
        command.env("PATH", self.bin.path());
        ended(command)
    }

    fn mark(&self, name: &str) {
        std::fs::write(self.bin.path().join(name), "").unwrap();
    }

    /// What the runtime was told, one line a call.
    fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.bin.path().join("log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

const EXTRACT: &str = "container = \"me/bench:1\"\nshell = \"echo time: 1.5\"\n\
                       extract = [{ metric = \"time\", unit = \"ms\", regex = 'time: ([0-9.]+)' }]\n";

#[test]
fn s4_49_a_command_runs_in_its_container_and_is_measured_there() {
    let contained = Contained::new(EXTRACT).with_docker();
    contained.run("run --quiet").exits(0);
    let record = newest(contained.folder.path());
    let time = record.cases[0].metrics.iter().find(|metric| metric.name == "time").unwrap();
    assert_eq!(time.processes.iter().map(|process| process.values[0]).collect::<Vec<_>>(), [1.5, 1.5]);
    // The client's own memory and CPU time are not the program's.
    let processes = &record.cases[0].processes;
    assert!(
        processes.iter().all(|process| process.peak_rss_bytes.is_none() && process.cpu_seconds.is_none())
    );
    let log = contained.log();
    let runs: Vec<&String> = log.iter().filter(|line| line.starts_with("run ")).collect();
    assert_eq!(runs.len(), 2, "{log:?}");
    let folder = contained.folder.path().display();
    for words in [
        "run --rm --init --pull=never --name gbench-",
        " --network=none ",
        &format!(" --mount type=bind,src={folder},dst={folder} "),
        &format!(" --workdir {folder} "),
        " --env GBENCH_EVENTS ",
        " me/bench:1 sh -c echo time: 1.5",
    ] {
        assert!(runs[0].contains(words), "`{words}` in {}", runs[0]);
    }
    assert!(!runs[0].contains("--gpus") && !runs[0].contains("GBENCH_FD"), "{}", runs[0]);
    let names =
        |run: &str| run.split_whitespace().find(|word| word.starts_with("gbench-")).unwrap().to_owned();
    assert_ne!(names(runs[0]), names(runs[1]), "each has a name of its own");
}

#[test]
fn s4_49_the_protocol_reaches_the_gate_from_a_container() {
    let line =
        r#"echo '{\"event\":\"sample\",\"metric\":\"time\",\"value\":2,\"unit\":\"ms\"}' > $GBENCH_EVENTS"#;
    let more = "container = { image = \"i\", network = true, gpus = \"all\", options = [\"--shm-size=1g\"] }\ntiming = \"protocol\"";
    let contained = Contained::new(&format!("shell = \"{line}\"\n{more}")).with_docker();
    contained.run("run --quiet").exits(0);
    assert_eq!(newest(contained.folder.path()).cases[0].metrics[0].processes.len(), 2);
    let run = contained.log().into_iter().find(|line| line.starts_with("run ")).unwrap();
    assert!(run.contains("--gpus all --shm-size=1g --entrypoint  i sh -c"), "{run}");
    assert!(!run.contains("--network"), "{run}");
}

#[test]
fn s4_49_what_a_container_needs_and_is_not_here_skips_with_what_to_do() {
    let skipped = |contained: &Contained, words: &str| {
        contained.run("run --quiet").exits(4).says(words);
        let record = newest(contained.folder.path());
        assert!(matches!(record.cases[0].outcome, Outcome::Skipped { .. }), "{:?}", record.cases[0].outcome);
    };
    skipped(&Contained::new(EXTRACT), "neither `docker` nor `podman` is on PATH");
    skipped(&Contained::new(EXTRACT), "install docker or podman");
    let contained = Contained::new(EXTRACT).with_docker();
    contained.mark("no-image");
    skipped(&contained, "`docker pull me/bench:1`, or build it");
    contained.mark("no-daemon");
    skipped(&contained, "the daemon of docker does not answer");
    let podman = EXTRACT.replace("\"me/bench:1\"", "{ image = \"i\", runtime = \"podman\" }");
    skipped(&Contained::new(&podman).with_docker(), "`podman` is not on PATH");
}

#[test]
fn a_runtime_that_fails_is_no_failure_of_the_program() {
    let contained = Contained::new(EXTRACT).with_docker();
    contained.mark("broken");
    contained
        .run("run --quiet")
        .exits(4)
        .says("docker could not start the container")
        .says("no such runtime");
}

#[test]
fn a_container_is_ended_with_its_deadline() {
    let entry =
        EXTRACT.replace("echo time: 1.5", "trap : TERM; sleep 1000") + "deadlines = { measure = \"5s\" }\n";
    let contained = Contained::new(&entry).with_docker();
    contained.run("run --quiet --processes 1").exits(4);
    let log = contained.log();
    let name = log.iter().find_map(|line| line.strip_prefix("kill ")).expect("it is ended");
    assert!(log.iter().any(|line| line.contains(&format!("--name {name}"))), "{log:?}");
}

#[test]
fn a_program_that_prints_a_format_runs_in_a_container_with_its_folder() {
    let rows =
        "[[benchmark.extract]]\nmetric = \"time\"\nunit = \"ms\"\njson = \"$.ms\"\nparameters = [\"n\"]\n";
    let line = r#"echo '{\"n\": 1, \"ms\": 2}' > $GBENCH_OUT/rows.json"#;
    let contained = Contained::new(&format!("container = \"i\"\nshell = \"{line}\"\n{rows}")).with_docker();
    contained.run("run --quiet").exits(0);
    assert_eq!(newest(contained.folder.path()).cases[0].id.to_string(), "s/b[n=1]");
    let run = contained.log().into_iter().find(|line| line.starts_with("run ")).unwrap();
    assert!(run.contains("--env GBENCH_OUT"), "{run}");
}

#[test]
fn what_cannot_run_in_a_container_is_refused() {
    for (entry, words) in [
        ("container = \"i\"\ncommand = [\"./x\"]", "would include the start of its container"),
        ("container = \"i\"\nbuiltin = \"cpu_flops\"", "a built-in benchmark runs on the host"),
        (
            "container = \"i\"\nharness = \"criterion\"\ncommand = [\"cargo\", \"bench\", \"--bench\", \"b\"]",
            "on the host",
        ),
        (
            "container = { runtime = \"docker\" }\ntiming = \"protocol\"\ncommand = [\"./x\"]",
            "has no `image`",
        ),
        ("container = { image = \"i\", imag = 1 }\ntiming = \"protocol\"\ncommand = [\"./x\"]", "imag"),
        ("container = 3\ntiming = \"protocol\"\ncommand = [\"./x\"]", "an image such as"),
        (
            "container = { image = \"i\", runtime = \"lxc\" }\ntiming = \"protocol\"\ncommand = [\"./x\"]",
            "podman",
        ),
    ] {
        Contained::new(entry).run("list").exits(2).says(words);
    }
}
