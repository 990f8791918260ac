//! The numbers that a benchmark yields, and the rules that judge them.

use std::collections::BTreeMap;

use gbench_model::{Better, MetricDeclaration};

#[derive(Clone, Debug, PartialEq)]
pub struct Extract {
    pub metric: String,
    pub unit: String,
    pub better: Option<Better>,
    pub from: ExtractFrom,
    pub rows: ExtractRows,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtractRows {
    /// Relative to the benchmark's folder; `None`: stdout.
    pub file: Option<String>,
    /// JSON path of the rows, to which the extraction's own path is relative. Only with `json`.
    pub path: Option<String>,
    /// Only rows whose fields have these values. Only with `json`; `csv` has its own.
    pub conditions: BTreeMap<String, String>,
    /// Fields that name the case of a row; empty: all rows are samples of one case.
    pub parameters: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExtractFrom {
    /// RFC 9535 path, in one JSON document or in each JSON line. Every selected number is a sample.
    JsonPath(String),
    Regex(String),
    /// A column of a CSV with a header row. Every row with these cells is a sample.
    CsvColumn {
        column: String,
        rows: BTreeMap<String, String>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct MetricRule {
    pub glob: String,
    pub case: Option<String>,
    pub unit: Option<String>,
    pub declaration: MetricDeclaration,
}
