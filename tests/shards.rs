//! Shards that are cut by the time that cases take. The times are made up; the commits, the jobs and the files are real.

use std::path::{Path, PathBuf};

use gbench_ci::model::{Job, RunRecord};
use gbench_ci::store::{read_comparison, read_record};

use crate::support::cli::{command, ended, ran};
use crate::support::job::{Checkout, outside};

/// A record of the checkout's suite in which the cases took so many seconds.
fn costs(checkout: &Checkout, folder: &Path, seconds: &[(&str, f64)]) -> PathBuf {
    let root = checkout.root();
    ended(outside(&root, "run --quiet --processes 1 --artifacts measured")).exits(0);
    let run = std::fs::read_dir(root.join("measured")).unwrap().flatten().map(|entry| entry.path());
    let mut record: RunRecord = read_record(&run.filter(|path| path.is_dir()).max().unwrap()).unwrap();
    for case in &mut record.cases {
        let name = case.id.to_string();
        case.processes[0].seconds = seconds.iter().find(|(known, _)| *known == name).unwrap().1;
    }
    std::fs::remove_dir_all(root.join("measured")).unwrap();
    let path = folder.join("costs.json");
    std::fs::write(&path, serde_json::to_string(&record).unwrap()).unwrap();
    path
}

fn listed(root: &Path, line: &str) -> Vec<String> {
    let list = ended(outside(root, &format!("list --json {line}"))).exits(0);
    let list: serde_json::Value = serde_json::from_str(&list.out).unwrap();
    list["benchmarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_plan_cuts_the_suite_alike_in_every_job_and_error_rates_go_by_cases() {
    let folder = crate::support::tempdir().unwrap();
    let checkouts = [0, 1].map(|_| Checkout::of_pull_request(&[("note", "x")]));
    let costs = costs(&checkouts[0], folder.path(), &[("s/c0", 80.0), ("s/c1", 30.0), ("s/c2", 20.0)]);
    let line = format!("matrix --balance cost --shards 2 --plan plan.txt --costs {}", costs.display());
    ran(folder.path(), &line)
        .exits(0)
        .says(r#""shard":"2/2""#)
        .says("2 shards of 3 cases, by the costs in 1 record");
    let plan = folder.path().join("plan.txt");
    let text = std::fs::read_to_string(&plan).unwrap();
    let root = checkouts[0].root();
    assert_eq!(listed(&root, &format!("--shard 1/2 --shard-plan {}", plan.display())), ["s/c0"]);
    assert_eq!(listed(&root, &format!("--shard 2/2 --shard-plan {text}")), ["s/c1", "s/c2"]);
    // By number, the first and the third would be one shard.
    assert_eq!(listed(&root, "--shard 1/2"), ["s/c0", "s/c2"]);
    let mut cuts = Vec::new();
    for (at, checkout) in checkouts.iter().enumerate() {
        let line = format!("ci --quiet --rounds 4 --fail-on none --shard {}/2 --shard-plan {text}", at + 1);
        checkout.ran("pull_request.opened", &line).exits(0);
        let job: Job = checkout.job();
        cuts.push(job.cut.expect("the job says how the suite was cut"));
        let (base, head, _) = read_comparison(&checkout.comparison()).unwrap();
        let share = [1.0 / 3.0, 2.0 / 3.0][at];
        for record in [base, head] {
            let rule = record.comparison.unwrap().rule;
            assert_eq!((rule.alpha, rule.alpha_improved), (0.01 * share, 0.05 * share));
            assert_eq!(record.cases.len(), at + 1);
            assert_eq!(rule.screen_rounds, 4, "as the smallest shard needs");
        }
    }
    assert_eq!(cuts[0], cuts[1]);
    let parts = checkouts.each_ref().map(|checkout| checkout.comparison().display().to_string());
    let merged = ran(folder.path(), &format!("merge {} --expect 2 --fail-on none", parts.join(" ")));
    assert_eq!(merged.code, 0, "{}", merged.err);
    // A job that had another plan is refused.
    let other = Checkout::of_pull_request(&[("note", "x")]);
    other.ran("pull_request.opened", "ci --quiet --rounds 4 --fail-on none --shard 2/2").exits(0);
    let line = format!("merge {} {}", parts[0], other.comparison().display());
    ran(folder.path(), &line).exits(2).says("in different ways");
}

#[test]
fn a_shard_that_is_resumed_keeps_its_cases() {
    let checkout = Checkout::of_pull_request(&[("note", "x")]);
    let root = checkout.root();
    let begun = format!("compare {}..{} --quiet --rounds 4 --shard 1/2", checkout.base, checkout.head);
    ended(outside(&root, &begun));
    let names = || -> Vec<String> {
        let (base, ..) = read_comparison(&checkout.comparison()).unwrap();
        base.cases.iter().map(|case| case.id.to_string()).collect()
    };
    assert_eq!(names(), ["s/c0", "s/c2"]);
    let resumed = ended(outside(&root, "compare --resume --quiet --rounds 6 --shard 1/2"));
    assert!([0, 3].contains(&resumed.code), "{}\n{}", resumed.out, resumed.err);
    assert_eq!(names(), ["s/c0", "s/c2"]);
    assert_eq!(checkout.verdict().rows.len(), 2);
    let job: Job = checkout.job();
    assert!(job.cut.is_some() && job.shard.is_some());
}

#[test]
fn a_balance_without_costs_or_with_a_damaged_plan_is_refused_with_the_next_step() {
    let folder = crate::support::tempdir().unwrap();
    let checkout = Checkout::of_pull_request(&[("note", "x")]);
    let costs = costs(&checkout, folder.path(), &[("s/c0", 80.0), ("s/c1", 30.0), ("s/c2", 20.0)]);
    let matrix = |line: &str| ran(folder.path(), &format!("matrix {line}"));
    let costs = format!("--costs {}", costs.display());
    matrix("--balance 20m --plan p").exits(2).says("--costs");
    matrix(&format!("--balance 20m {costs}")).exits(2).says("--plan FILE");
    matrix(&format!("--balance soon {costs} --plan p")).exits(2).says("20m");
    matrix("--balance cost --costs nowhere --plan p").exits(2);
    matrix(&format!("--balance 5m {costs} --plan p"))
        .exits(2)
        .says("s/c0 alone is expected to take")
        .says("--budget");
    matrix(&format!("--balance 20m --shards 2 {costs} --plan p")).exits(2).says("a time decides");
    assert!(!folder.path().join("p").exists());
    // 80 s a process, four rounds of two sides.
    let found = matrix(&format!("--balance 12m {costs} --plan p --machine a=x --machine b=y")).exits(0);
    assert_eq!(found.out.matches("\"label\"").count(), 4, "{}", found.out);
    let outputs = folder.path().join("outputs");
    let mut step =
        command(folder.path(), &format!("matrix --balance cost --shards 3 {costs} --output matrix"));
    step.env("GITHUB_OUTPUT", &outputs);
    ended(step).exits(0);
    let outputs = std::fs::read_to_string(&outputs).unwrap();
    assert!(outputs.contains("matrix={\"include\"") && outputs.contains("matrix-plan=shards1:"), "{outputs}");

    let root = checkout.root();
    for (line, words) in [
        ("list --shard-plan shards1:AAA", "--shard"),
        ("list --shard 1/2 --shard-plan shards1:AAA", "it is damaged"),
        ("list --shard 1/2 --shard-plan nowhere", "cannot be read"),
        ("list --shard 1/2 --shard-plan gbench.toml", "does not begin with"),
        ("compare HEAD~1..HEAD --balance cost", "--launcher slurm"),
    ] {
        ended(outside(&root, line)).exits(2).says(words);
    }
}
