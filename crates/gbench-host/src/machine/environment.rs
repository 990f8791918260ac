//! The environment variables that explain a number later: the devices and threads available to a program, and the job.
//! This is an allow-list, so that unknown secrets are never recorded. `PATH` is not on it: the record lists the tools
//! found there, and the rest only reveals the user.

use std::collections::BTreeMap;

use gbench_model::looks_secret;

const NAMES: [&str; 34] = [
    "CI",
    "GITHUB_ACTIONS",
    "GITHUB_BASE_REF",
    "GITHUB_EVENT_NAME",
    "GITHUB_HEAD_REF",
    "GITHUB_JOB",
    "GITHUB_REF",
    "GITHUB_REPOSITORY",
    "GITHUB_RUN_ATTEMPT",
    "GITHUB_RUN_ID",
    "GITHUB_SERVER_URL",
    "GITHUB_SHA",
    "GITHUB_WORKFLOW",
    "GITLAB_CI",
    "CI_COMMIT_SHA",
    "CI_COMMIT_REF_NAME",
    "CI_JOB_ID",
    "CI_PIPELINE_ID",
    "BUILDKITE_BUILD_NUMBER",
    "BUILDKITE_COMMIT",
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "MALLOC_ARENA_MAX",
    "PYTHONHASHSEED",
    "PYTHONPATH",
    "RUNNER_ARCH",
    "RUNNER_ENVIRONMENT",
    "RUNNER_NAME",
    "RUNNER_OS",
    "SLURM_JOB_ID",
    "SLURM_JOB_PARTITION",
    "VIRTUAL_ENV",
];

const PREFIXES: [&str; 11] = [
    "CUBLAS_",
    "CUDA_",
    "CUDNN_",
    "MKL_",
    "NCCL_",
    "NVIDIA_",
    "OMP_",
    "OPENBLAS_",
    "PYTORCH_",
    "TORCH",
    "TRITON_",
];

/// A list of requirements or a search path can be long; its beginning is informative enough.
const LONGEST_VALUE: usize = 4096;

/// The variables of `all` that a record may contain, truncated, and with passwords removed from addresses.
pub(super) fn allowed(all: impl Iterator<Item = (String, String)>) -> BTreeMap<String, String> {
    all.filter(|(name, _)| is_allowed(name)).map(|(name, value)| (name, cleaned(&value))).collect()
}

/// A secret's name is excluded even if it begins like an allowed one: `CUDA_LICENSE_KEY`.
fn is_allowed(name: &str) -> bool {
    let listed = NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    listed && !looks_secret(name)
}

fn cleaned(value: &str) -> String {
    let mut text = without_passwords(value);
    if text.len() > LONGEST_VALUE {
        let end = (0..=LONGEST_VALUE).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

/// `https://user:password@host` without the part before the `@`.
fn without_passwords(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(scheme) = rest.find("://") {
        let (before, after) = rest.split_at(scheme + "://".len());
        text.push_str(before);
        let authority = after.find(['/', '?', '#', ' ', ',']).unwrap_or(after.len());
        rest = match after[..authority].rfind('@') {
            Some(at) => &after[at..],
            None => after,
        };
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use case_files::Given;

    pub(in crate::machine) fn answer(given: &Given) -> String {
        let text = given.text();
        let variables = text.lines().map(|line| line.split_once('=').unwrap());
        let kept = allowed(variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let kept: String = kept.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        if kept.is_empty() { "nothing".into() } else { kept }
    }

    #[test]
    fn a_long_value_is_cut_between_characters() {
        let kept = allowed([("PYTHONPATH".to_owned(), "é".repeat(4000))].into_iter());
        assert!(kept["PYTHONPATH"].len() <= LONGEST_VALUE + 3 && kept["PYTHONPATH"].ends_with('…'));
    }
}
