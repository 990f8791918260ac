//! One run for the test views of CI systems: one test case a case. Failed and timed out are failures, invalid
//! is an error, skipped and never started are skipped. A run without a case is an error.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use quick_junit::{TestCase, TestCaseStatus};

use super::view::RunView;
use crate::model::{CaseRecord, Outcome, ReportedError};
use crate::report::layout::escape::visible;
use crate::report::layout::junit::{error, failure, skipped, write};

pub(in crate::report) fn render(view: &RunView, out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
    let mut suites: BTreeMap<&str, Vec<TestCase>> = BTreeMap::new();
    for (case, name) in &view.cases {
        suites.entry(case.id.benchmark.suite()).or_default().push(test_case(case, name));
    }
    if suites.is_empty() {
        let status = error(&view.sentence(), "nothing-measured");
        suites.insert("gbench-ci", vec![TestCase::new("run", status)]);
    }
    write(suites, out)
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
        Outcome::Failed { .. } | Outcome::TimedOut { .. } => failure(&message, outcome.into_str()),
        Outcome::Invalid { .. } => error(&message, outcome.into_str()),
        Outcome::Skipped { .. } | Outcome::NotRun { .. } => skipped(&message),
    };
    let mut test = TestCase::new(visible(name), status);
    test.set_classname(case.id.benchmark.as_str());
    let seconds: f64 = case.processes.iter().map(|process| process.seconds).sum();
    // A record may hold anything; a time that is none is left out.
    if let Ok(time) = Duration::try_from_secs_f64(seconds) {
        test.set_time(time);
    }
    test
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::record::test_support as records;

    fn text(record: &crate::model::RunRecord) -> String {
        let mut out = Vec::new();
        render(&RunView::new(record), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_outcome_has_its_status() {
        insta::assert_snapshot!("mixed", text(&records::record()));
    }

    #[test]
    fn a_run_of_nothing_is_not_green() {
        let mut record = records::quiet();
        record.cases.clear();
        let report = quick_junit::Report::deserialize_from_str(&text(&record)).unwrap();
        assert_eq!((report.tests, report.errors), (1, 1));
    }
}
