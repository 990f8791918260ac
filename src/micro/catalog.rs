//! The list of workloads, and the door through which a child enters one of them.

use std::env;
use std::process::ExitCode;

use super::channel::{self, Channel};
use super::{Member, MicroError, cpu, disk, memory, network};
use crate::model::{Exit, Fault};

/// Every built-in workload, in the order in which a run of all makes sense: from the core outwards.
pub fn catalog() -> Vec<Member> {
    vec![
        cpu::FLOPS,
        memory::BANDWIDTH,
        memory::LATENCY,
        disk::IO,
        network::BANDWIDTH,
        // The GPU's member stands here once `cuda.rs` does.
    ]
}

/// Runs one member as a child of the gate, or by hand: `gbench-ci __micro cpu_flops` prints its events.
pub fn main(name: &str) -> ExitCode {
    match child(name) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("gbench-ci __micro: {fault}");
            fault.exit.into()
        }
    }
}

fn child(name: &str) -> Result<(), Fault> {
    let members = catalog();
    let Some(member) = members.iter().find(|member| member.name == name) else {
        let known: Vec<_> = members.iter().map(|member| member.name).collect();
        let next = format!("use one of: {}", known.join(", "));
        return Err(Fault::at_flag(name, "there is no such built-in benchmark", next));
    };
    let request = channel::request(member, |name| env::var(name).ok())?;
    let mut channel = Channel::open().map_err(|error| {
        let next = "unset GBENCH_FD and GBENCH_EVENTS to see the events on stdout";
        Fault::at("the channel to the gate", error, next)
    })?;
    let ended = match (member.run)(&request, &mut channel) {
        Ok(()) => channel.end(),
        Err(MicroError::Skip(reason)) => channel.skip(&reason),
        Err(error) => Err(error),
    };
    ended.map_err(|error| {
        let kind = matches!(error, MicroError::OutOfMemory { .. }).then_some("out_of_memory");
        // If the gate is gone, there is nobody left to tell, and stderr has it too.
        let _ = channel.error(&error.to_string(), kind);
        Fault::at(name, error, "see docs/micro.md for what this benchmark needs").exits(Exit::Failed)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_member_can_be_listed_and_judged() {
        let members = catalog();
        let names: HashSet<_> = members.iter().map(|member| member.name).collect();
        assert_eq!(names.len(), members.len());
        for member in members {
            let name = member.name;
            assert!(format!("micro/{name}").parse::<crate::model::BenchmarkId>().is_ok(), "{name}");
            assert!(!member.description.is_empty() && !member.components.is_empty(), "{name}");
            assert!(!member.metrics.is_empty() && member.defaults.iterations > 0, "{name}");
            let named: HashSet<_> = member.metrics.iter().map(|metric| metric.name).collect();
            assert_eq!(named.len(), member.metrics.len(), "{name}");
            assert!(member.params.iter().all(|(_, values)| !values.is_empty()), "{name}");
        }
    }

    #[test]
    fn an_unknown_member_is_a_usage_error_that_lists_the_known() {
        let fault = child("cpu_flop").unwrap_err();
        assert_eq!(fault.exit, Exit::Usage);
        assert!(fault.next.contains("cpu_flops"), "{fault}");
    }
}
