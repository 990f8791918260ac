//! Cases below `crates/gbench-report/fixtures`: what is given, and all that is answered.
//!
//! ```text
//! fixtures/words/FUNCTION.txt        a case a line: `[arguments] => answer`
//! fixtures/given/*                   documents and runs with which cases begin, told in the same way
//! fixtures/ROOM/*.txt                what stands above the first case is about all of them
//!
//! @@@ the name of a case
//! quiet                              what is given: where to begin, then `set PATH JSON` and `drop PATH`
//! set cases.*.group "softmax"        `*` is every member of a list, `+` a new one
//! @@ findings                        what is asked, and below it the answer
//! nothing
//! ```
//!
//! `UPDATE_CASES=1 cargo test -p gbench-report case_tests` writes the answers anew: look at the diff.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use gbench_model::test_support::case_id;
use gbench_model::{Better, CaseId, Fault, Params};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Input;
use crate::layout::{escape, grouped, number, width};
use crate::test_support::{row, series};
use crate::trends::spark;

/// What answers the cases of a folder: from the name of their file, the question and what is given.
type Answer = fn(&str, &str, &str) -> String;

/// Every folder of cases.
const ROOMS: [(&str, Answer); 4] = [
    ("github", |_, question, given| crate::github::case_tests::answer(question, given)),
    ("records", |_, question, given| crate::record::case_tests::answer(question, given)),
    ("verdicts", |_, question, given| crate::verdict::case_tests::answer(question, given)),
    ("words", |function, _, given| word(function, given)),
];

/// A lower bound; fewer means that files were not found.
const AT_LEAST: usize = 227;

/// A number as JSON, or one that JSON does not have as text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Usual(f64),
    Odd(String),
}

impl Number {
    fn value(self) -> f64 {
        match self {
            Number::Usual(value) => value,
            Number::Odd(text) => text.parse().unwrap(),
        }
    }
}

/// A function of arguments as JSON.
type WordFunction = fn(&str) -> Value;

/// Functions from words to words, each with a file of cases.
const WORDS: [(&str, WordFunction); 29] = [
    ("ascii", |it| ask(it, |[text]: [String; 1]| escape::ascii(&text))),
    ("case_page", |it| {
        ask(it, |[params]: [Params; 1]| crate::html::case_page(&CaseId { params, ..case_id("kernels/Gemm") }))
    }),
    ("csv", |it| ask(it, |[text]: [String; 1]| escape::csv(&text))),
    ("cut_middle", |it| ask(it, |(text, limit): (String, usize)| width::cut_middle(&text, limit, "…"))),
    ("fault", |it| {
        ask(it, |[text]: [String; 1]| {
            let Fault { place, what, next, exit, .. } = Input::parse(Path::new("v.json"), &text).unwrap_err();
            [place.to_string(), what, next, format!("{exit:?}")]
        })
    }),
    ("fold", |it| ask(it, |(text, limit): (String, usize)| width::fold(&text, limit))),
    ("fold_command", |it| ask(it, |(text, limit): (String, usize)| width::fold_command(&text, limit))),
    ("fold_name", |it| ask(it, |(text, limit): (String, usize)| width::fold_name(&text, limit))),
    ("markdown", |it| ask(it, |[text]: [String; 1]| escape::markdown(&text))),
    ("markdown_block", |it| {
        ask(it, |[language, text]: [String; 2]| escape::markdown_block(&language, &text))
    }),
    ("markdown_code", |it| ask(it, |[text]: [String; 1]| escape::markdown_code(&text))),
    ("markdown_code_folding", |it| ask(it, |[text]: [String; 1]| escape::markdown_code_folding(&text))),
    ("named", |it| ask(it, |(names, most): (Vec<String>, usize)| grouped::named(&names, most))),
    ("p_value", |it| ask(it, |[p]: [f64; 1]| number::p_value(p))),
    ("pair", |it| ask(it, |(base, head, unit): (f64, f64, String)| number::pair(base, head, &unit))),
    ("paragraph", |it| ask(it, |[lead, text]: [String; 2]| width::paragraph(&lead, &text))),
    ("signed_percent", |it| ask(it, |[fraction]: [Number; 1]| number::signed_percent(fraction.value()))),
    ("spark", |it| {
        ask(it, |(values, breaks, width, unicode): (Vec<f64>, Vec<u32>, usize, bool)| {
            spark(&series(&values, &breaks), width, unicode)
        })
    }),
    ("together", |it| ask(it, |items: Vec<(String, u32)>| grouped::together(items))),
    ("value", |it| ask(it, |(number, unit): (Number, String)| number::value(number.value(), &unit))),
    ("visible", |it| ask(it, |[text]: [String; 1]| escape::visible(&text).into_owned())),
    ("word", |it| {
        ask(it, |(unit, better, verdict): (String, Option<Better>, _)| {
            number::word(&gbench_compare::Row { unit, better, ..row("s/a", verdict) })
        })
    }),
    ("wrap", |it| ask(it, |(text, limit): (String, usize)| width::wrap(&text, limit))),
    ("xml", |it| ask(it, |[text]: [String; 1]| escape::xml(&text))),
    ("address", |it| crate::github::case_tests::word("address", it)),
    ("figure", |it| crate::github::case_tests::word("figure", it)),
    ("full_commit", |it| crate::github::case_tests::word("full_commit", it)),
    ("prose", |it| crate::github::case_tests::word("prose", it)),
    ("repository", |it| crate::github::case_tests::word("repository", it)),
];

pub(crate) fn ask<A: DeserializeOwned, R: Serialize>(given: &str, function: impl FnOnce(A) -> R) -> Value {
    json!(function(serde_json::from_str(given).unwrap_or_else(|error| panic!("{given}: {error}"))))
}

/// The answer of a function as JSON, whose invisible characters are seen.
fn word(function: &str, given: &str) -> String {
    let (_, function) = WORDS.iter().find(|(name, _)| *name == function).expect("a function of that name");
    function(given).to_string().replace('\u{a0}', "\\u00a0").replace('\u{200b}', "\\u200b")
}

/// Values that are told in one text: the name of each, and what is given.
pub(crate) fn told(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("@@@ ").skip(1).map(|part| part.trim_end().split_once('\n').expect("a name and what is given"))
}

/// What is built by `begin` from the first line, changed by the others.
pub(crate) fn given<T: Serialize + DeserializeOwned>(lines: &str, begin: impl FnOnce(&str, Value) -> T) -> T {
    let mut lines = lines.lines();
    let (word, rest) = split(lines.next().expect("a line that says where to begin"));
    let mut value = json!(begin(word, if rest.is_empty() { Value::Null } else { of_json(rest) }));
    for line in lines {
        match split(line) {
            ("set", rest) => {
                let (path, to) = split(rest);
                let to = of_json(to);
                at(&mut value, path, &mut |place| *place = to.clone());
            }
            ("drop", path) => {
                let (path, place) = path.rsplit_once('.').expect("a list and a place");
                at(&mut value, path, &mut |list| {
                    list.as_array_mut().expect("a list").remove(place.parse().unwrap());
                });
            }
            _ => panic!("neither `set` nor `drop`: {line}"),
        }
    }
    serde_json::from_value(value).unwrap()
}

fn split(line: &str) -> (&str, &str) {
    line.split_once(' ').unwrap_or((line, ""))
}

fn of_json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Applies a change to everything that the path matches; missing keys are created.
fn at(value: &mut Value, path: &str, change: &mut dyn FnMut(&mut Value)) {
    if path.is_empty() {
        return change(value);
    }
    let (step, rest) = path.split_once('.').unwrap_or((path, ""));
    if value.is_null() {
        *value = if step == "+" { json!([]) } else { json!({}) };
    }
    match value {
        Value::Array(members) if step == "*" => members.iter_mut().for_each(|it| at(it, rest, change)),
        Value::Array(members) if step == "+" => {
            members.push(Value::Null);
            at(members.last_mut().unwrap(), rest, change);
        }
        Value::Array(members) => at(&mut members[step.parse::<usize>().unwrap()], rest, change),
        Value::Object(members) => at(members.entry(step).or_insert(Value::Null), rest, change),
        other => panic!("`{step}` of {other}"),
    }
}

struct Case {
    name: String,
    given: String,
    /// Each question with its answer.
    answers: Vec<(String, String)>,
}

/// The comment of a file, and its cases.
fn parsed(text: &str, are_words: bool) -> Result<(String, Vec<Case>), String> {
    let (comment, cases): (_, Vec<Case>) = if are_words {
        let (comment, lines): (Vec<&str>, _) = text.lines().partition(|line| line.starts_with('#'));
        let case = |line: &str| {
            let (given, answer) = line.split_once(" =>").unwrap_or((line, ""));
            let answer = answer.trim_start().to_owned();
            Case { name: given.to_owned(), given: given.to_owned(), answers: vec![(String::new(), answer)] }
        };
        let comment: String = comment.iter().map(|line| format!("{line}\n")).collect();
        (comment, lines.into_iter().map(case).collect())
    } else {
        let mut parts = text.split("@@@ ");
        let comment = parts.next().unwrap_or_default().to_owned();
        let case = |part: &str| {
            let mut sections = part.trim_end().split("\n@@ ");
            let halves = |section: &str| {
                let (head, body) = section.split_once('\n').unwrap_or((section, ""));
                (head.to_owned(), body.to_owned())
            };
            let (name, given) = halves(sections.next().unwrap_or_default());
            Case { name, given, answers: sections.map(halves).collect() }
        };
        (comment, parts.map(case).collect())
    };
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    match () {
        () if cases.is_empty() => Err("it has no case".into()),
        () if names.len() < cases.len() => Err("it has two cases of one name".into()),
        () if cases.iter().any(|case| case.answers.is_empty()) => {
            Err("it has a case that asks nothing".into())
        }
        () if written(&comment, &cases, are_words).trim_end() != text.trim_end() => {
            Err("it is not written as `UPDATE_CASES=1` would".into())
        }
        () => Ok((comment, cases)),
    }
}

fn written(comment: &str, cases: &[Case], are_words: bool) -> String {
    let mut text = comment.to_owned();
    for Case { name, given, answers } in cases {
        if are_words {
            text += format!("{given} => {}", answers[0].1).trim_end();
            text += "\n";
            continue;
        }
        text += &format!("@@@ {name}\n{given}\n");
        answers.iter().for_each(|(question, answer)| text += format!("@@ {question}\n{answer}\n").as_str());
        text += "\n";
    }
    text.trim_end().to_owned() + "\n"
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn names(paths: &[PathBuf]) -> BTreeSet<&str> {
    paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect()
}

/// Asks the cases of a file; adds to `wrong` what is answered otherwise, and returns how many there are.
fn walk(path: &Path, (room, answer): (&str, Answer), update: bool, wrong: &mut Vec<String>) -> usize {
    let place = format!("{room}/{}", path.file_name().unwrap().display());
    let Some(stem) = place.strip_suffix(".txt").and_then(|place| place.split('/').next_back()) else {
        wrong.push(format!("{place}: no file of cases"));
        return 0;
    };
    let text = std::fs::read_to_string(path).unwrap();
    let (comment, mut cases) = match parsed(&text, room == "words") {
        Ok(parsed) => parsed,
        Err(what) => {
            wrong.push(format!("{place}: {what}"));
            return 0;
        }
    };
    for Case { name, given, answers } in &mut cases {
        for (question, answered) in answers {
            // Caught, so that the case is named and the rest still run.
            let Ok(found) = catch_unwind(AssertUnwindSafe(|| answer(stem, question, given))) else {
                wrong.push(format!("{place}, {name}: {question} panics, as is said above"));
                continue;
            };
            let found = if found.is_empty() { "nothing" } else { found.trim_end_matches('\n') };
            if found != answered {
                wrong.push(format!("{place}, {name}: {question}\n{answered}\n-- is now\n{found}"));
                found.clone_into(answered);
            }
        }
    }
    if update {
        std::fs::write(path, written(&comment, &cases, room == "words")).unwrap();
    }
    cases.len()
}

#[test]
fn every_case_is_answered_as_it_stands_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let update = std::env::var_os("UPDATE_CASES").is_some();
    // What is given to many cases.
    let folders = ROOMS.iter().map(|(room, _)| *room).chain(["given"]);
    assert_eq!(names(&listed(&root)), folders.collect());
    assert_eq!(names(&listed(&root.join("given"))), ["bisection.json", "documents.txt", "runs.txt"].into());
    let words = WORDS.map(|(function, _)| format!("{function}.txt"));
    assert_eq!(names(&listed(&root.join("words"))), words.iter().map(String::as_str).collect());
    let (mut count, mut wrong) = (0, Vec::new());
    for room in ROOMS {
        let paths = listed(&root.join(room.0));
        assert!(!paths.is_empty(), "{} has no case", room.0);
        count += paths.iter().map(|path| walk(path, room, update, &mut wrong)).sum::<usize>();
    }
    assert!(wrong.is_empty(), "{} of {count}:\n\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(count >= AT_LEAST, "only {count} cases are found");
}

#[test]
fn a_file_of_cases_that_is_damaged_is_refused() {
    for (text, are_words, what) in [
        ("", false, "it has no case"),
        ("about all of them\n", false, "it has no case"),
        ("# about all of them\n", true, "it has no case"),
        ("@@@ a\nquiet\n", false, "it has a case that asks nothing"),
        (
            "@@@ a\nquiet\n@@ findings\nx\n\n@@@ a\nquiet\n@@ status\nx\n",
            false,
            "it has two cases of one name",
        ),
        ("@@@ a\nquiet\n@@ findings\nx\n@@@ b\nquiet\n@@ status\nx\n", false, "it is not written as"),
        ("[1] => 1\n\n", true, "it is not written as"),
    ] {
        let error = parsed(text, are_words).err().unwrap_or_else(|| panic!("{text}"));
        assert!(error.starts_with(what), "{text}: {error}");
    }
}
