//! Reads `tensor_map` of a kernel's argument.

use toml::de::DeValue;

use super::kernel_number_reader::{NumberRule, SweptParams, for_point, number};
use crate::benchmark::cuda::CudaArgument;
use crate::benchmark::kernel_number::KernelNumber;
use crate::benchmark::tensor_map::CudaTensorMap;
use crate::reader::item::Item;
use gbench_model::buffers;

/// The argument over `buffer`; `None` if something is wrong.
pub(super) fn read_tensor_map(
    item: &Item,
    buffer: CudaArgument,
    sweep: &SweptParams,
) -> Option<CudaArgument> {
    let mut table = item.table()?;
    table.name = "[benchmark.cuda.arguments.tensor_map]".into();
    let dims =
        table.need("dims", "`dims = [\"k\", \"m\"]`, the elements of each dimension, the innermost first");
    let dims = dims.and_then(|item| numbers(&item, sweep));
    let box_dims = table.need("box", "`box = [64, 128]`, the elements of a box in each dimension");
    let box_dims = box_dims.and_then(|item| numbers(&item, sweep));
    let strides = table.take("strides").map_or(Some(Vec::new()), |item| numbers(&item, sweep));
    let swizzle = table.take("swizzle").map_or(Some(Default::default()), |item| item.variant());
    let interleave = table.take("interleave").map_or(Some(Default::default()), |item| item.variant());
    let l2_promotion = table.take("l2_promotion").map_or(Some(Default::default()), |item| item.variant());
    table.close();
    let map = CudaTensorMap {
        dims: dims?,
        strides: strides?,
        box_dims: box_dims?,
        swizzle: swizzle?,
        interleave: interleave?,
        l2_promotion: l2_promotion?,
    };
    let wrong = |point| {
        let made = [buffer.of(point).ok()?];
        map.of(point, buffers(&made).first()?).err()
    };
    if let Some((point, why)) = sweep.points.iter().find_map(|point| Some((point, wrong(point)?))) {
        return item.refuse(
            format!("{}`tensor_map`: {why}", for_point(point)),
            "write the same dimensions, strides and box as the host code gives to `cuTensorMapEncodeTiled`",
        );
    }
    Some(CudaArgument::TensorMap { buffer: Box::new(buffer), map })
}

fn numbers(item: &Item, sweep: &SweptParams) -> Option<Vec<KernelNumber>> {
    let members = match item.value {
        DeValue::Array(_) => item.list("a list of numbers")?,
        _ => vec![item.clone()],
    };
    let rule = NumberRule { check: &|_, _| Ok(()), next: "write a number, or an expression" };
    members.iter().map(|member| number(member, sweep, &rule)).collect()
}
