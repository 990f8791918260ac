//! A verdict for the test views of CI systems. One test case per row: regressed is a failure; invalid and missing are
//! errors; inconclusive, and broken on both sides, are skipped with their reason, or fail if policy says it; everything else
//! passes. A comparison of nothing is a separate error, since a view without test cases passes.

use quick_junit::NonSuccessKind::{Error, Failure};
use quick_junit::{TestCase, TestCaseStatus};

use super::view::{RowView, VerdictView};
use crate::layout::escape::visible;
use crate::layout::junit::{non_success, skipped};
use gbench_compare::{Method, Verdict};

/// Test cases with the names of their suites, at least one.
pub(super) fn cases(view: &VerdictView) -> Vec<(String, TestCase)> {
    let of = |line: &RowView| (line.row.case.benchmark.suite().to_owned(), case(line, &view.document.method));
    let mut cases: Vec<_> = view.lines().map(of).collect();
    if cases.is_empty() {
        let status = non_success(Error, &view.document.sentence, "nothing-compared");
        cases.push(("gbench-ci".into(), TestCase::new("comparison", status)));
    }
    cases
}

fn case(line: &RowView, method: &Method) -> TestCase {
    let row = line.row;
    let word = row.verdict.into_str();
    let message = message(line);
    let status = match row.verdict {
        Verdict::Inconclusive if !method.inconclusive_fails => skipped(&message),
        Verdict::Broken if !method.broken_fails => skipped(&message),
        Verdict::Regressed | Verdict::Inconclusive => non_success(Failure, &message, word),
        Verdict::Invalid | Verdict::Missing | Verdict::Broken => non_success(Error, &message, word),
        Verdict::Improved | Verdict::Mended | Verdict::Gone | Verdict::New | Verdict::Unchanged => {
            TestCaseStatus::success()
        }
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
