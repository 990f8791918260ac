//! The least time that a piece of work can take on a card; a faster kernel did not do the work.

use super::device::Facts;
use gbench_model::DType;

/// How far below the least time a measurement may be, as a share: clocks in data sheets are rounded.
const LENIENCE: f64 = 0.95;

/// The work of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct KernelWork {
    /// Loads or additions: the unit of the rate, if it is neither of the two below.
    pub items: Option<f64>,
    pub bytes: Option<f64>,
    pub flops: Option<f64>,
    /// The type of the multiplied elements; `None` if unknown, which skips the limit by arithmetic.
    pub dtype: Option<DType>,
    /// The cache contained none of the data at the beginning.
    pub cold: bool,
    /// Seconds for which the card is loaded before the samples; `None`: it is measured in bursts.
    pub sustained: Option<f64>,
    /// Bytes of the written buffers, some of which may remain in the cache.
    pub written: f64,
}

/// The least time of a piece of work, and the resource that limits it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Floor {
    pub seconds: f64,
    /// The bytes that it moves, or its floating-point operations.
    pub by: &'static str,
}

/// The most bytes and floating-point operations per second; `None`: unknown.
pub(super) fn peaks(facts: &Facts, dtype: Option<DType>) -> [Option<f64>; 2] {
    // A card that shares the host's memory does not report its bandwidth.
    let bytes = Some(facts.memory_bandwidth).filter(|_| !facts.integrated);
    let per_cycle = dtype.and_then(|dtype| flops_per_cycle(facts.capability, dtype));
    let flops = per_cycle.map(|flops| flops * f64::from(facts.multiprocessors) * facts.sm_clock);
    [bytes, flops].map(|peak| peak.filter(|peak| *peak > 0.0))
}

/// As [`peaks`], for readers. The arithmetic of the cards for desks is left out: their tensor cores are twice as fast if they
/// accumulate in half precision, which the bound allows and most kernels do not do.
pub(super) fn shown_peaks(facts: &Facts, dtype: Option<DType>) -> [Option<f64>; 2] {
    let [bytes, flops] = peaks(facts, dtype);
    [bytes, flops.filter(|_| !matches!(facts.capability, (8, 6 | 9) | (12, _)))]
}

/// No correct run is faster than this; `None` if the card's peaks are unknown.
pub(super) fn floor(facts: &Facts, work: &KernelWork) -> Option<Floor> {
    let [bandwidth, rate] = peaks(facts, work.dtype);
    let memory = work.bytes.filter(|_| work.cold).zip(bandwidth).map(|(bytes, bandwidth)| {
        let in_cache = work.written.min(facts.l2_bytes as f64);
        Floor { seconds: (bytes - in_cache).max(0.0) / bandwidth, by: "bytes" }
    });
    let arithmetic = work.flops.zip(rate);
    let arithmetic =
        arithmetic.map(|(flops, rate)| Floor { seconds: flops / rate, by: "floating-point operations" });
    let both = memory.into_iter().chain(arithmetic);
    let higher = both.max_by(|one, other| one.seconds.total_cmp(&other.seconds))?;
    (higher.seconds > 0.0).then_some(Floor { seconds: higher.seconds * LENIENCE, ..higher })
}

/// The most floating-point operations of one multiprocessor per cycle, dense, by tensor cores if they support the type; a
/// multiplication and an addition are two. From the throughput table of the CUDA C++ programming guide and the white papers of
/// the architectures.
fn flops_per_cycle((major, minor): (u32, u32), dtype: DType) -> Option<f64> {
    let (single, half) = match (major, minor) {
        (7, _) => (128.0, 1024.0),
        (8, 0 | 7) => (128.0, 2048.0),
        // 12.x are the cards for desks: an RTX 5090 has 419 TFLOP/s from 170 multiprocessors at 2.41 GHz.
        (8 | 12, _) => (256.0, 1024.0),
        (9, _) => (256.0, 4096.0),
        // 11.0 is Thor: 517 TFLOP/s in FP8, twice those in half precision, from 20 multiprocessors at 1.57 GHz.
        (10 | 11, _) => (256.0, 8192.0),
        _ => return None,
    };
    match dtype {
        // Single precision may be multiplied as TF32, which is half as fast as half precision.
        DType::F32 => Some(if major >= 8 { f64::max(single, half / 2.0) } else { single }),
        DType::F16 | DType::Bf16 => Some(half),
        DType::F8e4m3 | DType::F8e5m2 if (major, minor) >= (8, 9) => Some(2.0 * half),
        // 10.3 gave most of its double precision and of its integers away for FP4.
        DType::F4e2m1 if (major, minor) == (10, 3) => Some(6.0 * half),
        DType::F4e2m1 if major >= 10 => Some(4.0 * half),
        DType::I8 if (major, minor) >= (7, 5) && (major, minor) != (10, 3) => Some(2.0 * half),
        DType::I4 if (major, minor) >= (7, 5) && major <= 8 => Some(4.0 * half),
        DType::F64 => match (major, minor) {
            (7, 0) => Some(64.0),
            (8 | 10, 0) => Some(128.0),
            (9, 0) => Some(256.0),
            (7, 5) | (8, 6 | 9) | (12, _) => Some(4.0),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn shown(seconds: f64) -> String {
    match seconds {
        _ if seconds < 1e-3 => format!("{:.2} µs", seconds * 1e6),
        _ if seconds < 1.0 => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card() -> Facts {
        Facts {
            name: "H100".into(),
            capability: (9, 0),
            multiprocessors: 132,
            l2_bytes: 50 << 20,
            sm_clock: 1.98e9,
            memory_bandwidth: 3.35e12,
            cuda_version: 12040,
            gfx: None,
            integrated: false,
            uuid: None,
            shared_bytes: 232_448,
            persisting_l2: true,
        }
    }

    #[test]
    fn memory_and_arithmetic_each_set_a_floor_and_the_higher_holds() {
        let cold = KernelWork {
            bytes: Some(3.35e9 + (50 << 20) as f64),
            cold: true,
            written: 1e9,
            ..KernelWork::default()
        };
        // Reads come from memory, however few they are.
        let read = KernelWork { bytes: Some(3.35e6), written: 0.0, ..cold };
        let product = KernelWork { flops: Some(132.0 * 1.98e9 * 4096.0), dtype: Some(DType::F16), ..cold };
        for (work, seconds) in [(cold, 1e-3), (read, 1e-6), (product, 1.0)] {
            let least = floor(&card(), &work).unwrap().seconds;
            assert!((least / (seconds * LENIENCE) - 1.0).abs() < 1e-9, "{least} for {work:?}");
        }
        assert_eq!(floor(&Facts { integrated: true, ..card() }, &read), None);
        // In the cache it may be faster than memory.
        assert_eq!(floor(&card(), &KernelWork { cold: false, ..cold }), None);
    }

    #[test]
    fn b35_every_architecture_from_volta_to_blackwell_has_a_peak_at_or_above_its_data_sheet() {
        // Compute capability, multiprocessors, boost in Hz, and the data sheet's operations per second.
        let cards = [
            ((7, 0), 80, 1.53e9, DType::F16, 125e12),
            ((7, 0), 80, 1.53e9, DType::F64, 7.8e12),
            ((7, 5), 40, 1.59e9, DType::I4, 260e12),
            ((8, 0), 108, 1.41e9, DType::F16, 312e12),
            ((8, 0), 108, 1.41e9, DType::I8, 624e12),
            ((8, 0), 108, 1.41e9, DType::F64, 19.5e12),
            ((8, 9), 128, 2.52e9, DType::F16, 330e12),
            ((8, 9), 142, 2.52e9, DType::F8e4m3, 733e12),
            ((9, 0), 132, 1.83e9, DType::F16, 989e12),
            ((9, 0), 132, 1.83e9, DType::F8e5m2, 1979e12),
            ((9, 0), 132, 1.98e9, DType::F64, 67e12),
            ((10, 0), 148, 1.965e9, DType::F4e2m1, 9e15),
            ((11, 0), 20, 1.575e9, DType::F16, 258e12),
            ((12, 0), 170, 2.407e9, DType::F16, 419e12),
            ((12, 0), 170, 2.407e9, DType::F4e2m1, 1676e12),
            ((12, 0), 170, 2.407e9, DType::F64, 1.637e12),
            ((12, 1), 48, 2.55e9, DType::F16, 125e12),
        ];
        for (capability, multiprocessors, sm_clock, dtype, said) in cards {
            let facts = Facts { capability, multiprocessors, sm_clock, ..card() };
            let product = KernelWork { flops: Some(said), dtype: Some(dtype), ..KernelWork::default() };
            let seconds = floor(&facts, &product).unwrap().seconds / LENIENCE;
            assert!((0.85..=1.01).contains(&seconds), "{capability:?} {dtype:?}: {seconds}");
        }
    }

    #[test]
    fn of_a_card_that_is_not_known_nothing_is_said() {
        let facts = Facts { capability: (13, 0), sm_clock: 0.0, memory_bandwidth: 0.0, ..card() };
        let (bytes, flops, dtype) = (Some(1e12), Some(1e12), Some(DType::F16));
        let work = KernelWork { bytes, flops, dtype, cold: true, ..KernelWork::default() };
        assert_eq!(floor(&facts, &work), None);
        assert_eq!(floor(&card(), &KernelWork { dtype: Some(DType::I32), bytes: None, ..work }), None);
    }
}
