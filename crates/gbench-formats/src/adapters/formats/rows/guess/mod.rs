//! A guess at what a file of no known format holds, and the description that would read it.
//!
//! [`look`] finds the forms in which the file may hold rows, [`name`] reads units in the names of fields, [`roles`] sorts the
//! fields, and [`written`] writes the description. Nothing is read by a guess before a person has seen it.

mod look;
mod name;
mod roles;
#[cfg(test)]
mod tests;
mod written;

use std::cmp::Reverse;

pub use roles::Role;
pub use written::WAY;

use super::description::{Described, DescribedMetric, DescribedSummary, RowLayout};
use crate::adapters::formats::interface::check::{read, read_repeated};
use crate::adapters::formats::interface::format::ResultFile;
use crate::adapters::formats::interface::repeats::Repeats;
use crate::adapters::interface::case::metric_name;
use gbench_model::{Better, direction_of_unit};
use look::Look;
use name::Statistic;
use roles::{Sorted, is_word, sorted, text_of};

/// Files larger than this are not looked at: their documents are in memory as a whole.
const MAX_BYTES: usize = 64 << 20;

/// Figures that flags name; a description in a file has all.
const MAX_METRICS: usize = 5;
const MAX_OPEN_METRICS: usize = 2;

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
    pub role: Role,
    pub unit: String,
    pub better: Option<Better>,
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
        let looks: Vec<(&Look, Vec<Sorted>)> = looks.iter().map(|look| (look, sorted(look))).collect();
        let Some((look, fields)) = looks.into_iter().max_by_key(|(look, fields)| worth(look, fields)) else {
            guess.form = "JSON without an object".into();
            return guess;
        };
        guess.form = look.form.clone();
        guess.rows = look.rows;
        guess.fields = fields.iter().map(GuessedField::of).collect();
        guess.fields.sort_by_key(|field| field.rank());
        let described = described(look, &fields);
        if described.metrics.is_empty() {
            return guess;
        }
        match read(&described, file) {
            Ok(_) => {}
            Err(_) if read_repeated(&described, file, Repeats::Samples).is_ok() => guess.repeats = true,
            Err(error) => guess.obstacle = Some(error.to_string()),
        }
        let by_flags = by_flags(&described, &fields);
        let repeats = if guess.repeats { Repeats::Samples } else { Repeats::Refuse };
        guess.flags =
            by_flags.filter(|it| read_repeated(it, file, repeats).is_ok()).map(|it| written::flags(&it));
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
        }
    }

    /// Keys and figures come first.
    fn rank(&self) -> u8 {
        match self.role {
            Role::Key => 0,
            Role::Figure { main: true } => 1,
            Role::Metric | Role::Unit => 2,
            Role::Passed(_) | Role::Error | Role::Zero => 3,
            Role::Figure { main: false } => 4,
            Role::Commit | Role::Moment | Role::Fact => 5,
            Role::Setting => 6,
            Role::Unknown => 7,
        }
    }
}

/// How well a look at a file fits: figures, and several rows of them, as few levels deep as possible.
fn worth(look: &Look, fields: &[Sorted]) -> impl Ord + use<> {
    let figures = || fields.iter().filter(|field| matches!(field.role, Role::Figure { main: true }));
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

fn described(look: &Look, fields: &[Sorted]) -> Described {
    let of = |role: Role| fields.iter().filter(move |field| field.role == role);
    let names = |role: Role| of(role).map(|field| field.column.field.clone()).collect::<Vec<String>>();
    let is_whole = |field: &&Sorted| field.present == look.rows;
    let constant = |field: &&Sorted| !field.varies();
    let keys = || of(Role::Key).map(|field| (field.present == look.rows, field.column.field.clone()));
    let facts: Vec<String> =
        of(Role::Fact).filter(constant).map(|field| field.column.field.clone()).collect();
    let passed = fields.iter().filter(is_whole).filter_map(|field| match &field.role {
        Role::Passed(values) => Some((field.column.field.clone(), values.clone())),
        _ => None,
    });
    let words = |failure| {
        let words = fields.iter().flat_map(|field| &field.words).filter(|word| is_word(word, failure));
        let mut words: Vec<String> = words.cloned().collect();
        words.sort();
        words.dedup();
        words
    };
    Described {
        layout: look.layout.clone(),
        case: "rows".into(),
        parameters: keys().filter(|(whole, _)| *whole).map(|(_, name)| name).collect(),
        optional_parameters: keys().filter(|(whole, _)| !*whole).map(|(_, name)| name).collect(),
        facts,
        settings: names(Role::Setting),
        commit: names(Role::Commit).into_iter().next(),
        started: names(Role::Moment).into_iter().next(),
        notes: Vec::new(),
        errors: names(Role::Error),
        zero: names(Role::Zero),
        passed: passed.collect(),
        failed_words: words(true),
        absent_words: words(false),
        metrics: metrics(look, fields),
        joins: of(Role::Metric).next().is_some(),
        ..Described::default()
    }
}

fn metrics(look: &Look, fields: &[Sorted]) -> Vec<DescribedMetric> {
    let figures = fields.iter().filter(|field| matches!(field.role, Role::Figure { .. }));
    let whole =
        |role: Role| fields.iter().filter(move |field| field.role == role && field.present == look.rows);
    let name_field = whole(Role::Metric).next().map(|field| &field.column.field);
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
        let unit_field = whole(Role::Unit).find(|unit| parent(&unit.column.field) == parent(field));
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
            shown: figure.role == Role::Figure { main: false } || !has_direction,
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

/// What flags can say of a description; `None`: nothing would be read by it. A figure of unknown direction is only in it if
/// there is no other, and the user has to say its direction.
fn by_flags(described: &Described, fields: &[Sorted]) -> Option<Described> {
    let is_sound = |name: &str| {
        let field = fields.iter().find(|field| field.column.field == name);
        field.is_some_and(|field| field.words.is_empty() && field.role == Role::Figure { main: true })
    };
    let is_plain = |metric: &&DescribedMetric| {
        let fits = !metric.optional && metric.unit_field.is_none() && !metric.name.contains('{');
        fits && !metric.field.contains(':') && is_sound(&metric.field)
    };
    let plain = || described.metrics.iter().filter(is_plain);
    let is_judged = plain().any(|metric| !metric.shown);
    let metric = |metric: &DescribedMetric| DescribedMetric { summary: None, ..metric.clone() };
    let most = if is_judged { MAX_METRICS } else { MAX_OPEN_METRICS };
    let metrics: Vec<DescribedMetric> =
        plain().filter(|metric| metric.shown != is_judged).take(most).map(metric).collect();
    let is_text = matches!(described.layout, RowLayout::Text(_));
    let is_said = !is_text && described.parameters.iter().all(|name| !name.contains(','));
    (is_said && described.optional_parameters.is_empty() && !metrics.is_empty()).then(|| Described {
        layout: described.layout.clone(),
        case: described.case.clone(),
        parameters: described.parameters.clone(),
        metrics,
        ..Described::default()
    })
}
