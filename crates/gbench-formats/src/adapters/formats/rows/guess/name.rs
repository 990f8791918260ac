//! The unit and the statistic in the name of a field, and the words of names that are measured.

use gbench_model::{Better, direction_of_unit, is_time};

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NameParts {
    pub unit: Option<String>,
    /// The direction of the unit; `None`: unknown.
    pub better: Option<Better>,
    pub statistic: Statistic,
    /// It has a word for something that is measured: `latency`.
    pub is_measure: bool,
    /// The words without the statistic, which the statistics of one metric share.
    pub metric: String,
}

/// In the order in which one is preferred as the figure of its metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Statistic {
    /// It names none.
    #[default]
    Value,
    Median,
    Mean,
    /// A minimum, a maximum, a percentile.
    Extreme,
    Spread,
}

const TIMES: &str = "ns=ns|nsec=ns|nanos=ns|nanosecond=ns|nanoseconds=ns|us=us|\u{b5}s=us|usec=us|micros=us|\
    microsecond=us|microseconds=us|ms=ms|msec=ms|millis=ms|millisecond=ms|milliseconds=ms|sec=s|secs=s|second=s|\
    seconds=s|minute=min|minutes=min|mins=min|hour=h|hours=h";
const SIZES: &str = "bytes=B|kb=KB|mb=MB|gb=GB|tb=TB|kib=KiB|mib=MiB|gib=GiB";
const RATES: &str = "gbps=gbps|mbps=mbps|kbps=kbps|gbs=GB/s|mbs=MB/s|flops=FLOPS|mflops=MFLOPS|gflops=GFLOPS|\
    tflops=TFLOPS|pflops=PFLOPS|qps=queries/s|rps=requests/s|tps=1/s|fps=frames/s|iops=IO/s|ips=1/s";
const AMOUNTS: &str = "t=tokens|token=tokens|tokens=tokens|tok=tokens|toks=tokens|req=requests|reqs=requests|request=requests|\
    requests=requests|sample=samples|samples=samples|image=images|images=images|img=images|imgs=images|op=ops|ops=ops|it=it|\
    iter=it|iters=it|iteration=it|iterations=it|item=items|items=items|element=elements|elements=elements|elem=elements|\
    elems=elements|frame=frames|frames=frames|query=queries|queries=queries|row=rows|rows=rows|step=steps|steps=steps|\
    flop=FLOP|mflop=MFLOP|gflop=GFLOP|tflop=TFLOP|event=events|events=events|message=messages|messages=messages|\
    record=records|records=records|edge=edges|edges=edges|call=calls|calls=calls|transaction=transactions|\
    transactions=transactions";
const MEASURES: &str = "latency|latencies|duration|elapsed|runtime|walltime|throughput|bandwidth|bw|busbw|algbw|speed|ttft|\
    tpot|itl|e2el|cycles|energy|time|times|timing|fps|rate";
const MEMORY: &str = "memory|mem|rss|vram|alloc|allocated|reserved|peak|heap|footprint|used";

fn value_of(table: &'static str, word: &str) -> Option<&'static str> {
    table.split('|').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        (name == word).then_some(value)
    })
}

fn has(words: &str, word: &str) -> bool {
    words.split('|').any(|other| other == word)
}

fn statistic(word: &str) -> Option<Statistic> {
    let is_percentile = word
        .strip_prefix(['p', 'q'])
        .is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()));
    match word {
        "median" | "p50" | "med" => Some(Statistic::Median),
        "mean" | "avg" | "average" => Some(Statistic::Mean),
        "std" | "stddev" | "stdev" | "sd" | "sigma" | "stderr" | "sem" | "rsd" | "cv" | "ci" | "iqr"
        | "mad" | "var" | "variance" | "deviation" | "margin" => Some(Statistic::Spread),
        "min" | "max" | "minimum" | "maximum" | "best" | "worst" | "lowest" | "highest" => {
            Some(Statistic::Extreme)
        }
        _ => is_percentile.then_some(Statistic::Extreme),
    }
}

/// The words of a name, also of `camelCase`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        if !c.is_alphanumeric() || before.is_lowercase() && c.is_uppercase() {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().into_iter().for_each(|word| word.extend(c.to_lowercase()));
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

impl NameParts {
    pub(super) fn of(name: &str) -> Self {
        let all = words(name);
        let has_statistic = |wanted| all.iter().any(|word| statistic(word) == Some(wanted));
        let order = [Statistic::Spread, Statistic::Extreme, Statistic::Median, Statistic::Mean];
        let statistic_of_name = order.into_iter().find(|wanted| has_statistic(*wanted)).unwrap_or_default();
        let rest: Vec<&str> =
            all.iter().map(String::as_str).filter(|word| statistic(word).is_none()).collect();
        let bracketed = in_brackets(name);
        let unit = bracketed.clone().or_else(|| behind_slash(name)).or_else(|| unit_of_words(&rest));
        // `time` alone says less: `time_steps` is a size.
        let measures = rest.iter().filter(|word| has(MEASURES, word));
        let is_last = |word: &&&str| {
            let behind = rest.iter().skip_while(|other| *other != *word).skip(1);
            !has("time|times|timing|rate", word) || behind.clone().all(|other| is_unit_word(other))
        };
        let is_size = unit.as_deref().is_some_and(|unit| value_of_any(SIZES, unit));
        let is_memory = rest.iter().any(|word| has(MEMORY, word));
        let is_measure = measures.clone().any(|word| is_last(&word)) || is_size && is_memory;
        // Bytes that are not memory in use are the size of a problem.
        let unit = unit.filter(|_| !is_size || is_measure || bracketed.is_some());
        let better = unit.as_deref().and_then(direction_of_unit);
        Self { unit, better, statistic: statistic_of_name, is_measure, metric: rest.join("_") }
    }

    /// True if the name alone shows that the field is a figure.
    pub(super) fn is_figure(&self) -> bool {
        self.unit.is_some() || self.is_measure
    }
}

fn value_of_any(table: &str, unit: &str) -> bool {
    table.split('|').any(|pair| pair.split_once('=').is_some_and(|(_, value)| value == unit))
}

fn is_unit_word(word: &str) -> bool {
    ["s", "per"].contains(&word) || [TIMES, RATES].iter().any(|table| value_of(table, word).is_some())
}

/// The unit of `latency (ms)` and `bandwidth [GB/s]`.
fn in_brackets(name: &str) -> Option<String> {
    let name = name.trim_end().strip_suffix([')', ']'])?;
    let unit: String = name.rsplit_once(['(', '['])?.1.chars().filter(|c| !c.is_whitespace()).collect();
    let lower = unit.to_ascii_lowercase();
    let known = [TIMES, SIZES, RATES].into_iter().find_map(|table| value_of(table, &lower));
    let per = unit.split_once('/').filter(|(amount, _)| is_time(amount)).map(|(amount, _)| amount.to_owned());
    let is_known = direction_of_unit(&unit).is_some() || ["%", "x", "W", "C"].contains(&unit.as_str());
    per.or_else(|| is_known.then_some(unit)).or_else(|| known.map(str::to_owned))
}

/// The unit of `prompt t/s`.
fn behind_slash(name: &str) -> Option<String> {
    let (counted, time) = name.trim_end().rsplit_once('/')?;
    let counted = words(counted).pop().filter(|_| ["s", "sec", "second"].contains(&time))?;
    let amount = [AMOUNTS, SIZES].into_iter().find_map(|table| value_of(table, &counted));
    Some(format!("{}/s", amount.unwrap_or("1")))
}

/// The unit of `elapsed_ms`, `tokens_per_second`, `gb_s` and `ns_per_op`.
fn unit_of_words(words: &[&str]) -> Option<String> {
    let amount = |word: &str| value_of(AMOUNTS, word).or_else(|| value_of(SIZES, word));
    let time = |word: &str| if word == "s" { Some("s") } else { value_of(TIMES, word) };
    if let [before @ .., "per", of] = words {
        let counted = before.last().copied().unwrap_or_default();
        return match (time(of), value_of(TIMES, counted)) {
            (Some(time), _) => Some(format!("{}/{time}", amount(counted).unwrap_or("1"))),
            (None, of_amount) => of_amount.map(str::to_owned),
        };
    }
    let [before @ .., last] = words else { return None };
    let counted = before.last().copied().unwrap_or_default();
    match (amount(counted), time(last)) {
        // `gb_s` is a rate; `iteration_ms` is a time.
        (Some(amount), Some("s")) => Some(format!("{amount}/s")),
        (_, Some("s")) if *last == "s" && before.is_empty() => None,
        (_, Some(time)) => Some(time.to_owned()),
        _ => [RATES, SIZES]
            .into_iter()
            .find_map(|table| value_of(table, last))
            .or(match *last {
                "cycles" => Some("cycles"),
                "joules" => Some("J"),
                "watts" => Some("W"),
                "pct" | "percent" => Some("%"),
                _ => None,
            })
            .map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_in_names() {
        for (name, unit) in [
            ("elapsed_ms", Some("ms")),
            ("avgLatencyUs", Some("us")),
            ("time_s", Some("s")),
            ("duration_seconds", Some("s")),
            ("Latency (msec)", Some("msec")),
            ("bandwidth [GB/s]", Some("GB/s")),
            ("busbw (GB / s)", Some("GB/s")),
            ("prompt t/s", Some("tokens/s")),
            ("MB/s", Some("MB/s")),
            ("ns_per_op", Some("ns")),
            ("mem_gb_per_s", Some("GB/s")),
            ("tokens_per_second", Some("tokens/s")),
            ("tok_s", Some("tokens/s")),
            ("iterations_per_second", Some("it/s")),
            ("iteration_ms", Some("ms")),
            ("bus_gbps", Some("gbps")),
            ("tflops", Some("TFLOPS")),
            ("our_kernel.median_ms", Some("ms")),
            ("peak_memory_mb", Some("MB")),
            ("message_bytes", None),
            ("s", None),
            ("shape", None),
            ("gpu (A100)", None),
            ("score (higher is better)", None),
        ] {
            assert_eq!(NameParts::of(name).unit.as_deref(), unit, "{name}");
        }
    }

    #[test]
    fn a_measure_and_its_statistic_are_in_names() {
        let parts = |name| {
            let NameParts { statistic, is_measure, metric, .. } = NameParts::of(name);
            (statistic, is_measure, metric)
        };
        assert_eq!(parts("mean_time"), (Statistic::Mean, true, "time".into()));
        assert_eq!(parts("time.std"), (Statistic::Spread, true, "time".into()));
        assert_eq!(parts("latency_p99_ms"), (Statistic::Extreme, true, "latency_ms".into()));
        assert_eq!(parts("time_steps"), (Statistic::Value, false, "time_steps".into()));
        assert_eq!(parts("p50"), (Statistic::Median, false, String::new()));
    }
}
