//! The environment of a child: the user's without secrets, and the gate's request.

use std::ffi::OsString;
use std::path::Path;

use crate::model::line::{self, PROTOCOL, Request};
use crate::model::{CACHE_HOME, CaseId, KERNEL_CACHES, Params, Settings, Thermal, scrubbed};
use crate::suite::Benchmark;

/// The whole environment of one process, later entries winning: the gate's own without secrets, the benchmark's,
/// the request.
///
/// `cold`: an empty folder for caches, given exactly for cold processes.
pub(super) fn of_process(
    benchmark: &Benchmark,
    id: &CaseId,
    process: u32,
    cold: Option<&Path>,
) -> Vec<(OsString, OsString)> {
    let mut env = of_benchmark(benchmark);
    if let Some(folder) = cold {
        let caches = KERNEL_CACHES.into_iter().chain([CACHE_HOME]);
        env.extend(caches.map(|name| (name.into(), folder.join(name).into_os_string())));
    }
    let mut set = |name: &str, value: String| env.push((name.into(), value.into()));
    let device = &benchmark.settings.device.value;
    if !device.is_empty() {
        for name in ["CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"] {
            set(name, device.clone());
        }
        // Numbers then mean what nvidia-smi and the manifest mean by them.
        set("CUDA_DEVICE_ORDER", "PCI_BUS_ID".into());
    }
    for (name, value) in parameters(&id.params) {
        set(&name, value);
    }
    let request = request(&benchmark.settings, id, process);
    set(line::env::ITERATIONS, request.iterations.to_string());
    set(line::env::WARMUP, request.warmup.to_string());
    set(line::env::DURATION, request.duration.to_string());
    set(line::env::SEED, request.seed.to_string());
    // Serializing plain numbers and text into memory cannot fail; an empty request would be refused by the child.
    set(line::env::REQUEST, serde_json::to_string(&request).unwrap_or_default());
    env
}

/// The same environment with a request to take turns, over the FIFO at `path`. What has no request stays as it is.
pub(super) fn with_turns(env: &[(OsString, OsString)], path: &Path) -> Vec<(OsString, OsString)> {
    let mut env = env.to_vec();
    change_request(&mut env, |request| request.turns = true);
    env.push((line::env::TURNS.into(), path.into()));
    env
}

/// The same environment with a request to measure several points, and without the variables that name one.
pub(super) fn with_cases(env: &[(OsString, OsString)], cases: &[Params]) -> Vec<(OsString, OsString)> {
    let prefix = line::env::PARAM_PREFIX.as_bytes();
    let of_one = |name: &OsString| name.as_encoded_bytes().starts_with(prefix);
    let mut env: Vec<_> = env.iter().filter(|(name, _)| !of_one(name)).cloned().collect();
    change_request(&mut env, |request| {
        request.params = Params::new();
        request.cases = cases.to_vec();
    });
    env
}

fn change_request(env: &mut [(OsString, OsString)], change: impl Fn(&mut Request)) {
    for (_, value) in env.iter_mut().filter(|(name, _)| name == line::env::REQUEST) {
        let request = value.to_str().and_then(|text| serde_json::from_str::<Request>(text).ok());
        let Some(mut request) = request else { continue };
        change(&mut request);
        // As for the request itself: plain data into memory cannot fail.
        *value = serde_json::to_string(&request).unwrap_or_default().into();
    }
}

/// The environment of a build step: as of a process, without a request.
pub(super) fn of_benchmark(benchmark: &Benchmark) -> Vec<(OsString, OsString)> {
    let kept = |name: &str| benchmark.keep_env.iter().any(|keep| keep == name);
    let inherited = std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy();
        // Ours is written anew below: a gate inside a gate must not pass on the outer one's channel.
        !name.starts_with("GBENCH_") && (kept(&name) || !scrubbed(&name))
    });
    let own = benchmark.env.iter().map(|(name, value)| (name.into(), value.into()));
    inherited.chain(own).collect()
}

fn parameters(params: &Params) -> impl Iterator<Item = (String, String)> {
    params.iter().map(|(name, value)| {
        let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let name: String = name.chars().map(word).collect();
        (format!("{}{name}", line::env::PARAM_PREFIX), value.to_string())
    })
}

fn request(settings: &Settings, id: &CaseId, process: u32) -> Request {
    let cold = id.thermal == Thermal::Cold;
    let origins = [
        ("iterations", &settings.iterations.origin),
        ("warmup", &settings.warmup.origin),
        ("duration", &settings.duration.origin),
        ("burnin", &settings.burnin.origin),
        ("seed", &settings.seed.origin),
    ];
    let pinned = origins.into_iter().filter(|(_, origin)| origin.is_pinned());
    Request {
        protocol: PROTOCOL,
        benchmark: id.benchmark.to_string(),
        process,
        params: id.params.clone(),
        iterations: settings.iterations.value,
        warmup: if cold { 0 } else { settings.warmup.value },
        duration: settings.duration.value,
        burnin: if cold { 0.0 } else { settings.burnin.value },
        cold,
        seed: settings.seed.value,
        pinned: pinned.map(|(name, _)| name.to_owned()).collect(),
        turns: false,
        cases: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Origin, ParamValue};
    use crate::suite::Action;

    #[test]
    fn parameters_arrive_under_names_that_a_shell_can_read() {
        let params = Params::from([("block-size".to_owned(), ParamValue::Int(64))]);
        assert_eq!(
            parameters(&params).collect::<Vec<_>>(),
            [("GBENCH_PARAM_BLOCK_SIZE".to_owned(), "64".to_owned())]
        );
    }

    #[test]
    fn only_who_takes_turns_is_told_of_them() {
        let action = Action::Command(vec!["true".into()]);
        let benchmark = Benchmark::new("s/a".parse().unwrap(), action, "/".into());
        let id = crate::suite::plan::case_id(&benchmark, &Params::new());
        let alone = of_process(&benchmark, &id, 0, None);
        let text = |env: &[(OsString, OsString)], name: &str| {
            env.iter().find(|(key, _)| key == name).map(|(_, value)| value.to_str().unwrap().to_owned())
        };
        assert!(!text(&alone, "GBENCH_REQUEST").unwrap().contains("turns"));
        assert_eq!(text(&alone, "GBENCH_TURNS"), None);
        let in_turns = with_turns(&alone, Path::new("/fifo"));
        let request: Request = serde_json::from_str(&text(&in_turns, "GBENCH_REQUEST").unwrap()).unwrap();
        assert!(request.turns);
        assert_eq!(request.iterations, benchmark.settings.iterations.value);
        assert_eq!(text(&in_turns, "GBENCH_TURNS").as_deref(), Some("/fifo"));
    }

    #[test]
    fn a_shared_process_is_told_its_cases_and_no_single_point() {
        let action = Action::Command(vec!["true".into()]);
        let benchmark = Benchmark::new("s/a".parse().unwrap(), action, "/".into());
        let point = |n| Params::from([("n".to_owned(), ParamValue::Int(n))]);
        let env = of_process(&benchmark, &crate::suite::plan::case_id(&benchmark, &point(1)), 0, None);
        assert!(env.iter().any(|(name, _)| name == "GBENCH_PARAM_N"));
        let shared = with_cases(&env, &[point(2), point(1)]);
        assert!(!shared.iter().any(|(name, _)| name == "GBENCH_PARAM_N"));
        let text = shared.iter().find(|(name, _)| name == "GBENCH_REQUEST").unwrap().1.to_str().unwrap();
        let request: Request = serde_json::from_str(text).unwrap();
        assert_eq!((request.params, request.cases), (Params::new(), vec![point(2), point(1)]));
    }

    #[test]
    fn a_cold_process_gets_no_warmup_and_empty_caches() {
        let action = Action::Command(vec!["true".into()]);
        let mut benchmark = Benchmark::new("s/a".parse().unwrap(), action, "/".into());
        benchmark.settings.thermal.value = Thermal::Cold;
        benchmark.settings.iterations.set(3, Origin::Cli("--iterations".into()));
        let id = crate::suite::plan::case_id(&benchmark, &Params::new());
        let env = of_process(&benchmark, &id, 0, Some(Path::new("/empty")));
        let get = |name: &str| env.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value);
        assert_eq!(get("GBENCH_WARMUP").unwrap(), "0");
        assert_eq!(get("TRITON_CACHE_DIR").unwrap(), "/empty/TRITON_CACHE_DIR");
        let request: Request =
            serde_json::from_str(get("GBENCH_REQUEST").unwrap().to_str().unwrap()).unwrap();
        assert_eq!(request.pinned, ["iterations"]);
    }
}
