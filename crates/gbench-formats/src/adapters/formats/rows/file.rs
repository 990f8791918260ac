//! A description in a file of the user's.

use std::ops::Range;

use super::description::{Described, RowLayout};
use super::plan::ReadingPlan;

/// Why a description cannot be followed, and where in its text.
#[derive(Clone, Debug, PartialEq)]
pub struct DescriptionError {
    pub span: Range<usize>,
    pub what: String,
}

impl Described {
    /// A description as TOML. Its cases are called `rows` unless it names them.
    pub fn parse(text: &str) -> Result<Self, DescriptionError> {
        let mut described: Self = toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            DescriptionError { span, what: error.message().to_owned() }
        })?;
        if described.case.is_empty() {
            described.case = "rows".into();
        }
        described.check(text)?;
        Ok(described)
    }

    fn check(&self, text: &str) -> Result<(), DescriptionError> {
        // The place of a word; the beginning of the file where it is spelled in another way.
        let at = |word: &str, what: String| {
            let start = text.find(&format!("\"{word}\"")).map_or(0, |start| start + 1);
            let end = if start == 0 { 0 } else { start + word.len() };
            DescriptionError { span: start..end, what }
        };
        if self.metrics.is_empty() {
            return Err(at("", "it has no [[metrics]]: nothing would be read".into()));
        }
        for (index, metric) in self.metrics.iter().enumerate() {
            let has_field = !metric.field.is_empty();
            if has_field == metric.fields.is_some() {
                let what = format!("the metric `{}` needs either `field` or `fields`", metric.name);
                return Err(at(&metric.name, what));
            }
            if metric.name.is_empty() && has_field {
                return Err(at(&metric.field, format!("the metric of `{}` has no `name`", metric.field)));
            }
            let is_same = |other: &&super::description::DescribedMetric| {
                has_field && other.name == metric.name && other.fields.is_none()
            };
            if self.metrics[..index].iter().find(is_same).is_some() && !self.joins {
                return Err(at(&metric.name, format!("the metric `{}` is named twice", metric.name)));
            }
        }
        if let RowLayout::Text(layout) = &self.layout
            && [&layout.row, &layout.begin, &layout.part].into_iter().all(Vec::is_empty)
        {
            return Err(at(
                "text",
                "`layout.text` has no `row`, `begin` or `part`: no line would be a row".into(),
            ));
        }
        ReadingPlan::of(self).map(|_| ()).map_err(|(field, what)| at(&field, what))
    }
}
