//! Keys in which the definitions of a benchmark differ between two sides: the definition is code, too, and a change of it may
//! compare other work.

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::suite::{Source, Suite};

const OTHERS: [&str; 19] = [
    "id",
    "renamed_from",
    "command",
    "shell",
    "env",
    "iterations",
    "duration",
    "warmup",
    "burnin",
    "description",
    "tags",
    "group",
    "load",
    "components",
    "threshold",
    "target",
    "min_effect",
    "metrics",
    "matrix",
];
/// Tables of a suite file that define no benchmark.
const NO_DEFINITIONS: [&str; 6] = ["suite", "gate", "run", "profile", "benchmark", "components"];

/// `gemm (build, dir)`: each benchmark, and each table for all of them, with the keys that differ. Unreadable files are
/// left out: they were read a moment ago.
pub(crate) fn redefined(base: &Suite, head: &Suite) -> Vec<String> {
    let (Some(base), Some(head)) = (table_of(base), table_of(head)) else { return Vec::new() };
    let shared = keys(&base, &head).into_iter().filter(|name| !NO_DEFINITIONS.contains(name));
    let tables = shared.filter_map(|name| {
        let sides = [&base, &head].map(|side| side.get(name));
        match sides {
            [Some(Value::Table(base)), Some(Value::Table(head))] => told(name, base, head),
            [base, head] => (base != head).then(|| name.to_owned()),
        }
    });
    let before = benchmarks(&base);
    let benchmarks = benchmarks(&head).into_iter().filter_map(|(id, head)| {
        let before_name = head.get("renamed_from").and_then(Value::as_str).unwrap_or(id);
        let (_, base) = before.iter().find(|(known, _)| *known == before_name)?;
        told(id, base, head)
    });
    tables.chain(benchmarks).collect()
}

fn table_of(suite: &Suite) -> Option<Table> {
    let Source::File { path, .. } = &suite.source else { return None };
    std::fs::read_to_string(path).ok()?.parse().ok()
}

fn benchmarks(suite: &Table) -> Vec<(&str, &Table)> {
    let all = suite.get("benchmark").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|it| Some((it.get("id")?.as_str()?, it.as_table()?))).collect()
}

fn keys<'a>(base: &'a Table, head: &'a Table) -> BTreeSet<&'a str> {
    base.keys().chain(head.keys()).map(String::as_str).collect()
}

fn told(name: &str, base: &Table, head: &Table) -> Option<String> {
    let differ =
        keys(base, head).into_iter().filter(|key| !OTHERS.contains(key) && base.get(*key) != head.get(*key));
    let differ: Vec<&str> = differ.collect();
    (!differ.is_empty()).then(|| format!("{name} ({})", differ.join(", ")))
}
