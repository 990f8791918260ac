//! The flags for reading files of other programs.

use std::collections::BTreeMap;

use super::words::words;
use crate::adapters::formats::{Described, DescribedMetric, Repeats, RowLayout};
use crate::app::ingest::{AUTO, IngestOptions, sum_of};
use crate::model::{Better, Fault, Result};

/// Facts that files of other programs leave open.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Files of other programs")]
pub(crate) struct IngestArgs {
    /// First part of the benchmarks' names [default: results]
    #[arg(long, value_name = "NAME")]
    input_suite: Option<String>,
    /// Unit of a metric for which the file gives none: bandwidth=GB/s; repeatable
    #[arg(long, value_name = "METRIC=UNIT")]
    unit: Vec<String>,
    /// Mark a metric as judged and say which direction is better: score=higher; repeatable
    #[arg(long, value_name = "METRIC=lower|higher")]
    better: Vec<String>,
    /// Metric to read from a field of each row, for files in an unknown format: time=elapsed_ms:ms reads the field
    /// elapsed_ms in ms; score=score::higher has no unit; WAY is lower or higher; repeatable
    #[arg(long, value_name = "METRIC=FIELD[:UNIT[:WAY]]")]
    metric: Vec<String>,
    /// Fields that identify a row; repeatable, or separated by commas
    #[arg(long, value_name = "FIELD", value_delimiter = ',', requires = "metric")]
    parameters: Vec<String>,
    /// Where the rows are: a JSON path (RFC 9535), or `csv` for a table with any separator [default: the elements of a JSON
    /// list, the documents of JSON lines, the lines of a table]
    #[arg(long, value_name = "PATH", requires = "metric")]
    rows: Option<String>,
    /// Only rows whose field, or cases whose parameter, has this value: op=gelu; of a known format also case=NAME and
    /// metric=NAME; repeatable
    #[arg(id = "where", long = "where", value_name = "FIELD=VALUE")]
    conditions: Vec<String>,
    /// Meaning of several rows of one case in a file, for tools that append to their file
    #[arg(long, value_parser = words::<Repeats>(), value_name = "MEANING", default_value = "refuse")]
    repeats: Repeats,
}

impl IngestArgs {
    /// `format`: a format's name, a file with a description, or `auto`. Errors: flags that cannot be followed.
    pub(crate) fn options(&self, format: &str) -> Result<IngestOptions> {
        let named = IngestOptions::of_format(format)?;
        if format != AUTO && !self.metric.is_empty() {
            let what = "the format is named, and its reader knows the metrics";
            return Err(Fault::at_flag("--metric", what, "take --metric or --input-format out"));
        }
        let better = pairs("--better", &self.better, "write METRIC=lower or METRIC=higher")?;
        let better = better.into_iter().map(|(name, way)| Ok((name, direction("--better", &way)?)));
        let conditions = pairs("--where", &self.conditions, "write FIELD=VALUE")?;
        let given = self.given();
        let lines: String = given.iter().map(|(flag, value)| format!("{flag} {value}\n")).collect();
        let by_flags = self.described()?.map(|described| (described, sum_of(&lines)));
        let by_file = named.described.zip(named.described_by);
        let (mut described, described_by) = by_flags.or(by_file).unzip();
        described.iter_mut().for_each(|described| described.conditions.extend(conditions.clone()));
        Ok(IngestOptions {
            format: Some(format.to_owned()),
            described,
            suite: self.input_suite.clone(),
            units: pairs("--unit", &self.unit, "write METRIC=UNIT")?,
            better: better.collect::<Result<_>>()?,
            repeats: self.repeats,
            conditions,
            given,
            described_by,
        })
    }

    fn given(&self) -> Vec<(&'static str, String)> {
        let lists =
            [("--metric", &self.metric), ("--parameters", &self.parameters), ("--where", &self.conditions)];
        let given =
            lists.into_iter().flat_map(|(flag, list)| list.iter().map(move |value| (flag, value.clone())));
        given.chain(self.rows.iter().map(|path| ("--rows", path.clone()))).collect()
    }

    /// The metrics of `--metric`, completed by `--unit` and `--better`. Errors: a metric that is named twice.
    fn metrics(&self) -> Result<Vec<DescribedMetric>> {
        let units = pairs("--unit", &self.unit, "write METRIC=UNIT")?;
        let ways = pairs("--better", &self.better, "write METRIC=lower or METRIC=higher")?;
        let mut found: Vec<DescribedMetric> = Vec::new();
        for text in &self.metric {
            let mut metric = metric(text)?;
            if found.iter().any(|other| other.name == metric.name) {
                let what = format!("the metric `{}` is named twice", metric.name);
                return Err(Fault::at_flag(format!("--metric {text}"), what, "give each field its own name"));
            }
            if let Some(unit) = units.get(&metric.name).filter(|_| metric.unit.is_empty()) {
                metric.unit = unit.clone();
            }
            if let Some(way) = ways.get(&metric.name) {
                metric.better = Some(direction("--better", way)?);
            }
            found.push(metric);
        }
        Ok(found)
    }

    fn described(&self) -> Result<Option<Described>> {
        if self.metric.is_empty() {
            return Ok(None);
        }
        let layout = match self.rows.as_deref() {
            None => RowLayout::Auto,
            Some("csv") => RowLayout::Csv,
            Some(path) => RowLayout::Json(path.to_owned()),
        };
        Ok(Some(Described {
            layout,
            parameters: self.parameters.clone(),
            metrics: self.metrics()?,
            case: "rows".into(),
            ..Described::default()
        }))
    }
}

fn pairs(flag: &str, texts: &[String], next: &str) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for text in texts {
        let fault = |what: &str| Fault::at_flag(format!("{flag} {text}"), what, next);
        let (name, value) = text.split_once('=').ok_or_else(|| fault("there is no `=` in it"))?;
        if name.is_empty() || value.is_empty() {
            return Err(fault("one side of the `=` is empty"));
        }
        if found.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(fault("it is given twice"));
        }
    }
    Ok(found)
}

fn direction(flag: &str, word: &str) -> Result<Better> {
    match word {
        "lower" => Ok(Better::Lower),
        "higher" => Ok(Better::Higher),
        _ => Err(Fault::at_flag(
            format!("{flag} {word}"),
            "it is not a direction",
            "write `lower` or `higher`",
        )),
    }
}

fn metric(text: &str) -> Result<DescribedMetric> {
    let next = "write METRIC=FIELD:UNIT, such as time=elapsed_ms:ms, or METRIC=FIELD::higher";
    let fault = |what: &str| Fault::at_flag(format!("--metric {text}"), what, next);
    let (name, rest) = text.split_once('=').ok_or_else(|| fault("there is no `=` in it"))?;
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c)) {
        return Err(fault("a metric's name has letters, digits, `_`, `-`, `.` and `/` only"));
    }
    let mut parts = rest.split(':');
    let field = parts.next().unwrap_or_default();
    let (unit, way) = (parts.next().unwrap_or_default(), parts.next());
    if field.is_empty() || parts.next().is_some() {
        return Err(fault("it is not a field with a unit and a direction"));
    }
    let better = way.map(|way| direction(&format!("--metric {text}:"), way)).transpose()?;
    let (name, field, unit) = (name.to_owned(), field.to_owned(), unit.to_owned());
    Ok(DescribedMetric { name, field, unit, better, ..DescribedMetric::default() })
}
