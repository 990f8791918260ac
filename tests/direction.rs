//! Which way is better is the base's to say, and in which unit is head's.

use gbench_ci::compare::{Verdict, verdict_of};
use gbench_ci::model::{SequentialRule, SequentialRuleName};

use crate::support::repository::{Repository, UNWATCHED, row, suite};
use crate::support::rounds::{differences, sides, timed};

/// The head is 30 % slower, and says in one way or another that this is better.
fn slower(first: &[(&str, &str)], second: &[(&str, &str)]) -> Repository {
    Repository::new(first, &[&[("cost", "1.3\n")], second].concat())
}

#[test]
fn n3_a_head_whose_suite_file_turns_the_direction_is_invalid() {
    let (before, after) =
        (suite(UNWATCHED, ""), suite(&format!("{UNWATCHED}[metrics.time]\nbetter = \"higher\"\n"), ""));
    let it = slower(&[("gbench.toml", &before)], &[("gbench.toml", &after)]);
    it.compare("HEAD~1..HEAD").exits(4).says("lower is better on base and higher on head");
    let verdict = it.verdict();
    assert_eq!(row(&verdict, "c0", "time").verdict, Verdict::Invalid);
    assert_eq!(verdict.counts[&Verdict::Improved], 0);
}

#[test]
fn n3_a_head_whose_extraction_turns_the_direction_is_invalid() {
    let before = suite(UNWATCHED, "");
    let after = before.replace("unit = \"s\",", "unit = \"s\", better = \"higher\",");
    let it = slower(&[("gbench.toml", &before)], &[("gbench.toml", &after)]);
    it.compare("HEAD~1..HEAD").exits(4);
    assert_eq!(row(&it.verdict(), "c0", "time").verdict, Verdict::Invalid);
}

/// A program that speaks the protocol says which way is better itself.
#[test]
fn n3_a_head_whose_program_turns_the_direction_is_invalid() {
    let speaking = suite(UNWATCHED, "timing = \"protocol\"")
        .replace("extract = [{ metric = \"time\", unit = \"s\", regex = 'time: ([0-9.]+)' }]\n", "");
    let says = |better: &str| {
        format!(
            "printf '%s\\n' '{{\"event\":\"stage\",\"stage\":\"measure\"}}' '{{\"event\":\"samples\",\"metric\":\
             \"score\",\"unit\":\"points\",\"better\":\"{better}\",\"values\":[1.1,1.2]}}' >> \"$GBENCH_EVENTS\"\n"
        )
    };
    let it =
        slower(&[("gbench.toml", &speaking), ("more.sh", &says("lower"))], &[("more.sh", &says("higher"))]);
    it.compare("HEAD~1..HEAD").exits(4).says("lower is better on base and higher on head");
}

/// Nothing said so far which way is better, and a head that is slower says that it is an improvement.
#[test]
fn n3_a_head_that_says_it_first_is_not_judged_by_its_own_word() {
    let silent = suite(UNWATCHED, "").replace("unit = \"s\",", "unit = \"points\",");
    let saying = format!("{silent}\n[metrics.time]\nbetter = \"higher\"\n");
    let it = slower(&[("gbench.toml", &silent)], &[("gbench.toml", &saying)]);
    it.compare("HEAD~1..HEAD").says("only head says which way is better");
    let verdict = it.verdict();
    assert_eq!(row(&verdict, "c0", "time").verdict, Verdict::New);
    assert_eq!(verdict.counts[&Verdict::Improved], 0);
}

/// The base's declaration is a word of its own where the base's program and unit say nothing, and the head's later word
/// does not take its place.
#[test]
fn n3_a_head_that_says_nothing_of_it_is_judged_by_the_base() {
    let declared = suite(&format!("{UNWATCHED}[metrics.time]\nbetter = \"lower\"\n"), "");
    let silent = suite(UNWATCHED, "").replace("unit = \"s\",", "unit = \"points\",");
    let base = declared.replace("unit = \"s\",", "unit = \"points\",");
    let it = slower(&[("gbench.toml", &base)], &[("gbench.toml", &silent)]);
    it.compare("HEAD~1..HEAD").exits(1);
    assert_eq!(row(&it.verdict(), "c0", "time").verdict, Verdict::Regressed);
}

#[test]
fn b8_figures_in_two_units_of_one_kind_are_compared_and_a_warning_names_them() {
    let in_rounds = |rule: SequentialRuleName, unit: &str, factor: f64| {
        let quiet = |name: &str| timed(name, &differences(3, 0.0, 0.002, 20));
        let (mut base, mut head) = sides(&[quiet("s/a"), quiet("s/b")]);
        for record in [&mut base, &mut head] {
            record.comparison.as_mut().unwrap().rule.name = rule;
        }
        let metric = &mut head.cases[0].metrics[0];
        metric.unit = unit.into();
        metric.processes.iter_mut().flat_map(|it| &mut it.values).for_each(|value| *value *= factor);
        verdict_of(&base, &head, None).unwrap()
    };
    let newest = SequentialRule::for_cases(2).name;
    let document = in_rounds(newest, "us", 1e6);
    assert_eq!((document.exit_code, document.counts[&Verdict::Unchanged]), (0, 2), "{}", document.sentence);
    let row = document.rows.iter().find(|row| row.unit == "us").unwrap();
    let [base, head] = [&row.base, &row.head].map(|side| side.as_ref().unwrap().centre.unwrap());
    assert!((base / head - 1.0).abs() < 0.02, "{base} {head}");
    assert!(document.warnings.iter().any(|warning| warning.contains("s in us")), "{:?}", document.warnings);
    // Half as long in the new unit is half as long.
    assert_eq!(in_rounds(newest, "us", 0.5e6).counts[&Verdict::Improved], 1);
    // Another kind of unit, and the rules before.
    for document in [in_rounds(newest, "B", 1e6), in_rounds(SequentialRuleName::SeqE4, "us", 1e6)] {
        assert_eq!((document.exit_code, document.counts[&Verdict::Invalid]), (4, 1), "{}", document.sentence);
    }
}
