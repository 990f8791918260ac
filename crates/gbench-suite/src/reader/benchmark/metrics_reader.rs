//! Reads a benchmark's extractions and the rules that judge its metrics.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use globset::Glob;
use regex::Regex;
use serde_json_path::JsonPath;

use crate::benchmark::definition::Benchmark;
use crate::benchmark::extraction::{Extract, ExtractFrom, ExtractRows, MetricRule};
use crate::reader::item::{Item, optional};
use crate::reader::table::Table;
use gbench_formats::adapters::formats::{Described, DescribedMetric, RowLayout};
use gbench_model::MetricDeclaration;

impl Benchmark {
    /// Unit and declaration of a metric, with names as in reports: for each field, the first matching rule that sets it.
    /// Invalid globs match nothing; a loaded suite has none.
    pub fn declaration(&self, metric: &str, case: &str) -> (Option<String>, MetricDeclaration) {
        let mut unit = None;
        let mut declared = MetricDeclaration::default();
        let fits =
            |glob: &str, name: &str| Glob::new(glob).is_ok_and(|glob| glob.compile_matcher().is_match(name));
        let matches = |rule: &&MetricRule| {
            fits(&rule.glob, metric) && rule.case.as_deref().is_none_or(|glob| fits(glob, case))
        };
        for rule in self.metrics.iter().filter(matches) {
            unit = unit.or_else(|| rule.unit.clone());
            declared.better = declared.better.or(rule.declaration.better);
            declared.threshold = declared.threshold.or(rule.declaration.threshold);
            declared.target = declared.target.or(rule.declaration.target);
            declared.min_effect = declared.min_effect.or(rule.declaration.min_effect);
            declared.margin = declared.margin.or_else(|| rule.declaration.margin.clone());
            declared.gate = declared.gate.or(rule.declaration.gate);
            declared.exact = declared.exact.or(rule.declaration.exact);
            declared.absolute = declared.absolute.or(rule.declaration.absolute);
            declared.optional = declared.optional.or(rule.declaration.optional);
        }
        (unit, declared)
    }

    /// True if a process of the case may omit the metric.
    pub fn is_optional(&self, metric: &str, case: &str) -> bool {
        self.declaration(metric, case).1.optional == Some(true)
    }

    /// Optional metrics that the suite file names in full.
    pub fn named_optional(&self, case: &str) -> impl Iterator<Item = &str> {
        let whole = |name: &&str| !name.contains(['*', '?', '[', '{', '\\']);
        let ruled = self.metrics.iter().map(|rule| rule.glob.as_str()).filter(whole);
        let extracted = self.extract.iter().map(|extract| extract.metric.as_str());
        ruled.chain(extracted).filter(move |name| self.is_optional(name, case))
    }
}

/// Reads `[metrics."glob"]` tables, in the order of the file.
pub(crate) fn rules(table: &Table) -> Vec<MetricRule> {
    table.items().iter().filter_map(rule).collect()
}

fn rule(item: &Item) -> Option<MetricRule> {
    check_glob(item, item.key, item.key_span.clone())?;
    let mut table = item.table()?;
    let rule = MetricRule {
        glob: item.key.to_owned(),
        case: None,
        unit: table.take("unit").and_then(|unit| unit.text()).map(str::to_owned),
        declaration: declaration(&mut table),
    };
    table.close();
    Some(rule)
}

pub(crate) fn gate_rules(list: &Item) -> Vec<MetricRule> {
    let tables = list.list("`[[gate.rule]]` tables").unwrap_or_default();
    let rule = |item: &Item| {
        let mut table = item.table()?;
        let glob = |table: &mut Table, key| {
            let item = table.take(key)?;
            let text = item.filled()?;
            check_glob(&item, text, item.span.clone())?;
            Some(text.to_owned())
        };
        let rule = MetricRule {
            case: glob(&mut table, "case"),
            glob: glob(&mut table, "metric").unwrap_or_else(|| "*".into()),
            unit: None,
            declaration: declaration(&mut table),
        };
        table.close();
        Some(rule)
    };
    tables.iter().filter_map(rule).collect()
}

fn check_glob(item: &Item, glob: &str, span: std::ops::Range<usize>) -> Option<()> {
    if glob.len() > 200 {
        let what = "this pattern is longer than 200 bytes";
        item.page.fault(span, what, "shorten it: `*` stands for any characters");
        return None;
    }
    if let Err(error) = Glob::new(glob) {
        let what = format!("`{glob}` is not a glob: {}", error.kind());
        let next = "write a pattern such as \"*_bytes\"; a backslash makes the next character plain";
        item.page.fault(span, what, next);
    }
    Some(())
}

fn declaration(table: &mut Table) -> MetricDeclaration {
    MetricDeclaration {
        better: table.take("better").and_then(|better| better.variant()),
        threshold: table.take("threshold").and_then(|threshold| threshold.ratio()),
        target: table.take("target").and_then(|target| target.ratio()),
        min_effect: table.take("min_effect").and_then(|effect| effect.ratio()),
        margin: table.take("margin").and_then(|margin| margin.margin()),
        gate: table.take("gate").and_then(|gate| gate.flag()),
        exact: table.take("exact").and_then(|exact| exact.flag()),
        absolute: table.take("absolute").and_then(|absolute| absolute.flag()),
        optional: table.take("optional").and_then(|optional| optional.flag()),
    }
}

pub(super) fn extracts(list: &Item) -> Vec<Extract> {
    let mut found: Vec<Extract> = Vec::new();
    for item in list.list("`[[benchmark.extract]]` tables").unwrap_or_default() {
        let Some(mut table) = item.table() else { continue };
        let metric = table.need("metric", "`metric = \"time\"`").and_then(|metric| name(&metric, &found));
        let unit = table.take("unit").and_then(|unit| unit.text()).unwrap_or("");
        let better = table.take("better").and_then(|better| better.variant());
        let (from, rows) = (source(&mut table), rows(&mut table));
        table.close();
        if let (Some(metric), Some((from, way)), Some(rows)) = (metric, from, rows) {
            let rows = ExtractRows { path: way.path, conditions: way.conditions, ..rows };
            let first = found.first().filter(|first| first.rows != rows || !same_rows(&first.from, &from));
            if let Some(first) = first.filter(|first| rows.is_table() || first.rows.is_table()) {
                let what = format!("`{}` and `{metric}` select different rows", first.metric);
                let next = "give every extraction of the benchmark the same `file`, `rows`, `where` and `parameters`";
                item.fault(what, next);
            }
            if rows.is_table() && matches!(from, ExtractFrom::Regex(_)) {
                item.fault(
                    "`parameters` are fields of rows, which a `regex` does not have",
                    "use `json` or `csv`",
                );
            }
            found.push(Extract { metric, unit: unit.into(), better, from, rows });
        }
    }
    found
}

/// True if two extractions select the same rows and different numbers of them.
fn same_rows(one: &ExtractFrom, other: &ExtractFrom) -> bool {
    match (one, other) {
        (ExtractFrom::CsvColumn { rows: one, .. }, ExtractFrom::CsvColumn { rows: other, .. }) => {
            one == other
        }
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

/// A path below the benchmark's folder. A file elsewhere could be the other side's.
pub(super) fn file_below(item: &Item) -> Option<String> {
    let text = item.filled()?;
    let is_plain = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
    if Path::new(text).components().all(is_plain) {
        return Some(text.to_owned());
    }
    item.refuse(format!("`{text}` leaves the benchmark's folder"), "name a file below `dir`")
}

fn rows(table: &mut Table) -> Option<ExtractRows> {
    let (file, parameters) = (table.take("file"), table.take("parameters"));
    let file = optional(file, file_below)?;
    let parameters =
        optional(parameters, |item| item.texts("[\"batch_size\", \"dtype\"]"))?.unwrap_or_default();
    Some(ExtractRows { file, parameters, ..ExtractRows::default() })
}

impl ExtractRows {
    pub fn is_table(&self) -> bool {
        !self.parameters.is_empty()
    }
}

impl Benchmark {
    /// The rows that are cases, if its extractions declare them.
    pub(super) fn described_rows(&self) -> Option<Described> {
        let first = self.extract.first().filter(|first| first.rows.is_table())?;
        let metric = |extract: &Extract| {
            let (unit, declared) = self.declaration(&extract.metric, "");
            let field = match &extract.from {
                ExtractFrom::JsonPath(path) => path.clone(),
                ExtractFrom::CsvColumn { column, .. } => column.clone(),
                ExtractFrom::Regex(_) => String::new(),
            };
            DescribedMetric {
                name: extract.metric.clone(),
                field,
                unit: unit.unwrap_or_else(|| extract.unit.clone()),
                better: declared.better.or(extract.better),
                optional: declared.optional == Some(true),
                ..DescribedMetric::default()
            }
        };
        let (layout, conditions) = match &first.from {
            ExtractFrom::CsvColumn { rows, .. } => (RowLayout::Csv, rows.clone()),
            _ => {
                let path = first.rows.path.clone();
                (path.map_or(RowLayout::Auto, RowLayout::Json), first.rows.conditions.clone())
            }
        };
        Some(Described {
            layout,
            conditions,
            parameters: first.rows.parameters.clone(),
            metrics: self.extract.iter().map(metric).collect(),
            // Parameters identify the case; the benchmark already has a name.
            case: String::new(),
            ..Described::default()
        })
    }
}

fn name(item: &Item, earlier: &[Extract]) -> Option<String> {
    let metric = item.filled()?;
    if !metric.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c)) {
        let what = format!("`{metric}` is not a valid metric name");
        return item.refuse(what, "use letters, digits, `_`, `-`, `.` and `/` only");
    }
    if earlier.iter().any(|extract| extract.metric == metric) {
        return item.refuse(format!("`{metric}` appears twice"), "give each extraction its own metric");
    }
    Some(metric.to_owned())
}

#[derive(Default)]
struct JsonRows {
    path: Option<String>,
    conditions: BTreeMap<String, String>,
}

/// The place of the number, with `rows` and `where`: for a `csv` both are required cells; for a `json`, `rows` is a path.
fn source(table: &mut Table) -> Option<(ExtractFrom, JsonRows)> {
    let next = "add `json = \"$.path\"`, `regex = \"(number)\"` or `csv = \"column\"`";
    let nothing = ("this extraction has no source", next);
    let second = "write a second `[[benchmark.extract]]` for it";
    let first = table.one_of(["json", "regex", "csv"], "an extraction", nothing, second);
    let (rows, conditions) = (table.take("rows"), table.take("where"));
    let first = first?;
    let text = first.expression()?.to_owned();
    let chosen = conditions.as_ref().map(cells).unwrap_or_default();
    if first.key == "regex" {
        for item in rows.iter().chain(&conditions) {
            let why = "selects rows of a `json` or `csv`, but this extraction has `regex`";
            let what = format!("`{}` {why}", item.key);
            item.page.fault(item.key_span.clone(), what, format!("remove `{}`", item.key));
        }
        return Some((regex(&first, text)?, JsonRows::default()));
    }
    if first.key == "json" {
        let path = optional(rows, |item| json_path(item, item.expression()?.to_owned()))?;
        let from = ExtractFrom::JsonPath(json_path(&first, text)?);
        return Some((from, JsonRows { path, conditions: chosen }));
    }
    let mut cells_of_rows = rows.as_ref().map(cells).unwrap_or_default();
    cells_of_rows.extend(chosen);
    Some((ExtractFrom::CsvColumn { column: text, rows: cells_of_rows }, JsonRows::default()))
}

fn cells(item: &Item) -> BTreeMap<String, String> {
    let table = item.table().map(|table| table.items()).unwrap_or_default();
    let cell = |item: &Item| Some((item.key.to_owned(), item.text()?.to_owned()));
    table.iter().filter_map(cell).collect()
}

fn json_path(item: &Item, path: String) -> Option<String> {
    // The parser tries both readings of every nested filter: its time doubles with each.
    const MAX_BRACKETS: usize = 8;
    if path.matches(['?', '(']).count() > MAX_BRACKETS {
        let what = format!("the JSON path has more than {MAX_BRACKETS} filters and brackets");
        return item.refuse(what, "write a simpler path, such as \"$.results[*].time\"");
    }
    match JsonPath::parse(&path) {
        Ok(_) => Some(path),
        Err(error) => {
            let what = format!("`{path}` is not a JSON path: error at character {}", error.position() + 1);
            item.refuse(what, "write a path such as \"$.results[*].time\" (RFC 9535)")
        }
    }
}

fn regex(item: &Item, pattern: String) -> Option<ExtractFrom> {
    let next = "put one group around the number: regex = 'time: ([0-9.]+) ms'";
    match Regex::new(&pattern) {
        Ok(regex) if regex.captures_len() < 2 => item.refuse("the regular expression captures nothing", next),
        Ok(_) => Some(ExtractFrom::Regex(pattern)),
        Err(error) => {
            // The last line is the error; those before it draw the pattern.
            let text = error.to_string();
            let cause = text.lines().next_back().unwrap_or("").trim_start_matches("error: ").to_owned();
            item.refuse(format!("the regular expression is not valid: {cause}"), next)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::launch::Action;

    #[test]
    fn the_first_rule_that_sets_a_field_speaks_for_it() {
        let id = "s/x".parse().unwrap();
        let mut benchmark = Benchmark::new(id, Action::Shell("true".into()), "/".into());
        let rule = |glob: &str, threshold, gate| MetricRule {
            glob: glob.into(),
            case: None,
            unit: None,
            declaration: MetricDeclaration { threshold, gate, exact: gate, ..Default::default() },
        };
        benchmark.metrics = vec![
            rule("peak_*", Some(0.01), None),
            rule("*_bytes", Some(0.5), Some(false)),
            rule("[", None, None),
        ];
        let (unit, declared) = benchmark.declaration("peak_bytes", "s/x");
        assert_eq!(unit, None);
        assert_eq!((declared.threshold, declared.gate), (Some(0.01), Some(false)));
        assert_eq!(declared.exact, Some(false));
        assert_eq!(benchmark.declaration("time", "s/x").1, MetricDeclaration::default());
    }
}
