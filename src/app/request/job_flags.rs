//! The flags of a measuring job in its `job.json`: what a reader types next to the two commits to measure the same.

use std::path::Path;

use super::RunRequest;
use super::profile::ProfileRequest;
use crate::app::paths::below_current_folder;
use crate::model::{is_unseen, shell_word};
use crate::suite::FILE_NAME;

const OF_A_JOB: [&str; 19] = [
    "--config",
    "--benchmark",
    "--suite",
    "--component",
    "--tag",
    "--exclude",
    "--param",
    "--target",
    "--iterations",
    "--warmup",
    "--duration",
    "--burnin-seconds",
    "--timeout-multiplier",
    "--threshold",
    "--seed",
    "--preset",
    "--timing-mode",
    "--profile",
    "--profile-metrics",
];
const WITHOUT_VALUE: [&str; 3] = ["--cold-start", "--reproducible", "--check-determinism"];

/// Bytes of all flags of a job that are shown.
const MAX_SHOWN: usize = 1000;

/// The flags of a job in words for its `job.json`: a reader types them next to the two commits. The shard is
/// listed there separately, and the usual suite file is not named.
pub(crate) fn job_flags(
    RunRequest { selection, settings, .. }: &RunRequest,
    profile: &ProfileRequest,
) -> Vec<String> {
    let config = selection.config.as_deref().map(below_current_folder);
    let config = config.filter(|path| *path != Path::new(FILE_NAME));
    let config = config.map(|path| format!("--config={}", path.display()));
    let of_profile = profile.given();
    let given = settings.given.iter().chain(&selection.given).chain(&of_profile);
    let given = given.map(|(flag, value)| format!("{flag}={value}"));
    let bare = settings.without_value().map(str::to_owned);
    config.into_iter().chain(given).chain(bare).collect()
}

/// True if a word of an untrusted `job.json` is one of [`job_flags`].
pub(crate) fn is_job_flag(word: &str) -> bool {
    let (flag, value) = word.split_once('=').unwrap_or((word, ""));
    let known = if value.is_empty() { WITHOUT_VALUE.contains(&word) } else { OF_A_JOB.contains(&flag) };
    known && !value.chars().any(|c| c.is_control() || is_unseen(c))
}

/// [`job_flags`] for a shell, with a blank before each; nothing of more than a reader would copy.
pub(crate) fn shell_job_flags(words: &[String]) -> String {
    let shown = |word: &String| match word.split_once('=') {
        Some((flag, value)) => format!(" {flag} {}", shell_word(value)),
        None => format!(" {word}"),
    };
    let all: String = words.iter().filter(|word| is_job_flag(word)).map(shown).collect();
    if all.len() <= MAX_SHOWN { all } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::request::{SelectionRequest, SettingsRequest};
    use crate::model::Profiler;

    #[test]
    fn n17_words_of_a_job_can_be_pasted_and_no_others_are_known() {
        let selection = SelectionRequest {
            config: Some("bench/my suite.toml".into()),
            given: vec![("--benchmark", "k/*".into())],
            shard: Some(crate::model::Shard { index: 2, of: 3 }),
            ..SelectionRequest::default()
        };
        let given = vec![("--iterations", "30".into())];
        let settings = SettingsRequest { given, bare: vec!["--cold-start"], ..SettingsRequest::default() };
        let profile =
            ProfileRequest { profilers: Some(vec![Profiler::Ncu, Profiler::Nsys]), ..Default::default() };
        let words = job_flags(&RunRequest { selection, settings, ..RunRequest::default() }, &profile);
        assert_eq!(
            words,
            [
                "--config=bench/my suite.toml",
                "--iterations=30",
                "--benchmark=k/*",
                "--profile=ncu,nsys",
                "--cold-start"
            ]
        );
        assert!(words.iter().all(|word| is_job_flag(word)));
        let shown = shell_job_flags(&words);
        assert_eq!(
            shown,
            " --config 'bench/my suite.toml' --iterations 30 --benchmark 'k/*' --profile ncu,nsys --cold-start"
        );
        let selection = SelectionRequest::of_file(Some("gbench.toml".into()));
        assert!(
            job_flags(&RunRequest { selection, ..RunRequest::default() }, &ProfileRequest::default())
                .is_empty()
        );
        for odd in [
            "",
            "x",
            "; rm -rf /",
            "--resume=x",
            "--benchmark",
            "--cold-start=1",
            "--tag=a\nb",
            "--tag=\u{202e}",
        ] {
            assert!(!is_job_flag(odd) && shell_job_flags(&[odd.into()]).is_empty(), "{odd}");
        }
    }
}
