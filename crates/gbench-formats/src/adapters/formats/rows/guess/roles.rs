//! The part that each field seems to have in a row.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::look::{RowField, RowLook};
use super::name::{NameParts, Statistic};
use crate::adapters::formats::readers::table::number;
use crate::adapters::formats::readers::time::{utc, utc_millis};
use crate::adapters::formats::readers::values::{changes_by_itself, is_setting};

/// The part of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldRole {
    /// It distinguishes rows, or is a part of the workload.
    Key,
    /// It is measured. `main`: it is the one of its metric by which rows are judged, and not a spread or a percentile.
    Figure {
        main: bool,
    },
    Fact,
    Setting,
    /// The beginning of the run.
    Moment,
    Commit,
    /// It has one of these values in a row that was measured. Empty: no row in the file passed.
    Passed(Vec<String>),
    /// It is zero in a row that was measured.
    Zero,
    /// The reason of a failure.
    Error,
    /// The unit of the row's figure.
    Unit,
    /// The name of the row's figure.
    Metric,
    /// Nothing shows what it is.
    Unknown,
}

pub(super) struct Sorted<'l> {
    pub column: &'l RowField,
    pub name: NameParts,
    pub role: FieldRole,
    /// Rows that have it.
    pub present: usize,
    /// Words that it has instead of a number.
    pub words: BTreeSet<String>,
    /// Each value is a number, a list of numbers, or one of these words.
    is_numeric: bool,
}

const WORKLOAD: &str = "algo|algorithm|backend|bench|benchmark|case|collective|config|dataset|direction|dtype|engine|features|\
    framework|func|function|impl|implementation|input|kernel|kind|layout|matrix|method|mode|model|name|op|operation|operator|\
    precision|problem|scenario|shape|target|task|test|tile|type|variant|workload";
/// Last words of the names of numbers that are a part of the workload.
const SIZES: &str = "batch|batchsize|bs|channels|clients|concurrency|depth|dim|dims|h|head|heads|height|hidden|k|layers|len|length|m|\
    n|rank|seq|seqlen|size|streams|threads|w|width|workers";
const MACHINE: &str = "arch|architecture|build|commit|compiler|cpu|cuda|cudnn|cxx|device|driver|gcc|git|gpu|gpus|host|hostname|\
    machine|node|os|platform|processor|python|rocm|sha|sm|system|torch|triton|version|hardware";
const OUTCOME: &str = "allclose|completed|correct|correctness|ok|outcome|pass|passed|result|status|succeeded|success|valid|verified|\
    verification";
/// Last words of the names of outcomes that may be written as 0 and 1.
const FLAGS: &str =
    "allclose|correct|correctness|ok|pass|passed|succeeded|success|successful|valid|verified|verification";
const BAD: &str = "false|no|bad|incorrect|invalid|wrong|mismatch|fail|failed|failure|error|errored|exception|oom|timeout|\
    timed_out|crash|crashed|killed|aborted|canceled|cancelled|skip|skipped";
const GOOD: &str =
    "true|ok|success|successful|passed|pass|completed|complete|succeeded|valid|correct|done|yes|finished";
const ERRORS: &str = "error|error_message|error_msg|errmsg|exception|traceback|failure_reason";
/// Numbers that are zero unless something failed.
const COUNTS_OF_FAILURES: &str = "errors|failed|failures|num_failed|num_errors|failed_requests|error_count|exit_code|exitcode|\
    exit_status|returncode|return_code|retcode|rc";
const FAILURES: &str = "oom|nan|inf|+inf|-inf|infinity|-infinity|error|fail|failed|timeout|crash|crashed";
const ABSENT: &str = "n/a|na|none|null|-|--";

/// Characters of a text that may distinguish rows.
const MAX_KEY: usize = 400;

fn has(words: &str, word: &str) -> bool {
    words.split('|').any(|other| other == word)
}

/// A field without the way to the object that has it.
fn inner(field: &str) -> &str {
    let field = field.split_once(" = ").map_or(field, |(_, field)| field);
    field.rsplit_once("../").map_or(field, |(_, field)| field).trim_start_matches('^')
}

/// The last key of a field, in lower case.
fn last_key(field: &str) -> String {
    let inner = inner(field);
    inner.rsplit('.').next().unwrap_or(inner).to_ascii_lowercase()
}

fn last_word(key: &str) -> &str {
    key.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or(key)
}

/// True for a field of what is around the row.
fn is_around(field: &str) -> bool {
    inner(field) != field
}

fn any_word(field: &str, words: &str) -> bool {
    let last = last_key(field);
    last.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| has(words, part))
}

pub(super) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_owned())
}

fn number_of(value: &Value) -> Option<f64> {
    let found = match value {
        Value::Number(value) => value.as_f64(),
        Value::String(text) => number(text),
        _ => None,
    };
    found.filter(|value| value.is_finite())
}

/// True for a word that a tool leaves instead of a number. A failure if `true` is given.
pub(super) fn is_word(text: &str, failure: bool) -> bool {
    has(if failure { FAILURES } else { ABSENT }, &text.to_ascii_lowercase())
}

impl<'l> Sorted<'l> {
    fn of(column: &'l RowField, rows: usize) -> Self {
        let there = || column.values.iter().filter(|value| !value.is_null());
        let present = there().count();
        let mut words = BTreeSet::new();
        let mut numbers: Vec<f64> = Vec::new();
        let (mut is_numeric, mut is_list) = (true, false);
        for value in there() {
            match value {
                Value::Array(list) => {
                    is_list = true;
                    let found: Option<Vec<f64>> = list.iter().map(number_of).collect();
                    is_numeric &= found.as_ref().is_some_and(|found| !found.is_empty());
                    numbers.extend(found.into_iter().flatten());
                }
                value => match number_of(value) {
                    Some(found) => numbers.push(found),
                    None => {
                        let text = text_of(value);
                        is_numeric &= is_word(&text, true) || is_word(&text, false);
                        words.insert(text);
                    }
                },
            }
        }
        let is_numeric = is_numeric && !numbers.is_empty();
        if !is_numeric {
            words.clear();
        }
        let name = NameParts::of(&column.field);
        let mut sorted = Self { column, name, role: FieldRole::Unknown, present, words, is_numeric };
        sorted.role = sorted.first_role(rows, is_numeric.then_some((numbers.as_slice(), is_list)));
        sorted
    }

    /// Without regard to the other fields.
    fn first_role(&self, rows: usize, numbers: Option<(&[f64], bool)>) -> FieldRole {
        let field = self.column.field.as_str();
        let key = last_key(field);
        let texts = || self.column.values.iter().filter(|value| !value.is_null()).map(text_of);
        if field.starts_with("@key") {
            return FieldRole::Key;
        }
        if ["commit", "sha"].iter().any(|word| any_word(field, word)) && texts().all(|text| is_sha(&text)) {
            return FieldRole::Commit;
        }
        if texts().all(|text| utc(&text).is_some()) && self.present > 0 {
            return FieldRole::Moment;
        }
        let Some((numbers, is_list)) = numbers else {
            return self.role_of_texts(&key);
        };
        if has(COUNTS_OF_FAILURES, &key) && !is_list {
            return FieldRole::Zero;
        }
        let is_flag = has(FLAGS, last_word(&key)) && !any_word(field, "num|count|total|n");
        if is_flag && !is_list && numbers.iter().all(|number| [0.0, 1.0].contains(number)) {
            let is_good = |text: &String| number(text) == Some(1.0);
            let good: BTreeSet<String> = texts().filter(is_good).chain(["1".to_owned()]).collect();
            return FieldRole::Passed(good.into_iter().collect());
        }
        let is_epoch = |number: &f64| {
            (1e9..4e9).contains(number) || (1e12..4e12).contains(number) && utc_millis(*number).is_some()
        };
        if !is_list
            && any_word(field, "timestamp|date|time|started|start|created|epoch")
            && numbers.iter().all(is_epoch)
        {
            return FieldRole::Moment;
        }
        let whole = numbers.iter().all(|number| number.fract() == 0.0);
        let is_always_setting = any_word(field, "warmup|warmups|timeout|seed|burnin");
        if is_always_setting || is_setting(&key) && self.name.unit.is_none() && !is_list {
            return FieldRole::Setting;
        }
        if is_around(field) {
            return self.role_of_constant(whole);
        }
        let varies = numbers.iter().any(|number| number != &numbers[0]);
        if !varies && has("python|version", last_word(&key)) {
            return FieldRole::Fact;
        }
        let is_sample_list = is_list && !whole && numbers.len() > self.present;
        let is_figure =
            self.name.is_figure() || is_sample_list || !is_list && !whole && (varies || rows == 1);
        let main = !matches!(self.name.statistic, Statistic::Spread)
            && !any_word(field, "error|err|diff|rmse|mse|percent|pct");
        if !is_figure && (self.name.statistic == Statistic::Value || whole) {
            return self.role_of_constant(whole);
        }
        FieldRole::Figure { main: main || field == "$" }
    }

    /// The part of a field that is not a figure.
    fn role_of_constant(&self, is_exact: bool) -> FieldRole {
        let field = self.column.field.as_str();
        let last = last_key(field);
        let is_size = has(SIZES, last_word(&last));
        let is_list = self.column.values.iter().any(Value::is_array);
        let is_named = (!self.is_numeric || is_list) && any_word(field, WORKLOAD);
        let is_workload = is_named || self.is_numeric && is_size;
        if is_workload && !any_word(field, MACHINE) && !any_word(field, "total") {
            return FieldRole::Key;
        }
        if is_exact || any_word(field, MACHINE) { FieldRole::Fact } else { FieldRole::Unknown }
    }

    fn role_of_texts(&self, key: &str) -> FieldRole {
        let is_list = self.column.values.iter().any(Value::is_array);
        let values: BTreeSet<String> =
            self.column.values.iter().filter(|value| !value.is_null()).map(text_of).collect();
        if has(ERRORS, key) {
            return FieldRole::Error;
        }
        let good: Vec<String> =
            values.iter().filter(|text| has(GOOD, &text.to_ascii_lowercase())).cloned().collect();
        let is_bad = |text: &String| {
            let text = text.to_ascii_lowercase();
            text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| has(BAD, word))
        };
        if any_word(key, OUTCOME) && (!good.is_empty() || values.iter().any(is_bad)) {
            return FieldRole::Passed(good);
        }
        let is_short = |word: &String| word.chars().count() < 16;
        let is_unit = key.rsplit('_').next().is_some_and(|last| ["unit", "units"].contains(&last));
        if is_unit && !values.is_empty() && values.iter().all(is_short) {
            return FieldRole::Unit;
        }
        if has("metric|metric_name|measurement|measure", key) && values.iter().all(|text| !text.is_empty()) {
            return FieldRole::Metric;
        }
        let is_long = values.iter().any(|text| text.chars().count() > MAX_KEY);
        if is_long
            || is_list && values.iter().any(|text| text == "[]")
            || changes_by_itself(key) && !any_word(key, "file")
        {
            return FieldRole::Unknown;
        }
        self.role_of_constant(true)
    }

    pub(super) fn texts_except(&self, good: &[String]) -> Vec<String> {
        let texts = self.column.values.iter().filter(|value| !value.is_null()).map(text_of);
        let texts: BTreeSet<String> = texts.filter(|text| !good.contains(text)).collect();
        texts.into_iter().collect()
    }

    pub(super) fn varies(&self) -> bool {
        self.column.values.iter().any(|value| *value != self.column.values[0])
    }

    fn distinct(&self) -> usize {
        self.column.values.iter().map(Value::to_string).collect::<HashSet<_>>().len()
    }

    fn is_whole(&self) -> bool {
        self.column.values.iter().all(|value| number_of(value).is_none_or(|number| number.fract() == 0.0))
    }
}

fn is_sha(text: &str) -> bool {
    (7..=40).contains(&text.len()) && text.chars().all(|c| c.is_ascii_hexdigit())
}

/// The fields of a look with their roles.
pub(super) fn sorted(look: &RowLook) -> Vec<Sorted<'_>> {
    let mut fields: Vec<Sorted> = look.columns.iter().map(|column| Sorted::of(column, look.rows)).collect();
    figures_with_units(&mut fields);
    keep_the_best_statistics(&mut fields);
    if look.rows > 1 {
        tell_rows_apart(&mut fields, look.rows);
    }
    fields
}

/// The value next to a unit is a figure, also if it is whole.
fn figures_with_units(fields: &mut [Sorted]) {
    let parent = |field: &str| field.rsplit_once('.').map_or(String::new(), |(parent, _)| parent.to_owned());
    let units: Vec<String> = fields
        .iter()
        .filter(|field| field.role == FieldRole::Unit)
        .map(|field| parent(&field.column.field))
        .collect();
    for field in fields.iter_mut().filter(|field| field.is_numeric) {
        let is_value = has("value|result|score", &last_key(&field.column.field));
        if is_value && units.contains(&parent(&field.column.field)) {
            field.role = FieldRole::Figure { main: true };
        }
    }
}

/// Keeps one of the statistics of a metric as its figure.
fn keep_the_best_statistics(fields: &mut [Sorted]) {
    let best = |fields: &[Sorted], metric: &str| {
        let same = fields.iter().filter(|field| field.name.metric == metric);
        same.filter(|field| field.role == FieldRole::Figure { main: true })
            .map(|field| field.name.statistic)
            .min()
    };
    for at in 0..fields.len() {
        if fields[at].role == (FieldRole::Figure { main: true })
            && best(fields, &fields[at].name.metric).is_some_and(|best| best < fields[at].name.statistic)
        {
            fields[at].role = FieldRole::Figure { main: false };
        }
    }
}

/// Makes keys of the fields that distinguish rows: what has texts first, then whole numbers that repeat.
fn tell_rows_apart(fields: &mut [Sorted], rows: usize) {
    let may_be_key = |field: &Sorted| {
        let is_exact = field.is_whole() || !field.is_numeric;
        let is_open = matches!(field.role, FieldRole::Key | FieldRole::Fact | FieldRole::Unknown) && is_exact;
        let is_long = field.column.values.iter().any(|value| text_of(value).chars().count() > MAX_KEY);
        is_open
            && field.varies()
            && !is_long
            && (field.role == FieldRole::Key || !changes_by_itself(&last_key(&field.column.field)))
            && !any_word(&field.column.field, "uuid|index")
    };
    // A fact that varies is not one of the run, and distinguishes rows if nothing else does.
    let mut candidates: Vec<usize> = (0..fields.len()).filter(|at| may_be_key(&fields[*at])).collect();
    let order = |at: &usize| {
        let field = &fields[*at];
        let is_machine = any_word(&field.column.field, MACHINE);
        (field.role != FieldRole::Key, field.is_numeric, is_machine, field.present < rows, field.distinct())
    };
    candidates.sort_by_key(order);
    // Rows of different metrics are parts of one case.
    let names = (0..fields.len()).filter(|at| fields[*at].role == FieldRole::Metric);
    let mut keys: Vec<usize> = names.collect();
    let mut groups = combinations(fields, &keys, rows);
    for at in &candidates {
        let is_known_key = fields[*at].role == FieldRole::Key;
        let with: Vec<usize> = keys.iter().copied().chain([*at]).collect();
        let found = combinations(fields, &with, rows);
        // The workload's own names stay even if they add nothing.
        if is_known_key || found > groups && groups < rows {
            keys = with;
            groups = found;
        }
    }
    if groups < rows {
        add_repeating_numbers(fields, &mut keys, groups, rows);
    }
    for at in candidates {
        let field = &fields[at];
        if keys.contains(&at) {
            fields[at].role = FieldRole::Key;
        } else if field.is_numeric
            && !is_around(&field.column.field)
            && !field.column.values.iter().any(Value::is_array)
        {
            // Nothing shows what it counts, and it is not needed as a key.
            fields[at].role = FieldRole::Figure { main: true };
        } else if field.is_numeric || field.role == FieldRole::Fact {
            fields[at].role = FieldRole::Unknown;
        }
    }
}

/// Numbers with a fraction that repeat may be a part of the workload, such as a sparsity.
fn add_repeating_numbers(fields: &mut [Sorted], keys: &mut Vec<usize>, mut groups: usize, rows: usize) {
    for at in 0..fields.len() {
        let field = &fields[at];
        let may_be = matches!(field.role, FieldRole::Figure { .. } | FieldRole::Unknown)
            && !field.name.is_figure()
            && field.is_numeric
            && field.words.is_empty()
            && !field.column.values.iter().any(Value::is_array)
            && field.present == rows
            && field.distinct() * 2 <= rows;
        let with: Vec<usize> = keys.iter().copied().chain([at]).collect();
        if may_be && field.varies() && groups < rows {
            let found = combinations(fields, &with, rows);
            if found > groups {
                (*keys, groups) = (with, found);
                fields[at].role = FieldRole::Key;
            }
        }
    }
}

fn combinations(fields: &[Sorted], keys: &[usize], rows: usize) -> usize {
    let of_row = |row: usize| -> Vec<String> {
        keys.iter().map(|at| fields[*at].column.values[row].to_string()).collect()
    };
    (0..rows).map(of_row).collect::<HashSet<_>>().len()
}
