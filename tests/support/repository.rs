//! A repository of two commits whose benchmarks print made-up times, for comparisons in rounds through the binary.

use std::path::{Path, PathBuf};
use std::process::Command;

use gbench_ci::compare::{Row, VerdictDocument};
use gbench_ci::model::{RunRecord, sha256_hex};
use gbench_ci::store::latest_comparison;
use tempfile::TempDir;

use super::cli::{Ran, command, ended, ran};

/// Prints twelve times around what the file `cost` says, by its case, side and process alone; then runs `more.sh`, where
/// that is there, which may print and send what it likes.
pub const BENCH: &str = r#"
set -eu
rest=${GBENCH_REQUEST#*'"process":'}
process=${rest%%[!0-9]*}
side=${PWD##*/}
read -r cost < cost
awk -v process="$process" -v side="$side" -v cost="$cost" -v name="$1" '
    BEGIN {
        srand(process * 7919 + (side == "head" ? 104729 : 0) + substr(name, 2) * 1299709)
        for (i = 0; i < 20; i++) rand()
        time = 0.001 * cost * (1 + 0.004 * (rand() + rand() + rand() - 1.5))
        for (i = 0; i < 12; i++) printf "time: %.12f\n", time * (1 + 0.001 * rand())
    }'
if [ -e more.sh ]; then . ./more.sh; fi
"#;

/// A suite of four such cases. `head`: what comes before the benchmarks; `each`: lines of every benchmark.
pub fn suite(head: &str, each: &str) -> String {
    let case = |case: usize| {
        format!(
            "[[benchmark]]\nid = \"c{case}\"\ncommand = [\"sh\", \"bench.sh\", \"c{case}\"]\n{each}\n\
             extract = [{{ metric = \"time\", unit = \"s\", regex = 'time: ([0-9.]+)' }}]\n\n"
        )
    };
    format!("[suite]\nname = \"s\"\n\n{head}\n\n{}", (0..4).map(case).collect::<String>())
}

/// Nothing that the machine does beside the tests is looked at.
pub const UNWATCHED: &str = "[gate]\nwatch = false\n";

pub struct Repository {
    pub folder: TempDir,
}

impl Repository {
    /// `first` and `second`: files of the two commits; the second changes the first.
    pub fn new(first: &[(&str, &str)], second: &[(&str, &str)]) -> Self {
        let it = Self { folder: TempDir::new().unwrap() };
        it.git(&["init", "--quiet", "--initial-branch", "main"]);
        it.commit(&[&[("bench.sh", BENCH), ("cost", "1\n")], first].concat());
        it.commit(&[&[("note", "a change\n")], second].concat());
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

    pub fn commit(&self, files: &[(&str, &str)]) {
        for (name, text) in files {
            std::fs::write(self.root().join(name), text).unwrap();
        }
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "a commit"]);
    }

    pub fn compare(&self, line: &str) -> Ran {
        ran(self.root(), &format!("compare {line} --quiet"))
    }

    pub fn compare_with(&self, line: &str, env: &[(&str, &str)]) -> Ran {
        let mut command = command(self.root(), &format!("compare {line} --quiet"));
        command.envs(env.iter().copied());
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

pub fn row<'a>(document: &'a VerdictDocument, name: &str, metric: &str) -> &'a Row {
    let mut rows = document.rows.iter();
    let found = rows.find(|row| row.case.benchmark.name() == name && row.metric == metric);
    found.unwrap_or_else(|| panic!("no row {name} {metric} in {:#?}", document.rows))
}

/// Changes a side's record as somebody would who knows of its fingerprint.
pub fn edit(folder: &Path, side: &str, change: impl FnOnce(&mut RunRecord)) {
    let results = folder.join(side).join("results");
    let path = results.join("record.json");
    let mut record: RunRecord = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut record);
    let bytes = serde_json::to_vec(&record).unwrap();
    std::fs::write(&path, &bytes).unwrap();
    std::fs::write(results.join("SHA256SUMS"), format!("{}  record.json\n", sha256_hex(&bytes))).unwrap();
}

/// Copies a folder with all below it.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}
