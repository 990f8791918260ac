//! A built-in workload as data, and the request for its child.

use super::channel::Channel;
use super::spec::{Defaults, MetricSpec, MicroError};
use super::throttle_state::OpenLook;
use gbench_model::line::{self, PROTOCOL, Request};
use gbench_model::{Component, Fault, ParamValue, Params, Stage};

/// One built-in workload for `list` and the planner.
#[derive(Clone, Copy)]
pub struct Workload {
    /// The benchmark's id is `micro/<name>`.
    pub name: &'static str,
    pub description: &'static str,
    pub components: &'static [Component],
    /// In the order in which the child sends them.
    pub metrics: &'static [MetricSpec],
    /// Name and values; every combination is a case. The first value is the default by hand.
    pub params: &'static [(&'static str, &'static [&'static str])],
    pub defaults: Defaults,
    /// Sets up, measures and verifies.
    pub(super) run: WorkloadRun,
}

#[derive(Clone, Copy)]
pub(super) enum WorkloadRun {
    /// On the host, by [`super::pace::measure`].
    Host(fn(&Request, &mut Channel) -> Result<(), MicroError>),
    /// On a GPU, by [`super::cuda`].
    Gpu(&'static dyn GpuWork),
}

/// Work on a GPU, whose state is read between samples.
pub(super) trait GpuWork: Sync {
    fn run(&self, request: &Request, channel: &mut Channel, look: OpenLook) -> Result<(), MicroError>;
}

impl<F> GpuWork for F
where
    F: Fn(&Request, &mut Channel, OpenLook) -> Result<(), MicroError> + Sync,
{
    fn run(&self, request: &Request, channel: &mut Channel, look: OpenLook) -> Result<(), MicroError> {
        self(request, channel, look)
    }
}

impl Workload {
    /// Does the whole work in this process and sends every event but the last. Errors: see [`MicroError`]. `look` opens the
    /// state of the GPU, for workloads that use one.
    pub fn run(&self, request: &Request, channel: &mut Channel, look: OpenLook) -> Result<(), MicroError> {
        channel.stage(Stage::Setup)?;
        match self.run {
            WorkloadRun::Host(run) => run(request, channel)?,
            WorkloadRun::Gpu(work) => work.run(request, channel, look)?,
        }
        channel.stage(Stage::Teardown)
    }
}

/// The cross product of the parameters' values, all of them words.
pub fn points(params: &[(&str, &[&str])]) -> Vec<Params> {
    params.iter().fold(vec![Params::new()], |points, (name, values)| {
        let with = |point: &Params, value: &str| {
            let mut point = point.clone();
            point.insert((*name).into(), ParamValue::Text(value.into()));
            point
        };
        points.iter().flat_map(|point| values.iter().map(|value| with(point, value))).collect()
    })
}

/// The gate's request; if run by hand, the workload's defaults overridden by the plain variables (`GBENCH_ITERATIONS=3`).
pub(crate) fn request(
    member: &Workload,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Request, Fault> {
    if let Some(text) = variable(line::env::REQUEST) {
        let request: Request = serde_json::from_str(&text).map_err(|error| {
            Fault::at(line::env::REQUEST, error, "let gbench-ci itself start the built-in benchmarks")
        })?;
        return match request.protocol {
            PROTOCOL => Ok(request),
            other => Err(Fault::at(
                line::env::REQUEST,
                format!("the gate speaks protocol {other}, this program {PROTOCOL}"),
                "start the built-in benchmarks with the gbench-ci that asks for them",
            )),
        };
    }
    let params = member.params.iter().map(|(name, values)| {
        let given = variable(&format!("{}{}", line::env::PARAM_PREFIX, name.to_uppercase()));
        let value = given.unwrap_or_else(|| values.first().copied().unwrap_or_default().to_owned());
        (name.to_string(), ParamValue::Text(value))
    });
    Ok(Request {
        protocol: PROTOCOL,
        benchmark: format!("micro/{}", member.name),
        params: Params::from_iter(params),
        iterations: number(&variable, line::env::ITERATIONS, member.defaults.iterations)?,
        warmup: number(&variable, line::env::WARMUP, member.defaults.warmup)?,
        duration: number(&variable, line::env::DURATION, 0.0)?,
        seed: number(&variable, line::env::SEED, 1337)?,
        ..Request::default()
    })
}

fn number<T: std::str::FromStr>(
    variable: &impl Fn(&str) -> Option<String>,
    name: &str,
    default: T,
) -> Result<T, Fault> {
    let Some(text) = variable(name) else { return Ok(default) };
    text.parse().map_err(|_| Fault::at(name, format!("`{text}` is not a number"), format!("unset {name}")))
}
