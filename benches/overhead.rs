//! What the gate adds to a CI job: from the start of `gbench-ci ci` to the first process of a benchmark, from the end of the
//! last one to the end of the step, and to the end of `gbench-ci publish`, with a comment and a check in the emulator
//! `emulate`, which `.ci/run tools` installs. The benchmark itself writes down when it begins and ends.

#![allow(unreachable_pub, reason = "a program of several files")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints tables")]

mod support;

#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../tests/support"]
mod github {
    pub mod emulator;
    pub mod rest;
    pub mod tools;
}

use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use git2::{IndexAddOption, Oid, Repository, Signature};
use github::emulator::Emulator;
use serde_json::json;
use support::{Goals, Spread, gbench, milliseconds};

const SLUG: &str = "acme/kernels";
const JOBS: usize = 5;
/// Files of the repository beside the suite: both sides check them out.
const FILES: usize = 1000;
const TO_THE_FIRST: Duration = Duration::from_secs(3);
const AFTER_THE_LAST: Duration = Duration::from_secs(2);

const SUITE: &str = r#"
[suite]
name = "overhead"

[[benchmark]]
id = "work"
shell = "date +%s%N >> $STAMPS; sleep 0.02; date +%s%N >> $STAMPS"
matrix.n = [1, 2, 3, 4, 5, 6, 7, 8]
"#;

/// A repository of two commits; gives base and head.
fn repository(at: &Path) -> Result<(Oid, Oid), Box<dyn std::error::Error>> {
    let repository = Repository::init(at)?;
    std::fs::write(at.join("gbench.toml"), SUITE)?;
    for file in 0..FILES {
        let folder = at.join(format!("source/{}", file % 20));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(format!("{file}.cu")), format!("// {file}\n").repeat(200))?;
    }
    let base = commit(&repository)?;
    std::fs::write(at.join("note"), "a change\n")?;
    Ok((base, commit(&repository)?))
}

fn commit(repository: &Repository) -> Result<Oid, git2::Error> {
    let mut index = repository.index()?;
    index.add_all(["*"], IndexAddOption::DEFAULT, None)?;
    index.write()?;
    let tree = repository.find_tree(index.write_tree()?)?;
    let author = Signature::now("bench", "bench@example.invalid")?;
    let parent = repository.head().and_then(|head| head.peel_to_commit()).ok();
    let parents: Vec<_> = parent.iter().collect();
    repository.commit(Some("HEAD"), &author, &author, "a step\n", &tree, &parents)
}

/// The emulator with the same two commits, and the number of a pull request from one to the other. `None` where it is not
/// installed.
fn server(checkout: &Path, base: Oid, head: Oid) -> Option<(Emulator, u64)> {
    let server = Emulator::start(SLUG)?;
    server.repeat(SLUG, checkout, &base.to_string(), "main");
    server.repeat(SLUG, checkout, &head.to_string(), "topic");
    let pull = json!({"title": "A change", "head": "topic", "base": "main"});
    let pull = server.call("POST", &format!("/repos/{SLUG}/pulls"), Some(pull));
    let number = pull["number"].as_u64().expect("a pull request has a number");
    Some((server, number))
}

/// Since 1970, as the benchmark's own clock has it.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970")
}

fn main() -> ExitCode {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let checkout = folder.path().join("checkout");
    let (base, head) = repository(&checkout).expect("a repository");
    let event = folder.path().join("event.json");
    let server = server(&checkout, base, head);
    let number = server.as_ref().map_or(1, |(_, number)| *number);
    let side = |name: &str, id: Oid| json!({"ref": name, "sha": id.to_string(), "repo": {"full_name": SLUG}});
    let repository = json!({"full_name": SLUG, "default_branch": "main"});
    let pull = json!({"number": number, "head": side("topic", head), "base": side("main", base)});
    let text = json!({"action": "opened", "number": number, "pull_request": pull, "repository": repository});
    std::fs::write(&event, text.to_string()).expect("an event file");

    let (mut to_first, mut after_last, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    let mut to_comment = Vec::new();
    for job in 0..JOBS {
        let stamps = folder.path().join(format!("stamps{job}"));
        let step = |words: &[&str]| {
            let mut command = gbench();
            command
                .args(words)
                .current_dir(&checkout)
                .env("STAMPS", &stamps)
                .env("GITHUB_ACTIONS", "true")
                .env("GITHUB_EVENT_NAME", "pull_request")
                .env("GITHUB_EVENT_PATH", &event)
                .env("GITHUB_REPOSITORY", SLUG)
                .env("GITHUB_RUN_ID", format!("{}", 100 + job))
                .env("GITHUB_SHA", head.to_string())
                .env("GITHUB_REF", "refs/pull/1/merge")
                .env("GITHUB_REF_NAME", "1/merge")
                .env("GITHUB_OUTPUT", folder.path().join("output"))
                .env("GITHUB_STEP_SUMMARY", folder.path().join("summary"))
                .stdin(Stdio::null())
                .stdout(Stdio::null());
            command
        };
        let publish = |words: &[&str]| {
            let Some((server, _)) = &server else { return };
            let words: Vec<&str> = ["publish", "--comment", "always"].iter().chain(words).copied().collect();
            let mut command = step(&words);
            command.env("GITHUB_API_URL", &server.url).env("GBENCH_TOKEN", server.token);
            let status = command.status().expect("the gate starts");
            assert!(status.success(), "{status}");
        };
        publish(&["--start"]);
        let began = now();
        let status = step(&["ci", "--rounds", "4", "--fail-on", "none"]).status().expect("the gate starts");
        let ended = now();
        assert!(status.success(), "{status}");
        publish(&[]);
        let told = now();
        let text = std::fs::read_to_string(&stamps).expect("the benchmark has run");
        let times: Vec<_> =
            text.lines().map(|line| Duration::from_nanos(line.parse().expect("a time"))).collect();
        let (first, last) = (times[0], times[times.len() - 1]);
        to_first.push(first - began);
        after_last.push(ended - last);
        whole.push(ended - began);
        if server.is_some() {
            to_comment.push(told - last);
        }
    }
    if let Some((server, number)) = &server {
        let comments = server.call("GET", &format!("/repos/{SLUG}/issues/{number}/comments"), None);
        assert_eq!(comments.as_array().map(Vec::len), Some(1), "one comment for all jobs");
    }

    println!("overhead: {JOBS} jobs, 8 cases in 4 rounds, {FILES} files in the repository\n");
    println!("{:<46} {:>10} {:>10} {:>10}", "from - to", "min", "median", "max");
    let fresh = to_first[0];
    for (name, walls) in [
        ("start of ci - first benchmark", to_first.clone()),
        ("last benchmark - end of ci", after_last.clone()),
        ("last benchmark - comment and check are there", to_comment.clone()),
        ("start of ci - end of ci", whole),
    ] {
        if walls.is_empty() {
            println!("{name:<46} skipped: emulate is not installed (.ci/run tools)");
            continue;
        }
        let Spread { min, median, max } = Spread::of(walls);
        println!(
            "{name:<46} {:>10} {:>10} {:>10}",
            milliseconds(min),
            milliseconds(median),
            milliseconds(max)
        );
    }
    let mut goals = Goals::default();
    let met = fresh < TO_THE_FIRST;
    goals.check("to the first benchmark, fresh trees", milliseconds(fresh), "< 3 s", met);
    // With the emulator the time to the comment holds that to the end of `ci`.
    let (what, walls) = match to_comment.is_empty() {
        true => ("from the last benchmark to the end of ci", after_last),
        false => ("from the last benchmark to the comment", to_comment),
    };
    let slowest = Spread::of(walls).max;
    goals.check(what, milliseconds(slowest), "< 2 s", slowest < AFTER_THE_LAST);
    goals.conclude()
}
