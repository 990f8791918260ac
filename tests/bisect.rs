//! `gbench-ci bisect` from a real repository to the commit. The programs are real processes; what they print as their times is made up
//! from their tree and a count of processes, so that every run of a test sees the same numbers, whatever the machine does.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gbench_ci::model::{BisectAnswer, BisectDocument, BisectEntry, Documented};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::cli::{Ran, command, ended};
use crate::support::nightly;
use crate::support::wait::wait_until;

/// Prints a time around what the file `cost` says, with 1 % of noise that is normal as nearly as twelve numbers make it.
const BENCH: &str = r#"
set -eu
nth=0
while [ -e "$STATE/$nth" ]; do nth=$((nth + 1)); done
read -r cost < cost
: > "$STATE/$nth"
[ ! -e "$STATE/../slow" ] || sleep 0.3
exec awk -v nth="$nth" -v seed="$SEED" -v cost="$cost" '
    BEGIN {
        srand(nth * 7919 + seed * 104729)
        for (i = 0; i < 20; i++) rand()
        for (i = 0; i < 12; i++) sum += rand()
        printf "time: %.12f\n", 0.001 * cost * exp(0.01 * (sum - 6))
    }'
"#;

const SUITE: &str = r#"[suite]
name = "s"

[gate]
watch = false

[[benchmark]]
id = "c0"
command = ["sh", "bench.sh"]
build = { shell = "test ! -e broken || { echo does not compile; exit 1; }" }
extract = [{ metric = "time", unit = "s", regex = 'time: ([0-9.]+)' }]

[[benchmark]]
id = "c1"
command = ["sh", "bench.sh"]
extract = [{ metric = "time", unit = "s", regex = 'time: ([0-9.]+)' }]
"#;

/// A line of commits, the first of which is tagged `good`.
struct Line {
    folder: TempDir,
    seed: u64,
    /// By number, 0 for the good one.
    ids: Vec<String>,
}

impl Line {
    /// `cost` and `broken`: of a commit by its number.
    fn new(commits: usize, seed: u64, cost: impl Fn(usize) -> f64, broken: impl Fn(usize) -> bool) -> Self {
        let folder = TempDir::new().unwrap();
        let mut it = Self { folder, seed, ids: Vec::new() };
        std::fs::create_dir_all(it.state()).unwrap();
        std::fs::create_dir_all(it.root()).unwrap();
        it.git(&["init", "--quiet", "--initial-branch", "main"]);
        it.write("bench.sh", BENCH);
        it.write("gbench.toml", &it.suite());
        it.write(".gitignore", "artifacts/\n");
        for commit in 0..=commits {
            it.write("cost", &format!("{}\n", cost(commit)));
            it.write("number", &format!("{commit}\n"));
            let marker = it.root().join("broken");
            if broken(commit) {
                std::fs::write(marker, "").unwrap();
            } else if marker.exists() {
                std::fs::remove_file(marker).unwrap();
            }
            it.commit(&format!("Commit {commit}"));
        }
        it.git(&["tag", "good", &it.ids[0]]);
        it
    }

    /// 3 % from this commit on.
    fn with_step(commits: usize, seed: u64, at: usize) -> Self {
        Self::new(commits, seed, |commit| if commit >= at { 1.03 } else { 1.0 }, |_| false)
    }

    /// All commits write to one folder.
    fn suite(&self) -> String {
        let gate = format!("[gate]\nwritable = [\"{}\"]\n", self.state().display());
        SUITE.replace("[gate]\n", &gate)
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.root().join(name), text).unwrap();
    }

    fn commit(&mut self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
        self.ids.push(self.git(&["rev-parse", "HEAD"]));
    }

    fn git(&self, words: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Test", "-c", "user.email=test@example.invalid"]).args(words);
        let output = git.current_dir(self.root()).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn command(&self, line: &str) -> Command {
        let mut command = command(&self.root(), &format!("bisect {line}"));
        command.env("STATE", self.state()).env("SEED", self.seed.to_string());
        command
    }

    fn bisect(&self, line: &str) -> Ran {
        ended(self.command(line))
    }

    /// The document of a bisection that ends with this exit code.
    fn document(&self, line: &str, code: i32) -> BisectDocument {
        let ran = self.bisect(&format!("{line} --format json --quiet")).exits(code);
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        let schema = jsonschema::validator_for(&BisectDocument::schema()).unwrap();
        assert!(schema.is_valid(&document), "{document:#}");
        serde_json::from_value(document).unwrap()
    }

    /// How many processes were started.
    fn processes(&self) -> usize {
        std::fs::read_dir(self.state()).unwrap().count()
    }

    fn remaining(&self, document: &BisectDocument) -> Vec<usize> {
        let number = |id: &str| self.ids.iter().position(|known| known == id).unwrap();
        document.remaining.iter().map(|commit| number(&commit.commit)).collect()
    }
}

/// The state of the only bisection in a repository, held against its schema.
fn entries(root: &Path) -> Vec<BisectEntry> {
    let schema = jsonschema::validator_for(&BisectEntry::schema()).unwrap();
    let folders = std::fs::read_dir(root.join("artifacts")).unwrap().map(|entry| entry.unwrap().path());
    let folder = folders.into_iter().find(|folder| folder.join("bisect.jsonl").is_file()).unwrap();
    let text = std::fs::read_to_string(folder.join("bisect.jsonl")).unwrap();
    let whole = text.lines().filter(|line| line.ends_with('}'));
    whole
        .map(|line| {
            let value: Value = serde_json::from_str(line).unwrap();
            assert!(schema.is_valid(&value), "{value:#}");
            serde_json::from_value(value).unwrap()
        })
        .collect()
}

#[test]
fn the_commit_is_found_with_its_evidence_and_the_checkout_stays_as_it_is() {
    let line = Line::with_step(64, 1, 41);
    line.write("cost", "7\n");
    let ran = line.bisect("c0 good..HEAD --markdown page.md").exits(0).says("FOUND").says("Commit 41");
    let id = &line.ids[41];
    let ran = ran.says(&format!("git show {id}")).says("64 commits of s/c0").says("What was measured");
    assert!(ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
    assert!(ran.err.contains("round 1: "), "{}", ran.err);
    let page = std::fs::read_to_string(line.root().join("page.md")).unwrap();
    assert!(page.contains(id) && page.starts_with("## "), "{page}");
    assert_eq!(std::fs::read_to_string(line.root().join("cost")).unwrap(), "7\n");
    let entries = entries(&line.root());
    assert!(matches!(entries[0], BisectEntry::Begun(_)));
    let kept = entries.iter().filter(|entry| matches!(entry, BisectEntry::Process { .. })).count();
    assert_eq!(kept, line.processes());
    assert!(kept < 60, "{kept}");
}

#[test]
fn the_document_says_what_it_cost_and_how_large_the_change_is() {
    let line = Line::with_step(16, 2, 5);
    let document = line.document("s/c0 good", 0);
    assert_eq!((document.answer, line.remaining(&document)), (BisectAnswer::Commit, vec![5]));
    assert!(document.probability >= 0.95 && document.remaining[0].subject == "Commit 5");
    let (change, low, high) = (document.change.unwrap(), document.low.unwrap(), document.high.unwrap());
    assert!(low < change && change < high && (0.015..0.045).contains(&change), "{low} {change} {high}");
    assert_eq!(document.processes as usize, line.processes());
    let built = document.measured.len() + document.broken.len();
    assert!(document.builds as usize >= built && document.commits == 16, "{document:#?}");
    let processes: u32 = document.measured.iter().map(|commit| commit.processes).sum();
    assert_eq!(processes, document.processes);
}

#[test]
fn commits_that_do_not_build_are_left_out_and_those_between_them_named_together() {
    let line =
        Line::new(12, 3, |commit| if commit >= 6 { 1.05 } else { 1.0 }, |commit| [5, 6].contains(&commit));
    let document = line.document("c0 good..main", 0);
    assert_eq!(document.answer, BisectAnswer::Commits, "{document:#?}");
    let mut remaining = line.remaining(&document);
    remaining.sort_unstable();
    assert_eq!(remaining, [5, 6, 7]);
    assert!(document.broken.iter().all(|commit| commit.broken.as_deref().unwrap().contains("build")));
    let again = line.bisect("--resume --quiet").exits(0);
    let again = again.says("FOUND WITHIN A FEW COMMITS").says("2 of them cannot be measured");
    again.says("(cannot be measured)");
}

#[test]
fn a_range_in_which_nothing_changed_accuses_nobody() {
    let line = Line::new(16, 4, |_| 1.0, |_| false);
    let document = line.document("c0 good", 0);
    assert_eq!((document.answer, document.remaining.len()), (BisectAnswer::Nothing, 0));
    line.bisect("--resume --quiet").exits(0).says("NOTHING FOUND");
}

#[test]
fn what_became_better_is_found_where_any_change_is_looked_for() {
    let line = Line::new(8, 5, |commit| if commit >= 3 { 0.95 } else { 1.0 }, |_| false);
    assert_eq!(line.document("c0 good", 0).answer, BisectAnswer::Nothing);
    let document = line.document("c0 good --any", 0);
    assert_eq!((document.answer, line.remaining(&document)), (BisectAnswer::Commit, vec![3]));
}

#[test]
fn a_killed_bisection_goes_on_with_what_it_has() {
    let line = Line::with_step(16, 6, 11);
    std::fs::write(line.folder.path().join("slow"), "").unwrap();
    let mut child =
        line.command("c0 good --quiet").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the sixth process", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        line.processes() >= 6
    });
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(line.folder.path().join("slow")).unwrap();
    let kept = |entries: &[BisectEntry]| {
        entries.iter().filter(|entry| matches!(entry, BisectEntry::Process { .. })).count()
    };
    let before = kept(&entries(&line.root()));
    assert!(before >= 4, "{before}");
    let document = line.document("--resume", 0);
    assert_eq!((document.answer, line.remaining(&document)), (BisectAnswer::Commit, vec![11]));
    assert_eq!(kept(&entries(&line.root())), document.processes as usize);
    assert!(document.processes as usize > before);
}

#[test]
fn an_interrupt_leaves_what_was_measured_and_says_how_to_go_on() {
    let line = Line::with_step(16, 7, 11);
    std::fs::write(line.folder.path().join("slow"), "").unwrap();
    let mut command = line.command("c0 good --quiet");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the third process", || line.processes() >= 3);
    let id = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(130), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("INTERRUPTED") && said.contains("gbench-ci bisect --resume"), "{said}");
}

#[test]
fn a_budget_ends_it_undecided_with_what_remains() {
    let line = Line::with_step(16, 8, 11);
    // Each process takes longer than the budget, on the fastest machine, too.
    let slow = line.folder.path().join("slow");
    std::fs::write(&slow, "").unwrap();
    let ran = line.bisect("c0 good --budget 100ms --quiet").exits(3);
    let ran = ran.says("UNDECIDED").says("gbench-ci bisect --resume");
    assert!(line.processes() < 10, "{}", ran.out);
    std::fs::remove_file(slow).unwrap();
    assert_eq!(line.document("--resume", 0).answer, BisectAnswer::Commit);
}

#[test]
fn all_commits_of_merged_branches_are_candidates_where_asked_for() {
    let mut line = Line::with_step(3, 9, 9);
    line.git(&["checkout", "--quiet", "-b", "topic"]);
    for (number, cost) in [("a", "1"), ("b", "1.05"), ("c", "1.05")] {
        line.write("cost", &format!("{cost}\n"));
        line.write("topic", number);
        line.commit(&format!("Topic {number}"));
    }
    line.git(&["checkout", "--quiet", "main"]);
    line.write("other", "x");
    line.commit("Beside");
    line.git(&["merge", "--quiet", "--no-ff", "--message", "The merge", "topic"]);
    line.ids.push(line.git(&["rev-parse", "HEAD"]));
    let first_parents = line.document("c0 good", 0);
    assert_eq!((first_parents.commits, first_parents.remaining[0].subject.as_str()), (5, "The merge"));
    let full = line.document("c0 good --full", 0);
    assert_eq!((full.commits, full.remaining[0].subject.as_str()), (8, "Topic b"));
}

#[test]
fn without_a_range_it_is_the_newest_change_that_the_history_knows() {
    let line = Line::with_step(40, 13, 27);
    let nights = (0..=40).map(|number| {
        let factor = if number >= 27 { 1.03 } else { 1.0 };
        let mut night = nightly::night(number as u32, &[("kernels/gemm", factor)]);
        night.commit = line.ids[number].clone();
        night.record.cases.truncate(1);
        let id = &mut night.record.cases[0].id;
        (id.benchmark, id.params) = ("s/c0".parse().unwrap(), Default::default());
        night
    });
    nightly::append(&line.root(), nights);
    let ran = line.bisect("c0 --format json").exits(0).says("changed by +").says("git:gbench-history");
    let document: BisectDocument = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((document.answer, line.remaining(&document)), (BisectAnswer::Commit, vec![27]));
    assert!(document.commits < 20, "{}", document.commits);
    line.bisect("c1").exits(2).says("no range is given").says("gbench-ci bisect c1 GOOD..BAD");
}

#[test]
fn mistakes_say_what_to_do() {
    let line = Line::with_step(3, 10, 2);
    line.bisect("c9 good").exits(2).says("no case is called so").says("s/c0");
    line.bisect("c good").exits(2);
    line.bisect("c0 nowhere..main").exits(2).says("nowhere");
    line.bisect("c0 main..good").exits(2).says("is newer than the bad end").says("give the older one first");
    line.git(&["checkout", "--quiet", "-b", "beside", "good"]);
    line.write("other", "x");
    line.git(&["add", "."]);
    line.git(&["commit", "--quiet", "--message", "Beside"]);
    line.bisect("c0 beside..main").exits(2).says("not an ancestor").says("GOOD...BAD");
    line.git(&["checkout", "--quiet", "main"]);
    line.bisect("c0 main..main").exits(2).says("nothing between them");
    line.bisect("c0 good --metric speed").exits(2).says("no metric `speed`").says("time");
    line.bisect("c0 good --confidence 2").exits(2).says("from 50% to 99.99%");
    line.bisect("c0 good --processes 3").exits(2);
    line.bisect("c0").exits(2).says("gbench-ci bisect c0 GOOD..BAD");
    line.bisect("c* good").exits(2).says("2 cases").says("s/c1");
    line.bisect("").exits(2);
    line.bisect("--resume nothing").exits(2).says("no bisection of this name");
}

#[test]
fn a_commit_whose_processes_leave_the_metric_out_is_left_out() {
    let mut line = Line::new(0, 14, |_| 1.0, |_| false);
    line.write("inner.sh", BENCH);
    line.write("bench.sh", "sh inner.sh > out\ncat out\nif [ -e extra ]; then sed s/time/extra/ out; fi\n");
    let extract = "{ metric = \"extra\", unit = \"s\", regex = 'extra: ([0-9.]+)' }]\nmetrics = { extra = { optional = true } }";
    line.write("gbench.toml", &line.suite().replacen("' }]", &format!("' }}, {extract}"), 1));
    for commit in 1..=5 {
        line.write("cost", if commit < 4 { "1\n" } else { "1.05\n" });
        line.write("extra", "");
        if commit == 3 {
            std::fs::remove_file(line.root().join("extra")).unwrap();
        }
        line.write("number", &commit.to_string());
        line.commit(&format!("Commit {commit}"));
    }
    let document = line.document("c0 HEAD~4 --metric extra", 0);
    assert_eq!((document.answer, document.metric.as_str()), (BisectAnswer::Commits, "extra"));
    let mut remaining = line.remaining(&document);
    remaining.sort_unstable();
    assert_eq!(remaining, [3, 4]);
    assert_eq!(document.broken[0].broken.as_deref(), Some("its processes say nothing of `extra`"));
}

#[test]
fn an_end_that_cannot_be_measured_is_a_failure() {
    let line = Line::new(4, 11, |_| 1.0, |commit| commit == 0);
    line.bisect("c0 good").exits(4).says("the good end").says("cannot be measured");
    let line = Line::new(4, 11, |_| 1.0, |commit| commit == 4);
    line.bisect("c0 good").exits(4).says("the bad end");
}

#[test]
fn what_was_begun_is_gone_on_with_as_it_was() {
    let line = Line::with_step(8, 12, 4);
    line.bisect("c0 good --budget 1ms --quiet").exits(3);
    line.bisect("--resume --suite-file gbench.toml").exits(2).says("--suite-file");
    line.bisect("--resume --any").exits(2);
    let folder = std::fs::read_dir(line.root().join("artifacts")).unwrap();
    let folder = folder.map(|it| it.unwrap().path()).find(|it| it.join("suite.toml").is_file()).unwrap();
    std::fs::write(folder.join("suite.toml"), "[suite]\n").unwrap();
    line.bisect("--resume").exits(4).says("it was edited");
}

/// The whole acceptance through the binary. Prints its table.
#[test]
#[ignore = "minutes"]
fn r2_20_ranges_of_64_commits() {
    println!(
        "{:<28} {:>6} {:>10} {:>8} {:>10}",
        "64 commits, 3 %, noise 1 %", "right", "processes", "builds", "named"
    );
    for (name, share) in [("every commit builds", 0), ("10 % do not build", 10)] {
        let (mut right, mut processes, mut builds, mut named) = (0, 0, 0, 0);
        for seed in 1..=20_u64 {
            let at = 1 + (seed as usize * 37) % 64;
            let broken = |commit: usize| {
                commit > 0 && commit < 64 && (commit as u64 * 2_654_435_761 + seed * 97) % 1000 < 10 * share
            };
            let line = Line::new(64, 100 + seed, |commit| if commit >= at { 1.03 } else { 1.0 }, broken);
            let document = line.document("c0 good", 0);
            let remaining = line.remaining(&document);
            right += usize::from(remaining.contains(&at));
            named += remaining.len();
            processes += document.processes;
            builds += document.builds;
        }
        println!(
            "{name:<28} {right:>3}/20 {:>10.1} {:>8.1} {:>10.1}",
            f64::from(processes) / 20.0,
            f64::from(builds) / 20.0,
            named as f64 / 20.0
        );
        assert!(right >= 19, "{name}: {right} of 20");
    }
}
