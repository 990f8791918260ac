//! Converts profilers' units to those of figures.

/// A unit as a power of ten of a figure's unit; `None` for any other. `usecond` is 10^-6 `s`, `Kbyte/block` 10^3 `B`,
/// `cycle/nsecond` 10^9 `Hz`: prefixes are powers of 1000.
pub(super) fn scale(unit: &str) -> Option<(i32, &'static str)> {
    let (amount, per) = unit.split_once('/').map_or((unit, None), |(amount, per)| (amount, Some(per)));
    let (power, base) = simple(amount)?;
    match (base, per) {
        (_, None) => Some((power, base)),
        // Sizes are per block, and registers per thread.
        ("B", Some("block")) | ("registers", Some("thread")) => Some((power, base)),
        ("instructions", Some("cycle")) => Some((power, "instructions/cycle")),
        (_, Some(per)) => {
            let (time, "s") = simple(per)? else { return None };
            match base {
                "B" => Some((power - time, "B/s")),
                "cycles" => Some((power - time, "Hz")),
                _ => None,
            }
        }
    }
}

/// A value times a power of ten, which is itself exact: the result is rounded once.
pub(super) fn shifted(value: f64, power: i32) -> f64 {
    let factor = 10_f64.powi(power.abs());
    if power < 0 { value / factor } else { value * factor }
}

/// Names of units without a fraction, and the corresponding units of figures. Some of them take prefixes.
const NAMES: [(&str, &str); 9] = [
    ("second", "s"),
    ("s", "s"),
    ("byte", "B"),
    ("cycle", "cycles"),
    ("inst", "instructions"),
    ("hz", "Hz"),
    ("Hz", "Hz"),
    ("register", "registers"),
    ("%", "%"),
];

fn simple(unit: &str) -> Option<(i32, &'static str)> {
    let named = |name: &str| NAMES.iter().find(|(known, _)| *known == name).map(|(_, base)| *base);
    if let Some(base) = named(unit) {
        return Some((0, base));
    }
    let mut rest = unit.chars();
    let prefix = rest.next()?;
    let base = named(rest.as_str())?;
    let power = match (prefix, base) {
        ('n', "s") => -9,
        ('u', "s") => -6,
        ('m', "s") => -3,
        ('K' | 'k', "B" | "Hz" | "cycles" | "instructions") => 3,
        ('M', "B" | "Hz" | "cycles" | "instructions") => 6,
        ('G', "B" | "Hz" | "cycles" | "instructions") => 9,
        ('T', "B" | "Hz" | "cycles" | "instructions") => 12,
        _ => return None,
    };
    Some((power, base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_old_and_new_versions_are_known() {
        for (unit, power, base) in [
            ("nsecond", -9, "s"),
            ("us", -6, "s"),
            ("second", 0, "s"),
            ("s", 0, "s"),
            ("byte", 0, "B"),
            ("Kbyte/block", 3, "B"),
            ("Mbyte", 6, "B"),
            ("Gbyte/second", 9, "B/s"),
            ("Gbyte/s", 9, "B/s"),
            ("cycle/usecond", 6, "Hz"),
            ("Ghz", 9, "Hz"),
            ("hz", 0, "Hz"),
            ("cycle", 0, "cycles"),
            ("inst", 0, "instructions"),
            ("inst/cycle", 0, "instructions/cycle"),
            ("register/thread", 0, "registers"),
            ("%", 0, "%"),
        ] {
            assert_eq!(scale(unit), Some((power, base)), "{unit}");
        }
        for unit in ["", "sector", "byte/cycle", "warp", "m%", "nbyte", "byte/block/s", "inst/s", "é"] {
            assert_eq!(scale(unit), None, "{unit}");
        }
        assert_eq!((shifted(500.0, -6), shifted(1.01, 9), shifted(7.0, 0)), (0.0005, 1.01e9, 7.0));
    }
}
