//! The words in which adapters are written.

pub(super) use serde::Deserialize;
pub(super) use serde_json::Value;

pub(super) use super::adapter::{
    About, Adapter, Amount, CaseName, CaseRequest, End, Invocation, Language, Lists, Need, Reading, Reads,
    Refusal, SummaryReading,
};
pub(super) use super::case::{
    alone, by_parts, failed, int_or_text, metric_name, shown, skipped, summarised, summary,
};
pub(super) use super::detect::{BuildStep, Detected, FoundBenchmark, Program, SourceTree};
pub(super) use super::json::document;
pub(super) use super::output::{HarnessOutput, Place, ReadError, STDERR};
pub(super) use gbench_model::{Better, ParamValue, Params, direction_of_unit};
