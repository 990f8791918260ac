//! The GPUs that a process can have run on: the suite's request and the program's claim, compared with the machine's GPUs.

use gbench_model::{Gpu, GpuFacts, GpuPlace, Manifest, Probe};
use gbench_suite::is_each;

const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

pub(crate) struct Devices<'m> {
    here: &'m Probe<GpuFacts>,
    visible: Option<&'m str>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Claim {
    Refuted(String),
    Doubtful(String),
}

impl<'m> Devices<'m> {
    pub(crate) fn of(manifest: &'m Manifest) -> Self {
        Self { here: &manifest.gpu, visible: manifest.environment.get(VISIBLE).map(String::as_str) }
    }

    /// The suite's `device` if it does not exist here. A machine without an NVIDIA driver may have other GPUs with the same
    /// numbers, so nothing is reported there.
    pub(crate) fn missing(&self, device: &str) -> Option<String> {
        if is_each(device) {
            let why = match self.here {
                Probe::Known(facts) if !facts.devices.is_empty() => return None,
                Probe::Known(_) => "this machine has no GPU",
                Probe::Absent(reason) | Probe::Failed(reason) => reason,
            };
            return Some(format!("`device` asks for each GPU, and {why}"));
        }
        let gpus = &self.here.known()?.devices;
        let wrong = entries(device).find(|entry| !is_here(entry, gpus))?;
        let count = match gpus.len() {
            0 => "this machine has no GPU".to_owned(),
            1 => "this machine has one GPU, 0".to_owned(),
            count => format!("this machine has {count} GPUs, 0 to {}", count - 1),
        };
        Some(format!("`device` asks for `{wrong}`, and {count}"))
    }

    /// The warning that the gate cannot check a suite's `device`: GPUs of other makers have the same numbers, and only the
    /// NVIDIA driver is asked.
    pub(crate) fn unchecked(&self, device: &str) -> Option<String> {
        let reason = match self.here {
            Probe::Known(_) => return None,
            Probe::Absent(reason) => reason,
            Probe::Failed(_) => "the NVIDIA driver did not answer",
        };
        let named =
            entries(device).find(|entry| entry.parse::<usize>().is_ok() || entry.starts_with("GPU-"))?;
        Some(format!("`device` asks for `{named}`, and whether that is here was not checked: {reason}"))
    }

    /// The GPUs that a process ran on: the one of its `claim`, or those that `device` or `env` bind it to, both as for
    /// [`Self::objection`].
    pub(crate) fn used(&self, claim: Option<&str>, device: &str, env: Option<&str>) -> Vec<GpuPlace> {
        let Some(facts) = self.here.known() else { return Vec::new() };
        let bound = Some(device).filter(|device| !device.is_empty()).or(env);
        let seen: Vec<(u32, &Gpu)> = match bound.or(self.visible) {
            None => (0..).zip(&facts.devices).collect(),
            Some(list) => list.split(',').map_while(|entry| gpu_of(entry.trim(), &facts.devices)).collect(),
        };
        let (kind, rest) = claim.map_or(("", ""), |claim| claim.split_once(':').unwrap_or((claim, "")));
        let on_cuda = kind.trim().eq_ignore_ascii_case("cuda");
        let used = match rest.trim() {
            // The name of a model does not identify one of several.
            name if on_cuda && seen.len() > 1 => match if name.is_empty() { Ok(0) } else { name.parse() } {
                Ok(index) => seen.get::<usize>(index).copied().into_iter().collect(),
                Err(_) => Vec::new(),
            },
            _ if on_cuda || bound.is_some() => seen,
            _ => Vec::new(),
        };
        let place = |(index, gpu): (u32, &Gpu)| Some(GpuPlace { index, uuid: gpu.uuid.known()?.clone() });
        used.into_iter().filter_map(place).collect()
    }

    /// The objection to `claim`, the device that a program claims to have run on. `device`: the devices that the suite makes
    /// visible; `env`: the suite's value of the variable itself.
    pub(crate) fn objection(&self, claim: &str, device: &str, env: Option<&str>) -> Option<Claim> {
        let (kind, rest) = claim.split_once(':').unwrap_or((claim, ""));
        if !kind.trim().eq_ignore_ascii_case("cuda") {
            return None;
        }
        let gpus = match self.here {
            Probe::Failed(_) => return None,
            // A driver that is not found refutes nothing: a GPU of another maker may be called `cuda`, too.
            Probe::Absent(reason) => {
                let what = "it claims to have run on";
                return Some(Claim::Doubtful(format!("{what} `{claim}`, which was not checked: {reason}")));
            }
            Probe::Known(facts) => &facts.devices,
        };
        let listed = Some(device).filter(|device| !device.is_empty()).or(env).or(self.visible);
        let seen: Vec<&Gpu> = match listed {
            None => gpus.iter().collect(),
            // Like CUDA: up to the first invalid entry.
            Some(list) => list.split(',').map_while(|entry| of_entry(entry.trim(), gpus)).collect(),
        };
        let count = match seen.len() {
            0 => "no GPU".to_owned(),
            1 => "one GPU".to_owned(),
            count => format!("{count} GPUs"),
        };
        let refuted =
            || Some(Claim::Refuted(format!("it claims to have run on `{claim}`, but it sees {count}")));
        match rest.trim().parse::<usize>() {
            _ if seen.is_empty() => refuted(),
            Ok(index) if index >= seen.len() => refuted(),
            Ok(_) => None,
            Err(_) => doubtful(claim, rest.trim(), &seen),
        }
    }
}

fn doubtful(claim: &str, name: &str, seen: &[&Gpu]) -> Option<Claim> {
    let plain = |text: &str| text.to_lowercase().replace("nvidia", "").split_whitespace().collect::<String>();
    let (name, models) = (plain(name), seen.iter().map(|gpu| gpu.model.known().map(String::as_str)));
    let fits = |model: Option<&str>| {
        model.is_none_or(|model| plain(model).contains(&name) || name.contains(&plain(model)))
    };
    if name.is_empty() || models.clone().any(fits) {
        return None;
    }
    let mut models: Vec<&str> = models.flatten().collect();
    models.dedup();
    Some(Claim::Doubtful(format!("it claims to have run on `{claim}`, but it sees {}", models.join(", "))))
}

fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}

/// True if an entry may mean a GPU that exists here. Entries that are neither a number nor an id, such as a slice or a word
/// that hides all GPUs, are left to the driver.
fn is_here(entry: &str, gpus: &[Gpu]) -> bool {
    match (entry.parse::<usize>(), entry.strip_prefix("GPU-")) {
        (Ok(index), _) => index < gpus.len(),
        (_, Some(_)) => of_id(entry, gpus).is_some() || gpus.iter().any(|gpu| gpu.uuid.known().is_none()),
        _ => true,
    }
}

/// The GPU that an entry names, with its index; `None`: it names none, or a slice.
pub(super) fn gpu_of<'k>(entry: &str, gpus: &'k [Gpu]) -> Option<(u32, &'k Gpu)> {
    let gpu = of_entry(entry, gpus).filter(|_| !entry.starts_with("MIG-"))?;
    let index = gpus.iter().position(|other| std::ptr::eq(other, gpu))?;
    Some((index as u32, gpu))
}

fn of_entry<'k>(entry: &str, gpus: &'k [Gpu]) -> Option<&'k Gpu> {
    match entry.parse::<usize>() {
        Ok(index) => gpus.get(index),
        // The GPU of the slice is irrelevant.
        Err(_) if entry.starts_with("MIG-") => gpus.first(),
        Err(_) => of_id(entry, gpus),
    }
}

fn of_id<'k>(entry: &str, gpus: &'k [Gpu]) -> Option<&'k Gpu> {
    let fits = |gpu: &&Gpu| gpu.uuid.known().is_some_and(|uuid| uuid.starts_with(entry));
    gpus.iter().find(fits).filter(|_| entry.len() > "GPU-".len())
}
