//! `planted`: a fixed chain of multiplications of a given length. It is not in the catalogue: `calibrate` gives one side more
//! of them than the other, to check that a real slowdown is found on this machine.

use std::env;
use std::hint::black_box;
use std::time::Instant;

use super::channel::Channel;
use super::pace::measure;
use super::spec::{Defaults, MetricSpec, MicroError};
use super::workload::{Workload, WorkloadRun};
use gbench_model::line::Request;
use gbench_model::{Better, Component};

/// Name of the environment variable with the work of one iteration, in per cent of the usual.
pub const WORK: &str = "GBENCH_PLANTED_WORK";

pub const INJECTED: Workload = Workload {
    name: "planted",
    description: "A chain of dependent multiplications on one core",
    components: &[Component::Cpu],
    metrics: &METRICS,
    params: &[],
    defaults: Defaults { processes: 5, iterations: 30, warmup: 10 },
    run: WorkloadRun::Host(run),
};

static METRICS: [MetricSpec; 1] =
    [MetricSpec { name: "time", unit: "s", better: Better::Lower, threshold: 0.02, judged: true }];

/// Multiplications per cent: a hundred times this takes some tenths of a millisecond.
const STEPS: u64 = 2_500;
const USUAL: u64 = 100;

fn run(request: &Request, channel: &mut Channel) -> Result<(), MicroError> {
    let given = env::var(WORK).unwrap_or_else(|_| USUAL.to_string());
    let work = given.parse().ok().filter(|work| (1..=1000).contains(work));
    let known = || MicroError::Param { name: WORK, value: given.clone(), known: "1 to 1000".into() };
    let work: u64 = work.ok_or_else(known)?;
    let mut state = request.seed | 1;
    let begun = state;
    let mut turns: u64 = 0;
    measure(request, channel, &METRICS, || {
        let begun = Instant::now();
        state = black_box(chain(black_box(state), work * STEPS));
        turns += 1;
        Ok([begun.elapsed().as_secs_f64()])
    })?;
    let wrong = f64::from(u8::from(state != jump(begun, work * STEPS * turns)));
    channel.validation("every multiplication was done", wrong, 0.5)
}

/// Knuth's MMIX multiplier: odd, so that no state is lost.
const FACTOR: u64 = 6_364_136_223_846_793_005;

fn chain(mut state: u64, steps: u64) -> u64 {
    for _ in 0..steps {
        // Hidden from the compiler, which would otherwise compute the power directly.
        state = black_box(state.wrapping_mul(FACTOR));
    }
    state
}

/// The state after `steps` steps, by repeated squaring.
fn jump(state: u64, steps: u64) -> u64 {
    let (mut power, mut factor, mut left) = (1_u64, FACTOR, steps);
    while left > 0 {
        if left % 2 == 1 {
            power = power.wrapping_mul(factor);
        }
        factor = factor.wrapping_mul(factor);
        left /= 2;
    }
    state.wrapping_mul(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_knows_how_many_steps_were_done() {
        for steps in [0, 1, 7, 8000] {
            assert_eq!(chain(5, steps), jump(5, steps));
        }
        assert_ne!(chain(5, 8), jump(5, 7));
    }
}
