//! Reads a number of `[benchmark.cuda]`, and computes it for every case.

use std::ops::Range;

use toml::de::DeValue;

use super::kernel_number::{CEIL_DIV, KernelNumber, cause, environment, evaluated};
use super::reader::Item;
use super::sweep::unknown_parameter;
use super::template::find_word;
use crate::model::Params;

/// The parameters that expressions are over.
pub(super) struct SweptParams<'a> {
    pub names: &'a [String],
    pub points: &'a [Params],
}

/// A number, or an expression that is one for every case. `check`: what it may be, in words where it is not.
pub(super) fn number(
    item: &Item,
    sweep: &SweptParams,
    check: &dyn Fn(f64) -> Result<(), String>,
) -> Option<KernelNumber> {
    let DeValue::String(_) = item.value else {
        let number = item.number()?;
        if let Err(why) = check(number) {
            let why = why.trim_start_matches("it gives ");
            return item.refuse(format!("`{}` cannot be {why}", item.key), EXAMPLE);
        }
        return Some(KernelNumber::Number(number));
    };
    let source = item.expression()?;
    // Every bracket costs the parser a good part of a small stack.
    const MAX_BRACKETS: usize = 32;
    if source.matches(['(', '[', '{']).count() > MAX_BRACKETS {
        let what = format!("this expression has more than {MAX_BRACKETS} opening brackets");
        return item.refuse(what, "write it with fewer");
    }
    let environment = environment();
    let compiled = match environment.compile_expression(source) {
        Ok(compiled) => compiled,
        Err(error) => return item.refuse(format!("this is no expression: {}", cause(&error)), EXAMPLE),
    };
    let mut unknown: Vec<String> = compiled.undeclared_variables(false).into_iter().collect();
    unknown.retain(|name| name != CEIL_DIV && !sweep.names.contains(name));
    unknown.sort();
    if let Some(name) = unknown.first() {
        unknown_parameter(item.page, place(item, name), name, sweep.names);
        return None;
    }
    let failing = |point: &Params| evaluated(&compiled, point).and_then(check).err();
    if let Some((point, why)) = sweep.points.iter().find_map(|point| Some((point, failing(point)?))) {
        return item.refuse(format!("{}this expression fails: {why}", for_point(point)), EXAMPLE);
    }
    Some(KernelNumber::Expression(source.to_owned()))
}

const EXAMPLE: &str = "write a number, or an expression over the parameters such as \"ceil_div(n, 256)\"";

/// Where a name stands in an expression.
fn place(item: &Item, name: &str) -> Range<usize> {
    let raw = find_word(item.page.slice(item.span.clone()), name);
    raw.map_or(item.span.clone(), |raw| item.span.start + raw.start..item.span.start + raw.end)
}

/// `for `n=4,tile=8` `; nothing where there are no parameters.
pub(super) fn for_point(point: &Params) -> String {
    let words: Vec<String> = point.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if words.is_empty() { String::new() } else { format!("for `{}` ", words.join(",")) }
}
