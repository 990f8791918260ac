//! Decides whether the processes of a pair take turns in a round, or run one after the other.

use crate::run::record::arm::ArmRecorder;
use gbench_model::{Interleaving, Manifest, Probe, Thermal};
use gbench_suite::Benchmark;
use gbench_suite::plan::PlannedPair;

const ALTERNATING: &str = "one after the other instead of in turns: ";

pub(crate) fn wants_lockstep(arms: &[ArmRecorder]) -> bool {
    let comparison = arms.first().and_then(|arm| arm.record.comparison.as_ref());
    comparison.is_some_and(|comparison| comparison.interleaving == Interleaving::Lockstep)
}

/// Why a pair that both sides have cannot take turns now; `None` if it can. `cases`: their index in the records, by arm. It
/// depends on the suite files and on the needs of earlier processes of the case, so that a resumed comparison decides in the
/// same way.
pub(crate) fn why_alternating(
    pair: &PlannedPair,
    arms: &[ArmRecorder],
    cases: [Option<usize>; 3],
) -> Option<String> {
    let [base, head, ..] = pair.cases.as_slice() else { return None };
    if let Some(why) = by_suite(&base.benchmark, &head.benchmark) {
        return Some(format!("{ALTERNATING}{why}"));
    }
    if base.id.thermal == Thermal::Cold {
        return Some(format!("{ALTERNATING}a cold process has the machine to itself"));
    }
    let manifest = &arms[0].record.manifest;
    let peak = |arm: usize, of: fn(&gbench_model::ProcessRecord) -> Option<u64>| {
        let processes = &arms[arm].case(cases[arm]?).processes;
        processes.iter().filter_map(of).max()
    };
    let apart = |of, available| why_apart(peak(0, of), peak(1, of), available);
    apart(|process| process.device_peak_bytes, device_memory(manifest))
        .or_else(|| apart(|process| process.peak_rss_bytes, host_memory(manifest)))
}

fn by_suite(base: &Benchmark, head: &Benchmark) -> Option<&'static str> {
    let speaks = [base, head].map(|benchmark| benchmark.settings.lockstep.value);
    let amounts = [base, head].map(|benchmark| {
        let settings = &benchmark.settings;
        (settings.iterations.value, settings.duration.value)
    });
    match speaks {
        [false, false] => Some("the suite does not say `lockstep = true` of it"),
        [false, true] => Some("the base's suite does not say `lockstep = true` of it"),
        [true, false] => Some("the head's suite does not say `lockstep = true` of it"),
        // The turns of a round are the same for both.
        [true, true] if amounts[0] != amounts[1] => Some("base and head ask for different amounts of work"),
        [true, true] => None,
    }
}

/// Memory of the GPU that has least; 0: unknown.
fn device_memory(manifest: &Manifest) -> u64 {
    let Some(gpus) = manifest.gpu.known() else { return 0 };
    gpus.devices.iter().filter_map(|gpu| gpu.memory_total.known().copied()).min().unwrap_or(0)
}

fn host_memory(manifest: &Manifest) -> u64 {
    match &manifest.host.memory_total {
        Probe::Known(bytes) => *bytes,
        _ => 0,
    }
}

/// Why the two cannot be alive at once, for the record; `None` if they can.
///
/// `base`, `head`: peak bytes of each, if known; otherwise the other's peak is assumed, as both are versions of one program.
/// `available`: bytes for both, 0 if unknown.
fn why_apart(base: Option<u64>, head: Option<u64>, available: u64) -> Option<String> {
    let (base, head) = (base.or(head)?, head.or(base)?);
    if available == 0 || base.saturating_add(head) <= available {
        return None;
    }
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    Some(format!(
        "{ALTERNATING}base takes {} MiB at its peak and head {} MiB, and there are {} MiB for \
         both",
        mib(base),
        mib(head),
        available >> 20
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn two_fit_up_to_what_there_is_and_a_side_that_is_not_known_is_taken_to_be_like_the_other() {
        for (base, head, available, fits) in [
            (Some(30 * GIB), Some(50 * GIB), 80 * GIB, true),
            (Some(30 * GIB), Some(50 * GIB + 1), 80 * GIB, false),
            (Some(u64::MAX), Some(u64::MAX), u64::MAX - 1, false),
            (Some(41 * GIB), None, 80 * GIB, false),
            (None, Some(41 * GIB), 80 * GIB, false),
            (None, Some(40 * GIB), 80 * GIB, true),
            // Without any figures it is tried.
            (None, None, 1, true),
            (Some(u64::MAX), Some(1), 0, true),
        ] {
            assert_eq!(why_apart(base, head, available).is_none(), fits, "{base:?} {head:?} {available}");
        }
        assert_eq!(
            why_apart(Some(5 * GIB), Some(4 * GIB), 8 * GIB).unwrap(),
            "one after the other instead of in turns: base takes 5120 MiB at its peak and head 4096 MiB, and there are \
             8192 MiB for both"
        );
    }
}
