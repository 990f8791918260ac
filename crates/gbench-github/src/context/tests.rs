use super::*;

const HEAD: &str = "8c1f0a2e5b7d49c3a6e0f1d2b3c4d5e6f7081923";
const BASE: &str = "3b9e7c5d1f2a4068b7c6d5e4f3a29180716f5e4d";
const MERGE: &str = "e4a1b2c3d4f5061728394a5b6c7d8e9fa0b1c2d3";

/// The job of an event file, with further variables over the usual ones.
fn read_with(name: &str, file: &Path, more: &[(&str, &str)]) -> Result<Option<Context>> {
    let usual = [
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_EVENT_NAME", name.split('.').next().unwrap()),
        ("GITHUB_REPOSITORY", "acme/kernels"),
        ("GITHUB_SHA", MERGE),
        ("GITHUB_EVENT_PATH", file.to_str().unwrap()),
        ("GITHUB_RUN_ID", "5550009"),
        ("GITHUB_RUN_ATTEMPT", "2"),
        ("GITHUB_RUN_NUMBER", "18"),
    ];
    let given = |wanted: &str| {
        let of = |list: &[(&str, &str)]| {
            list.iter().find(|(name, _)| *name == wanted).map(|(_, value)| (*value).to_owned())
        };
        of(more).or_else(|| of(&usual))
    };
    Context::read(&given)
}

fn read(name: &str, more: &[(&str, &str)]) -> Context {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/github/events");
    read_with(name, &folder.join(format!("{name}.json")), more).unwrap().unwrap()
}

fn sha(text: &str) -> Sha {
    text.parse().unwrap()
}

#[test]
fn outside_of_actions_there_is_no_job() {
    assert!(Context::read(&|_| None).unwrap().is_none());
    let other = |name: &str| (name == "CI").then(|| "true".to_owned());
    assert!(Context::read(&other).unwrap().is_none());
}

#[test]
fn of_a_pull_request_the_head_is_judged_and_never_the_merge_commit() {
    for name in ["pull_request.opened", "pull_request.synchronize"] {
        let context = read(name, &[("GITHUB_REF", "refs/pull/42/merge"), ("GITHUB_REF_NAME", "42/merge")]);
        assert_eq!((&context.head, &context.sha), (&sha(HEAD), &sha(MERGE)), "{name}");
        assert_eq!((context.branch.as_deref(), context.default_branch.as_deref()), (None, Some("main")));
        let pull = context.pull_request.as_ref().unwrap();
        assert_eq!((pull.number, pull.base_branch.as_str(), &pull.base), (42, "main", &sha(BASE)));
        assert!(!context.is_fork() && !context.on_default_branch(), "{name}");
        let page = "https://github.com/acme/kernels/actions/runs/5550009/attempts/2";
        assert_eq!(context.run_url().as_deref(), Some(page));
    }
}

#[test]
fn a_fork_is_known_by_its_repository_or_by_having_none() {
    for name in
        ["pull_request.fork", "pull_request.fork_deleted", "pull_request_review.fork", "workflow_run.fork"]
    {
        let context = read(name, &[]);
        assert!(context.is_fork(), "{name}");
        assert_eq!(context.head, sha(HEAD), "{name}");
    }
    // Case is nothing to GitHub.
    assert!(!read("pull_request.opened", &[("GITHUB_REPOSITORY", "Acme/Kernels")]).is_fork());
    assert!(read("pull_request.opened", &[("GITHUB_REPOSITORY", "acme/other")]).is_fork());
}

#[test]
fn a_push_knows_what_was_there_before() {
    let on = |name: &str, branch: &str| {
        read(
            name,
            &[
                ("GITHUB_SHA", HEAD),
                ("GITHUB_REF", &format!("refs/heads/{branch}")),
                ("GITHUB_REF_NAME", branch),
            ],
        )
    };
    let main = on("push", "main");
    assert_eq!((main.before.as_ref(), main.on_default_branch()), (Some(&sha(BASE)), true));
    let new = on("push.new_branch", "faster-gemm");
    assert_eq!((new.before, new.branch.as_deref(), new.deleted), (None, Some("faster-gemm"), false));
    let tag = read(
        "push.tag",
        &[("GITHUB_SHA", HEAD), ("GITHUB_REF", "refs/tags/v1.0"), ("GITHUB_REF_NAME", "v1.0")],
    );
    assert_eq!((tag.before.as_ref(), tag.branch.as_ref(), tag.on_default_branch()), (None, None, false));
    let zeros = "0".repeat(40);
    let deleted = read("push.deleted", &[("GITHUB_SHA", &zeros), ("GITHUB_REF", "refs/heads/main")]);
    assert!(deleted.deleted && !deleted.on_default_branch());
}

#[test]
fn a_merge_group_a_schedule_and_a_dispatch_say_what_they_run() {
    let group = read("merge_group", &[]);
    assert_eq!((group.before.as_ref(), &group.head), (Some(&sha(BASE)), &sha(HEAD)));
    for (name, event) in
        [("schedule", WorkflowEvent::Schedule), ("workflow_dispatch", WorkflowEvent::WorkflowDispatch)]
    {
        let main = [("GITHUB_REF", "refs/heads/main"), ("GITHUB_REF_NAME", "main")];
        let context = read(name, &main);
        assert_eq!((&context.event, context.on_default_branch()), (&event, true));
        assert_eq!(context.head, context.sha);
        assert!(!read(name, &[("GITHUB_REF", "refs/heads/x"), ("GITHUB_REF_NAME", "x")]).on_default_branch());
    }
}

#[test]
fn a_report_workflow_knows_the_run_that_it_reports_on() {
    let requested = read("workflow_run.requested", &[]).workflow_run.unwrap();
    assert_eq!((requested.action.as_str(), requested.conclusion), ("requested", None));
    let context = read("workflow_run.completed", &[]);
    let run = context.workflow_run.as_ref().unwrap();
    assert_eq!((run.id, run.attempt, run.event.as_str()), (5_550_001, 1, "pull_request"));
    assert_eq!((run.conclusion.as_deref(), run.name.as_str()), (Some("failure"), "Benchmarks"));
    assert_eq!((&context.head, context.is_fork(), context.on_default_branch()), (&sha(HEAD), false, false));
}

#[test]
fn an_event_that_is_not_as_documented_names_file_and_field() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("event.json");
    let text = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/github/events/pull_request.opened.json"),
    )
    .unwrap();
    for (event, text, field) in [
        ("pull_request", "{".to_owned(), "not JSON"),
        ("pull_request", "[]".to_owned(), "no JSON object"),
        ("pull_request", "{}".to_owned(), "no `pull_request`"),
        ("pull_request", r#"{"pull_request": {"number": "1"}}"#.to_owned(), "`pull_request` of the event"),
        ("pull_request", text.replace(HEAD, "--upload-pack=x"), "`pull_request.head.sha`"),
        ("pull_request", text.replace(BASE, &"0".repeat(40)), "`pull_request.base.sha`"),
        ("pull_request", text.replace("acme/kernels\"", "../x\""), "`pull_request.head.repo.full_name`"),
        ("push", r#"{"before": "main"}"#.to_owned(), "`before`"),
        ("merge_group", "{}".to_owned(), "no `merge_group`"),
        ("workflow_run", "{}".to_owned(), "no `workflow_run`"),
    ] {
        std::fs::write(&file, &text).unwrap();
        let fault = read_with(event, &file, &[]).unwrap_err();
        assert!(fault.what.contains(field), "{field}: {fault}");
        assert!(fault.place.to_string().ends_with("event.json"), "{fault}");
        assert_eq!(fault.exit, gbench_model::Exit::Usage);
    }
    let gone = read_with("push", &folder.path().join("none.json"), &[]).unwrap_err();
    assert!(gone.what.contains("cannot be read"), "{gone}");
}

#[test]
fn a_variable_that_the_runner_would_not_set_so_is_named() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/github/events");
    for (name, value) in [
        ("GITHUB_REPOSITORY", "a/../b"),
        ("GITHUB_SHA", "main"),
        ("GITHUB_EVENT_NAME", ""),
        ("GITHUB_RUN_ID", "x"),
        ("GITHUB_API_URL", "file:///etc"),
    ] {
        let fault = read_with("push", &folder.join("push.json"), &[(name, value)]).unwrap_err();
        assert!(fault.place.to_string().contains(name), "{fault}");
    }
}

#[test]
fn an_enterprise_server_is_where_the_runner_says() {
    let more = [
        ("GITHUB_API_URL", "https://git.example.com/api/v3"),
        ("GITHUB_SERVER_URL", "https://git.example.com"),
        ("GITHUB_RUN_ATTEMPT", "1"),
    ];
    let context = read("schedule", &more);
    assert_eq!(context.endpoint.api, "https://git.example.com/api/v3");
    assert_eq!(
        context.run_url().as_deref(),
        Some("https://git.example.com/acme/kernels/actions/runs/5550009")
    );
}

/// The nights of GitHub Enterprise Server before the autumn of 2022, and of Gitea: the file holds the schedule alone.
#[test]
fn n13_a_schedule_is_of_the_default_branch_whatever_its_event_file_holds() {
    for name in ["schedule", "schedule.bare"] {
        let context = read(name, &[("GITHUB_REF", "refs/heads/main")]);
        assert!(context.on_default_branch() && !context.is_fork(), "{name}");
        assert_eq!(
            (context.branch.as_deref(), context.default_branch.as_deref()),
            (Some("main"), Some("main")),
            "{name}"
        );
    }
    // What the file does say counts, and a schedule is nothing without a branch.
    assert!(!read("schedule", &[("GITHUB_REF", "refs/heads/x")]).on_default_branch());
    assert!(!read("schedule.bare", &[]).on_default_branch());
    // Of other events only the file says which branch is the default one.
    let dispatch = read("workflow_dispatch.bare", &[("GITHUB_REF", "refs/heads/main")]);
    assert_eq!((dispatch.default_branch.as_ref(), dispatch.on_default_branch()), (None, false));
}

/// Each event with the least that it can be read from: what docs/github.md calls needed, and nothing else.
#[test]
fn n13_the_fields_that_the_documentation_calls_needed_are_all_that_is_needed() {
    let head = format!(r#""sha": "{HEAD}", "ref": "topic""#);
    let base = format!(r#""sha": "{BASE}", "ref": "main""#);
    let pull = format!(r#"{{"pull_request": {{"number": 1, "head": {{{head}}}, "base": {{{base}}}}}}}"#);
    let run = format!(
        r#"{{"action": "completed", "workflow_run": {{"id": 1, "event": "pull_request", "head_sha": "{HEAD}"}}}}"#
    );
    let group = format!(r#"{{"merge_group": {{"head_sha": "{HEAD}", "base_sha": "{BASE}"}}}}"#);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("event.json");
    let given = |event: &str, text: &str| {
        std::fs::write(&file, text).unwrap();
        read_with(event, &file, &[("GITHUB_REF", "refs/heads/main"), ("GITHUB_RUN_ATTEMPT", "")])
    };
    for (event, text, fork, on_default) in [
        ("pull_request", pull.as_str(), true, false),
        ("pull_request_target", &pull, true, false),
        ("pull_request_review", "{}", false, false),
        ("push", "{}", false, false),
        ("schedule", "{}", false, true),
        ("workflow_dispatch", "{}", false, false),
        ("workflow_run", &run, true, false),
        ("merge_group", &group, false, false),
    ] {
        let context = given(event, text).unwrap().unwrap();
        assert_eq!((context.is_fork(), context.on_default_branch()), (fork, on_default), "{event}");
        assert_eq!(context.run.map(|run| run.attempt), Some(1), "{event}");
    }
    for (event, text, field) in [
        ("pull_request", &pull, "number"),
        ("pull_request", &pull, "sha"),
        ("pull_request", &pull, "ref"),
        ("workflow_run", &run, "action"),
        ("workflow_run", &run, "id"),
        ("workflow_run", &run, "event"),
        ("workflow_run", &run, "head_sha"),
        ("merge_group", &group, "head_sha"),
        ("merge_group", &group, "base_sha"),
    ] {
        let fault = given(event, &text.replacen(&format!("\"{field}\""), "\"other\"", 1)).unwrap_err();
        assert!(fault.what.contains(field), "{event} without {field}: {fault}");
    }
}
