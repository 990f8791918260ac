//! Reads `[benchmark.work]`: a number, or an expression over the parameters.

use minijinja::Environment;
use toml::de::DeValue;

use super::sweep_reader::{shown, unknown_parameter};
use crate::benchmark::definition::Benchmark;
use crate::benchmark::work::WorkAmount;
use crate::reader::item::Item;
use crate::reader::table::Table;
use gbench_model::Params;

const UNITS: [&str; 4] = ["items", "bytes", "flops", "tokens"];

impl Benchmark {
    /// The work of an iteration of a case, by unit. Errors: an expression fails for these parameters.
    pub fn work_of(&self, params: &Params) -> Result<Vec<(&'static str, f64)>, String> {
        let of = |(unit, amount): (&&'static str, &WorkAmount)| {
            let amount = amount.of(params).map_err(|why| format!("`{unit}` of `[benchmark.work]`: {why}"))?;
            Ok((*unit, amount))
        };
        self.work.iter().map(of).collect()
    }
}

/// Reads the table. `names`: the parameters in the file; those of modules and harnesses are not known yet.
pub(super) fn read_work(it: &mut Benchmark, table: &mut Table, names: &[String]) {
    let Some(item) = table.take("work") else { return };
    let Some(mut inner) = item.table() else { return };
    inner.name = "[benchmark.work]".into();
    let is_known = it.has_own_points();
    for unit in UNITS {
        let Some(item) = inner.take(unit) else { continue };
        let Some(amount) = amount(&item) else { continue };
        if is_known {
            check(&item, &amount, names, &it.points);
        }
        it.work.insert(unit, amount);
    }
    inner.close();
}

fn amount(item: &Item) -> Option<WorkAmount> {
    if !matches!(item.value, DeValue::String(_)) {
        return item.number_that(|number| number > 0.0, "write a number above 0").map(WorkAmount::Number);
    }
    let source = item.bracketed("expression", "use fewer brackets")?;
    if let Err(error) = Environment::new().compile_expression(source) {
        let cause = error.detail().unwrap_or("it cannot be read").to_owned();
        return item.refuse(format!("this is not an expression: {cause}"), EXAMPLE);
    }
    Some(WorkAmount::Expression(source.to_owned()))
}

const EXAMPLE: &str = "write a number, or an expression over the parameters such as \"2 * n ** 3\"";

fn check(item: &Item, amount: &WorkAmount, names: &[String], points: &[Params]) {
    let WorkAmount::Expression(text) = amount else { return };
    if let Ok(expression) = Environment::new().compile_expression(text) {
        let variables = expression.undeclared_variables(false);
        let mut unknown: Vec<&String> = variables.iter().filter(|name| !names.contains(name)).collect();
        unknown.sort();
        if let Some(name) = unknown.first() {
            return unknown_parameter(item.page, item.span.clone(), name, names);
        }
    }
    let failing = points.iter().find_map(|point| Some((point, amount.of(point).err()?)));
    if let Some((point, why)) = failing {
        item.fault(format!("for `{}` this expression fails: {why}", shown(point)), EXAMPLE);
    }
}
