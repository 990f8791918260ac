//! Which runs, cases and metrics of a history are wanted.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use globset::{Glob, GlobMatcher};

use crate::model::{CaseId, Fault, Result};
use crate::suite::{Selection, commas, has_params};
use crate::trend::TrendRun;

pub(super) struct RunSelection<'r> {
    /// RFC 3339.
    since: Option<String>,
    pub branch: Option<&'r str>,
    pub label: Option<&'r str>,
    /// The newest of those, at most so many.
    pub newest: usize,
}

impl<'r> RunSelection<'r> {
    /// `start`: a date, a time, or how long ago. `newest`: 0 for all. Errors: an invalid time.
    pub(super) fn new(
        start: Option<&str>,
        branch: Option<&'r str>,
        label: Option<&'r str>,
        newest: usize,
    ) -> Result<Self> {
        let since = start.map(|text| since(text, SystemTime::now())).transpose()?;
        Ok(Self { since, branch, label, newest: if newest == 0 { usize::MAX } else { newest } })
    }

    pub(super) fn all() -> Self {
        Self { since: None, branch: None, label: None, newest: usize::MAX }
    }

    pub(super) fn is_narrowed(&self) -> bool {
        self.since.is_some() || self.branch.is_some() || self.label.is_some()
    }

    pub(super) fn takes(&self, run: &TrendRun) -> bool {
        self.since.as_ref().is_none_or(|since| run.started >= *since)
            && self.branch.is_none_or(|branch| branch == run.branch)
            && self.label.is_none_or(|label| label == run.label)
    }

    /// True if a run of this id may have started in the time that is meant: most ids begin with their start.
    pub(super) fn may_take(&self, id: &str) -> bool {
        let Some(since) = &self.since else { return true };
        let since: String = since.chars().filter(|c| !"-:Z".contains(*c)).collect();
        let says_its_time = id.len() > since.len() && id.as_bytes()[8] == b'T';
        !says_its_time || id >= since.as_str()
    }
}

pub(super) struct CaseSelection<'r> {
    pub case: Option<(&'r str, GlobMatcher)>,
    /// By name; empty for all.
    pub suites: Vec<&'r str>,
    pub params: Vec<(String, Vec<String>)>,
    pub metric: Option<(&'r str, GlobMatcher)>,
}

impl<'r> CaseSelection<'r> {
    /// Errors: an empty name, what is not a glob, or what is not a parameter with its values.
    pub(super) fn new(
        case: Option<&'r str>,
        metric: Option<&'r str>,
        suites: &'r [String],
        params: &[String],
    ) -> Result<Self> {
        if let Some(empty) = suites.iter().find(|text| commas(text).is_empty()) {
            let next = "give it a name, or take the flag out";
            return Err(Fault::at_flag(format!("--suite '{empty}'"), "this names nothing", next));
        }
        let mut of_params = Selection::default();
        params.iter().try_for_each(|text| of_params.add_param(text))?;
        // Parameters are in brackets, which a glob would take for a choice of letters.
        let literal = |text: &str| {
            let letter = |c: char| match c {
                '[' => "[[]".to_owned(),
                ']' => "[]]".to_owned(),
                c => c.to_string(),
            };
            text.chars().map(letter).collect::<String>()
        };
        let named = |flag: &str, text: &'r str, pattern: &str| -> Result<_> {
            Ok((text, glob(flag, text, pattern)?))
        };
        let case = case.map(|text| named("CASE", text, &literal(text)));
        let metric = metric.map(|text| named("--metric", text, text));
        Ok(Self {
            case: case.transpose()?,
            suites: suites.iter().flat_map(|text| commas(text)).collect(),
            params: of_params.params,
            metric: metric.transpose()?,
        })
    }

    pub(super) fn takes_suite(&self, case: &CaseId) -> bool {
        self.suites.is_empty() || self.suites.contains(&case.benchmark.suite())
    }

    /// By the whole name, with or without its suite, or by the benchmark's.
    pub(super) fn takes_case(&self, case: &CaseId) -> bool {
        self.case.as_ref().is_none_or(|(_, glob)| {
            let whole = case.to_string();
            let without_suite =
                whole.strip_prefix(case.benchmark.suite()).and_then(|it| it.strip_prefix('/'));
            let names =
                [Some(case.benchmark.as_str()), Some(case.benchmark.name()), Some(&whole), without_suite];
            names.into_iter().flatten().any(|name| glob.is_match(name))
        })
    }

    /// `metric`: empty for a case without figures.
    pub(super) fn takes(&self, case: &CaseId, metric: &str) -> bool {
        let of_metric = || self.metric.as_ref().is_none_or(|(_, glob)| glob.is_match(metric));
        (metric.is_empty() || of_metric())
            && self.takes_suite(case)
            && has_params(&case.params, &self.params)
            && self.takes_case(case)
    }
}

fn glob(flag: &str, text: &str, pattern: &str) -> Result<GlobMatcher> {
    let next = "write a name, or `*` for any part of one";
    if text.is_empty() {
        return Err(Fault::at_flag(flag.to_owned(), "it is empty", next));
    }
    Glob::new(pattern).map(|glob| glob.compile_matcher()).map_err(|error| {
        let what = format!("`{}` is no glob: {}", text.escape_debug(), error.kind());
        Fault::at_flag(format!("{flag} {text}"), what, next)
    })
}

/// The start of the runs that are meant, RFC 3339: `2026-11-01`, `2026-11-01T12:00:00Z`, or how long ago, `30d`.
fn since(text: &str, now: SystemTime) -> Result<String> {
    let date = format!("{text}T00:00:00Z");
    let time = humantime::parse_rfc3339(text).or_else(|_| humantime::parse_rfc3339(&date)).ok();
    let before = |ago: Duration| now.checked_sub(ago).map_or(UNIX_EPOCH, |time| time.max(UNIX_EPOCH));
    let time = time.or_else(|| humantime::parse_duration(text).ok().map(before)).ok_or_else(|| {
        let what = format!("`{}` is neither a date nor a time span", text.escape_debug());
        Fault::at_flag(format!("--since {text}"), what, "write 2026-11-01, or 30d for the last 30 days")
    })?;
    Ok(humantime::format_rfc3339_millis(time).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_takes_a_date_a_time_or_how_long_ago() {
        let now = humantime::parse_rfc3339("2026-11-23T12:00:00Z").unwrap();
        assert_eq!(since("2026-11-01", now).unwrap(), "2026-11-01T00:00:00.000Z");
        assert_eq!(since("2026-11-01T10:00:00Z", now).unwrap(), "2026-11-01T10:00:00.000Z");
        assert_eq!(since("2d", now).unwrap(), "2026-11-21T12:00:00.000Z");
        for long in ["100y", "1000000y"] {
            assert_eq!(since(long, now).unwrap(), "1970-01-01T00:00:00.000Z", "{long}");
        }
        for wrong in ["", "yesterday", "2026-13-01", "1969-01-01", "9999999999999999999999y"] {
            assert!(since(wrong, now).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_id_that_says_no_time_may_be_of_any() {
        let mut selection = RunSelection::all();
        selection.since = Some("2026-11-01T10:00:00.000Z".into());
        assert!(
            selection.may_take("20261101T100000.000Z-000001") && selection.may_take("some-run-of-a-file")
        );
        assert!(!selection.may_take("20261101T095959.999Z-000001"));
    }
}
