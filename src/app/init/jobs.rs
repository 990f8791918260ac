//! The measuring jobs: the runner of each, and the part of the suite that it takes.

use crate::model::{Fault, Result, Shard};

/// The labels of a runner where none are given.
pub const USUAL_LABELS: &str = "self-hosted, gpu";

/// One measuring job.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuringJob {
    /// Name of the machine among several; empty for the only one.
    pub label: String,
    pub runner: Vec<String>,
    pub shard: Option<Shard>,
}

/// The labels of a runner, from a list with commas, each once: to GitHub case does not matter in them.
pub fn runner_labels(text: &str) -> Result<Vec<String>> {
    let mut labels: Vec<String> = Vec::new();
    for label in text.split(',').map(str::trim) {
        if !labels.iter().any(|earlier| earlier.eq_ignore_ascii_case(label)) {
            labels.push(label.to_owned());
        }
    }
    match labels.iter().find(|label| !is_word(label)) {
        Some(wrong) => Err(Fault::at_flag(
            format!("--runner {text}"),
            format!("`{}` is no label of a runner", wrong.escape_debug()),
            "write the labels with commas between, each of letters, digits, `.`, `_` and `-`",
        )),
        None => Ok(labels),
    }
}

fn is_word(text: &str) -> bool {
    text.len() <= 100
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

/// Every machine times every shard. `named` are written `NAME=LABELS`; without them the one runner is meant.
pub fn jobs(runner: &[String], named: &[String], shards: u32) -> Result<Vec<MeasuringJob>> {
    let mut machines = Vec::new();
    for text in named {
        machines.push(machine(text)?);
    }
    if let Some((name, _)) = machines
        .iter()
        .enumerate()
        .find_map(|(at, machine)| machines[..at].iter().find(|(earlier, _)| *earlier == machine.0))
    {
        return Err(Fault::at_flag(
            format!("--machine {name}=…"),
            "two machines have this name",
            "give each a name of its own: it stands in the check and in the comment",
        ));
    }
    if machines.is_empty() {
        machines.push((String::new(), runner.to_vec()));
    }
    if machines.len() * shards as usize > Shard::MOST as usize {
        return Err(Fault::at_flag(
            format!("--shards {shards}"),
            format!("{} machines with {shards} shards each are too many jobs", machines.len()),
            format!("take fewer shards: GitHub runs at most {} jobs of a matrix", Shard::MOST),
        ));
    }
    let of_machine = |(label, runner): &(String, Vec<String>)| {
        let job = |shard| MeasuringJob { label: label.clone(), runner: runner.clone(), shard };
        match shards {
            0 | 1 => vec![job(None)],
            of => (1..=of).map(|index| job(Some(Shard { index, of }))).collect(),
        }
    };
    Ok(machines.iter().flat_map(of_machine).collect())
}

fn machine(text: &str) -> Result<(String, Vec<String>)> {
    let fault = |what: &str| {
        Fault::at_flag(
            format!("--machine {text}"),
            what,
            "write it as NAME=LABELS: `--machine h100=self-hosted,gpu,h100`",
        )
    };
    let (name, labels) = text.split_once('=').ok_or_else(|| fault("there is no `=` in it"))?;
    if !is_word(name) {
        return Err(fault("the name has other characters than letters, digits, `.`, `_` and `-`"));
    }
    let labels = runner_labels(labels).map_err(|other| fault(&other.what))?;
    Ok((name.to_owned(), labels))
}

/// The value of `runs-on`: one label by itself, or a list.
pub(super) fn labels_as_yaml(labels: &[String]) -> String {
    match labels {
        [only] => word_as_yaml(only),
        several => {
            let words: Vec<String> = several.iter().map(|label| word_as_yaml(label)).collect();
            format!("[{}]", words.join(", "))
        }
    }
}

/// The entries of `strategy.matrix.include`.
pub(super) fn jobs_as_yaml(jobs: &[MeasuringJob]) -> Vec<String> {
    let entry = |(number, job): (usize, &MeasuringJob)| {
        // Each entry has every key: the workflow names them all.
        let label = if job.label.is_empty() { "\"\"".into() } else { word_as_yaml(&job.label) };
        let shard = job.shard.map_or("\"\"".into(), |shard| shard.to_string());
        let runner = labels_as_yaml(&job.runner);
        format!("- {{ part: {number}, label: {label}, shard: {shard}, runner: {runner} }}")
    };
    jobs.iter().enumerate().map(entry).collect()
}

/// A word of [`is_word`] is plain in YAML unless it could be read as a number, a truth value or nothing.
pub(super) fn word_as_yaml(word: &str) -> String {
    const SPECIAL: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    let begins_plain = word.starts_with(|c: char| c.is_ascii_alphabetic());
    if begins_plain && !SPECIAL.contains(&word.to_ascii_lowercase().as_str()) {
        word.to_owned()
    } else {
        format!("\"{word}\"")
    }
}

/// Labels that actionlint has to be told of: those that neither GitHub nor a runner's own set-up gives.
pub(super) fn own_labels(jobs: &[MeasuringJob]) -> Vec<String> {
    const GIVEN: [&str; 9] =
        ["self-hosted", "linux", "x64", "arm64", "arm", "windows", "macos", "ubuntu-latest", "ubuntu-slim"];
    let mut labels: Vec<String> = jobs.iter().flat_map(|job| job.runner.clone()).collect();
    labels.retain(|label| !GIVEN.contains(&label.to_ascii_lowercase().as_str()));
    labels.sort();
    labels.dedup();
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_times_shards_are_the_jobs() {
        let gpus = ["h100=self-hosted,h100".to_owned(), "a100=self-hosted,a100".to_owned()];
        let found = jobs(&[], &gpus, 2).unwrap();
        assert_eq!(found.len(), 4);
        assert_eq!(
            jobs_as_yaml(&found).last().map(String::as_str),
            Some("- { part: 3, label: a100, shard: 2/2, runner: [self-hosted, a100] }")
        );
        assert_eq!(own_labels(&found), ["a100", "h100"]);
        let only = jobs(&["gpu".into()], &[], 1).unwrap();
        assert_eq!(only, [MeasuringJob { label: String::new(), runner: vec!["gpu".into()], shard: None }]);
    }

    #[test]
    fn a_label_can_be_nothing_else_in_yaml() {
        let labels = runner_labels("gpu, on, 8xh100,a.b_c-d").unwrap();
        assert_eq!(labels_as_yaml(&labels), "[gpu, \"on\", \"8xh100\", a.b_c-d]");
        assert_eq!(labels_as_yaml(&labels[..1]), "gpu");
        assert_eq!(runner_labels("gpu,GPU, gpu,h100").unwrap(), ["gpu", "h100"]);
        for wrong in ["", "gpu,", "a b", "${{ github.token }}", "x]\n  y: z", "-x", "é"] {
            assert!(runner_labels(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn machines_that_cannot_be_told_apart_or_are_too_many_are_refused() {
        for (gpus, shards) in [(&["a=x", "a=y"][..], 1), (&["a=x", "b=y"], 129), (&["a"], 1), (&["a b=x"], 1)]
        {
            let gpus: Vec<String> = gpus.iter().map(|gpu| (*gpu).to_owned()).collect();
            assert!(jobs(&["gpu".into()], &gpus, shards).is_err(), "{gpus:?}");
        }
    }
}
