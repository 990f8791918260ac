//! The slices of a card with `mig=1`: two, each with a handle and a UUID that no card has. NVML answers little for the handle of a
//! slice, and here nothing but its card.

use std::ffi::c_uint;

use crate::card::{self, asked, started};
use crate::{Code, Device, INVALID_ARGUMENT, answer, settings};

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

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(slice: Device, target: *mut Device) -> Code {
    let card = (slice >= STEP).then_some(slice % STEP).ok_or(INVALID_ARGUMENT);
    let found = started().and(card).and_then(|card| asked(card).map(|()| card as u64));
    unsafe { answer(target, found, |value| value as Device) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceIsMigDeviceHandle(handle: Device, target: *mut c_uint) -> Code {
    unsafe { answer(target, started().map(|()| u64::from(handle >= STEP)), |value| value as c_uint) }
}
