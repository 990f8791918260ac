//! A kernel as data, and helpers common to most.

use crate::cuda::accuracy::Accuracy;
use crate::cuda::cublas::SquareProduct;
use crate::cuda::host_buffer::HostBuffer;
use crate::spec::MicroError;
use gbench_model::{Access, DType, Fill, KernelArgument, KernelLaunch, Params, buffers};

use super::point::{CasePoint, FLOATS};
use super::tolerance::CheckedElements;

pub(crate) struct Operator {
    pub name: &'static str,
    pub description: &'static str,
    /// Name and values; the first is the default by hand. Other values are accepted, too.
    pub params: &'static [(&'static str, &'static [&'static str])],
    pub(super) case: fn(&CasePoint) -> Result<KernelCase, MicroError>,
}

impl Operator {
    /// The kernel at these parameters. Errors: a value that it does not support.
    pub(in crate::cuda) fn case(&self, params: &Params) -> Result<KernelCase, MicroError> {
        (self.case)(&CasePoint::new(self.params, params))
    }
}

/// One kernel with everything that a launch and a check need.
pub(in crate::cuda) struct KernelCase {
    /// The name for messages.
    pub file: &'static str,
    /// Concatenated, they are the source.
    pub source: Vec<&'static str>,
    /// `extern "C"`: the name in the source is the name in the cubin.
    pub entry: &'static str,
    pub options: Vec<String>,
    /// Headers of the toolkit that the source includes.
    pub headers: &'static [&'static str],
    pub launch: KernelLaunch,
    pub arguments: Vec<KernelArgument>,
    /// Bytes of device memory: each byte that is read or written, once.
    pub bytes: Option<f64>,
    pub flops: Option<f64>,
    /// Dependent loads, or atomic additions.
    pub operations: Option<f64>,
    /// The type of the multiplied elements, if arithmetic limits the time.
    pub multiplies: Option<DType>,
    pub needs: Option<Needs>,
    /// NVIDIA's library does it instead of a kernel, on the first three buffers.
    pub cublas: Option<SquareProduct>,
    pub(super) answer: Box<dyn RightAnswer>,
}

/// The least compute capability, and the missing feature before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cuda) struct Needs {
    pub capability: (u32, u32),
    pub why: &'static str,
}

/// Creates a kernel's special inputs, and checks its outputs.
pub(super) trait RightAnswer {
    /// Changes inputs that the arguments cannot describe. `buffers`: one per buffer argument, already filled.
    fn prepare(&self, _buffers: &mut [HostBuffer], _seed: u64) {}

    /// `filled` and `read`: one per buffer argument, before and after one launch.
    fn check(&self, filled: &[HostBuffer], read: &[HostBuffer], sample: &mut CheckedElements) -> Accuracy;
}

impl KernelCase {
    pub(crate) fn text(&self) -> String {
        self.source.concat()
    }

    /// Applies the kernel's special inputs, such as a chain to follow, to buffers that are already filled.
    pub(crate) fn prepare(&self, buffers: &mut [HostBuffer], seed: u64) {
        self.answer.prepare(buffers, seed);
    }

    /// Checks the answer. `filled` and `read`: one per buffer argument, before and after one launch. Only some elements of a
    /// large answer are checked, which `seed` chooses; the first and last are always among them.
    pub(crate) fn check(&self, filled: &[HostBuffer], read: &[HostBuffer], seed: u64) -> Accuracy {
        const WRONG: Accuracy = Accuracy { worst: f64::NAN, max_abs_error: f64::NAN };
        let buffers = buffers(&self.arguments).into_iter().map(|it| (it.dtype, it.length, it.access));
        let mut pairs = 0;
        for ((dtype, length, access), (before, after)) in buffers.clone().zip(filled.iter().zip(read)) {
            let fits = |buffer: &HostBuffer| buffer.dtype() == dtype && buffer.len() as u64 == length;
            if !fits(before) || !fits(after) || access == Access::Output && after.has_poison() {
                return WRONG;
            }
            pairs += 1;
        }
        if pairs != buffers.count() {
            return WRONG;
        }
        self.answer.check(filled, read, &mut CheckedElements::new(seed))
    }
}

pub(super) const PRELUDE: &str = include_str!("../kernels/prelude.cuh");

/// Cold by default: data that others leave in the cache must not matter. `false` keeps the data of the previous calls.
pub(in crate::cuda) const FLUSH_L2: (&str, &[&str]) = ("flush_l2", &["true"]);

/// Types and shapes of operators over the elements or rows of a tensor.
pub(super) const TENSOR: &[(&str, &[&str])] = &[
    ("dtype", &FLOATS),
    ("batch_size", &["8"]),
    ("sequence_length", &["512"]),
    ("tensor_dimension", &["1024", "4096"]),
    FLUSH_L2,
];

pub(super) fn dtype_option(dtype: DType) -> String {
    let name: &str = dtype.into();
    format!("-DGB_DTYPE_{}", name.to_uppercase())
}

pub(super) fn dtype_headers(dtype: DType) -> &'static [&'static str] {
    match dtype {
        DType::F16 => &["cuda_fp16.h"],
        DType::Bf16 => &["cuda_bf16.h"],
        _ => &[],
    }
}

/// A case of a source with an element type, and common values for the rest.
pub(super) fn typed(
    dtype: DType,
    (file, text, entry): (&'static str, &'static str, &'static str),
    launch: KernelLaunch,
    arguments: Vec<KernelArgument>,
    answer: impl RightAnswer + 'static,
) -> KernelCase {
    KernelCase {
        source: vec![PRELUDE, text],
        options: vec![dtype_option(dtype)],
        headers: dtype_headers(dtype),
        ..plain((file, text, entry), launch, arguments, answer)
    }
}

/// The same for a source without an element type.
pub(super) fn plain(
    (file, text, entry): (&'static str, &'static str, &'static str),
    launch: KernelLaunch,
    arguments: Vec<KernelArgument>,
    answer: impl RightAnswer + 'static,
) -> KernelCase {
    KernelCase {
        file,
        source: vec![text],
        entry,
        options: Vec::new(),
        headers: &[],
        launch,
        arguments,
        bytes: None,
        flops: None,
        operations: None,
        multiplies: None,
        needs: None,
        cublas: None,
        answer: Box::new(answer),
    }
}

pub(super) fn line(blocks: u64, threads: u32) -> KernelLaunch {
    // `CasePoint` keeps the number of blocks within the card's limit.
    let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
    KernelLaunch::new([blocks, 1, 1], [threads, 1, 1], 0)
}

pub(super) fn input(dtype: DType, length: u64, low: f64, high: f64) -> KernelArgument {
    KernelArgument::Buffer { dtype, length, access: Access::Input, fill: Fill::Uniform { low, high } }
}

pub(super) fn output(dtype: DType, length: u64) -> KernelArgument {
    KernelArgument::Buffer { dtype, length, access: Access::Output, fill: Fill::Value { value: 0.0 } }
}

/// Read and written, zero at first.
pub(super) fn state(dtype: DType, length: u64) -> KernelArgument {
    KernelArgument::Buffer { dtype, length, access: Access::InputOutput, fill: Fill::Value { value: 0.0 } }
}

pub(super) fn scalar(dtype: DType, value: impl Into<f64>) -> KernelArgument {
    KernelArgument::Scalar { dtype, value: value.into() }
}

/// Elements in 16 bytes, which a thread loads at once.
pub(super) fn pack(dtype: DType) -> u64 {
    16 / dtype.size() as u64
}
