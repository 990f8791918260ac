//! `gbench-ci ci` from an event file to what it leaves behind. Programs are real processes with made-up times.

use std::process::Command;

use gbench_ci::compare::{Verdict, Warning};
use gbench_ci::history::{HistoryBranch, HistoryEntry};
use gbench_ci::model::{Job, SourceLine};
use gbench_ci::store::read_comparison;

use crate::support::cli::{Ran, ended};
use crate::support::history::entry;
use crate::support::job::{Checkout, obeyed, outside, suite, work};

fn slower() -> Checkout {
    Checkout::of_pull_request(&[("work", &work(&[1.0, 1.1, 1.0]))])
}

fn commands(ran: &Ran) -> Vec<String> {
    obeyed(&ran.out).into_iter().map(|obeyed| obeyed.command).collect()
}

#[test]
fn a_slower_pull_request_is_red_and_leaves_all_that_publishing_needs() {
    let checkout = slower();
    let ran = checkout.ran("pull_request.synchronize", "ci --label h100").exits(1);
    let short = &checkout.base.to_string()[..10];
    let ran = ran.says(&format!("base {short}: the merge base of main and this branch, "));
    let job = checkout.job();
    assert_eq!(job.head, Some(checkout.head.to_string()), "never the merge commit");
    assert_eq!(job.base.commit, Some(checkout.base.to_string()));
    assert!(job.base.why.ends_with("days old"), "{}", job.base.why);
    assert_eq!(job.base.committed.as_deref(), Some("2023-11-14T22:13:20Z"));
    assert_eq!((job.event.as_str(), job.label.as_str(), job.exit_code), ("pull_request", "h100", 1));
    assert!(!job.fork && job.fail_on.is_empty() && job.shard.is_none());
    let source = |n| SourceLine { benchmark: format!("s/c{n}"), path: "bench.sh".into(), line: 1 };
    assert_eq!(job.sources, [source(0), source(1), source(2)]);

    let folder = checkout.comparison();
    let output = |name: &str| checkout.output(name).unwrap();
    assert_eq!(
        ["verdict", "regressions", "improvements", "inconclusive", "exit-code"].map(output),
        ["regressed", "1", "0", "0", "1"]
    );
    assert_eq!(output("folder"), folder.display().to_string());
    for name in ["record", "report"] {
        assert!(std::path::Path::new(&output(name)).is_file(), "{}", output(name));
    }
    assert!(
        checkout.summary().contains("s/c1")
            && checkout.summary().contains(short)
            && checkout.summary().contains("the merge base of main and this branch")
    );
    let notes = obeyed(&ran.out);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(ran.out.contains("::error file=bench.sh,line=1,title=s/c1 time%3A +"), "{}", ran.out);
}

#[test]
fn a_benchmark_that_was_renamed_is_compared_with_what_it_was_called() {
    let renamed = |more: &str| suite(3, "").replace("id = \"c1\"", &format!("id = \"d1\"\n{more}"));
    for (cost, code, verdict) in [(1.0, 0, Verdict::Unchanged), (1.1, 1, Verdict::Regressed)] {
        let files = [("gbench.toml", renamed("renamed_from = \"c1\"")), ("work", work(&[1.0, cost, 1.0]))];
        let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
        let checkout = Checkout::of_pull_request(&files);
        let ran = checkout.ran("pull_request.synchronize", "ci").exits(code);
        drop(ran.says("base its s/c1 is compared as s/d1"));
        let found = checkout.verdict();
        let told = |warning: &Warning| matches!(warning, Warning::Renamed { named, .. } if named == &["s/d1 (on base s/c1)"]);
        assert!(found.warning_codes.iter().any(told), "{:?}", found.warning_codes);
        let row = found.rows.iter().find(|row| row.case.benchmark.to_string() == "s/d1").unwrap();
        assert_eq!((row.verdict, found.rows.len()), (verdict, 3));
    }
    // It pairs where somebody says so, and only then; and says so of one benchmark that is not there any more.
    let checkout = Checkout::of_pull_request(&[("gbench.toml", &renamed(""))]);
    checkout.ran("pull_request.synchronize", "ci --quiet").exits(4);
    for (more, mistake) in [
        ("renamed_from = \"c0\"", "still has a benchmark"),
        (
            "renamed_from = \"x\"\n[[benchmark]]\nid = \"e\"\nrenamed_from = \"x\"",
            "were both renamed from `s/x`",
        ),
    ] {
        let checkout = Checkout::of_pull_request(&[("gbench.toml", &renamed(more))]);
        drop(checkout.ran("pull_request.synchronize", "ci").exits(2).says(mistake));
    }
}

#[test]
fn a15_what_the_suite_files_say_differently_is_told() {
    let changed = suite(3, "")
        .replace("id = \"c1\"", "id = \"c1\"\nbuild = [\"true\"]\ndir = \".\"\ndescription = \"x\"");
    let checkout = Checkout::of_pull_request(&[("gbench.toml", &changed), ("work", &work(&[1.0; 3]))]);
    checkout.ran("pull_request.synchronize", "ci --quiet");
    let told = checkout.verdict().warning_codes;
    let is_it = |warning: &Warning| matches!(warning, Warning::DefinedOtherwise { named, .. } if named == &["c1 (build, dir)"]);
    assert!(told.iter().any(is_it), "{told:?}");
}

#[test]
fn the_same_is_left_behind_outside_of_github() {
    let checkout = slower();
    checkout.sandbox.repository.set_head("refs/heads/topic").unwrap();
    let ran = ended(outside(&checkout.root(), "ci --quiet --fail-on regression")).exits(1);
    assert!(!ran.out.contains("::"), "{}", ran.out);
    let short = &checkout.base.to_string()[..10];
    ran.says(&format!("base {short}: the merge base of main and this branch, "));
    let job = checkout.job();
    assert_eq!((job.event.as_str(), job.fail_on.as_slice()), ("none", &["regression".to_owned()][..]));
    assert_eq!(job.head, Some(checkout.head.to_string()));
    assert_eq!(job.base.commit, Some(checkout.base.to_string()));
    assert_eq!(job.sources.len(), 3);
    assert_eq!(checkout.verdict().exit_code, 1);
    // What nobody committed is judged, too.
    checkout.sandbox.write("work", &work(&[1.0; 3]));
    ended(outside(&checkout.root(), "ci --quiet --base main")).exits(0).says("working tree");
}

#[test]
fn what_fails_the_job_is_what_the_job_lists() {
    let checkout = slower();
    let ran = checkout.ran("pull_request.opened", "ci --quiet --fail-on failed,inconclusive").exits(0);
    ran.says("exit 0: the gate has 1, and the job fails on failed, inconclusive");
    assert_eq!(checkout.output("exit-code").as_deref(), Some("0"));
    assert_eq!(checkout.output("regressions").as_deref(), Some("1"));
    assert_eq!((checkout.job().exit_code, checkout.job().fail_on.len()), (1, 2));
    checkout.ran("pull_request.opened", "ci --quiet --fail-on none").exits(0);
    checkout.ran("pull_request.opened", "ci --quiet --fail-on regresion").exits(2);

    // A gate that lets inconclusive cases pass, under a budget that decides nothing.
    let open = slower();
    let line = "ci --quiet --budget 1us --fail-on inconclusive";
    open.ran("pull_request.opened", line).exits(3);
    assert_eq!(open.output("verdict").as_deref(), Some("inconclusive"));
}

#[test]
fn a_scheduled_run_without_a_history_says_that_it_compares_a_commit_with_itself() {
    let checkout = slower();
    let ran = checkout.ran("schedule", "ci --quiet").exits(3);
    ran.says("the commit itself, so that this shows noise alone");
    assert_eq!(checkout.job().base.commit, checkout.job().head);
}

#[test]
fn a_base_is_said_once() {
    let checkout = slower();
    let ran = checkout.ran("pull_request.opened", "ci --rounds 4 --fail-on none").exits(0);
    // The log of the measurement has two blanks, the report is indented.
    let said = |words: &str| ran.out.lines().filter(|line| line.starts_with(words)).count();
    assert_eq!((said("base "), said("base  "), said("head  ")), (1, 0, 1), "{}", ran.out);
}

#[test]
fn a_pull_request_that_adds_the_suite_is_told_that_the_next_one_is_compared() {
    let checkout =
        Checkout::over(&[("work", &work(&[1.0]))], &[("gbench.toml", suite(1, "").as_str()), ("note", "x")]);
    let ran = checkout.ran("pull_request.opened", "ci --quiet").exits(4);
    ran.says("the base has no suite file yet, so that this pull request cannot be compared")
        .says("merge it, and the next pull request is compared with it");
    assert!(checkout.summary().contains("cannot be compared"));
    let ran = checkout.ran("push", "ci --quiet").exits(4);
    ran.says("the base has no suite file yet").says("the next run is compared with it");
}

#[test]
fn a_scheduled_run_goes_by_what_its_history_says_of_each_commit() {
    let checkout = slower();
    let line = "ci --quiet --rounds 4 --history git:gbench-history --fail-on none";
    // Nobody has kept a run yet.
    let ran = checkout.ran("schedule", line).exits(0).says("the branch of the history is not there");
    assert_eq!(commands(&ran), ["warning"]);
    assert!(ran.out.contains("::warning title=compared with itself::base: the commit itself"), "{}", ran.out);
    assert_eq!(checkout.job().base.commit, checkout.job().head);

    let append = |number: u32, commit: git2::Oid, conclusion: &str, shard: Option<&str>| {
        let history =
            HistoryBranch::open(&"git:gbench-history".parse().unwrap(), &checkout.root(), None).unwrap();
        let entry = HistoryEntry {
            commit: commit.to_string(),
            conclusion: Some(conclusion.into()),
            shard: shard.map(|shard| shard.split('@').next().unwrap().parse().unwrap()),
            cut: shard.and_then(|shard| Some(shard.split_once('@')?.1.to_owned())),
            ..entry(number)
        };
        history.append(&entry).unwrap();
    };
    // Inconclusive is not green, and neither is one shard of two.
    append(1, checkout.base, "inconclusive", None);
    append(2, checkout.head, "pass", Some("1/2"));
    let ran = checkout.ran("schedule", line).exits(0);
    let ran = ran.says("the commit of the oldest run in the history, because no run of main is green yet");
    assert!(!ran.out.contains("title=compared with itself"), "{}", ran.out);
    assert_eq!(checkout.job().base.commit, Some(checkout.base.to_string()));

    append(3, checkout.base, "pass", None);
    let ran = checkout.ran("schedule", line).exits(0).says(": the newest green commit of the history, ");
    assert_eq!(checkout.job().base.commit, Some(checkout.base.to_string()));
    assert!(!ran.out.contains("title=compared with itself"), "{}", ran.out);

    // The newest cut counts, which is also in the index: shards of two cuts are not a whole.
    append(4, checkout.head, "pass", Some("1/2@0a1b"));
    append(5, checkout.head, "pass", Some("2/2@2c3d"));
    checkout.ran("schedule", line).exits(0);
    assert_eq!(checkout.job().base.commit, Some(checkout.base.to_string()));
    append(6, checkout.head, "pass", Some("1/2@2c3d"));
    let ran = checkout.ran("schedule", line).exits(0).says("already judged green");
    assert_eq!(checkout.job().base.commit, Some(checkout.head.to_string()));
    assert!(commands(&ran).is_empty(), "{}", ran.out);
    // Another machine has a past of its own.
    let ran = checkout.ran("schedule", &format!("{line} --label h100")).exits(0);
    ran.says("the history has no run of main yet");
}

#[test]
fn a_checkout_that_was_cut_short_is_told_of_its_fetch_depth() {
    let checkout = slower();
    let root = checkout.root();
    checkout.sandbox.repository.reference("refs/heads/pull", merge_of(&checkout), true, "x").unwrap();
    let shallow = checkout.sandbox.folder.path().join("shallow");
    let from = format!("file://{}", root.display());
    let words = ["clone", "--quiet", "--depth", "1", "--branch", "pull", &from];
    assert!(Command::new("git").args(words).arg(&shallow).status().unwrap().success());
    let mut step = checkout.step("pull_request.opened", "ci --quiet");
    step.current_dir(&shallow);
    let ran = ended(step).exits(2).says("a larger `fetch-depth`").says("which is shallow");
    assert_eq!(commands(&ran), ["error"]);
    assert_eq!(checkout.output("exit-code").as_deref(), Some("2"));
    assert!(checkout.summary().contains("a larger `fetch-depth`"));
}

fn merge_of(checkout: &Checkout) -> git2::Oid {
    checkout.sandbox.repository.head().unwrap().target().unwrap()
}

#[test]
fn a_benchmark_without_a_file_of_its_own_is_at_its_entry() {
    let text = suite(1, "")
        + "[[benchmark]]\nid = \"line\"\nshell = \"sh 'sub/bench.sh' c0\"\ndir = \".\"\n\n\
           [[benchmark]]\nid = \"none\"\ncommand = [\"sh\", \"-c\", \"exit 0\", \"../bench.sh\", \"/bin/sh\"]\n";
    let checkout = Checkout::over(
        &[("gbench.toml", &text), ("work", &work(&[1.0])), ("sub/bench.sh", "exit 0")],
        &[("note", "x")],
    );
    checkout
        .ran("pull_request.opened", "ci --quiet --rounds 4 --benchmark line --benchmark none --fail-on none");
    let line = |text: &str, id: &str| {
        let before = text.split(id).next().unwrap();
        before.matches('\n').count() as u32
    };
    let expected = [
        SourceLine { benchmark: "s/line".into(), path: "sub/bench.sh".into(), line: 1 },
        SourceLine {
            benchmark: "s/none".into(),
            path: "gbench.toml".into(),
            line: line(&text, "id = \"none\""),
        },
    ];
    assert_eq!(checkout.job().sources, expected);
}

#[test]
fn a_flag_that_makes_no_sense_is_refused_before_anything_is_measured() {
    let checkout = slower();
    for (line, words) in [
        ("ci --label a/b", "a label is up to 50"),
        ("ci --base main..topic", "this is not a single revision"),
        ("ci --base nowhere", "nowhere"),
        ("ci --processes 3", "--processes"),
        ("ci --shard 4/3", "2/3"),
        ("ci --history bogus:x", "is not an address of a store"),
        ("ci --history dir:x", "a history is a branch"),
        ("ci --store bogus:x", "is not an address of a store"),
        ("ci --fail-on none,regression", "exclude each other"),
        ("ci --shard 1/4", "more shards than cases"),
    ] {
        checkout.ran("pull_request.opened", line).exits(2).says(words);
    }
    for event in ["push", "schedule", "workflow_dispatch", "merge_group"] {
        checkout.ran(event, "ci --history bogus:x").exits(2).says("is not an address of a store");
    }
    ended(outside(&checkout.root(), "ci --history bogus:x")).exits(2);
    assert!(!checkout.root().join("artifacts").exists());
    checkout.ran("push.deleted", "ci").exits(2).says("there is nothing to measure");
}

/// The jobs of a matrix, each in its own checkout as in CI.
fn shards(main: &[(&str, &str)], files: &[(&str, &str)], of: u32) -> Vec<Checkout> {
    let shard = |index: u32| {
        let checkout = Checkout::over(main, files);
        let ran = checkout.ran("pull_request.opened", &format!("ci --quiet --shard {index}/{of}"));
        assert!([0, 1, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
        checkout
    };
    (1..=of).map(shard).collect()
}

#[test]
fn shards_are_the_whole_suite_and_share_its_chance_of_a_false_alarm() {
    // c5 is only the base's, c6 only the head's.
    let without = |text: &str, case: &str| {
        let entries = text.split("[[benchmark]]\n").filter(|entry| !entry.contains(case));
        entries.collect::<Vec<_>>().join("[[benchmark]]\n")
    };
    let base = suite(6, "");
    let head = without(&suite(7, ""), "\"c5\"");
    let costs = work(&[1.0; 7]);
    let main = [("gbench.toml", base.as_str()), ("work", costs.as_str())];
    let checkouts = shards(&main, &[("gbench.toml", head.as_str())], 3);
    let mut seen: Vec<String> = Vec::new();
    let mut alphas = [0.0; 2];
    for (index, checkout) in checkouts.iter().enumerate() {
        let job: Job = checkout.job();
        assert_eq!(job.shard.unwrap().to_string(), format!("{}/3", index + 1));
        let document = checkout.verdict();
        seen.extend(document.rows.iter().map(|row| row.case.to_string()));
        let (base, head, _) = read_comparison(&checkout.comparison()).unwrap();
        let rule = base.comparison.unwrap().rule;
        // By the cases that both sides have: c0 and c3, c1 and c4, c2.
        let share = [0.4, 0.4, 0.2][index];
        assert_eq!((rule.alpha, rule.alpha_improved), (0.01 * share, 0.05 * share));
        assert_eq!(head.comparison.unwrap().rule, rule);
        assert_eq!(document.method.alpha, rule.alpha);
        alphas[0] += rule.alpha;
        alphas[1] += rule.alpha_improved;
        // Each has something to compare.
        assert!(document.rows.iter().any(|row| row.change.is_some()), "{:?}", document.rows);
    }
    seen.sort();
    assert_eq!(seen, (0..7).map(|case| format!("s/c{case}")).collect::<Vec<_>>());
    assert!((alphas[0] - 0.01).abs() < 1e-12 && (alphas[1] - 0.05).abs() < 1e-12);
}

#[test]
fn a_list_and_a_run_have_the_same_shards() {
    let checkout = Checkout::of_pull_request(&[("note", "x")]);
    let root = checkout.root();
    let mut listed = Vec::new();
    let mut measured = Vec::new();
    for index in 1..=2 {
        let list = ended(outside(&root, &format!("list --json --shard {index}/2"))).exits(0);
        let list: serde_json::Value = serde_json::from_str(&list.out).unwrap();
        let ids = list["benchmarks"].as_array().unwrap().iter();
        let ids: Vec<String> = ids.map(|entry| entry["id"].as_str().unwrap().to_owned()).collect();
        let line = format!("run --quiet --processes 1 --shard {index}/2 --artifacts {index}");
        ended(outside(&root, &line)).exits(0);
        let run = std::fs::read_dir(root.join(index.to_string())).unwrap();
        let run = run.flatten().map(|entry| entry.path()).find(|path| path.is_dir()).unwrap();
        let record = gbench_ci::store::read_record(&run).unwrap();
        let cases: Vec<String> = record.cases.iter().map(|case| case.id.to_string()).collect();
        assert_eq!(cases, ids);
        listed.extend(ids);
        measured.extend(cases);
    }
    listed.sort();
    assert_eq!(listed, ["s/c0", "s/c1", "s/c2"]);
    for line in ["list --shard 1/4", "run --shard 4/4", "compare main --shard 1/4"] {
        ended(outside(&root, line)).exits(2).says("there are more shards than cases: 3 cases");
    }
    ended(outside(&root, "compare a.json b.json --shard 1/2"))
        .exits(2)
        .says("it only applies when two commits are compared");
}

#[test]
fn the_store_of_a_job_is_named_as_that_of_a_comparison() {
    let folder = crate::support::tempdir().unwrap();
    for command in ["ci", "compare"] {
        let help = ended(outside(folder.path(), &format!("{command} --help"))).exits(0);
        let words: Vec<&str> = help.out.split_whitespace().collect();
        let words = words.join(" ");
        let store = "--store <ADDRESS> Store instead of the suite file's: dir:PATH, git:BRANCH, \
                     github:OWNER/REPO@BRANCH or s3://BUCKET/PREFIX";
        assert!(words.contains(store), "{}", help.out);
    }
}

#[test]
fn n17_the_command_for_one_s_own_machine_keeps_what_the_job_was_told_to_measure() {
    let checkout = slower();
    let line = "ci --quiet --rounds 4 --fail-on none --benchmark s/c[01] --iterations 7 --config gbench.toml";
    checkout.ran("pull_request.opened", line).exits(0);
    let [base, head] = [checkout.base, checkout.head].map(|id| id.to_string()[..10].to_owned());
    let command = format!("gbench-ci compare {base}..{head} --iterations 7 --benchmark 's/c[01]'");
    assert!(checkout.summary().contains(&command), "{command} in\n{}", checkout.summary());
    assert_eq!(checkout.job().pull_request, Some(42));
    // What is published from the job's folder says the same, and it measures the same.
    let line = format!("publish {} --dry-run", checkout.comparison().display());
    checkout.ran("pull_request.opened", &line).exits(0).says(&command);
    let again = command.trim_start_matches("gbench-ci ").replace('\'', "");
    let before = checkout.verdict();
    let again = format!("{again} --quiet --rounds 4");
    assert!([0, 1, 3].contains(&ended(outside(&checkout.root(), &again)).code));
    let cases = |rows: &[gbench_ci::compare::Row]| {
        let mut cases: Vec<String> = rows.iter().map(|row| row.case.to_string()).collect();
        cases.sort();
        cases
    };
    assert_eq!(cases(&checkout.verdict().rows), cases(&before.rows));
    assert_eq!(cases(&before.rows), ["s/c0", "s/c1"]);
    // One shard's own page is about that shard.
    let checkout = slower();
    checkout.ran("pull_request.opened", "ci --quiet --rounds 4 --fail-on none --shard 2/3").exits(0);
    assert!(
        checkout.summary().contains(&format!("{head} --shard 2/3"))
            || checkout.summary().contains("--shard 2/3")
    );
}

/// As actions/checkout does with a number for `fetch-depth` and no `ref`: the merge commit, and so much of what is below it.
fn cut(checkout: &Checkout, depth: u32) -> tempfile::TempDir {
    let folder = crate::support::tempdir().unwrap();
    let line = format!(
        "git init -q . && git -c protocol.file.allow=always fetch -q --no-tags --depth={depth} 'file://{}' \
         HEAD:refs/remotes/pull/42/merge && git checkout -q --detach refs/remotes/pull/42/merge",
        checkout.root().display()
    );
    let done =
        std::process::Command::new("sh").args(["-c", &line]).current_dir(folder.path()).status().unwrap();
    assert!(done.success());
    folder
}

/// A step in another folder, of an event that tells of this base.
fn inside_of(checkout: &Checkout, base: &str, folder: &tempfile::TempDir, line: &str) -> Ran {
    let mut step = checkout.step("pull_request.opened", line);
    let path = checkout.sandbox.folder.path().join("event.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace(&checkout.base.to_string(), base)).unwrap();
    step.current_dir(folder.path());
    ended(step)
}

#[test]
fn n17_the_merge_commit_brings_both_sides_and_not_the_history_s_branch() {
    let checkout = slower();
    let sandbox = &checkout.sandbox;
    let nights = sandbox.repository.head().unwrap().target().unwrap();
    sandbox.branch("gbench-history", nights);
    let inside = |folder: &tempfile::TempDir, line: &str| {
        let mut step = checkout.step("pull_request.opened", line);
        step.current_dir(folder.path());
        ended(step)
    };
    let line = "ci --quiet --rounds 4 --fail-on none";
    let folder = cut(&checkout, 50);
    // The event may tell of a base that moved on since the merge was made: the merge itself has both sides.
    let moved = inside_of(&checkout, "7777777777777777777777777777777777777777", &folder, line).exits(0);
    assert!(moved.out.contains(&checkout.base.to_string()[..10]), "{}", moved.out);
    let ran = inside(&folder, line).exits(0);
    assert!(ran.out.contains("the merge base of main and this branch"), "{}", ran.out);
    assert!(ran.out.contains(&checkout.base.to_string()[..10]), "{}", ran.out);
    let clone = git2::Repository::open(folder.path()).unwrap();
    assert!(clone.is_shallow() || clone.find_commit(checkout.base).is_ok());
    let branches: Vec<String> =
        clone.references().unwrap().names().map(|name| name.unwrap().to_owned()).collect();
    assert_eq!(branches, ["refs/remotes/pull/42/merge"]);
    // Too little of it is an error that says how to get more.
    let folder = cut(&checkout, 1);
    inside(&folder, line).exits(2).says("a larger `fetch-depth`");
}
