//! `gpu_bandwidth` and `gpu_latency`: bandwidth and latency of device memory.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::case::{FLUSH_L2, KernelCase, Operator, RightAnswer, input, line, output, plain, scalar, state};
use super::point::CasePoint;
use super::tolerance::{CheckedElements, U, Worst, rounded};
use crate::cuda::accuracy::Accuracy;
use crate::cuda::host_buffer::HostBuffer;
use crate::spec::MicroError;
use gbench_model::{Access, DType, Fill, KernelArgument};

pub(super) const BANDWIDTH: Operator = Operator {
    name: "gpu_bandwidth",
    description: "Copy, triad (a = b + s * c), reading and writing of arrays of single precision",
    params: &[("op", &OPS), ("mib", &["256"]), FLUSH_L2],
    case: bandwidth,
};

pub(super) const LATENCY: Operator = Operator {
    name: "gpu_latency",
    description: "A chain of loads of which each needs the one before, through so much memory: within the L2 cache, and beyond",
    params: &[("mib", &["2", "256"])],
    case: latency,
};

const OPS: [&str; 4] = ["copy", "triad", "read", "write"];
const BANDWIDTH_TEXT: &str = include_str!("../kernels/bandwidth.cu");
const THREADS: u32 = 256;
/// Vectors of 16 bytes that a thread has in flight: `GB_WAYS` of the source.
const WAYS: u64 = 4;
/// Tiles per block: few enough blocks that their sums are negligible.
const TILES: u64 = 16;
/// Number of checked elements or sums.
const LOOKED_AT: usize = 1 << 15;
const SUMS_LOOKED_AT: usize = 16;
/// The factor of the triad, and the written value.
const FACTOR: f64 = 0.40625;
const WRITTEN: f64 = 1.333_333_3;

fn bandwidth(point: &CasePoint) -> Result<KernelCase, MicroError> {
    let op = point.choice("op", &OPS)?;
    let bytes = point.number("mib", 1..=1 << 16)? << 20;
    let (elements, vectors) = (bytes / 4, bytes / 16);
    let tiles = vectors.div_ceil(WAYS * u64::from(THREADS));
    let array = || input(DType::F32, elements, -1.0, 1.0);
    let count = scalar(DType::U64, vectors as f64);
    let source = |entry| ("bandwidth.cu", BANDWIDTH_TEXT, entry);
    let launch = line(tiles, THREADS);
    let (mut case, arrays) = match op {
        "copy" => {
            let launch = line(vectors.div_ceil(u64::from(THREADS)), THREADS);
            (plain(source("gb_copy"), launch, vec![array(), output(DType::F32, elements), count], Copy), 2)
        }
        "triad" => {
            let arguments =
                vec![output(DType::F32, elements), array(), array(), scalar(DType::F32, FACTOR), count];
            (plain(source("gb_triad"), launch, arguments, Triad), 3)
        }
        "read" => {
            let blocks = tiles.div_ceil(TILES);
            let arguments = vec![array(), output(DType::F32, blocks), count];
            (plain(source("gb_read"), line(blocks, THREADS), arguments, Read { vectors, blocks }), 1)
        }
        _ => {
            let arguments = vec![output(DType::F32, elements), scalar(DType::F32, WRITTEN), count];
            (plain(source("gb_write"), launch, arguments, Write), 1)
        }
    };
    case.bytes = Some((arrays * bytes) as f64);
    Ok(case)
}

struct Copy;

impl RightAnswer for Copy {
    fn check(&self, filled: &[HostBuffer], read: &[HostBuffer], sample: &mut CheckedElements) -> Accuracy {
        let mut worst = Worst::new();
        for at in sample.of(read[1].len(), LOOKED_AT) {
            worst.see(read[1].get(at), filled[0].get(at), 0.0);
        }
        worst.done()
    }
}

struct Triad;

impl RightAnswer for Triad {
    /// A product and a sum, each rounded, or both at once.
    fn check(&self, filled: &[HostBuffer], read: &[HostBuffer], sample: &mut CheckedElements) -> Accuracy {
        let mut worst = Worst::new();
        for at in sample.of(read[0].len(), LOOKED_AT) {
            let (b, product) = (filled[1].get(at), FACTOR * filled[2].get(at));
            let error = U * product.abs() + U * (b + product).abs();
            worst.see(read[0].get(at), b + product, rounded(DType::F32, b + product, error));
        }
        worst.done()
    }
}

struct Read {
    vectors: u64,
    blocks: u64,
}

impl RightAnswer for Read {
    /// Each thread adds one vector per tile to each of its sums, and then adds those, the lanes and the warps.
    fn check(&self, filled: &[HostBuffer], read: &[HostBuffer], sample: &mut CheckedElements) -> Accuracy {
        let tile = WAYS * u64::from(THREADS);
        let additions = (TILES + 2 + WAYS + 5 + u64::from(THREADS / 32)) as f64;
        let mut worst = Worst::new();
        for block in sample.of(self.blocks as usize, SUMS_LOOKED_AT) {
            let tiles = (block as u64..self.vectors.div_ceil(tile)).step_by(self.blocks as usize);
            let elements =
                tiles.flat_map(|number| 4 * number * tile..4 * self.vectors.min((number + 1) * tile));
            let (sum, size) = elements.fold((0.0, 0.0), |(sum, size), at| {
                let value = filled[0].get(at as usize);
                (sum + value, size + value.abs())
            });
            worst.see(read[1].get(block), sum, additions * U * size);
        }
        worst.done()
    }
}

struct Write;

impl RightAnswer for Write {
    fn check(&self, _: &[HostBuffer], read: &[HostBuffer], sample: &mut CheckedElements) -> Accuracy {
        let mut worst = Worst::new();
        for at in sample.of(read[0].len(), LOOKED_AT) {
            worst.see(read[0].get(at), f64::from(WRITTEN as f32), 0.0);
        }
        worst.done()
    }
}

/// Bytes between two places of the chain: a cache line.
const LINE: u64 = 128;
/// Loads of one launch, which takes some milliseconds.
const STEPS: u32 = 10_000;

fn latency(point: &CasePoint) -> Result<KernelCase, MicroError> {
    let bytes = point.number("mib", 1..=1 << 13)? << 20;
    let next = KernelArgument::Buffer {
        dtype: DType::U32,
        length: bytes / 4,
        access: Access::Input,
        // The values between the chain's places; `prepare` sets the places.
        fill: Fill::Value { value: 0.0 },
    };
    let arguments = vec![next, state(DType::U32, 1), scalar(DType::U32, STEPS)];
    let text = include_str!("../kernels/latency.cu");
    let mut case = plain(("latency.cu", text, "gb_chase"), line(1, 1), arguments, Chase);
    case.operations = Some(f64::from(STEPS));
    Ok(case)
}

struct Chase;

const STRIDE: usize = LINE as usize / size_of::<u32>();

impl RightAnswer for Chase {
    /// One single cycle through all lines, in a random order (Sattolo 1986).
    fn prepare(&self, buffers: &mut [HostBuffer], seed: u64) {
        let Some(next) = buffers.first_mut() else { return };
        let mut random = Pcg64::seed_from_u64(seed);
        let mut order: Vec<u32> = (0..(next.len() / STRIDE) as u32).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, random.random_range(0..last));
        }
        for (line, follower) in order.into_iter().enumerate() {
            next.set(line * STRIDE, (follower as usize * STRIDE) as f64);
        }
    }

    fn check(&self, filled: &[HostBuffer], read: &[HostBuffer], _: &mut CheckedElements) -> Accuracy {
        let place = (0..STEPS).fold(filled[1].get(0), |place, _| filled[0].get(place as usize));
        let mut worst = Worst::new();
        worst.see(read[1].get(0), place, 0.0);
        worst.done()
    }
}
