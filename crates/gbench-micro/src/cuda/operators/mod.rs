//! The kernels of the suite as data: the source and launch for each point of the parameters, and the check of the answer.
//!
//! To add one, write a `.cu` file in `kernels`, a file here, and a line in [`OPERATORS`]. Right answers are computed in double
//! precision from the typed inputs. Allowed errors follow from the unit roundoff and the length of the sums (Higham, Accuracy
//! and Stability of Numerical Algorithms, 2002, chapters 2 to 4), not from observed results.

mod atomics;
mod attention;
mod case;
mod elementwise;
mod matrix;
mod memory;
mod point;
mod reductions;
mod rows;
mod tolerance;

pub(crate) use case::Operator;
pub(super) use case::{FLUSH_L2, KernelCase};

/// From plain arithmetic and memory to the building blocks of networks.
pub(super) static OPERATORS: [&Operator; 11] = [
    &matrix::FLOPS,
    &memory::BANDWIDTH,
    &memory::LATENCY,
    &atomics::ATOMICS,
    &rows::LAYERNORM,
    &elementwise::GELU,
    &elementwise::SWISH,
    &reductions::MSE,
    &rows::CROSS_ENTROPY,
    &rows::SOFTMAX,
    &attention::SDPA,
];
