//! A guess at what a file of no known format holds, and the description that would read it.
//!
//! [`look`] finds the forms in which the file may hold rows, [`name`] reads units in the names of fields, [`roles`] sorts the
//! fields, and [`flags`] and [`written`] write the description. Nothing is read by a guess before a person has seen it.

mod flags;
mod look;
mod name;
mod roles;
#[cfg(test)]
mod tests;
mod written;

use std::cmp::Reverse;

pub use flags::WAY;
pub use roles::FieldRole;

use super::description::{Described, DescribedMetric, DescribedSummary, RowLayout};
use crate::adapters::formats::interface::check::{read, read_repeated};
use crate::adapters::formats::interface::format::ResultFile;
use crate::adapters::formats::interface::repeats::Repeats;
use crate::adapters::interface::case::metric_name;
use gbench_model::{Better, direction_of_unit};
use look::RowLook;
use name::Statistic;
use roles::{Sorted, is_word, sorted, text_of};

/// Files larger than this are not looked at: their documents are in memory as a whole.
const MAX_BYTES: usize = 64 << 20;

pub struct Guess {
    /// The form of the file in words.
    pub form: String,
    pub rows: usize,
    pub fields: Vec<GuessedField>,
    /// The description; `None`: no field looks like a figure.
    pub described: Option<Described>,
    /// The part of it that the flags of `ingest` can say, if that is enough.
    pub flags: Option<Vec<(&'static str, String)>>,
    /// Several rows have the same keys.
    pub repeats: bool,
    /// Why the description cannot read the file.
    pub obstacle: Option<String>,
}

pub struct GuessedField {
    pub name: String,
    pub example: String,
    pub role: FieldRole,
    pub unit: String,
    pub better: Option<Better>,
    /// The field with its unit, whose values show which is better.
    pub unit_field: Option<String>,
}

impl Guess {
    pub fn of(file: &ResultFile) -> Self {
        let mut guess = Self {
            form: String::new(),
            rows: 0,
            fields: Vec::new(),
            described: None,
            flags: None,
            repeats: false,
            obstacle: None,
        };
        if file.bytes.len() > MAX_BYTES {
            guess.form = format!("more than {} MiB", MAX_BYTES >> 20);
            return guess;
        }
        let looks = match look::looks(file) {
            Ok(looks) => looks,
            Err(form) => return Self { form, ..guess },
        };
        let looks: Vec<(&RowLook, Vec<Sorted>)> = looks.iter().map(|look| (look, sorted(look))).collect();
        let Some((look, fields)) = looks.into_iter().max_by_key(|(look, fields)| worth(look, fields)) else {
            guess.form = "JSON without an object".into();
            return guess;
        };
        guess.form = look.form.clone();
        guess.rows = look.rows;
        guess.fields = fields.iter().map(GuessedField::of).collect();
        guess.fields.sort_by_key(|field| field.rank());
        let described = described(look, &fields);
        for metric in described.metrics.iter().filter(|metric| !metric.shown) {
            let figure = guess.fields.iter_mut().find(|field| field.name == metric.field);
            figure.into_iter().for_each(|figure| figure.unit_field = metric.unit_field.clone());
        }
        if described.metrics.is_empty() {
            return guess;
        }
        match read(&described, file) {
            Ok(_) => {}
            Err(_) if read_repeated(&described, file, Repeats::Samples).is_ok() => guess.repeats = true,
            Err(error) => guess.obstacle = Some(error.to_string()),
        }
        let by_flags = flags::by_flags(&described, &fields);
        let repeats = if guess.repeats { Repeats::Samples } else { Repeats::Refuse };
        guess.flags =
            by_flags.filter(|it| read_repeated(it, file, repeats).is_ok()).map(|it| flags::flags(&it));
        guess.described = Some(described);
        guess
    }
}

impl GuessedField {
    fn of(sorted: &Sorted) -> Self {
        let value = sorted.column.values.iter().find(|value| !value.is_null());
        Self {
            name: sorted.column.field.clone(),
            example: value.map(text_of).unwrap_or_default(),
            role: sorted.role.clone(),
            unit: sorted.name.unit.clone().unwrap_or_default(),
            better: sorted.name.better,
            unit_field: None,
        }
    }

    /// Keys and figures come first.
    fn rank(&self) -> u8 {
        match self.role {
            FieldRole::Key => 0,
            FieldRole::Figure { main: true } => 1,
            FieldRole::Metric | FieldRole::Unit => 2,
            FieldRole::Passed(_) | FieldRole::Error | FieldRole::Zero => 3,
            FieldRole::Figure { main: false } => 4,
            FieldRole::Commit | FieldRole::Moment | FieldRole::Fact => 5,
            FieldRole::Setting => 6,
            FieldRole::Unknown => 7,
        }
    }
}

/// How well a look at a file fits: figures, and several rows of them, as few levels deep as possible.
fn worth(look: &RowLook, fields: &[Sorted]) -> impl Ord + use<> {
    let figures = || fields.iter().filter(|field| matches!(field.role, FieldRole::Figure { main: true }));
    let quality = match (figures().any(|field| field.name.is_figure()), figures().count()) {
        (true, _) => 2,
        (false, 0) => 0,
        (false, _) => 1,
    };
    let depth = match &look.layout {
        RowLayout::Json(path) => path.matches(['.', '[']).count(),
        _ => 0,
    };
    (quality > 0, look.rows > 1, quality, Reverse(depth), look.rows)
}

fn described(look: &RowLook, fields: &[Sorted]) -> Described {
    let of = |role: FieldRole| fields.iter().filter(move |field| field.role == role);
    let names = |role: FieldRole| of(role).map(|field| field.column.field.clone()).collect::<Vec<String>>();
    let is_whole = |field: &&Sorted| field.present == look.rows;
    let constant = |field: &&Sorted| !field.varies();
    let keys = || of(FieldRole::Key).map(|field| (field.present == look.rows, field.column.field.clone()));
    let facts: Vec<String> =
        of(FieldRole::Fact).filter(constant).map(|field| field.column.field.clone()).collect();
    let passed = fields.iter().filter(is_whole).filter_map(|field| match &field.role {
        FieldRole::Passed(values) => Some((field.column.field.clone(), values.clone())),
        _ => None,
    });
    // Where only some rows have an outcome, the others have passed.
    let failed = fields.iter().filter(|field| !is_whole(field)).filter_map(|field| match &field.role {
        FieldRole::Passed(good) => Some((field.column.field.clone(), field.texts_except(good))),
        _ => None,
    });
    let words = |failure| {
        let words = fields.iter().flat_map(|field| &field.words).filter(|word| is_word(word, failure));
        let mut words: Vec<String> = words.cloned().collect();
        words.sort();
        words.dedup();
        words
    };
    let figures = || fields.iter().filter(|field| matches!(field.role, FieldRole::Figure { .. }));
    let has_none = |row: usize| figures().all(|field| field.column.values[row].is_null());
    let mut absent_words = words(false);
    // With such a word, a row without any figure is skipped.
    if absent_words.is_empty() && figures().count() > 0 && (0..look.rows).any(has_none) {
        absent_words.push("N/A".into());
    }
    Described {
        layout: look.layout.clone(),
        case: "rows".into(),
        parameters: keys().filter(|(whole, _)| *whole).map(|(_, name)| name).collect(),
        optional_parameters: keys().filter(|(whole, _)| !*whole).map(|(_, name)| name).collect(),
        facts,
        settings: names(FieldRole::Setting),
        commit: names(FieldRole::Commit).into_iter().next(),
        started: names(FieldRole::Moment).into_iter().next(),
        notes: Vec::new(),
        errors: names(FieldRole::Error),
        zero: names(FieldRole::Zero),
        passed: passed.collect(),
        failed: failed.filter(|(_, values)| !values.is_empty()).collect(),
        failed_words: words(true),
        absent_words,
        metrics: metrics(look, fields),
        joins: of(FieldRole::Metric).next().is_some(),
        ..Described::default()
    }
}

fn metrics(look: &RowLook, fields: &[Sorted]) -> Vec<DescribedMetric> {
    let figures = fields.iter().filter(|field| matches!(field.role, FieldRole::Figure { .. }));
    let whole =
        |role: FieldRole| fields.iter().filter(move |field| field.role == role && field.present == look.rows);
    let name_field = whole(FieldRole::Metric).next().map(|field| &field.column.field);
    let mut made: Vec<DescribedMetric> = Vec::new();
    for figure in figures {
        let field = &figure.column.field;
        let own = metric_name(match field.as_str() {
            "$" => "value",
            field => field.trim_start_matches(['$', '.']),
        });
        let name = match name_field {
            Some(name) if figure.name.statistic == Statistic::Value => format!("{{{name}}}"),
            Some(name) => format!("{{{name}}}.{own}"),
            None => own,
        };
        if made.iter().any(|other| other.name == name) {
            continue;
        }
        let deviation = fields.iter().find(|other| {
            let is_same = other.name.metric == figure.name.metric && other.name.unit == figure.name.unit;
            is_same && other.name.statistic == Statistic::Spread && is_deviation(&other.column.field)
        });
        let summary = matches!(figure.name.statistic, Statistic::Median | Statistic::Mean).then(|| {
            DescribedSummary { deviation: deviation.map(|other| other.column.field.clone()), count: None }
        });
        // Next to the figure in its object.
        let unit_field = whole(FieldRole::Unit).find(|unit| parent(&unit.column.field) == parent(field));
        let unit_field = unit_field.filter(|_| figure.name.unit.is_none());
        let has_direction = match unit_field {
            Some(unit) => unit.column.values.iter().all(|unit| direction_of_unit(&text_of(unit)).is_some()),
            None => figure.name.better.is_some(),
        };
        made.push(DescribedMetric {
            name,
            field: field.clone(),
            unit: figure.name.unit.clone().unwrap_or_default(),
            unit_field: unit_field.map(|unit| unit.column.field.clone()),
            optional: figure.present < look.rows,
            summary,
            shown: figure.role == FieldRole::Figure { main: false } || !has_direction,
            ..DescribedMetric::default()
        });
    }
    made
}

fn parent(field: &str) -> &str {
    field.rsplit_once('.').map_or("", |(parent, _)| parent)
}

fn is_deviation(field: &str) -> bool {
    let lower = field.to_ascii_lowercase();
    ["std", "sd", "deviation"].iter().any(|word| lower.contains(word)) && !lower.contains("stderr")
}
