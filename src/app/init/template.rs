//! The workflow templates, and what is filled into them. The templates are workflows as they read on GitHub: a value is
//! between `[[` and `]]`, because GitHub has `{{` for itself, and a line that begins with `#?` is a statement of the template.
//! Every action in them is pinned here, once.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, context};

use super::action_ref::ActionRef;
use crate::app::github::matrix::MeasuringJob;
use crate::model::{Fault, Result};

const PULL_REQUEST: &str = include_str!("templates/pull-request.yml");
const PULL_REQUEST_MATRIX: &str = include_str!("templates/pull-request-matrix.yml");
const REPORT: &str = include_str!("templates/report.yml");
const ACCEPT: &str = include_str!("templates/accept.yml");
const NIGHTLY: &str = include_str!("templates/nightly.yml");
const PAGES: &str = include_str!("templates/pages.yml");
const BISECT: &str = include_str!("templates/bisect.yml");
const BUILD: &str = include_str!("templates/build.yml");

const CHECKOUT: &str = "actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2";
const UPLOAD: &str = "actions/upload-artifact@043fb46d1a93c77aae656e7c1c64a875d1fc6a0a # v7.0.1";
const DOWNLOAD: &str = "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1";
const UPLOAD_PAGES: &str = "actions/upload-pages-artifact@7b1f4a764d45c48632c6b24a0339c27f5614fb0b # v4.0.0";
const DEPLOY_PAGES: &str = "actions/deploy-pages@d6db90164ac5ed86f2b6aed7e0febac5b3c0c03e # v4.0.5";

const BRACKETS: (&str, &str) = ("[[", "]]");

const PAGES_ADDRESS: &str =
    "https://${{ github.repository_owner }}.github.io/${{ github.event.repository.name }}/";

/// The labels of a runner where none are given.
pub(crate) const USUAL_LABELS: &str = "self-hosted, gpu";

/// The differences between the workflows of one repository and those of another.
#[derive(Clone, Debug)]
pub(crate) struct WorkflowsRequest {
    pub action: ActionRef,
    pub allow_forks: bool,
    /// At least one.
    pub jobs: Vec<MeasuringJob>,
    /// Lines of shell that install what the benchmarks need.
    pub dependencies: Vec<String>,
    /// The history goes to GitHub Pages.
    pub pages: bool,
}

/// The files to write: paths from the repository's root, and their text.
/// `suite`: path of the suite file from there.
pub(super) fn workflows(request: &WorkflowsRequest, suite: &str) -> Result<Vec<(&'static str, String)>> {
    let pull_request = if request.jobs.len() > 1 { PULL_REQUEST_MATRIX } else { PULL_REQUEST };
    let mut files = vec![
        (".github/workflows/gbench-pull-request.yml", pull_request),
        (".github/workflows/gbench-nightly.yml", NIGHTLY),
        (".github/workflows/gbench-bisect.yml", BISECT),
    ];
    // The present tree's action needs a checkout, which a report must not do.
    if !matches!(request.action, ActionRef::Here) {
        files.push((".github/workflows/gbench-report.yml", REPORT));
        files.push((".github/workflows/gbench-accept.yml", ACCEPT));
    }
    if request.pages {
        files.push((".github/workflows/gbench-pages.yml", PAGES));
    }
    files.sort();
    files.into_iter().map(|(path, template)| Ok((path, fill(template, request, suite)?))).collect()
}

fn fill(template: &str, request: &WorkflowsRequest, suite: &str) -> Result<String> {
    const NOTE: &str = " # zizmor: ignore[self-hosted-runner] the GPU is there; keep it for this alone";
    let jobs = &request.jobs;
    let is_own = jobs.iter().any(|job| job.runner.iter().any(|label| label == "self-hosted"));
    let shared = context! {
        action => request.action.to_string(),
        checkout => CHECKOUT,
        upload => UPLOAD,
        local => matches!(request.action, ActionRef::Here),
    };
    let build =
        (!request.action.is_release()).then(|| rendered(BUILD, BRACKETS, shared.clone())).transpose()?;
    let values = context! {
        build,
        download => DOWNLOAD,
        upload_pages => UPLOAD_PAGES,
        deploy_pages => DEPLOY_PAGES,
        pages => request.pages.then_some(PAGES_ADDRESS),
        include => jobs_as_yaml(jobs),
        label => jobs.first().map(|job| word_as_yaml(&job.label)),
        runner => jobs.first().map(|job| labels_as_yaml(&job.runner)),
        note => if is_own { NOTE } else { "" },
        parts => jobs.len(),
        suite,
        matrix => jobs.len() > 1,
        // The only machine, and it has a name.
        named => matches!(&jobs[..], [job] if !job.label.is_empty()),
        allow => request.allow_forks,
        dependencies => &request.dependencies,
        ..shared
    };
    rendered(template, BRACKETS, values)
}

/// A template with its values. Errors: none, unless it uses a name that is not given.
pub(super) fn rendered(
    template: &str,
    (open, close): (&'static str, &'static str),
    values: minijinja::Value,
) -> Result<String> {
    let defect = |error| Fault::defect("the templates", error);
    let syntax = SyntaxConfig::builder()
        .variable_delimiters(open, close)
        .line_statement_prefix("#?")
        .keep_trailing_newline(true)
        .build()
        .map_err(defect)?;
    let mut environment = Environment::new();
    environment.set_syntax(syntax);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.render_str(template, values).map_err(defect)
}

/// The value of `runs-on`: one label by itself, or a list.
fn labels_as_yaml(labels: &[String]) -> String {
    let words: Vec<String> = labels.iter().map(|label| word_as_yaml(label)).collect();
    if let [only] = &words[..] { only.clone() } else { format!("[{}]", words.join(", ")) }
}

fn jobs_as_yaml(jobs: &[MeasuringJob]) -> Vec<String> {
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
fn word_as_yaml(word: &str) -> String {
    const SPECIAL: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    let begins_plain = word.starts_with(|c: char| c.is_ascii_alphabetic());
    if begins_plain && !SPECIAL.contains(&word.to_ascii_lowercase().as_str()) {
        word.to_owned()
    } else {
        format!("\"{word}\"")
    }
}

/// Labels that actionlint does not know: those that neither GitHub nor a runner's own set-up gives.
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
    use crate::app::github::matrix::{jobs, runner_labels};

    fn request(action: ActionRef, runner: &str, shards: u32) -> WorkflowsRequest {
        let runner = runner_labels(runner).unwrap();
        WorkflowsRequest {
            action,
            allow_forks: false,
            jobs: jobs(&runner, &[], shards).unwrap(),
            dependencies: Vec::new(),
            pages: false,
        }
    }

    #[test]
    fn every_value_and_every_condition_of_every_template_is_known() {
        for template in [PULL_REQUEST, PULL_REQUEST_MATRIX, REPORT, ACCEPT, NIGHTLY, BISECT, PAGES] {
            for allow_forks in [false, true] {
                for (shards, action) in [(1, "./"), (3, "./"), (1, "acme/x@SHA"), (3, "acme/x@SHA#v1.2.3")] {
                    let dependencies = vec!["command -v go".into()];
                    let action = action.replace("SHA", &"a".repeat(40)).parse().unwrap();
                    let request = request(action, "gpu", shards);
                    let pages = allow_forks;
                    let request = WorkflowsRequest { allow_forks, dependencies, pages, ..request };
                    let text = fill(template, &request, "gbench.toml").unwrap();
                    assert!(!text.contains("[[") && !text.contains("#?") && text.ends_with('\n'), "{text}");
                }
            }
        }
    }

    /// The project's own workflows are what its templates give, apart from the report: until there is a release to pin,
    /// that one builds gbench-ci in its own job.
    #[test]
    fn the_projects_own_workflows_come_from_the_templates() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let of = |shards, name: &str| {
            let files = workflows(&request(ActionRef::Here, "ubuntu-latest", shards), "gbench.toml").unwrap();
            files.into_iter().find(|(path, _)| path.ends_with(name)).unwrap()
        };
        for (path, text) in [of(1, "gbench-pull-request.yml"), of(2, "gbench-nightly.yml")] {
            if std::env::var_os("UPDATE_WORKFLOWS").is_some() {
                std::fs::write(root.join(path), &text).unwrap();
            }
            let found = std::fs::read_to_string(root.join(path)).unwrap();
            assert!(found == text, "{path} differs from its template: run with UPDATE_WORKFLOWS=1");
        }
    }

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
        assert_eq!(runner_labels(&format!("_gpu,{}", "x".repeat(100))).unwrap().len(), 2);
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
