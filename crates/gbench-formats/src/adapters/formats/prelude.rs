//! The words in which formats are written.

pub(super) use serde::Deserialize;
pub(super) use serde_json::Value;

pub(super) use super::fields::{Fields, flattened};
pub(super) use super::format::{DeclaredFormat, ResultFile, RunReading};
pub(super) use super::outline::Outline;
pub(super) use super::table::{CsvRow, CsvTable, lines, number, param, params_of};
pub(super) use super::time::{utc, utc_millis};
pub(super) use super::values::{Entries, document, json_lines, param_of, python_document, scalar, typed};
pub(super) use crate::adapters::case::{
    alone, ended, fail, failed, measured, metric_name, named, of_case, shown, skipped, summarised, summary,
    text_param, word,
};
pub(super) use crate::adapters::{End, ReadError, Reading, Reads};
pub(super) use gbench_model::{Better, ParamValue, Params, direction_of_unit, is_time};
