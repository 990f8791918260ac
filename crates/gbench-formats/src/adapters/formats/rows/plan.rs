//! A description whose fields are parsed: it is followed for each of up to a million rows.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use regex::Regex;
use serde_json::Value;
use serde_json_path::JsonPath;

use super::description::{Derived, Described, DescribedMetric, RowLayout, template_parts};
use super::field::{FieldPath, FieldValue, field_name};
use super::source::SourceRow;
use crate::adapters::interface::output::ReadError;

/// A field that cannot be followed, and why.
pub(super) type WrongField = (String, String);

pub(super) struct ReadingPlan<'d> {
    pub described: &'d Described,
    pub path: Option<JsonPath>,
    pub case: Template<'d>,
    pub conditions: Vec<FieldChoice<'d>>,
    pub except: Vec<FieldChoice<'d>>,
    pub passed: Vec<FieldChoice<'d>>,
    pub failed: Vec<FieldChoice<'d>>,
    pub skipped: Vec<FieldChoice<'d>>,
    pub parameters: Vec<NamedField<'d>>,
    pub optional_parameters: Vec<NamedField<'d>>,
    pub facts: Vec<NamedField<'d>>,
    pub row_facts: Vec<NamedField<'d>>,
    pub settings: Vec<NamedField<'d>>,
    pub notes: Vec<NamedField<'d>>,
    pub runs: Vec<FieldPath>,
    pub commit: Option<FieldPath>,
    pub started: Option<FieldPath>,
    pub errors: Vec<FieldPath>,
    pub positive: Vec<FieldPath>,
    pub zero: Vec<FieldPath>,
    pub equal: Vec<[FieldPath; 2]>,
    pub derived: Vec<(FieldPath, &'d Derived)>,
    pub metrics: Vec<PlannedMetric<'d>>,
    known: KnownNames<'d>,
    /// The fields that leave their row.
    pub outward: Vec<FieldPath>,
}

/// A field with values of which one has a meaning.
pub(super) struct FieldChoice<'d> {
    pub field: FieldPath,
    values: &'d [String],
}

/// A field that is shown under a name.
pub(super) struct NamedField<'d> {
    pub name: String,
    pub field: FieldPath,
    /// For `tags.*`: the beginning of the names, and the object with the fields.
    every: Option<(&'d str, Option<FieldPath>)>,
}

pub(super) struct PlannedMetric<'d> {
    pub described: &'d DescribedMetric,
    pub name: Template<'d>,
    pub field: FieldPath,
    pub unit: Option<FieldPath>,
    pub list: Option<FieldPath>,
    pub deviation: Option<FieldPath>,
    pub count: Option<FieldPath>,
    when: Vec<FieldChoice<'d>>,
    unless: Vec<FieldChoice<'d>>,
}

/// A text with fields.
pub(super) struct Template<'d>(Vec<TemplatePart<'d>>);

struct TemplatePart<'d> {
    before: &'d str,
    field: Option<FieldPath>,
    /// In place of a field that is missing.
    default: Option<&'d str>,
}

/// The names that a description uses.
struct KnownNames<'d> {
    texts: HashSet<String>,
    fields: HashSet<&'d str>,
    beginnings: Vec<&'d str>,
    patterns: Vec<&'d Regex>,
}

fn parsed(name: &str) -> Result<FieldPath, WrongField> {
    FieldPath::parse(name).map_err(|what| (name.to_owned(), what))
}

fn optional(name: &Option<String>) -> Result<Option<FieldPath>, WrongField> {
    name.as_deref().map(parsed).transpose()
}

fn paths(names: &[String]) -> Result<Vec<FieldPath>, WrongField> {
    names.iter().map(|name| parsed(name)).collect()
}

fn choices(table: &BTreeMap<String, Vec<String>>) -> Result<Vec<FieldChoice<'_>>, WrongField> {
    table.iter().map(|(name, values)| Ok(FieldChoice { field: parsed(name)?, values })).collect()
}

impl<'d> ReadingPlan<'d> {
    /// Errors: a field that is not a valid JSON path.
    pub(super) fn of(described: &'d Described) -> Result<Self, WrongField> {
        let path = match &described.layout {
            RowLayout::Json(path) => Some(
                JsonPath::parse(path)
                    .map_err(|error| (path.clone(), format!("`{path}` is not a JSON path: {error}")))?,
            ),
            RowLayout::Auto | RowLayout::Csv | RowLayout::Text(_) => None,
        };
        let named =
            |names: &'d [String]| names.iter().map(|name| NamedField::of(name)).collect::<Result<_, _>>();
        let condition = |(name, value): (&'d String, &'d String)| -> Result<_, WrongField> {
            Ok(FieldChoice { field: parsed(name)?, values: std::slice::from_ref(value) })
        };
        let mut outward = Vec::new();
        let mut texts = HashSet::new();
        for name in described.named_fields() {
            let field = parsed(name)?;
            texts.insert(field.text.clone());
            outward.extend(Some(field).filter(FieldPath::leaves_the_row));
        }
        let pair =
            |[one, other]: &[String; 2]| -> Result<_, WrongField> { Ok([parsed(one)?, parsed(other)?]) };
        let derived =
            |derived: &'d Derived| -> Result<_, WrongField> { Ok((parsed(&derived.field)?, derived)) };
        Ok(Self {
            described,
            path,
            case: Template::of(&described.case)?,
            conditions: described.conditions.iter().map(condition).collect::<Result<_, _>>()?,
            except: choices(&described.except)?,
            passed: choices(&described.passed)?,
            failed: choices(&described.failed)?,
            skipped: choices(&described.skipped)?,
            parameters: named(&described.parameters)?,
            optional_parameters: named(&described.optional_parameters)?,
            facts: named(&described.facts)?,
            row_facts: named(&described.row_facts)?,
            settings: named(&described.settings)?,
            notes: named(&described.notes)?,
            runs: paths(&described.runs)?,
            commit: optional(&described.commit)?,
            started: optional(&described.started)?,
            errors: paths(&described.errors)?,
            positive: paths(&described.positive)?,
            zero: paths(&described.zero)?,
            equal: described.equal.iter().map(pair).collect::<Result<_, _>>()?,
            derived: described.derived.iter().map(derived).collect::<Result<_, _>>()?,
            metrics: described.metrics.iter().map(PlannedMetric::of).collect::<Result<_, _>>()?,
            known: KnownNames::of(described, texts),
            outward,
        })
    }

    /// True if a field of this name is read.
    pub(super) fn knows(&self, name: &str) -> bool {
        let KnownNames { fields, beginnings, patterns, .. } = &self.known;
        fields.contains(name)
            || beginnings.iter().any(|beginning| name.starts_with(beginning))
            || patterns.iter().any(|pattern| pattern.is_match(name))
    }

    /// The values of the fields that the row has; of `tags.*` all that nothing else names.
    pub(super) fn values<'r>(
        &self,
        row: &'r dyn SourceRow,
        named: &NamedField,
        found: &mut dyn FnMut(String, FieldValue<'r>),
    ) {
        let Some((beginning, object)) = &named.every else {
            if let Some(value) = row.cell(&named.field) {
                found(named.name.clone(), value);
            }
            return;
        };
        let names: Vec<String> = match object.as_ref().and_then(|object| row.cell(object)) {
            Some(FieldValue::Json(Value::Object(entries))) => entries.keys().cloned().collect(),
            _ => {
                row.names().iter().filter_map(|own| own.strip_prefix(beginning)).map(str::to_owned).collect()
            }
        };
        for name in names {
            let whole = format!("{beginning}{name}");
            let field = (!self.known.texts.contains(&whole)).then(|| FieldPath::parse(&whole).ok()).flatten();
            let value = field.and_then(|field| row.cell(&field));
            if let Some(value) = value.filter(|value| !value.is_empty_text()) {
                found(name, value);
            }
        }
    }
}

impl<'d> NamedField<'d> {
    fn of(name: &'d str) -> Result<Self, WrongField> {
        let every = match name.strip_suffix('*') {
            Some(beginning) => Some((beginning, beginning.strip_suffix('.').map(parsed).transpose()?)),
            None => None,
        };
        Ok(Self { name: field_name(name), field: parsed(name)?, every })
    }
}

impl NamedField<'_> {
    pub(super) fn is_every(&self) -> bool {
        self.every.is_some()
    }
}

impl FieldChoice<'_> {
    pub(super) fn is_made(&self, row: &dyn SourceRow) -> bool {
        self.made(row).is_some()
    }

    /// The value of the field if it is one of these.
    pub(super) fn made<'r>(&self, row: &'r dyn SourceRow) -> Option<Cow<'r, str>> {
        row.text(&self.field).filter(|text| self.has(text))
    }

    pub(super) fn has(&self, text: &str) -> bool {
        self.values.iter().any(|value| value == text)
    }
}

impl<'d> PlannedMetric<'d> {
    fn of(described: &'d DescribedMetric) -> Result<Self, WrongField> {
        let summary = described.summary.as_ref();
        Ok(Self {
            described,
            name: Template::of(&described.name)?,
            field: parsed(&described.field)?,
            unit: optional(&described.unit_field)?,
            list: optional(&described.list)?,
            deviation: summary.map_or(Ok(None), |summary| optional(&summary.deviation))?,
            count: summary.map_or(Ok(None), |summary| optional(&summary.count))?,
            when: choices(&described.when)?,
            unless: choices(&described.unless)?,
        })
    }

    pub(super) fn is_for(&self, row: &dyn SourceRow) -> bool {
        self.when.iter().all(|choice| choice.is_made(row))
            && !self.unless.iter().any(|choice| choice.is_made(row))
    }
}

impl<'d> Template<'d> {
    fn of(text: &'d str) -> Result<Self, WrongField> {
        let part = |(before, name): (&'d str, Option<&'d str>)| -> Result<_, WrongField> {
            let (name, default) = match name.and_then(|name| name.split_once('|')) {
                Some((name, default)) => (Some(name), Some(default)),
                None => (name, None),
            };
            Ok(TemplatePart { before, field: name.map(parsed).transpose()?, default })
        };
        template_parts(text).map(part).collect::<Result<_, _>>().map(Self)
    }

    /// The text with the values of a row. Errors: the row lacks one.
    pub(super) fn filled(&self, row: &dyn SourceRow) -> Result<Cow<'d, str>, ReadError> {
        if let [] | [TemplatePart { field: None, .. }] = self.0.as_slice() {
            return Ok(Cow::Borrowed(self.0.first().map_or("", |part| part.before)));
        }
        let mut text = String::new();
        for TemplatePart { before, field, default } in &self.0 {
            text += before;
            if let Some(field) = field {
                let value = row.text(field).or(default.map(Cow::Borrowed));
                text += &value.ok_or_else(|| row.wrong(format!("the row has no `{}`", field.text)))?;
            }
        }
        Ok(Cow::Owned(text))
    }

    pub(super) fn has_fields(&self) -> bool {
        self.0.iter().any(|part| part.field.is_some())
    }
}

impl<'d> KnownNames<'d> {
    fn of(described: &'d Described, texts: HashSet<String>) -> Self {
        let of_field = |field: &'d str| field.rsplit_once(" = ").map_or(field, |(_, field)| field);
        let fields: HashSet<&str> = described.named_fields().map(of_field).collect();
        let beginnings = fields.iter().filter_map(|field| field.strip_suffix('*')).collect();
        let patterns = described.metrics.iter().filter_map(|metric| Some(&metric.fields.as_ref()?.0));
        Self { texts, beginnings, patterns: patterns.collect(), fields }
    }
}
