//! The parts of a matrix as one answer. `fixtures/merged` is written anew with `UPDATE_FIXTURES=1`.

use std::path::Path;

use gbench_ci::compare::*;
use gbench_ci::model::*;

use crate::support::cli::{command, ended, ran};
use crate::support::merging::{self, job, part, three_shards, verdict};
use crate::support::{fixture, folder_with};

fn shard(index: u32, of: u32) -> Option<Shard> {
    Some(Shard { index, of })
}

/// Panics unless merging is refused as a mistake of the caller that names both parts.
#[track_caller]
fn refused(parts: Vec<VerdictPart>, both: [&str; 2], words: &str) {
    let fault = merge(parts).unwrap_err();
    assert_eq!(fault.exit, Exit::Usage, "{fault}");
    for word in both.iter().chain([&words]) {
        assert!(fault.what.contains(word), "`{word}` in: {fault}");
    }
}

#[test]
fn the_shards_of_a_suite_are_one_verdict_as_if_nobody_had_cut_it() {
    let parts = three_shards("h100", true);
    let mut cases: Vec<CaseId> =
        parts.iter().flat_map(|part| &part.verdict.rows).map(|row| row.case.clone()).collect();
    let merged = merge(parts.clone()).unwrap();
    assert_eq!((merged.conclusion, merged.exit_code), (Conclusion::Regressed, 1));
    assert_eq!(merged.groups.len(), 1);
    let group = &merged.groups[0];
    assert_eq!(group.label, "h100");
    let whole = &group.verdict;
    assert_eq!(whole.rows.len(), 9);
    assert_eq!(whole.rows[0].case.benchmark.as_str(), "kernels/gemm");
    assert!(whole.rows.is_sorted_by_key(|row| row.verdict));
    let mut found: Vec<CaseId> = whole.rows.iter().map(|row| row.case.clone()).collect();
    cases.sort();
    found.sort();
    assert_eq!(found, cases);
    assert!(whole.sentence.starts_with("1 of 9 cases regressed: kernels/gemm time"), "{}", whole.sentence);
    assert_eq!(merged.sentence, whole.sentence);
    // The promise of the whole suite is what the gate asked for.
    assert_eq!(whole.method.alpha, 0.01);
    let rounds = whole.method.rounds.as_ref().unwrap();
    assert_eq!(rounds.alpha_improved, 0.05);
    let candidates: u32 = parts
        .iter()
        .filter_map(|part| part.verdict.method.rounds.as_ref())
        .map(|rounds| rounds.candidates)
        .sum();
    assert_eq!(rounds.candidates, candidates);
    let tested: u32 = parts.iter().map(|part| part.verdict.method.tested).sum();
    assert_eq!((whole.method.tested, whole.base.cases, whole.head.measured), (tested, 9, 9));
    assert!(rounds.location_shift.is_some());
    assert!(whole.reproduce.starts_with("for id in 20261121T"), "{}", whole.reproduce);
    assert!(merged.warnings.is_empty());
    assert_eq!(check_merged_consistency(&merged), Ok(()));
}

#[test]
fn the_order_of_the_parts_does_not_matter() {
    let mut parts = three_shards("h100", true);
    parts.extend(three_shards("a100", false));
    let merged = merge(parts.clone()).unwrap();
    parts.reverse();
    let again = merge(parts).unwrap();
    assert_eq!(merged.sentence, again.sentence);
    assert_eq!(merged.counts, again.counts);
    for (one, other) in merged.groups.iter().zip(&again.groups) {
        assert_eq!((&one.label, &one.verdict.rows), (&other.label, &other.verdict.rows));
    }
}

#[test]
fn of_several_machines_the_gravest_is_said_first_and_the_counts_are_of_all() {
    let merged = merge(vec![part("a100", None, false), part("h100", None, true)]).unwrap();
    assert_eq!((merged.conclusion, merged.exit_code), (Conclusion::Regressed, 1));
    assert!(merged.sentence.starts_with("h100: 1 of 9 cases regressed"), "{}", merged.sentence);
    assert!(merged.sentence.ends_with("; nothing regressed on a100."), "{}", merged.sentence);
    assert_eq!(merged.counts[&Verdict::Regressed], 1);
    assert_eq!(merged.counts.values().sum::<u32>(), 18);
    let green = merge(vec![part("a100", None, false), part("h100", None, false)]).unwrap();
    assert_eq!((green.conclusion, green.exit_code), (Conclusion::Pass, 0));
    assert_eq!(green.sentence, "Nothing regressed on any of 2 machines (a100, h100): 18 compared rows.");
    for merged in [merged, green] {
        assert_eq!(check_merged_consistency(&merged), Ok(()));
    }
}

#[test]
fn a_single_part_stays_as_it_is() {
    let only = part("h100", None, true);
    let merged = merge(vec![only.clone()]).unwrap();
    assert_eq!(merged.groups, [Group { label: "h100".into(), verdict: only.verdict.clone() }]);
    let without = VerdictPart { job: None, ..only.clone() };
    assert_eq!(merge(vec![without]).unwrap().groups[0].label, "");
}

#[test]
fn without_jobs_folders_say_which_machine_it_was() {
    let without = |name: &str, part: VerdictPart| VerdictPart { name: name.into(), job: None, ..part };
    let label = |names: [&str; 2]| {
        let parts =
            vec![without(names[0], part("h100", None, false)), without(names[1], part("a100", None, false))];
        let merged = merge(parts).unwrap();
        merged.groups.into_iter().map(|group| group.label).collect::<Vec<_>>()
    };
    assert_eq!(label(["in/h100", "in/a100/"]), ["a100", "h100"]);
    let run = "20261121T110000.000Z-c0ffee";
    assert_eq!(label([&format!("in/h100/{run}"), &format!("in/a100/{run}")]), ["a100", "h100"]);
    let other = "20261121T110000.000Z-c0ffef";
    assert_eq!(label([&format!("in/{run}"), &format!("in/{other}")]), [run, other]);
}

#[test]
fn a_shard_that_never_came_is_never_green() {
    let mut parts = three_shards("h100", false);
    parts.remove(1);
    let merged = merge(parts.clone()).unwrap();
    assert_eq!((merged.conclusion, merged.exit_code), (Conclusion::Failed, 4));
    assert_eq!(merged.warnings, ["shard 2 of 3 is missing"]);
    assert!(merged.sentence.ends_with("; shard 2 of 3 is missing."), "{}", merged.sentence);
    let of_machine = &merged.groups[0].verdict;
    assert_eq!((of_machine.conclusion, of_machine.exit_code), (Conclusion::Failed, 4));
    assert_eq!(of_machine.warnings[0], "shard 2 of 3 is missing");
    // What was found stays found.
    let mut red = three_shards("h100", true);
    red.retain(|part| part.verdict.exit_code == 1);
    let red = merge(red).unwrap();
    assert_eq!((red.conclusion, red.exit_code), (Conclusion::Regressed, 1));
    assert_eq!(red.warnings.len(), 2);
    // Beside other machines it is said whose.
    parts.push(part("a100", None, false));
    let several = merge(parts).unwrap();
    assert_eq!(several.warnings, ["h100: shard 2 of 3 is missing"]);
    assert_eq!(several.groups[0].verdict.exit_code, 0, "the other machine is whole");
    for merged in [merged, red, several] {
        assert_eq!(check_merged_consistency(&merged), Ok(()));
    }
}

#[test]
fn a_part_without_a_verdict_is_a_gap_and_nothing_at_all_is_a_failure() {
    let gap = |label: &str, shard| MissingPart {
        label: Some(label.into()),
        shard,
        what: "part `h100-2` has no verdict: its comparison did not come to its end".into(),
        ..MissingPart::default()
    };
    let mut parts = three_shards("h100", false);
    parts.remove(1);
    let merged = merge_with(parts.clone(), vec![gap("h100", shard(2, 3))], Absence::Missing).unwrap();
    assert_eq!(merged.warnings.len(), 1, "it is not said to be missing as well: {:?}", merged.warnings);
    assert_eq!((merged.conclusion, merged.exit_code), (Conclusion::Failed, 4));
    let other = merge_with(three_shards("h100", false), vec![gap("a100", None)], Absence::Missing).unwrap();
    assert_eq!((other.conclusion, other.exit_code), (Conclusion::Failed, 4));
    assert!(other.sentence.contains("but the comparison has gaps: part `h100-2`"), "{}", other.sentence);
    assert_eq!(other.groups[0].verdict.conclusion, Conclusion::Pass);
    let nothing = merge_with(Vec::new(), vec![gap("h100", None)], Absence::Missing).unwrap_err();
    assert_eq!(nothing.exit, Exit::Failed);
    assert!(nothing.what.starts_with("nothing was merged: part `h100-2`"), "{nothing}");
    assert_eq!(merge(Vec::new()).unwrap_err().exit, Exit::Failed);
}

#[test]
fn a_shard_that_compared_nothing_or_ended_otherwise_than_its_verdict_says_is_a_gap() {
    let mut parts = three_shards("h100", false);
    let (mut base, mut head) = crate::support::rounds::sides(&[]);
    for record in [&mut base, &mut head] {
        record.comparison.as_mut().unwrap().rule.name = SequentialRuleName::SeqE;
    }
    let mut empty = verdict_of(&base, &head, None).unwrap();
    (empty.base.commit, empty.head.commit) = (Some(merging::BASE.into()), Some(merging::HEAD.into()));
    parts[2] = VerdictPart { job: Some(job("h100", shard(3, 3), 4)), verdict: empty, ..parts[2].clone() };
    let merged = merge(parts.clone()).unwrap();
    assert_eq!((merged.conclusion, merged.exit_code), (Conclusion::Failed, 4));
    assert_eq!(merged.warnings, ["shard 3 of 3 compared nothing"]);
    let mut parts = three_shards("h100", false);
    parts[0].job.as_mut().unwrap().exit_code = 130;
    let merged = merge(parts).unwrap();
    assert_eq!((merged.conclusion, merged.exit_code), (Conclusion::Failed, 4));
    assert_eq!(merged.warnings, ["shard 1 of 3 ended with exit code 130, and its verdict says 0"]);
}

#[test]
fn a_shard_whose_machine_changed_does_not_hide_what_the_others_found() {
    let incomparable = |parts: &mut Vec<VerdictPart>| {
        let verdict = &mut parts[0].verdict;
        verdict.differences.push(Difference {
            field: "gpu_model".into(),
            base: "NVIDIA H100".into(),
            head: "NVIDIA A100".into(),
            strict: true,
        });
        verdict.rows.clear();
        verdict.counts.values_mut().for_each(|count| *count = 0);
        verdict.method.rounds = None;
        (verdict.conclusion, verdict.exit_code) = (Conclusion::Incomparable, 5);
        parts[0].job.as_mut().unwrap().exit_code = 5;
    };
    let (mut green, mut red) = (three_shards("h100", false), three_shards("h100", true));
    incomparable(&mut green);
    incomparable(&mut red);
    let green = merge(green).unwrap();
    assert_eq!((green.conclusion, green.exit_code), (Conclusion::Incomparable, 5));
    assert!(green.sentence.starts_with("Nothing regressed in 6 compared rows, but"), "{}", green.sentence);
    let red = merge(red).unwrap();
    assert_eq!((red.conclusion, red.exit_code), (Conclusion::Regressed, 1));
    for merged in [green, red] {
        assert_eq!(check_merged_consistency(&merged), Ok(()));
    }
}

#[test]
fn parts_that_do_not_belong_together_are_refused_by_name() {
    let shards = || three_shards("h100", false);
    let change = |of: usize, change: &dyn Fn(&mut VerdictPart)| {
        let mut parts = shards();
        change(&mut parts[of]);
        parts
    };
    let same = change(1, &|part| part.job.as_mut().unwrap().shard = shard(1, 3));
    refused(same, ["h100-1", "h100-2"], "are both shard 1 of 3");
    let of_two = change(1, &|part| part.job.as_mut().unwrap().shard = shard(2, 2));
    refused(of_two, ["h100-1", "h100-2"], "a shard of 2");
    let uncut = change(2, &|part| part.job.as_mut().unwrap().shard = None);
    refused(uncut, ["h100-1", "h100-3"], "no shard");
    let base = change(1, &|part| part.verdict.base.commit = Some("5".repeat(40)));
    refused(base, ["h100-1", "h100-2"], "the base of");
    let head = change(2, &|part| part.verdict.head.commit = None);
    refused(head, ["h100-1", "h100-3"], "no known commit");
    let pull = change(2, &|part| part.job.as_mut().unwrap().head = Some("5".repeat(40)));
    refused(pull, ["h100-1", "h100-3"], "pull request's head");
    let rule = change(1, &|part| part.verdict.method.rule = "process-welch-holm-2".into());
    refused(rule, ["h100-1", "h100-2"], "its rule is");
    let policy = change(2, &|part| part.verdict.method.inconclusive_fails = true);
    refused(policy, ["h100-1", "h100-3"], "inconclusive_fails is");
    let twice =
        vec![part("h100", None, false), VerdictPart { name: "again".into(), ..part("h100", None, false) }];
    refused(twice, ["h100", "again"], "both judge kernels/");
}

#[test]
fn a_graver_exit_code_of_a_shard_is_not_lost_among_the_others() {
    let mut parts = three_shards("h100", false);
    let noisy: Vec<_> = merging::shard_of(&merging::suite(false), Shard { index: 2, of: 3 })
        .into_iter()
        .map(|plan| crate::support::rounds::Planned {
            differences: crate::support::rounds::differences(7, 0.0, 0.4, 40),
            ..plan
        })
        .collect();
    let verdict = verdict("h100", &noisy, 3);
    assert_eq!(verdict.exit_code, 3, "{}", verdict.sentence);
    parts[1] = VerdictPart { job: Some(job("h100", shard(2, 3), 3)), verdict, ..parts[1].clone() };
    let merged = merge(parts).unwrap();
    assert_eq!((merged.conclusion, merged.exit_code), (Conclusion::Inconclusive, 3));
    assert_eq!(check_merged_consistency(&merged), Ok(()));
}

#[test]
fn the_job_of_all_is_as_strict_as_the_strictest() {
    let merged = merge(three_shards("h100", true)).unwrap();
    let with = |words: &[&str]| Job {
        fail_on: words.iter().map(|word| (*word).to_owned()).collect(),
        ..job("h100", None, 0)
    };
    let of = |jobs: &[Job]| merged_job(jobs, &merged).unwrap();
    let both = of(&[with(&["regression"]), Job { fork: true, ..with(&["failed", "regression"]) }]);
    assert_eq!(
        (both.fail_on, both.fork, both.exit_code),
        (vec!["failed".into(), "regression".into()], true, 1)
    );
    assert_eq!((both.label.as_str(), both.sources.len()), ("h100", 1));
    assert!(of(&[with(&["regression"]), with(&[])]).fail_on.is_empty());
    assert_eq!(merged_job(&[], &merged), None);
}

/// Whether a document holds all that the kept one holds, in the same figures: fields may be added, none may change.
fn adds_only(kept: &str, now: &str) -> bool {
    use serde_json::Value;
    fn holds(kept: &Value, now: &Value) -> bool {
        match (kept, now) {
            (Value::Object(kept), Value::Object(now)) => {
                // A version says why in its own words; `why` and `advice` hold the figures.
                let is_prose = |key: &str| ["reason", "next"].contains(&key);
                kept.iter()
                    .all(|(key, value)| is_prose(key) || now.get(key).is_some_and(|now| holds(value, now)))
            }
            (Value::Array(kept), Value::Array(now)) => {
                kept.len() == now.len() && kept.iter().zip(now).all(|(kept, now)| holds(kept, now))
            }
            _ => kept == now,
        }
    }
    let [kept, now] = [kept, now].map(|text| serde_json::from_str::<Value>(text).unwrap());
    holds(&kept, &now)
}

/// Writes the fixture's parts, or holds them to the builder.
fn held(folder: &Path, parts: &[VerdictPart]) {
    for part in parts {
        let fresh = crate::support::tempdir().unwrap();
        let written = merging::write(part, fresh.path());
        for file in ["job.json", "reports/verdict.json"] {
            let kept = folder.join(&part.name).join(file);
            if std::env::var_os("UPDATE_FIXTURES").is_some() {
                merging::write(part, folder);
            }
            let [old, new] = [&kept, &written.join(file)].map(|path| std::fs::read_to_string(path).unwrap());
            assert!(adds_only(&old, &new), "{}: run with UPDATE_FIXTURES=1", kept.display());
        }
    }
}

#[test]
fn the_kept_parts_give_the_kept_merge_by_the_command() {
    let mut gpus = three_shards("a100", false);
    gpus.extend(three_shards("h100", true));
    for (name, parts, code) in [("three_shards", three_shards("h100", false), 0), ("two_gpus", gpus, 1)] {
        let folder = fixture("merged").join(name);
        held(&folder.join("parts"), &parts);
        let fresh = crate::support::tempdir().unwrap();
        let line =
            format!("merge parts --expect {} --output {}", parts.len(), fresh.path().join("out").display());
        ran(&folder, &line).exits(code).says("merged.json");
        for file in ["merged.json", "job.json"] {
            let now = std::fs::read_to_string(fresh.path().join("out").join(file)).unwrap();
            let kept = folder.join("merged").join(file);
            if std::env::var_os("UPDATE_FIXTURES").is_some() {
                std::fs::create_dir_all(folder.join("merged")).unwrap();
                std::fs::write(&kept, &now).unwrap();
            }
            let kept = std::fs::read_to_string(&kept).unwrap();
            assert!(adds_only(&kept, &now), "{name}/merged/{file}: run with UPDATE_FIXTURES=1");
        }
    }
}

#[test]
fn a_merge_is_reported_in_every_format_with_its_code() {
    let folder = fixture("merged/two_gpus");
    let shown = ran(&folder, "report merged/merged.json --exit-code").exits(1);
    let shown = shown.says("h100: 1 of 9 cases regressed").says("18 rows of 2 machines: 1 regressed");
    insta::assert_snapshot!("merged_terminal", shown.out);
    assert!(shown.out.lines().all(|line| line.chars().count() <= 80 || line.contains("for id in")));
    insta::assert_snapshot!("merged_markdown", ran(&folder, "report merged --format markdown").exits(0).out);
    let json = ran(&folder, "report merged --format json").exits(0).out;
    assert_eq!(json, std::fs::read_to_string(folder.join("merged/merged.json")).unwrap());
    let csv = ran(&folder, "report merged --format csv").exits(0).out;
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    assert_eq!(reader.headers().unwrap().get(0), Some("label"));
    let labels: Vec<String> = reader.records().map(|record| record.unwrap()[0].to_owned()).collect();
    assert_eq!(labels, [["a100"; 9], ["h100"; 9]].concat());
    let junit = ran(&folder, "report merged --format junit").exits(0).out;
    assert!(
        junit.contains("testsuite name=\"h100: kernels\"") && junit.contains("failures=\"1\""),
        "{junit}"
    );
    let lines = ran(&folder, "report merged --format jsonl").exits(0).out;
    assert!(lines.lines().count() == 18 && lines.lines().all(|line| line.starts_with("{\"label\":\"")));
}

#[test]
fn a_merge_with_gaps_shows_them_in_every_format() {
    let folder = crate::support::tempdir().unwrap();
    let mut parts = three_shards("h100", false);
    parts.remove(2);
    parts.iter().for_each(|part| drop(merging::write(part, &folder.path().join("parts"))));
    ran(folder.path(), "merge parts").exits(4).says("shard 3 of 3 is missing").says("FAILED");
    for format in ["markdown", "junit", "json"] {
        let line = format!("report merged --exit-code --format {format}");
        ran(folder.path(), &line).exits(4).says("shard 3 of 3 is missing");
    }
    let junit = ran(folder.path(), "report merged --format junit").out;
    assert!(junit.contains("errors=\"1\""), "{junit}");
}

#[test]
fn folders_that_hold_no_verdict_are_gaps_by_the_command() {
    let folder = crate::support::tempdir().unwrap();
    let parts = folder.path().join("parts");
    merging::write(&part("h100", None, false), &parts);
    ran(folder.path(), "merge parts").exits(0);
    ran(folder.path(), "merge parts --expect 2").exits(4).says("1 of 2 parts came with a verdict");
    std::fs::create_dir_all(parts.join("a100/logs")).unwrap();
    ran(folder.path(), "merge parts").exits(4).says("part `parts/a100` has no verdict");
    // A job that was cancelled: journals, and no verdict.
    let results = parts.join("a100/20261121T110000.000Z-c0ffee/base/results");
    std::fs::create_dir_all(&results).unwrap();
    std::fs::write(results.join("journal.jsonl"), "").unwrap();
    ran(folder.path(), "merge parts").exits(4).says("has no verdict: its comparison did not come to its end");
    std::fs::remove_dir_all(parts.join("h100")).unwrap();
    ran(folder.path(), "merge parts").exits(4).says("nothing was merged");
    ran(folder.path(), "merge nowhere").exits(2).says("there is no such folder");
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    ran(&empty, "merge .").exits(4).says("nothing was merged");
    ran(folder.path(), "merge").exits(2);
}

#[test]
fn a_merge_among_its_own_parts_is_no_part_and_alone_it_is_refused() {
    let folder = crate::support::tempdir().unwrap();
    three_shards("h100", false).iter().for_each(|part| drop(merging::write(part, folder.path())));
    ran(folder.path(), "merge .").exits(0);
    let first = std::fs::read(folder.path().join("merged/merged.json")).unwrap();
    ran(folder.path(), "merge .").exits(0);
    assert_eq!(std::fs::read(folder.path().join("merged/merged.json")).unwrap(), first);
    ran(folder.path(), "merge merged").exits(2).says("a merge takes the parts");
}

#[test]
fn the_same_part_twice_is_refused_by_the_command() {
    let folder = crate::support::tempdir().unwrap();
    merging::write(&part("h100", None, false), folder.path());
    ran(folder.path(), "merge h100 h100").exits(2).says("both judge");
}

#[test]
fn parts_that_cut_the_suite_in_different_ways_are_refused() {
    let with = |part: VerdictPart, cut: Option<&str>| {
        let job = Job { cut: cut.map(str::to_owned), ..part.job.unwrap() };
        VerdictPart { job: Some(job), ..part }
    };
    let cuts = |cuts: [Option<&str>; 3]| -> Vec<VerdictPart> {
        three_shards("h100", false).into_iter().zip(cuts).map(|(part, cut)| with(part, cut)).collect()
    };
    let [one, other] = ["0123456789abcdef", "fedcba9876543210"].map(Some);
    assert_eq!(merge(cuts([one, one, one])).unwrap().exit_code, 0);
    // A job of an earlier version does not have it.
    assert_eq!(merge(cuts([None, one, one])).unwrap().exit_code, 0);
    refused(cuts([one, other, one]), ["h100-1", "h100-2"], "in different ways");
    // Each machine may be cut in another way.
    let mut two = cuts([one, one, one]);
    two.push(with(part("a100", Some(Shard { index: 1, of: 1 }), false), other));
    assert_eq!(merge(two).unwrap().exit_code, 0);
}

#[test]
fn parts_that_have_not_come_yet_are_pending_and_neither_green_nor_failed() {
    let mut parts = three_shards("h100", false);
    parts.remove(1);
    let pending = merge_with(parts.clone(), Vec::new(), Absence::Pending).unwrap();
    assert_eq!((pending.conclusion, pending.exit_code), (Conclusion::Inconclusive, 3));
    assert!(pending.is_pending() && !merge(parts.clone()).unwrap().is_pending());
    assert_eq!(pending.warnings, ["shard 2 of 3 is pending"]);
    assert!(pending.sentence.starts_with("Nothing regressed in 6 compared rows"), "{}", pending.sentence);
    assert!(pending.sentence.ends_with("shard 2 of 3 is pending."), "{}", pending.sentence);
    // A part that was lost is not pending, whoever waits for others.
    let lost = MissingPart {
        label: Some("h100".into()),
        what: "part `x` has no verdict".into(),
        ..MissingPart::default()
    };
    let lost = merge_with(parts.clone(), vec![lost], Absence::Pending).unwrap();
    assert_eq!((lost.conclusion, lost.exit_code), (Conclusion::Failed, 4));
    assert!(lost.is_pending());
    // A regression is one at once.
    let mut red = three_shards("h100", true);
    red.retain(|part| part.verdict.exit_code == 1);
    let red = merge_with(red, Vec::new(), Absence::Pending).unwrap();
    assert_eq!((red.conclusion, red.exit_code), (Conclusion::Regressed, 1));
    // Another machine that is whole stays green for itself.
    parts.push(part("a100", None, false));
    let several = merge_with(parts, Vec::new(), Absence::Pending).unwrap();
    assert_eq!((several.groups[0].verdict.exit_code, several.exit_code), (0, 3));
    for merged in [&pending, &lost, &red, &several] {
        assert_eq!(check_merged_consistency(merged), Ok(()));
    }
    // A document cannot be green and wait.
    let mut forged = pending.clone();
    (forged.conclusion, forged.exit_code) = (Conclusion::Pass, 0);
    assert!(check_merged_consistency(&forged).is_err());
    forged.groups[0].verdict.conclusion = Conclusion::Pass;
    forged.groups[0].verdict.exit_code = 0;
    assert!(check_merged_consistency(&forged).is_err());
}

#[test]
fn a_partial_merge_ends_with_code_3_until_the_last_part_has_come() {
    let folder = crate::support::tempdir().unwrap();
    let parts = three_shards("h100", false);
    let put = |at: usize| drop(merging::write(&parts[at], &folder.path().join("parts")));
    put(0);
    let line = "merge parts --expect 3 --partial";
    ran(folder.path(), line)
        .exits(3)
        .says("1 of 3 parts came with a verdict so far")
        .says("shard 2 of 3 is pending");
    // Whatever fails a job, it is not green.
    ran(folder.path(), &format!("{line} --fail-on regression")).exits(3);
    ran(folder.path(), "report merged --exit-code").exits(3).says("shard 3 of 3 is pending");
    ran(folder.path(), "merge parts --expect 3").exits(4).says("shard 2 of 3 is missing");
    put(1);
    put(2);
    ran(folder.path(), line).exits(0);
    let whole = std::fs::read(folder.path().join("merged/merged.json")).unwrap();
    ran(folder.path(), "merge parts --expect 3").exits(0);
    assert_eq!(std::fs::read(folder.path().join("merged/merged.json")).unwrap(), whole);
    ran(folder.path(), "merge parts --partial").exits(2).says("--expect");
    // A machine whose parts are all absent.
    ran(folder.path(), "merge parts --expect 4 --partial").exits(3).says("3 of 4 parts came");
    // A number that is too small would hide it.
    ran(folder.path(), "merge parts --expect 2 --partial").exits(4).says("3 parts came, and 2 were expected");
}

const SUITES: &str = "[suite]\nname = \"s\"\n[defaults]\nprocesses = 2\n\
    [[benchmark]]\nid = \"a\"\ncommand = [\"sleep\", \"0.01\"]\n[[benchmark]]\nid = \"b\"\ncommand = [\"sleep\", \"0.01\"]\n";

#[test]
fn runs_of_parts_of_a_suite_become_one_record() {
    let folder = folder_with(SUITES);
    for (id, place) in [("a", "one"), ("b", "two")] {
        ran(folder.path(), &format!("run --benchmark s/{id} --artifacts {place} --quiet")).exits(0);
    }
    let runs: Vec<String> = ["one", "two"].iter().map(|place| newest(&folder.path().join(place))).collect();
    let line = format!("merge one/{} two/{}", runs[0], runs[1]);
    ran(folder.path(), &line).exits(0).says("record merged/results/record.json");
    let text = std::fs::read_to_string(folder.path().join("merged/results/record.json")).unwrap();
    let record: RunRecord = serde_json::from_str(&text).unwrap();
    let cases: Vec<String> = record.cases.iter().map(|case| case.id.to_string()).collect();
    assert_eq!(cases, ["s/a", "s/b"]);
    assert_eq!(
        (record.state, record.run_id.to_string()),
        (RecordState::Complete, format!("{}-merged", runs[0]))
    );
    // A merged record is a run's folder like any.
    ran(folder.path(), "compare merged merged").exits(0);
    ran(folder.path(), &line).exits(2).says("there is already a file or folder here");
    ran(folder.path(), &format!("merge one/{0} one/{0} --output x", runs[0])).exits(2).says("both hold s/a");
    ran(folder.path(), &format!("merge one/{} --expect 2 --output y", runs[0])).exits(4).says("1 of 2 parts");
    // A plan that only one job has cut the suite for it alone.
    let plan = folder.path().join("plan.txt");
    let costs = format!("one/{}", runs[0]);
    ran(folder.path(), &format!("matrix --shards 1 --balance cost --costs {costs} --plan plan.txt")).exits(0);
    assert!(plan.is_file());
    ran(folder.path(), "run --shard 1/2 --shard-plan plan.txt --artifacts cut --quiet").exits(0);
    ran(folder.path(), "run --shard 2/2 --artifacts counted --quiet").exits(0);
    let [cut, counted] = ["cut", "counted"].map(|place| newest(&folder.path().join(place)));
    let line = format!("merge cut/{cut} counted/{counted} --output w");
    ran(folder.path(), &line).exits(2).says("were cut by different plans");
    // Other settings are another measurement.
    ran(folder.path(), "run --benchmark s/b --processes 3 --artifacts three --quiet").exits(0);
    let other = newest(&folder.path().join("three"));
    let line = format!("merge one/{} three/{other} --output z", runs[0]);
    ran(folder.path(), &line).exits(2).says("same settings");
}

fn newest(folder: &Path) -> String {
    let names =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.starts_with('.')).max().unwrap()
}

#[test]
fn a_matrix_is_one_line_that_a_workflow_reads() {
    let folder = crate::support::tempdir().unwrap();
    let line = "matrix --shards 2 --machine h100=self-hosted,gpu,h100 --machine a100=self-hosted,a100";
    let out = ran(folder.path(), line).exits(0).out;
    assert_eq!(
        out,
        "{\"include\":[{\"label\":\"h100\",\"runner\":[\"self-hosted\",\"gpu\",\"h100\"],\"shard\":\"1/2\"},\
         {\"label\":\"h100\",\"runner\":[\"self-hosted\",\"gpu\",\"h100\"],\"shard\":\"2/2\"},\
         {\"label\":\"a100\",\"runner\":[\"self-hosted\",\"a100\"],\"shard\":\"1/2\"},\
         {\"label\":\"a100\",\"runner\":[\"self-hosted\",\"a100\"],\"shard\":\"2/2\"}]}\n"
    );
    let outputs = folder.path().join("outputs");
    std::fs::write(&outputs, "before=1\n").unwrap();
    let mut step = command(folder.path(), &format!("{line} --output matrix"));
    step.env("GITHUB_OUTPUT", &outputs);
    assert_eq!(ended(step).exits(0).out, out);
    assert_eq!(std::fs::read_to_string(&outputs).unwrap(), format!("before=1\nmatrix={out}"));
    let mut outside = command(folder.path(), "matrix --output matrix");
    outside.env_remove("GITHUB_OUTPUT");
    ended(outside).exits(2).says("GITHUB_OUTPUT is not set");
    let mut odd = command(folder.path(), "matrix --output a=b");
    odd.env("GITHUB_OUTPUT", &outputs);
    ended(odd).exits(2).says("cannot be called so");
    ran(folder.path(), "matrix --shards 257").exits(2);
    ran(folder.path(), "matrix --shards 200 --machine a=x --machine b=x").exits(2).says("at most 256 jobs");
}

#[test]
fn what_every_verdict_says_follows_from_its_rows() {
    let mut held = 0;
    let mut hold = |verdict: &VerdictDocument, name: &Path| {
        held += 1;
        assert_eq!(check_consistency(verdict), Ok(()), "{}", name.display());
    };
    for folder in ["rounds", "rounds_gaps", "verdicts", "merged"] {
        for path in verdicts_below(&fixture(folder)) {
            let text = std::fs::read_to_string(&path).unwrap();
            hold(&serde_json::from_str(&text).unwrap(), &path);
        }
    }
    for entry in std::fs::read_dir(fixture("comparisons")).unwrap() {
        let folder = entry.unwrap().path();
        let record = |name: &str| -> RunRecord {
            serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
        };
        let (base, head) = (record("base.json"), record("head.json"));
        let side = |record| SideInput { record, name: "x".into() };
        for (sessions, fails) in [(0, false), (0, true), (4, false), (4, true)] {
            let policy =
                Policy { sessions, inconclusive_fails: fails, failed_fails: !fails, ..Policy::default() };
            hold(&compare(&side(&base), &side(&head), &policy).unwrap(), &folder);
        }
    }
    assert!(held > 100, "{held}");
}

fn verdicts_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        match path.is_dir() {
            true => found.extend(verdicts_below(&path)),
            false if name == "verdict.json" || name == "demo.json" => found.push(path),
            false => {}
        }
    }
    found
}

#[test]
fn what_one_shard_skips_another_may_measure() {
    let skips_own = |part: &mut VerdictPart| {
        part.verdict.method.no_reference = Some(NoReference::OwnSkipped);
        part.verdict.method.only_built_in = true;
        (part.verdict.conclusion, part.verdict.exit_code) = (Conclusion::Inconclusive, 3);
        part.job.as_mut().unwrap().exit_code = 3;
    };
    let merged = |parts: &[VerdictPart]| {
        let merged = merge(parts.to_vec()).unwrap();
        assert_eq!(check_merged_consistency(&merged), Ok(()));
        (merged.conclusion, merged.exit_code, merged.sentence)
    };
    let mut parts = three_shards("h100", false);
    skips_own(&mut parts[0]);
    // The third has own cases.
    parts[1].verdict.method.only_built_in = true;
    assert_eq!((merged(&parts).0, merged(&parts).1), (Conclusion::Pass, 0));
    parts[2].verdict.method.only_built_in = true;
    let (conclusion, code, sentence) = merged(&parts);
    assert_eq!((conclusion, code), (Conclusion::Inconclusive, 3));
    assert!(sentence.contains("No line of the repository was measured"), "{sentence}");
    // Another reason stays, in whatever order they come.
    parts[2].verdict.method = three_shards("h100", false)[2].verdict.method.clone();
    parts[2].verdict.method.no_reference = Some(NoReference::NoParent);
    (parts[2].verdict.conclusion, parts[2].verdict.exit_code) = (Conclusion::Inconclusive, 3);
    parts[2].job.as_mut().unwrap().exit_code = 3;
    assert_eq!(merge(parts).unwrap().groups[0].verdict.method.no_reference, Some(NoReference::NoParent));
}
