//! The meaning of an unquoted word in YAML 1.1, as in PyYAML: `no` and `off` are booleans, `010` is 8, `1:30` is 90. One
//! difference: `1e-5` and `-.5` are numbers, as users expect, not texts.

use super::node::{NodeValue, YamlFault, YamlPlace};

/// The value of an unquoted word. Errors: a whole number that is too large.
pub(super) fn plain(at: YamlPlace, text: &str) -> Result<NodeValue, YamlFault> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => NodeValue::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => NodeValue::Bool(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => NodeValue::Bool(false),
        _ if !text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) => {
            NodeValue::Text(text.to_owned())
        }
        _ => match (whole(text), float(text)) {
            (Some(Some(value)), _) => NodeValue::Int(value),
            (Some(None), _) => {
                return Err(YamlFault::new(at, format!("`{text}` is larger than a 64-bit number")));
            }
            (None, Some(value)) => NodeValue::Float(value),
            (None, None) => NodeValue::Text(text.to_owned()),
        },
    })
}

fn signed(text: &str) -> (i64, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// `None`: not a whole number; `Some(None)`: one of more than 64 bits.
fn whole(text: &str) -> Option<Option<i64>> {
    let (sign, body) = signed(text);
    let all = |body: &str, is: fn(&char) -> bool| {
        !body.is_empty() && body.chars().all(|c| c == '_' || is(&c)) && body.contains(|c| is(&c))
    };
    let based = |digits: &str, base: u32| {
        let digits = digits.replace('_', "");
        i64::from_str_radix(&digits, base).ok().and_then(|value| value.checked_mul(sign))
    };
    if let Some(digits) = body.strip_prefix("0b") {
        return all(digits, |c| "01".contains(*c)).then(|| based(digits, 2));
    }
    if let Some(digits) = body.strip_prefix("0x") {
        return all(digits, char::is_ascii_hexdigit).then(|| based(digits, 16));
    }
    if body.len() > 1 && body.starts_with('0') {
        return all(body, |c| ('0'..='7').contains(c)).then(|| based(body, 8));
    }
    if body.starts_with(|c: char| c.is_ascii_digit()) && all(body, char::is_ascii_digit) {
        return Some(based(body, 10));
    }
    // Base 60: hours, minutes and seconds.
    let mut parts = body.split(':');
    let first = parts.next().filter(|first| first.starts_with(|c: char| ('1'..='9').contains(&c)))?;
    let rest: Vec<&str> = parts.collect();
    if rest.is_empty() || !all(first, char::is_ascii_digit) || !rest.iter().all(is_sixtieth) {
        return None;
    }
    let first = first.replace('_', "").parse::<i64>().ok();
    let value =
        rest.iter().fold(first, |value, part| value?.checked_mul(60)?.checked_add(part.parse().ok()?));
    Some(value.and_then(|value| value.checked_mul(sign)))
}

fn float(text: &str) -> Option<f64> {
    let (sign, body) = signed(text);
    match body {
        ".inf" | ".Inf" | ".INF" => return Some(sign as f64 * f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" if body.len() == text.len() => return Some(f64::NAN),
        _ => {}
    }
    // Base 60: `1:30.5` is 90.5.
    if let Some((high, low)) = body.rsplit_once(':') {
        let (seconds, behind) = low.split_once('.')?;
        let high = high.split(':').enumerate().try_fold(0.0, |value, (place, part)| {
            let fits = if place == 0 { is_number(part) } else { is_sixtieth(&part) };
            fits.then(|| Some(value * 60.0 + part.replace('_', "").parse::<f64>().ok()?))?
        })?;
        let fits = is_sixtieth(&seconds) && behind.chars().all(is_part_of_number);
        let low = fits.then(|| low.replace('_', "").parse::<f64>().ok())??;
        return Some(sign as f64 * (high * 60.0 + low));
    }
    let (digits, power) = match body.split_once(['e', 'E']) {
        Some((digits, power)) => (digits, Some(power)),
        None => (body, None),
    };
    let (before, behind) =
        digits.split_once('.').map_or((digits, None), |(before, behind)| (before, Some(behind)));
    let begins = if before.is_empty() { behind.is_some_and(is_number) } else { is_number(before) };
    let is_power = |power: &str| {
        let (_, digits) = signed(power);
        !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
    };
    let is_float = begins
        && behind.is_none_or(|behind| behind.chars().all(is_part_of_number))
        && (behind.is_some() || power.is_some())
        && power.is_none_or(is_power);
    is_float.then(|| text.replace('_', "").parse().ok())?
}

fn is_part_of_number(c: char) -> bool {
    c.is_ascii_digit() || c == '_'
}

/// Digits, with `_` between or after them.
fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(is_part_of_number)
}

fn is_sixtieth(part: &&str) -> bool {
    (1..=2).contains(&part.len())
        && part.chars().all(|c| c.is_ascii_digit())
        && part.parse::<u8>().is_ok_and(|part| part < 60)
}
