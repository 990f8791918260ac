//! One run for the test views of CI systems: one test case per case. Failed and timed out are failures, invalid is an
//! error, skipped and never started are skipped. A run without a case is an error.

use std::time::Duration;

use quick_junit::NonSuccessKind::{Error, Failure};
use quick_junit::{TestCase, TestCaseStatus};

use super::view::run::RunView;
use crate::layout::escape::visible;
use crate::layout::junit::{non_success, skipped};
use gbench_model::{CaseRecord, Outcome, ReportedError};

/// Test cases with the names of their suites, at least one.
pub(super) fn cases(view: &RunView) -> Vec<(String, TestCase)> {
    let of =
        |(case, name): &(&CaseRecord, String)| (case.id.benchmark.suite().to_owned(), test_case(case, name));
    let mut cases: Vec<_> = view.cases.iter().map(of).collect();
    if cases.is_empty() {
        let status = non_success(Error, &view.sentence(), "nothing-measured");
        cases.push(("gbench-ci".into(), TestCase::new("run", status)));
    }
    cases
}

fn test_case(case: &CaseRecord, name: &str) -> TestCase {
    let outcome = &case.outcome;
    let trace = case.reported_error().and_then(ReportedError::short_trace);
    let trace = trace.map_or(String::new(), |trace| format!("; trace: {trace}"));
    let message = match outcome.advice() {
        "" => outcome.cause(),
        advice => format!("{}{trace}; next: {advice}", outcome.cause()),
    };
    let status = match outcome {
        Outcome::Measured => TestCaseStatus::success(),
        Outcome::Failed { .. } | Outcome::TimedOut { .. } => {
            non_success(Failure, &message, outcome.into_str())
        }
        Outcome::Invalid { .. } => non_success(Error, &message, outcome.into_str()),
        Outcome::Skipped { .. } | Outcome::NotRun { .. } => skipped(&message),
    };
    let mut test = TestCase::new(visible(name), status);
    test.set_classname(case.id.benchmark.as_str());
    let seconds: f64 = case.processes.iter().map(|process| process.seconds).sum();
    // A record may contain any number; an invalid time is omitted.
    if let Ok(time) = Duration::try_from_secs_f64(seconds) {
        test.set_time(time);
    }
    test
}
