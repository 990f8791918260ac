//! Tensor maps: descriptions of a buffer by which a kernel lets the hardware copy boxes of it (`CUtensorMap`).

use serde::{Deserialize, Serialize};

/// The map of a buffer, as `cuTensorMapEncodeTiled` takes it. Each list begins with the innermost dimension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TensorMap {
    /// Elements of each dimension.
    pub dims: Vec<u64>,
    /// Bytes between neighbours of each dimension but the innermost.
    pub strides: Vec<u64>,
    /// Elements of a box.
    #[serde(rename = "box")]
    pub box_dims: Vec<u32>,
    pub swizzle: TensorSwizzle,
    pub interleave: TensorInterleave,
    pub l2_promotion: TensorPromotion,
}

/// How a box is laid out in shared memory.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, strum::EnumIter, strum::IntoStaticStr,
)]
pub enum TensorSwizzle {
    #[default]
    #[serde(rename = "none")]
    #[strum(serialize = "none")]
    None,
    #[serde(rename = "32b")]
    #[strum(serialize = "32b")]
    B32,
    #[serde(rename = "64b")]
    #[strum(serialize = "64b")]
    B64,
    #[serde(rename = "128b")]
    #[strum(serialize = "128b")]
    B128,
}

impl TensorSwizzle {
    /// The most bytes of a box's innermost dimension.
    pub const fn span(self) -> Option<u64> {
        match self {
            TensorSwizzle::None => None,
            TensorSwizzle::B32 => Some(32),
            TensorSwizzle::B64 => Some(64),
            TensorSwizzle::B128 => Some(128),
        }
    }
}

/// Bytes of the channels that the buffer keeps together.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, strum::EnumIter, strum::IntoStaticStr,
)]
pub enum TensorInterleave {
    #[default]
    #[serde(rename = "none")]
    #[strum(serialize = "none")]
    None,
    #[serde(rename = "16b")]
    #[strum(serialize = "16b")]
    B16,
    #[serde(rename = "32b")]
    #[strum(serialize = "32b")]
    B32,
}

/// Bytes that a miss brings into the L2 cache at least.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, strum::EnumIter, strum::IntoStaticStr,
)]
pub enum TensorPromotion {
    #[default]
    #[serde(rename = "none")]
    #[strum(serialize = "none")]
    None,
    #[serde(rename = "64b")]
    #[strum(serialize = "64b")]
    B64,
    #[serde(rename = "128b")]
    #[strum(serialize = "128b")]
    B128,
    #[serde(rename = "256b")]
    #[strum(serialize = "256b")]
    B256,
}
