//! The manifest as a flat list of comparable facts: those that must agree, or be mentioned, when two records are compared.
//! Facts that change within minutes (load, temperature, used memory) are excluded.

use std::collections::BTreeMap;
use std::fmt::Display;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::manifest::{Gpu, Manifest, Probe};
use crate::hash::sha256_hex;

/// Shown if something legitimately does not exist: a GPU, a governor, a tool.
const NONE: &str = "none";

/// Prefixes of environment variables that change a program's behaviour, and not just where it runs.
const TELLING_PREFIXES: [&str; 8] =
    ["CUDA_", "NCCL_", "NVIDIA_", "OMP_", "MKL_", "TORCH", "PYTORCH_", "TRITON_"];
const TELLING_NAMES: [&str; 3] = ["LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH"];

/// The consequence of a difference in one field of the match key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::EnumString, strum::EnumIter)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Strictness {
    /// A difference refuses the comparison.
    Strict,
    /// A difference is shown.
    Annotate,
    Ignore,
}

impl Strictness {
    /// Shown at most.
    pub fn min_annotate(self) -> Self {
        if self == Self::Strict { Self::Annotate } else { self }
    }
}

/// The match key: every fact that may have to agree before two records are compared, by its name in `[gate.match]`, with its
/// default strictness: strict if a difference changes the hardware's capabilities, shown if it merely may.
pub const MATCH_FIELDS: [(&str, Strictness); 18] = [
    (HOST, Strictness::Strict),
    ("gpu_models", Strictness::Strict),
    ("gpu_count", Strictness::Strict),
    ("driver", Strictness::Strict),
    ("cuda", Strictness::Strict),
    ("power_limit", Strictness::Strict),
    ("mig", Strictness::Strict),
    ("clocks_locked", Strictness::Annotate),
    ("cpu_model", Strictness::Strict),
    ("cores", Strictness::Annotate),
    ("governor", Strictness::Annotate),
    ("memory_total", Strictness::Annotate),
    ("os", Strictness::Annotate),
    ("kernel", Strictness::Annotate),
    ("architecture", Strictness::Strict),
    ("virtualization", Strictness::Annotate),
    ("container", Strictness::Annotate),
    ("build_type", Strictness::Strict),
];

/// The fact that differs between two machines of one model: their GPUs' UUIDs, or the host name if there is no GPU.
pub const HOST: &str = "host";

/// True if this fact of another program's file names the card that it ran on.
pub fn names_card(name: &str) -> bool {
    const NAMES: [&str; 10] = [
        "device",
        "devices",
        "device_name",
        "gpu",
        "gpu_info",
        "gpu_model",
        "gpu_name",
        "gpu_type",
        "gpus",
        "hardware",
    ];
    NAMES.contains(&name.to_ascii_lowercase().as_str())
}

type OfGpu = fn(&Gpu) -> Fact;

/// A comparable fact of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Shown to readers, and used to compare two known facts.
    pub text: String,
    /// False if the machine did not report it. Two unknown facts do not differ, whatever the reasons.
    pub is_known: bool,
}

impl Fact {
    fn known(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_known: true }
    }

    fn unknown(reason: &str) -> Self {
        Self { text: format!("unknown ({reason})"), is_known: false }
    }
}

impl Manifest {
    /// The value of each field that is stable between two runs on one machine. A field that does not apply reads `none`, and
    /// an unknown one `unknown (reason)`. Several GPUs that agree have one value, otherwise their values in order, separated
    /// by commas.
    ///
    /// | keys | of |
    /// |---|---|
    /// | `architecture` `container` `cores` `cpu_model` `governor` `host` `kernel` `last_level_cache` `memory_total` `os` `virtualization` | host |
    /// | `cuda` `driver` `gpu_count` `gpu_models` | all GPUs |
    /// | `clocks_locked` `compute_capability` `ecc` `gpu_memory` `mig` `pcie_width` `persistence` `power_limit` `sm_clock_max` | each GPU |
    /// | `tools.<name>` | every tool looked for |
    /// | `environment.<name>` | variables that change what a program does |
    pub fn facts(&self) -> BTreeMap<String, Fact> {
        let mut facts = BTreeMap::new();
        let mut put = |key: &str, fact: Fact| {
            facts.insert(key.to_owned(), fact);
        };

        let host = &self.host;
        put("architecture", Fact::known(&host.architecture));
        put("container", text(&host.container));
        put("cores", text(&host.cores));
        put("cpu_model", text(&host.cpu_model));
        put("governor", text(&host.governor));
        put("kernel", text(&host.kernel));
        put("last_level_cache", bytes(&host.last_level_cache));
        put("memory_total", bytes(&host.memory_total));
        put("os", text(&host.os));
        put("virtualization", text(&host.virtualization));
        put(HOST, self.host());

        let (driver, cuda, devices) = match &self.gpu {
            Probe::Known(gpu) => (text(&gpu.driver), text(&gpu.cuda), Ok(gpu.devices.as_slice())),
            Probe::Absent(_) => (Fact::known(NONE), Fact::known(NONE), Ok([].as_slice())),
            Probe::Failed(reason) => (Fact::unknown(reason), Fact::unknown(reason), Err(reason)),
        };
        put("driver", driver);
        put("cuda", cuda);
        put(
            "gpu_count",
            devices.map_or_else(|reason| Fact::unknown(reason), |gpus| Fact::known(gpus.len().to_string())),
        );
        let per_gpu: [(&str, OfGpu); 10] = [
            ("gpu_models", |gpu| text(&gpu.model)),
            ("clocks_locked", |gpu| text(&gpu.clocks_locked)),
            ("compute_capability", |gpu| text(&gpu.compute_capability)),
            ("ecc", |gpu| text(&gpu.ecc)),
            ("gpu_memory", |gpu| bytes(&gpu.memory_total)),
            ("mig", |gpu| text(&gpu.mig)),
            ("pcie_width", |gpu| text(&gpu.pcie_width)),
            ("persistence", |gpu| text(&gpu.persistence)),
            ("power_limit", |gpu| with_unit(&gpu.power_limit, "W")),
            ("sm_clock_max", |gpu| with_unit(&gpu.sm_clock_max, "MHz")),
        ];
        for (key, of) in per_gpu {
            put(key, devices.map_or_else(|reason| Fact::unknown(reason), |gpus| agreed(gpus.iter().map(of))));
        }

        for (tool, line) in &self.tools {
            put(&format!("tools.{tool}"), text(line));
        }
        for (name, value) in &self.environment {
            let telling = TELLING_NAMES.contains(&name.as_str())
                || TELLING_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
            if telling {
                put(&format!("environment.{name}"), Fact::known(value));
            }
        }
        facts
    }

    /// The identity of this machine among others of its model. The UUIDs of its cards are the same in every container; the host name
    /// is not. Two machines without either cannot be distinguished.
    fn host(&self) -> Fact {
        let devices = self.gpu.known().map_or(&[][..], |gpu| &gpu.devices);
        let mut cards: Vec<&str> =
            devices.iter().filter_map(|gpu| gpu.uuid.known().map(String::as_str)).collect();
        cards.sort_unstable();
        match (cards.as_slice(), &self.host.container) {
            ([_, ..], _) => Fact::known(format!("GPUs {}", &sha256_hex(cards.join(" ").as_bytes())[..12])),
            ([], Probe::Absent(_)) => text(&self.host.hostname),
            ([], Probe::Known(_)) => Fact::unknown("a container's host name is its own"),
            ([], Probe::Failed(reason)) => Fact::unknown(reason),
        }
    }
}

fn text<T: Display>(probe: &Probe<T>) -> Fact {
    match probe {
        Probe::Known(value) => Fact::known(value.to_string()),
        Probe::Absent(_) => Fact::known(NONE),
        Probe::Failed(reason) => Fact::unknown(reason),
    }
}

fn with_unit<T: Display>(probe: &Probe<T>, unit: &str) -> Fact {
    match probe {
        Probe::Known(value) => Fact::known(format!("{value} {unit}")),
        other => text(other),
    }
}

/// Rounded to a tenth of a GiB or MiB, because two boots of one machine differ by some pages.
fn bytes(probe: &Probe<u64>) -> Fact {
    const GIB: f64 = (1u64 << 30) as f64;
    const MIB: f64 = (1u64 << 20) as f64;
    match probe {
        Probe::Known(bytes) if *bytes as f64 >= GIB => Fact::known(format!("{:.1} GiB", *bytes as f64 / GIB)),
        Probe::Known(bytes) => Fact::known(format!("{:.1} MiB", *bytes as f64 / MIB)),
        other => text(other),
    }
}

/// One fact of several GPUs; unknown if it is unknown for all of them.
fn agreed(facts: impl Iterator<Item = Fact>) -> Fact {
    let all: Vec<Fact> = facts.collect();
    let Some(first) = all.first() else { return Fact::known(NONE) };
    if all.iter().all(|fact| fact == first) {
        return first.clone();
    }
    let texts: Vec<&str> = all.iter().map(|fact| fact.text.as_str()).collect();
    Fact { text: texts.join(", "), is_known: all.iter().any(|fact| fact.is_known) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::manifest::GpuFacts;
    use crate::test_support::{devices, manifest as in_order};

    fn manifest(gpu: Probe<GpuFacts>) -> Manifest {
        Manifest { gpu, ..in_order() }
    }

    #[test]
    fn a_machine_without_a_gpu_says_none_in_every_gpu_field() {
        let facts = manifest(Probe::Absent("no library".into())).facts();
        assert_eq!(facts["gpu_count"].text, "0");
        for key in ["gpu_models", "driver", "cuda", "power_limit", "mig", "clocks_locked"] {
            assert_eq!(facts[key].text, "none", "{key}");
        }
    }

    #[test]
    fn a_failed_probe_is_unknown_and_says_why() {
        let mut manifest = manifest(Probe::Failed("driver not loaded".into()));
        manifest.host.virtualization = Probe::Failed("no /proc".into());
        let facts = manifest.facts();
        assert_eq!(facts["gpu_models"].text, "unknown (driver not loaded)");
        assert_eq!(facts["gpu_count"].text, "unknown (driver not loaded)");
        assert_eq!(facts["virtualization"].text, "unknown (no /proc)");
    }

    #[test]
    fn gpus_that_agree_read_as_one_and_others_in_order() {
        let mut manifest = in_order();
        for gpu in devices(&mut manifest) {
            gpu.mig = Probe::Absent("not supported".into());
        }
        devices(&mut manifest)[1].power_limit = Probe::Known(500.0);
        let facts = manifest.facts();
        assert_eq!(facts["gpu_count"].text, "2");
        assert_eq!(facts["gpu_models"].text, "H100");
        assert_eq!(facts["power_limit"].text, "700 W, 500 W");
        assert_eq!(facts["clocks_locked"].text, "true");
        assert_eq!(facts["mig"].text, "none");
        assert_eq!(facts["gpu_memory"].text, "80.0 GiB");
    }

    #[test]
    fn host_tools_and_telling_variables_are_facts_and_a_job_number_is_not() {
        let mut manifest = in_order();
        manifest.host.memory_total = Probe::Known((15 << 30) + (600 << 20));
        manifest.host.governor = Probe::Absent("no frequency scaling".into());
        manifest.tools.insert("nvcc".into(), Probe::Absent("not found".into()));
        manifest.environment = [("CUDA_VISIBLE_DEVICES", "0"), ("GITHUB_RUN_ID", "77")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let facts = manifest.facts();
        assert_eq!(facts["cpu_model"].text, "EPYC");
        assert_eq!(facts["memory_total"].text, "15.6 GiB");
        assert_eq!(facts["last_level_cache"].text, "32.0 MiB");
        assert_eq!(facts["governor"].text, "none");
        assert_eq!(facts["tools.nvcc"].text, "none");
        assert_eq!(facts["environment.CUDA_VISIBLE_DEVICES"].text, "0");
        assert!(!facts.keys().any(|key| key.contains("GITHUB") || key.contains("load")));
    }

    #[test]
    fn every_field_stands_once_and_every_word_reads_back() {
        for (index, (name, strictness)) in MATCH_FIELDS.iter().enumerate() {
            assert!(MATCH_FIELDS[index + 1..].iter().all(|(other, _)| other != name), "{name} stands twice");
            assert_eq!(strictness.into_str().parse(), Ok(*strictness));
        }
        assert!("loose".parse::<Strictness>().is_err());
    }
}
