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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Suite;
    use super::*;
    use gbench_model::{MetricSet, Origin};

    fn options(lines: &str) -> Result<ProfileOptions, Vec<String>> {
        let text = format!("{lines}\n[[benchmark]]\nid = 'a'\ncommand = ['true']\n");
        let suite = Suite::parse(Path::new("/s/gbench.toml"), &text, &[]);
        suite.map(|suite| suite.profile).map_err(|fault| fault.each().map(|one| one.what.clone()).collect())
    }

    #[test]
    fn s0_76_profiling_is_off_unless_the_file_asks_for_it() {
        assert_eq!(options("").unwrap().profilers.value, []);
        let asked = options("[profile]\nprofilers = ['ncu', 'nsys', 'ncu']\nmetrics = 'deep'").unwrap();
        assert_eq!(asked.profilers.value, [Profiler::Ncu, Profiler::Nsys]);
        assert_eq!(asked.metrics.value, MetricSet::Deep);
        assert_eq!(asked.profilers.origin, Origin::File("gbench.toml:2".into()));
        assert_eq!(options("[profile]\ntrace = ['cuda']").unwrap().trace.value, ["cuda"]);
    }

    #[test]
    fn s0_76_no_benchmark_can_switch_it_on() {
        let text = "[[benchmark]]\nid = 'a'\ncommand = ['true']\nprofilers = ['ncu']\n";
        let fault = Suite::parse(Path::new("/s/gbench.toml"), text, &[]).unwrap_err();
        assert!(fault.what.contains("no key `profilers`"), "{}", fault.what);
    }

    #[test]
    fn what_no_profiler_has_is_refused() {
        for lines in [
            "[profile]\nprofilers = ['vtune']",
            "[profile]\nmetrics = 'all'",
            "[profile]\ntrace = ['cuda,osrt']",
            "[profile]\ntrace = []",
            "[profile]\nncu = true",
        ] {
            assert_eq!(options(lines).unwrap_err().len(), 1, "{lines}");
        }
    }
}
