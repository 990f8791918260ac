//! The numbers that a benchmark yields, and the rules that judge them.

use std::collections::BTreeMap;

use gbench_model::{Better, MetricDeclaration};

/// One number taken from stdout, or from a file that the program writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Extract {
    pub metric: String,
    pub unit: String,
    pub better: Option<Better>,
    pub from: ExtractFrom,
    pub rows: ExtractRows,
}

/// Where an extraction looks, and which rows it takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtractRows {
    /// A file, from the benchmark's folder; `None`: stdout.
    pub file: Option<String>,
    /// JSON path of the rows, in which the extraction's own path then counts; of a `json` only.
    pub path: Option<String>,
    /// Only rows whose fields have these values; of a `json` only, a `csv` has its own.
    pub conditions: BTreeMap<String, String>,
    /// Fields by which rows are cases; empty: all rows are samples of one.
    pub parameters: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExtractFrom {
    /// RFC 9535 path over stdout as one JSON document, or over each line of JSON lines; every number selected
    /// is a sample.
    JsonPath(String),
    /// The first capture group of every match is a sample.
    Regex(String),
    /// The named column of a CSV with a header row; every row is a sample, or every row with these cells.
    CsvColumn { column: String, rows: BTreeMap<String, String> },
}

/// How metrics whose name matches are judged.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricRule {
    pub glob: String,
    /// Only of cases whose name matches; absent: of all.
    pub case: Option<String>,
    pub unit: Option<String>,
    pub declaration: MetricDeclaration,
}
