//! A kernel as data, and what most of them have in common.

use crate::cuda::accuracy::Accuracy;
use crate::cuda::cublas::SquareProduct;
use crate::cuda::host_buffer::HostBuffer;
use crate::spec::MicroError;
use gbench_model::{Access, DType, Fill, KernelArgument, KernelLaunch, Params};

use super::point::CasePoint;
use super::tolerance::CheckedElements;

/// A workload of the suite that is one kernel.
pub(crate) struct Operator {
    pub name: &'static str,
    pub description: &'static str,
    /// Name and values; the first is the one taken by hand. Others than these are taken too.
    pub params: &'static [(&'static str, &'static [&'static str])],
    pub(super) case: fn(&CasePoint) -> Result<KernelCase, MicroError>,
}

impl Operator {
    /// The kernel at these parameters. Errors: a value that it does not take.
    pub(in crate::cuda) fn case(&self, params: &Params) -> Result<KernelCase, MicroError> {
        (self.case)(&CasePoint::new(self.params, params))
    }
}

/// One kernel with all that a launch and a check need.
pub(in crate::cuda) struct KernelCase {
    /// As messages name it.
    pub file: &'static str,
    /// One after the other they are the source.
    pub source: Vec<&'static str>,
    /// `extern "C"`: the name in the source is the name in the cubin.
    pub entry: &'static str,
    /// Options of the compiler.
    pub options: Vec<String>,
    /// Headers of the toolkit that the source includes.
    pub headers: &'static [&'static str],
    pub launch: KernelLaunch,
    pub arguments: Vec<KernelArgument>,
    /// Of device memory: each byte that is read or written, once.
    pub bytes: Option<f64>,
    pub flops: Option<f64>,
    /// Loads that wait for each other, or atomic additions.
    pub operations: Option<f64>,
    /// The elements that are multiplied, where arithmetic is what takes the time.
    pub multiplies: Option<DType>,
    pub needs: Option<Needs>,
    /// NVIDIA's library does it in the kernel's place, on the first three buffers.
    pub cublas: Option<SquareProduct>,
    pub(super) answer: Box<dyn RightAnswer>,
}

/// The least compute capability, and what lacks before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cuda) struct Needs {
    pub capability: (u32, u32),
    pub why: &'static str,
}

/// Which inputs a kernel needs, and which outputs are right.
pub(super) trait RightAnswer {
    /// Changes what the arguments alone do not say. `buffers`: one for each buffer argument, filled as that says.
    fn prepare(&self, _buffers: &mut [HostBuffer], _seed: u64) {}

    /// `filled` and `read`: one for each buffer argument, before and after one launch.
    fn check(&self, filled: &[HostBuffer], read: &[HostBuffer], sample: &mut CheckedElements) -> Accuracy;
}

impl KernelCase {
    /// What the compiler gets.
    pub(crate) fn text(&self) -> String {
        self.source.concat()
    }

    /// Buffers that were filled as the arguments say become what the kernel needs: a chain to follow, say.
    pub(crate) fn prepare(&self, buffers: &mut [HostBuffer], seed: u64) {
        self.answer.prepare(buffers, seed);
    }

    /// How far the answer is from the right one. `filled` and `read`: one for each buffer argument, before and after one launch. Of a
    /// large answer some elements are looked at, which `seed` chooses, the first and the last among them.
    pub(crate) fn check(&self, filled: &[HostBuffer], read: &[HostBuffer], seed: u64) -> Accuracy {
        const WRONG: Accuracy = Accuracy { worst: f64::NAN, max_abs_error: f64::NAN };
        let buffers = self.arguments.iter().filter_map(|argument| match argument {
            KernelArgument::Buffer { dtype, length, access, .. } => Some((*dtype, *length, *access)),
            KernelArgument::Scalar { .. } => None,
        });
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

/// Cold by default: what others leave in the cache is not measured. `false` measures with what the calls before left there.
pub(in crate::cuda) const FLUSH_L2: (&str, &[&str]) = ("flush_l2", &["true"]);

/// The define by which a source takes its element type.
pub(super) fn dtype_option(dtype: DType) -> String {
    let name: &str = dtype.into();
    format!("-DGB_DTYPE_{}", name.to_uppercase())
}

/// The header that a source with this element type includes.
pub(super) fn dtype_headers(dtype: DType) -> &'static [&'static str] {
    match dtype {
        DType::F16 => &["cuda_fp16.h"],
        DType::Bf16 => &["cuda_bf16.h"],
        _ => &[],
    }
}

/// A case of a source with an element type; the rest as most have it.
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

/// A case of a source without an element type.
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

/// A grid of one dimension.
pub(super) fn line(blocks: u64, threads: u32) -> KernelLaunch {
    // `CasePoint` keeps the number of blocks within what a card takes.
    let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
    KernelLaunch { grid: [blocks, 1, 1], block: [threads, 1, 1], shared_bytes: 0 }
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

/// Elements of 16 bytes, which a thread loads at once.
pub(super) fn pack(dtype: DType) -> u64 {
    16 / dtype.size() as u64
}
