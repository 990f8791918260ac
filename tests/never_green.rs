//! Never green by omission: comparisons in rounds in which something is not there, kept under `fixtures/rounds_gaps`.
//! `UPDATE_FIXTURES=1` writes them anew from what stands here.

use std::path::PathBuf;

use gbench_ci::compare::{Conclusion, Verdict, VerdictDocument, check_consistency};
use gbench_ci::model::*;

use crate::support::cli::ran;
use crate::support::fixture;
use crate::support::rounds::{differences, sides, timed};
use crate::support::stories::Story;

/// Three quiet cases of three rounds: green, if nothing is done to them.
fn whole() -> Story {
    let plan = |index: u32| timed(&format!("s/case{index}"), &differences(index, 0.0, 0.002, 4));
    let (base, head) = sides(&[plan(1), plan(2), plan(3)]);
    Story { base, head, control: None }
}

fn gone(record: &mut RunRecord) {
    record.cases.clear();
}

fn each(record: &mut RunRecord, outcome: &Outcome) {
    for case in &mut record.cases {
        case.outcome = outcome.clone();
        case.processes.clear();
        case.metrics.clear();
    }
}

fn skipped() -> Outcome {
    Outcome::Skipped {
        code: None,
        cause: "it needs a GPU, and there is none".into(),
        advice: "run it where one is".into(),
    }
}

fn broken_build() -> Outcome {
    Outcome::Failed {
        kind: FailureKind::Build,
        cause: "the build step ended with exit code 1".into(),
        advice: "run the build step by hand".into(),
    }
}

fn by(story: &mut Story, rule: SequentialRuleName) {
    for record in [&mut story.base, &mut story.head] {
        record.comparison.as_mut().unwrap().rule.name = rule;
    }
}

/// What is missing, what comes of it, and words that its sentence or warnings must hold.
type Gap = (&'static str, fn(&mut Story), i32, Conclusion, &'static str);

const GAPS: [Gap; 12] = [
    ("base_missing", |story| gone(&mut story.base), 4, Conclusion::Failed, "3 are new"),
    ("head_missing", |story| gone(&mut story.head), 4, Conclusion::Failed, "3 are missing"),
    (
        "both_empty",
        |story| {
            gone(&mut story.base);
            gone(&mut story.head);
        },
        4,
        Conclusion::Failed,
        "Nothing was compared",
    ),
    (
        "all_skipped",
        |story| {
            each(&mut story.base, &skipped());
            each(&mut story.head, &skipped());
        },
        4,
        Conclusion::Failed,
        "Nothing was compared",
    ),
    (
        "all_inconclusive",
        |story| {
            let noisy = |index: u32| timed(&format!("s/case{index}"), &differences(index, 0.0, 0.2, 40));
            (story.base, story.head) = sides(&[noisy(1), noisy(2), noisy(3)]);
        },
        3,
        Conclusion::Inconclusive,
        "Nothing could be decided",
    ),
    (
        "base_build_broken",
        // By the newest rule it is mended.
        |story| {
            each(&mut story.base, &broken_build());
            by(story, SequentialRuleName::SeqE);
        },
        4,
        Conclusion::Failed,
        "3 are invalid",
    ),
    (
        "base_breaks_later",
        |story| {
            let case = &mut story.base.cases[1];
            case.processes.truncate(3);
            case.metrics[0].processes.truncate(3);
            case.outcome = Outcome::Failed {
                kind: FailureKind::Signal,
                cause: "ended by SIGSEGV".into(),
                advice: "read its log".into(),
            };
        },
        4,
        Conclusion::Failed,
        "1 is invalid: s/case2",
    ),
    (
        "head_build_broken",
        |story| each(&mut story.head, &broken_build()),
        4,
        Conclusion::Failed,
        "3 are invalid",
    ),
    (
        "one_build_broken",
        |story| {
            let mut one = story.head.clone();
            one.cases.truncate(1);
            each(&mut one, &broken_build());
            story.head.cases[0] = one.cases.remove(0);
        },
        4,
        Conclusion::Failed,
        "1 is invalid: s/case1",
    ),
    (
        "no_common_case",
        |story| {
            for case in &mut story.head.cases {
                case.id.benchmark = format!("other/{}", case.id.benchmark.name()).parse().unwrap();
            }
        },
        4,
        Conclusion::Failed,
        "Nothing was compared",
    ),
    (
        "screen_not_over",
        |story| {
            let short = |index: u32| timed(&format!("s/case{index}"), &differences(index, 0.0, 0.002, 2));
            (story.base, story.head) = sides(&[short(1), short(2), short(3)]);
        },
        3,
        Conclusion::Inconclusive,
        "Nothing could be decided",
    ),
    (
        "another_machine",
        |story| {
            let Probe::Known(gpus) = &mut story.head.manifest.gpu else { panic!("it knows its GPU") };
            gpus.devices[0].model = Probe::Known("NVIDIA A100-SXM4-80GB".into());
        },
        5,
        Conclusion::Incomparable,
        "the machines differ",
    ),
];

fn story(change: fn(&mut Story)) -> Story {
    let mut story = whole();
    change(&mut story);
    story
}

fn folder(name: &str) -> PathBuf {
    fixture("rounds_gaps").join(name)
}

#[test]
fn what_is_not_there_is_never_green() {
    assert_eq!(whole().verdict().exit_code, 0, "the gaps alone must make the difference");
    for (name, change, code, conclusion, words) in GAPS {
        let document = story(change).verdict();
        assert_eq!((document.exit_code, document.conclusion), (code as u8, conclusion), "{name}");
        assert!(document.sentence.contains(words), "{name}: {}", document.sentence);
    }
}

#[test]
fn every_gap_among_the_fixtures_is_replayed_with_its_exit_code() {
    for (name, change, code, ..) in GAPS {
        let story = story(change);
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            let _ = std::fs::remove_dir_all(folder(name));
            story.write(&folder(name));
        }
        let id = story.base.comparison.as_ref().unwrap().id.to_string();
        let ran = ran(&folder(name), &format!("replay {id} --artifacts .")).exits(code);
        // The kept verdicts are of a version that gave fewer fields.
        ran.says("the same in every figure");
        let kept = std::fs::read_to_string(folder(name).join(id).join("reports/verdict.json")).unwrap();
        let kept: VerdictDocument = serde_json::from_str(&kept).unwrap();
        assert_eq!(kept.sentence, story.verdict().sentence, "{name}: run with UPDATE_FIXTURES=1");
    }
}

/// Three quiet cases, of which the first ones are broken on base and on head.
fn broken(on_base: usize, on_head: usize) -> Story {
    story_of(|story| {
        for (record, cases) in [(&mut story.base, on_base), (&mut story.head, on_head)] {
            let mut rest = record.cases.split_off(cases);
            each(record, &broken_build());
            record.cases.append(&mut rest);
        }
    })
}

fn story_of(change: impl FnOnce(&mut Story)) -> Story {
    let mut story = whole();
    change(&mut story);
    story
}

#[test]
fn b5_what_is_broken_on_base_and_measured_on_head_is_mended_and_passes_if_another_row_was_decided() {
    for (cases, unchanged, ends) in [(1, 2, (0, Conclusion::Pass)), (3, 0, (3, Conclusion::Inconclusive))] {
        let story = broken(cases, 0);
        let document = story.verdict();
        assert_eq!((document.exit_code, document.conclusion), ends, "{cases}");
        let counts = [Verdict::Mended, Verdict::Unchanged].map(|verdict| document.counts[&verdict]);
        assert_eq!(counts, [cases as u32, unchanged]);
        assert!(document.sentence.contains("mended: s/case"), "{}", document.sentence);
        assert_eq!(check_consistency(&document), Ok(()));
        let row = document.rows.iter().find(|row| row.verdict == Verdict::Mended).unwrap();
        assert!(row.reason.contains("failed on base, measured on head: the build step"), "{}", row.reason);
        // A record is judged by the rule that it names.
        let mut before = story;
        by(&mut before, SequentialRuleName::SeqE4);
        assert_eq!(before.verdict().exit_code, 4);
        assert_eq!(before.verdict().counts[&Verdict::Invalid], cases as u32);
    }
}

#[test]
fn a_base_that_the_machine_no_longer_runs_after_some_rounds_is_no_new_case() {
    let skipped =
        || Outcome::Skipped { code: None, cause: "the card is taken".into(), advice: String::new() };
    let story = story_of(|story| story.base.cases[0].outcome = skipped());
    let document = story.verdict();
    assert_eq!((document.exit_code, document.counts[&Verdict::Invalid]), (4, 1), "{}", document.sentence);
    // One that never ran has another requirement on base.
    let story = story_of(|story| {
        let case = &mut story.base.cases[0];
        case.outcome = skipped();
        case.processes.clear();
        case.metrics.clear();
    });
    let document = story.verdict();
    assert_eq!((document.exit_code, document.counts[&Verdict::New]), (0, 1), "{}", document.sentence);
}

#[test]
fn b5_what_is_broken_on_both_sides_is_told_and_fails_nothing_unless_the_gate_says_so() {
    let story = broken(1, 1);
    let document = story.verdict();
    assert_eq!((document.exit_code, document.conclusion), (0, Conclusion::Inconclusive));
    assert!(document.sentence.contains("1 is broken: s/case1"), "{}", document.sentence);
    assert_eq!(check_consistency(&document), Ok(()));
    let mut strict = story;
    for record in [&mut strict.base, &mut strict.head] {
        record.comparison.as_mut().unwrap().policy.broken_fails = true;
    }
    assert_eq!(strict.verdict().exit_code, 4);
    // Nothing was compared, which is never green.
    let document = broken(3, 3).verdict();
    assert_eq!((document.exit_code, document.conclusion), (3, Conclusion::Inconclusive));
    assert!(document.sentence.starts_with("Nothing was compared; 3 are broken"), "{}", document.sentence);
    // Broken on head alone: as ever.
    let document = broken(0, 1).verdict();
    assert_eq!((document.exit_code, document.counts[&Verdict::Invalid]), (4, 1));
}

/// Three quiet cases: a built-in one, and two of the repository, of which `skipped_cases` are skipped on both sides.
fn beside_a_built_in_one(skipped_cases: usize) -> Story {
    story_of(|story| {
        for record in [&mut story.base, &mut story.head] {
            record.cases[0].command = vec!["builtin".into(), "cpu_flops".into()];
            let rest = record.cases.split_off(1 + skipped_cases);
            let own = record.cases.split_off(1);
            let built_in = std::mem::replace(&mut record.cases, own);
            each(record, &skipped());
            record.cases = [built_in, std::mem::take(&mut record.cases), rest].concat();
        }
    })
}

#[test]
fn built_in_cases_are_no_pass_if_all_of_the_repositorys_own_were_skipped_on_both_sides() {
    let none_of_it = beside_a_built_in_one(2);
    let document = none_of_it.verdict();
    assert_eq!((document.exit_code, document.conclusion), (3, Conclusion::Inconclusive));
    assert_eq!(document.method.no_reference, Some(NoReference::OwnSkipped));
    assert!(document.sentence.starts_with("No line of the repository was measured"), "{}", document.sentence);
    assert_eq!(check_consistency(&document), Ok(()));
    // One of them is enough, and a record is judged by the rule that it names.
    assert_eq!(beside_a_built_in_one(1).verdict().exit_code, 0);
    let mut before = none_of_it;
    by(&mut before, SequentialRuleName::SeqE4);
    assert_eq!(before.verdict().exit_code, 0);
}

#[test]
fn other_choices_of_an_autotuner_are_told_beside_the_verdict() {
    let with = |of_head: &str| {
        story_of(|story| {
            for (record, config) in [(&mut story.base, "BLOCK: 64"), (&mut story.head, of_head)] {
                let chosen = serde_json::json!({ "softmax": [config] });
                record.cases[1].metadata.insert("autotuned".into(), chosen);
            }
        })
    };
    let told = |story: &Story| {
        let document = story.verdict();
        document
            .warnings
            .into_iter()
            .find(|warning| warning.contains("autotuners chose other configurations"))
    };
    assert!(told(&with("BLOCK: 128")).is_some_and(|warning| warning.contains("s/case2")));
    assert_eq!(told(&with("BLOCK: 64")), None);
}

#[test]
fn b35_samples_of_one_and_of_two_calls_are_told() {
    let with = |of_base: u64, of_head: u64| {
        let mut story = whole();
        for (record, calls) in [(&mut story.base, of_base), (&mut story.head, of_head)] {
            record.cases[0].metadata.insert("calls_per_sample".into(), calls.into());
        }
        let document = story.verdict();
        document
            .warnings
            .iter()
            .any(|warning| warning.contains("another number of calls on base than on head in s/case1"))
    };
    assert!(with(2, 1) && !with(1, 1) && !with(100, 90));
}
