//! The list of workloads, and the entry point of a child that runs one.

use std::env;
use std::io::Write;
use std::process::ExitCode;

use super::channel::Channel;
use super::cuda;
use super::spec::MicroError;
use super::throttle_state::OpenLook;
use super::workload::Workload;
use super::{cpu, disk, injected, memory, network, workload};
use gbench_model::line::{GPUS_BY_CUDA, Lack};
use gbench_model::{Exit, Fault};

/// Every built-in workload, in the order of a full run: from the core outwards.
pub fn catalog() -> Vec<Workload> {
    let host = [cpu::FLOPS, memory::BANDWIDTH, memory::LATENCY, disk::IO, network::BANDWIDTH];
    host.into_iter().chain(cuda::workloads()).collect()
}

/// Runs one workload as a child of the gate, or by hand: `gbench-ci __micro cpu_flops` prints its events. `look` opens the
/// source of the GPU's throttle state.
#[expect(clippy::print_stderr, reason = "a separate program, whose standard error its parent reads")]
pub fn main(name: &str, look: OpenLook) -> ExitCode {
    if name == GPUS_BY_CUDA {
        // If the gate is gone, there is no reader.
        let _ = writeln!(std::io::stdout(), "{}", serde_json::json!(cuda::gpus()));
        return ExitCode::SUCCESS;
    }
    match child(name, look) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("gbench-ci __micro: {fault}");
            fault.exit.into()
        }
    }
}

fn child(name: &str, look: OpenLook) -> Result<(), Fault> {
    let members = catalog();
    let hidden = [injected::INJECTED, cuda::KERNEL];
    let Some(member) = members.iter().chain(&hidden).find(|member| member.name == name) else {
        let known: Vec<_> = members.iter().map(|member| member.name).collect();
        let next = format!("use one of: {}", known.join(", "));
        return Err(Fault::at_flag(name, "there is no such built-in benchmark", next));
    };
    let request = workload::request(member, |name| env::var(name).ok())?;
    let mut channel = Channel::open().map_err(|error| {
        let next = "unset GBENCH_FD and GBENCH_EVENTS to see the events on stdout";
        Fault::at("the channel to the gate", error, next)
    })?;
    let ended = match member.run(&request, &mut channel, look) {
        Ok(()) => channel.end(),
        Err(MicroError::Skip(reason)) => channel.skip(&reason, None, None),
        Err(MicroError::Cuda(error)) if error.is_of_machine() => {
            channel.skip(&error.to_string(), Some(Lack::Gpu), cuda::next(&error))
        }
        Err(MicroError::Impossible(what)) => channel.impossible(what),
        Err(error) => Err(error),
    };
    ended.map_err(|error| {
        let kind = match &error {
            MicroError::OutOfMemory { .. } => Some("out_of_memory"),
            MicroError::Cuda(error) => Some(error.kind()),
            _ => None,
        };
        let next = error.next();
        // If the gate is gone, there is no reader; stderr has the message, too.
        let _ = channel.error(&error.to_string(), kind, next.clone());
        let usual = "see docs/micro.md for what this benchmark needs, docs/gpu.md for those on a GPU";
        Fault::at(name, error, next.unwrap_or_else(|| usual.into())).exits(Exit::Failed)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::channel::tests::Writes;
    use gbench_model::line::Event;
    use gbench_model::{ParamValue, Params, Stage};

    /// The events of `member` for two iterations at `params`; `None` if this machine cannot run it.
    fn events(member: &Workload, params: Params, cold: bool) -> Option<Vec<Event>> {
        let mut request = workload::request(member, |_| None).unwrap();
        (request.iterations, request.warmup, request.cold) = (2, 1, cold);
        request.params = params;
        let (writes, mut channel) = Writes::channel();
        let skipped = match member.run(&request, &mut channel, |_| None) {
            Ok(()) => {
                channel.end().unwrap();
                return Some(writes.events());
            }
            Err(MicroError::Skip(reason)) => reason,
            Err(MicroError::Cuda(error)) if error.is_of_machine() => error.to_string(),
            Err(error) => panic!("{}: {error}", member.name),
        };
        eprintln!("skipped: {}: {skipped}", member.name);
        None
    }

    /// Checks the order of stages, the samples that the catalogue promises, a right answer and an end.
    fn check(member: &Workload, params: Params, cold: bool) {
        let Some(events) = events(member, params, cold) else { return };
        let stages = events.iter().filter_map(|event| match event {
            Event::Stage { stage } => Some(*stage),
            _ => None,
        });
        let expected = [Stage::Setup, Stage::Warmup, Stage::Measure, Stage::Verify, Stage::Teardown];
        assert_eq!(stages.collect::<Vec<_>>(), expected, "{}", member.name);
        for spec in member.metrics {
            let mut taken: Vec<Option<f64>> = Vec::new();
            for event in &events {
                let Event::Samples { metric, values, unit, better, .. } = event else { continue };
                if metric == spec.name {
                    assert_eq!((unit.as_deref(), *better), (Some(spec.unit), Some(spec.better)));
                    taken.extend(values);
                }
            }
            assert_eq!(taken.len(), 2, "{} {}", member.name, spec.name);
            assert!(taken.iter().all(|value| value.is_some_and(|value| value > 0.0)), "{taken:?}");
        }
        let right = events.iter().any(|event| matches!(event, Event::Validation { passed: true, .. }));
        assert!(right, "{}: {events:?}", member.name);
        assert_eq!(events.last(), Some(&Event::End {}), "{}", member.name);
    }

    #[test]
    fn every_member_measures_what_the_catalogue_promises_and_finds_its_answer_right() {
        for member in catalog() {
            let points = member.params.iter().flat_map(|param| workload::points(&[*param]));
            let without = member.params.is_empty().then(Params::new);
            points.chain(without).for_each(|params| check(&member, params, false));
        }
    }

    #[test]
    fn cold_processes_measure_without_warming_up() {
        for member in [cpu::FLOPS, network::BANDWIDTH] {
            check(&member, workload::request(&member, |_| None).unwrap().params, true);
        }
    }

    #[test]
    fn an_unknown_parameter_is_an_error_that_lists_the_known() {
        let mut request = workload::request(&cpu::FLOPS, |_| None).unwrap();
        request.params = Params::from([("dtype".into(), ParamValue::Text("f16".into()))]);
        let error = cpu::FLOPS.run(&request, &mut Channel::to(Vec::new()), |_| None).unwrap_err();
        assert_eq!(error.to_string(), "parameter dtype=f16 is not one of f32, f64");
    }

    #[test]
    fn every_member_can_be_listed_and_judged() {
        let members = catalog();
        let names: HashSet<_> = members.iter().map(|member| member.name).collect();
        assert_eq!(names.len(), members.len());
        for member in members {
            let name = member.name;
            assert!(format!("micro/{name}").parse::<gbench_model::BenchmarkId>().is_ok(), "{name}");
            assert!(!member.description.is_empty() && !member.components.is_empty(), "{name}");
            assert!(!member.metrics.is_empty() && member.defaults.iterations > 0, "{name}");
            let named: HashSet<_> = member.metrics.iter().map(|metric| metric.name).collect();
            assert_eq!(named.len(), member.metrics.len(), "{name}");
            assert!(member.params.iter().all(|(_, values)| !values.is_empty()), "{name}");
        }
    }

    #[test]
    fn an_unknown_member_is_a_usage_error_that_lists_the_known() {
        let fault = child("cpu_flop", |_| None).unwrap_err();
        assert_eq!(fault.exit, Exit::Usage);
        assert!(fault.next.contains("cpu_flops"), "{fault}");
    }
}
