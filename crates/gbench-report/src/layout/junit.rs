//! JUnit documents: test cases by their suites, and the states of one.

use std::collections::BTreeMap;
use std::io;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::escape::visible;

/// Writes test cases, each with the name of its suite. Errors: those of `out`.
pub(crate) fn write(
    cases: impl IntoIterator<Item = (String, TestCase)>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut suites: BTreeMap<String, TestSuite> = BTreeMap::new();
    for (suite, case) in cases {
        let suite = visible(&suite).into_owned();
        suites.entry(suite).or_insert_with_key(|name| TestSuite::new(name.as_str())).add_test_case(case);
    }
    let mut report = Report::new("gbench-ci");
    report.add_test_suites(suites.into_values());
    report.serialize(out).map_err(io::Error::other)
}

pub(crate) fn non_success(severity: NonSuccessKind, message: &str, kind: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(severity);
    status.set_message(visible(message)).set_type(kind);
    status
}

pub(crate) fn skipped(message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(visible(message));
    status
}
