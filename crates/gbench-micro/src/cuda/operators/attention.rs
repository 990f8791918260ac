//! `sdpa`: scaled dot-product attention, plain and tiled.

use super::case::{FLUSH_L2, KernelCase, Operator, RightAnswer, input, output, scalar, typed};
use super::point::{CasePoint, FLOATS};
use super::tolerance::{CheckedElements, FUNCTION, U, Worst, rounded};
use crate::cuda::accuracy::Accuracy;
use crate::cuda::host_buffer::HostBuffer;
use crate::spec::MicroError;
use gbench_model::{DType, KernelLaunch};

pub(super) const SDPA: Operator = Operator {
    name: "sdpa",
    description: "Scaled dot-product attention: a row of scores a block, and tiles with the softmax worked out on the way",
    params: &[
        ("dtype", &FLOATS),
        ("impl", &["naive", "tiled"]),
        ("batch_size", &["2"]),
        ("heads", &["16"]),
        ("sequence_length", &["1024"]),
        ("head_dimension", &["64", "128"]),
        ("causal", &["false"]),
        FLUSH_L2,
    ],
    case,
};

/// Threads of a block; also rows of the tiled kernel's block, and keys of a step.
const THREADS: u32 = 128;
const TILE: u64 = 32;
const MAX_DEPTH: u64 = 128;
/// The largest second dimension of a grid.
const MAX_HEADS: u64 = 65_535;
/// Dynamic shared memory for the plain kernel that every card has: 48 KiB minus its static part.
const MAX_SHARED: u64 = 48 * 1024 - 512;
/// Limit of the multiplications for checking queries.
const LOOKED_AT: usize = 1 << 20;

fn case(point: &CasePoint) -> Result<KernelCase, MicroError> {
    let dtype = point.dtype()?;
    let tiled = point.choice("impl", &["naive", "tiled"])? == "tiled";
    let causal = point.choice("causal", &["false", "true"])? == "true";
    let depth = point.number("head_dimension", 1..=MAX_DEPTH)?;
    let longest = if tiled { 1 << 20 } else { MAX_SHARED / 4 - depth };
    let length = point.number("sequence_length", 1..=longest)?;
    let batches = point.number("batch_size", 1..=MAX_HEADS)?;
    let heads = batches * point.number("heads", 1..=MAX_HEADS / batches)?;
    let elements = heads * length * depth;
    // The value that the kernel gets.
    let scale = (1.0 / (depth as f64).sqrt()) as f32;
    let tensor = || input(dtype, elements, -1.0, 1.0);
    let arguments = vec![
        tensor(),
        tensor(),
        tensor(),
        output(dtype, elements),
        scalar(DType::U32, length as u32),
        scalar(DType::U32, depth as u32),
        scalar(DType::F32, scale),
        scalar(DType::I32, i32::from(causal)),
    ];
    let (entry, blocks, shared_bytes) = if tiled {
        ("gb_sdpa_tiled", length.div_ceil(TILE), 0)
    } else {
        ("gb_sdpa_naive", length, 4 * (length + depth))
    };
    let launch = KernelLaunch::new([blocks as u32, heads as u32, 1], [THREADS, 1, 1], shared_bytes as u32);
    let source = ("sdpa.cu", include_str!("../kernels/sdpa.cu"), entry);
    let answer = Attention {
        dtype,
        scale: f64::from(scale),
        causal,
        heads: heads as usize,
        length: length as usize,
        depth: depth as usize,
    };
    let mut case = typed(dtype, source, launch, arguments, answer);
    case.bytes = Some((4 * elements * dtype.size() as u64) as f64);
    // Pairs of a query and a visible key, each multiplied and added twice.
    let pairs = if causal { length * (length + 1) / 2 } else { length * length };
    case.flops = Some(4.0 * (heads * pairs * depth) as f64);
    case.multiplies = Some(dtype);
    Ok(case)
}

struct Attention {
    dtype: DType,
    scale: f64,
    causal: bool,
    heads: usize,
    length: usize,
    depth: usize,
}

impl RightAnswer for Attention {
    fn check(&self, filled: &[HostBuffer], read: &[HostBuffer], sample: &mut CheckedElements) -> Accuracy {
        let queries = self.heads * self.length;
        let most = LOOKED_AT / (self.length * self.depth);
        let mut worst = Worst::new();
        for query in sample.of(queries, most.max(16)) {
            self.see_query(filled, &read[3], query, &mut worst);
        }
        worst.done()
    }
}

impl Attention {
    /// A score has the error of a sum of `depth` products. A weight has its score's error, its argument's rounding, the
    /// function's own error, and the scaling at each step that finds a larger score. The answer has its weights' relative
    /// error and that of its additions, in both parts of the quotient.
    fn see_query(&self, filled: &[HostBuffer], out: &HostBuffer, query: usize, worst: &mut Worst) {
        let (head, place) = (query / self.length * self.length, query % self.length);
        let keys = if self.causal { place + 1 } else { self.length };
        let q: Vec<f64> = (0..self.depth).map(|at| filled[0].get(query * self.depth + at)).collect();
        let (mut scores, mut score_error) = (Vec::with_capacity(keys), 0.0_f64);
        for key in 0..keys {
            let first = (head + key) * self.depth;
            let products = q.iter().enumerate().map(|(at, q)| q * filled[1].get(first + at));
            let (sum, size) =
                products.fold((0.0, 0.0), |(sum, size), one: f64| (sum + one, size + one.abs()));
            scores.push(sum * self.scale);
            score_error = score_error.max((self.depth as f64 + 1.0) * U * size * self.scale);
        }
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let depth = scores.iter().map(|score| largest - score).fold(0.0, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let steps = keys.div_ceil(TILE as usize) as f64;
        let weight_share = score_error + U * (2.0 * depth + FUNCTION + steps * (FUNCTION + 1.0));
        let additions = U * (keys as f64 + 2.0);
        for at in 0..self.depth {
            let terms = weights
                .iter()
                .enumerate()
                .map(|(key, weight)| weight * filled[2].get((head + key) * self.depth + at));
            let (total, size) = terms.fold((0.0, 0.0), |(sum, size), one: f64| (sum + one, size + one.abs()));
            let value = total / sum;
            let error = (size / sum + value.abs()) * (weight_share + additions) + 2.0 * U * value.abs();
            worst.see(out.get(query * self.depth + at), value, rounded(self.dtype, value, error));
        }
    }
}
