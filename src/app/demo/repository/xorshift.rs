//! Random numbers by Marsaglia's xorshift: every number is made from the one before.

mod bench;

fn main() {
    bench::measure(|| {
        let mut state = std::hint::black_box(0x9e37_79b9_7f4a_7c15u64);
        for _ in 0..2_500_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        state
    });
}
