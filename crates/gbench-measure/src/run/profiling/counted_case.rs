//! Facts of a case for ncu: its measured launches, and the state of the card during them.

use gbench_device_code::display_name;
use gbench_model::line::MEASURE_RANGE;
use gbench_suite::plan::PlannedCase;
use gbench_suite::{Action, TimingMode};

/// The first version, by year and number, whose `--kernel-name` takes a name.
const SELECTS: (u32, u32) = (2021, 1);

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CountedCase {
    /// Options, each with its value, that select the measured launches; empty: unknown, or the profiler cannot.
    pub selection: Vec<Vec<String>>,
    /// Calls find what the one before left in the cache.
    pub hot: bool,
    /// The gate has locked the clocks.
    pub locked: bool,
}

impl CountedCase {
    /// `version`: ncu's, as it reports it.
    pub(super) fn of(case: &PlannedCase, locked: bool, version: Option<&str>) -> Self {
        let params = &case.id.params;
        let (selection, hot) = match &case.benchmark.action {
            Action::Cuda(_) => match case.benchmark.kernel_call(params) {
                Some(Ok(call)) => (vec![named(&display_name(&call.entry))], !call.flush_l2),
                _ => (Vec::new(), false),
            },
            Action::Builtin(_) => {
                (Vec::new(), params.get("flush_l2").is_some_and(|flushed| flushed.to_string() == "false"))
            }
            Action::Python(entry) => {
                let flushes = entry.options.flush_l2 || entry.options.mode == TimingMode::DoBench;
                (in_range(), !flushes)
            }
            // How they measure is their own affair.
            Action::Command(_) | Action::Shell(_) => (Vec::new(), false),
        };
        let selects = version.and_then(year_and_number).is_some_and(|version| version >= SELECTS);
        Self { selection: if selects { selection } else { Vec::new() }, hot, locked }
    }
}

/// A kernel by its function name, which has neither namespaces nor template arguments.
fn named(entry: &str) -> Vec<String> {
    let plain = entry.split(['<', '(']).next().unwrap_or_default();
    let name = plain.rsplit("::").next().unwrap_or_default().trim();
    vec!["--kernel-name".into(), name.into()]
}

/// The driver's range around the measured calls: with `/` of its thread, without it of the process, in which autograd launches
/// from another thread.
fn in_range() -> Vec<Vec<String>> {
    let include = |range: String| vec!["--nvtx-include".to_owned(), range];
    vec![vec!["--nvtx".into()], include(format!("{MEASURE_RANGE}/")), include(MEASURE_RANGE.into())]
}

fn year_and_number(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_named_without_its_namespace_and_its_template_s_arguments() {
        for (entry, name) in [("saxpy", "saxpy"), ("ops::blur<a::b, 3>", "blur"), ("f<1>", "f")] {
            assert_eq!(named(entry), ["--kernel-name", name]);
        }
    }

    #[test]
    fn versions_are_told_apart_by_year_and_number() {
        let selects = |version| year_and_number(version).is_some_and(|version| version >= SELECTS);
        assert!(selects("2022.3.0.0") && selects("2021.1.0") && !selects("2020.3.1.0") && !selects("new"));
    }
}
