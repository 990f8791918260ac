//! The jobs of a matrix of GitHub Actions: machines times shards.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

use crate::model::{Fault, Result, Shard};

/// Jobs that GitHub runs of one matrix.
const MAX_JOBS: usize = 256;

#[derive(Serialize)]
pub struct JobMatrix {
    include: Vec<MatrixJob>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct MatrixJob {
    label: String,
    runner: Vec<String>,
    shard: String,
}

impl JobMatrix {
    /// `machines`: NAME=LABELS each; without any one machine without a name, on `self-hosted`.
    pub fn new(machines: &[String], shards: u32) -> Result<Self> {
        Ok(Self { include: entries(machines, shards)? })
    }

    /// One line of JSON for `strategy.matrix`.
    pub fn json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Fault::defect("matrix", error))
    }
}

fn entries(named: &[String], shards: u32) -> Result<Vec<MatrixJob>> {
    let mut machines: Vec<(String, Vec<String>)> = Vec::new();
    for text in named {
        let machine = machine(text)?;
        if machines.iter().any(|(name, _)| *name == machine.0) {
            let next = "give each machine a name of its own";
            return Err(Fault::at_flag(format!("--machine {text}"), "the name is given twice", next));
        }
        machines.push(machine);
    }
    if machines.is_empty() {
        machines.push((String::new(), vec!["self-hosted".into()]));
    }
    let jobs = machines.len() * shards as usize;
    if jobs > MAX_JOBS {
        let what = format!("{} machines times {shards} shards are {jobs} jobs", machines.len());
        let next = format!("GitHub runs at most {MAX_JOBS} jobs of a matrix: ask for fewer shards");
        return Err(Fault::at_flag("--shards", what, next));
    }
    let entry = |(label, runner): &(String, Vec<String>), index| MatrixJob {
        label: label.clone(),
        runner: runner.clone(),
        shard: Shard { index, of: shards }.to_string(),
    };
    Ok(machines.iter().flat_map(|machine| (1..=shards).map(move |index| entry(machine, index))).collect())
}

/// `h100=self-hosted,gpu,h100`.
fn machine(text: &str) -> Result<(String, Vec<String>)> {
    let fault = |what: String| {
        let next = "write it as h100=self-hosted,gpu,h100: letters, digits, `-`, `_` and `.`";
        Fault::at_flag(format!("--machine {text}"), what, next)
    };
    let (name, runner) = text.split_once('=').ok_or_else(|| fault("it names no runner".into()))?;
    let runner: Vec<String> = runner.split(',').map(|label| label.trim().to_owned()).collect();
    let words = std::iter::once(name).chain(runner.iter().map(String::as_str));
    match words.into_iter().find(|word| !is_label(word)) {
        Some(word) => Err(fault(format!("`{word}` is no label"))),
        None => Ok((name.to_owned(), runner)),
    }
}

/// Whether runners and artifacts alike may be called so.
fn is_label(word: &str) -> bool {
    (1..=64).contains(&word.len()) && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// Appends `NAME=VALUE` to the step's outputs. The value is one line, by construction of JSON.
pub fn set_output(name: &str, value: &str) -> Result<()> {
    let flag = format!("--output {name}");
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !name.starts_with(first) || !name.chars().all(plain) {
        let next = "use letters, digits, `-` and `_`, a letter first";
        return Err(Fault::at_flag(flag, "an output cannot be called so", next));
    }
    let Some(file) = std::env::var_os("GITHUB_OUTPUT").filter(|file| !file.is_empty()) else {
        let next = "use it in a step of a workflow; elsewhere take the flag out";
        return Err(Fault::at_flag(flag, "GITHUB_OUTPUT is not set: there is no step to have outputs", next));
    };
    let file = Path::new(&file);
    let opened = std::fs::File::options().append(true).create(true).open(file);
    let written = opened.and_then(|mut file| writeln!(file, "{name}={value}"));
    written.map_err(|error| {
        Fault::at_path(file, format!("cannot be written: {error}"), "make it writable").caused_by(&error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Exit;

    fn of(labels: &[&str], shards: u32) -> Result<Vec<MatrixJob>> {
        entries(&labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>(), shards)
    }

    #[test]
    fn every_machine_runs_every_shard() {
        let found = of(&["h100=self-hosted,gpu,h100", "a100=a100"], 2).unwrap();
        let shown: Vec<String> = found
            .iter()
            .map(|entry| format!("{} {} {}", entry.label, entry.runner.join("+"), entry.shard))
            .collect();
        assert_eq!(
            shown,
            [
                "h100 self-hosted+gpu+h100 1/2",
                "h100 self-hosted+gpu+h100 2/2",
                "a100 a100 1/2",
                "a100 a100 2/2"
            ]
        );
        assert_eq!(of(&[], 1).unwrap()[0].runner, ["self-hosted"]);
        assert!(found.iter().all(|entry| entry.shard.parse::<Shard>().is_ok()));
    }

    #[test]
    fn what_no_runner_can_be_called_is_refused() {
        for wrong in
            ["h100", "h100=", "=x", "h 100=x", "h100=a,,b", "h100=${{ x }}", "h100=a\nb", "h\"=x", "ü=x"]
        {
            let fault = of(&[wrong], 1).unwrap_err();
            assert!(fault.exit == Exit::Usage && !fault.next.is_empty(), "{wrong}");
        }
        assert!(of(&["a=x", "a=y"], 1).unwrap_err().what.contains("twice"));
    }

    #[test]
    fn more_jobs_than_github_runs_are_refused() {
        assert_eq!(of(&["a=x", "b=x"], 128).unwrap().len(), 256);
        assert!(of(&["a=x", "b=x"], 129).unwrap_err().what.contains("258 jobs"));
    }
}
