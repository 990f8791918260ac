//! The workflow templates, and what is filled into them: `__NAME__` stands for a value, and lines between `#? word` and
//! `#? end` are there only where the word holds. The templates are workflows as they read on GitHub, and every action in
//! them is pinned here, once.

use super::action::ActionRef;
use super::machines::{Part, labels_as_yaml, parts_as_yaml, word_as_yaml};

const PULL_REQUEST: &str = include_str!("workflows/pull-request.yml");
const PULL_REQUEST_MATRIX: &str = include_str!("workflows/pull-request-matrix.yml");
const REPORT: &str = include_str!("workflows/report.yml");
const NIGHTLY: &str = include_str!("workflows/nightly.yml");

const CHECKOUT: &str = "actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2";
const UPLOAD: &str = "actions/upload-artifact@043fb46d1a93c77aae656e7c1c64a875d1fc6a0a # v7.0.1";
const DOWNLOAD: &str = "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1";

/// What to do with pull requests of forks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Forks {
    /// Nothing of theirs runs on the runner
    #[default]
    Refuse,
    /// Their code runs on the runner: only for machines that are thrown away after each job
    Allow,
}

/// What the workflows of one repository differ in from those of another.
pub struct Facts {
    pub action: ActionRef,
    /// Path of the suite file from the repository's root.
    pub suite: String,
    pub forks: Forks,
    /// The measuring jobs, at least one.
    pub parts: Vec<Part>,
}

/// The files to write: paths from the repository's root, and their text.
pub fn workflows(facts: &Facts) -> Vec<(&'static str, String)> {
    let pull_request = if facts.is_matrix() { PULL_REQUEST_MATRIX } else { PULL_REQUEST };
    let mut files = vec![
        (".github/workflows/gbench-pull-request.yml", fill(pull_request, facts)),
        (".github/workflows/gbench-nightly.yml", fill(NIGHTLY, facts)),
    ];
    // From the tree at hand the action could only be had by a checkout, which a report must not do.
    if !matches!(facts.action, ActionRef::Here) {
        files.push((".github/workflows/gbench-report.yml", fill(REPORT, facts)));
    }
    files.sort();
    files
}

impl Facts {
    fn is_matrix(&self) -> bool {
        self.parts.len() > 1
    }

    fn holds(&self, word: &str) -> bool {
        match word {
            "matrix" => self.is_matrix(),
            "single" => !self.is_matrix(),
            // The only machine, and it has a name.
            "named" => matches!(&self.parts[..], [part] if !part.label.is_empty()),
            "refuse" => self.forks == Forks::Refuse,
            "allow" => self.forks == Forks::Allow,
            "local" => matches!(self.action, ActionRef::Here),
            _ => !matches!(self.action, ActionRef::Here),
        }
    }

    fn value(&self, name: &str) -> String {
        match name {
            "__ACTION__" => self.action.to_string(),
            "__CHECKOUT__" => CHECKOUT.into(),
            "__DOWNLOAD__" => DOWNLOAD.into(),
            "__INCLUDE__" => parts_as_yaml(&self.parts),
            "__LABEL__" => self.parts.first().map(|part| word_as_yaml(&part.label)).unwrap_or_default(),
            "__NOTE__" => {
                match self.parts.iter().any(|part| part.runner.iter().any(|label| label == "self-hosted")) {
                    true => " # zizmor: ignore[self-hosted-runner] the GPU is there; keep it for this alone"
                        .into(),
                    false => String::new(),
                }
            }
            "__PARTS__" => self.parts.len().to_string(),
            "__RUNNER__" => self.parts.first().map(|part| labels_as_yaml(&part.runner)).unwrap_or_default(),
            "__SUITE__" => self.suite.clone(),
            _ => UPLOAD.into(),
        }
    }
}

const NAMES: [&str; 10] = [
    "__ACTION__",
    "__CHECKOUT__",
    "__DOWNLOAD__",
    "__INCLUDE__",
    "__LABEL__",
    "__NOTE__",
    "__PARTS__",
    "__RUNNER__",
    "__SUITE__",
    "__UPLOAD__",
];

fn fill(template: &str, facts: &Facts) -> String {
    let mut text = String::new();
    let mut shown = true;
    for line in template.lines() {
        match line.trim_start().strip_prefix("#? ") {
            Some("end") => shown = true,
            Some(word) => shown = facts.holds(word),
            None if shown => text += &filled_line(line, facts),
            None => {}
        }
    }
    text
}

/// A value of several lines keeps the indentation of the line that it stands in.
fn filled_line(line: &str, facts: &Facts) -> String {
    let indent = &line[..line.len() - line.trim_start().len()];
    let mut line = line.to_owned();
    for name in NAMES {
        if line.contains(name) {
            line = line.replace(name, &facts.value(name).replace('\n', &format!("\n{indent}")));
        }
    }
    line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::init::machines::{parts, runner_labels};

    fn facts(action: ActionRef, runner: &str, shards: u32) -> Facts {
        let runner = runner_labels(runner).unwrap();
        Facts {
            action,
            suite: "gbench.toml".into(),
            forks: Forks::Refuse,
            parts: parts(&runner, &[], shards).unwrap(),
        }
    }

    #[test]
    fn every_placeholder_and_every_condition_is_known() {
        for template in [PULL_REQUEST, PULL_REQUEST_MATRIX, REPORT, NIGHTLY] {
            let mut open = None;
            for line in template.lines() {
                match line.trim_start().strip_prefix("#? ") {
                    Some("end") => assert!(open.take().is_some(), "an end without a beginning"),
                    Some(word) => {
                        assert!(
                            ["matrix", "single", "named", "refuse", "allow", "local", "pinned"]
                                .contains(&word),
                            "{word}"
                        );
                        assert_eq!(open.replace(word), None, "conditions are not nested");
                    }
                    None => {}
                }
            }
            assert_eq!(open, None);
            for forks in [Forks::Refuse, Forks::Allow] {
                for shards in [1, 3] {
                    let facts = Facts { forks, ..facts(ActionRef::Here, "gpu", shards) };
                    let text = fill(template, &facts);
                    assert!(!text.contains("__") && !text.contains("#?"), "{text}");
                }
            }
        }
    }

    /// The project's own workflows are what its templates give, apart from the report: until there is a release to pin,
    /// that one builds gbench-ci in a job of its own.
    #[test]
    fn the_projects_own_workflows_come_from_the_templates() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let single = workflows(&facts(ActionRef::Here, "ubuntu-latest", 1)).remove(1);
        let shards = workflows(&facts(ActionRef::Here, "ubuntu-latest", 2)).remove(0);
        for (path, text) in [single, shards] {
            if std::env::var_os("UPDATE_WORKFLOWS").is_some() {
                std::fs::write(root.join(path), &text).unwrap();
            }
            let found = std::fs::read_to_string(root.join(path)).unwrap();
            assert!(found == text, "{path} differs from its template: run with UPDATE_WORKFLOWS=1");
        }
    }
}
