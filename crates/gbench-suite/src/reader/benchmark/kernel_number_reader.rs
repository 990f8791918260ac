//! Reads a number of `[benchmark.cuda]`, and computes it for every case.

use toml::de::DeValue;

use super::sweep_reader::{shown, unknown_parameter};
use crate::benchmark::kernel_number::{CEIL_DIV, KernelNumber, cause, environment, evaluated};
use crate::benchmark::template::find_word;
use crate::reader::item::Item;
use gbench_model::Params;

/// The parameters that expressions are over.
pub(super) struct SweptParams<'a> {
    pub names: &'a [String],
    pub points: &'a [Params],
}

/// What a number may be.
pub(super) struct NumberRule<'a> {
    /// For a case. Errors: it may not be that, in words.
    pub check: &'a dyn Fn(f64, &Params) -> Result<(), String>,
    /// What to do where it is not.
    pub next: &'a str,
}

/// A number, or an expression that is one for every case.
pub(super) fn number(item: &Item, sweep: &SweptParams, rule: &NumberRule) -> Option<KernelNumber> {
    let DeValue::String(_) = item.value else {
        let number = item.number()?;
        let failing = |point: &&Params| (rule.check)(number, point).is_err();
        if let Some(point) = sweep.points.iter().find(failing) {
            let why = (rule.check)(number, point).err().unwrap_or_default();
            // Where it is wrong for every case, none has to be named.
            let case = if sweep.points.iter().all(|point| failing(&point)) {
                String::new()
            } else {
                for_point(point)
            };
            let what = format!("{case}`{}` is {}", item.key, why.trim_start_matches("it gives "));
            return item.refuse(what, rule.next);
        }
        return Some(KernelNumber::Number(number));
    };
    let source = item.bracketed("expression", "write it with fewer")?;
    let environment = environment();
    let compiled = match environment.compile_expression(source) {
        Ok(compiled) => compiled,
        Err(error) => return item.refuse(format!("this is no expression: {}", cause(&error)), EXAMPLE),
    };
    let mut unknown: Vec<String> = compiled.undeclared_variables(false).into_iter().collect();
    unknown.retain(|name| name != CEIL_DIV && !sweep.names.contains(name));
    unknown.sort();
    if let Some(name) = unknown.first() {
        let at = item.place_of(name);
        if is_called(source, name) {
            item.page.fault(at, format!("there is no function `{name}`"), FUNCTIONS);
        } else {
            unknown_parameter(item.page, at, name, sweep.names);
        }
        return None;
    }
    let computed = |point: &Params| evaluated(&compiled, point);
    for point in sweep.points {
        let (why, next) = match computed(point) {
            Err(why) => (why, EXAMPLE),
            Ok(number) => match (rule.check)(number, point) {
                Err(why) => (why, rule.next),
                Ok(()) => continue,
            },
        };
        return item.refuse(format!("{}this expression fails: {why}", for_point(point)), next);
    }
    Some(KernelNumber::Expression(source.to_owned()))
}

const EXAMPLE: &str = "write a number, or an expression over the parameters such as \"ceil_div(n, 256)\"";
const FUNCTIONS: &str = "use `+ - * / // % **`; the one function is `ceil_div(a, b)`; the greater of two numbers is `n if n > 256 else 256`";

/// Whether the name stands in front of a parenthesis.
fn is_called(source: &str, name: &str) -> bool {
    find_word(source, name).is_some_and(|found| source[found.end..].trim_start().starts_with('('))
}

/// `for `n=4,tile=8` `; nothing where there are no parameters.
pub(super) fn for_point(point: &Params) -> String {
    if point.is_empty() { String::new() } else { format!("for `{}` ", shown(point)) }
}
