//! Imports of every adapter.

pub(crate) use serde::Deserialize;
pub(crate) use serde_json::Value;

pub(crate) use super::adapter::{
    About, Adapter, Amount, CaseName, CaseRequest, End, Invocation, Language, Lists, Need, Reading, Reads,
    Refusal, SummaryReading,
};
pub(crate) use super::case::{
    alone, by_parts, failed, int_or_text, metric_name, shown, skipped, summarised, summary,
};
pub(crate) use super::output::{HarnessOutput, Place, ReadError, STDERR};
pub(crate) use super::source_tree::{BuildStep, Detected, FoundBenchmark, Program, SourceTree};
pub(crate) use crate::adapters::readers::json::document;
pub(crate) use gbench_model::{Better, ParamValue, Params, direction_of_unit};
