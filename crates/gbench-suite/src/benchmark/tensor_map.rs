//! `tensor_map` of a kernel's argument: the map of its buffer, checked by the limits that `cuTensorMapEncodeTiled` documents, since
//! the driver names none.

use serde::Serialize;

use super::kernel_number::KernelNumber;
use gbench_model::{
    DType, KernelBuffer, Params, TensorInterleave, TensorMap, TensorPromotion, TensorSwizzle,
};

/// Dimensions of a tensor at most.
pub(crate) const MAX_RANK: usize = 5;
const MAX_DIM: u64 = 1 << 31;
const MAX_STRIDE: u64 = (1 << 40) - 1;
const MAX_BOX: u64 = 256;
/// Bytes that strides and rows of a box are multiples of.
const GRAIN: u64 = 16;

/// Each list begins with the innermost dimension.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CudaTensorMap {
    pub dims: Vec<KernelNumber>,
    /// Empty: without gaps.
    pub strides: Vec<KernelNumber>,
    #[serde(rename = "box")]
    pub box_dims: Vec<KernelNumber>,
    pub swizzle: TensorSwizzle,
    pub interleave: TensorInterleave,
    pub l2_promotion: TensorPromotion,
}

impl CudaTensorMap {
    /// Errors: why no card takes it for these parameters.
    pub(crate) fn of(&self, params: &Params, buffer: &KernelBuffer) -> Result<TensorMap, String> {
        let list = |key: &str, said: &[KernelNumber], most: u64| {
            let number =
                |it: &KernelNumber| it.whole(params, &(1..=most)).map_err(|why| format!("`{key}`: {why}"));
            said.iter().map(number).collect::<Result<Vec<u64>, String>>()
        };
        let size = element_bytes(buffer.dtype)?;
        let dims = list("dims", &self.dims, MAX_DIM)?;
        let rank = dims.len();
        let least_rank = if self.interleave == TensorInterleave::None { 1 } else { 3 };
        if !(least_rank..=MAX_RANK).contains(&rank) {
            return Err(format!(
                "`dims` has {rank} dimensions, and such a map has {least_rank} to {MAX_RANK}"
            ));
        }
        let strides = match self.strides.as_slice() {
            [] => without_gaps(&dims, size),
            said => list("strides", said, MAX_STRIDE)?,
        };
        let box_dims = list("box", &self.box_dims, MAX_BOX)?;
        if box_dims.len() != rank || strides.len() != rank - 1 {
            return Err(format!(
                "`dims` has {rank} dimensions: `box` needs as many numbers, and `strides` one less"
            ));
        }
        let grain = if self.interleave == TensorInterleave::B32 { 2 * GRAIN } else { GRAIN };
        if let Some(stride) = strides.iter().find(|it| **it % grain != 0 || **it > MAX_STRIDE) {
            return Err(format!("a stride of {stride} bytes is not a multiple of {grain} below 2^40"));
        }
        let row = box_dims[0] * size;
        if self.interleave == TensorInterleave::None {
            if row % GRAIN != 0 {
                return Err(format!(
                    "the innermost dimension of `box` has {row} bytes, which is not a multiple of {GRAIN}"
                ));
            }
            if let Some(span) = self.swizzle.span().filter(|span| row > *span) {
                return Err(format!(
                    "the innermost dimension of `box` has {row} bytes, and this `swizzle` takes at most {span}"
                ));
            }
        }
        if self.interleave == TensorInterleave::B32 && self.swizzle != TensorSwizzle::B32 {
            return Err("`interleave = \"32b\"` needs `swizzle = \"32b\"`".into());
        }
        let outer = dims[1..].iter().zip(&strides).map(|(dim, stride)| (dim - 1).saturating_mul(*stride));
        let reach = outer.fold(dims[0].saturating_mul(size), u64::saturating_add);
        let bytes = buffer.length.saturating_mul(size);
        if reach > bytes {
            return Err(format!("the map reaches over {reach} bytes, and its buffer has {bytes}"));
        }
        let box_dims = box_dims.into_iter().map(|it| it as u32).collect();
        let (swizzle, interleave, l2_promotion) = (self.swizzle, self.interleave, self.l2_promotion);
        Ok(TensorMap { dims, strides, box_dims, swizzle, interleave, l2_promotion })
    }
}

fn without_gaps(dims: &[u64], size: u64) -> Vec<u64> {
    let rows = dims.iter().scan(size, |bytes, dim| {
        *bytes = bytes.saturating_mul(*dim);
        Some(*bytes)
    });
    rows.take(dims.len().saturating_sub(1)).collect()
}

/// Types of less than a byte, and of two numbers, have no map.
fn element_bytes(dtype: DType) -> Result<u64, String> {
    let is_known = !matches!(dtype, DType::F4e2m1 | DType::I4 | DType::C64 | DType::C128);
    let bits = dtype.bits() as u64;
    let name: &str = dtype.into();
    if is_known && bits % 8 == 0 {
        Ok(bits / 8)
    } else {
        Err(format!("no tensor map has elements of `{name}`"))
    }
}
