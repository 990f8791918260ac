//! The flags that look at a sweep by its parameters.

use crate::model::{CaseId, Fault, Result};
use crate::report::{Format, SweepRequest, SweepTables, UnknownField};
use crate::suite::plan::{Plan, PlannedCase};
use crate::suite::words::advise;

/// How a sweep is looked at.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Sweeps")]
pub(crate) struct SweepArgs {
    /// One row per value of this parameter, or per combination of several parameters separated by commas
    #[arg(long, value_name = "PARAM", value_delimiter = ',')]
    by: Vec<String>,
    /// What to compare: the values of a parameter, or benchmark, variant, device, suite
    #[arg(long, value_name = "PARAM")]
    group_by: Option<String>,
}

/// Which part of a sweep is looked at.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Sweeps")]
pub(crate) struct SweepFilterArgs {
    /// Only cases with this value: operation=LayerNorm; repeatable
    #[arg(long = "where", value_name = "PARAM=VALUE")]
    conditions: Vec<String>,
    /// Metric to show [default: time, else the first that is judged]
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
}

impl SweepArgs {
    /// `None` where nothing is asked. Errors: flags that cannot be followed.
    pub(crate) fn request(&self, filter: &SweepFilterArgs) -> Result<Option<SweepRequest>> {
        let condition = |text: &String| {
            let fault = || {
                let what = "it is not a condition";
                Fault::at_flag(
                    format!("--where {text}"),
                    what,
                    "write PARAM=VALUE, such as operation=LayerNorm",
                )
            };
            let (name, value) = text.split_once('=').ok_or_else(fault)?;
            if name.is_empty() { Err(fault()) } else { Ok((name.to_owned(), value.to_owned())) }
        };
        let request = SweepRequest {
            by: self.by.clone(),
            group_by: self.group_by.clone(),
            conditions: filter.conditions.iter().map(condition).collect::<Result<_>>()?,
            metric: filter.metric.clone(),
        };
        if let Some(group) = request.group_by.as_ref().filter(|group| request.by.contains(group)) {
            let what = "it is named by `--by`, too";
            return Err(Fault::at_flag(format!("--group-by {group}"), what, "name two different parameters"));
        }
        match (request.is_asked(), &request.metric) {
            (true, _) => Ok(Some(request)),
            (false, None) => Ok(None),
            (false, Some(metric)) => {
                let what = "it chooses the metric of a sweep, and none is asked for";
                Err(Fault::at_flag(format!("--metric {metric}"), what, "add --by, --group-by or --where"))
            }
        }
    }
}

/// The sweep, or what is wrong with its request. Errors: a field or value that is not there; a format that has no tables.
pub(crate) fn sweep(sweep: Result<SweepTables, UnknownField>, format: Format) -> Result<SweepTables> {
    if format == Format::Junit {
        let what = "a sweep has tables, and no test cases";
        return Err(Fault::at_flag("--format junit", what, "take another format"));
    }
    sweep.map_err(unknown)
}

/// Checks a sweep before anything is measured. Errors: a field or value that none of the planned cases has.
pub(crate) fn check_sweep(plan: &Plan, request: &SweepRequest) -> Result<()> {
    // The cases of a harness are known once it has listed them.
    let is_known = |case: &PlannedCase| case.benchmark.harness.is_none() || case.benchmark.is_listed();
    if plan.cases.is_empty() || !plan.cases.iter().all(is_known) {
        return Ok(());
    }
    let ids: Vec<&CaseId> = plan.cases.iter().map(|case| &case.id).collect();
    SweepTables::check_planned(&ids, request).map_err(unknown)
}

fn unknown(UnknownField { name, value, known }: UnknownField) -> Fault {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let (what, place) = match &value {
        Some(value) => (format!("`{name}` is never `{value}` here"), format!("{name}={value}")),
        None => (format!("no case has the parameter `{name}`"), name.clone()),
    };
    let next = match known.as_slice() {
        [] => "look at the cases with `gbench-ci report`".to_owned(),
        known => advise(value.as_deref().unwrap_or(&name), known),
    };
    Fault::at(place, what, next)
}
