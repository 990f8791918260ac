//! `gbench-ci publish` to everything but GitHub: GitLab, Gitea, Buildkite and webhooks. The servers are fakes by their
//! published descriptions (tests/support/fake_forge.rs), and so is Buildkite's agent.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use gbench_ci::compare::VerdictPart;
use gbench_ci::model::ParamValue;
use tempfile::TempDir;

use crate::support::cli::{Ran, ended};
use crate::support::fake_forge::{FakeForge, Kind, ME, Mishap, Posted, TOKEN};
use crate::support::fixture;
use crate::support::job::{Checkout, obeyed, outside, work};
use crate::support::merging::{self, HEAD};

/// The head of the event fixtures.
const HEAD_OF_EVENTS: &str = "8c1f0a2e5b7d49c3a6e0f1d2b3c4d5e6f7081923";
const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// A service, and a folder for what a job leaves.
struct Hub {
    fake: FakeForge,
    folder: TempDir,
    kind: Kind,
}

impl Hub {
    fn new(kind: Kind) -> Self {
        Self { fake: FakeForge::start(kind, HEAD), folder: crate::support::tempdir().unwrap(), kind }
    }

    fn forges() -> [Self; 2] {
        [Kind::GitLab, Kind::Gitea].map(Self::new)
    }

    fn step(&self, line: &str) -> Command {
        match self.kind {
            Kind::GitLab => self.gitlab(line),
            Kind::Gitea => self.gitea(line),
            Kind::Receiver => outside(self.folder.path(), line),
        }
    }

    /// A step of a pipeline for merge request 42.
    fn gitlab(&self, line: &str) -> Command {
        let mut command = outside(self.folder.path(), line);
        command.envs([
            ("GITLAB_CI", "true"),
            ("CI_SERVER_URL", "https://gitlab.example.com"),
            ("CI_PIPELINE_SOURCE", "merge_request_event"),
            ("CI_PROJECT_PATH", "acme/gpu/kernels"),
            ("CI_COMMIT_SHA", HEAD),
            ("CI_DEFAULT_BRANCH", "main"),
            ("CI_PIPELINE_ID", "5550009"),
            ("CI_PIPELINE_IID", "18"),
            ("CI_PIPELINE_URL", "https://gitlab.example.com/acme/gpu/kernels/-/pipelines/5550009"),
            ("CI_MERGE_REQUEST_IID", "42"),
            ("CI_MERGE_REQUEST_PROJECT_PATH", "acme/gpu/kernels"),
            ("CI_MERGE_REQUEST_SOURCE_PROJECT_PATH", "acme/gpu/kernels"),
            ("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "faster-gemm"),
            ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
            ("CI_MERGE_REQUEST_DIFF_BASE_SHA", merging::BASE),
            ("GITLAB_TOKEN", TOKEN),
        ]);
        command.env("CI_API_V4_URL", format!("{}/api/v4", self.fake.url()));
        command
    }

    fn gitea(&self, line: &str) -> Command {
        let text = std::fs::read_to_string(fixture("github/events/pull_request.synchronize.json")).unwrap();
        let path = self.folder.path().join("event.json");
        std::fs::write(&path, text.replace(HEAD_OF_EVENTS, HEAD)).unwrap();
        let mut command = outside(self.folder.path(), line);
        command.envs([
            ("GITHUB_ACTIONS", "true"),
            ("GITEA_ACTIONS", "true"),
            ("GITHUB_EVENT_NAME", "pull_request"),
            ("GITHUB_REPOSITORY", "acme/kernels"),
            ("GITHUB_SHA", HEAD),
            ("GITHUB_REF", "refs/pull/42/head"),
            ("GITHUB_RUN_ID", "777"),
            ("GITHUB_RUN_NUMBER", "18"),
            ("GITHUB_SERVER_URL", "https://git.example.com/"),
            ("GITEA_TOKEN", TOKEN),
        ]);
        command.env("GITHUB_EVENT_PATH", &path).env("GITHUB_API_URL", format!("{}/api/v1", self.fake.url()));
        command
    }

    /// Runs it; whatever came of it, no line of the log holds the token.
    #[track_caller]
    fn ran(&self, line: &str) -> Ran {
        quiet(ended(self.step(line)))
    }

    /// The folder of one job's result.
    fn part(&self, slower: bool) -> String {
        let part = merging::part("", None, slower);
        let part = VerdictPart { name: format!("result-{slower}"), ..part };
        merging::write(&part, self.folder.path()).display().to_string()
    }

    fn note(&self) -> String {
        let notes = &self.fake.world().notes;
        assert_eq!(notes.len(), 1, "{notes:?}");
        notes[0].body.clone()
    }

    /// The states of the commit, in the order of their making.
    fn states(&self) -> Vec<String> {
        let world = self.fake.world();
        let word = |status: &serde_json::Value| status["status"].as_str().unwrap().to_owned();
        world.statuses.iter().map(word).collect()
    }

    fn words(&self) -> [&'static str; 2] {
        if self.kind == Kind::GitLab { ["failed", "success"] } else { ["failure", "success"] }
    }

    fn notes_route(&self) -> &'static str {
        if self.kind == Kind::GitLab { "/notes" } else { "/comments" }
    }
}

#[track_caller]
fn quiet(ran: Ran) -> Ran {
    for text in [&ran.out, &ran.err] {
        assert!(!text.contains(TOKEN) && !text.contains(SECRET), "a secret is in the log: {text}");
    }
    ran
}

#[test]
fn v6_a_red_verdict_is_one_note_and_one_status_and_a_fix_turns_both_green() {
    for hub in Hub::forges() {
        let [failed, success] = hub.words();
        hub.ran("publish --start").exits(0).says("in progress, a status of 02ab45cd66");
        hub.ran(&format!("publish {}", hub.part(true))).exits(0).says("comment on #42: created http");
        assert!(hub.note().contains("regressed") && hub.note().contains("kernels/gemm"), "{}", hub.note());
        assert_eq!(hub.states()[1..], [failed]);

        hub.ran(&format!("publish {}", hub.part(false))).exits(0).says("comment on #42: updated http");
        assert!(hub.note().contains("✅"), "{}", hub.note());
        assert_eq!(hub.states()[1..], [failed, success]);

        // A third run with nothing new writes nothing.
        hub.ran(&format!("publish {}", hub.part(false))).exits(0).says("it is up to date");
        assert_eq!(hub.fake.count("POST", hub.notes_route()), 1);
        assert_eq!(hub.states().len(), 3);
    }
}

#[test]
fn v6_gitlabs_status_belongs_to_the_pipeline_and_its_note_links_to_gitlabs_pages() {
    let hub = Hub::new(Kind::GitLab);
    hub.ran(&format!("publish {}", hub.part(true)))
        .exits(0)
        .says("https://gitlab.example.com/acme/gpu/kernels/-/merge_requests/42#note_");
    let world = hub.fake.world();
    let status = &world.statuses[0];
    assert_eq!((&status["pipeline_id"], &status["name"]), (&5_550_009.into(), &"gbench-ci".into()));
    assert_eq!(status["sha"], HEAD);
    let note = &world.notes[0].body;
    for page in ["/-/compare/", "/-/commit/", "/-/pipelines/5550009"] {
        assert!(
            note.contains(&format!("https://gitlab.example.com/acme/gpu/kernels{page}")),
            "{page} in {note}"
        );
    }
}

#[test]
fn v6_of_a_merged_result_the_branch_is_judged_and_the_pipelines_commit_has_the_status() {
    let hub = Hub::new(Kind::GitLab);
    let merge = "e4a1b2c3d4f5061728394a5b6c7d8e9fa0b1c2d3";
    let mut step = hub.step(&format!("publish {}", hub.part(true)));
    step.env("CI_COMMIT_SHA", merge).env("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", HEAD);
    ended(step).exits(0);
    assert_eq!(hub.fake.world().statuses[0]["sha"], merge);
    assert!(hub.note().contains("regressed"));
}

#[test]
fn v6_an_answer_that_is_lost_leaves_one_note_and_one_status() {
    for hub in Hub::forges() {
        hub.fake.mishap("POST", hub.notes_route(), 1, Mishap::LostAnswer);
        hub.fake.mishap("POST", "/statuses/", 1, Mishap::LostAnswer);
        hub.ran(&format!("publish {}", hub.part(true))).exits(0).says("comment on #42: created");
        hub.note();
        assert_eq!(hub.states(), [hub.words()[0]]);
        let method = if hub.kind == Kind::GitLab { "PUT" } else { "PATCH" };
        hub.fake.mishap(method, hub.notes_route(), 1, Mishap::LostAnswer);
        hub.ran(&format!("publish {}", hub.part(false))).exits(0).says("comment on #42: updated");
        assert!(hub.note().contains("✅"), "{}", hub.note());
        assert_eq!(hub.fake.count("POST", hub.notes_route()), 1);
    }
}

#[test]
fn v6_a_refusal_names_the_right_and_where_it_is_set_and_the_status_stands() {
    for (status, message) in [(401, "401 Unauthorized"), (403, "403 Forbidden"), (404, "404 Not found")] {
        for hub in Hub::forges() {
            hub.fake.mishap("POST", hub.notes_route(), 9, Mishap::Refused(status, message, None));
            let right = match hub.kind {
                Kind::GitLab => "the scope `api` and the role Developer, in `Settings > Access tokens`",
                _ => "the scopes `write:issue` and `write:repository`, in `Settings > Applications`",
            };
            let service = if hub.kind == Kind::GitLab { "GitLab" } else { "Gitea" };
            let folder = hub.part(true);
            let ran = hub.ran(&format!("publish {folder}")).exits(6);
            ran.says(&format!("{service} answers {status}: {message}")).says(right);
            assert_eq!(hub.states(), [hub.words()[0]], "the verdict is still told where it can be");
            assert!(hub.fake.world().notes.is_empty());
            let text = std::fs::read_to_string(Path::new(&folder).join("reports/verdict.json")).unwrap();
            assert!(text.contains("\"exit_code\": 1"), "the verdict has its own exit code");
        }
    }
    let hub = Hub::new(Kind::Gitea);
    hub.fake.mishap(
        "GET",
        "/user",
        9,
        Mishap::Refused(403, "token does not have at least one of required scope(s)", None),
    );
    hub.ran(&format!("publish {}", hub.part(true))).exits(6).says("`read:user`").says("`--login`");
    hub.ran(&format!("publish {} --login {ME}", hub.part(true))).exits(0);
    let hub = Hub::new(Kind::GitLab);
    let mut step = hub.step("publish --start");
    step.env_remove("GITLAB_TOKEN");
    ended(step).exits(6).says("the masked variable GITLAB_TOKEN");
}

#[test]
fn v6_a_busy_service_is_asked_again_when_it_says() {
    for hub in Hub::forges() {
        hub.fake.mishap("POST", hub.notes_route(), 1, Mishap::Refused(429, "Retry later", Some(0)));
        hub.fake.mishap("POST", "/statuses/", 1, Mishap::Refused(503, "Service Unavailable", None));
        hub.ran(&format!("publish {}", hub.part(true))).exits(0).says("created");
        hub.note();
        assert_eq!(hub.states(), [hub.words()[0]]);
    }
}

#[test]
fn v6_a_redirect_to_another_host_is_not_followed_with_the_token() {
    for hub in Hub::forges() {
        let elsewhere = FakeForge::start(Kind::Receiver, HEAD);
        hub.fake.mishap("POST", "/statuses/", 9, Mishap::Elsewhere(elsewhere.url()));
        hub.ran(&format!("publish {}", hub.part(true))).exits(6).says("answers 307");
        assert!(elsewhere.world().seen.is_empty());
    }
}

#[test]
fn v6_a_note_of_another_account_is_left_alone_although_it_has_our_marker() {
    for hub in Hub::forges() {
        hub.ran(&format!("publish {}", hub.part(true))).exits(0);
        let theirs = Posted { id: 1, author: "mallory".into(), body: hub.note() };
        *hub.fake.world().notes.first_mut().unwrap() = theirs.clone();
        hub.ran(&format!("publish {}", hub.part(false))).exits(0);
        hub.ran(&format!("publish {} --comment always", hub.part(false))).exits(0).says("created");
        let notes = hub.fake.world().notes.clone();
        assert_eq!((notes.len(), &notes[0].body), (2, &theirs.body));
    }
}

#[test]
fn v6_a_forks_merge_request_is_not_told_unless_asked_and_then_called_unverified() {
    let hub = Hub::new(Kind::GitLab);
    let red = hub.part(true);
    let of_fork = |line: &str| {
        let mut step = hub.step(line);
        step.env("CI_MERGE_REQUEST_SOURCE_PROJECT_PATH", "mallory/kernels");
        quiet(ended(step))
    };
    of_fork(&format!("publish {red}")).exits(0).says("a fork's result is not published");
    assert!(hub.fake.world().seen.is_empty());
    of_fork(&format!("publish {red} --allow-forks")).exits(0).says("created");
    assert!(hub.note().contains("**Unverified.**"), "{}", hub.note());
    // A status has no neutral state: an unverified green stays open.
    let hub = Hub::new(Kind::GitLab);
    let mut step = hub.step(&format!("publish {} --allow-forks", hub.part(false)));
    step.env("CI_MERGE_REQUEST_SOURCE_PROJECT_PATH", "mallory/kernels");
    quiet(ended(step)).exits(0);
    assert!(!hub.states().contains(&"success".to_owned()), "{:?}", hub.states());
}

#[test]
fn v6_a_webhook_alone_is_not_told_of_forks_or_of_other_commits() {
    let folder = crate::support::tempdir().unwrap();
    let receiver = FakeForge::start(Kind::Receiver, HEAD);
    let red = part_in(folder.path(), true);
    let told = |line: &str, name: &str, value: Option<&str>| {
        let line = format!("publish {red} --to webhook={}/x {line}", receiver.url());
        let mut step = buildkite(folder.path(), &line, 0);
        step.env("GBENCH_WEBHOOK_SECRET", SECRET);
        match value {
            Some(value) => step.env(name, value),
            None => step.env_remove(name),
        };
        ended(step)
    };
    let repository = "BUILDKITE_PULL_REQUEST_REPO";
    let fork = Some("git://github.com/mallory/kernels.git");
    told("", repository, fork).exits(0).says("a fork's result is not published");
    // An unknown repository is not trusted.
    told("", repository, None).exits(0).says("a fork's result is not published");
    told("--allow-forks", repository, fork).exits(0).says("not sent, a fork's result is not verified");
    told("", "BUILDKITE_COMMIT", Some(&"a".repeat(40))).exits(6).says("the event is about");
    told("--start", "IGNORED", Some("1")).exits(2).says("--start");
    assert!(receiver.world().seen.is_empty());
    told("", "IGNORED", Some("1")).exits(0).says("sent, event");
    assert_eq!(receiver.world().seen.len(), 1);
    // The address may have a key in it.
    let line = format!("publish {red} --to webhook=hooks.example.com/SECRETKEY");
    let ran = ended(buildkite(folder.path(), &line, 0)).exits(2).says("--to");
    assert!(!ran.err.contains("SECRETKEY"), "{}", ran.err);
}

#[test]
fn v6_a_gate_without_a_verdict_leaves_no_status_that_is_green_or_running() {
    for hub in Hub::forges() {
        hub.ran("publish --start").exits(0);
        hub.ran("publish --ended 5").exits(0);
        assert_eq!(hub.states()[1..], [hub.words()[0]]);
        assert!(hub.fake.world().notes.is_empty());
    }
}

/// Elements that a service lets through: docs.gitlab.com of GitLab's Markdown and html-pipeline's list; bluemonday's list for
/// the content of users, of Gitea; buildkite.com/docs, "Annotations".
const ELEMENTS: [(&str, &[&str]); 3] = [
    ("GitLab", &["details", "summary", "code", "sub", "br", "wbr"]),
    ("Gitea", &["details", "summary", "code", "sub", "br", "wbr"]),
    ("Buildkite", &["details", "summary", "code"]),
];

/// The lines outside of fenced code.
fn rendered(text: &str) -> Vec<&str> {
    let mut fence: Option<&str> = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match fence {
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => lines.push(line),
            Some(open) if line == open => fence = None,
            Some(_) => {}
        }
    }
    assert_eq!(fence, None, "an open fence in {text}");
    lines
}

/// Names of elements in raw HTML, apart from the marker's comment.
fn elements(lines: &[&str]) -> Vec<String> {
    let text = lines.join("\n");
    let tag = regex::Regex::new("</?([A-Za-z][A-Za-z0-9-]*)[^>]*>").unwrap();
    tag.captures_iter(&text).map(|found| found[1].to_lowercase()).collect()
}

#[test]
fn v6_the_text_has_nothing_that_a_service_strips_or_obeys() {
    for hub in Hub::forges() {
        let mut part = merging::part("", None, true);
        // What a pull request may call its benchmarks, and say of them.
        for (row, name) in
            part.verdict.rows.iter_mut().zip(["/merge", "!12 ~bug %v1 &3", "<img src=x>", "@all"])
        {
            row.case.params.insert("x".into(), ParamValue::Text(name.into()));
        }
        part.verdict.warnings = vec!["/close".into(), "!12 ~bug %1 $2 &3 ^4 GL-5 #6 @all".into()];
        part.verdict.sentence = "/merge".into();
        let part = VerdictPart { name: "hostile".into(), ..part };
        let folder = merging::write(&part, hub.folder.path()).display().to_string();
        hub.ran(&format!("publish {folder}")).exits(0);
        let note = hub.note();
        let lines = rendered(&note);
        assert!(note.len() <= 65_536);
        assert!(lines.iter().all(|line| !line.trim_start().starts_with('/')), "a quick action in {note}");
        for reference in ["!12", "~bug", "%1", "$2", "&3", "^4", "GL-5", "#6", "@all"] {
            assert!(!note.contains(&format!(" {reference} ")), "{reference} in {note}");
        }
        let allowed =
            ELEMENTS.iter().find(|(name, _)| (*name == "GitLab") == (hub.kind == Kind::GitLab)).unwrap().1;
        for element in elements(&lines) {
            assert!(allowed.contains(&element.as_str()), "<{element}> in {note}");
        }
        assert!(note.contains("<details>") && note.trim_end().ends_with("-->"));
    }
}

/// A job of Buildkite whose agent writes down what it is given, and ends with this code.
fn buildkite(folder: &Path, line: &str, agent_ends: u8) -> Command {
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let agent = bin.join("buildkite-agent");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = annotate ] || exit 64\ncontext=none\nfor word; do [ \"$last\" = --context ] && context=$word\n\
         last=$word; done\nif [ {agent_ends} != 0 ]; then cat >/dev/null; echo 'fatal: Failed to annotate build: 403 \
         Forbidden' >&2; exit {agent_ends}; fi\nmkdir -p annotations\ncat >\"annotations/$context.md\"\n\
         echo \"$*\" >>annotations/calls\n"
    );
    std::fs::write(&agent, script).unwrap();
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = outside(folder, line);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", bin.display()));
    command.envs([
        ("BUILDKITE", "true"),
        ("BUILDKITE_ORGANIZATION_SLUG", "acme"),
        ("BUILDKITE_PIPELINE_SLUG", "kernels"),
        ("BUILDKITE_COMMIT", HEAD),
        ("BUILDKITE_BRANCH", "faster-gemm"),
        ("BUILDKITE_BUILD_NUMBER", "18"),
        ("BUILDKITE_BUILD_URL", "https://buildkite.com/acme/kernels/builds/18"),
        ("BUILDKITE_PIPELINE_DEFAULT_BRANCH", "main"),
        ("BUILDKITE_SOURCE", "webhook"),
        ("BUILDKITE_PULL_REQUEST", "42"),
        ("BUILDKITE_PULL_REQUEST_BASE_BRANCH", "main"),
        ("BUILDKITE_PULL_REQUEST_REPO", "git://github.com/acme/kernels.git"),
        ("BUILDKITE_REPO", "git@github.com:acme/kernels.git"),
    ]);
    command
}

fn part_in(folder: &Path, slower: bool) -> String {
    let part = VerdictPart { name: format!("result-{slower}"), ..merging::part("", None, slower) };
    merging::write(&part, folder).display().to_string()
}

#[test]
fn v6_buildkite_has_one_annotation_a_gate_which_a_second_run_replaces() {
    let folder = crate::support::tempdir().unwrap();
    let folder = folder.path();
    let annotation = || std::fs::read_to_string(folder.join("annotations/gbench-ci.md")).unwrap();
    let red = part_in(folder, true);
    ended(buildkite(folder, &format!("publish {red}"), 0))
        .exits(0)
        .says("annotation gbench-ci: written, error");
    let text = annotation();
    assert!(
        text.contains("kernels/gemm") && text.contains("https://buildkite.com/acme/kernels/builds/18"),
        "{text}"
    );
    // Links to commits go nowhere where it is not known who keeps them.
    assert!(!text.contains("/commit/") && !text.contains("<!--"), "{text}");
    let lines = rendered(&text);
    let allowed = ELEMENTS[2].1;
    assert!(elements(&lines).iter().all(|it| allowed.contains(&it.as_str())), "{:?}", elements(&lines));
    assert!(text.contains("<details>"));

    let green = part_in(folder, false);
    ended(buildkite(folder, &format!("publish {green}"), 0)).exits(0).says("written, success");
    assert!(annotation().contains("✅"), "{}", annotation());
    let calls = std::fs::read_to_string(folder.join("annotations/calls")).unwrap();
    let contexts: Vec<&str> = calls.lines().map(|line| line.rsplit(' ').next().unwrap()).collect();
    assert_eq!(contexts, ["gbench-ci", "gbench-ci"]);
    assert!(!calls.contains("--append"));

    ended(buildkite(folder, "publish --ended 5", 0)).exits(0).says("written, error");
    assert!(annotation().contains("There is no verdict"), "{}", annotation());
}

#[test]
fn v6_a_refusal_of_buildkites_agent_is_an_error_with_its_words() {
    let folder = crate::support::tempdir().unwrap();
    let red = part_in(folder.path(), true);
    ended(buildkite(folder.path(), &format!("publish {red}"), 1))
        .exits(6)
        .says("fatal: Failed to annotate build: 403 Forbidden")
        .says("BUILDKITE_AGENT_ACCESS_TOKEN");
    let mut without = buildkite(folder.path(), &format!("publish {red}"), 0);
    without.env("PATH", folder.path());
    ended(without).exits(6).says("buildkite-agent").says("cannot be started");
}

fn webhook(hub: &Hub, line: &str) -> Command {
    let mut step = hub.step(&format!("{line} --to webhook={}/gbench?key=hidden", hub.fake.url()));
    step.env("GBENCH_WEBHOOK_SECRET", SECRET);
    step
}

#[test]
fn v6_a_webhook_gets_the_verdict_signed_and_a_repetition_has_the_same_event() {
    let hub = Hub::new(Kind::Receiver);
    let red = hub.part(true);
    hub.fake.mishap("POST", "/gbench", 1, Mishap::LostAnswer);
    hub.fake.mishap("POST", "/gbench", 1, Mishap::Refused(503, "Service Unavailable", None));
    let ran =
        quiet(ended(webhook(&hub, &format!("publish {red}")))).exits(0).says("webhook http://127.0.0.1:");
    assert!(!format!("{}{}", ran.out, ran.err).contains("hidden"), "{}", ran.out);
    let seen = hub.fake.world().seen.clone();
    assert_eq!(seen.len(), 3);
    let events: Vec<_> = seen.iter().map(|it| it.header("x-gbench-event-id").unwrap()).collect();
    assert!(events.iter().all(|event| *event == events[0]), "{events:?}");
    let document: serde_json::Value = serde_json::from_slice(&seen[2].body).unwrap();
    let written = std::fs::read_to_string(Path::new(&red).join("reports/verdict.json")).unwrap();
    assert_eq!(document, serde_json::from_str::<serde_json::Value>(&written).unwrap());
    assert_eq!(seen[2].header("content-type"), Some("application/json"));
    // Another verdict is another event.
    let green = hub.part(false);
    quiet(ended(webhook(&hub, &format!("publish {green}")))).exits(0);
    assert_ne!(hub.fake.world().seen[3].header("x-gbench-event-id"), Some(events[0]));
}

#[test]
fn v6_a_receiver_verifies_a_webhook_as_the_documentation_shows() {
    let hub = Hub::new(Kind::Receiver);
    quiet(ended(webhook(&hub, &format!("publish {}", hub.part(true))))).exits(0);
    let seen = hub.fake.world().seen[0].clone();
    let folder = hub.folder.path();
    std::fs::write(folder.join("verify.py"), block("python", "def is_genuine")).unwrap();
    std::fs::write(folder.join("body"), &seen.body).unwrap();
    let [time, signature] =
        ["x-gbench-timestamp", "x-gbench-signature-256"].map(|name| seen.header(name).unwrap());
    let run = |code: &str| {
        let code = format!(
            "from verify import is_genuine\nbody = open('body', 'rb').read()\n\
             headers = {{'X-Gbench-Timestamp': '{time}', 'X-Gbench-Signature-256': '{signature}'}}\nprint({code})"
        );
        let ran = Command::new("python3").args(["-c", &code]).current_dir(folder).output().unwrap();
        String::from_utf8_lossy(&ran.stdout).trim().to_owned() + &String::from_utf8_lossy(&ran.stderr)
    };
    assert_eq!(run(&format!("is_genuine(headers, body, '{SECRET}')")), "True");
    assert_eq!(run(&format!("is_genuine(headers, body + b' ', '{SECRET}')")), "False");
    assert_eq!(run("is_genuine(headers, body, 'another secret of theirs')"), "False");
    let old = format!("is_genuine({{**headers, 'X-Gbench-Timestamp': '1'}}, body, '{SECRET}')");
    assert_eq!(run(&old), "False");
}

#[test]
fn v6_a_webhook_that_refuses_or_redirects_is_an_error_and_one_without_a_secret_is_not_begun() {
    let hub = Hub::new(Kind::Receiver);
    let red = hub.part(true);
    hub.fake.mishap("POST", "/gbench", 9, Mishap::Refused(403, "bad signature", None));
    quiet(ended(webhook(&hub, &format!("publish {red}"))))
        .exits(6)
        .says("the webhook answers 403: bad signature")
        .says("GBENCH_WEBHOOK_SECRET");
    let elsewhere = FakeForge::start(Kind::Receiver, HEAD);
    let hub = Hub::new(Kind::Receiver);
    let red = hub.part(true);
    hub.fake.mishap("POST", "/gbench", 9, Mishap::Elsewhere(elsewhere.url()));
    quiet(ended(webhook(&hub, &format!("publish {red}")))).exits(6).says("a redirect is not followed");
    assert!(elsewhere.world().seen.is_empty());
    let mut without = webhook(&hub, &format!("publish {red}"));
    without.env_remove("GBENCH_WEBHOOK_SECRET");
    ended(without).exits(2).says("GBENCH_WEBHOOK_SECRET").says("openssl rand -hex 32");
}

#[test]
fn v6_a_service_and_a_webhook_are_told_in_one_call() {
    let hub = Hub::new(Kind::GitLab);
    let receiver = FakeForge::start(Kind::Receiver, HEAD);
    let line = format!("publish {} --to gitlab --to webhook={}/x", hub.part(true), receiver.url());
    let mut step = hub.step(&line);
    step.env("GBENCH_WEBHOOK_SECRET", SECRET);
    quiet(ended(step)).exits(0).says("created").says("webhook");
    hub.note();
    let seen = receiver.world().seen.clone();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].header("authorization"), None, "the service's token is not for the receiver");
}

#[test]
fn a_place_that_contradicts_the_job_is_refused() {
    let gitlab = Hub::new(Kind::GitLab);
    let red = gitlab.part(true);
    gitlab
        .ran(&format!("publish {red} --to buildkite"))
        .exits(2)
        .says("it names Buildkite, and this job is one of GitLab");
    let mut both = gitlab.step(&format!("publish {red}"));
    both.env("BUILDKITE", "true");
    ended(both).exits(2).says("`GITLAB_CI` and `BUILDKITE` are both `true`");
    let nowhere = Hub::new(Kind::Receiver);
    nowhere.ran(&format!("publish {red} --to gitlab")).exits(2).says("this is not a job of GitLab");
    gitlab.ran(&format!("publish {red} --to https://example.com")).exits(2).says("webhook=URL");
    gitlab.ran(&format!("publish {red} --issue")).exits(2).says("on GitHub alone");
    let mut lacks = gitlab.step(&format!("publish {red}"));
    lacks.env_remove("CI_API_V4_URL");
    ended(lacks).exits(2).says("CI_API_V4_URL");
    assert!(gitlab.fake.world().seen.is_empty());
}

#[test]
fn one_command_judges_a_merge_request_and_another_tells_it() {
    let checkout = Checkout::of_pull_request(&[("work", &work(&[1.0, 1.1, 1.0]))]);
    let head = checkout.head.to_string();
    let hub = Hub {
        fake: FakeForge::start(Kind::GitLab, &head),
        folder: crate::support::tempdir().unwrap(),
        kind: Kind::GitLab,
    };
    let step = |line: &str| {
        let mut step = hub.step(line);
        step.current_dir(checkout.root()).env("CI_COMMIT_SHA", &head);
        step.env("CI_MERGE_REQUEST_DIFF_BASE_SHA", checkout.base.to_string());
        step
    };
    let mut ci = step("ci");
    ci.env("CI_JOB_TOKEN", "of-every-job-of-gitlab");
    let ran = quiet(ended(ci)).exits(1).says("the merge base of main and this branch");
    assert!(ran.err.contains("GITLAB_TOKEN") && !ran.err.contains("CI_JOB_TOKEN"), "{}", ran.err);
    assert!(obeyed(&ran.out).is_empty() && !ran.out.contains("stop-commands"), "{}", ran.out);
    let job = checkout.job();
    assert_eq!((job.pull_request, job.head), (Some(42), Some(head.clone())));
    assert_eq!(job.base.commit, Some(checkout.base.to_string()));
    quiet(ended(step("publish artifacts"))).exits(0).says("created");
    assert!(hub.note().contains("s/c1"), "{}", hub.note());
    assert_eq!(hub.states(), ["failed"]);
    // Code of a fork is not run.
    let mut fork = step("ci");
    fork.env("CI_MERGE_REQUEST_SOURCE_PROJECT_PATH", "mallory/kernels");
    ended(fork).exits(5).says("comes from the fork mallory/kernels");
}

#[test]
fn buildkites_pull_request_is_compared_with_its_target_branch() {
    let checkout = Checkout::of_pull_request(&[("work", &work(&[1.0, 1.1, 1.0]))]);
    let folder = crate::support::tempdir().unwrap();
    let mut step = buildkite(folder.path(), "ci", 0);
    step.current_dir(checkout.root()).env("BUILDKITE_COMMIT", checkout.head.to_string());
    ended(step).exits(1).says("the merge base of main and this branch");
    assert_eq!(checkout.job().base.commit, Some(checkout.base.to_string()));
}

/// The blocks of docs/deliveries.md in a language.
fn blocks(language: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/deliveries.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line.trim() == format!("```{language}") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != "```").collect();
            found.push(block.join("\n") + "\n");
        }
    }
    found
}

fn block(language: &str, with: &str) -> String {
    blocks(language).into_iter().find(|block| block.contains(with)).expect(with)
}

#[test]
fn every_pipeline_of_the_documentation_is_yaml() {
    let all = blocks("yaml");
    assert_eq!(all.len(), 3, "{all:?}");
    for text in all {
        for event in saphyr_parser::Parser::new_from_str(&text) {
            event.unwrap_or_else(|error| panic!("{error} in\n{text}"));
        }
    }
}

/// The `gbench-ci publish` lines of a pipeline, as its shell runs them.
fn publish_lines(block: &str) -> Vec<String> {
    let found = block.lines().filter_map(|line| Some(line[line.find("gbench-ci publish")?..].to_owned()));
    found.map(|line| line.trim_start_matches("gbench-ci ").replace("$$", "$")).collect()
}

#[test]
fn the_publishing_commands_of_the_documentation_publish() {
    let place = |fake: &Hub| {
        let artifacts = fake.folder.path().join("artifacts");
        std::fs::create_dir_all(&artifacts).unwrap();
        std::fs::write(artifacts.join("exit-code"), "1\n").unwrap();
        part_in(&artifacts, true);
    };
    let in_shell = |mut step: Command, line: &str| {
        let gate = PathBuf::from(step.get_program());
        let mut shell = Command::new("sh");
        shell.args(["-ec", &format!("code=1; \"{}\" {line}", gate.display())]);
        shell.current_dir(step.get_current_dir().unwrap());
        for (name, value) in step.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        step.env_clear();
        quiet(ended(shell))
    };
    for (kind, with) in [(Kind::GitLab, "CI_PIPELINE_SOURCE"), (Kind::Gitea, "runs-on")] {
        let hub = Hub::new(kind);
        place(&hub);
        let lines = publish_lines(&block("yaml", with));
        assert_eq!(lines.len(), 1, "{lines:?}");
        in_shell(hub.step("publish"), &lines[0]).exits(0).says("created");
        hub.note();
    }
    let hub = Hub::new(Kind::Receiver);
    place(&hub);
    let lines = publish_lines(&block("yaml", "agents:"));
    assert_eq!(lines.len(), 1, "{lines:?}");
    in_shell(buildkite(hub.folder.path(), "publish", 0), &lines[0]).exits(0).says("written, error");
    let lines = publish_lines(&block("sh", "webhook="));
    let line = lines[0].replace("https://ci.example.com", &hub.fake.url());
    let mut step = hub.step("publish");
    step.env("GBENCH_WEBHOOK_SECRET", SECRET);
    in_shell(step, &line).exits(0).says("webhook");
    assert_eq!(hub.fake.world().seen.len(), 1);
}
