//! Reads `[benchmark.pairs]`: the folders of source pairs.

use super::python_reader::globs;
use crate::benchmark::definition::Benchmark;
use crate::benchmark::launch::Action;
use crate::benchmark::source_pairs::{FOLDER, PARTS, PROGRAM, SOURCE, SourcePairs};
use crate::reader::item::refuse_each;
use crate::reader::table::Table;

/// Reads the table if it exists. Returns the names that `command` and `build` may use.
pub(super) fn read_source_pairs(it: &mut Benchmark, table: &mut Table) -> Option<Vec<String>> {
    let item = table.take("pairs")?;
    let mut inner = item.table()?;
    inner.name = "[benchmark.pairs]".into();
    let extension = inner.need("extension", "`extension = \"cu\"`").and_then(|item| {
        let text = item.filled()?.trim_start_matches('.');
        if text.is_empty() || text.contains(['/', '*', '?', '{', '[']) {
            return item.refuse(
                format!("`extension = \"{text}\"` is not a file extension"),
                "write one such as `extension = \"cu\"`",
            );
        }
        Some(text.to_owned())
    });
    let (roots, ignore) = (globs(inner.take("roots")), globs(inner.take("ignore")));
    inner.close();
    let next = "remove it: the sources are the cases; `roots` and `ignore` select sources";
    let others = ["matrix", "zip", "where", "harness", "cases"].into_iter().filter_map(|key| table.take(key));
    refuse_each(others, "cannot be combined with `pairs`", next);
    if !matches!(it.action, Action::Command(_)) {
        item.fault(
            "`pairs` is for programs that are built from sources",
            "start them with `command = [\"./{program}\"]`",
        );
    }
    it.pairs = Some(SourcePairs { extension: extension?, roots, ignore, ..SourcePairs::default() });
    Some(PARTS.into_iter().chain([SOURCE, PROGRAM, FOLDER]).map(str::to_owned).collect())
}
