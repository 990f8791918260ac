//! The cases of `fixtures/github`: GitHub's view of a verdict, and functions from words to words.

use gbench_compare::{Merged, VerdictDocument};
use gbench_model::SourceLine;
use serde_json::Value;

use super::annotations::{BenchmarkAnnotation, annotations_of_log};
use super::check::{begun, check};
use super::comment::comment;
use super::parts::budget::{figure, prose};
use super::parts::context::PublishContext;
use super::parts::links::{address, full_commit, repository};
use super::tests::{MARKER, context, texts};
use crate::kind_tests::ask;
use crate::test_support as documents;

pub(crate) fn word(function: &str, given: &str) -> Value {
    match function {
        "address" => ask(given, |[url]: [String; 1]| address(&url).map(str::to_owned)),
        "figure" => ask(given, |[text]: [String; 1]| figure(&text)),
        "full_commit" => ask(given, |[commit]: [String; 1]| full_commit(&commit).map(str::to_owned)),
        "prose" => ask(given, |(text, bytes): (String, usize)| prose(&text, bytes)),
        "repository" => ask(given, |[server, slug]: [String; 2]| {
            repository(&PublishContext { server, slug: Some(slug), ..PublishContext::default() })
        }),
        _ => unreachable!("{function}"),
    }
}

/// The words after a question's name are JSON: `check ["failed"]`, `annotations at ["s/x", "x.py", 7]`.
pub(crate) fn answer(question: &str, given: &str) -> String {
    let document: VerdictDocument = crate::kind_tests::given(given, documents::begin);
    let consistency = gbench_compare::check_consistency(&document);
    let merged = Merged::single("", document);
    let at = question.find('[').unwrap_or(question.len());
    let (question, detail) = (question[..at].trim_end(), &question[at..]);
    match question {
        "annotations at" => {
            let (benchmark, path, line) = serde_json::from_str(detail).unwrap();
            let source = SourceLine { benchmark, path, line };
            let check = check(&merged, &PublishContext { sources: vec![source], ..context() });
            check.annotations.iter().map(annotation).collect()
        }
        "annotations of the log" => annotations_of_log(&merged, &context()).iter().map(annotation).collect(),
        "advice" => {
            let source = SourceLine { benchmark: "s/x".into(), path: "x.py".into(), line: 1 };
            let texts = texts(&merged, &PublishContext { sources: vec![source], ..context() });
            let is_advice =
                |line: &&str| ["round", "resume"].iter().any(|word| line.to_lowercase().contains(word));
            let advice = |text: &String| text.lines().filter(is_advice).collect::<Vec<_>>().join("\n");
            texts.iter().map(|text| advice(text) + "\n--\n").collect()
        }
        "begun" => {
            let begun = begun(&context());
            format!("{:?}, {:?}: {}\n{}", begun.state, begun.text, begun.title, begun.summary)
        }
        "check" => {
            let fail_on = if detail.is_empty() { Vec::new() } else { serde_json::from_str(detail).unwrap() };
            let check = check(&merged, &PublishContext { fail_on, ..context() });
            format!("{:?}: {}", check.state, check.title)
        }
        "comment" => unbroken(comment(&merged, &context(), MARKER)),
        "lines of the comment with" => {
            let words: Vec<String> = serde_json::from_str(detail).unwrap();
            let comment = unbroken(comment(&merged, &context(), MARKER));
            let lines = comment.lines().filter(|line| words.iter().any(|word| line.contains(word)));
            lines.map(|line| format!("{line}\n")).collect()
        }
        "consistency" => format!("{consistency:?}"),
        _ => panic!("no verdict answers `{question}`"),
    }
}

fn annotation(it: &BenchmarkAnnotation) -> String {
    let BenchmarkAnnotation { place, failure, title, message } = it;
    unbroken(format!("{place:?}, failure {failure}: {title}\n{message}\n"))
}

/// Makes no-break spaces visible.
fn unbroken(text: String) -> String {
    text.replace('\u{a0}', "⍽")
}
