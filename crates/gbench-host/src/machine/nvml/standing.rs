//! The health of GPUs at rest, as `doctor` reports it.

use nvml_wrapper::enum_wrappers::device::GpuVirtualizationMode;
use serde::Serialize;

use super::health::CardHealth;
use super::library::{NvmlLibrary, in_time, named};
use gbench_model::HealthSign;

/// The greatest number of NVLinks of a card.
const MAX_LINKS: u32 = 18;

/// A GPU in the report of `doctor`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub(in crate::machine) struct StandingHealth {
    pub gpu: u32,
    /// Since the driver's start; flags that wait for a reset are kept longer.
    pub signs: Vec<HealthSign>,
    /// Lanes of the PCIe link, and the most that card and slot have.
    pub pcie_width: Option<[u32; 2]>,
    /// Active NVLinks, and all that answer.
    pub nvlinks: Option<[u32; 2]>,
    /// A virtual GPU in a guest, whose driver reports little of the card.
    #[serde(default)]
    pub is_virtual: bool,
}

/// The health of every GPU that answers.
pub(in crate::machine) fn standing_health() -> Vec<StandingHealth> {
    in_time(standing).unwrap_or_default()
}

fn standing() -> Vec<StandingHealth> {
    let Ok(library) = NvmlLibrary::open(named().as_deref()) else { return Vec::new() };
    let Some(nvml) = &library.nvml else { return Vec::new() };
    let card = |index| {
        let device = nvml.device_by_index(index).ok()?;
        let width = device.current_pcie_link_width().ok().zip(device.max_pcie_link_width().ok());
        let links = (0..MAX_LINKS).map_while(|link| device.link_wrapper_for(link).is_active().ok());
        let links = links.fold([0, 0], |[active, all], is_active| [active + u32::from(is_active), all + 1]);
        Some(StandingHealth {
            gpu: index,
            signs: CardHealth::of(&device).map_or_else(Vec::new, |health| health.standing()),
            pcie_width: width.map(<[u32; 2]>::from),
            nvlinks: Some(links).filter(|[_, all]| *all > 0),
            is_virtual: device.virtualization_mode().is_ok_and(|mode| mode == GpuVirtualizationMode::Vgpu),
        })
    };
    (0..nvml.device_count().unwrap_or(0)).filter_map(card).collect()
}
