//! The values of a `--param`, as written.

use gbench_model::ParamValue;

/// True if `found` is the whole text, since names of cases may contain commas, or one of its parts between commas.
pub(crate) fn means(values: &str, found: &ParamValue) -> bool {
    found.is_written(values) || unescaped_parts(values).iter().any(|part| found.is_written(part))
}

/// The parts of `a,b`; `\,` is a comma within a part.
pub(super) fn unescaped_parts(text: &str) -> Vec<String> {
    let (mut parts, mut part) = (Vec::new(), String::new());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.next_if_eq(&',').is_some() => part.push(','),
            ',' => parts.push(std::mem::take(&mut part)),
            c => part.push(c),
        }
    }
    parts.push(part);
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}
