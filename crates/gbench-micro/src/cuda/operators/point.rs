//! Parameters of a case in the form for kernels.

use std::ops::RangeInclusive;

use crate::spec::MicroError;
use gbench_model::{DType, Params};

/// The names of the operators' types.
pub(super) const FLOATS: [&str; 3] = ["f32", "f16", "bf16"];

const MAX_BLOCKS: u64 = (1 << 31) - 1;

/// The values of one case, with the defaults by hand for the others.
pub(super) struct CasePoint<'a> {
    table: &'static [(&'static str, &'static [&'static str])],
    params: &'a Params,
}

impl<'a> CasePoint<'a> {
    pub(super) fn new(table: &'static [(&'static str, &'static [&'static str])], params: &'a Params) -> Self {
        Self { table, params }
    }

    fn value(&self, name: &str) -> String {
        let first =
            || self.table.iter().find(|(known, _)| *known == name).and_then(|(_, values)| values.first());
        match self.params.get(name) {
            Some(value) => value.to_string(),
            None => first().copied().unwrap_or_default().to_owned(),
        }
    }

    pub(super) fn refuse(&self, name: &'static str, known: String) -> MicroError {
        MicroError::Param { name, value: self.value(name), known }
    }

    /// One of a few words.
    pub(super) fn choice(
        &self,
        name: &'static str,
        known: &'static [&'static str],
    ) -> Result<&'static str, MicroError> {
        let value = self.value(name);
        known.iter().find(|word| **word == value).copied().ok_or_else(|| self.refuse(name, known.join(", ")))
    }

    pub(super) fn number(&self, name: &'static str, range: RangeInclusive<u64>) -> Result<u64, MicroError> {
        let number = self.value(name).parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            self.refuse(name, format!("the numbers from {} to {}", range.start(), range.end()))
        })
    }

    pub(super) fn dtype(&self) -> Result<DType, MicroError> {
        Ok(match self.choice("dtype", &FLOATS)? {
            "f16" => DType::F16,
            "bf16" => DType::Bf16,
            _ => DType::F32,
        })
    }

    /// `batch_size * sequence_length`: rows, each computed by one block.
    pub(super) fn rows(&self) -> Result<u64, MicroError> {
        let (batches, rows) =
            (self.number("batch_size", 1..=1 << 20)?, self.number("sequence_length", 1..=1 << 20)?);
        Some(batches * rows)
            .filter(|rows| *rows <= MAX_BLOCKS)
            .ok_or_else(|| self.refuse("batch_size", format!("those with at most {MAX_BLOCKS} rows")))
    }

    pub(super) fn width(&self, name: &'static str) -> Result<u64, MicroError> {
        self.number(name, 1..=1 << 24)
    }
}
