//! A verdict for the test views of CI systems. One test case a row: regressed is a failure; invalid and
//! missing are errors; inconclusive is skipped with its reason, or a failure where the policy says that it
//! fails; everything else passes. A comparison of nothing is an error of its own, since a view without test
//! cases shows green.

use std::collections::BTreeMap;
use std::io;

use quick_junit::{TestCase, TestCaseStatus};

use super::view::{RowView, VerdictView};
use crate::compare::Verdict;
use crate::report::layout::escape::visible;
use crate::report::layout::junit::{error, failure, skipped, write};

pub(in crate::report) fn render(view: &VerdictView, out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
    write(suites(view), out)
}

/// Test cases by suite, at least one.
pub(in crate::report) fn suites<'d>(view: &'d VerdictView) -> BTreeMap<&'d str, Vec<TestCase>> {
    let mut suites: BTreeMap<&str, Vec<TestCase>> = BTreeMap::new();
    let lines = view.groups.iter().flat_map(|group| &group.lines).chain(&view.unchanged);
    for line in lines {
        let suite = line.row.case.benchmark.suite();
        suites.entry(suite).or_default().push(case(line, view.document.method.inconclusive_fails));
    }
    if suites.is_empty() {
        let status = error(&view.document.sentence, "nothing-compared");
        suites.insert("gbench-ci", vec![TestCase::new("comparison", status)]);
    }
    suites
}

fn case(line: &RowView, inconclusive_fails: bool) -> TestCase {
    let row = line.row;
    let word = row.verdict.into_str();
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
fn message(line: &RowView) -> String {
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

#[cfg(test)]
mod tests {
    use quick_junit::Report;

    use super::*;
    use crate::report::test_support as documents;

    fn text(document: &crate::compare::VerdictDocument) -> String {
        let mut out = Vec::new();
        render(&VerdictView::new(document), &mut out).unwrap();
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
