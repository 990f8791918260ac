//! `gelu` and `swish`: each element by itself.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};

use super::case::{
    FLUSH_L2, KernelCase, Operator, RightAnswer, TENSOR, input, line, output, pack, scalar, typed,
};
use super::point::{CasePoint, FLOATS};
use super::tolerance::{CheckedElements, FUNCTION, U, Worst, rounded};
use crate::cuda::accuracy::Accuracy;
use crate::cuda::host_buffer::HostBuffer;
use crate::spec::MicroError;
use gbench_model::DType;

pub(super) const GELU: Operator = Operator {
    name: "gelu",
    description: "Gaussian error linear unit, exact and by the hyperbolic tangent",
    params: &[
        ("dtype", &FLOATS),
        ("form", &["erf", "tanh"]),
        ("batch_size", &["8"]),
        ("sequence_length", &["512"]),
        ("tensor_dimension", &["1024", "4096"]),
        FLUSH_L2,
    ],
    case: gelu,
};

pub(super) const SWISH: Operator =
    Operator { name: "swish", description: "x / (1 + exp(-x))", params: TENSOR, case: swish };

const THREADS: u32 = 256;
/// The number of checked elements.
const LOOKED_AT: usize = 1 << 14;
/// Inputs are between its negative and its positive.
const RANGE: f64 = 4.0;

fn gelu(point: &CasePoint) -> Result<KernelCase, MicroError> {
    let text = include_str!("../kernels/gelu.cu");
    match point.choice("form", &["erf", "tanh"])? {
        "erf" => case(point, ("gelu.cu", text, "gb_gelu_erf"), gelu_erf),
        _ => case(point, ("gelu.cu", text, "gb_gelu_tanh"), gelu_tanh),
    }
}

fn swish(point: &CasePoint) -> Result<KernelCase, MicroError> {
    case(point, ("swish.cu", include_str!("../kernels/swish.cu"), "gb_swish"), swish_of)
}

/// Maps x to the right value and the allowed error of single precision.
type Formula = fn(f64) -> (f64, f64);

fn case(
    point: &CasePoint,
    source: (&'static str, &'static str, &'static str),
    formula: Formula,
) -> Result<KernelCase, MicroError> {
    let dtype = point.dtype()?;
    let length = point.rows()? * point.width("tensor_dimension")?;
    let blocks = length.div_ceil(pack(dtype) * u64::from(THREADS));
    let arguments =
        vec![input(dtype, length, -RANGE, RANGE), output(dtype, length), scalar(DType::U64, length as f64)];
    // The grid loops if the elements exceed its threads.
    let launch = line(blocks.min(1 << 24), THREADS);
    let mut case = typed(dtype, source, launch, arguments, Elementwise { dtype, formula });
    case.bytes = Some((2 * length * dtype.size() as u64) as f64);
    Ok(case)
}

struct Elementwise {
    dtype: DType,
    formula: Formula,
}

impl RightAnswer for Elementwise {
    fn check(&self, filled: &[HostBuffer], read: &[HostBuffer], sample: &mut CheckedElements) -> Accuracy {
        let mut worst = Worst::new();
        for at in sample.of(read[1].len(), LOOKED_AT) {
            let (expected, error) = (self.formula)(filled[0].get(at));
            worst.see(read[1].get(at), expected, rounded(self.dtype, expected, error));
        }
        worst.done()
    }
}

/// The argument of erf has the error of its factor's rounding and a product's; erf has its slope times that, and the
/// function's own error.
fn gelu_erf(x: f64) -> (f64, f64) {
    let z = x * FRAC_1_SQRT_2;
    let function = erf(z);
    let slope = FRAC_2_SQRT_PI * (-z * z).exp();
    let value = 0.5 * x * (1.0 + function);
    let inner = slope * 2.0 * U * z.abs() + FUNCTION * U * function.abs() + U * (1.0 + function);
    (value, 0.5 * x.abs() * inner + U * value.abs())
}

/// The argument of tanh has up to eight roundings; its two terms have the same sign.
fn gelu_tanh(x: f64) -> (f64, f64) {
    let argument = (2.0 / PI).sqrt() * (x + 0.044715 * x.powi(3));
    let function = argument.tanh();
    let slope = 1.0 - function * function;
    let value = 0.5 * x * (1.0 + function);
    let inner = slope * 8.0 * U * argument.abs() + FUNCTION * U * function.abs() + U * (1.0 + function);
    (value, 0.5 * x.abs() * inner + U * value.abs())
}

/// The exponential's error by its share of the sum; then the sum's rounding and the quotient's.
fn swish_of(x: f64) -> (f64, f64) {
    let exponential = (-x).exp();
    let value = x / (1.0 + exponential);
    (value, value.abs() * U * (FUNCTION * exponential / (1.0 + exponential) + 2.0))
}

/// The error function by a series whose terms have one sign (DLMF 7.6.2), to about 1e-15.
fn erf(x: f64) -> f64 {
    if x.abs() > 6.0 {
        return x.signum();
    }
    let mut term = x;
    let mut sum = x;
    let mut number = 1.0;
    while term.abs() > sum.abs() * 1e-17 {
        term *= 2.0 * x * x / (2.0 * number + 1.0);
        sum += term;
        number += 1.0;
    }
    FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formulas_give_known_values() {
        // Abramowitz and Stegun, table 7.1.
        for (x, value) in [(0.0, 0.0), (0.5, 0.520_499_877_8), (1.0, 0.842_700_792_9), (2.0, 0.995_322_265_0)]
        {
            assert!((erf(x) - value).abs() < 1e-10 && (erf(-x) + value).abs() < 1e-10, "{x}");
        }
        assert_eq!(erf(40.0), 1.0);
        assert!((gelu_erf(1.0).0 - 0.841_344_746).abs() < 1e-9);
        assert!((gelu_tanh(1.0).0 - gelu_erf(1.0).0).abs() < 1e-3);
        assert!((swish_of(1.0).0 - 0.731_058_578_6).abs() < 1e-10);
    }
}
