//! The jobs of a matrix of GitHub Actions: machines times shards.

use std::io::Write;

use serde::Serialize;

use super::step_outputs;
use crate::model::{Fault, Result, Shard};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MeasuringJob {
    /// Name of the machine among several; empty for the only one.
    pub label: String,
    pub runner: Vec<String>,
    pub shard: Option<Shard>,
}

/// The labels of a runner, from a list with commas, each once: to GitHub case does not matter in them.
pub(crate) fn runner_labels(text: &str) -> Result<Vec<String>> {
    let mut labels: Vec<String> = Vec::new();
    for label in text.split(',').map(str::trim) {
        if !labels.iter().any(|earlier| earlier.eq_ignore_ascii_case(label)) {
            labels.push(label.to_owned());
        }
    }
    match labels.iter().find(|label| !is_word(label)) {
        None => Ok(labels),
        Some(wrong) => {
            let what = format!("`{}` is not a label of a runner", wrong.escape_debug());
            let next =
                "write the labels with commas between, each 1 to 100 letters, digits, `.`, `_` and `-`";
            Err(Fault::at_flag(format!("--runner {text}"), what, next))
        }
    }
}

fn is_word(text: &str) -> bool {
    (1..=100).contains(&text.len())
        && !text.starts_with(['.', '-'])
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

/// Every machine times every shard. `named` are written `NAME=LABELS`; without them the one runner is meant.
pub(crate) fn jobs(runner: &[String], named: &[String], shards: u32) -> Result<Vec<MeasuringJob>> {
    let mut machines: Vec<(String, Vec<String>)> = Vec::new();
    for text in named {
        let machine = machine(text)?;
        if machines.iter().any(|(name, _)| *name == machine.0) {
            let next = "give each machine its own name, which the check and the comment show";
            return Err(Fault::at_flag(format!("--machine {text}"), "two machines have this name", next));
        }
        machines.push(machine);
    }
    if machines.is_empty() {
        machines.push((String::new(), runner.to_vec()));
    }
    let jobs = machines.len() * shards as usize;
    if jobs > Shard::MAX as usize {
        let what = format!("{} machines times {shards} shards are {jobs} jobs", machines.len());
        let next = format!("take fewer shards: GitHub runs at most {} jobs of a matrix", Shard::MAX);
        return Err(Fault::at_flag(format!("--shards {shards}"), what, next));
    }
    let job = |(label, runner): &(String, Vec<String>), index| MeasuringJob {
        label: label.clone(),
        runner: runner.clone(),
        shard: (shards > 1).then_some(Shard { index, of: shards }),
    };
    Ok(machines.iter().flat_map(|machine| (1..=shards).map(move |index| job(machine, index))).collect())
}

/// The most shards of each of so many machines.
pub(crate) fn most_shards(machines: u32) -> u32 {
    (Shard::MAX / machines.max(1)).max(1)
}

fn machine(text: &str) -> Result<(String, Vec<String>)> {
    let fault = |what: &str| {
        let next = "write it as NAME=LABELS: `--machine h100=self-hosted,gpu,h100`";
        Fault::at_flag(format!("--machine {text}"), what, next)
    };
    let (name, labels) = text.split_once('=').ok_or_else(|| fault("there is no `=` in it"))?;
    if !is_word(name) {
        return Err(fault(
            "the name is not 1 to 100 letters, digits, `.`, `_` and `-`, and does not begin with `.` or `-`",
        ));
    }
    let labels = runner_labels(labels).map_err(|other| fault(&other.what))?;
    Ok((name.to_owned(), labels))
}

#[derive(Serialize)]
struct JobMatrix {
    include: Vec<MatrixJob>,
}

#[derive(Serialize)]
struct MatrixJob {
    label: String,
    runner: Vec<String>,
    shard: String,
}

/// The jobs as one line of JSON for `strategy.matrix`.
pub(crate) fn json(jobs: Vec<MeasuringJob>) -> Result<String> {
    let entry = |MeasuringJob { label, runner, shard }| {
        let shard = shard.unwrap_or(Shard { index: 1, of: 1 }).to_string();
        MatrixJob { label, runner, shard }
    };
    let matrix = JobMatrix { include: jobs.into_iter().map(entry).collect() };
    serde_json::to_string(&matrix).map_err(|error| Fault::defect("matrix", error))
}

/// Appends `NAME=VALUE` to the step's outputs. The value is one line, by construction of JSON.
pub(crate) fn set_output(name: &str, value: &str) -> Result<()> {
    let flag = format!("--output {name}");
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !name.starts_with(first) || !name.chars().all(plain) {
        let next = "use letters, digits, `-` and `_`, a letter first";
        return Err(Fault::at_flag(flag, "an output cannot be called so", next));
    }
    let Some(file) = step_outputs::file_of("GITHUB_OUTPUT") else {
        let next = "use it in a step of a workflow; elsewhere take the flag out";
        return Err(Fault::at_flag(flag, "GITHUB_OUTPUT is not set: there is no step to have outputs", next));
    };
    let opened = std::fs::File::options().append(true).create(true).open(&file);
    opened.and_then(|mut file| writeln!(file, "{name}={value}")).map_err(|error| {
        Fault::at_path(file, format!("cannot be written: {error}"), "make it writable").caused_by(&error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Exit;

    fn of(labels: &[&str], shards: u32) -> Result<Vec<MeasuringJob>> {
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        jobs(&["self-hosted".to_owned()], &labels, shards)
    }

    #[test]
    fn every_machine_runs_every_shard() {
        let found = of(&["h100=self-hosted,gpu,h100", "a100=a100"], 2).unwrap();
        let shown: Vec<String> = found
            .iter()
            .map(|job| format!("{} {} {}", job.label, job.runner.join("+"), job.shard.unwrap()))
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
        let text = json(of(&["a=x"], 1).unwrap()).unwrap();
        assert_eq!(text, r#"{"include":[{"label":"a","runner":["x"],"shard":"1/1"}]}"#);
    }

    #[test]
    fn what_no_runner_can_be_called_is_refused() {
        for wrong in
            ["h100", "h100=", "=x", "h 100=x", "h100=a,,b", "h100=${{ x }}", "h100=a\nb", "h\"=x", "ü=x"]
        {
            let fault = of(&[wrong], 1).unwrap_err();
            assert!(fault.exit == Exit::Usage && !fault.next.is_empty(), "{wrong}");
        }
        assert!(of(&["a=x", "a=y"], 1).unwrap_err().what.contains("have this name"));
    }

    #[test]
    fn more_jobs_than_github_runs_are_refused() {
        assert_eq!(of(&["a=x", "b=x"], 128).unwrap().len(), 256);
        assert!(of(&["a=x", "b=x"], 129).unwrap_err().what.contains("258 jobs"));
    }
}
