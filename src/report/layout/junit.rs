//! JUnit documents, alike for verdicts and records: suites of test cases, and the states of one.

use std::collections::BTreeMap;
use std::io;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::escape::visible;

/// Writes suites of test cases. Errors: those of `out`.
pub(in crate::report) fn write(
    suites: BTreeMap<&str, Vec<TestCase>>,
    out: &mut (impl io::Write + ?Sized),
) -> io::Result<()> {
    let mut report = Report::new("gbench-ci");
    for (name, cases) in suites {
        let mut suite = TestSuite::new(name);
        suite.add_test_cases(cases);
        report.add_test_suite(suite);
    }
    report.serialize(&mut *out).map_err(io::Error::other)
}

pub(in crate::report) fn failure(message: &str, kind: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(visible(message)).set_type(kind);
    status
}

pub(in crate::report) fn error(message: &str, kind: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(visible(message)).set_type(kind);
    status
}

pub(in crate::report) fn skipped(message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(visible(message));
    status
}
