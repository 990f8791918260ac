//! `cpu_flops`: matrix multiplication on one core.

use std::hint::black_box;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde_json::json;

use super::channel::Channel;
use super::gemm::Real;
use super::pace::{Evictor, Stopwatch, measure};
use super::spec::{Defaults, MetricSpec, MicroError, allocate};
use super::workload::{Workload, WorkloadRun};
use gbench_model::line::Request;
use gbench_model::{Better, Component, ParamValue};

pub(super) const FLOPS: Workload = Workload {
    name: "cpu_flops",
    description: "Blocked matrix product of 512 x 512 on one core, in single or double precision",
    components: &[Component::Cpu],
    metrics: &METRICS,
    params: &[("dtype", &["f64", "f32"])],
    defaults: Defaults { processes: 5, iterations: 30, warmup: 5 },
    run: WorkloadRun::Host(run),
};

static METRICS: [MetricSpec; 1] = [MetricSpec {
    name: "throughput",
    unit: "GFLOP/s",
    better: Better::Higher,
    threshold: 0.1,
    judged: true,
}];

/// Rows and columns: three such matrices exceed a core's private caches, so that blocking matters.
const N: usize = 512;

/// Rows and columns of the corner of the result that is checked.
const CORNER: usize = 16;

fn run(request: &Request, channel: &mut Channel) -> Result<(), MicroError> {
    match request.params.get("dtype") {
        Some(ParamValue::Text(dtype)) if dtype == "f32" => multiply::<f32>(request, channel),
        Some(ParamValue::Text(dtype)) if dtype == "f64" => multiply::<f64>(request, channel),
        other => {
            let value = other.map_or("(missing)".into(), ParamValue::to_string);
            Err(MicroError::Param { name: "dtype", value, known: "f32, f64".into() })
        }
    }
}

fn multiply<T: Real>(request: &Request, channel: &mut Channel) -> Result<(), MicroError> {
    let mut random = Pcg64::seed_from_u64(request.seed);
    let mut a = allocate("a matrix", N * N, T::default())?;
    let mut b = a.clone();
    let mut c = a.clone();
    for element in a.iter_mut().chain(&mut b) {
        // Around zero, with all bits of the mantissa in use: constant data would allow a higher clock.
        *element = T::from_f64(random.random::<f64>() - 0.5);
    }
    let mut evictor = Evictor::new(request)?;
    let watch = Stopwatch::new();
    let flops = 2.0 * (N as f64).powi(3);
    channel.metadata(None, Some(flops), [("n", json!(N)), ("threads", json!(1))])?;

    measure(request, channel, &METRICS, || {
        evictor.evict();
        let seconds = watch.seconds_per_call(|| {
            T::multiply(N, black_box(&a), black_box(&b), &mut c);
            black_box(&mut c);
        });
        Ok([flops / seconds * 1e-9])
    })?;

    let check = "the product's corner agrees with row times column";
    channel.validation(check, worst_error(&a, &b, &c), 1.0)
}

/// The largest error in the result's last corner, as a share of what rounding allows.
///
/// A sum of n products is off by at most n u |a|·|b| / (1 - n u), u the unit roundoff (Higham, Accuracy and
/// Stability of Numerical Algorithms, 2002, section 3.1); EPSILON is 2 u, which covers the denominator.
fn worst_error<T: Real>(a: &[T], b: &[T], c: &[T]) -> f64 {
    let mut worst: f64 = 0.0;
    for row in N - CORNER..N {
        for column in N - CORNER..N {
            let products = (0..N).map(|k| a[row * N + k].to_f64() * b[k * N + column].to_f64());
            let (sum, size) =
                products.fold((0.0, 0.0), |(sum, size), product| (sum + product, size + product.abs()));
            let error = (c[row * N + column].to_f64() - sum).abs() / (N as f64 * T::EPSILON * size);
            // `max` would ignore a NaN.
            worst = if error > worst || error.is_nan() { error } else { worst };
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_product_is_seen() {
        let a: Vec<f32> = (0..N * N).map(|index| (index % 7) as f32 - 3.0).collect();
        let mut c = vec![0.0; N * N];
        f32::multiply(N, &a, &a, &mut c);
        assert!(worst_error(&a, &a, &c) <= 1.0);
        c[N * N - 1] += 10.0;
        assert!(worst_error(&a, &a, &c) > 1.0);
        c[N * N - 2] = f32::NAN;
        assert!(worst_error(&a, &a, &c).is_nan());
    }
}
