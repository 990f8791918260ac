//! The measuring jobs in YAML.

use crate::app::matrix::MeasuringJob;

/// The labels of a runner where none are given.
pub const USUAL_LABELS: &str = "self-hosted, gpu";

/// The value of `runs-on`: one label by itself, or a list.
pub(super) fn labels_as_yaml(labels: &[String]) -> String {
    let words: Vec<String> = labels.iter().map(|label| word_as_yaml(label)).collect();
    if let [only] = &words[..] { only.clone() } else { format!("[{}]", words.join(", ")) }
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

/// A label is plain in YAML unless it could be read as a number, a truth value or nothing.
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
    use crate::app::matrix::{jobs, runner_labels};

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
