//! Reads `[benchmark.python]`: the modules, the interpreter and the driver's options.

use std::collections::BTreeMap;

use toml::de::DeValue;

use crate::benchmark::python::{DriverOptions, PythonEntry, PythonModule, PythonSource};
use crate::reader::item::{Item, refuse_each};
use crate::reader::table::Table;
use gbench_formats::adapters::layouts::{CallWay, LayoutCases, glob_fault};

const WAYS: [(&str, CallWay); 4] = [
    ("class", CallWay::Class),
    ("function", CallWay::Function),
    ("self-timed", CallWay::SelfTimed),
    ("sweep", CallWay::Sweep),
];

pub(super) fn read_python(item: &Item) -> Option<PythonEntry> {
    let mut table = item.table()?;
    table.name = "[benchmark.python]".into();
    let source = read_source(&mut table, item);
    let interpreter = table.take("interpreter").and_then(|item| words(&item)).unwrap_or_default();
    let mut options = DriverOptions::default();
    if let Some(mode) = table.take("mode").and_then(|item| item.variant()) {
        options.mode = mode;
    }
    let mut flag = |key| table.take(key).and_then(|item: Item| item.flag()).unwrap_or(false);
    options.deterministic = flag("deterministic");
    options.check_determinism = flag("check_determinism");
    options.flush_l2 = flag("flush_l2");
    options.fresh_inputs = flag("fresh_inputs");
    options.cuda_graph = flag("cuda_graph");
    options.scale_by_memory = flag("scale_by_memory");
    let shared_code = flag("shared_code");
    options.path = table.take("path").and_then(|item| item.texts("[\"src\"]")).unwrap_or_default();
    table.close();
    Some(PythonEntry {
        source: source?,
        interpreter,
        options,
        shared_code,
        tree: None,
        found: LayoutCases::default(),
        calls: Default::default(),
    })
}

fn read_source(table: &mut Table, whole: &Item) -> Option<PythonSource> {
    let nothing = (
        "`python` names no modules",
        "add `layout = \"pairs\"` or `layout = \"kernels\"`, or `file = \"bench.py\"`",
    );
    let (roots, ignore) = (table.take("roots"), table.take("ignore"));
    let (way, function, class) = (table.take("way"), table.take("function"), table.take("class"));
    let (reference, tolerances) = (table.take("reference"), table.take("tolerances"));
    let first = table.one_of(["layout", "file"], "`python`", nothing, "keep one of them")?;
    if first.key == "layout" {
        let next = "remove it, or name the module with `file` instead of `layout`; kernels have theirs in \
            bench.yaml";
        let others = [way, function, class, reference, tolerances].into_iter().flatten();
        refuse_each(others, "is for a single module", next);
        let (roots, ignore) = (globs(roots), globs(ignore));
        return Some(PythonSource::Layout { layout: first.variant()?, roots, ignore });
    }
    let next = "remove it, or write `layout` instead of `file`";
    refuse_each([roots, ignore].into_iter().flatten(), "is for a layout", next);
    if let (Some(function), Some(_)) = (&function, &class) {
        function.fault("a module is measured by a function or by a class", "remove one of them");
    }
    let named = function.as_ref().or(class.as_ref());
    let usual = if class.is_some() { CallWay::Class } else { CallWay::Function };
    let way = way.map_or(Some(usual), |item| item.word(&WAYS));
    let file = first.filled()?.to_owned();
    if file.starts_with('/') || file.split('/').any(|part| part == "..") {
        return whole.refuse(
            format!("`{file}` leaves the benchmark's folder"),
            "write the path from there, or set `dir`",
        );
    }
    let way = way?;
    if way != CallWay::Function {
        let why = "is for a function, whose result can be checked";
        let next = "remove it, and let the module check its own result";
        refuse_each([reference.clone(), tolerances.clone()].into_iter().flatten(), why, next);
    }
    let text = |item: &Option<Item>| item.as_ref().and_then(Item::filled).map(str::to_owned);
    Some(PythonSource::Module(Box::new(PythonModule {
        file,
        way,
        name: named.and_then(Item::filled).map(str::to_owned),
        reference: text(&reference),
        tolerances: tolerances.map(|item| read_tolerances(&item)).unwrap_or_default(),
    })))
}

fn read_tolerances(item: &Item) -> BTreeMap<String, f64> {
    let Some(mut table) = item.table() else { return BTreeMap::new() };
    let mut found = BTreeMap::new();
    for key in ["rmse", "relative_error", "max_error"] {
        let number =
            table.take(key).and_then(|item| item.number_that(|it| it >= 0.0, "write a number of at least 0"));
        found.extend(number.map(|number| (key.to_owned(), number)));
    }
    table.close();
    found
}

pub(crate) fn globs(item: Option<Item>) -> Vec<String> {
    let Some(item) = item else { return Vec::new() };
    let globs = item.texts("[\"ch*\"]").unwrap_or_default();
    for (glob, why) in globs.iter().filter_map(|glob| Some((glob, glob_fault(glob)?))) {
        item.fault(format!("`{glob}` is not a glob: {why}"), "write a folder or a pattern such as \"ch*\"");
    }
    globs
}

fn words(item: &Item) -> Option<Vec<String>> {
    match item.value {
        DeValue::String(_) => item.filled().map(|program| vec![program.to_owned()]),
        _ => {
            let words = item.texts("[\"uv\", \"run\", \"python\"]")?;
            if words.first().is_none_or(|program| program.trim().is_empty()) {
                return item.refuse("`interpreter` is empty", "write `interpreter = \".venv/bin/python\"`");
            }
            Some(words)
        }
    }
}
