//! Imports of every format.

pub(crate) use serde::Deserialize;
pub(crate) use serde_json::Value;

pub(crate) use super::format::{DeclaredFormat, ResultFile, RunReading};
pub(crate) use crate::adapters::formats::readers::fields::{Fields, flattened};
pub(crate) use crate::adapters::formats::readers::outline::Outline;
pub(crate) use crate::adapters::formats::readers::table::{
    CsvRow, CsvTable, lines, no_value, number, param, params_of,
};
pub(crate) use crate::adapters::formats::readers::time::{utc, utc_millis};
pub(crate) use crate::adapters::formats::readers::values::{
    Entries, changes_by_itself, document, has_number, is_setting, json_lines, param_of, scalar, typed,
    unknown,
};
pub(crate) use crate::adapters::interface::adapter::{End, LoadFields, Reading, Reads};
pub(crate) use crate::adapters::interface::case::{
    CaseReadings, alone, ended, fail, failed, measured, metric_name, named, shown, skipped, summarised,
    summary, text_param, word,
};
pub(crate) use crate::adapters::interface::output::ReadError;
pub(crate) use gbench_model::{Better, ParamValue, Params, direction_of_unit, is_time};
