//! The environment of a run: commit, system, interpreters and their packages, GPU. An unknown fact shows the reason.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::layout::grouped::{counted, together};
use gbench_model::{CaseRecord, GitFacts, GpuFacts, Manifest, Probe, RunRecord};

pub(crate) fn environment(record: &RunRecord) -> Vec<(&'static str, String)> {
    if record.ingested.is_some() {
        // The manifest describes the machine that read the file.
        return Vec::new();
    }
    let Manifest { host, gpu, git, tools, .. } = &record.manifest;
    let mut parts = vec![
        ("commit", known(git, commit)),
        (
            "system",
            format!("{}, kernel {}", known(&host.os, Clone::clone), known(&host.kernel, Clone::clone)),
        ),
        ("GPU", known(gpu, cards)),
    ];
    if let Some(clocks) = &record.clocks {
        parts.push(("clocks", clocks.summary()));
    }
    let measured = together(record.cases.iter().filter_map(python).map(|text| (text, ())));
    match measured.as_slice() {
        [] => {
            let on_path =
                tools.get("python3").map_or("not looked for".into(), |python| known(python, Clone::clone));
            parts.push(("Python", format!("{on_path} (on the PATH; no benchmark names its own)")));
        }
        several => parts.extend(several.iter().map(|(text, _)| ("Python", text.clone()))),
    }
    parts
}

/// `5932a0175b4a… on main, with uncommitted changes`.
fn commit(git: &GitFacts) -> String {
    let commit = git.commit.as_deref().unwrap_or("none yet");
    let branch = git.branch.as_ref().map_or(" without a branch".to_owned(), |branch| format!(" on {branch}"));
    let dirty = if git.dirty.any() { ", with uncommitted changes" } else { ", without uncommitted changes" };
    format!("{commit}{branch}{dirty}")
}

/// `2 x NVIDIA H100; driver 570.86, which supports CUDA 12.8`.
fn cards(gpu: &GpuFacts) -> String {
    let [driver, cuda] = [&gpu.driver, &gpu.cuda].map(|probe| known(probe, Clone::clone));
    let models = counted(gpu.devices.iter().map(|gpu| known(&gpu.model, Clone::clone)));
    let is_free = gpu.devices.iter().any(|gpu| gpu.clocks_locked == Probe::Known(false));
    let clocks = if is_free { "; clocks not locked" } else { "" };
    format!("{}; driver {driver}, which supports CUDA {cuda}{clocks}", models.join(", "))
}

fn known<T>(probe: &Probe<T>, shown: impl Fn(&T) -> String) -> String {
    match probe {
        Probe::Known(value) => shown(value),
        Probe::Absent(reason) | Probe::Failed(reason) => format!("not known ({reason})"),
    }
}

fn python(case: &CaseRecord) -> Option<String> {
    let text = |name: &str| case.metadata.get(name).and_then(Value::as_str);
    let version = text("python")?;
    let implementation = text("implementation").filter(|name| *name != "cpython");
    let mut parts = vec![match implementation {
        Some(name) => format!("{version} ({name})"),
        None => version.to_owned(),
    }];
    let packages: BTreeMap<&String, &Value> =
        case.metadata.get("packages").and_then(Value::as_object).into_iter().flatten().collect();
    parts.extend(
        packages.into_iter().filter_map(|(name, version)| Some(format!("{name} {}", version.as_str()?))),
    );
    parts.extend(text("interpreter").map(str::to_owned));
    Some(parts.join(", "))
}
