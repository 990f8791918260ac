//! The health of GPUs: counters and flags in one call, Xid errors by events. None of it needs root.
//!
//! Every figure is optional: a card, driver or slice without it costs only that figure.

use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::event::EventSet;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id::*;
use nvml_wrapper::{Device, Nvml};

use gbench_model::{GpuSign, HealthSign};

/// Counters, and flags that count as 0 and 1. Their numbers are the same in nvml.h of CUDA 11.8, 12.4 and 13.
const COUNTED: [(u32, HealthSign); 10] = [
    (NVML_FI_DEV_ECC_DBE_VOL_TOTAL, HealthSign::UncorrectedErrors),
    (NVML_FI_DEV_ECC_SBE_VOL_TOTAL, HealthSign::CorrectedErrors),
    (NVML_FI_DEV_REMAPPED_PENDING, HealthSign::RemapPending),
    (NVML_FI_DEV_REMAPPED_FAILURE, HealthSign::RemapFailed),
    (NVML_FI_DEV_REMAPPED_COR, HealthSign::RowsRemapped),
    (NVML_FI_DEV_REMAPPED_UNC, HealthSign::RowsRemapped),
    (NVML_FI_DEV_RETIRED_PENDING, HealthSign::RetirementPending),
    (NVML_FI_DEV_PCIE_REPLAY_COUNTER, HealthSign::PcieReplays),
    (NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL, HealthSign::NvlinkReplays),
    (NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL, HealthSign::NvlinkRecoveries),
];

/// More events than this at once are not read: they tell nothing new.
const MAX_EVENTS: usize = 64;

/// A GPU's health at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::machine) struct CardHealth {
    pub gpu: u32,
    /// In the order of [`COUNTED`]; absent where the card or its driver does not count.
    counts: [Option<u64>; COUNTED.len()],
    /// Xid errors since the previous look.
    pub xids: Vec<u64>,
}

impl CardHealth {
    pub(super) fn of(device: &Device<'_>) -> Option<Self> {
        let mut health = Self { gpu: device.index().ok()?, ..Self::default() };
        let fields = COUNTED.map(|(field, _)| FieldId(field));
        for (count, found) in health.counts.iter_mut().zip(device.field_values_for(&fields).ok()?) {
            *count = found.ok().and_then(|found| found.value.ok()).and_then(|value| match value {
                SampleValue::U32(count) => Some(count.into()),
                SampleValue::U64(count) => Some(count),
                SampleValue::I64(count) => count.try_into().ok(),
                SampleValue::F64(_) => None,
            });
        }
        Some(health)
    }

    /// The signs whose count grew since another look at the same GPU, and the Xid errors of both looks. A count that one of
    /// the looks lacks is left out.
    pub(in crate::machine) fn since(&self, before: &Self) -> Vec<GpuSign> {
        let counts = COUNTED.iter().zip(before.counts.iter().zip(&self.counts));
        let grown =
            counts.filter(|(_, (before, now))| before.zip(**now).is_some_and(|(before, now)| now > before));
        let grown = grown.map(|((_, sign), _)| *sign);
        let xids = before.xids.iter().chain(&self.xids).map(|number| HealthSign::Xid(*number));
        let mut signs: Vec<GpuSign> = grown.chain(xids).map(|sign| GpuSign { gpu: self.gpu, sign }).collect();
        signs.sort_unstable();
        signs.dedup();
        signs
    }

    pub(super) fn standing(&self) -> Vec<HealthSign> {
        let nothing = Self { counts: [Some(0); COUNTED.len()], ..Self::default() };
        self.since(&nothing).into_iter().map(|met| met.sign).collect()
    }
}

/// Listens for Xid errors of the GPUs that it has met.
pub(super) struct XidEvents<'nvml> {
    /// `None`: this driver or card has no such events.
    set: Option<EventSet<'nvml>>,
    registered: Vec<u32>,
}

impl<'nvml> XidEvents<'nvml> {
    pub(super) fn new(nvml: &'nvml Nvml) -> Self {
        Self { set: nvml.create_event_set().ok(), registered: Vec::new() }
    }

    /// The health of these GPUs, with their Xid errors since the previous look. A GPU's first look has none.
    pub(super) fn look(&mut self, devices: &[Device<'nvml>]) -> Vec<CardHealth> {
        let mut cards: Vec<CardHealth> = Vec::new();
        for device in devices {
            let Some(health) = CardHealth::of(device) else { continue };
            // Two slices have one card.
            if cards.iter().any(|card| card.gpu == health.gpu) {
                continue;
            }
            if !self.registered.contains(&health.gpu) {
                self.registered.push(health.gpu);
                self.register(device);
            }
            cards.push(health);
        }
        // An event of a GPU that is not looked at now is dropped: its processes are not those that are looked at.
        for _ in 0..MAX_EVENTS {
            let Some(Ok(event)) = self.set.as_ref().map(|set| set.wait(0)) else { break };
            let number = match event.event_data {
                Some(XidError::Value(number)) => number,
                Some(XidError::Unknown) | None => continue,
            };
            let card = event.device.index().ok().and_then(|gpu| cards.iter_mut().find(|it| it.gpu == gpu));
            card.into_iter().for_each(|card| card.xids.push(number));
        }
        cards
    }

    fn register(&mut self, device: &Device<'nvml>) {
        const WANTED: EventTypes = EventTypes::CRITICAL_XID_ERROR;
        // A refusal would take the set along with the GPUs that it has.
        if device.supported_event_types().is_ok_and(|known| known.contains(WANTED))
            && let Some(set) = self.set.take()
        {
            self.set = device.register_events(WANTED, set).ok();
        }
    }
}
