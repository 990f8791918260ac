//! The kernels of the suite as data: what to compile and launch at each point of the parameters, and which answer is right.
//!
//! Adding one is a `.cu` file in `kernels`, a file here, and a line in [`OPERATORS`]. A right answer is worked out in double precision
//! from the inputs as they are in their type. What an answer may be off by follows from the unit roundoff and the length of the sums
//! (Higham, Accuracy and Stability of Numerical Algorithms, 2002, chapters 2 to 4), not from what a card happened to give.

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

/// From plain arithmetic and memory to what networks are made of.
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
