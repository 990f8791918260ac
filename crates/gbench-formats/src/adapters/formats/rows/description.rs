//! The description of rows: where they are in a file, their names, and their measured fields.

use std::collections::BTreeMap;

use regex::Regex;
use serde::{Deserialize, Deserializer};

use super::field::field_name;
use gbench_model::Better;

/// The rows of a file. A field is
///
/// - a key or a column, `elapsed_ms`, or the keys on the way to it, `our_kernel.median`;
/// - a JSON path in the row, `$.samples[0].value`;
/// - `^` and a field of the document that contains the row: `^config.model`;
/// - `../` and a field of the object that contains the row, `../../` and one of the next object around it;
/// - `tags.*` or `parameter_*`, for parameters and facts: every field that begins so and that nothing else names, without this
///   beginning;
/// - `@key`, the row's own key in a JSON object; `@key.1` is the key of its parent, and so on;
/// - `end - start`, the difference of two fields, for a metric;
/// - `gpu = device.name`, a parameter or a fact with another name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Described {
    pub layout: RowLayout,
    /// The name of the cases, in which `{field}` is the text of a field, and `{field|text}` this text where it is missing; empty:
    /// they are named by their parameters alone.
    pub case: String,
    /// Only rows whose fields have these values.
    pub conditions: BTreeMap<String, String>,
    /// Rows that are no result: those in which a field has one of these values.
    pub except: BTreeMap<String, Vec<String>>,
    /// Fields that distinguish the rows.
    pub parameters: Vec<String>,
    /// The same for fields that rows may lack.
    pub optional_parameters: Vec<String>,
    /// Fields about the machine and the software: rows that differ in one are of different runs.
    pub facts: Vec<String>,
    /// Fields that distinguish runs and say nothing else, such as an id.
    pub runs: Vec<String>,
    /// Facts of the run that may differ between its rows.
    pub row_facts: Vec<String>,
    /// Fields with how often, or how long, it measured.
    pub settings: Vec<String>,
    /// The field with the measured commit.
    pub commit: Option<String>,
    /// The field with the beginning of the run: RFC 3339 with an offset, or a number of seconds or milliseconds since 1970.
    pub started: Option<String>,
    /// Fields of a row that are shown and identify nothing.
    pub notes: Vec<String>,
    /// Fields that are known and say nothing about the results.
    pub ignored: Vec<String>,
    /// Fields with the reason of a failure, if they are not empty.
    pub errors: Vec<String>,
    /// Fields that are above zero in a row that was measured.
    pub positive: Vec<String>,
    /// Fields that are zero in a row that was measured, such as a number of failed requests.
    pub zero: Vec<String>,
    /// Pairs of fields that agree in a row that was measured, such as the requests and the completed ones.
    pub equal: Vec<[String; 2]>,
    /// Fields that have one of these values in a row that was measured. A row without the field is incomplete.
    pub passed: BTreeMap<String, Vec<String>>,
    /// Fields that have one of these values in a row that failed.
    pub failed: BTreeMap<String, Vec<String>>,
    /// Fields that have one of these values in a row that was skipped.
    pub skipped: BTreeMap<String, Vec<String>>,
    /// Words for a metric that a failed row has: `OOM`.
    pub failed_words: Vec<String>,
    /// Words for a metric that was not measured in this row: `N/A`.
    pub absent_words: Vec<String>,
    /// The number of cells of table rows that lack the last ones, such as those of a failed row.
    pub short: Option<usize>,
    /// A character between the digits of a number that has no meaning: `,` in `1,024`.
    pub grouping: Option<char>,
    /// Fields that are parts of others: the named groups of an expression.
    pub derived: Vec<Derived>,
    /// Any other text in place of a number is the reason of a failure.
    pub texts_fail: bool,
    /// Other spellings of units: `GBPS` for `GB/s`.
    pub units: BTreeMap<String, String>,
    pub metrics: Vec<DescribedMetric>,
    /// Rows of one case with different metrics are one case.
    pub joins: bool,
    /// Rows of one case are measurements of one process.
    pub samples: bool,
    /// The caller reads rows of several lists as such, too.
    #[serde(skip)]
    pub repeats: bool,
    /// Texts and flags of a row that nothing above names are facts of the run.
    #[serde(skip)]
    pub keeps_others: bool,
}

/// New fields from the text of one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Derived {
    pub field: String,
    pub groups: LinePattern,
    /// The groups count only if the group `case` with each of these endings is the text of some row: `_mean` and `_stddev` are
    /// aggregates of a benchmark, and not the end of its name.
    #[serde(default)]
    pub companions: Vec<String>,
}

/// The place of the rows in a file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowLayout {
    /// Determined by the content: JSON if it begins as JSON, else a table.
    #[default]
    Auto,
    /// The nodes of a JSON path (RFC 9535), in each document of the file.
    Json(String),
    /// A table with a header: its cells are separated by commas, semicolons, tabs, `|` or blanks, whichever gives the
    /// columns that are named.
    #[serde(alias = "table")]
    Csv,
    Text(TextLayout),
}

/// Rows in the lines of a text. The named groups of each expression are fields; `(?<key>...)` with `(?<value>...)` is a field
/// with the name that `key` matches. Each line counts for the first list with an expression that matches it, in the order below.
///
/// A line with a group `cells` is one of a square matrix, below a heading with a group `columns`. Each of its cells is a row,
/// with the fields `cell` and `column`. A line with a group `values` has a field for each of the `names` of the heading, with
/// commas between.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TextLayout {
    /// Lines that are rows.
    pub row: Vec<LinePattern>,
    /// Lines that begin a row of several lines.
    pub begin: Vec<LinePattern>,
    /// Lines with more fields of the row that has begun, each of which its first line determines. Without `begin`, all of them
    /// in the file are one row.
    pub part: Vec<LinePattern>,
    /// Lines whose fields belong to all rows after them, such as a heading. A group that takes no part in the match ends its
    /// field.
    pub context: Vec<LinePattern>,
    /// Lines that are known and not read, although they look like rows.
    pub ignored: Vec<LinePattern>,
    /// Lines of a file whose rows have all failed, such as a validation.
    pub failed: Vec<LinePattern>,
    /// A line that only a complete file has.
    pub last: Option<LinePattern>,
}

/// A regular expression with named groups.
#[derive(Clone, Debug)]
pub struct LinePattern(pub Regex);

impl PartialEq for LinePattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl<'de> Deserialize<'de> for LinePattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Regex::new(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DescribedMetric {
    /// `{field}` in it is the text of a field.
    pub name: String,
    pub field: String,
    /// Every field that this expression matches is a metric. Its groups replace `{group}` in `name`, which is `{name}` if it is
    /// empty, and its group `unit` replaces `unit`. `field` is empty then. Fields in objects are matched as `object.field`.
    pub fields: Option<LinePattern>,
    pub unit: String,
    /// Splits a name that a field has: what its group `name` matches is the name, and its group `unit` the unit.
    pub split: Option<LinePattern>,
    /// The field with the unit.
    pub unit_field: Option<String>,
    pub better: Option<Better>,
    /// A field with a list of objects, each of which is a metric: the other fields are those of an object of it, or of the row.
    pub list: Option<String>,
    /// Only in rows in which a field has one of these values.
    pub when: BTreeMap<String, Vec<String>>,
    /// Not in rows in which a field has one of these values.
    pub unless: BTreeMap<String, Vec<String>>,
    /// Rows may lack it.
    pub optional: bool,
    /// The field is a summary of several measurements.
    pub summary: Option<DescribedSummary>,
    /// It follows from another metric, or describes the run: not judged.
    pub shown: bool,
    /// It summarises the samples of other rows of the case, and counts only where these are not in the file.
    pub of_samples: bool,
    /// Zero means that it was not measured.
    pub zero_is_absent: bool,
    /// It is a time such as `1:02:03` or `0:05.25`; the unit is that of its last part.
    pub clock: bool,
}

/// Fields next to a summary, if the tool states them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DescribedSummary {
    pub deviation: Option<String>,
    pub count: Option<String>,
}

impl DescribedMetric {
    fn named_fields(&self) -> impl Iterator<Item = &String> {
        let beside = self.summary.iter().flat_map(|it| [&it.deviation, &it.count]).flatten();
        let all = std::iter::once(&self.field).chain(&self.unit_field).chain(beside).chain(&self.list);
        all.chain(self.when.keys()).chain(self.unless.keys()).filter(|name| !name.is_empty())
    }
}

impl Described {
    /// The fields that are named, without duplicates removed.
    pub(super) fn named_fields(&self) -> impl Iterator<Item = &str> {
        let lists = [
            &self.parameters,
            &self.optional_parameters,
            &self.facts,
            &self.runs,
            &self.row_facts,
            &self.settings,
            &self.notes,
            &self.ignored,
            &self.errors,
            &self.positive,
            &self.zero,
        ];
        let tables =
            [&self.except, &self.passed, &self.failed, &self.skipped].into_iter().flat_map(BTreeMap::keys);
        let metrics = self.metrics.iter().flat_map(DescribedMetric::named_fields);
        let all = lists.into_iter().flatten().chain(self.commit.iter()).chain(self.started.iter());
        let all = all.chain(self.equal.iter().flatten()).chain(tables).chain(self.conditions.keys());
        let texts = std::iter::once(&self.case).chain(self.metrics.iter().map(|metric| &metric.name));
        let all = all.chain(self.derived.iter().map(|derived| &derived.field));
        all.chain(metrics).map(String::as_str).chain(texts.flat_map(|text| template_fields(text)))
    }

    /// The fields that every row has.
    pub(super) fn needed(&self) -> impl Iterator<Item = &str> {
        let is_needed = |metric: &&DescribedMetric| {
            !metric.optional
                && metric.when.is_empty()
                && metric.unless.is_empty()
                && !metric.field.contains(" - ")
        };
        let metrics = self.metrics.iter().filter(is_needed).map(|metric| &metric.field);
        let derived = self.derived.iter().map(|derived| &derived.field);
        let names = self.parameters.iter().chain(self.conditions.keys()).chain(derived).chain(metrics);
        names.map(String::as_str).filter(|name| !name.is_empty())
    }

    /// The fields that are read, for the documentation.
    pub(super) fn documented(&self) -> String {
        let unique = |fields: &mut dyn Iterator<Item = String>| {
            let mut seen = Vec::new();
            fields.for_each(|name| {
                if !seen.contains(&name) {
                    seen.push(name)
                }
            });
            seen.join(", ")
        };
        // The filter of a path says nothing to a reader.
        let quoted = |name: &str| match field_name(name).split_once("[?") {
            Some((list, rest)) => format!("`{list}[]{}`", rest.split_once(']').map_or("", |(_, rest)| rest)),
            None => format!("`{}`", field_name(name)),
        };
        let parameters = self.parameters.iter().chain(&self.optional_parameters).map(String::as_str);
        let parameters = template_fields(&self.case).chain(parameters);
        let measured = self.metrics.iter().flat_map(|metric| {
            let matched = metric.fields.iter().map(|_| "others by their names".to_owned());
            metric.named_fields().map(|name| quoted(name)).chain(matched)
        });
        let run = self.facts.iter().chain(&self.row_facts).chain(&self.commit).chain(&self.started);
        let parts = [
            (unique(&mut parameters.map(quoted)), "as parameters"),
            (unique(&mut measured.into_iter()), ""),
            (unique(&mut run.map(|name| quoted(name))), "of the run"),
            (unique(&mut self.settings.iter().map(|name| quoted(name))), "as settings"),
        ];
        let parts = parts.into_iter().filter(|(names, _)| !names.is_empty());
        parts
            .map(|(names, what)| format!("{names} {what}").trim_end().to_owned())
            .collect::<Vec<_>>()
            .join("; ")
    }
}

/// The parts of `a {b} c`, each with the field that follows it.
pub(super) fn template_parts(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (before, after) = rest.split_once('{').unwrap_or((rest, ""));
        if let Some((name, after)) = after.split_once('}') {
            rest = after;
            return Some((before, Some(name)));
        }
        let literal = std::mem::take(&mut rest);
        (!literal.is_empty()).then_some((literal, None))
    })
}

/// The fields between braces: `a` and `b` of `{a}/{b}`.
pub(super) fn template_fields(text: &str) -> impl Iterator<Item = &str> {
    template_parts(text)
        .filter_map(|(_, name)| name.map(|name| name.split_once('|').map_or(name, |(name, _)| name)))
}
