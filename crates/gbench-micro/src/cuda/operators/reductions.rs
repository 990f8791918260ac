//! `mse`: reduces a whole array to one number.

use super::case::{
    KernelCase, Operator, RightAnswer, TENSOR, input, line, output, pack, scalar, state, typed,
};
use super::point::CasePoint;
use super::tolerance::{CheckedElements, U, Worst, chain, rounded};
use crate::cuda::accuracy::Accuracy;
use crate::cuda::host_buffer::HostBuffer;
use crate::spec::MicroError;
use gbench_model::DType;

pub(super) const MSE: Operator = Operator {
    name: "mse",
    description: "Mean of the squared differences of two arrays, in one launch and always in the same order",
    params: TENSOR,
    case,
};

const THREADS: u32 = 256;
/// One block adds the sums of all blocks.
const MAX_BLOCKS: u64 = 1024;

fn case(point: &CasePoint) -> Result<KernelCase, MicroError> {
    let dtype = point.dtype()?;
    let length = point.rows()? * point.width("tensor_dimension")?;
    let blocks = length.div_ceil(pack(dtype) * u64::from(THREADS)).min(MAX_BLOCKS);
    let array = || input(dtype, length, -1.0, 1.0);
    let arguments = vec![
        array(),
        array(),
        scalar(DType::U64, length as f64),
        output(DType::F32, blocks),
        state(DType::U32, 1),
        output(DType::F32, 1),
    ];
    let each = length.div_ceil(blocks * u64::from(THREADS)) + 2 * pack(dtype);
    let additions = chain(each, THREADS) + chain(blocks.div_ceil(u64::from(THREADS)), THREADS);
    let source = ("mse.cu", include_str!("../kernels/mse.cu"), "gb_mse");
    let mut case = typed(dtype, source, line(blocks, THREADS), arguments, Mean { additions });
    case.bytes = Some((2 * length * dtype.size() as u64) as f64);
    Ok(case)
}

struct Mean {
    /// The additions that an element goes through.
    additions: f64,
}

impl RightAnswer for Mean {
    /// All terms are positive, so the sum has a relative error: the additions, the difference (which counts twice), its
    /// square, the length as a float, and the quotient.
    fn check(&self, filled: &[HostBuffer], read: &[HostBuffer], _: &mut CheckedElements) -> Accuracy {
        let length = filled[0].len();
        let squares = (0..length).map(|at| (filled[0].get(at) - filled[1].get(at)).powi(2));
        let mean = squares.sum::<f64>() / length as f64;
        let mut worst = Worst::new();
        worst.see(read[4].get(0), mean, rounded(DType::F32, mean, (self.additions + 5.0) * U * mean));
        // Ready for the next launch.
        worst.see(read[3].get(0), 0.0, 0.0);
        worst.done()
    }
}
