//! `layernorm`, `softmax` and `cross_entropy`: one block per row.

use super::case::{
    FLUSH_L2, KernelCase, Operator, RightAnswer, TENSOR, input, line, output, pack, scalar, typed,
};
use super::point::{CasePoint, FLOATS};
use super::tolerance::{CheckedElements, FUNCTION, U, Worst, chain, rounded};
use crate::cuda::accuracy::Accuracy;
use crate::cuda::host_buffer::HostBuffer;
use crate::spec::MicroError;
use gbench_model::DType;

pub(super) const LAYERNORM: Operator = Operator {
    name: "layernorm",
    description: "(x - mean) / sqrt(variance + epsilon) * gamma + beta over the last dimension",
    params: TENSOR,
    case: layernorm,
};

pub(super) const SOFTMAX: Operator = Operator {
    name: "softmax",
    description: "exp(x - max) / sum of exp(x - max) over the last dimension",
    params: TENSOR,
    case: softmax,
};

pub(super) const CROSS_ENTROPY: Operator = Operator {
    name: "cross_entropy",
    description: "log(sum of exp(logits)) - logits[target] of each row, in single precision",
    params: &[
        ("dtype", &FLOATS),
        ("batch_size", &["2"]),
        ("sequence_length", &["512"]),
        ("classes", &["1000", "32000"]),
        FLUSH_L2,
    ],
    case: cross_entropy,
};

const MAX_THREADS: u64 = 256;
/// The approximate number of checked elements, in at least two rows.
const LOOKED_AT: usize = 1 << 16;
/// Inputs are between its negative and its positive.
const RANGE: f64 = 4.0;
const EPSILON: f32 = 1e-5;

#[derive(Clone, Copy)]
struct Rows {
    dtype: DType,
    rows: u64,
    width: u64,
}

impl Rows {
    fn new(point: &CasePoint, width: &'static str) -> Result<Self, MicroError> {
        Ok(Self { dtype: point.dtype()?, rows: point.rows()?, width: point.width(width)? })
    }

    fn elements(self) -> u64 {
        self.rows * self.width
    }

    /// As many threads as have something to load, in whole warps.
    fn threads(self) -> u32 {
        self.width.div_ceil(pack(self.dtype)).next_multiple_of(32).min(MAX_THREADS) as u32
    }

    /// Vectors that one thread loads per row.
    fn turns(self) -> u64 {
        self.width.div_ceil(pack(self.dtype) * u64::from(self.threads()))
    }

    fn additions(self) -> f64 {
        // If a row is not a multiple of 16 bytes, a thread adds no more than with whole vectors.
        chain(self.turns() * pack(self.dtype), self.threads())
    }

    fn sample(self, sample: &mut CheckedElements) -> Vec<usize> {
        sample.of(self.rows as usize, (LOOKED_AT / self.width as usize).max(16))
    }

    fn row(self, buffer: &HostBuffer, row: usize) -> Vec<f64> {
        let first = row * self.width as usize;
        (first..first + self.width as usize).map(|at| buffer.get(at)).collect()
    }
}

fn layernorm(point: &CasePoint) -> Result<KernelCase, MicroError> {
    let rows = Rows::new(point, "tensor_dimension")?;
    let Rows { dtype, width, .. } = rows;
    let arguments = vec![
        input(dtype, rows.elements(), -RANGE, RANGE),
        input(dtype, width, 0.5, 1.5),
        input(dtype, width, -0.5, 0.5),
        output(dtype, rows.elements()),
        scalar(DType::U32, width as u32),
        scalar(DType::F32, EPSILON),
    ];
    let source = ("layernorm.cu", include_str!("../kernels/layernorm.cu"), "gb_layernorm");
    let mut case = typed(dtype, source, line(rows.rows, rows.threads()), arguments, LayerNorm(rows));
    case.bytes = Some(((2 * rows.elements() + 2 * width) * dtype.size() as u64) as f64);
    Ok(case)
}

struct LayerNorm(Rows);

impl RightAnswer for LayerNorm {
    /// The mean has the error of its additions and a quotient, relative to the mean size. The variance has its own, that of
    /// the differences (which count twice) and their squares, and the square of the mean's error; the root halves it.
    fn check(&self, filled: &[HostBuffer], read: &[HostBuffer], sample: &mut CheckedElements) -> Accuracy {
        let rows = self.0;
        let width = rows.width as f64;
        let additions = rows.additions();
        let mut worst = Worst::new();
        for row in rows.sample(sample) {
            let x = rows.row(&filled[0], row);
            let mean = x.iter().sum::<f64>() / width;
            let mean_error = (additions + 1.0) * U * x.iter().map(|x| x.abs()).sum::<f64>() / width;
            let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width + f64::from(EPSILON);
            let scale = 1.0 / variance.sqrt();
            let variance_share = (additions + 5.0) * U + mean_error.powi(2) / variance;
            let scale_share = 0.5 * variance_share + FUNCTION * U;
            for (column, x) in x.iter().enumerate() {
                let (gamma, beta) = (filled[1].get(column), filled[2].get(column));
                let normal = (x - mean) * scale * gamma;
                let error = gamma.abs() * scale * mean_error
                    + normal.abs() * (scale_share + 3.0 * U)
                    + U * (normal + beta).abs();
                let found = read[3].get(row * rows.width as usize + column);
                worst.see(found, normal + beta, rounded(rows.dtype, normal + beta, error));
            }
        }
        worst.done()
    }
}

fn softmax(point: &CasePoint) -> Result<KernelCase, MicroError> {
    let rows = Rows::new(point, "tensor_dimension")?;
    let arguments = vec![
        input(rows.dtype, rows.elements(), -RANGE, RANGE),
        output(rows.dtype, rows.elements()),
        scalar(DType::U32, rows.width as u32),
    ];
    let source = ("softmax.cu", include_str!("../kernels/softmax.cu"), "gb_softmax");
    let mut case = typed(rows.dtype, source, line(rows.rows, rows.threads()), arguments, Softmax(rows));
    case.bytes = Some((2 * rows.elements() * rows.dtype.size() as u64) as f64);
    Ok(case)
}

/// The largest value, and the sum of exp(x - largest).
fn exponentials(row: &[f64]) -> (f64, f64) {
    let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (largest, row.iter().map(|x| (x - largest).exp()).sum())
}

/// The distance between the smallest and the largest.
fn depth(row: &[f64], largest: f64) -> f64 {
    row.iter().map(|x| largest - x).fold(0.0, f64::max)
}

struct Softmax(Rows);

impl RightAnswer for Softmax {
    /// A rounded argument t adds U |t|; then the function, the additions, the reciprocal and a product.
    fn check(&self, filled: &[HostBuffer], read: &[HostBuffer], sample: &mut CheckedElements) -> Accuracy {
        let rows = self.0;
        let mut worst = Worst::new();
        for row in rows.sample(sample) {
            let x = rows.row(&filled[0], row);
            let (largest, sum) = exponentials(&x);
            let sum_share = depth(&x, largest) + FUNCTION + rows.additions();
            for (column, x) in x.iter().enumerate() {
                let value = (x - largest).exp() / sum;
                let error = value * U * (sum_share + (largest - x) + FUNCTION + 2.0);
                let found = read[1].get(row * rows.width as usize + column);
                worst.see(found, value, rounded(rows.dtype, value, error));
            }
        }
        worst.done()
    }
}

fn cross_entropy(point: &CasePoint) -> Result<KernelCase, MicroError> {
    let rows = Rows::new(point, "classes")?;
    let arguments = vec![
        input(rows.dtype, rows.elements(), -RANGE, RANGE),
        input(DType::I32, rows.rows, 0.0, rows.width as f64),
        output(DType::F32, rows.rows),
        scalar(DType::U32, rows.width as u32),
    ];
    let source = ("cross_entropy.cu", include_str!("../kernels/cross_entropy.cu"), "gb_cross_entropy");
    let mut case = typed(rows.dtype, source, line(rows.rows, rows.threads()), arguments, CrossEntropy(rows));
    case.bytes = Some((rows.elements() * rows.dtype.size() as u64 + rows.rows * 8) as f64);
    Ok(case)
}

struct CrossEntropy(Rows);

impl RightAnswer for CrossEntropy {
    /// The sum as in a softmax, scaled again each time a thread finds a larger value, with an exponential and a product. Its
    /// relative error is the error of its logarithm, plus the function's own and two additions.
    fn check(&self, filled: &[HostBuffer], read: &[HostBuffer], sample: &mut CheckedElements) -> Accuracy {
        let rows = self.0;
        // Scaled at most once per turn of a thread (without whole vectors: once per element), and once for the block.
        let whole = rows.width.is_multiple_of(pack(rows.dtype));
        let each = if whole { 1 } else { pack(rows.dtype) };
        let scalings = (rows.turns() * each) as f64 + 1.0;
        let mut worst = Worst::new();
        for row in rows.sample(sample) {
            let x = rows.row(&filled[0], row);
            let (largest, sum) = exponentials(&x);
            let target = x.get(filled[1].get(row) as usize).copied().unwrap_or(f64::NAN);
            let depth = depth(&x, largest);
            let sum_share = 2.0 * depth + FUNCTION + rows.additions() + scalings * (FUNCTION + 1.0);
            let loss = sum.ln() + (largest - target);
            let error = U * (sum_share + FUNCTION * sum.ln().abs() + (largest - target) + loss.abs());
            worst.see(read[2].get(row), loss, rounded(DType::F32, loss, error));
        }
        worst.done()
    }
}
