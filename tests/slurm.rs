//! Comparisons whose shards a real Slurm runs: `just slurm`. Times are made up, as in [`crate::commits`].

use std::path::Path;
use std::process::{Child, Command, Stdio};

use gbench_ci::compare::{Merged, Verdict};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::commits::Repository;
use crate::support::cli::ended;
use crate::support::cli::{Ran, command, ran};
use crate::support::job::Checkout;
use crate::support::wait::{wait_for, wait_until};

const LAUNCH: &str = "compare HEAD~1..HEAD --launcher slurm";

fn slurm(line: &str) -> String {
    let mut words = line.split_whitespace();
    let output =
        Command::new(words.next().unwrap()).args(words).output().expect("Slurm is there: run `just slurm`");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The jobs that have not ended.
fn jobs() -> Vec<String> {
    slurm("squeue --noheader --format=%i").lines().map(str::to_owned).collect()
}

fn no_job_is_left() {
    wait_until("no job", || jobs().is_empty());
}

fn launched(repository: &Repository, line: &str) -> Ran {
    ran(repository.root(), &format!("{LAUNCH} {line}"))
}

fn begun(repository: &Repository, line: &str) -> Child {
    let mut command = command(repository.root(), &format!("{LAUNCH} {line}"));
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn signalled(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id() as i32), signal).unwrap();
}

fn resumed(repository: &Repository, line: &str) -> Ran {
    ran(repository.root(), &format!("compare --launcher slurm --resume {line}"))
}

fn merged(root: &Path) -> Merged {
    let entries = std::fs::read_dir(root.join("artifacts")).unwrap().map(|entry| entry.unwrap().path());
    let launch = entries.filter(|path| path.join("launch.json").exists()).max().expect("a launch");
    serde_json::from_str(&std::fs::read_to_string(launch.join("merged/merged.json")).unwrap()).unwrap()
}

/// Two commits with a case whose processes take so many seconds.
fn slow(seconds: u32) -> Repository {
    let repository = Repository::new();
    repository.write("gbench.toml", &crate::commits::suite(1));
    let bench = std::fs::read_to_string(repository.root().join("bench.sh")).unwrap();
    repository.write("bench.sh", &format!("sleep {seconds}\n{bench}"));
    repository.commit("slow");
    repository.write("note", "so that there is a change\n");
    repository.commit("as slow");
    repository
}

/// A job that takes the whole machine.
fn blocked() -> String {
    let mut sbatch = Command::new("sbatch");
    sbatch.args(["--parsable", "--exclusive", "--output=/dev/null", "--wrap=sleep 600"]);
    String::from_utf8_lossy(&sbatch.output().unwrap().stdout).trim().to_owned()
}

/// Waits until a job runs, and returns its id.
fn running() -> String {
    wait_for(|| {
        let jobs = slurm("squeue --noheader --states=running --format=%i");
        jobs.lines().next().map(str::to_owned).ok_or(jobs)
    })
}

fn regressed(root: &Path) -> Vec<String> {
    let merged = merged(root);
    let rows = merged.groups.iter().flat_map(|group| &group.verdict.rows);
    rows.filter(|row| row.verdict == Verdict::Regressed).map(|row| row.case.to_string()).collect()
}

#[test]
#[ignore = "needs Slurm: `just slurm`"]
fn a_slower_case_is_red_whichever_shard_has_it() {
    let repository = Repository::with_change(1.1);
    launched(&repository, "--shards 4").exits(1).says("s/c2").says("shard 4/4 has ended");
    assert_eq!(regressed(repository.root()), ["s/c2"]);
    no_job_is_left();
    // The report names the comparisons of the shards by their ids.
    let entries = std::fs::read_dir(repository.root().join("artifacts")).unwrap();
    let launch = entries.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let part = std::fs::read_dir(launch.join("part-1")).unwrap().map(|entry| entry.unwrap().path());
    let run = part.filter(|path| path.is_dir()).max().unwrap();
    ran(repository.root(), &format!("replay {}", run.file_name().unwrap().to_str().unwrap())).says("s/c");
}

#[test]
#[ignore = "needs Slurm: `just slurm`"]
fn two_comparisons_at_once_take_their_turns() {
    let repositories = [Repository::with_change(1.1), Repository::with_change(1.0)];
    let children = repositories.each_ref().map(|repository| begun(repository, "--shards 2"));
    let codes = children.map(|mut child| child.wait().unwrap().code());
    assert_eq!(codes, [Some(1), Some(0)]);
    assert_eq!(regressed(repositories[0].root()), ["s/c2"]);
    no_job_is_left();
}

#[test]
#[ignore = "needs Slurm: `just slurm`"]
fn a_killed_gate_finds_its_jobs_again() {
    let repository = Repository::with_change(1.1);
    let mut child = begun(&repository, "--shards 3");
    running();
    let before = wait_for(|| Some(jobs()).filter(|jobs| jobs.len() == 3).ok_or("three jobs"));
    signalled(&child, Signal::SIGKILL);
    child.wait().unwrap();
    resumed(&repository, "").exits(1).says("s/c2");
    assert_eq!(regressed(repository.root()), ["s/c2"]);
    // No shard was submitted twice.
    let last: u64 = before.iter().map(|id| id.parse().unwrap()).max().unwrap();
    assert_eq!(slurm(&format!("squeue --noheader --states=all --format=%i --jobs={}", last + 1)), "");
    no_job_is_left();
}

#[test]
#[ignore = "needs Slurm: `just slurm`"]
fn ctrl_c_ends_the_jobs() {
    let repository = Repository::with_change(1.1);
    let blocker = blocked();
    let mut child = begun(&repository, "--shards 3");
    wait_until("the jobs wait", || jobs().len() == 4);
    signalled(&child, Signal::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    wait_until("the jobs are gone", || jobs() == [blocker.as_str()]);
    slurm(&format!("scancel {blocker}"));
    resumed(&repository, "").exits(1).says("s/c2");
    no_job_is_left();
}

#[test]
#[ignore = "needs Slurm: `just slurm`"]
fn a_cancelled_shard_is_missing_until_it_is_resumed() {
    let repository = Repository::with_change(1.0);
    let blocker = blocked();
    let mut child = begun(&repository, "--shards 3");
    let waiting = wait_for(|| Some(jobs()).filter(|jobs| jobs.len() == 4).ok_or("three jobs"));
    let shard = waiting.iter().find(|id| **id != blocker).unwrap();
    slurm(&format!("scancel {shard}"));
    slurm(&format!("scancel {blocker}"));
    assert_eq!(child.wait().unwrap().code(), Some(4));
    assert!(merged(repository.root()).exit_code >= 4);
    resumed(&repository, "").exits(0);
    no_job_is_left();
}

#[test]
#[ignore = "needs Slurm: `just slurm`"]
fn a_full_queue_is_not_waited_for_longer_than_asked() {
    let repository = Repository::with_change(1.0);
    let blocker = blocked();
    running();
    let ran = launched(&repository, "--shards 2 --queue-wait 2s");
    ran.exits(4).says("waited 2s for its allocation").says("nothing was compared").says("--queue-wait");
    assert_eq!(jobs(), [blocker.as_str()]);
    slurm(&format!("scancel {blocker}"));
    no_job_is_left();
}

#[test]
#[ignore = "needs Slurm: `just slurm`"]
fn a_node_that_fails_is_named_and_its_shard_goes_on_elsewhere_or_later() {
    let repository = slow(2);
    let node = slurm("sinfo --noheader --format=%n").trim().to_owned();
    let update = |state: &str| slurm(&format!("scontrol update NodeName={node} State={state} Reason=test"));
    let mut child = begun(&repository, "--queue-wait 5s");
    running();
    update("down");
    assert_eq!(child.wait().unwrap().code(), Some(4));
    assert!(jobs().is_empty(), "{:?}", jobs());
    update("resume");
    resumed(&repository, "").exits(0);
    no_job_is_left();
}

#[test]
#[ignore = "needs Slurm: `just slurm`"]
fn a_time_limit_is_named_and_the_rounds_until_then_are_kept() {
    let repository = slow(20);
    // Slurm counts in minutes.
    let ran = launched(&repository, "--launcher-option=--time=1 --launcher-option=--signal=B:TERM@20");
    ran.exits(4).says("without a verdict").says("--resume");
    no_job_is_left();
}

#[test]
#[ignore = "needs Slurm: `just slurm`"]
fn what_slurm_refuses_is_said_in_its_words_and_leaves_no_job() {
    let repository = Repository::with_change(1.0);
    let ran = launched(&repository, "--shards 2 --launcher-option=--gres=gpu:9");
    ran.exits(5).says("Requested node configuration is not available").says("--launcher-option");
    no_job_is_left();
}

#[test]
#[ignore = "needs Slurm: `just slurm`"]
fn the_base_chooses_who_runs_a_comparison() {
    let repository = Repository::new();
    let suite = crate::commits::suite(4);
    repository.write("gbench.toml", &format!("[launcher]\nkind = 'slurm'\nshards = 2\n{suite}"));
    repository.commit("launched");
    // The change would have it run elsewhere.
    let elsewhere = "[launcher]\nkind = 'slurm'\noptions = ['--gres=gpu:9']\n";
    repository.write("gbench.toml", &format!("{elsewhere}{suite}"));
    repository.commit("elsewhere");
    let compared = |line: &str| ran(repository.root(), &format!("compare HEAD~1..HEAD {line}"));
    compared("").exits(0).says("shard 2/2 has ended");
    compared("--shards 1").exits(0).says("shard 1/1 has ended");
    compared("--launcher none --shards 3").exits(2).says("no launcher runs this comparison");
    let here = compared("--launcher none --quiet").exits(0);
    assert!(!here.err.contains("shard"), "{here:?}");
    no_job_is_left();
}

/// A step of GitHub Actions on the login node, whose job of the matrix is a job of Slurm: docs/merging.md.
#[test]
#[ignore = "needs Slurm: `just slurm`"]
fn a_job_of_a_matrix_is_a_job_of_slurm() {
    let checkout = Checkout::of_pull_request(&[("work", &crate::support::job::work(&[1.0, 1.2, 1.0]))]);
    for (shard, code) in [("1/2", 0), ("2/2", 1)] {
        let step = checkout.step("pull_request.synchronize", &format!("ci --quiet --shard {shard}"));
        let mut srun = Command::new("srun");
        srun.args(["--gres=gpu:1", "--quit-on-interrupt"]).arg(step.get_program()).args(step.get_args());
        srun.current_dir(step.get_current_dir().unwrap());
        for (name, value) in step.get_envs() {
            match value {
                Some(value) => srun.env(name, value),
                None => srun.env_remove(name),
            };
        }
        let ran = ended(srun).says("c");
        assert_eq!(ran.code, code, "{ran:?}");
        assert_eq!(checkout.output("exit-code"), Some(code.to_string()));
    }
    no_job_is_left();
}

/// Both run at the same time, in one folder: with a whole node for each they would take turns.
#[test]
#[ignore = "needs Slurm: `just slurm`"]
fn shards_that_run_at_the_same_time_do_not_touch_each_other() {
    let repository = Repository::with_change(1.1);
    launched(&repository, "--shards 2 --launcher-option=--ntasks=1").exits(1).says("shard 2/2 has ended");
    assert_eq!(regressed(repository.root()), ["s/c2"]);
    no_job_is_left();
}
