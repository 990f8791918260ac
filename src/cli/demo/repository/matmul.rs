//! A small matrix product, row by row.

mod bench;

const N: usize = 224;

fn main() {
    let a: Vec<f32> = (0..N * N).map(|i| (i % 7) as f32).collect();
    let b: Vec<f32> = (0..N * N).map(|i| (i % 5) as f32).collect();
    let mut c = vec![0.0f32; N * N];
    bench::measure(|| {
        c.fill(0.0);
        for i in 0..N {
            for k in 0..N {
                let x = a[i * N + k];
                for j in 0..N {
                    c[i * N + j] += x * b[k * N + j];
                }
            }
        }
        c.iter().sum::<f32>() as u64
    });
}
