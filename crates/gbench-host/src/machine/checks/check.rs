//! One check's finding, and how findings show facts.

use serde::Serialize;

use gbench_model::Probe;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum CheckSeverity {
    Ok,
    /// Measuring works, but the numbers deserve less trust.
    Warning,
    /// Something cannot be measured, or not reliably.
    Problem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckSubject {
    Gpu,
    Host,
    Project,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MachineCheck {
    pub part: CheckSubject,
    /// For example `clocks`, `governor`, `noise`.
    pub name: String,
    pub state: CheckSeverity,
    pub finding: String,
    /// The next step, in the imperative, without a trailing period; empty if nothing needs to be done.
    pub advice: String,
}

impl MachineCheck {
    pub(super) fn new(part: CheckSubject, name: &str, (state, finding, advice): CheckResult) -> Self {
        Self { part, name: name.to_owned(), state, finding, advice: advice.to_owned() }
    }
}

pub(super) type CheckResult = (CheckSeverity, String, &'static str);

pub(super) fn ok(finding: impl Into<String>) -> CheckResult {
    (CheckSeverity::Ok, finding.into(), "")
}

pub(super) fn warning(finding: impl Into<String>, advice: &'static str) -> CheckResult {
    (CheckSeverity::Warning, finding.into(), advice)
}

pub(super) fn problem(finding: impl Into<String>, advice: &'static str) -> CheckResult {
    (CheckSeverity::Problem, finding.into(), advice)
}

pub(super) fn shown<T: ToString>(probe: &Probe<T>) -> String {
    match probe {
        Probe::Known(value) => value.to_string(),
        Probe::Absent(reason) => reason.clone(),
        Probe::Failed(reason) => format!("unknown: {reason}"),
    }
}

pub(super) fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1u32 << 30))
}
