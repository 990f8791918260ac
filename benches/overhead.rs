//! What the gate adds to a CI job: from the start of `gbench-ci ci` to the first process of a benchmark, and from the end of
//! the last one to the end of the step. The benchmark itself writes down when it begins and ends.

mod support;

use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use git2::{IndexAddOption, Oid, Repository, Signature};
use support::{Goals, Spread, gbench, milliseconds};

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
    repository.commit(Some("HEAD"), &author, &author, "a step", &tree, &parents)
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
    let push = format!("{{\"before\": \"{base}\", \"repository\": {{\"default_branch\": \"main\"}}}}");
    std::fs::write(&event, push).expect("an event file");

    let (mut to_first, mut after_last, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for job in 0..JOBS {
        let stamps = folder.path().join(format!("stamps{job}"));
        let began = now();
        let status = gbench()
            .args(["ci", "--rounds", "4", "--fail-on", "none"])
            .current_dir(&checkout)
            .env("STAMPS", &stamps)
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_EVENT_NAME", "push")
            .env("GITHUB_EVENT_PATH", &event)
            .env("GITHUB_REPOSITORY", "acme/kernels")
            .env("GITHUB_SHA", head.to_string())
            .env("GITHUB_REF", "refs/heads/main")
            .env("GITHUB_REF_NAME", "main")
            .env("GITHUB_OUTPUT", folder.path().join("output"))
            .env("GITHUB_STEP_SUMMARY", folder.path().join("summary"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .expect("the gate starts");
        let ended = now();
        assert!(status.success(), "{status}");
        let text = std::fs::read_to_string(&stamps).expect("the benchmark has run");
        let times: Vec<_> =
            text.lines().map(|line| Duration::from_nanos(line.parse().expect("a time"))).collect();
        let (first, last) = (times[0], times[times.len() - 1]);
        to_first.push(first - began);
        after_last.push(ended - last);
        whole.push(ended - began);
    }

    println!("overhead: {JOBS} jobs, 8 cases in 4 rounds, {FILES} files in the repository\n");
    println!("{:<46} {:>10} {:>10} {:>10}", "from - to", "min", "median", "max");
    let fresh = to_first[0];
    for (name, walls) in [
        ("start of ci - first benchmark", to_first.clone()),
        ("last benchmark - end of ci", after_last.clone()),
        ("start of ci - end of ci", whole),
    ] {
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
    let slowest = Spread::of(after_last).max;
    goals.check("after the last benchmark", milliseconds(slowest), "< 2 s", slowest < AFTER_THE_LAST);
    goals.conclude()
}
