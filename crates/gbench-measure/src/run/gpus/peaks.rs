//! The peak performance of GPUs by name, and how near a case comes to it. A case faster than its card did not do the work that
//! it declares.

use gbench_model::{BYTES_OF_PEAK, FLOPS_OF_PEAK};

/// Peaks of one card, from NVIDIA's data sheets; dense, without sparsity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Peaks {
    name: &'static str,
    /// Memory bandwidth in bytes per second.
    bandwidth: f64,
    /// Bytes of its L2 cache; smaller data may be read faster than from memory.
    cache: f64,
    /// Floating-point operations per second in single precision: by tensor cores (TF32) if the card has them.
    single: f64,
    half: f64,
}

const fn card(name: &'static str, bandwidth: f64, cache: f64, single: f64, half: f64) -> Peaks {
    Peaks {
        name,
        bandwidth: bandwidth * 1e9,
        cache: cache * 1024.0 * 1024.0,
        single: single * 1e12,
        half: half * 1e12,
    }
}

/// A longer name precedes a shorter one that it contains.
const CARDS: [Peaks; 12] = [
    card("H200", 4800.0, 60.0, 494.0, 989.0),
    card("H100 PCIe", 2000.0, 50.0, 378.0, 756.0),
    card("H100 80GB HBM3", 3350.0, 50.0, 494.0, 989.0),
    card("A100-SXM4-80GB", 2039.0, 40.0, 156.0, 312.0),
    card("A100 80GB PCIe", 1935.0, 40.0, 156.0, 312.0),
    card("A100-SXM4-40GB", 1555.0, 40.0, 156.0, 312.0),
    card("A100-PCIE-40GB", 1555.0, 40.0, 156.0, 312.0),
    card("L40S", 864.0, 96.0, 183.0, 362.0),
    card("NVIDIA L4", 300.0, 48.0, 60.0, 121.0),
    card("NVIDIA A10", 600.0, 6.0, 62.5, 125.0),
    card("Tesla T4", 320.0, 4.0, 8.1, 65.0),
    card("V100-SXM2", 900.0, 6.0, 15.7, 125.0),
];

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PeakShare {
    pub metric: &'static str,
    /// Share of the peak; 1 is all of it.
    pub share: f64,
    /// Above the card's peak: the case did not do the work that it declares.
    pub is_impossible: bool,
    /// The peak in words: `4.8 TB/s of the memory of an H200`.
    pub peak: String,
}

/// How near rates come to the peaks of a device such as `cuda:NVIDIA H200`. `bytes` and `flops`: per second, at the median.
/// `precision`: of the case, if declared. `moved`: bytes of one iteration; data in the L2 cache may be faster than the memory.
/// `told`: the peaks of a card that is not in the table, by the program; without them nothing is known of it.
pub(crate) fn shares(
    device: &str,
    bytes: Option<f64>,
    flops: Option<f64>,
    precision: Option<&str>,
    moved: Option<f64>,
    told: [Option<f64>; 2],
) -> Vec<PeakShare> {
    // A slice of a card has an unknown share of its peaks.
    if device.contains("MIG") {
        return Vec::new();
    }
    let Some(card) = card_of(device) else {
        let share = |metric, rate: Option<f64>, peak: Option<f64>| {
            let share = Some(rate? / peak?).filter(|share| share.is_finite())?;
            // The program has the limits of its card.
            Some(PeakShare { metric, share, is_impossible: false, peak: String::new() })
        };
        let shares = [share(BYTES_OF_PEAK, bytes, told[0]), share(FLOPS_OF_PEAK, flops, told[1])];
        return shares.into_iter().flatten().collect();
    };
    let cards = device.matches(card.name).count() as f64;
    let (peak, unit) = match precision {
        Some("fp16" | "float16" | "half" | "bf16" | "bfloat16") => (card.half, "half precision"),
        Some("fp32" | "float32" | "single" | "float") => {
            (card.single, "single precision, TF32 where it has it")
        }
        // Peaks of other precisions, such as fp8 and int8, are not in the table.
        Some(_) => (f64::NAN, ""),
        None => (card.half, "half precision"),
    };
    // A copy of 16 MiB in an H200's cache runs at 4.9 TB/s, 2 % above its memory.
    let fits = moved.is_some_and(|moved| moved <= card.cache * cards);
    let of_memory = bytes.map(|rate| {
        let share = rate / (card.bandwidth * cards);
        PeakShare {
            metric: BYTES_OF_PEAK,
            share,
            is_impossible: share > 1.0 && !fits,
            peak: format!("the {:.0} GB/s of the memory of {}", card.bandwidth / 1e9, card.name),
        }
    });
    let of_arithmetic = flops.map(|rate| {
        let share = rate / (peak * cards);
        PeakShare {
            metric: FLOPS_OF_PEAK,
            share,
            is_impossible: share > 1.0,
            peak: format!("the {:.0} TFLOP/s of {} in {unit}", peak / 1e12, card.name),
        }
    });
    of_memory.into_iter().chain(of_arithmetic).filter(|share| share.share.is_finite()).collect()
}

/// The card whose name occurs in a device's name as whole words: an A100X is not an A10, and a GH200 is not an H200.
fn card_of(device: &str) -> Option<&'static Peaks> {
    let is_part = |c: char| c.is_ascii_alphanumeric();
    CARDS.iter().find(|card| {
        device.match_indices(card.name).any(|(at, name)| {
            !device[..at].ends_with(is_part) && !device[at + name.len()..].starts_with(is_part)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b35_of_a_card_that_is_not_in_the_table_its_program_tells_the_peaks() {
        let of = |device, told| {
            let found = shares(device, Some(0.9e12), Some(1e14), Some("fp16"), None, told);
            found.into_iter().map(|it| (it.metric, it.share)).collect::<Vec<_>>()
        };
        let both = [Some(1.8e12), Some(4e14)];
        assert_eq!(of("cuda:RTX 5090", both), [(BYTES_OF_PEAK, 0.5), (FLOPS_OF_PEAK, 0.25)]);
        assert_eq!(of("cuda:RTX 5090", [Some(1.8e12), None]), [(BYTES_OF_PEAK, 0.5)]);
        assert_eq!(of("cuda:RTX 5090", [None; 2]), []);
        assert_eq!(of("cuda:NVIDIA A30 MIG 1g.6gb", both), []);
        // The data sheet goes before what a driver makes of clocks.
        assert_eq!(of("cuda:NVIDIA H200", both)[0], (BYTES_OF_PEAK, 0.9e12 / 4.8e12));
    }

    #[test]
    fn a_longer_name_comes_first() {
        for (at, card) in CARDS.iter().enumerate() {
            assert!(CARDS[..at].iter().all(|before| !card.name.contains(before.name)), "{}", card.name);
        }
    }
}
