//! Figures for readers: scaled units, four significant digits, signed percentages.
//!
//! Changes have one convention in every format: the slowdown of the verdict document, which is also the unit of its sentences,
//! thresholds and intervals. Plus is worse and minus is better for any metric, and a word names the direction of a decided
//! change:
//!
//! ```text
//! time       12.31 ms  13.57 ms  +10.2 % slower    +8.1 % to +12.4 %
//! bandwidth  820 GB/s  745 GB/s  +10.1 % slower    +7.9 % to +12.2 %
//! time       88.00 µs  60.72 µs  -31.0 % faster   -32.2 % to -29.8 %
//! ```
//!
//! For a rate that is base / head - 1: how much longer the same work takes.

use gbench_compare::{Row, Verdict};
use gbench_model::text::{self, percent};
use gbench_model::{Better, direction_of_unit};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Time,
    Size,
    Rate,
}

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;
const GIB: f64 = 1024.0 * MIB;
const TIB: f64 = 1024.0 * GIB;

/// Units of one quantity at different scales, ascending, each with its size in the first one's base.
type Scales = &'static [(&'static str, f64)];

const FAMILIES: [(Kind, Scales); 4] = [
    (Kind::Time, &[("ps", 1e-12), ("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)]),
    (Kind::Size, &[("B", 1.0), ("KiB", KIB), ("MiB", MIB), ("GiB", GIB), ("TiB", TIB)]),
    (Kind::Size, &[("KB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)]),
    (Kind::Rate, &[("KiB/s", KIB), ("MiB/s", MIB), ("GiB/s", GIB), ("TiB/s", TIB)]),
];

/// Other spellings, each with its size in the standard unit.
const SPELLINGS: [(&str, &str, f64); 8] = [
    ("us", "µs", 1.0),
    ("μs", "µs", 1.0),
    ("sec", "s", 1.0),
    ("seconds", "s", 1.0),
    ("min", "s", 60.0),
    ("h", "s", 3600.0),
    ("bytes", "B", 1.0),
    ("kB", "KB", 1.0),
];

/// Counts in the millions: unchanged below a million, then with a prefix before the word, `209.7 G items/s`. Counts of
/// instructions are exact, and keep all their digits.
const COUNTED: [&str; 3] = ["items/s", "tokens/s", "cycles"];

/// Rates with a decimal prefix: `GB/s`, `TFLOP/s`, `Mbps`.
const RATES: [&str; 9] = ["B/s", "FLOP/s", "FLOPS", "OP/s", "OPS", "bit/s", "b/s", "bps", "Hz"];
const PREFIXES: [(&str, f64); 6] = [("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12), ("P", 1e15)];

fn family_of(unit: &str) -> Option<(Kind, Scales, f64)> {
    let spelling = SPELLINGS.iter().find(|(other, ..)| *other == unit);
    let (name, times) = spelling.map_or((unit, 1.0), |(_, name, times)| (*name, *times));
    FAMILIES.iter().find_map(|(kind, scales)| {
        let (_, size) = scales.iter().find(|(scale, _)| *scale == name)?;
        Some((*kind, *scales, size * times))
    })
}

/// The scales of a unit's quantity, ascending, and the unit's size in their base. `None`: not scaled.
fn scales_of(unit: &str) -> Option<(Vec<(String, f64)>, f64)> {
    if let Some((_, scales, size)) = family_of(unit) {
        return Some((scales.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect(), size));
    }
    if COUNTED.contains(&unit) {
        let large = PREFIXES[2..].iter().map(|(name, size)| (format!("{name} {unit}"), *size));
        return Some((std::iter::once((unit.to_owned(), 1.0)).chain(large).collect(), 1.0));
    }
    let base = RATES.iter().find(|rate| unit.ends_with(*rate))?;
    let prefix = &unit[..unit.len() - base.len()];
    let prefix = if prefix == "K" { "k" } else { prefix };
    let (_, size) = PREFIXES.iter().find(|(name, _)| *name == prefix)?;
    Some((PREFIXES.iter().map(|(name, size)| (format!("{name}{base}"), *size)).collect(), *size))
}

fn kind_of(unit: &str) -> Option<Kind> {
    let is_rate = || (direction_of_unit(unit) == Some(Better::Higher)).then_some(Kind::Rate);
    family_of(unit).map(|(kind, ..)| kind).or_else(is_rate)
}

/// `value` (in `unit`) with its most readable unit: `0.0123 s` -> `12.30 ms`.
pub(crate) fn value(value: f64, unit: &str) -> String {
    Figure::of(value, value, unit).with(None)
}

/// The figures of both sides of a row, in one unit if both have a value.
pub(crate) fn centres(row: &Row) -> [Option<String>; 2] {
    match row.centres() {
        [Some(base), Some(head)] => {
            let (base, head) = pair(base, head, &row.unit);
            [Some(base), Some(head)]
        }
        each => each.map(|centre| centre.map(|centre| value(centre, &row.unit))),
    }
}

/// Two values to compare: in one unit, unless they are a thousandfold apart, and with equal decimals if they are less
/// than tenfold apart.
pub(crate) fn pair(base: f64, head: f64, unit: &str) -> (String, String) {
    let ratio = (head / base).abs();
    if !ratio.is_finite() || !(1e-3..=1e3).contains(&ratio) {
        return (value(base, unit), value(head, unit));
    }
    let (base, head) = (Figure::of(base, base, unit), Figure::of(head, base, unit));
    let alike = (0.1..10.0).contains(&ratio) && !(base.is_whole && head.is_whole);
    let decimals = base.decimals.zip(head.decimals).filter(|_| alike).map(|(one, other)| one.max(other));
    (base.with(decimals), head.with(decimals))
}

struct Figure {
    value: f64,
    unit: String,
    decimals: Option<usize>,
    /// True for counts, which have no decimals by default.
    is_whole: bool,
}

impl Figure {
    /// In the most readable unit of `model`.
    fn of(value: f64, model: f64, unit: &str) -> Self {
        let Some((scales, size)) = scales_of(unit).filter(|_| value.is_finite()) else {
            return Self {
                value,
                unit: unit.to_owned(),
                decimals: decimals(value),
                is_whole: is_whole(value),
            };
        };
        // The largest scale in which the figure is at least 1; below all of them, the smallest.
        let readable = || {
            let fitting = scales.iter().rev().find(|(_, scale)| (model * size / scale).abs() >= 1.0);
            fitting.or(scales.first()).map(|(name, scale)| (name.as_str(), *scale))
        };
        let has_scale = model != 0.0 && model.is_finite();
        let (name, scale) = has_scale.then(readable).flatten().unwrap_or((unit, size));
        let value = value * size / scale;
        let is_whole = (name == "B" || COUNTED.contains(&name)) && is_whole(value);
        Self { value, unit: name.to_owned(), decimals: decimals(value), is_whole }
    }

    fn with(&self, decimals: Option<usize>) -> String {
        let Self { value, unit, .. } = self;
        if !value.is_finite() {
            return "not a number".into();
        }
        let text = match decimals {
            Some(decimals) => format!("{value:.decimals$}"),
            None if self.is_whole => figure(*value),
            None => digits(*value),
        };
        format!("{text} {unit}").trim_end().to_owned()
    }
}

fn is_whole(value: f64) -> bool {
    value.fract() == 0.0 && value.abs() < 1e6
}

/// As [`digits`], but whole numbers below a million stay whole: counts, bytes.
pub(crate) fn figure(value: f64) -> String {
    if is_whole(value) { format!("{value:.0}") } else { digits(value) }
}

fn digits(value: f64) -> String {
    match decimals(value) {
        _ if value == 0.0 => "0".into(),
        Some(decimals) => format!("{value:.decimals$}"),
        None => format!("{value:.3e}"),
    }
}

/// The decimals that give a number four significant digits; `None` for a number with a power of ten, and for zero. A
/// number that rounds up to the next power is treated as that: 0.99999 is 1.000.
fn decimals(value: f64) -> Option<usize> {
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    match rounded.abs() {
        1e6.. => None,
        1e3.. => Some(0),
        1e2.. => Some(1),
        1e1.. => Some(2),
        1.0.. => Some(3),
        1e-3.. => Some(4),
        _ => None,
    }
}

/// A relative change with its sign, short enough for a table: `+10.2 %`, `-0.31 %`, `0 %`; from tenfold on, `x12.3`.
pub(crate) fn signed_percent(fraction: f64) -> String {
    match fraction {
        f if f.is_infinite() => "unbounded".into(),
        f if f >= 9.0 => format!("x{}", figure(((1.0 + f) * 10.0).round() / 10.0)),
        // Almost -100 %, but not entirely.
        f if f < -0.999 => format!("{:.2} %", (f * 100.0).max(-99.99)),
        f => text::signed_percent(f),
    }
}

pub(crate) fn spread(fraction: f64) -> String {
    format!("±{}", percent(fraction))
}

pub(crate) fn times(ratio: f64) -> String {
    if (0.01..100.0).contains(&ratio) { format!("{ratio:.2}x") } else { format!("{}x", figure(ratio)) }
}

/// `None` for an empty list.
pub(crate) fn geometric_mean(factors: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (count, logarithms) = factors.into_iter().fold((0_u32, 0.0), |(n, sum), it| (n + 1, sum + it.ln()));
    (count > 0).then(|| (logarithms / f64::from(count)).exp())
}

pub(crate) fn p_value(p: f64) -> String {
    match p {
        p if p < 0.001 => "p < 0.001".into(),
        p if p < 0.1 => format!("p = {p:.3}"),
        p => format!("p = {p:.2}"),
    }
}

/// The word for a decided change: slower, larger, worse, ... Empty for other verdicts.
pub(crate) fn word(row: &Row) -> &'static str {
    let worse = match row.verdict {
        Verdict::Regressed => true,
        Verdict::Improved => false,
        _ => return "",
    };
    let usual = direction_of_unit(&row.unit) == row.better;
    let [better, worse_word] = match kind_of(&row.unit).filter(|_| usual) {
        Some(Kind::Time | Kind::Rate) => ["faster", "slower"],
        Some(Kind::Size) => ["smaller", "larger"],
        None => ["better", "worse"],
    };
    if worse { worse_word } else { better }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_number_in_any_unit_is_short(number: f64, unit in "[a-zA-Z/]{0,6}") {
            prop_assert!(value(number, &unit).chars().count() <= 24);
            prop_assert!(signed_percent(number).chars().count() <= 11);
        }
    }
}
