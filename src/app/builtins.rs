//! The micro suite's catalogue as benchmarks: the one place that knows both rooms.

use std::path::Path;
use std::process::ExitCode;

use crate::machine;
use crate::micro::{self, ThrottleLook, ThrottleState, Workload};
use crate::model::{BenchmarkId, Component, Kind, MetricDeclaration, Setting, Timing};
use crate::suite::{Action, Benchmark, MetricRule};

/// A built-in workload as a child of the gate: `name` is a member's. Gives the process's exit code.
pub fn micro_child(name: &str) -> ExitCode {
    micro::main(name, open_throttle_look)
}

/// The state of the GPU's clocks as workloads on it want to know it.
fn open_throttle_look(of: Option<&str>) -> Option<ThrottleLook> {
    let of: Vec<String> = of.map(str::to_owned).into_iter().collect();
    let mut look = machine::clocks(&of)?;
    Some(Box::new(move || {
        let now = look(&of)?;
        Some(ThrottleState {
            reasons: now.holding(),
            by_power: now.by_power,
            by_hardware: now.by_hardware,
            perhaps_by_hardware: now.perhaps_by_hardware,
            held_ns: now.held_ns,
            joules: now.joules,
        })
    }))
}

/// Every member of the micro suite, in the catalogue's order. `dir`: where they run, which is where `disk_io`
/// puts its file.
pub(crate) fn benchmarks(dir: &Path) -> Vec<Benchmark> {
    micro::catalog().iter().filter_map(|member| benchmark(member, dir)).collect()
}

/// `None` for a name that is no id, which a test of the catalogue rules out.
fn benchmark(member: &Workload, dir: &Path) -> Option<Benchmark> {
    let id: BenchmarkId = format!("micro/{}", member.name).parse().ok()?;
    let mut it = Benchmark::new(id, Action::Builtin(member.name.into()), dir.to_owned());
    it.description = member.description.into();
    it.components = member.components.to_vec();
    it.kind = Kind::Synthetic;
    it.tags = vec!["micro".into()];
    it.timing = Timing::Protocol;
    it.metrics = member
        .metrics
        .iter()
        .map(|metric| MetricRule {
            glob: metric.name.into(),
            case: None,
            unit: Some(metric.unit.into()),
            declaration: MetricDeclaration {
                better: Some(metric.better),
                threshold: Some(metric.threshold),
                gate: (!metric.judged).then_some(false),
                ..Default::default()
            },
        })
        .collect();
    it.requires.gpus = u32::from(member.components.contains(&Component::Gpu));
    it.points = micro::points(member.params);
    it.settings.processes = Setting::default(member.defaults.processes);
    it.settings.iterations = Setting::default(member.defaults.iterations);
    it.settings.warmup = Setting::default(member.defaults.warmup);
    Some(it)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Suite;

    #[test]
    fn every_member_of_the_catalogue_becomes_a_benchmark() {
        let all = benchmarks(Path::new("/"));
        assert_eq!(all.len(), micro::catalog().len());
        assert!(
            all.iter().all(|benchmark| !benchmark.components.is_empty() && !benchmark.metrics.is_empty())
        );
    }

    #[test]
    fn the_page_of_the_micro_suite_names_every_member_and_its_parameters() {
        let page =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/micro.md")).unwrap();
        for member in micro::catalog() {
            assert!(page.contains(&format!("| `micro/{}` |", member.name)), "{}", member.name);
            for (name, _) in member.params {
                assert!(page.contains(&format!("`{name}`")), "{} {name}", member.name);
            }
        }
        let all = benchmarks(Path::new("/"));
        for text in page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            let suite = Suite::parse(Path::new("/suite/gbench.toml"), text, &all);
            assert!(suite.is_ok(), "{text}: {suite:?}");
        }
    }
}
