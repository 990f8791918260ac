//! The binary as a user runs it: a folder, a line of arguments, and what came of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use gbench_ci::model::RunRecord;

use super::gate;

/// How one call ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Panics with everything that was said unless the exit code is this one.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Panics unless standard output or standard error holds the words; both are wrapped at some width.
    #[track_caller]
    pub fn says(self, words: &str) -> Self {
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let found = [&self.out, &self.err].into_iter().any(|text| flat(text).contains(words));
        assert!(found, "`{words}` in\nstdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }
}

/// The command, free of what the caller's terminal and environment would change.
pub fn command(folder: &Path, line: &str) -> Command {
    let mut command = gate();
    command.args(line.split_whitespace()).current_dir(folder).env("LC_ALL", "C.UTF-8");
    for name in ["COLUMNS", "NO_COLOR", "RUST_BACKTRACE"] {
        command.env_remove(name);
    }
    command
}

/// Runs `gbench-ci LINE` in a folder; the line is split at blanks.
pub fn ran(folder: &Path, line: &str) -> Ran {
    ended(command(folder, line))
}

/// Runs a prepared command to its end.
pub fn ended(mut command: Command) -> Ran {
    let output = command.output().expect("the binary starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the output is UTF-8");
    let code = output.status.code().expect("it ends by itself");
    let ran = Ran { code, out: text(output.stdout), err: text(output.stderr) };
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    ran
}

/// The folders of the runs in `artifacts`, oldest first.
pub fn runs(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.join("artifacts")).expect("something has run");
    let mut runs: Vec<_> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    runs.sort();
    runs
}

/// The record of the newest run in `artifacts`.
pub fn newest(folder: &Path) -> RunRecord {
    let path = runs(folder).pop().expect("something has run").join("results/record.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("the run has a record")).expect("it is one")
}

/// What one process of a case printed in the newest run; `case` is its number in the record.
pub fn stdout_of(folder: &Path, case: usize, process: u32) -> String {
    let logs = runs(folder).pop().expect("something has run").join("logs");
    let (start, end) = (format!("{case:03}-"), format!(".{process}.stdout.log"));
    let names =
        std::fs::read_dir(&logs).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let name = names.into_iter().find(|name| name.starts_with(&start) && name.ends_with(&end));
    std::fs::read_to_string(logs.join(name.expect("it printed something"))).unwrap()
}

/// Writes a record for the binary to read.
pub fn write(folder: &Path, name: &str, record: &RunRecord) {
    std::fs::write(folder.join(name), serde_json::to_string(record).unwrap()).unwrap();
}
