//! Optimal partitions with costs about the median of each piece, and with a kernel.

/// Standard deviation by the median of absolute differences.
pub fn scale(series: &[f64]) -> f64 {
    let mut differences: Vec<f64> = series.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    (1.048_36 * gbench_ci::stats::median(&mut differences).unwrap_or(0.0)).max(1e-6)
}

/// Inner edges of the cheapest partition. `cost(at, deviation)`: of one run's absolute deviation from its piece's median.
pub fn partition(series: &[f64], least: usize, penalty: f64, cost: impl Fn(usize, f64) -> f64) -> Vec<usize> {
    let count = series.len();
    let mut table = Table::new(count, penalty);
    let mut sorted: Vec<(f64, usize)> = Vec::with_capacity(count);
    for start in 0..=count.saturating_sub(least) {
        if !table.cost[start].is_finite() {
            continue;
        }
        sorted.clear();
        for end in start + 1..=count {
            let value = series[end - 1];
            let place = sorted.partition_point(|(other, _)| *other < value);
            sorted.insert(place, (value, end - 1));
            if end - start >= least {
                let median = sorted[sorted.len() / 2].0;
                table.offer(
                    start,
                    end,
                    sorted.iter().map(|(value, at)| cost(*at, (value - median).abs())).sum(),
                );
            }
        }
    }
    table.edges()
}

/// Squared cost about the mean: PELT as it is mostly used (Killick, Fearnhead & Eckley 2012).
pub fn squared(series: &[f64], strength: f64) -> Vec<usize> {
    let (mut plain, mut squares) = (vec![0.0], vec![0.0]);
    for (at, value) in series.iter().enumerate() {
        plain.push(plain[at] + value);
        squares.push(squares[at] + value * value);
    }
    let count = series.len();
    let mut table = Table::new(count, strength * scale(series).powi(2) * (count as f64).ln());
    for end in 5..=count {
        for start in 0..=end - 5 {
            let sum = plain[end] - plain[start];
            table.offer(start, end, squares[end] - squares[start] - sum * sum / (end - start) as f64);
        }
    }
    table.edges()
}

/// Kernel change points with a Gaussian kernel, its width by the median heuristic (Harchaoui & Cappé 2007; Arlot, Celisse &
/// Harchaoui 2019).
pub fn kernel(series: &[f64], strength: f64) -> Vec<usize> {
    let count = series.len();
    let mut distances: Vec<f64> =
        (0..count).flat_map(|a| (0..a).map(move |b| (series[a] - series[b]).powi(2))).collect();
    let width = gbench_ci::stats::median(&mut distances).unwrap_or(1.0).max(1e-12);
    let side = count + 1;
    // Sums of the kernel over the rectangle from the origin.
    let mut sums = vec![0.0; side * side];
    for a in 0..count {
        let mut row = 0.0;
        for b in 0..count {
            row += (-(series[a] - series[b]).powi(2) / width).exp();
            sums[(a + 1) * side + b + 1] = sums[a * side + b + 1] + row;
        }
    }
    let mut table = Table::new(count, strength * (count as f64).ln());
    for end in 5..=count {
        for start in 0..=end - 5 {
            let block = sums[end * side + end] - 2.0 * sums[start * side + end] + sums[start * side + start];
            let length = (end - start) as f64;
            table.offer(start, end, length - block / length);
        }
    }
    table.edges()
}

struct Table {
    cost: Vec<f64>,
    before: Vec<usize>,
    penalty: f64,
}

impl Table {
    fn new(count: usize, penalty: f64) -> Self {
        let mut cost = vec![f64::INFINITY; count + 1];
        cost[0] = 0.0;
        Self { cost, before: vec![0; count + 1], penalty }
    }

    fn offer(&mut self, start: usize, end: usize, cost: f64) {
        let total = self.cost[start] + cost + self.penalty;
        if total < self.cost[end] {
            (self.cost[end], self.before[end]) = (total, start);
        }
    }

    fn edges(&self) -> Vec<usize> {
        let mut edges = Vec::new();
        let mut end = self.before[self.before.len() - 1];
        while end > 0 {
            edges.push(end);
            end = self.before[end];
        }
        edges.reverse();
        edges
    }
}
