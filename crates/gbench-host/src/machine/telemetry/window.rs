//! Summarises the readings of a window of time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::reading::MachineReading;
use crate::machine::gpu_reading::{GpuReading, GpuState, Whose};
use gbench_model::{ForeignProcess, GpuTelemetry, MeanPower, PcieLink, PowerSource, Spread, Telemetry};

/// Energy is not derived from fewer power samples.
const MIN_POWER_SAMPLES: usize = 3;

/// `from` to `to` is the window. `readings` are in order, and include those before the window. `started`: when the
/// process started; no earlier GPU activity can belong to it.
pub(super) fn window(
    readings: &[MachineReading],
    started: Instant,
    (from, to): (Instant, Instant),
    interval: Duration,
) -> Telemetry {
    let within: Vec<&MachineReading> = readings.iter().filter(|it| (from..=to).contains(&it.at)).collect();
    let before = readings.iter().rfind(|reading| reading.at <= started);
    let seconds = to.saturating_duration_since(from).as_secs_f64();
    let due = (seconds / interval.as_secs_f64().max(1e-3)) as u32;
    let samples = within.len() as u32;
    Telemetry {
        interval: interval.as_secs_f64(),
        seconds,
        samples,
        missed: due.saturating_sub(samples),
        cost: cost(&within),
        source: None,
        cpu: Spread::of(within.iter().filter_map(|reading| reading.cpu)),
        memory: Spread::of(within.iter().filter_map(|reading| reading.record().memory_percent)),
        gpus: gpus(&within, before),
    }
}

fn cost(within: &[&MachineReading]) -> Option<f64> {
    let [first, .., last] = within else { return None };
    let seconds = last.at.saturating_duration_since(first.at).as_secs_f64();
    Some((last.cost - first.cost) / seconds).filter(|cores| cores.is_finite())
}

fn gpus(within: &[&MachineReading], before: Option<&MachineReading>) -> Vec<GpuTelemetry> {
    let mut indices: Vec<u32> =
        within.iter().flat_map(|reading| &reading.gpus).map(|gpu| gpu.index).collect();
    indices.sort_unstable();
    indices.dedup();
    let of = |reading: &'_ &MachineReading, index: u32| {
        reading.gpus.iter().find(|gpu| gpu.index == index).cloned()
    };
    let one = |index: u32| {
        let met: Vec<(Instant, GpuReading)> =
            within.iter().filter_map(|reading| Some((reading.at, of(reading, index)?))).collect();
        gpu(&met, before.and_then(|before| of(&before, index)))
    };
    indices.into_iter().filter_map(one).collect()
}

/// One GPU's readings with their times.
fn gpu(met: &[(Instant, GpuReading)], before: Option<GpuReading>) -> Option<GpuTelemetry> {
    let (_, first) = met.first()?;
    let known: Vec<(Instant, &GpuState)> =
        met.iter().filter_map(|(at, gpu)| Some((*at, gpu.state.as_ref().ok()?))).collect();
    let mut gaps = BTreeMap::new();
    for gap in met.iter().filter_map(|(_, gpu)| gpu.state.as_ref().err()) {
        *gaps.entry(*gap).or_default() += 1;
    }
    let mut throttled = BTreeMap::new();
    for reason in known.iter().flat_map(|(_, state)| &state.reasons) {
        *throttled.entry(reason.clone()).or_default() += 1;
    }
    let spread = |figure: fn(&GpuState) -> Option<f64>| {
        Spread::of(known.iter().filter_map(|(_, state)| figure(state)))
    };
    let least = |figure: fn(&GpuState) -> Option<u32>| known.iter().filter_map(|(_, it)| figure(it)).min();
    Some(GpuTelemetry {
        index: first.index,
        uuid: first.uuid.clone(),
        samples: known.len() as u32,
        gaps,
        sm_clock: spread(|state| state.sm_clock),
        memory_clock: spread(|state| state.memory_clock),
        power: spread(|state| state.power),
        temperature: spread(|state| state.temperature),
        utilization: spread(|state| state.utilization),
        memory_used: spread(|state| state.memory_used.map(|bytes| bytes as f64)),
        mean_power: mean_power(&known),
        throttled,
        pcie_generation: least(|state| state.pcie_generation),
        pcie_width: least(|state| state.pcie_width),
        link: link(&known),
        used: known.iter().any(|(_, state)| state.users(Whose::Ours).next().is_some()),
        foreign: foreign(&known, before),
    })
}

/// Readings under load below which nothing is said of the link.
const MIN_LOADED: usize = 3;

fn link(known: &[(Instant, &GpuState)]) -> Option<PcieLink> {
    let loaded = || known.iter().map(|(_, state)| *state).filter(|state| state.utilization > Some(0.0));
    let (generation, width) =
        (loaded().filter_map(|it| it.pcie_generation).max()?, loaded().filter_map(|it| it.pcie_width).max()?);
    let [max_generation, max_width] = loaded().next()?.pcie_max;
    (loaded().count() >= MIN_LOADED).then_some(PcieLink { generation, width, max_generation, max_width })
}

/// Processes of others in any reading. A process that `/proc` does not know may be ours, in a container; it is
/// included only if it existed before our process began.
fn foreign(known: &[(Instant, &GpuState)], before: Option<GpuReading>) -> Vec<ForeignProcess> {
    let earlier: Vec<u32> = before
        .and_then(|gpu| gpu.state.ok())
        .map(|state| state.users(Whose::Unknown).map(|user| user.pid).collect())
        .unwrap_or_default();
    let mut foreign: Vec<ForeignProcess> = Vec::new();
    for (_, state) in known {
        let others = state.users(Whose::Others);
        let unknown = state.users(Whose::Unknown).filter(|user| earlier.contains(&user.pid));
        for user in others.chain(unknown) {
            if !foreign.iter().any(|known| known.pid == user.pid) {
                foreign.push(user);
            }
        }
    }
    foreign
}

/// From the energy counter between the first and last reading that have it, else from the integral of the power. A
/// counter that decreased was reset; then the result is `None`.
fn mean_power(known: &[(Instant, &GpuState)]) -> Option<MeanPower> {
    let seconds = |from: Instant, to: Instant| to.saturating_duration_since(from).as_secs_f64();
    let counted: Vec<(Instant, f64)> =
        known.iter().filter_map(|(at, state)| Some((*at, state.energy?))).collect();
    if let [(from, first), .., (to, last)] = counted.as_slice()
        && counted.windows(2).all(|pair| pair[1].1 >= pair[0].1)
        && last > first
    {
        let watts = (last - first) / seconds(*from, *to);
        return watts.is_finite().then_some(MeanPower { watts, from: PowerSource::EnergyCounter });
    }
    let powers: Vec<(Instant, f64)> =
        known.iter().filter_map(|(at, state)| Some((*at, state.power?))).collect();
    let ([(from, _), .., (to, _)], true) = (powers.as_slice(), powers.len() >= MIN_POWER_SAMPLES) else {
        return None;
    };
    let joules: f64 =
        powers.windows(2).map(|pair| (pair[0].1 + pair[1].1) / 2.0 * seconds(pair[0].0, pair[1].0)).sum();
    let watts = joules / seconds(*from, *to);
    watts.is_finite().then_some(MeanPower { watts, from: PowerSource::PowerSamples })
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::machine::gpu_reading::GpuUser;
    use gbench_model::TelemetryGap;

    const INTERVAL: Duration = Duration::from_millis(500);

    fn reading(at: Instant, state: Result<GpuState, TelemetryGap>) -> MachineReading {
        let gpu = GpuReading { index: 0, uuid: Some("GPU-1".into()), model: None, state };
        MachineReading {
            at,
            when: SystemTime::UNIX_EPOCH,
            cpu: Some(10.0),
            memory: None,
            gpus: vec![gpu],
            cost: 0.0,
        }
    }

    fn drawing(power: f64, energy: Option<f64>) -> Result<GpuState, TelemetryGap> {
        Ok(GpuState { power: Some(power), energy, ..GpuState::default() })
    }

    /// The window of all readings, half a second apart.
    fn summed(states: Vec<Result<GpuState, TelemetryGap>>) -> Telemetry {
        let start = Instant::now();
        let at = |index: usize| start + INTERVAL * index as u32;
        let readings: Vec<MachineReading> =
            states.into_iter().enumerate().map(|(index, state)| reading(at(index), state)).collect();
        let end = at(readings.len() - 1);
        window(&readings, start, (start, end), INTERVAL)
    }

    #[test]
    fn the_energy_counter_goes_before_the_power_and_two_samples_of_power_are_no_energy() {
        let power = |states| summed(states).gpus[0].mean_power;
        let counted = power(vec![drawing(100.0, Some(50.0)), drawing(300.0, Some(250.0))]);
        assert_eq!(counted, Some(MeanPower { watts: 400.0, from: PowerSource::EnergyCounter }));
        assert_eq!(power(vec![drawing(100.0, None), drawing(300.0, None)]), None);
        let sampled = power(vec![drawing(100.0, None), drawing(300.0, None), drawing(300.0, None)]);
        assert_eq!(sampled, Some(MeanPower { watts: 250.0, from: PowerSource::PowerSamples }));
        let reset = power(vec![drawing(9.0, Some(50.0)), drawing(9.0, Some(70.0)), drawing(9.0, Some(1.0))]);
        assert_eq!(reset, Some(MeanPower { watts: 9.0, from: PowerSource::PowerSamples }));
        let still = power(vec![drawing(9.0, Some(50.0)), drawing(9.0, Some(50.0))]);
        assert_eq!(still, None, "a counter that stands still counts nothing");
    }

    #[test]
    fn a_gap_is_a_gap() {
        let summed = summed(vec![
            drawing(100.0, None),
            Err(TelemetryGap::NoAnswer),
            Err(TelemetryGap::NoAnswer),
            Err(TelemetryGap::GpuLost),
        ]);
        let gpu = &summed.gpus[0];
        let gaps = [(TelemetryGap::NoAnswer, 2), (TelemetryGap::GpuLost, 1)];
        assert_eq!((summed.samples, summed.missed, gpu.samples), (4, 0, 1));
        assert_eq!(gpu.gaps, BTreeMap::from(gaps));
        assert_eq!(gpu.power, Some(Spread { mean: 100.0, min: 100.0, max: 100.0 }));
        assert_eq!((gpu.sm_clock, gpu.mean_power), (None, None));
    }

    #[test]
    fn the_link_is_the_best_under_load_and_an_idle_one_is_none() {
        let state = |utilization, generation| {
            let pcie_max = [Some(5), Some(16)];
            let (pcie_generation, pcie_width) = (Some(generation), Some(8));
            Ok(GpuState {
                utilization: Some(utilization),
                pcie_generation,
                pcie_width,
                pcie_max,
                ..GpuState::default()
            })
        };
        // A link that has just left its rest is still slow; one that is idle again, too.
        let loaded = summed(vec![state(0.0, 1), state(9.0, 1), state(9.0, 4), state(9.0, 4), state(0.0, 1)]);
        let link = loaded.gpus[0].link.unwrap();
        assert_eq!((link.generation, link.width, link.is_narrow()), (4, 8, true));
        assert_eq!(link.to_string(), "generation 4 x8 of 5 x16");
        assert_eq!(summed(vec![state(0.0, 1), state(0.0, 1), state(0.0, 1)]).gpus[0].link, None);
        assert_eq!(summed(vec![state(9.0, 1), state(9.0, 1)]).gpus[0].link, None);
    }

    #[test]
    fn only_readings_of_the_window_count_and_those_that_did_not_come_are_missed() {
        let start = Instant::now();
        let readings: Vec<MachineReading> =
            [0u32, 1, 2, 8, 9].map(|index| reading(start + INTERVAL * index, drawing(1.0, None))).into();
        let from = start + INTERVAL;
        let summed = window(&readings, start, (from, start + INTERVAL * 8), INTERVAL);
        assert_eq!((summed.samples, summed.missed, summed.seconds), (3, 4, 3.5));
    }

    #[test]
    fn who_is_unknown_is_foreign_where_it_was_there_before() {
        let user = |pid, whose| GpuUser { pid, name: None, whose };
        let with = |processes| Ok(GpuState { processes, ..GpuState::default() });
        let summed = summed(vec![
            with(vec![user(7, Whose::Unknown)]),
            with(vec![
                user(7, Whose::Unknown),
                user(8, Whose::Unknown),
                user(9, Whose::Ours),
                user(10, Whose::Others),
            ]),
        ]);
        let pids: Vec<u32> = summed.gpus[0].foreign.iter().map(|user| user.pid).collect();
        assert_eq!(pids, [7, 10]);
    }
}
