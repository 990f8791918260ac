//! Which GPUs a process can have run on: what the suite asks for, and what a program says of itself, against what the
//! machine has.

use crate::model::{Gpu, Manifest, Probe};

/// Variables that hide GPUs from a CUDA program.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

/// The machine's GPUs, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Devices {
    here: Here,
    /// As the gate's own environment has it, if it does.
    visible: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
enum Here {
    /// The driver could not be asked, so that nothing can be refused.
    #[default]
    Unknown,
    /// No NVIDIA driver, and why that is known.
    None(String),
    Some(Vec<Known>),
}

#[derive(Clone, Debug, PartialEq)]
struct Known {
    model: Option<String>,
    uuid: Option<String>,
}

/// The objection to a device that a program claims.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Claim {
    /// The machine has no such device.
    Refuted(String),
    /// The machine's GPUs have other names.
    Doubtful(String),
}

impl Devices {
    pub(super) fn of(manifest: &Manifest) -> Self {
        let known = |gpu: &Gpu| Known { model: gpu.model.known().cloned(), uuid: gpu.uuid.known().cloned() };
        let here = match &manifest.gpu {
            Probe::Known(facts) => Here::Some(facts.devices.iter().map(known).collect()),
            Probe::Absent(reason) => Here::None(reason.clone()),
            Probe::Failed(_) => Here::Unknown,
        };
        Self { here, visible: manifest.environment.get(VISIBLE).cloned() }
    }

    /// The device of a suite's `device` that is not here. A machine without an NVIDIA driver may have other GPUs, which are
    /// numbered alike, so that nothing is said there.
    pub(super) fn missing(&self, device: &str) -> Option<String> {
        let Here::Some(gpus) = &self.here else { return None };
        let wrong = entries(device).find(|entry| !is_here(entry, gpus))?;
        let count = match gpus.len() {
            0 => "this machine has no GPU".to_owned(),
            1 => "this machine has one GPU, 0".to_owned(),
            count => format!("this machine has {count} GPUs, 0 to {}", count - 1),
        };
        Some(format!("`device` asks for `{wrong}`, and {count}"))
    }

    /// The warning that the gate cannot tell whether a suite's `device` is here: other makers' GPUs are numbered alike, and only the NVIDIA
    /// driver is asked.
    pub(super) fn unchecked(&self, device: &str) -> Option<String> {
        let reason = match &self.here {
            Here::Some(_) => return None,
            Here::None(reason) => reason,
            Here::Unknown => "the NVIDIA driver did not answer",
        };
        let named =
            entries(device).find(|entry| entry.parse::<usize>().is_ok() || entry.starts_with("GPU-"))?;
        Some(format!("`device` asks for `{named}`, and whether that is here was not checked: {reason}"))
    }

    /// The objection to `claim`, the device that a program says it ran on. `device`: what the suite lets it see; `env`:
    /// the value that the suite gives the variable itself.
    pub(super) fn held(&self, claim: &str, device: &str, env: Option<&str>) -> Option<Claim> {
        let (kind, rest) = claim.split_once(':').unwrap_or((claim, ""));
        if !kind.trim().eq_ignore_ascii_case("cuda") {
            return None;
        }
        let gpus = match &self.here {
            Here::Unknown => return None,
            Here::None(reason) => {
                return Some(Claim::Refuted(format!("it says that it ran on `{claim}`, and {reason}")));
            }
            Here::Some(gpus) => gpus,
        };
        let listed = Some(device).filter(|device| !device.is_empty()).or(env).or(self.visible.as_deref());
        let seen: Vec<&Known> = match listed {
            None => gpus.iter().collect(),
            // As CUDA reads it: up to the first entry that is none.
            Some(list) => list.split(',').map_while(|entry| of_entry(entry.trim(), gpus)).collect(),
        };
        let count = match seen.len() {
            0 => "no GPU".to_owned(),
            1 => "one GPU".to_owned(),
            count => format!("{count} GPUs"),
        };
        let refuted =
            || Some(Claim::Refuted(format!("it says that it ran on `{claim}`, and it sees {count}")));
        match rest.trim().parse::<usize>() {
            _ if seen.is_empty() => refuted(),
            Ok(index) if index >= seen.len() => refuted(),
            Ok(_) => None,
            Err(_) => doubtful(claim, rest.trim(), &seen),
        }
    }
}

fn doubtful(claim: &str, name: &str, seen: &[&Known]) -> Option<Claim> {
    let plain = |text: &str| text.to_lowercase().replace("nvidia", "").split_whitespace().collect::<String>();
    let (name, models) = (plain(name), seen.iter().map(|gpu| gpu.model.as_deref()));
    let fits = |model: Option<&str>| {
        model.is_none_or(|model| plain(model).contains(&name) || name.contains(&plain(model)))
    };
    if name.is_empty() || models.clone().any(fits) {
        return None;
    }
    let mut models: Vec<&str> = models.flatten().collect();
    models.dedup();
    Some(Claim::Doubtful(format!("it says that it ran on `{claim}`, and it sees {}", models.join(", "))))
}

fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}

/// Whether an entry may mean a GPU that is here. What is no number and no id, such as a slice of a GPU or a word that hides
/// them all, is the driver's to judge.
fn is_here(entry: &str, gpus: &[Known]) -> bool {
    match (entry.parse::<usize>(), entry.strip_prefix("GPU-")) {
        (Ok(index), _) => index < gpus.len(),
        (_, Some(_)) => of_id(entry, gpus).is_some() || gpus.iter().any(|gpu| gpu.uuid.is_none()),
        _ => true,
    }
}

fn of_entry<'k>(entry: &str, gpus: &'k [Known]) -> Option<&'k Known> {
    match entry.parse::<usize>() {
        Ok(index) => gpus.get(index),
        // Of a slice: whichever GPU it is of.
        Err(_) if entry.starts_with("MIG-") => gpus.first(),
        Err(_) => of_id(entry, gpus),
    }
}

/// An id may be cut short.
fn of_id<'k>(entry: &str, gpus: &'k [Known]) -> Option<&'k Known> {
    let fits = |gpu: &&Known| gpu.uuid.as_deref().is_some_and(|uuid| uuid.starts_with(entry));
    gpus.iter().find(fits).filter(|_| entry.len() > "GPU-".len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Devices {
        let gpu = |uuid: &str| Known { model: Some("NVIDIA H100 80GB HBM3".into()), uuid: Some(uuid.into()) };
        Devices { here: Here::Some(vec![gpu("GPU-aa11"), gpu("GPU-bb22")]), visible: None }
    }

    #[test]
    fn n9_a_device_that_is_not_here_is_named() {
        for device in ["", "0", "1", "0,1", " 1 , 0", "GPU-aa", "GPU-bb22", "MIG-7f", "-1", "none"] {
            assert_eq!(two().missing(device), None, "{device}");
        }
        let said = two().missing("7").unwrap();
        assert_eq!(said, "`device` asks for `7`, and this machine has 2 GPUs, 0 to 1");
        assert!(two().missing("0,2").unwrap().contains("`2`"));
        assert!(two().missing("GPU-cc").is_some());
        assert_eq!(Devices::default().missing("7"), None);
        assert!(Devices::default().unchecked("7").unwrap().contains("`7`"));
        assert_eq!((two().unchecked("7"), Devices::default().unchecked("cpu")), (None, None));
    }

    #[test]
    fn n9_a_program_cannot_have_run_on_what_it_does_not_see() {
        let refuted = |devices: &Devices, claim: &str, device: &str, env: Option<&str>| {
            matches!(devices.held(claim, device, env), Some(Claim::Refuted(_)))
        };
        let none = Devices { here: Here::None("no NVIDIA driver".into()), visible: None };
        for claim in ["cuda", "cuda:0", "CUDA:NVIDIA H100"] {
            assert!(refuted(&none, claim, "", None), "{claim}");
            assert!(refuted(&two(), claim, "-1", None) && refuted(&two(), claim, "", Some("")), "{claim}");
            assert_eq!(Devices::default().held(claim, "", None), None);
        }
        assert_eq!(none.held("host", "", None), None);
        assert_eq!(none.held("rocm:0", "", None), None);
        assert_eq!(two().held("cuda:1", "", None), None);
        // A process that sees one of them counts it from 0.
        assert_eq!(two().held("cuda:0", "1", None), None);
        assert!(refuted(&two(), "cuda:1", "1", None) && refuted(&two(), "cuda:2", "", None));
        let hidden = Devices { visible: Some("1,9,0".into()), ..two() };
        assert!(refuted(&hidden, "cuda:1", "", None) && !refuted(&hidden, "cuda:0", "", None));
        assert_eq!(two().held("cuda:NVIDIA H100 80GB HBM3 MIG 1g.10gb", "", None), None);
        assert_eq!(two().held("cuda:h100", "", None), None);
        assert!(matches!(two().held("cuda:NVIDIA L4", "", None), Some(Claim::Doubtful(_))));
    }
}
