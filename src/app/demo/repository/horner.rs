//! A long polynomial by Horner's rule: one multiplication and one addition at a time, each waiting for the last.

mod bench;

fn main() {
    let coefficients: Vec<f64> = (0..2_000).map(|i| f64::from(i % 7) - 3.0).collect();
    bench::measure(|| {
        let mut sum = 0.0;
        for step in 0..1_250 {
            let x = 0.5 + f64::from(step) * 1e-6;
            let value = std::hint::black_box(&coefficients).iter().fold(0.0, |value, c| value * x + c);
            sum += value;
        }
        sum as u64
    });
}
