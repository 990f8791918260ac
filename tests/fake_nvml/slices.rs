//! The slices of a card with `mig=1`: two, each with a handle and a UUID that no card has. NVML answers little for the handle of a
//! slice, and here nothing but its card.

use crate::card::{self, asked, started};
use crate::{Code, Device, INVALID_ARGUMENT, settings};

const SLICES: usize = 2;
/// Handles of slices lie above those of cards.
const STEP: usize = 0x100;

pub fn are_on(device: Device) -> bool {
    card::profile(device).has_mig && settings::quietly("mig", device, 0, settings::now()) != 0
}

/// As NVIDIA's drivers write it since R470.
fn uuid(device: Device, slice: usize) -> String {
    format!("MIG-00000000-0000-0000-{slice:04x}-{device:012x}")
}

/// The handle of a slice of a card that is sliced.
pub fn by_uuid(wanted: &str) -> Option<Device> {
    let count = card::count().ok()? as Device;
    let all = (1..=count).filter(|device| are_on(*device));
    let mut all = all.flat_map(|device| (1..=SLICES).map(move |slice| (device, slice)));
    all.find(|(device, slice)| uuid(*device, *slice) == wanted).map(|(device, slice)| slice * STEP + device)
}

/// The card of a slice; an error for the handle of a card.
pub fn card_of(slice: Device) -> Result<u64, Code> {
    started()?;
    let card = if slice >= STEP { slice % STEP } else { return Err(INVALID_ARGUMENT) };
    asked(card).map(|()| card as u64)
}
