//! A checksum over a buffer, a number of rounds long: every round does the same work.
//!
//! Each step waits for the one before; such a chain hardly feels what other work on the core does.

mod bench;

const ROUNDS: u32 = 100;

fn main() {
    let buffer: Vec<u64> = (0..32_768).collect();
    bench::measure(|| {
        let mut sum = 0u64;
        for round in 0..ROUNDS {
            for word in std::hint::black_box(&buffer) {
                sum = (sum ^ word).wrapping_mul(0x0100_0000_01b3).wrapping_add(u64::from(round));
            }
        }
        sum
    });
}
