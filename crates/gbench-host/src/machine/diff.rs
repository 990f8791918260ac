use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use gbench_model::Manifest;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ManifestChange {
    /// For example `host.kernel`, `gpu.devices[0].power_limit`, `tools.nvcc`.
    pub field: String,
    pub a: String,
    pub b: String,
    /// Changes within minutes or from job to job on the same machine: load, temperature, job number.
    pub volatile: bool,
}

/// Shown for a field that one side lacks.
const NOT_THERE: &str = "-";

const VOLATILE: [&str; 16] = [
    "host.load",
    "host.memory_available",
    "memory_used",
    "sm_clock",
    "memory_clock",
    "power",
    "temperature",
    "throttle_reasons",
    "processes",
    // An idle link slows down to save power.
    "pcie_generation",
    "environment.CI_JOB_ID",
    "environment.CI_PIPELINE_ID",
    "environment.BUILDKITE_BUILD_NUMBER",
    "environment.GITHUB_RUN_ATTEMPT",
    "environment.GITHUB_RUN_ID",
    "environment.SLURM_JOB_ID",
];

/// All fields that differ: lasting ones first, each group sorted by path.
pub fn diff(a: &Manifest, b: &Manifest) -> Vec<ManifestChange> {
    let (a, b) = (flat(a), flat(b));
    let fields: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let text = |side: &BTreeMap<String, String>, field: &str| {
        side.get(field).cloned().unwrap_or_else(|| NOT_THERE.to_owned())
    };
    let mut changes: Vec<ManifestChange> = fields
        .into_iter()
        .map(|field| ManifestChange {
            field: field.clone(),
            a: text(&a, field),
            b: text(&b, field),
            volatile: is_volatile(field),
        })
        .filter(|change| change.a != change.b)
        .collect();
    changes.sort_by_key(|change| change.volatile);
    changes
}

/// Matches whole paths of the list; for GPUs, the last name of the path.
fn is_volatile(field: &str) -> bool {
    let of_gpu =
        field.strip_prefix("gpu.devices[").and_then(|rest| rest.split_once("].")).map(|(_, name)| name);
    VOLATILE.contains(&field) || of_gpu.is_some_and(|name| VOLATILE.contains(&name))
}

/// Path and text of every field, sorted by path.
pub fn flat(manifest: &Manifest) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    // A manifest has only text keys and finite or null numbers, so it always converts to JSON.
    if let Ok(value) = serde_json::to_value(manifest) {
        flatten("", &value, &mut fields);
    }
    fields
}

fn flatten(path: &str, value: &Value, fields: &mut BTreeMap<String, String>) {
    let mut put = |text: String| {
        fields.insert(path.to_owned(), text);
    };
    match value {
        Value::Object(map) => match probe(map) {
            Some(("known", inner)) => flatten(path, inner, fields),
            Some(("absent", reason)) => put(format!("none ({})", plain(reason))),
            Some((_, reason)) => put(format!("unknown ({})", plain(reason))),
            None => {
                for (name, inner) in map {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    flatten(&path, inner, fields);
                }
            }
        },
        Value::Array(items) if path.ends_with("devices") => {
            for (index, item) in items.iter().enumerate() {
                flatten(&format!("{path}[{index}]"), item, fields);
            }
        }
        other => put(plain(other)),
    }
}

fn probe(map: &serde_json::Map<String, Value>) -> Option<(&str, &Value)> {
    let (name, value) = map.iter().next().filter(|_| map.len() == 1)?;
    ["known", "absent", "failed"].contains(&name.as_str()).then_some((name.as_str(), value))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(map) => match probe(map) {
            Some((_, inner)) => plain(inner),
            None => map.values().map(plain).collect::<Vec<_>>().join(" "),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::test_support::spoilt;
    use super::*;
    use case_files::Given;
    use gbench_model::test_support::{devices, manifest};

    pub(in crate::machine) fn answer(given: &Given) -> String {
        let line = |ManifestChange { field, a, b, volatile }: ManifestChange| {
            format!("{field}: {a} became {b}{}\n", if volatile { ", as it may" } else { "" })
        };
        let changes: String = diff(&manifest(), &spoilt(&given.text())).into_iter().map(line).collect();
        if changes.is_empty() { "nothing".into() } else { changes }
    }

    #[test]
    fn a_gpu_less_is_every_field_of_it() {
        let (a, mut b) = (manifest(), manifest());
        devices(&mut b).truncate(1);
        let changes = diff(&a, &b);
        assert!(changes.iter().all(|change| change.field.starts_with("gpu.devices[1].") && change.b == "-"));
        assert!(changes.iter().any(|change| change.field == "gpu.devices[1].model" && change.a == "H100"));
    }

    #[test]
    fn lists_read_as_text() {
        let fields = flat(&manifest());
        assert_eq!(fields["gpu.devices[0].throttle_reasons"], "gpu_idle");
        assert_eq!(fields["gpu.devices[0].processes"], "none");
    }
}
