//! Primes below a million and a half, by the sieve of Eratosthenes.

mod bench;

fn main() {
    let mut composite = vec![false; 1_500_000];
    bench::measure(|| {
        composite.fill(false);
        let mut primes = 0;
        for n in 2..composite.len() {
            if !composite[n] {
                primes += 1;
                for multiple in (n * n..composite.len()).step_by(n) {
                    composite[multiple] = true;
                }
            }
        }
        primes
    });
}
