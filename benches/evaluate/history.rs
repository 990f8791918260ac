//! Rules on single stored values, on the published history of a real suite. Changes between commits are real there, and
//! nobody labelled them.

use std::collections::BTreeMap;
use std::path::Path;

use gbench_ci::stats::{TQuantiles, mean, sample_stddev};

use super::traces::unpacked;

pub struct History {
    pub name: String,
    pub runs: usize,
    pub benchmarks: usize,
    /// By rule: its name, runs with an alert, alerts, and those among them that the next run takes back.
    pub rules: Vec<(String, usize, usize, usize)>,
}

type Values = BTreeMap<String, f64>;

impl History {
    pub fn read(path: &Path) -> Result<Self, String> {
        let tell = |what: String| format!("{}: {what}", path.display());
        let text = unpacked(path).map_err(|error| tell(error.to_string()))?;
        let json: serde_json::Value = serde_json::from_str(&text).map_err(|error| tell(error.to_string()))?;
        let entries = json["entries"].as_object().and_then(|entries| entries.values().next());
        let runs = entries.and_then(|runs| runs.as_array()).ok_or_else(|| tell("holds no entries".into()))?;
        let values = |run: &serde_json::Value| -> Values {
            let benches = run["benches"].as_array().into_iter().flatten();
            let value = |bench: &serde_json::Value| {
                let value = bench["value"].as_f64().filter(|value| *value > 0.0)?;
                Some((bench["name"].as_str()?.to_owned(), value))
            };
            benches.filter_map(value).collect()
        };
        let runs: Vec<Values> = runs.iter().map(values).collect();
        let mut rules = Vec::new();
        for limit in [1.1, 2.0] {
            let name = format!("github-action-benchmark {:.0} %", 100.0 * limit);
            rules.push(alerts(name, &runs, |before, now| now / before[before.len() - 1] > limit));
        }
        let mut quantiles = TQuantiles::default();
        rules.push(alerts("Bencher t 0.98, up to 30 runs".to_owned(), &runs, |before, now| {
            let last = &before[before.len().saturating_sub(30)..];
            let Some(spread) = sample_stddev(last) else { return false };
            let count = last.len() as f64;
            let limit = quantiles.upper(0.02, count - 1.0) * spread * (1.0 + 1.0 / count).sqrt();
            now > mean(last).unwrap_or(f64::NAN) + limit
        }));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self {
            name: name.trim_end_matches(".json.gz").to_owned(),
            runs: runs.len(),
            benchmarks: runs.last().map_or(0, Values::len),
            rules,
        })
    }
}

/// `is_alert`: values of the runs before, value now. An alert is taken back where the next run is nearer to the run before
/// it than to the alert: most changes of a program stay for longer than one commit.
fn alerts(
    name: String,
    runs: &[Values],
    mut is_alert: impl FnMut(&[f64], f64) -> bool,
) -> (String, usize, usize, usize) {
    let (mut red_runs, mut alerts, mut reverted) = (0, 0, 0);
    for at in 1..runs.len() {
        let mut red = false;
        for (bench, now) in &runs[at] {
            let before: Vec<f64> = runs[..at].iter().filter_map(|run| run.get(bench).copied()).collect();
            let Some(last) = before.last() else { continue };
            if is_alert(&before, *now) {
                red = true;
                alerts += 1;
                let next = runs.get(at + 1).and_then(|run| run.get(bench));
                let back = |next: &f64| *next < (last * now).sqrt();
                reverted += usize::from(next.is_some_and(back));
            }
        }
        red_runs += usize::from(red);
    }
    (name, red_runs, alerts, reverted)
}
