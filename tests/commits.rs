//! `gbench-ci compare BASE..HEAD` from a real repository to the verdict. The programs are real processes; what they print
//! as their times is made up from their case, side and round, so that every run of a test sees the same numbers, whatever
//! the machine does.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gbench_ci::compare::{Row, Verdict, VerdictDocument};
use gbench_ci::store::{latest_comparison, read_comparison};
use tempfile::TempDir;

use crate::support::cli::{Ran, command, ended, ran};
use crate::support::wait::wait_until;

/// Prints twelve times. `$1` is the case, the file `work` in its folder what one unit of work costs; `$STATE`, where it is
/// set, a folder that all processes share, and `$TRICK` what is wrong with the machine.
const BENCH: &str = r#"
set -eu
rest=${GBENCH_REQUEST#*'"process":'}
process=${rest%%[!0-9]*}
side=${PWD##*/}
while read -r name cost; do [ "$name" != "$1" ] || work=$cost; done < work
nth=0
if [ -n "${STATE:-}" ]; then
    # How many processes of this case there were before this one.
    while [ -e "$STATE/$1.$nth" ]; do nth=$((nth + 1)); done
    : > "$STATE/$1.$nth"
fi
if [ "${TRICK:-}" = cache ]; then
    # What an earlier process of this side has found is printed again.
    mkdir -p results
    if [ -e "results/$1" ]; then cat "results/$1"; exit 0; fi
fi
times=$(awk -v process="$process" -v side="$side" -v work="$work" -v name="$1" -v nth="$nth" -v trick="${TRICK:-}" '
    BEGIN {
        srand(process * 7919 + (side == "head" ? 104729 : 0) + length(name) * 31 + substr(name, 2) * 1299709)
        for (i = 0; i < 20; i++) rand()
        time = 0.001 * work * (1 + 0.004 * (rand() + rand() + rand() - 1.5))
        if (trick == "ramp") time *= 1 + 0.02 * nth
        if (trick == "mode" && nth >= 3) time *= 1.15
        if (trick == "slot" && nth % 2 == 1) time *= 1.05
        for (i = 0; i < 12; i++) printf "time: %.12f\n", time * (1 + 0.001 * rand())
    }')
[ "${TRICK:-}" != cache ] || printf '%s\n' "$times" > "results/$1"
printf '%s\n' "$times"
"#;

pub const CASES: usize = 6;

/// A repository with a suite of [`CASES`] cases.
pub struct Repository {
    folder: TempDir,
    state: TempDir,
}

impl Repository {
    pub fn new() -> Self {
        let it = Self { folder: TempDir::new().unwrap(), state: TempDir::new().unwrap() };
        it.git(&["init", "--quiet", "--initial-branch", "main"]);
        it.write("bench.sh", BENCH);
        it.write(".gitignore", "results/\n");
        it.write("gbench.toml", &suite(CASES));
        it.work(&[1.0; CASES]);
        it.commit("first");
        it
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn git(&self, words: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Test", "-c", "user.email=test@example.invalid"]).args(words);
        let output = git.current_dir(self.root()).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.root().join(name), text).unwrap();
    }

    /// What one unit of work costs, by case.
    pub fn work(&self, costs: &[f64]) {
        let lines: Vec<String> =
            costs.iter().enumerate().map(|(case, cost)| format!("c{case} {cost}\n")).collect();
        self.write("work", &lines.concat());
    }

    pub fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    /// A second commit in which case 2 costs so much more.
    pub fn with_change(cost: f64) -> Self {
        let it = Self::new();
        let mut costs = [1.0; CASES];
        costs[2] = cost;
        it.work(&costs);
        it.write("note", "so that there is a change\n");
        it.commit("second");
        it
    }

    pub fn compare(&self, line: &str) -> Ran {
        ran(self.root(), &format!("compare {line} --quiet"))
    }

    /// Under a machine on which something is wrong.
    pub fn compare_under(&self, trick: &str, line: &str) -> Ran {
        // The state is where both sides write.
        let mut command = command(self.root(), &format!("compare {line} --quiet --no-sandbox"));
        command.env("STATE", self.state.path()).env("TRICK", trick);
        ended(command)
    }

    pub fn latest(&self) -> PathBuf {
        latest_comparison(&self.root().join("artifacts")).expect("a comparison")
    }

    pub fn verdict(&self) -> VerdictDocument {
        let text = std::fs::read_to_string(self.latest().join("reports/verdict.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

pub fn suite(cases: usize) -> String {
    let case = |case: usize| {
        format!(
            "[[benchmark]]\nid = \"c{case}\"\ncommand = [\"sh\", \"bench.sh\", \"c{case}\"]\n\
             extract = [{{ metric = \"time\", unit = \"s\", regex = 'time: ([0-9.]+)' }}]\n\n"
        )
    };
    // What the machine does beside the tests is no business of made-up times.
    format!("[suite]\nname = \"s\"\n\n[gate]\nwatch = false\n\n{}", (0..cases).map(case).collect::<String>())
}

/// The base says who runs a comparison: a change that would have a scheduler run it is measured here.
#[test]
fn a_change_does_not_choose_its_launcher() {
    let repository = Repository::with_change(1.0);
    repository.write("gbench.toml", &format!("[launcher]\nkind = 'slurm'\n{}", suite(CASES)));
    repository.commit("launcher");
    repository.compare("HEAD~1..HEAD --rounds 4").exits(0);
    // From then on it does, where there is no Slurm.
    repository.write("note", "more\n");
    repository.commit("after it");
    let mut command = command(repository.root(), "compare HEAD~1..HEAD");
    command.env("PATH", repository.root());
    ended(command).exits(5).says("squeue").says("--launcher none");
    repository.compare("HEAD~1..HEAD --rounds 4 --launcher none").exits(0);
    repository.compare("HEAD~1..HEAD --launcher none --shards 2").exits(2).says("no launcher runs this");
    for flag in ["--json v.json", "--shard 1/2", "--html v.html"] {
        repository.compare(&format!("HEAD~1..HEAD --launcher slurm {flag}")).exits(2).says("launcher");
    }
}

fn row<'a>(document: &'a VerdictDocument, name: &str) -> &'a Row {
    document.rows.iter().find(|row| row.case.benchmark.name() == name).unwrap()
}

fn verdicts(document: &VerdictDocument) -> Vec<(String, Verdict, Option<u32>)> {
    let mut rows: Vec<_> = document
        .rows
        .iter()
        .map(|row| (row.case.to_string(), row.verdict, row.sequence.as_ref().map(|sequence| sequence.rounds)))
        .collect();
    rows.sort();
    rows
}

#[test]
fn more_work_in_one_case_is_red_and_names_it() {
    let repository = Repository::with_change(1.03);
    repository.compare("HEAD~1..HEAD").exits(1).says("s/c2");
    let document = repository.verdict();
    assert_eq!(row(&document, "c2").verdict, Verdict::Regressed);
    assert_eq!(document.counts[&Verdict::Unchanged], CASES as u32 - 1);
    let (base, head, control) = read_comparison(&repository.latest()).unwrap();
    assert_eq!(base.cases.len(), CASES);
    assert_eq!(control.unwrap().cases.len(), 1);
    // Who is decided is measured no longer.
    let rounds: Vec<usize> = head.cases.iter().map(|case| case.processes.len()).collect();
    assert_eq!(rounds.iter().filter(|rounds| **rounds == 3).count(), CASES - 1, "{rounds:?}");
    // Both orders came up.
    let slots: Vec<_> = head.cases[2].processes.iter().map(|process| process.slot.unwrap()).collect();
    assert!(slots.contains(&0) && slots.contains(&1), "{slots:?}");
}

#[test]
fn two_commits_that_do_the_same_are_green() {
    let repository = Repository::with_change(1.0);
    repository.compare("HEAD~1..HEAD").exits(0);
    assert_eq!(repository.verdict().counts[&Verdict::Unchanged], CASES as u32);
}

#[test]
fn the_working_tree_is_compared_as_it_stands_and_stays_so() {
    let repository = Repository::new();
    repository.work(&[1.05, 1.0, 1.0, 1.0, 1.0, 1.0]);
    let before = std::fs::read(repository.root().join(".git/index")).unwrap();
    repository.compare("main").exits(1).says("s/c0").says("working tree");
    assert_eq!(std::fs::read(repository.root().join(".git/index")).unwrap(), before);
    let status =
        Command::new("git").args(["status", "--short"]).current_dir(repository.root()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&status.stdout), " M work\n");
    let branches =
        Command::new("git").args(["branch", "--list"]).current_dir(repository.root()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&branches.stdout), "* main\n");
}

#[test]
fn a_machine_that_grows_slower_switches_or_favours_a_slot_makes_no_red() {
    for trick in ["ramp", "mode", "slot"] {
        let repository = Repository::with_change(1.0);
        let ran = repository.compare_under(trick, "HEAD~1..HEAD --controls 0 --rounds 16");
        assert!([0, 3].contains(&ran.code), "{trick}: {}\n{}", ran.out, ran.err);
        let document = repository.verdict();
        assert_eq!(document.counts[&Verdict::Regressed], 0, "{trick}");
        // It was there: by one side alone the times rose.
        let (base, ..) = read_comparison(&repository.latest()).unwrap();
        let values: Vec<f64> =
            base.cases[0].metrics[0].processes.iter().map(|process| process.values[0]).collect();
        let widest = values.iter().fold(0.0, |most: f64, value| most.max(value / values[0]));
        let narrowest = values.iter().fold(f64::MAX, |least, value| least.min(value / values[0]));
        assert!(widest / narrowest > 1.03, "{trick}: {values:?}");
    }
}

#[test]
fn a_benchmark_that_keeps_its_results_between_processes_proves_nothing() {
    let repository = Repository::with_change(1.1);
    let ran = repository.compare_under("cache", "HEAD~1..HEAD").exits(3);
    ran.says("gave the very same numbers: they come from a cache");
    assert_eq!(repository.verdict().counts[&Verdict::Inconclusive], CASES as u32);
}

#[test]
fn killed_at_any_round_and_resumed_it_says_what_it_would_have_said() {
    let whole = Repository::with_change(1.025);
    whole.compare("HEAD~1..HEAD --order-seed 5").exits(1);
    let expected = whole.verdict();
    for processes in [2, 7, 19, 25, 30] {
        let repository = Repository::with_change(1.025);
        let mut child = command(repository.root(), "compare HEAD~1..HEAD --coin 5 --quiet")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("enough processes", || {
            journal_lines(repository.root()) >= processes || child.try_wait().unwrap().is_some()
        });
        child.kill().unwrap();
        child.wait().unwrap();
        repository.compare("--resume").exits(1);
        let document = repository.verdict();
        assert_eq!(verdicts(&document), verdicts(&expected), "killed after {processes} processes");
        let figures = |document: &VerdictDocument| row(document, "c2").sequence.clone();
        assert_eq!(figures(&document), figures(&expected), "killed after {processes} processes");
    }
}

/// Lines of the head's journal, or none.
fn journal_lines(root: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(root.join("artifacts")) else { return 0 };
    let journals = entries.flatten().map(|entry| entry.path().join("head/results/journal.jsonl"));
    journals
        .filter_map(|path| std::fs::read(path).ok())
        .map(|bytes| bytes.iter().filter(|byte| **byte == b'\n').count())
        .sum()
}

#[test]
fn a_budget_ends_the_rounds_and_what_is_open_can_be_resumed() {
    let repository = Repository::with_change(1.025);
    // Enough for a case or two: whatever the machine, a screen of all takes longer.
    let ran = repository.compare("HEAD~1..HEAD --budget 100ms --monitor-interval 50ms --no-lock").exits(3);
    let ran = ran.says("resume gbench-ci compare --resume").says("the budget was spent");
    ran.says("--monitor-interval 50ms --no-lock");
    assert!(repository.verdict().rows.iter().all(|row| row.verdict == Verdict::Inconclusive));
    repository.compare("--resume").exits(1).says("s/c2");
    let (base, ..) = read_comparison(&repository.latest()).unwrap();
    assert!(base.warnings.iter().any(|warning| warning.starts_with("resumed at")), "{:?}", base.warnings);
}

#[test]
fn a_comparison_that_ended_before_its_first_round_is_not_taken_for_an_older_one() {
    let repository = Repository::with_change(1.05);
    repository.compare("HEAD~1..HEAD").exits(1);
    let older = repository.latest();
    let suite = std::fs::read_to_string(repository.root().join("gbench.toml")).unwrap();
    for text in ["no suite file", &suite] {
        repository.write("gbench.toml", text);
        repository.commit("next");
    }
    // Its head cannot be read: that is known before anything is measured.
    repository.compare("HEAD~2..HEAD~1").exits(2);
    let refused = repository.compare("--resume").exits(2);
    let refused = refused.says("the comparison that was begun last ended before anything was measured");
    refused.says("gbench-ci compare HEAD~2..HEAD~1");
    assert_eq!(repository.latest(), older);
    // By its name the older one can be gone on with.
    let id = older.file_name().unwrap().to_str().unwrap().to_owned();
    repository.compare(&format!("--resume {id}")).exits(1);
    repository.compare("HEAD~3..HEAD~2").exits(1);
    repository.compare("--resume").exits(1);
}

#[test]
fn a_working_tree_that_has_changed_is_not_gone_on_with() {
    let repository = Repository::new();
    repository.work(&[1.05, 1.0, 1.0, 1.0, 1.0, 1.0]);
    repository.compare("main --budget 100ms").exits(3);
    repository.write("note", "another file\n");
    repository.compare("--resume").exits(2).says("files have changed since");
    std::fs::remove_file(repository.root().join("note")).unwrap();
    repository.compare("--resume").exits(1).says("s/c0");
}

#[test]
fn a_change_cannot_loosen_its_own_gate() {
    let repository = Repository::with_change(1.03);
    repository
        .write("gbench.toml", &suite(CASES).replace("[gate]", "[gate]\nalpha = 1e-30\nfailed = \"pass\""));
    repository.commit("third");
    repository.compare("HEAD~2..HEAD").exits(1);
    assert_eq!(repository.verdict().method.alpha, 0.01);
}

#[test]
fn nor_the_limits_by_which_its_cases_are_judged() {
    let repository = Repository::with_change(1.03);
    let loose = "[[gate.rule]]\ntarget = \"90%\"\nmin_effect = \"90%\"\n\n[[benchmark]]";
    let suite = suite(CASES).replacen("[gate]", "[gate]\nrounds = 4", 1).replacen("[[benchmark]]", loose, 1);
    repository.write("gbench.toml", &suite);
    repository.commit("third");
    repository.compare("HEAD~2..HEAD").exits(1).says("s/c2");
}

#[test]
fn what_was_begun_is_gone_on_with_as_it_was_begun() {
    let repository = Repository::with_change(1.025);
    repository.compare("HEAD~1..HEAD --budget 100ms --fail-inconclusive --order-seed 5").exits(3);
    for (flag, words) in [
        ("--order-seed 6", "--order-seed"),
        ("--interleave lockstep", "--interleave"),
        ("--threshold 50%", "--threshold"),
        ("--iterations 77", "`iterations` of s/c0 was 30 and is 77"),
        ("--benchmark s/c1", "it has other cases"),
    ] {
        repository.compare(&format!("--resume {flag}")).exits(2).says(words);
    }
    repository.compare("--resume --order-seed 5").exits(1);
    let (base, ..) = read_comparison(&repository.latest()).unwrap();
    assert!(base.comparison.unwrap().policy.inconclusive_fails);
}

#[test]
fn b5_a_comparison_in_which_a_side_cannot_be_built_is_never_green() {
    let broken = |text: &str| {
        suite(CASES).replace("extract =", &format!("build = {{ shell = \"{text}\" }}\nextract ="))
    };
    // A case that head mends, or that was broken before, is not a failure of head, but nothing is decided.
    for (base, head, code) in [("exit 7", "true", 3), ("true", "exit 7", 4), ("exit 7", "exit 7", 3)] {
        let repository = Repository::new();
        repository.write("gbench.toml", &broken(base));
        repository.commit("second");
        repository.write("gbench.toml", &broken(head));
        repository.write("note", "a change\n");
        repository.commit("third");
        let ran = repository.compare("HEAD~1..HEAD").exits(code);
        ran.says("the build step ended with exit code 7");
        assert_eq!(repository.verdict().counts.contains_key(&Verdict::Mended), head == "true");
        assert_eq!(repository.verdict().counts.contains_key(&Verdict::Broken), base == head);
    }
}

#[test]
fn nothing_in_common_is_never_green() {
    let repository = Repository::new();
    repository.write("gbench.toml", &suite(CASES).replace("id = \"c", "id = \"other_c"));
    repository.commit("second");
    repository.compare("HEAD~1..HEAD").exits(4);
    assert_eq!(repository.verdict().counts[&Verdict::Missing], CASES as u32);

    let fresh = Repository::new();
    fresh.git(&["checkout", "--quiet", "--orphan", "bare"]);
    fresh.git(&["rm", "--quiet", "--force", "gbench.toml"]);
    fresh.commit("nothing to measure");
    fresh.git(&["checkout", "--quiet", "main"]);
    fresh.compare("bare..main").exits(4).says("the base has no suite file yet");
}

#[test]
fn words_that_mean_nothing_are_refused() {
    let repository = Repository::new();
    repository.compare("nowhere..HEAD").exits(2).says("nowhere");
    repository.compare("main..HEAD --budget soon").exits(2).says("--budget");
    repository.compare("main..HEAD --resume").exits(2).says("take the range out");
    repository.compare("--resume").exits(2).says("no comparison in rounds is kept here");
    repository
        .compare("a.json b.json --rounds 50")
        .exits(2)
        .says("it only applies when two commits are compared");
    repository.compare("main..HEAD --way sideways").exits(2);
}
