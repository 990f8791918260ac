//! `gpu_atomics`: additions performed by the memory system.

use super::case::{KernelCase, Operator, RightAnswer, line, plain, scalar, state};
use super::point::CasePoint;
use super::tolerance::{CheckedElements, Worst};
use crate::cuda::accuracy::Accuracy;
use crate::cuda::host_buffer::HostBuffer;
use crate::spec::MicroError;
use gbench_model::DType;

pub(super) const ATOMICS: Operator = Operator {
    name: "gpu_atomics",
    description: "Atomic additions of a quarter of a million threads, to one address and spread over a million",
    params: &[("addresses", &["one", "many"]), ("dtype", &["u32", "f32"])],
    case,
};

const BLOCKS: u32 = 1024;
const THREADS: u32 = 256;
/// Additions per thread. In total they are fewer than 2^24, up to which single precision counts exactly.
const EACH: u32 = 16;
/// A power of two: 4 MiB, which fits into an L2 cache.
const MANY: u32 = 1 << 20;

fn case(point: &CasePoint) -> Result<KernelCase, MicroError> {
    let n = if point.choice("addresses", &["one", "many"])? == "one" { 1 } else { MANY };
    let (dtype, entry) = match point.choice("dtype", &["u32", "f32"])? {
        "u32" => (DType::U32, "gb_atomics"),
        _ => (DType::F32, "gb_atomics_float"),
    };
    let arguments = vec![state(dtype, u64::from(n)), scalar(DType::U32, n), scalar(DType::U32, EACH)];
    let text = include_str!("../kernels/atomics.cu");
    let launch = line(u64::from(BLOCKS), THREADS);
    let mut case = plain(("atomics.cu", text, entry), launch, arguments, Counts { n });
    case.operations = Some(f64::from(BLOCKS) * f64::from(THREADS) * f64::from(EACH));
    Ok(case)
}

struct Counts {
    n: u32,
}

impl RightAnswer for Counts {
    fn check(&self, filled: &[HostBuffer], read: &[HostBuffer], _: &mut CheckedElements) -> Accuracy {
        let mut counts = vec![0_u32; self.n as usize];
        for thread in 0..BLOCKS * THREADS {
            for turn in 0..EACH {
                // `gb_target` of the source.
                let place = thread.wrapping_mul(0x9e37_79b1).wrapping_add(turn.wrapping_mul(0x85eb_ca6b));
                counts[(place & (self.n - 1)) as usize] += 1;
            }
        }
        let mut worst = Worst::new();
        for (at, count) in counts.into_iter().enumerate() {
            worst.see(read[0].get(at), filled[0].get(at) + f64::from(count), 0.0);
        }
        worst.done()
    }
}
