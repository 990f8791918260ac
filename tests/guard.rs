//! The guard by the runner's documented contract: it starts the script as `bash -e PATH` before a job's first step, with its
//! own variables and the event file, and goes on to the steps only if that succeeds.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::act::{Stage, pull_request};
use crate::support::cli::{Ran, ended, ran};
use crate::support::fake_github::{FakeGithub, RunSeed};
use crate::support::job::outside;
use crate::support::wait::wait_until;
use crate::support::{copy_program, fixture};

const HEAD: &str = "8c1f0a2e5b7d49c3a6e0f1d2b3c4d5e6f7081923";
const PULL: &str = ".github/workflows/gbench-pull-request.yml";
const NIGHTLY: &str = ".github/workflows/gbench-nightly.yml";

/// A machine with the guard on it.
struct Machine {
    folder: tempfile::TempDir,
}

/// A job that GitHub sends there.
struct Sent {
    variables: Vec<(String, String)>,
    event: Value,
}

impl Machine {
    fn new(flags: &str) -> Self {
        let it = Self { folder: crate::support::tempdir().unwrap() };
        std::fs::create_dir(it.at("runner")).unwrap();
        it.install(&format!("--repository acme/kernels {flags}")).exits(0);
        it
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn install(&self, flags: &str) -> Ran {
        ended(outside(
            self.folder.path(),
            &format!("guard install --folder guard --runner-user nobody {flags}"),
        ))
    }

    fn check(&self, flags: &str) -> Ran {
        ended(outside(
            self.folder.path(),
            &format!("guard check --folder guard --runner-user nobody {flags}"),
        ))
    }

    fn policy(&self, text: &str) {
        std::fs::write(self.at("guard/guard.toml"), text).unwrap();
    }

    /// The hook, and the first step where it lets the job begin: whether the step ran, and what the hook said.
    fn begin(&self, job: &Sent) -> (bool, Ran) {
        std::fs::write(self.at("event.json"), job.event.to_string()).unwrap();
        let marker = self.at("marker");
        let _ = std::fs::remove_file(&marker);
        let mut runner = Command::new("bash");
        runner.args(["-c", "bash -e \"$1\" || exit $?; touch \"$2\"", "runner"]);
        runner.arg(self.at("guard/guard.sh")).arg(&marker).current_dir(self.at("runner"));
        runner.env_clear().env("PATH", crate::support::path());
        runner.env("GITHUB_EVENT_PATH", self.at("event.json")).envs(job.variables.iter().cloned());
        let ran = ended(runner);
        (marker.exists(), ran)
    }

    /// The hook as the runner's worker starts it, which then takes a step of `if: always()` all the same. Whether that step
    /// ran, and how the worker ended. `meanwhile` is given the hook's process.
    fn worked(&self, job: &Sent, meanwhile: impl FnOnce(i32)) -> (bool, std::process::ExitStatus, String) {
        std::fs::write(self.at("event.json"), job.event.to_string()).unwrap();
        let worker = self.at("runner/Runner.Worker");
        if !worker.exists() {
            copy_program(Path::new("/bin/bash"), &worker);
        }
        let (always, pid) = (self.at("always"), self.at("pid"));
        for path in [&always, &pid] {
            let _ = std::fs::remove_file(path);
        }
        let mut runner = Command::new(worker);
        runner.args([
            "-c",
            "bash -e \"$1\" & echo $! > \"$3.new\"; mv \"$3.new\" \"$3\"; wait $!; touch \"$2\"",
            "worker",
        ]);
        runner.arg(self.at("guard/guard.sh")).arg(&always).arg(&pid).current_dir(self.at("runner"));
        runner.env_clear().env("PATH", crate::support::path());
        runner.env("GITHUB_EVENT_PATH", self.at("event.json")).envs(job.variables.iter().cloned());
        let out = self.at("out");
        runner.stdout(std::fs::File::create(&out).unwrap());
        let mut child = runner.spawn().unwrap();
        wait_until("the hook", || pid.exists());
        meanwhile(std::fs::read_to_string(&pid).unwrap().trim().parse().unwrap());
        let status = child.wait().unwrap();
        (always.exists(), status, std::fs::read_to_string(out).unwrap())
    }

    #[track_caller]
    fn allows(&self, job: &Sent) {
        let (began, ran) = self.begin(job);
        assert!(began && ran.code == 0, "{ran:?}");
    }

    #[track_caller]
    fn refuses(&self, job: &Sent, code: i32, words: &str) {
        let (began, ran) = self.begin(job);
        assert!(!began, "{words}");
        ran.exits(code).says(words);
    }

    fn refusals(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.at("guard/refusals.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Sent {
    /// By an event file of the fixtures, in the workflow of this file.
    fn new(name: &str, workflow: &str) -> Self {
        let text = std::fs::read_to_string(fixture(&format!("github/events/{name}.json"))).unwrap();
        let event: Value = serde_json::from_str(&text).unwrap();
        let reference = match name.split('.').next().unwrap() {
            "merge_group" => event["merge_group"]["head_ref"].as_str().unwrap(),
            kind if kind.starts_with("pull") => "refs/pull/42/merge",
            _ => "refs/heads/main",
        };
        let variables = [
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_ACTOR", "ada"),
            ("GITHUB_EVENT_NAME", name.split('.').next().unwrap()),
            ("GITHUB_REPOSITORY", "acme/kernels"),
            ("GITHUB_SHA", HEAD),
            ("GITHUB_REF", reference),
            ("GITHUB_REF_NAME", reference.splitn(3, '/').nth(2).unwrap()),
            ("GITHUB_RUN_ID", "5550009"),
            ("GITHUB_RUN_ATTEMPT", "1"),
            ("GITHUB_WORKFLOW_REF", &format!("acme/kernels/{workflow}@{reference}")),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Self { variables, event }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.into(), value.into()));
        self
    }
}

#[test]
fn n14_a_fork_that_replaces_the_workflow_is_stopped_before_its_first_step() {
    let machine = Machine::new("");
    // The file has the name of an allowed one and anything in it: nothing in the job says otherwise.
    let fork = || Sent::new("pull_request.fork", PULL);
    machine.refuses(
        &fork(),
        5,
        "pull request #42 comes from the fork mallory/kernels, whose code does not run on this machine",
    );
    machine.refuses(&Sent::new("pull_request.fork_deleted", PULL), 5, "comes from a fork that is gone");
    machine.refuses(
        &Sent::new("pull_request.fork", ".github/workflows/mine.yml"),
        5,
        "`.github/workflows/mine.yml`",
    );
    // What a job may set for itself changes nothing.
    let set =
        fork().with("GBENCH_TOKEN", "x").with("CI", "false").with("HOME", "/nowhere").with("LC_ALL", "C");
    machine.refuses(&set, 5, "the fork mallory/kernels");
    let refusals = machine.refusals();
    assert_eq!(refusals.len(), 4);
    assert_eq!((&refusals[0]["event"], &refusals[0]["actor"]), (&json!("pull_request"), &json!("ada")));
    assert!(refusals[0]["why"].as_str().unwrap().contains("mallory/kernels"), "{}", refusals[0]);
    // The same machine runs what it is there for.
    machine.allows(&Sent::new("pull_request.opened", PULL));
    assert_eq!(machine.refusals().len(), 4);
}

/// The runner takes steps of `if: always()` after a hook that failed; only a worker that is gone takes none.
#[test]
fn n14_no_step_that_always_runs_is_reached_after_a_refusal() {
    use std::os::unix::process::ExitStatusExt;
    let machine = Machine::new("");
    let killed = |job: &Sent, why: &str| {
        let (ran, status, out) = machine.worked(job, |_| ());
        assert!(!ran && status.signal() == Some(9), "{why}: {status:?}\n{out}");
        assert!(out.contains("this job ends here, before its first step"), "{why}: {out}");
    };
    let night = || Sent::new("schedule", NIGHTLY);
    let (ran, status, _) = machine.worked(&night(), |_| ());
    assert!(ran && status.success(), "what is allowed goes on: {status:?}");
    killed(&Sent::new("pull_request.fork", PULL), "a fork");
    assert_eq!(machine.refusals().len(), 1);
    killed(&night().with("GITHUB_WORKFLOW_REF", ""), "what cannot be read");
    // A job that is cancelled before an answer is there: a newer push does that to an older run.
    for signal in [nix::sys::signal::SIGINT, nix::sys::signal::SIGTERM] {
        let policy = machine.at("guard/guard.toml");
        let text = std::fs::read_to_string(&policy).unwrap();
        machine.policy(&format!("{text}[forks]\nlabel = \"measure\"\n"));
        // Nobody answers at this address, for as long as the test is interested.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", silent.local_addr().unwrap());
        let fork = Sent::new("pull_request.fork", PULL).with("GITHUB_API_URL", &address);
        let (ran, status, _) = machine.worked(&fork, |pid| {
            drop(silent.accept().unwrap());
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).unwrap();
        });
        assert!(!ran && status.signal() == Some(9), "{signal}: {status:?}");
        machine.policy(&text);
    }
    let script = std::fs::read_to_string(machine.at("guard/guard.sh")).unwrap();
    std::fs::write(machine.at("guard/guard.sh"), script.replace("gbench-ci guard run", "gone guard run"))
        .unwrap();
    killed(&night(), "a program that is not there");
    std::fs::write(machine.at("guard/guard.sh"), script).unwrap();
    std::fs::remove_file(machine.at("guard/guard.toml")).unwrap();
    killed(&night(), "a policy that is not there");
}

#[test]
fn n14_what_the_policy_does_not_name_is_refused() {
    let machine = Machine::new("--branch main --branch release/*");
    for (name, workflow) in [
        ("pull_request.synchronize", PULL),
        ("merge_group", PULL),
        ("schedule", NIGHTLY),
        ("workflow_dispatch", NIGHTLY),
    ] {
        machine.allows(&Sent::new(name, workflow));
    }
    let night = || Sent::new("schedule", NIGHTLY);
    let on = |branch: &str| {
        night().with("GITHUB_REF", &format!("refs/heads/{branch}")).with("GITHUB_REF_NAME", branch)
    };
    machine.allows(&on("release/1"));
    machine.allows(&night().with("GITHUB_REPOSITORY", "ACME/Kernels"));
    for (job, words) in [
        (on("topic"), "the branch `topic` may not use this machine"),
        (on("release/1/x"), "the branch `release/1/x`"),
        (night().with("GITHUB_REF", "refs/tags/main").with("GITHUB_REF_NAME", "main"), "about no branch"),
        (
            night().with("GITHUB_REPOSITORY", "acme/other"),
            "the repository acme/other may not use this machine",
        ),
        (Sent::new("push", NIGHTLY), "the event `push` may not use this machine"),
        (Sent::new("pull_request_target", PULL), "the event `pull_request_target`"),
        (Sent::new("pull_request_review.fork", PULL), "the event `pull_request_review`"),
        (Sent::new("schedule", ".github/workflows/other.yml"), "the workflow `.github/workflows/other.yml`"),
        (
            night().with("GITHUB_WORKFLOW_REF", &format!("mallory/kernels/{NIGHTLY}@refs/heads/main")),
            "of mallory/kernels may not use this machine",
        ),
    ] {
        machine.refuses(&job, 5, words);
    }
    let mut other = Sent::new("pull_request.opened", PULL);
    other.event["pull_request"]["base"]["ref"] = "topic".into();
    machine.refuses(&other, 5, "the branch `topic`");
    let hostile = on("x\u{202e}::error::y");
    machine.refuses(&hostile, 5, "may not use this machine");
    let log = std::fs::read_to_string(machine.at("guard/refusals.jsonl")).unwrap();
    assert!(log.is_ascii() && log.lines().count() == 11, "{log}");
}

#[test]
fn n14_what_cannot_be_read_is_refused() {
    let machine = Machine::new("");
    let night = || Sent::new("schedule", NIGHTLY);
    machine.allows(&night());
    for name in
        ["GITHUB_EVENT_NAME", "GITHUB_REPOSITORY", "GITHUB_SHA", "GITHUB_WORKFLOW_REF", "GITHUB_ACTIONS"]
    {
        let (began, ran) = machine.begin(&night().with(name, ""));
        assert!(!began && ran.code != 0, "{name}");
        ran.says(name);
    }
    assert_eq!(machine.refusals().len(), 5);
    let pull = || Sent::new("pull_request.opened", PULL);
    for event in
        [json!([]), json!({}), json!({"pull_request": {"number": 42}}), json!({"pull_request": null})]
    {
        let (began, _) = machine.begin(&Sent { event: event.clone(), ..pull() });
        assert!(!began, "{event}");
    }
    let (began, _) = machine.begin(&night().with("GITHUB_EVENT_PATH", "/nowhere/event.json"));
    assert!(!began);
    // A log that cannot be written lets nothing in.
    std::fs::remove_file(machine.at("guard/refusals.jsonl")).unwrap();
    std::fs::create_dir(machine.at("guard/refusals.jsonl")).unwrap();
    machine.refuses(&Sent::new("push", NIGHTLY), 5, "the refusal cannot be written");
    for text in ["", "repositories = [", "repositories = \"all\"", "everything = true"] {
        machine.policy(text);
        let (began, ran) = machine.begin(&night());
        assert!(!began && ran.code != 0, "{text}");
    }
    std::fs::remove_file(machine.at("guard/guard.toml")).unwrap();
    machine.refuses(&night(), 2, "guard.toml");
    // The program is gone.
    let script = std::fs::read_to_string(machine.at("guard/guard.sh")).unwrap();
    std::fs::write(machine.at("guard/guard.sh"), script.replace("gbench-ci guard run", "gone guard run"))
        .unwrap();
    let (began, ran) = machine.begin(&night());
    assert!(!began && ran.code != 0);
}

#[test]
fn n14_a_forks_code_runs_by_a_maintainers_label_that_is_newer_than_its_push() {
    let machine = Machine::new("--fork-label Measure");
    let fake = FakeGithub::start();
    fake.repository("acme/kernels");
    std::fs::write(machine.at("token"), fake.actions_token(&["pull_requests", "issues", "actions"])).unwrap();
    let policy = std::fs::read_to_string(machine.at("guard/guard.toml")).unwrap();
    machine.policy(&format!("{policy}token_file = \"{}\"\n", machine.at("token").display()));
    let job = |name: &str| Sent::new(name, PULL).with("GITHUB_API_URL", &fake.url());
    let fork = || job("pull_request.fork");
    // The event says that the label is there: that is not taken for it.
    let mut claims = fork();
    claims.event["pull_request"]["labels"] = json!([{"name": "Measure"}]);

    machine.refuses(&claims, 5, "GitHub could not be asked for the label");
    fake.pull(42, HEAD, "faster-gemm", "mallory/kernels", "main");
    machine.refuses(&claims, 5, "it does not have the label `Measure`");
    let run = RunSeed {
        id: 5550009,
        head_sha: HEAD,
        head_branch: "faster-gemm",
        head_repository: Some("mallory/kernels"),
        path: PULL,
        conclusion: None,
        ..RunSeed::default()
    };
    fake.workflow_run(&run);
    fake.label(42, "bug", SystemTime::now() + Duration::from_secs(60));
    machine.refuses(&fork(), 5, "it does not have the label `Measure`");
    // From before this push.
    fake.label(42, "measure", SystemTime::now() - Duration::from_secs(60));
    machine.refuses(&fork(), 5, "the label `Measure` is older than this push");
    fake.label(42, "measure", SystemTime::now() + Duration::from_secs(60));
    machine.allows(&fork());
    // Only what the label was put on.
    fake.push(42, &"9".repeat(40));
    machine.refuses(&fork(), 5, "it has moved on from 8c1f0a2e5b");
    fake.push(42, HEAD);
    fake.change_pull(42, |issue| issue.labels.clear());
    machine.refuses(&fork(), 5, "it does not have the label `Measure`");
    fake.change_pull(42, |issue| issue.labels.push("Measure".into()));
    fake.change_pull(42, |issue| issue.open = false);
    machine.refuses(&fork(), 5, "it is not open");
    fake.change_pull(42, |issue| issue.open = true);
    machine.allows(&fork());
    assert_eq!(fake.violations(), [""; 0]);
}

#[test]
fn n14_the_run_that_a_label_starts_is_of_the_commit_that_was_labelled() {
    let machine = Machine::new("--fork-label measure");
    let fake = FakeGithub::start();
    fake.repository("acme/kernels");
    std::fs::write(machine.at("token"), fake.actions_token(&["pull_requests", "issues", "actions"])).unwrap();
    let policy = std::fs::read_to_string(machine.at("guard/guard.toml")).unwrap();
    machine.policy(&format!("{policy}token_file = \"{}\"\n", machine.at("token").display()));
    fake.pull(42, HEAD, "faster-gemm", "mallory/kernels", "main");
    let labelled = |label: &str| {
        let mut job = Sent::new("pull_request.fork", PULL).with("GITHUB_API_URL", &fake.url());
        job.event["action"] = "labeled".into();
        job.event["label"] = json!({"name": label});
        job
    };
    machine.refuses(&labelled("measure"), 5, "it does not have the label");
    // GitHub makes the run a moment after the label.
    fake.label(42, "measure", SystemTime::now() - Duration::from_secs(5));
    fake.workflow_run(&RunSeed { id: 5550009, head_sha: HEAD, conclusion: None, ..RunSeed::default() });
    machine.allows(&labelled("measure"));
    machine.refuses(&labelled("bug"), 5, "is older than this push");
    fake.push(42, &"9".repeat(40));
    machine.refuses(&labelled("measure"), 5, "it has moved on");
}

#[test]
fn n14_an_installation_is_written_once_and_held_to_what_keeps_jobs_out() {
    let machine = Machine::new("");
    let script = machine.at("guard/guard.sh");
    let line = format!("ACTIONS_RUNNER_HOOK_JOB_STARTED={}", script.display());
    let env = machine.at("runner/.env");
    let flags = format!("--runner-env {}", env.display());
    machine.check("").exits(5).says("name it with `--runner-env`");
    machine.check(&flags).exits(5).says(&format!("put this line into it, and restart the runner: {line}"));
    std::fs::write(&env, "LANG=C.UTF-8\n").unwrap();
    machine.check(&flags).exits(5).says("nothing is guarded");
    for (text, words) in [
        ("ACTIONS_RUNNER_HOOK_JOB_STARTED=guard.sh\n".to_owned(), "no absolute path that ends in .sh"),
        (
            format!("ACTIONS_RUNNER_HOOK_JOB_STARTED={}\n", machine.at("guard/guard.toml").display()),
            "ends in .sh",
        ),
        ("ACTIONS_RUNNER_HOOK_JOB_STARTED=/nowhere/guard.sh\n".to_owned(), "to another file than"),
        (format!("{line}\n{line}\n"), "more than once"),
    ] {
        std::fs::write(&env, text).unwrap();
        machine.check(&flags).exits(5).says(words);
    }
    std::fs::write(&env, format!("{line}\n")).unwrap();
    let is_root = nix::unistd::geteuid().is_root();
    let checked =
        machine.check(&flags).says("names the script").says("guard.toml cannot be changed by nobody");
    if is_root {
        // Only root can give the log to the runner's user.
        checked.exits(0).says("nobody can append to the log");
    } else {
        checked.exits(5).says("nobody cannot append to the log");
    }
    // A second time nothing that a person edited is lost.
    machine.policy("repositories = [\"acme/edited\"]\n");
    machine.install("--repository acme/kernels").exits(0).says("it is there already");
    assert!(std::fs::read_to_string(machine.at("guard/guard.toml")).unwrap().contains("edited"));
    machine.install("--repository acme/kernels --force").exits(0).says(&line);
    assert!(!std::fs::read_to_string(machine.at("guard/guard.toml")).unwrap().contains("edited"));
    let odd = "guard install --repository a/b --runner-user nobody --folder odd;name";
    ended(outside(machine.folder.path(), odd)).exits(2).says("cannot start a script by this path");
    machine.install("--repository kernels").exits(2).says("is not a repository");
    machine.install("--repository a/b --event pull_request_target").exits(2).says("cannot be allowed");

    std::fs::write(&script, "exit 0\n").unwrap();
    machine.check(&flags).exits(5).says("is not the one that this version writes");
    machine.install("--repository acme/kernels").exits(0);
    for name in ["guard/guard.toml", "guard/guard.sh", "runner/.env"] {
        open(&machine.at(name), 0o666);
        machine.check(&flags).exits(5).says(&format!("{name} can be changed by nobody, and so by a job"));
        open(&machine.at(name), 0o644);
    }
    open(&machine.at("guard"), 0o777);
    machine.check(&flags).exits(5).says("because");
    open(&machine.at("guard"), 0o755);
    let me = nix::unistd::User::from_uid(nix::unistd::geteuid()).unwrap().unwrap().name;
    let mine = ran(machine.folder.path(), &format!("guard check --folder guard {flags}"));
    mine.exits(5).says(&format!("can be changed by {me}, and so by a job"));
}

fn open(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn n14_a_check_says_what_would_become_of_a_job() {
    let machine = Machine::new("");
    let write = |job: &Sent| {
        std::fs::write(machine.at("event.json"), job.event.to_string()).unwrap();
        let mut text = format!("GITHUB_EVENT_PATH={}\n", machine.at("event.json").display());
        for (name, value) in &job.variables {
            text += &format!("{name}={value}\n");
        }
        std::fs::write(machine.at("job"), text).unwrap();
    };
    write(&Sent::new("schedule", NIGHTLY));
    machine.check("--job job").says("the job of job may run here");
    write(&Sent::new("pull_request.fork", PULL));
    machine.check("--job job").exits(5).says("comes from the fork mallory/kernels");
    // A question is no refusal.
    assert_eq!(machine.refusals().len(), 0);
}

#[test]
fn n14_the_workflow_that_a_fork_brings_runs_by_itself_and_not_behind_the_guard() {
    let Some(stage) = Stage::new() else { return };
    let marker = stage.at("marker");
    let workflow = |step: &str| {
        format!(
            "on: pull_request\njobs:\n  measure:\n    runs-on: [self-hosted, gpu]\n    steps:\n      - run: {step}\n"
        )
    };
    stage.write(&format!("repository/{PULL}"), &workflow("echo measured"));
    let base = stage.commit("A workflow");
    // The fork keeps the name and replaces what is in it: no `if:` is left to keep it out.
    stage.write(&format!("repository/{PULL}"), &workflow(&format!("touch '{}'", marker.display())));
    let head = stage.commit("Faster");
    let event = pull_request(&base, &head, "feature", "mallory/kernels");
    stage.play("gbench-pull-request.yml", "pull_request", &event).is(0);
    assert!(marker.exists(), "nothing in the repository keeps it out");

    // `act` starts no hooks: the runner's part is done here.
    std::fs::remove_file(&marker).unwrap();
    let machine = Machine::new("");
    let job = Sent { event: event.clone(), ..Sent::new("pull_request.fork", PULL) };
    let (may_begin, ran) = machine.begin(&job);
    assert!(!may_begin, "{ran:?}");
    if may_begin {
        stage.play("gbench-pull-request.yml", "pull_request", &event);
    }
    assert!(!marker.exists());
    ran.exits(5).says("comes from the fork mallory/kernels");
    let own = Sent { event: pull_request(&base, &head, "feature", "acme/kernels"), ..job };
    assert!(machine.begin(&own).0);
}
