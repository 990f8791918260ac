//! `gpu_flops`: the product of two square matrices.

use super::case::{FLUSH_L2, KernelCase, Needs, Operator, RightAnswer, input, output, scalar, typed};
use super::point::{CasePoint, FLOATS};
use super::tolerance::{CheckedElements, U, Worst, rounded};
use crate::cuda::accuracy::Accuracy;
use crate::cuda::cublas::SquareProduct;
use crate::cuda::host_buffer::HostBuffer;
use crate::spec::MicroError;
use gbench_model::{DType, KernelLaunch};

pub(super) const FLOPS: Operator = Operator {
    name: "gpu_flops",
    description: "Product of two square matrices, by our own kernel (single precision by plain arithmetic, half types by WMMA) and by cuBLAS",
    params: &[("dtype", &FLOATS), ("impl", &["own", "cublas"]), ("n", &["4096"]), FLUSH_L2],
    case,
};

/// Rows and columns of a block's result, and its threads.
const TILE: u64 = 128;
const THREADS: u32 = 256;

/// The approximate number of multiplications repeated to check the product; at least 512 elements.
const LOOKED_AT: usize = 1 << 20;

fn case(point: &CasePoint) -> Result<KernelCase, MicroError> {
    let dtype = point.dtype()?;
    let n = point.number("n", 1..=1 << 16)?;
    let tiles = n.div_ceil(TILE) as u32;
    let launch = KernelLaunch::new([tiles, tiles, 1], [THREADS, 1, 1], 0);
    let matrix = || input(dtype, n * n, -1.0, 1.0);
    let side = || scalar(DType::U32, n as u32);
    let arguments = vec![matrix(), matrix(), output(dtype, n * n), side(), side(), side()];
    let by_cublas = point.choice("impl", &["own", "cublas"])? == "cublas";
    let entry = if dtype == DType::F32 { "gb_gemm" } else { "gb_gemm_wmma" };
    let text = include_str!("../kernels/gemm.cu");
    let mut case =
        typed(dtype, ("gemm.cu", text, entry), launch, arguments, Product { dtype, n: n as usize });
    case.headers = match dtype {
        DType::F16 => &["cuda_fp16.h", "mma.h"],
        DType::Bf16 => &["cuda_bf16.h", "mma.h"],
        _ => &[],
    };
    case.cublas = by_cublas.then_some(SquareProduct { dtype, n: n as u32 });
    case.needs = (dtype == DType::Bf16).then_some(Needs {
        capability: (8, 0),
        why: "tensor cores take BF16 from compute capability 8.0 on",
    });
    case.bytes = Some((3 * n * n * dtype.size() as u64) as f64);
    case.flops = Some(2.0 * (n as f64).powi(3));
    case.multiplies = Some(dtype);
    Ok(case)
}

struct Product {
    dtype: DType,
    n: usize,
}

impl RightAnswer for Product {
    /// A sum of n products has an error of at most n u |a|·|b| (Higham 2002, section 3.1). Tensor cores multiply exactly and
    /// truncate instead of rounding, which is twice that (Blanchard, Higham, Lopez, Mary and Pranesh, 2020; Fasi and others,
    /// 2021).
    fn check(&self, filled: &[HostBuffer], read: &[HostBuffer], sample: &mut CheckedElements) -> Accuracy {
        let n = self.n;
        let unit = if self.dtype == DType::F32 { U } else { 2.0 * U };
        let mut worst = Worst::new();
        for at in sample.of(n * n, (LOOKED_AT / n).max(512)) {
            let products = (0..n).map(|k| filled[0].get(at / n * n + k) * filled[1].get(k * n + at % n));
            let (sum, size) =
                products.fold((0.0, 0.0), |(sum, size), one: f64| (sum + one, size + one.abs()));
            worst.see(read[2].get(at), sum, rounded(self.dtype, sum, (n as f64 + 2.0) * unit * size));
        }
        worst.done()
    }
}
