//! One suite file for both sides of `gbench-ci compare`: asked for by name, or taken from the checkout where no commit to
//! be compared has one; and never a job's way to choose its own gate.

use gbench_ci::compare::{Verdict, VerdictDocument};
use gbench_ci::model::{CommonSuite, Judge};
use gbench_ci::store::{latest_comparison, read_comparison};

use crate::commits::{CASES, Repository, suite};
use crate::support::cli::{Ran, command, ended};
use crate::support::git::Sandbox;

/// As a person runs it, whatever runs the tests.
fn by_a_person(repository: &Repository, line: &str) -> Ran {
    let mut command = command(repository.root(), &format!("compare {line}"));
    command.env_remove("CI").env_remove("GITHUB_ACTIONS");
    ended(command)
}

/// Two commits without a suite file, the second with more work in case 2, and the suite file beside them.
fn without_a_suite_file(cost: f64) -> Repository {
    let repository = Repository::new();
    repository.git(&["rm", "--quiet", "gbench.toml"]);
    repository.git(&["commit", "--quiet", "--amend", "--message", "first"]);
    let mut costs = [1.0; CASES];
    costs[2] = cost;
    repository.work(&costs);
    repository.write("note", "so that there is a change\n");
    repository.commit("second");
    repository.write("gbench.toml", &suite(CASES));
    repository
}

fn common(repository: &Repository) -> CommonSuite {
    let (base, head, _) = read_comparison(&repository.latest()).unwrap();
    let [base, head] = [base, head].map(|record| record.comparison.unwrap().suite_file);
    assert_eq!(base, head);
    base.expect("both sides have one suite file")
}

#[test]
fn n26_commits_without_a_suite_file_are_measured_with_the_checkouts_and_every_report_says_so() {
    let repository = without_a_suite_file(1.05);
    let ran = by_a_person(&repository, "HEAD~1..HEAD").exits(1);
    let words = "both sides were measured with one suite file, gbench.toml of the checkout";
    let ran = ran.says("s/c2").says(words);
    assert!(ran.err.contains(words), "also before the first round: {}", ran.err);
    let said = common(&repository);
    assert_eq!((said.path.as_str(), said.folder.as_str(), said.judge), ("gbench.toml", "", Judge::Common));
    let verdict = repository.verdict();
    assert_eq!(verdict.method.suite_file, Some(said));
    let reports = repository.latest().join("reports");
    let markdown = std::fs::read_to_string(reports.join("verdict.md")).unwrap();
    assert!(markdown.contains("one suite file"), "{markdown}");
    let replayed = ended(command(repository.root(), "replay"));
    replayed.exits(1).says("identical to");
}

#[test]
fn n26_right_after_init_commits_and_the_working_tree_are_compared() {
    let sandbox = Sandbox::new();
    let program = "i=0\nwhile [ $i -lt 20000 ]; do i=$((i + 1)); done\n";
    sandbox.commit(&[("bench_count.sh", program)]);
    sandbox.commit(&[("bench_count.sh", &program.replace("20000", "20001"))]);
    let run = |line: &str| {
        let mut command = command(&sandbox.root(), line);
        command.env_remove("CI").env_remove("GITHUB_ACTIONS");
        ended(command)
    };
    run("init").exits(0);
    // What the times are is the machine's business: that both sides were measured is what counts.
    for line in ["compare HEAD~1..HEAD --rounds 4", "compare main --rounds 4"] {
        let ran = run(line);
        assert!([0, 1, 3].contains(&ran.code), "{line}: {}\n{}", ran.out, ran.err);
        ran.says("one suite file");
        let folder = latest_comparison(&sandbox.root().join("artifacts")).unwrap();
        let (base, head, _) = read_comparison(&folder).unwrap();
        for record in [&base, &head] {
            assert!(record.cases[0].outcome.is_measured(), "{line}: {:?}", record.cases[0].outcome);
            assert_eq!(record.cases[0].processes.len(), 4);
        }
    }
}

#[test]
fn n26_a_suite_file_that_is_named_measures_both_sides_and_the_bases_own_still_judges() {
    let repository = Repository::with_change(1.03);
    let own = suite(CASES).replacen("[gate]", "[gate]\nalpha = 0.02", 1);
    repository.write("gbench.toml", &own);
    repository.commit("third");
    repository.work(&[1.0, 1.0, 1.09, 1.0, 1.0, 1.0]);
    repository.commit("fourth");
    // One case more than either commit has, a gate that would let everything pass.
    let loose =
        "[gate]\nalpha = 1e-30\nfailed = \"pass\"\n[[gate.rule]]\ntarget = \"90%\"\nmin_effect = \"90%\"\n";
    let text = suite(CASES + 1).replacen("[gate]", loose, 1).replace("\"c6\"]", "\"c0\"]");
    let text = text.replacen("watch = false\n", "", 1).replacen(loose, &format!("{loose}\n"), 1);
    let elsewhere = crate::support::tempdir().unwrap();
    let file = elsewhere.path().join("mine.toml");
    std::fs::write(&file, text).unwrap();

    let ran = by_a_person(&repository, &format!("HEAD~1..HEAD --suite-file {}", file.display()));
    ran.exits(1).says("s/c2").says("the base's own file decides how they are judged");
    let document = repository.verdict();
    assert_eq!(document.method.alpha, 0.02);
    assert!(
        document.rows.iter().any(|row| row.case.benchmark.name() == "c6"),
        "what is measured is the file's"
    );
    let red = document.rows.iter().find(|row| row.verdict == Verdict::Regressed).unwrap();
    assert_eq!(red.case.benchmark.name(), "c2");
    assert_eq!(common(&repository).judge, Judge::Base);
    // Without the flag each side has its own, and nothing is said.
    by_a_person(&repository, "HEAD~1..HEAD").exits(1);
    assert_eq!(repository.verdict().method.suite_file, None);
}

#[test]
fn n26_what_was_begun_with_one_suite_file_is_gone_on_with_by_its_kept_text() {
    let repository = without_a_suite_file(1.025);
    by_a_person(&repository, "HEAD~1..HEAD --budget 100ms --quiet").exits(3).says("resume");
    let before = common(&repository);
    // The checkout's file has gone: the comparison has kept it.
    std::fs::remove_file(repository.root().join("gbench.toml")).unwrap();
    repository.write("other.toml", &suite(CASES - 1));
    let other = by_a_person(&repository, "--resume --suite-file other.toml --quiet").exits(2);
    other.says("--suite-file").says("another text of gbench.toml");
    by_a_person(&repository, "--resume --quiet").exits(1).says("s/c2");
    assert_eq!(common(&repository), before);

    let kept = repository.latest().join("suite.toml");
    let text = std::fs::read_to_string(&kept).unwrap();
    std::fs::write(&kept, text.replace("watch = false", "watch = false\nalpha = 0.4")).unwrap();
    by_a_person(&repository, "--resume --quiet").exits(4).says("it was edited");
    std::fs::remove_file(&kept).unwrap();
    by_a_person(&repository, "--resume --quiet").exits(4).says("cannot be read");
}

#[test]
fn n26_each_sides_own_files_are_not_exchanged_by_a_resume() {
    let repository = Repository::with_change(1.025);
    by_a_person(&repository, "HEAD~1..HEAD --budget 100ms --quiet").exits(3);
    let ran = by_a_person(&repository, "--resume --suite-file gbench.toml --quiet").exits(2);
    ran.says("begun with each side's own suite file");
}

#[test]
fn n26_a_job_cannot_choose_its_own_gate() {
    let repository = without_a_suite_file(1.05);
    // No flag of `ci`.
    ended(command(repository.root(), "ci --base HEAD~1 --suite-file gbench.toml"))
        .exits(2)
        .says("--suite-file");
    // Nor the default, neither of `ci` nor of a `compare` that a job runs.
    for line in ["ci --base HEAD~1", "compare HEAD~1..HEAD"] {
        let mut job = command(repository.root(), line);
        job.env_remove("GITHUB_ACTIONS").env("CI", "true");
        let ran = ended(job);
        assert!([2, 4].contains(&ran.code), "{line}: {}\n{}", ran.out, ran.err);
        ran.says("has no suite file");
        assert_eq!(latest_comparison(&repository.root().join("artifacts")), None);
    }
    // A head that brings the first suite file has no base to compare with.
    repository.commit("the head brings it");
    let mut job = command(repository.root(), "ci --base HEAD~1");
    job.env_remove("GITHUB_ACTIONS").env("CI", "true");
    ended(job).exits(4).says("the base has no suite file yet");
    // What a person measured so is not taken for a job's answer.
    by_a_person(&repository, "HEAD~1..HEAD --suite-file gbench.toml --quiet").exits(0);
    let folder = repository.latest();
    let job = r#"{"schema": "gbench-ci/job/v1", "event": "none", "base": {"why": "chosen"}, "exit_code": 0}"#;
    std::fs::write(folder.join("job.json"), job).unwrap();
    let merged = ended(command(repository.root(), &format!("merge {}", folder.display()))).exits(2);
    merged.says("measured with a suite file that a user chose");
    // A person is told what helps.
    let ran = by_a_person(&repository, "HEAD~1..HEAD --quiet").exits(4);
    ran.says("--suite-file gbench.toml");
    by_a_person(&repository, "HEAD~1..HEAD --suite-file gbench.toml --quiet").exits(0);
    let document: VerdictDocument = repository.verdict();
    assert_eq!(document.method.suite_file.unwrap().judge, Judge::Common);
}
