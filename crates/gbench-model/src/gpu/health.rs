//! Signs of a GPU's health: what its driver counted or reported while a process ran.

use std::fmt;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that a GPU's driver counted or reported. The comments name the sources in NVML.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HealthSign {
    /// ECC could not correct errors of the memory (`NVML_FI_DEV_ECC_DBE_VOL_TOTAL`).
    UncorrectedErrors,
    /// ECC corrected errors of the memory (`NVML_FI_DEV_ECC_SBE_VOL_TOTAL`).
    CorrectedErrors,
    /// Rows of the memory will be replaced at the next reset (`NVML_FI_DEV_REMAPPED_PENDING`).
    RemapPending,
    /// A row of the memory could not be replaced (`NVML_FI_DEV_REMAPPED_FAILURE`).
    RemapFailed,
    /// Rows of the memory were replaced (`NVML_FI_DEV_REMAPPED_COR`, `NVML_FI_DEV_REMAPPED_UNC`).
    RowsRemapped,
    /// Pages of the memory will be retired at the next reset (`NVML_FI_DEV_RETIRED_PENDING`); cards before Ampere.
    RetirementPending,
    /// The PCIe link sent packets again (`NVML_FI_DEV_PCIE_REPLAY_COUNTER`).
    PcieReplays,
    /// NVLink sent packets again (`NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL`).
    NvlinkReplays,
    /// NVLink had to recover (`NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL`).
    NvlinkRecoveries,
    /// The driver reported an error by its number in NVIDIA's list of Xid errors (`nvmlEventTypeXidCriticalError`).
    Xid(u64),
}

/// Xid errors that a program causes on a healthy GPU, as NVIDIA's device plugin for Kubernetes lists them: an exception of the
/// program, its page fault, its stop and the clean-up behind it, its video exception, its time-out.
const OF_PROGRAMS: [u64; 6] = [13, 31, 43, 45, 68, 109];

impl HealthSign {
    /// True if the GPU itself is at fault, so that figures from meanwhile are not those of a healthy card.
    pub fn is_fault(self) -> bool {
        match self {
            Self::UncorrectedErrors | Self::RemapPending | Self::RemapFailed | Self::RetirementPending => {
                true
            }
            Self::Xid(number) => !OF_PROGRAMS.contains(&number),
            _ => false,
        }
    }
}

impl fmt::Display for HealthSign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UncorrectedErrors => "uncorrected memory errors",
            Self::CorrectedErrors => "corrected memory errors",
            Self::RemapPending => "memory rows that wait for a remap",
            Self::RemapFailed => "a memory row that could not be remapped",
            Self::RowsRemapped => "remapped memory rows",
            Self::RetirementPending => "memory pages that wait for retirement",
            Self::PcieReplays => "PCIe replays",
            Self::NvlinkReplays => "NVLink replays",
            Self::NvlinkRecoveries => "NVLink recoveries",
            Self::Xid(number) => return write!(f, "Xid {number}"),
        })
    }
}

/// A sign of one GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GpuSign {
    /// The GPU's index.
    pub gpu: u32,
    pub sign: HealthSign,
}

impl fmt::Display for GpuSign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on GPU {}", self.sign, self.gpu)
    }
}
