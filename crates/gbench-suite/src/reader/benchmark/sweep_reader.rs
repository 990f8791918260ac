//! Parameter grids: `matrix` lists are crossed, `zip` lists are paired, and `where` removes combinations that make no sense.

use std::collections::BTreeSet;

use minijinja::value::ValueKind;
use minijinja::{Environment, UndefinedBehavior};
use toml::de::DeValue;

use crate::benchmark::work::as_value;
use crate::reader::file_text::FileText;
use crate::reader::item::Item;
use crate::reader::table::Table;
use crate::words::{advise, listed};
use gbench_model::text::count;
use gbench_model::{ParamValue, Params, near};

/// Maximum number of combinations of a file. An author with more probably crossed lists that should be paired.
pub(crate) const MAX_POINTS: usize = 100_000;

pub(super) struct Sweep {
    /// Sorted; includes names with faulty values, so that one mistake is reported once.
    pub names: Vec<String>,
    pub points: Vec<Params>,
    pub excluded: usize,
}

type Axis = Vec<Params>;

/// `budget`: combinations that the file may still make; reduced by those made here.
pub(super) fn sweep(
    matrix: Option<Table>,
    zip: Option<Table>,
    constraints: Option<Item>,
    page: &FileText,
    budget: &mut usize,
) -> Sweep {
    let mut names: Vec<&str> = Vec::new();
    let mut axes = Vec::new();
    let span = matrix.as_ref().or(zip.as_ref()).map_or(0..0, |table| table.span.clone());
    for item in matrix.iter().flat_map(|table| table.items()) {
        take_name(&item, &mut names);
        if let Some(values) = values(&item) {
            refuse_repeats(&item, &values, ParamValue::to_string);
            let row = |value| Params::from([(item.key.to_owned(), value)]);
            axes.push(values.into_iter().map(row).collect::<Axis>());
        }
    }
    axes.extend(zip.and_then(|table| zipped(&table, &mut names)));
    names.sort();
    names.dedup();
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();

    let combinations = axes.iter().try_fold(1_usize, |product, axis| product.checked_mul(axis.len()));
    let Some(left) = combinations.and_then(|count| budget.checked_sub(count)) else {
        let many = combinations.map_or("too many".into(), |count| count.to_string());
        page.fault(
            span,
            format!("the parameters make {many} combinations; the maximum for a file is {MAX_POINTS}"),
            "shorten the lists, or move lists that belong together from `matrix` to `zip`",
        );
        return Sweep { names, points: vec![Params::new()], excluded: 0 };
    };
    *budget = left;

    let mut points = vec![Params::new()];
    for axis in &axes {
        let with = |(point, row): (&Params, &Params)| point.clone().into_iter().chain(row.clone()).collect();
        let crossed = points.iter().flat_map(|point| axis.iter().map(move |row| (point, row)));
        points = crossed.map(with).collect();
    }
    let excluded = constraints.map_or(0, |constraints| constrain(&constraints, &names, &mut points));
    Sweep { names, points, excluded }
}

/// Keeps the points that satisfy every condition of `where`; returns the number of removed points.
pub(super) fn constrain(constraints: &Item, names: &[String], points: &mut Vec<Params>) -> usize {
    let made = points.len();
    for item in constraints.list("a list of conditions, such as [\"n <= 4096\"]").unwrap_or_default() {
        keep_where(&item, names, points);
    }
    // After another fault the points may be missing for another reason.
    if points.is_empty() && constraints.page.is_clean() {
        let all = if made == 1 { "the only case".to_owned() } else { format!("all {made} combinations") };
        let next = "loosen a condition, or add values that satisfy them all";
        constraints.fault(format!("`where` removes {all}"), next);
    }
    made - points.len()
}

fn take_name<'t>(item: &Item<'t>, names: &mut Vec<&'t str>) {
    let fault = |what: String, next: &str| item.page.fault(item.key_span.clone(), what, next);
    let mut characters = item.key.chars();
    let begins = characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !begins || !characters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        let next = "use letters, digits and `_`, and begin with a letter";
        fault(format!("`{}` cannot name a parameter", item.key), next);
    }
    match names.iter().find(|name| name.eq_ignore_ascii_case(item.key)) {
        Some(same) if *same == item.key => fault(
            format!("the parameter `{}` appears in `matrix` and in `zip`", item.key),
            "keep it in one of them",
        ),
        Some(other) => fault(
            format!("the parameters `{other}` and `{}` differ only in case", item.key),
            "rename one of them: programs see both under one upper-case name",
        ),
        None => {}
    }
    names.push(item.key);
}

fn values(item: &Item) -> Option<Vec<ParamValue>> {
    let members = item.list("a list of values, such as [1, 2]")?;
    if members.is_empty() {
        return item.refuse(
            format!("the parameter `{}` has no values", item.key),
            "give it one or more, or remove the line",
        );
    }
    // Collects first, so that every faulty member is reported.
    let read: Vec<_> = members.iter().map(value).collect();
    read.into_iter().collect()
}

fn value(item: &Item) -> Option<ParamValue> {
    match item.value {
        DeValue::Boolean(value) => Some(ParamValue::Bool(*value)),
        DeValue::Integer(_) => item.integer().map(ParamValue::Int),
        DeValue::Float(_) => item.number().map(ParamValue::Float),
        DeValue::String(text) if text.chars().any(char::is_control) => item.refuse(
            format!("a value of `{}` contains a control character", item.key),
            "use printable characters: the value names a case in every report",
        ),
        DeValue::String(_) => Some(ParamValue::Text(item.text()?.to_owned())),
        _ => item.wrong("numbers, strings, `true` or `false` as values"),
    }
}

fn refuse_repeats<T: Ord>(item: &Item, rows: &[T], shown: impl Fn(&T) -> String) {
    let mut seen = BTreeSet::new();
    if let Some(twice) = rows.iter().find(|row| !seen.insert(*row)) {
        let what = format!("`{}` appears twice in `{}`", shown(twice), item.key);
        item.fault(what, "remove one of them: equal cases cannot be distinguished");
    }
}

pub(crate) fn shown(point: &Params) -> String {
    let pairs: Vec<_> = point.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join(",")
}

fn zipped<'t>(table: &Table<'t>, names: &mut Vec<&'t str>) -> Option<Axis> {
    let items = table.items();
    let mut columns = Vec::new();
    for item in &items {
        take_name(item, names);
        columns.push((item, values(item)));
    }
    let (first, length) = columns.iter().find_map(|(item, values)| Some((*item, values.as_ref()?.len())))?;
    let mut rows = vec![Params::new(); length];
    for (item, values) in columns {
        let values = values?;
        if values.len() != length {
            let (has, has_first) = (count(values.len(), "value"), count(length, "value"));
            let what = format!("`{}` has {has} and `{}` has {has_first}", item.key, first.key);
            return item.refuse(what, "give the lists of `zip` equal lengths, or move one to `matrix`");
        }
        for (row, value) in rows.iter_mut().zip(values) {
            row.insert(item.key.to_owned(), value);
        }
    }
    refuse_repeats(first, &rows, shown);
    Some(rows)
}

fn keep_where(item: &Item, names: &[String], points: &mut Vec<Params>) {
    let next = "write a condition over the parameters, such as \"n * m <= 50_000_000\"";
    let fewer = "split it: all conditions of the list must be true";
    let Some(source) = item.bracketed("condition", fewer) else { return };
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let condition = match environment.compile_expression(source) {
        Ok(condition) => condition,
        Err(error) => {
            let cause = error.detail().unwrap_or("it cannot be read").to_owned();
            return item.fault(format!("this is not an expression: {cause}"), next);
        }
    };
    let mut unknown: Vec<_> =
        condition.undeclared_variables(false).into_iter().filter(|name| !names.contains(name)).collect();
    unknown.sort();
    for name in &unknown {
        unknown_parameter(item.page, item.place_of(name), name, names);
    }
    if !unknown.is_empty() {
        return;
    }
    let mut satisfying = Vec::new();
    for point in std::mem::take(points) {
        match condition.eval(as_value(&point)) {
            Ok(answer) if answer.kind() != ValueKind::Bool => {
                let point = shown(&point);
                return item.fault(
                    format!("for `{point}` the result of this condition is `{answer}`, not true or false"),
                    next,
                );
            }
            Ok(answer) if answer.is_true() => satisfying.push(point),
            Ok(_) => {}
            Err(error) => {
                let cause = error.detail().unwrap_or("it cannot be computed").to_owned();
                return item.fault(format!("for `{}` this condition fails: {cause}", shown(&point)), next);
            }
        }
    }
    *points = satisfying;
}

pub(super) fn unknown_parameter(page: &FileText, at: std::ops::Range<usize>, name: &str, names: &[String]) {
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let next = match known.as_slice() {
        [] => format!("declare it: `[benchmark.matrix]` with `{name} = [...]`"),
        known if near(name, known).is_empty() => {
            format!("declare it under `[benchmark.matrix]`, or use one of {}", listed(known))
        }
        known => advise(name, known),
    };
    page.fault(at, format!("there is no parameter `{name}`"), next);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use toml::de::DeTable;

    use super::*;

    #[test]
    fn a_grid_beyond_the_budget_is_refused_before_it_is_built() {
        let list = (0..1000).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
        let text = format!("matrix = {{a = [{list}], b = [{list}], c = [{list}]}}");
        let page = FileText::new(Path::new("gbench.toml"), text.as_str().into());
        let tree = DeTable::parse(&text).unwrap();
        let matrix = Table::root(&page, tree.get_ref()).table("matrix");
        assert_eq!(sweep(matrix, None, None, &page, &mut MAX_POINTS.clone()).points.len(), 1);
        let fault = page.into_fault().unwrap();
        assert_eq!(
            fault.what,
            "the parameters make 1000000000 combinations; the maximum for a file is 100000"
        );
        assert!(fault.also.is_none());
    }
}
