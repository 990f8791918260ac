//! Divan: the tree on stdout. A case has the median of its samples, in four digits; no option prints or keeps the
//! samples. <https://docs.rs/divan>.
//!
//! A name is the path in the tree, joined by `::`, and the filter matches it. Only branches of thread counts, `t=4`,
//! cannot be selected.

mod tree;

use self::tree::{Ended, Leaf, parse, scaled};
use super::interface::prelude::*;
use super::source::cargo::{self, DeclaredTarget, TargetKind};

pub(crate) struct Divan;

/// Iterations of a sample while executions are counted: enough to make the overhead of a sample negligible.
const COUNTED_SAMPLE: u32 = 100;

impl Adapter for Divan {
    fn about(&self) -> About {
        About {
            name: "divan",
            title: "Divan",
            language: Language::Rust,
            lists: Lists::ByRunning,
            filters: true,
            reads: Reads::Summary,
            tried: &["0.1.14", "0.1.21"],
            ..About::PLAIN
        }
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        cargo::detect(tree, kind)
    }

    fn recognises(&self, program: &Program) -> bool {
        program.holds("DIVAN_SAMPLE_COUNT") || program.holds("No benchmark function registered for '")
    }

    /// `--list` omits arguments and thread counts; `--test` runs each case once and prints all names.
    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        let more = ["--test", "--color", "never"].map(Into::into).into();
        Some(cargo::invocation(ask.command, more))
    }

    fn read_list(&self, output: &HarnessOutput) -> Result<Vec<CaseName>, ReadError> {
        let (leaves, ended) = parse(output.text()?, false)?;
        match ended {
            Ended::Whole => Ok(leaves.iter().map(|leaf| case_name(&leaf.path)).collect()),
            Ended::In(name) => Err(ReadError::case(name, "it did not end, and later cases are unknown")),
        }
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        let samples = ask.amount.samples.max(1);
        Some(measuring(ask, vec!["--sample-count".into(), samples.to_string()]))
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        // A case that panics ends the process; the cases before it are valid.
        let (leaves, _) = parse(output.text()?, true)?;
        leaves.iter().map(reading).collect()
    }

    /// Samples of a fixed size until the time is over, without tuning: the printed iterations are all. Divan's
    /// calibration of itself, a second under Valgrind, is not part of this time.
    fn count(&self, ask: &CaseRequest) -> Option<Invocation> {
        let size = COUNTED_SAMPLE.to_string();
        let more = ["--sample-count", "1", "--skip-ext-time=true", "--sample-size", &size];
        Some(measuring(ask, more.map(Into::into).into()))
    }
}

/// The cases of a file, which has the whole output. Errors: a tree has no end, so that its last cases may be missing.
pub(crate) fn read_file(output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
    let (leaves, ended) = parse(output.text()?, true)?;
    if let Ended::In(name) = ended {
        let what = format!(
            "it is incomplete: its tree ends at `{name}`, and a whole one has an empty line behind it. If nothing is cut off and no \
             benchmark panicked, add this line"
        );
        return Err(ReadError::new(Place::HarnessOutput, what));
    }
    leaves.iter().map(reading).collect()
}

fn measuring(ask: &CaseRequest, mut more: Vec<String>) -> Invocation {
    let seconds = format!("{:.6}", ask.amount.seconds.max(1e-6));
    // A maximum time would include Divan's calibration before the first case, and leave that case a single iteration.
    more.extend(["--min-time".into(), seconds]);
    more.extend(["--bytes-format", "decimal", "--color", "never"].map(Into::into));
    if !ask.cases.is_empty() {
        let names: Vec<String> = ask.cases.iter().map(|name| pattern(name)).collect();
        more.push(format!("^(?:{})$", names.join("|")));
    }
    cargo::invocation(ask.command, more)
}

/// The benchmark of a case; for a branch of threads, its parent.
fn pattern(native: &str) -> String {
    threads(native).map_or_else(
        || regex::escape(native),
        |(benchmark, _)| format!("{}|{}", regex::escape(benchmark), regex::escape(native)),
    )
}

fn threads(native: &str) -> Option<(&str, i64)> {
    let (benchmark, threads) = native.rsplit_once("::t=")?;
    Some((benchmark, threads.parse().ok()?))
}

fn case_name(native: &str) -> CaseName {
    let Some((case, threads)) = threads(native) else { return CaseName::plain(native) };
    let params = Params::from([("threads".to_owned(), ParamValue::Int(threads))]);
    CaseName { native: native.to_owned(), case: case.to_owned(), params }
}

fn reading(leaf: &Leaf) -> Result<Reading, ReadError> {
    let mut reading = Reading::new(case_name(&leaf.path));
    if leaf.ignored {
        return Ok(reading.with_end(skipped("it is marked `#[ignore]`")));
    }
    let Some(values) = &leaf.values else {
        return Ok(reading.with_end(failed("it measured nothing")));
    };
    let refused = |what: String| ReadError::line(leaf.line, what);
    let times: Vec<f64> = values[..4]
        .iter()
        .map(|text| {
            scaled(text, "time")
                .map(|(time, _)| time)
                .ok_or_else(|| refused(format!("`{text}` is not a valid time")))
        })
        .collect::<Result<_, _>>()?;
    let whole =
        |text: &str| text.parse::<u64>().map_err(|_| refused(format!("`{text}` is not a whole number")));
    let (samples, iterations) = (whole(&values[4])?, whole(&values[5])?);
    let (fastest, slowest, median, mean) = (times[0], times[1], times[2], times[3]);
    if samples == 0 || iterations == 0 {
        return Err(refused("nothing ran".into()));
    }
    if median < fastest || median > slowest {
        return Err(refused("the median is not between the fastest and the slowest".into()));
    }
    // The cost of the surrounding loop is subtracted.
    if median == 0.0 {
        return Ok(reading.with_end(failed(
            "it takes no longer than the surrounding loop, which is subtracted: 0 ns cannot be compared",
        )));
    }
    let summary = |value| Some(summary(value, None, Some(samples)));
    reading.metric("time", "ns", None).summary = summary(median);
    for (name, value) in [("fastest_ns", fastest), ("slowest_ns", slowest), ("mean_ns", mean)] {
        reading.metadata.insert(name.into(), value.into());
    }
    reading.metadata.insert("samples".into(), samples.into());
    for row in &leaf.rows {
        let text = &row.median;
        let kind = row.name.as_str();
        let Some((value, unit)) = scaled(text, kind) else {
            return Err(ReadError::line(row.line, format!("`{text}` has a unit that is not known")));
        };
        let better = if kind == "throughput" { Better::Higher } else { Better::Lower };
        let name = match unit {
            "B/s" => "throughput.bytes",
            "char/s" => "throughput.chars",
            "item/s" => "throughput.items",
            "Hz" => "throughput.cycles",
            _ => kind,
        };
        let metric = reading.metric(name, unit, Some(better));
        if metric.summary.is_some() {
            return Err(ReadError::line(row.line, format!("`{name}` appears twice")));
        }
        (metric.summary, metric.judged) = (summary(value), false);
    }
    reading.iterations = Some(iterations as f64);
    Ok(reading)
}

fn kind(target: &DeclaredTarget) -> TargetKind {
    let holds = |text: &str| target.text.contains(text);
    if !holds("divan") {
        return TargetKind::NotOurs;
    }
    let runs = ["divan::main", "divan_compat::main", "Divan::from_args", "config_with_args"];
    if !runs.iter().any(|text| holds(text)) {
        return TargetKind::NotOurs;
    }
    if target.harness {
        return target.with_harness("Divan");
    }
    TargetKind::Ours(format!("{} has a main of Divan", target.path))
}
