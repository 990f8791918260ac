//! Numbers of Nsight Compute's CSV.

use crate::adapters::formats::interface::prelude::*;
use gbench_model::profiler_csv::ProfilerRecord;

pub(super) enum Figure {
    Number(f64),
    /// A number with a comma that does not separate thousands.
    Comma,
    Text,
    /// `ncu` has no value.
    None,
}

impl Figure {
    pub(super) fn of(text: &str) -> Self {
        let is_all = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if ["", "n/a", "nan", "(!) n/a", "(!) nan"].contains(&text) {
            return Self::None;
        }
        if !text.contains(',') {
            return number(text).filter(|value| value.is_finite()).map_or(Self::Text, Self::Number);
        }
        if !text.bytes().all(|byte| byte.is_ascii_digit() || b",.-".contains(&byte)) {
            return Self::Text;
        }
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let mut groups = whole.trim_start_matches('-').split(',');
        let first = groups.next().unwrap_or_default();
        let is_grouped =
            is_all(first) && first.len() <= 3 && groups.all(|group| is_all(group) && group.len() == 3);
        match text.replace(',', "").parse() {
            Ok(value) if is_grouped && is_all(decimals) => Self::Number(value),
            _ => Self::Comma,
        }
    }

    pub(super) fn refuse_comma(&self, file: &ResultFile, record: &ProfilerRecord) -> Result<(), ReadError> {
        let what =
            "it has decimals behind a comma, so that a point may part thousands: run `ncu` with LC_ALL=C";
        if matches!(self, Self::Comma) { Err(file.line(record.line, what)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_behind_a_comma_are_thousands_and_others_decimals() {
        for (text, value) in [("12.5", 12.5), ("1,024.50", 1024.5), ("2,848", 2848.0), ("-1,000,000", -1e6)] {
            assert!(matches!(Figure::of(text), Figure::Number(found) if found == value), "{text}");
        }
        assert!(
            ["23,59", "1.024,50", "1234,567", "1,,000"]
                .into_iter()
                .all(|text| matches!(Figure::of(text), Figure::Comma))
        );
        assert!(
            ["PolicySpread", "inf", "a,b"].into_iter().all(|text| matches!(Figure::of(text), Figure::Text))
        );
        assert!(["", "n/a", "nan"].into_iter().all(|text| matches!(Figure::of(text), Figure::None)));
    }
}
