//! `gbench-ci compare BASE..HEAD` in lock-step and with shared processes, from a real repository to the verdict. The
//! programs are real processes that speak the protocol; their times are made up, so that every run sees the same numbers.

use std::path::{Path, PathBuf};
use std::process::Command;

use gbench_ci::compare::{Row, Verdict, VerdictDocument};
use gbench_ci::model::{Interleaving, Outcome, RunRecord};
use gbench_ci::store::{latest_comparison, read_comparison};
use tempfile::TempDir;

use crate::support::cli::{Ran, ran};

/// `$1` names the case where the process has one; one that is shared takes its cases from the request. The file `work` has
/// what each costs, and a case that is not in it is a crash. Waits for its turns where it is asked to take any.
const BENCH: &str = r#"
set -eu
rest=${GBENCH_REQUEST#*'"process":'}
process=${rest%%[!0-9]*}
side=${PWD##*/}
say() { printf '%s\n' "$1" >> "$GBENCH_EVENTS"; }
measure() {
    work=
    while read -r name cost; do [ "$name" != "$1" ] || work=$cost; done < work
    [ -n "$work" ] || exit 7
    say '{"event":"stage","stage":"measure"}'
    if [ -n "${GBENCH_TURNS:-}" ]; then
        say '{"event":"yield"}'
        while read -r turn; do say '{"event":"yield"}'; done < "$GBENCH_TURNS"
    fi
    times=$(awk -v process="$process" -v side="$side" -v work="$work" -v name="$1" '
        BEGIN {
            srand(process * 7919 + (side == "head" ? 104729 : 0) + substr(name, 2) * 1299709)
            for (i = 0; i < 20; i++) rand()
            time = 0.001 * work * (1 + 0.004 * (rand() + rand() + rand() - 1.5))
            for (i = 0; i < 12; i++) printf "%s%.12f", i ? "," : "", time * (1 + 0.001 * rand())
        }')
    say "{\"event\":\"samples\",\"values\":[$times]}"
}
case "$GBENCH_REQUEST" in
*'"cases":[{'*)
    echo "$side" >> "$STARTS"
    index=0
    for n in $(printf '%s' "$GBENCH_REQUEST" | sed 's/.*"cases"://' | grep -o '"n":[0-9]*' | cut -d: -f2); do
        say "{\"event\":\"case\",\"index\":$index}"
        measure "c$n"
        index=$((index + 1))
    done ;;
*) measure "${1:-c${GBENCH_PARAM_N:-0}}" ;;
esac
"#;

const TURNS: &str = "[suite]\nname = \"s\"\n[defaults]\ntiming = \"protocol\"\niterations = 12\n\
    [[benchmark]]\nid = \"c0\"\ncommand = [\"sh\", \"bench.sh\", \"c0\"]\nlockstep = true\n\
    [[benchmark]]\nid = \"c1\"\ncommand = [\"sh\", \"bench.sh\", \"c1\"]\nlockstep = true\n\
    [[benchmark]]\nid = \"c2\"\ncommand = [\"sh\", \"bench.sh\", \"c2\"]\n";

const SHARED: &str = "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"all\"\ncommand = [\"sh\", \"bench.sh\"]\n\
    timing = \"protocol\"\nshare = true\nmatrix.n = [0, 1, 2, 3]\n";

/// A repository of two commits: in the second the work of the cases is `work`.
struct Repository {
    folder: TempDir,
    /// Where shared processes write that they started.
    starts: TempDir,
}

impl Repository {
    fn new(suite: &str, work: &str) -> Self {
        Self::gated("", suite, work)
    }

    /// What else the machine does is not looked at: the times are made up.
    fn gated(gate: &str, suite: &str, work: &str) -> Self {
        let it = Self { folder: TempDir::new().unwrap(), starts: TempDir::new().unwrap() };
        it.git(&["init", "--quiet", "--initial-branch", "main"]);
        it.write("bench.sh", BENCH);
        let starts = it.starts();
        it.write(
            "gbench.toml",
            &format!(
                "[gate]\nwatch = false\nwritable = [\"{}\"]\n{gate}{suite}env.STARTS = \"{}\"\n",
                it.starts.path().display(),
                starts.display()
            ),
        );
        it.write("work", "c0 1\nc1 1\nc2 1\nc3 1\n");
        it.commit("first");
        it.write("work", work);
        it.write("note", "a change\n");
        it.commit("second");
        it
    }

    fn starts(&self) -> PathBuf {
        self.starts.path().join("starts")
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn git(&self, words: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Test", "-c", "user.email=test@example.invalid"]).args(words);
        let output = git.current_dir(self.root()).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.root().join(name), text).unwrap();
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    fn compare(&self, line: &str) -> Ran {
        ran(self.root(), &format!("compare {line} --quiet"))
    }

    fn latest(&self) -> PathBuf {
        latest_comparison(&self.root().join("artifacts")).expect("a comparison")
    }

    fn records(&self) -> (RunRecord, RunRecord, Option<RunRecord>) {
        read_comparison(&self.latest()).unwrap()
    }

    fn verdict(&self) -> VerdictDocument {
        let text = std::fs::read_to_string(self.latest().join("reports/verdict.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

fn row<'a>(document: &'a VerdictDocument, case: &str) -> &'a Row {
    document.rows.iter().find(|row| row.case.to_string().contains(case)).unwrap()
}

#[test]
fn in_lock_step_more_work_is_red_and_the_control_stays_quiet() {
    let repository = Repository::new(TURNS, "c0 1.03\nc1 1\nc2 1\n");
    repository
        .compare("HEAD~1..HEAD --interleave lockstep --controls 2")
        .exits(1)
        .says("s/c0")
        .says("lock-step");
    let document = repository.verdict();
    assert_eq!(row(&document, "s/c0").verdict, Verdict::Regressed);
    assert_eq!(document.counts[&Verdict::Unchanged], 2);
    let method = document.method.rounds.as_ref().unwrap();
    assert_eq!((method.way, method.flagged_controls.len()), (Interleaving::Lockstep, 0));
    let (base, head, control) = repository.records();
    for case in base.cases.iter().chain(&head.cases).chain(&control.unwrap().cases) {
        let takes_turns = case.id.benchmark.name() != "c2";
        assert!(case.processes.len() >= 3);
        assert!(case.processes.iter().all(|process| process.lockstep == takes_turns), "{}", case.id);
    }
    let slots: Vec<_> = head.cases[0].processes.iter().map(|process| process.slot).collect();
    let others = base.cases[0].processes.iter().map(|process| process.slot);
    assert!(slots.iter().zip(others).all(|(head, base)| *head != base));
    assert!(head.cases[2].warnings[0].contains("does not say `lockstep = true`"));
}

#[test]
fn the_way_is_the_gate_s_to_choose_and_alternating_by_itself() {
    let repository = Repository::new(TURNS, "c0 1\nc1 1\nc2 1\n");
    repository.compare("HEAD~1..HEAD --controls 0").exits(0);
    let (base, head, _) = repository.records();
    let alternate = |record: &RunRecord| {
        record.cases.iter().all(|case| case.processes.iter().all(|process| !process.lockstep))
    };
    assert!(alternate(&base) && alternate(&head));
    let repository = Repository::gated("way = \"lockstep\"\n", TURNS, "c0 1\nc1 1\nc2 1\n");
    repository.compare("HEAD~1..HEAD --controls 0").exits(0);
    let (base, ..) = repository.records();
    assert!(base.cases[0].processes.iter().all(|process| process.lockstep));
    repository.compare("HEAD~1..HEAD --controls 0 --interleave alternating").exits(0);
    assert!(alternate(&repository.records().0));
}

#[test]
fn a_side_that_crashes_in_its_turn_is_red_and_the_other_is_measured() {
    let repository = Repository::new(TURNS, "c1 1\nc2 1\n");
    repository.compare("HEAD~1..HEAD --interleave lockstep --controls 0").exits(4).says("exit code 7");
    let (base, head, _) = repository.records();
    assert_eq!((&base.cases[0].outcome, base.cases[0].processes.len()), (&Outcome::Measured, 1));
    assert!(head.cases[0].outcome.is_failure());
    assert_eq!(row(&repository.verdict(), "s/c0").verdict, Verdict::Invalid);
}

#[test]
fn one_process_a_side_measures_all_points_that_are_open() {
    let repository = Repository::new(SHARED, "c0 1\nc1 1.03\nc2 1\nc3 1\n");
    repository.compare("HEAD~1..HEAD --controls 0").exits(1).says("s/all");
    let document = repository.verdict();
    assert_eq!(row(&document, "n=1").verdict, Verdict::Regressed);
    assert_eq!(document.counts[&Verdict::Unchanged], 3);
    let (base, head, _) = repository.records();
    let rounds: Vec<_> = head.cases.iter().map(|case| case.processes.len()).collect();
    assert_eq!(rounds.iter().filter(|rounds| **rounds == 3).count(), 3, "{rounds:?}");
    // While all four were open, one process a side; the one that is left has processes of its own.
    let starts = std::fs::read_to_string(repository.starts()).unwrap();
    assert_eq!(starts.lines().count(), 2 * 3, "{starts}");
    for (one, other) in base.cases.iter().zip(&head.cases) {
        assert!(one.processes[0].peak_rss_bytes.is_none() && other.processes[0].cpu_seconds.is_none());
    }
}
