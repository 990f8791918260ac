//! Reads a number of `[benchmark.cuda]`, and evaluates it for every case.

use toml::de::DeValue;

use super::sweep_reader::{shown, unknown_parameter};
use crate::benchmark::kernel_number::{CEIL_DIV, KernelNumber, cause, environment, evaluated};
use crate::benchmark::template::find_word;
use crate::reader::item::Item;
use gbench_model::Params;

pub(super) struct SweptParams<'a> {
    pub names: &'a [String],
    pub points: &'a [Params],
}

pub(super) struct NumberRule<'a> {
    /// Errors: why the number is not valid for a case.
    pub check: &'a dyn Fn(f64, &Params) -> Result<(), String>,
    pub next: &'a str,
}

pub(super) fn number(item: &Item, sweep: &SweptParams, rule: &NumberRule) -> Option<KernelNumber> {
    let DeValue::String(_) = item.value else {
        let number = item.number()?;
        let failing = |point: &&Params| (rule.check)(number, point).is_err();
        if let Some(point) = sweep.points.iter().find(failing) {
            let why = (rule.check)(number, point).err().unwrap_or_default();
            // If it is wrong for every case, the message names none.
            let case = if sweep.points.iter().all(|point| failing(&point)) {
                String::new()
            } else {
                for_point(point)
            };
            let what = format!("{case}`{}`: {why}", item.key);
            return item.refuse(what, rule.next);
        }
        return Some(KernelNumber::Number(number));
    };
    let source = item.bracketed("expression", "use fewer brackets")?;
    let environment = environment();
    let compiled = match environment.compile_expression(source) {
        Ok(compiled) => compiled,
        Err(error) => return item.refuse(format!("this is not an expression: {}", cause(&error)), EXAMPLE),
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
const FUNCTIONS: &str = "use `+ - * / // % **` and `ceil_div(a, b)`; the maximum of two numbers is `n if n > 256 \
    else 256`";

fn is_called(source: &str, name: &str) -> bool {
    find_word(source, name).is_some_and(|found| source[found.end..].trim_start().starts_with('('))
}

pub(super) fn for_point(point: &Params) -> String {
    if point.is_empty() { String::new() } else { format!("for `{}` ", shown(point)) }
}
