//! The table `[profile]`.

use super::profiling::ProfileOptions;
use super::reader::{Item, Table};
use gbench_model::Profiler;

pub(super) fn read(mut table: Table) -> ProfileOptions {
    let mut options = ProfileOptions::default();
    let set = |item: &Item| item.origin();
    if let Some(item) = table.take("profilers")
        && let Some(profilers) = profilers(&item)
    {
        options.profilers.set(profilers, set(&item));
    }
    if let Some(item) = table.take("metrics")
        && let Some(metrics) = item.variant()
    {
        options.metrics.set(metrics, set(&item));
    }
    if let Some(item) = table.take("trace")
        && let Some(trace) = trace(&item)
    {
        options.trace.set(trace, set(&item));
    }
    table.close();
    options
}

fn profilers(item: &Item) -> Option<Vec<Profiler>> {
    let mut profilers = Vec::new();
    for member in item.list("a list of profilers, such as [\"nsys\"]")? {
        let profiler = member.variant::<Profiler>()?;
        if !profilers.contains(&profiler) {
            profilers.push(profiler);
        }
    }
    Some(profilers)
}

/// Words of `nsys profile --trace`. They become one argument, between commas.
fn trace(item: &Item) -> Option<Vec<String>> {
    let words = item.texts("[\"cuda\", \"nvtx\"]")?;
    let is_plain = |word: &String| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
    };
    match words.iter().find(|word| !is_plain(word)) {
        Some(odd) => item
            .refuse(format!("`{odd}` is nothing that nsys traces"), "write words of `nsys profile --help`"),
        None if words.is_empty() => {
            item.refuse("`trace` is empty", "name what nsys is to trace, such as [\"cuda\"]")
        }
        None => Some(words),
    }
}
