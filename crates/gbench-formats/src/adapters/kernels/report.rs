//! The cases of a trace: each kernel by name, grid and block, and the whole program.

use std::collections::{BTreeMap, HashMap};

use super::names::short;
use super::trace::{GpuTrace, TracedLaunch, WorkKind};
use crate::adapters::interface::case::{shown, word};
use crate::adapters::interface::prelude::*;

/// The case that stands for all kernels of a process.
pub(super) const WHOLE: &str = "whole program";

/// Errors: no kernel.
pub(super) fn readings(trace: &GpuTrace) -> Result<Vec<Reading>, ReadError> {
    let mut times: BTreeMap<&TracedLaunch, Vec<f64>> = BTreeMap::new();
    let mut order = Vec::new();
    for (launch, time) in trace.launches() {
        if !times.contains_key(launch) {
            order.push(launch);
        }
        times.entry(launch).or_default().push(time as f64);
    }
    if order.is_empty() {
        return Err(ReadError::new(Place::HarnessOutput, "the program launched no kernel on a GPU"));
    }
    let mut named: HashMap<(String, [u64; 3], [u64; 3]), usize> = HashMap::new();
    let key = |launch: &TracedLaunch| (short(&launch.name), launch.grid, launch.block);
    for launch in &order {
        *named.entry(key(launch)).or_default() += 1;
    }
    let kernels = order.into_iter().map(|launch| {
        // Overloads, and equal names in several namespaces.
        let is_alone = named[&key(launch)] == 1;
        let case = if is_alone { short(&launch.name) } else { launch.name.trim().to_owned() };
        kernel(launch, case, &times[launch])
    });
    let mut readings = vec![whole(trace)];
    readings.extend(kernels);
    for reading in &mut readings {
        reading.note("tracer", Some(trace.tracer.as_str()));
    }
    Ok(readings)
}

fn kernel(launch: &TracedLaunch, case: String, times: &[f64]) -> Reading {
    let axes = [("grid", axes(launch.grid)), ("block", axes(launch.block))];
    let mut params: Params =
        axes.iter().map(|(name, axes)| ((*name).to_owned(), int_or_text(axes))).collect();
    if times.len() == 1 {
        // Not to be compared with launches behind a first one.
        params.insert("launch".into(), ParamValue::Text("first".into()));
    }
    let native = format!("{} [grid={}, block={}]", launch.name.trim(), axes[0].1, axes[1].1);
    let mut reading = Reading::new(CaseName { native, case, params });
    // The first launch of a process loads the code, and finds cold caches and low clocks.
    let samples = if times.len() > 1 { &times[1..] } else { times };
    reading.metric("time", "ns", None).values = samples.to_vec();
    shown(&mut reading, "launches", "count", times.len() as f64);
    reading
}

/// `4096`, `16x8`: axes of 1 at the end are left out.
fn axes(axes: [u64; 3]) -> String {
    let used = 3 - axes.iter().rev().take_while(|axis| **axis == 1).count();
    axes[..used.max(1)].iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}

fn whole(trace: &GpuTrace) -> Reading {
    let mut reading = Reading::new(CaseName::plain(WHOLE));
    let start = trace.work.first().map_or(0, |work| work.start);
    let (mut end, mut busy) = (start, 0);
    for work in &trace.work {
        let work_end = work.start + work.duration;
        busy += (work_end - work.start.max(end)).max(0);
        end = end.max(work_end);
    }
    reading.metric("gpu_span", "ns", None).values.push((end - start) as f64);
    // Less noisy than the span, in which the host's pauses are.
    reading.metric("gpu_busy", "ns", None).values.push(busy as f64);
    shown(&mut reading, "launches", "count", trace.launches().count() as f64);
    let mut transfers: BTreeMap<String, (i64, Option<f64>)> = BTreeMap::new();
    for work in &trace.work {
        if let WorkKind::Transfer { name, megabytes } = &work.kind {
            let (time, sum) = transfers.entry(direction(name)).or_insert((0, megabytes.map(|_| 0.0)));
            *time = time.saturating_add(work.duration);
            *sum = sum.zip(*megabytes).map(|(sum, megabytes)| sum + megabytes);
        }
    }
    for (name, (time, megabytes)) in transfers {
        shown(&mut reading, &format!("{name}_time"), "ns", time as f64);
        shown(&mut reading, &format!("{name}_bytes"), "MB", megabytes);
    }
    reading
}

/// One name for the ways in which tracers name a direction.
fn direction(name: &str) -> String {
    let words = word(name);
    let is_any = |ends: [&str; 2]| ends.iter().any(|end| words.ends_with(end));
    let ways = [
        ("copy_to_device", ["htod", "host_to_device"]),
        ("copy_to_host", ["dtoh", "device_to_host"]),
        ("copy_on_device", ["dtod", "device_to_device"]),
        ("fill", ["memset", "memset"]),
    ];
    ways.into_iter().find(|(_, ends)| is_any(*ends)).map_or(words.clone(), |(way, _)| way.to_owned())
}
