//! Numbers in the notation of a locale.
//!
//! `ncu` writes `127,630.38` under `en_US`, `127.630,38` under `de_DE`, `127'630.38` under `de_CH`, with narrow spaces
//! under `fr_FR`, and `127630.38` under `C`. `1.205` is a thousand under one and about one under another. The other
//! numbers of the text determine the notation:
//!
//! 1. Every notation ([`NumberStyle`]) that can read each number of the text is a candidate.
//! 2. No candidate: the first number that fits none of the notations of the earlier ones is refused.
//! 3. Several candidates that read a number differently: it is refused. If all yield the same values, the choice does not matter.
//!
//! Numbers that `ncu` scales to a unit have six decimals after a point in any locale, in one table with localised
//! numbers. No group of thousands has six digits, so each of these is unambiguous and irrelevant to the notation.

use super::ProfileReadError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NumberStyle {
    /// Precedes the decimals: a point or a comma.
    decimal: char,
    /// Separates thousands.
    groups: &'static [char],
}

const COMMA: &[char] = &[','];
const POINT: &[char] = &['.'];
const SPACES: &[char] = &[' ', '\u{a0}', '\u{2009}', '\u{202f}'];
const APOSTROPHES: &[char] = &['\'', '\u{2019}'];

const STYLES: [NumberStyle; 6] = [
    NumberStyle { decimal: '.', groups: COMMA },
    NumberStyle { decimal: '.', groups: SPACES },
    NumberStyle { decimal: '.', groups: APOSTROPHES },
    NumberStyle { decimal: ',', groups: POINT },
    NumberStyle { decimal: ',', groups: SPACES },
    NumberStyle { decimal: ',', groups: APOSTROPHES },
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CellKind {
    Number,
    /// An unambiguous number: six decimals after a point.
    Scaled(f64),
    /// A text, or no number.
    Other,
}

pub(super) fn kind(cell: &str) -> CellKind {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((whole, decimals)) = cell.split_once('.')
        && decimals.len() == 6
        && digits(decimals)
        && digits(whole.trim_start_matches('-'))
        && let Ok(value) = cell.parse()
    {
        return CellKind::Scaled(value);
    }
    // An exponent is the only letter in a number.
    let (mantissa, _) = with_exponent(cell);
    let rest = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
    let is_part = |c: char| c.is_numeric() || ".,' ".contains(c) || !c.is_ascii() && !c.is_alphabetic();
    let is_number = rest.starts_with(char::is_numeric) && rest.chars().all(is_part);
    if is_number { CellKind::Number } else { CellKind::Other }
}

/// `1.5e+06` as `1.5` and 6.
fn with_exponent(text: &str) -> (&str, i32) {
    let parts = text.split_once(['e', 'E']);
    parts.and_then(|(mantissa, power)| Some((mantissa, power.parse().ok()?))).unwrap_or((text, 0))
}

impl NumberStyle {
    /// The number of a cell; `None`: not a number in this notation.
    pub(super) fn read(self, cell: &str) -> Option<f64> {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let (mantissa, power) = with_exponent(cell);
        let (sign, number) = match mantissa.strip_prefix(['-', '+']) {
            Some(number) => (if mantissa.starts_with('-') { "-" } else { "" }, number),
            None => ("", mantissa),
        };
        let (whole, decimals) = number.split_once(self.decimal).unwrap_or((number, "0"));
        let groups: Vec<&str> = whole.split(self.groups).collect();
        let is_grouped = match groups.as_slice() {
            [whole] => digits(whole),
            // Thousands, and lakhs of two digits.
            [first, middle @ .., last] => {
                (1..=3).contains(&first.len())
                    && last.len() == 3
                    && middle.iter().all(|group| (2..=3).contains(&group.len()))
                    && groups.iter().all(|group| digits(group))
            }
            [] => false,
        };
        if !is_grouped || !digits(decimals) {
            return None;
        }
        let plain = format!("{sign}{}.{decimals}e{power}", groups.concat());
        plain.parse().ok().filter(|value: &f64| value.is_finite())
    }
}

/// The notation of a text's numbers, from all of them with their lines. Errors, with the line: no notation reads all, or
/// two read one differently.
pub(super) fn style_of(cells: &[(usize, &str)]) -> Result<NumberStyle, ProfileReadError> {
    let numbers = || cells.iter().filter(|(_, cell)| kind(cell) == CellKind::Number);
    let mut styles = STYLES.to_vec();
    for (line, cell) in numbers() {
        styles.retain(|style| style.read(cell).is_some());
        if styles.is_empty() {
            let what = format!("`{cell}` is not a number, or has another notation than those before it");
            return Err(ProfileReadError::line(*line, what));
        }
    }
    let reads_apart = |cell: &str| {
        let mut values = styles.iter().map(|style| style.read(cell));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    if let Some((line, cell)) = numbers().find(|(_, cell)| styles.len() > 1 && reads_apart(cell)) {
        let what = format!(
            "`{cell}` has a sign that parts thousands or decimals, and no other number tells which: run the profiler with LC_ALL=C"
        );
        return Err(ProfileReadError::line(*line, what));
    }
    Ok(styles.first().copied().unwrap_or(STYLES[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cells: &[&str]) -> Result<Vec<f64>, ProfileReadError> {
        let cells: Vec<(usize, &str)> = cells.iter().enumerate().map(|(at, cell)| (at + 1, *cell)).collect();
        let style = style_of(&cells)?;
        let value = |cell: &str| match kind(cell) {
            CellKind::Scaled(value) => Some(value),
            CellKind::Number => style.read(cell),
            CellKind::Other => None,
        };
        Ok(cells.iter().filter_map(|(_, cell)| value(cell)).collect())
    }

    #[test]
    fn the_numbers_of_a_text_tell_how_it_is_written() {
        for (cells, values) in [
            (["127630.38", "129977", "0"], [127_630.38, 129_977.0, 0.0]),
            (["127,630.38", "129,977", "1,205"], [127_630.38, 129_977.0, 1205.0]),
            (["127.630,38", "129.977", "1.205"], [127_630.38, 129_977.0, 1205.0]),
            (["127\u{202f}630,38", "129\u{202f}977", "1,5"], [127_630.38, 129_977.0, 1.5]),
            (["127'630.38", "129\u{2019}977", "1.205"], [127_630.38, 129_977.0, 1.205]),
            (["1,23,456.5", "-0.25", "1.5e+06"], [123_456.5, -0.25, 1.5e6]),
            (["23,59", "1.205", "25.170.048"], [23.59, 1205.0, 25_170_048.0]),
            // Scaled numbers next to localised ones.
            (["239.008000", "78,77", "12.288"], [239.008, 78.77, 12_288.0]),
        ] {
            assert_eq!(read(&cells), Ok(values.to_vec()), "{cells:?}");
        }
    }

    #[test]
    fn what_may_be_two_numbers_is_refused_with_its_line() {
        for (cells, line, part) in [
            (vec!["7", "1.205"], 2, "LC_ALL=C"),
            (vec!["1,205", "7"], 1, "LC_ALL=C"),
            (vec!["239.008000", "89,728"], 2, "LC_ALL=C"),
            (vec!["12.5", "23,59"], 2, "another notation"),
            (vec!["1.2.3.4"], 1, "another notation"),
            (vec!["1\u{fffd}024"], 1, "another notation"),
            (vec!["1,,000"], 1, "another notation"),
            (vec!["1e999"], 1, "another notation"),
        ] {
            let Err(ProfileReadError::Line { line: found, what }) = read(&cells) else {
                panic!("{cells:?} is read")
            };
            assert!(found == line && what.contains(part), "{cells:?}: {found}: {what}");
        }
    }

    #[test]
    fn texts_are_no_numbers() {
        for cell in ["", "n/a", "nan", "inf", "PolicySpread", "(256, 1, 1)", "1 (2; 3)", "0x10", "e5", "1/2"]
        {
            assert_eq!(kind(cell), CellKind::Other, "{cell}");
        }
        assert_eq!(kind("-0.500000"), CellKind::Scaled(-0.5));
        assert_eq!((kind("7"), kind("1.5E-3")), (CellKind::Number, CellKind::Number));
    }
}
