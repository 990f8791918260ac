//! The kinds of this crate's cases (`tests/case_files`), including functions from words to words.
//!
//! In `github`, `records` and `verdicts` the `text` contains a beginning and changes: `set PATH JSON` and `drop PATH`. In
//! a path `*` is every member of a list, `+` a new one. `documents` contains frequent beginnings, in the same notation.

use std::path::Path;

use case_files::{Answer, walk};
use gbench_model::test_support::case_id;
use gbench_model::{Better, CaseId, Fault, Params};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::input::Input;
use crate::layout::{escape, grouped, number, width};
use crate::test_support::{row, series};
use crate::trends::spark::spark;

const KINDS: [(&str, Answer); 4] = [
    ("github", |given| crate::github::case_tests::answer(given.question, &given.text())),
    ("records", |given| crate::record::case_tests::answer(given.question, &given.text())),
    ("verdicts", |given| crate::verdict::case_tests::answer(given.question, &given.text())),
    ("words", |given| word(given.question, &given.text())),
];

#[test]
fn every_case_is_answered_as_its_file_says() {
    let folder = env!("CARGO_MANIFEST_DIR");
    for (function, _) in WORDS {
        let file = Path::new(folder).join(format!("fixtures/words/{function}.txt"));
        assert!(file.is_file(), "`{function}` has no cases");
    }
    walk(folder, KINDS, 255);
}

/// A number as JSON; as text if JSON cannot represent it.
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

type WordFunction = fn(&str) -> Value;

const WORDS: [(&str, WordFunction); 29] = [
    ("ascii", |it| ask(it, |[text]: [String; 1]| escape::ascii(&text))),
    ("case_page", |it| {
        ask(it, |[params]: [Params; 1]| {
            super::html::addresses::case_page(&CaseId { params, ..case_id("kernels/Gemm") })
        })
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

/// The answer of a function as JSON, with invisible characters escaped.
fn word(function: &str, given: &str) -> String {
    let (_, function) = WORDS.iter().find(|(name, _)| *name == function).expect("a function of that name");
    function(given).to_string().replace('\u{a0}', "\\u00a0").replace('\u{200b}', "\\u200b")
}

/// Several named values in one text: pairs of name and value.
pub(crate) fn told(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("@@@ ").skip(1).map(|part| part.trim_end().split_once('\n').expect("a name and what is given"))
}

/// `begin` builds a value from the first line; the other lines change it.
pub(crate) fn given<T: Serialize + DeserializeOwned>(lines: &str, begin: impl FnOnce(&str, Value) -> T) -> T {
    let mut lines = lines.lines();
    let (word, rest) = split(lines.next().expect("a line with the beginning"));
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
