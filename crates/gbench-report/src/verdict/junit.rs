//! A verdict for the test views of CI systems. One test case a row: regressed is a failure; invalid and
//! missing are errors; inconclusive is skipped with its reason, or a failure where the policy says that it
//! fails; everything else passes. A comparison of nothing is an error of its own, since a view without test
//! cases shows green.

use quick_junit::NonSuccessKind::{Error, Failure};
use quick_junit::{TestCase, TestCaseStatus};

use super::view::{RowView, VerdictView};
use crate::layout::escape::visible;
use crate::layout::junit::{non_success, skipped};
use gbench_compare::Verdict;

/// Test cases with the names of their suites, at least one.
pub(super) fn cases(view: &VerdictView) -> Vec<(String, TestCase)> {
    let of = |line: &RowView| {
        (line.row.case.benchmark.suite().to_owned(), case(line, view.document.method.inconclusive_fails))
    };
    let mut cases: Vec<_> = view.lines().map(of).collect();
    if cases.is_empty() {
        let status = non_success(Error, &view.document.sentence, "nothing-compared");
        cases.push(("gbench-ci".into(), TestCase::new("comparison", status)));
    }
    cases
}

fn case(line: &RowView, inconclusive_fails: bool) -> TestCase {
    let row = line.row;
    let word = row.verdict.into_str();
    let message = message(line);
    let status = match row.verdict {
        Verdict::Inconclusive if !inconclusive_fails => skipped(&message),
        Verdict::Regressed | Verdict::Inconclusive => non_success(Failure, &message, word),
        Verdict::Invalid | Verdict::Missing => non_success(Error, &message, word),
        Verdict::Improved | Verdict::New | Verdict::Unchanged => TestCaseStatus::success(),
    };
    let passed = matches!(status, TestCaseStatus::Success { .. });
    let mut case = TestCase::new(visible(&line.title()), status);
    case.set_classname(row.case.benchmark.as_str());
    if passed && !message.is_empty() {
        case.set_system_out(visible(&format!("{word}: {message}")));
    }
    case
}

/// `12.31 ms -> 13.57 ms, +10.2 % slower (+8.1 % to +12.4 %, p < 0.001); reason; next: ...`
fn message(line: &RowView) -> String {
    let mut parts = Vec::new();
    if !line.change.is_empty() {
        let evidence = match line.evidence() {
            none if none.is_empty() => none,
            some => format!(" ({some})"),
        };
        parts.push(format!("{} -> {}, {}{evidence}", line.base.value, line.head.value, line.change));
    }
    parts.extend(line.notes().into_iter().map(|(label, note)| match label {
        "why" => note,
        label => format!("{label}: {note}"),
    }));
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use quick_junit::Report;

    use super::*;
    use crate::layout::junit::write;
    use crate::test_support as documents;

    fn text(document: &gbench_compare::VerdictDocument) -> String {
        let mut out = Vec::new();
        write(cases(&VerdictView::new(document)), &mut out).unwrap();
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
