//! A verdict for the test views of CI systems. One test case a row: regressed is a failure; invalid and
//! missing are errors; inconclusive is skipped with its reason, or a failure where the policy says that it
//! fails; everything else passes. A comparison of nothing is an error of its own, since a view without test
//! cases shows green.

use std::collections::BTreeMap;
use std::io;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::escape::visible;
use super::rows::{Digest, Line};
use crate::compare::Verdict;

pub fn render(digest: &Digest, out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
    write(suites(digest), out)
}

/// Test cases by suite, at least one.
pub fn suites<'d>(digest: &'d Digest) -> BTreeMap<&'d str, Vec<TestCase>> {
    let mut suites: BTreeMap<&str, Vec<TestCase>> = BTreeMap::new();
    let lines = digest.groups.iter().flat_map(|group| &group.lines).chain(&digest.unchanged);
    for line in lines {
        let suite = line.row.case.benchmark.suite();
        suites.entry(suite).or_default().push(case(line, digest.document.method.inconclusive_fails));
    }
    if suites.is_empty() {
        let status = error(&digest.document.sentence, "nothing-compared");
        suites.insert("gbench-ci", vec![TestCase::new("comparison", status)]);
    }
    suites
}

/// Writes suites of test cases. Errors: those of `out`.
pub fn write(suites: BTreeMap<&str, Vec<TestCase>>, out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
    let mut report = Report::new("gbench-ci");
    for (name, cases) in suites {
        let mut suite = TestSuite::new(name);
        suite.add_test_cases(cases);
        report.add_test_suite(suite);
    }
    report.serialize(&mut *out).map_err(io::Error::other)
}

fn case(line: &Line, inconclusive_fails: bool) -> TestCase {
    let row = line.row;
    let word = row.verdict.word();
    let message = message(line);
    let status = match row.verdict {
        Verdict::Inconclusive if !inconclusive_fails => skipped(&message),
        Verdict::Regressed | Verdict::Inconclusive => failure(&message, word),
        Verdict::Invalid | Verdict::Missing => error(&message, word),
        Verdict::Improved | Verdict::New | Verdict::Unchanged => TestCaseStatus::success(),
    };
    let passed = matches!(status, TestCaseStatus::Success { .. });
    let mut case = TestCase::new(visible(format!("{} {}", line.name, row.metric).trim_end()), status);
    case.set_classname(row.case.benchmark.as_str());
    if passed && !message.is_empty() {
        case.set_system_out(visible(&format!("{word}: {message}")));
    }
    case
}

/// `12.31 ms -> 13.57 ms, +10.2 % slower (+8.1 % to +12.4 %, p < 0.001); reason; next: ...`
fn message(line: &Line) -> String {
    let mut text = String::new();
    if !line.change.is_empty() {
        text = format!("{} -> {}, {}", line.base.value, line.head.value, line.change);
        let evidence = line.evidence();
        if !evidence.is_empty() {
            text += &format!(" ({evidence})");
        }
    }
    for (label, note) in line.notes() {
        let separator = if text.is_empty() { "" } else { "; " };
        let label = if label == "why" { String::new() } else { format!("{label}: ") };
        text += &format!("{separator}{label}{note}");
    }
    text
}

pub fn failure(message: &str, kind: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(visible(message)).set_type(kind);
    status
}

pub fn error(message: &str, kind: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(visible(message)).set_type(kind);
    status
}

pub fn skipped(message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(visible(message));
    status
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::test_support as documents;

    fn text(document: &crate::compare::VerdictDocument) -> String {
        let mut out = Vec::new();
        render(&Digest::new(document), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_verdict_has_its_status() {
        for (name, document) in documents::all() {
            insta::assert_snapshot!(name, text(&document));
        }
    }

    #[test]
    fn every_row_is_one_test_case_and_a_comparison_of_nothing_is_an_error() {
        for (name, document) in documents::all() {
            let report = Report::deserialize_from_str(&text(&document)).unwrap();
            assert_eq!(report.tests, document.rows.len().max(1), "{name}");
        }
        let nothing = Report::deserialize_from_str(&text(&documents::incomparable())).unwrap();
        assert_eq!((nothing.tests, nothing.errors), (1, 1));
    }

    #[test]
    fn inconclusive_is_skipped_unless_policy_says_that_it_fails() {
        let mut document = documents::inconclusive();
        let report = Report::deserialize_from_str(&text(&document)).unwrap();
        assert_eq!((report.failures, report.errors), (0, 0));
        document.method.inconclusive_fails = true;
        let report = Report::deserialize_from_str(&text(&document)).unwrap();
        assert_eq!(report.failures, 2);
    }

    #[test]
    fn no_character_is_one_that_xml_forbids() {
        let mut document = documents::hostile();
        document.rows[0].reason = "\u{0}\u{b}\u{fffe}\u{1b}[0m".into();
        let text = text(&document);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{fffe}'));
    }
}
