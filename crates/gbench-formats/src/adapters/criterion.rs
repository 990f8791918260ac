//! Criterion.rs: `sample.json` below `CRITERION_HOME`; each sample is the total of its iterations.
//! <https://criterion-rs.github.io/book/>.
//!
//! A case is named by its title, as `--list` prints it: the full name, cut off after 100 bytes. The filter matches full
//! names. The files do not name the measured quantity: a measurement other than wall time, such as cycles, is recognised
//! by the case's line in stdout.

mod report;

use std::collections::BTreeMap;

use self::report::CriterionReport;
use super::interface::prelude::*;
use super::source::cargo::{self, DeclaredTarget, TargetKind};

pub(crate) struct Criterion;

/// The complaint of version 0.3 about a flag that came with 0.4.
const OLD: &str = "Found argument '--quiet' which wasn't expected";

/// Criterion.rs refuses fewer.
const MIN_SAMPLES: u32 = 10;

/// Seconds of warm-up while executions are counted.
const COUNTED_WARMUP: f64 = 0.05;

/// The end of a title that was cut off, see [`MAX_TITLE`].
const CUT_OFF: &str = "...";
/// Bytes of a name in a title; up to 3 fewer if a character would be cut.
const MAX_TITLE: usize = 100;

impl Adapter for Criterion {
    fn about(&self) -> About {
        About {
            name: "criterion",
            title: "Criterion.rs",
            language: Language::Rust,
            lists: Lists::Named,
            filters: true,
            reads: Reads::Samples,
            tried: &["0.4.0", "0.5.1", "0.8.2"],
            ..About::PLAIN
        }
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        cargo::detect(tree, kind)
    }

    fn recognises(&self, program: &Program) -> bool {
        program.holds("This executable is a Criterion.rs benchmark")
    }

    /// `--quiet` has no effect here: a version without it also lacks the flag for less than a second of measurement, and
    /// fails before it runs anything.
    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        let words = ["--list", "--quiet", "--color", "never"].map(str::to_owned).to_vec();
        Some(cargo::invocation(ask.command, words).env("CRITERION_HOME", ask.out))
    }

    fn read_list(&self, output: &HarnessOutput) -> Result<Vec<CaseName>, ReadError> {
        // Version 0.4 prints `bench`.
        let name = |line: &'_ str| {
            let name = line.strip_suffix(": benchmark").or_else(|| line.strip_suffix(": bench"));
            name.map(CaseName::plain)
        };
        Ok(output.text()?.lines().filter_map(name).collect())
    }

    fn refusal(&self, output: &HarnessOutput) -> Option<Refusal> {
        let old = memchr::memmem::find(output.files.get(STDERR)?, OLD.as_bytes()).is_some();
        old.then_some(Refusal {
            cause: "its program is of version 0.3 or older, which measures each case for whole seconds",
            advice: "let Cargo.toml ask for `criterion` 0.4 or later",
            lack: false,
        })
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        Some(measuring(ask, ask.amount.warmup, ask.amount.samples))
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        let text = output.text()?;
        let report = CriterionReport::of(text);
        let mut readings = Vec::new();
        for (path, bytes) in output.files.ending("/new/benchmark.json") {
            let sample = path.strip_suffix("benchmark.json").unwrap_or(path).to_owned() + "sample.json";
            let benchmark: Benchmark = document(Some(path), bytes)?;
            let sampled: Sample = document(Some(&sample), output.files.need(&sample)?)?;
            let refused = |key: &str, what: &str| ReadError::path(&sample, key, what);
            if !["Linear", "Flat"].contains(&sampled.sampling_mode.as_str()) {
                return Err(refused("sampling_mode", "it is neither Linear nor Flat"));
            }
            if sampled.iters.len() != sampled.times.len() || sampled.iters.is_empty() {
                return Err(refused("iters", "must have as many entries as `times`, and at least one"));
            }
            if sampled.iters.iter().any(|count| *count < 1.0) {
                return Err(refused("iters", "a sample without an iteration"));
            }
            if sampled.times.iter().any(|time| *time <= 0.0) {
                return Err(refused("times", "a sample that took no time"));
            }
            let pairs = sampled.times.iter().zip(&sampled.iters);
            let times: Vec<f64> = pairs.map(|(time, count)| time / count).collect();
            let line = report.as_ref().map(|report| report.case(&benchmark.title)).transpose()?;
            if line.as_ref().is_some_and(|line| !line.fits(&times)) {
                let what = "its samples are not in nanoseconds: it measures something other than wall time";
                return Err(ReadError::case(&benchmark.title, what));
            }
            let mut reading = Reading::new(CaseName::plain(&benchmark.title));
            reading.iterations =
                line.and_then(|line| line.warmed).map(|warmed| warmed + sampled.iters.iter().sum::<f64>());
            reading.metadata.insert("sampling_mode".into(), sampled.sampling_mode.into());
            for (kind, size) in benchmark.throughput.iter().flat_map(per_iteration) {
                let Some((name, unit)) = rate(&kind) else { continue };
                let values = times.iter().map(|time| size * 1e9 / time).collect();
                let metric = reading.metric(name, unit, Some(Better::Higher));
                (metric.values, metric.judged) = (values, false);
            }
            reading.metric("time", "ns", None).values = times;
            reading.metrics.rotate_right(1);
            readings.push(reading);
        }
        // Criterion.rs writes benchmark.json last.
        for (path, _) in output.files.ending("/new/sample.json") {
            output.files.need(&path.replace("/new/sample.json", "/new/benchmark.json"))?;
        }
        Ok(readings)
    }

    /// `CRITERION_DEBUG` prints the iterations of the warm-up, so that `iterations` is exact. The analysis is reduced to
    /// the minimum: ten samples, one resampling. The iterations follow from the seconds and the speed of the warm-up,
    /// which has to be longer than the first iteration: that takes milliseconds under Valgrind.
    fn count(&self, ask: &CaseRequest) -> Option<Invocation> {
        Some(measuring(ask, COUNTED_WARMUP, MIN_SAMPLES).env("CRITERION_DEBUG", "1"))
    }
}

/// A group's own sample size and times take precedence.
fn measuring(ask: &CaseRequest, warmup: f64, samples: u32) -> Invocation {
    // Zero is refused; a nanosecond is one iteration.
    let seconds = |seconds: f64| format!("{:.9}", seconds.max(1e-9));
    let mut more: Vec<String> = ["--noplot", "--quiet", "--color", "never"].map(Into::into).into();
    more.extend(["--sample-size".into(), samples.max(MIN_SAMPLES).to_string()]);
    more.extend(["--warm-up-time".into(), seconds(warmup)]);
    more.extend(["--measurement-time".into(), seconds(ask.amount.seconds)]);
    // Without a comparison it keeps no copy of its files as the next baseline.
    more.extend(["--baseline-lenient".into(), "none".into()]);
    more.extend(["--nresamples".into(), "1".into()]);
    if !ask.cases.is_empty() {
        let names: Vec<String> = ask.cases.iter().map(|title| pattern(title)).collect();
        more.push(format!("^(?:{})$", names.join("|")));
    }
    cargo::invocation(ask.command, more).env("CRITERION_HOME", ask.out)
}

fn pattern(title: &str) -> String {
    // The second benchmark with one name is called `name #2`, but the filter matches its plain name.
    let numbered = title.rsplit_once(" #").filter(|(_, number)| number.parse::<u32>().is_ok());
    let first = numbered.map(|(name, _)| format!("{}|", pattern(name))).unwrap_or_default();
    let cut = title.strip_suffix(CUT_OFF).filter(|name| (MAX_TITLE - 3..=MAX_TITLE).contains(&name.len()));
    let rest = cut.map_or("", |_| ".+");
    format!("{first}{}{rest}", regex::escape(cut.unwrap_or(title)))
}

#[derive(Deserialize)]
struct Benchmark {
    title: String,
    throughput: Option<BTreeMap<String, serde_json::Value>>,
}

#[derive(Deserialize)]
struct Sample {
    sampling_mode: String,
    iters: Vec<f64>,
    times: Vec<f64>,
}

/// `{"Bytes": 64}`, or `{"ElementsAndBytes": {"elements": 7, "bytes": 64}}`.
fn per_iteration(throughput: &BTreeMap<String, serde_json::Value>) -> Vec<(String, f64)> {
    let plain = throughput.iter().filter_map(|(kind, size)| Some((kind.to_lowercase(), size.as_f64()?)));
    let both = throughput.values().filter_map(|sizes| sizes.as_object()).flatten();
    plain.chain(both.filter_map(|(kind, size)| Some((kind.to_lowercase(), size.as_f64()?)))).collect()
}

fn rate(kind: &str) -> Option<(&'static str, &'static str)> {
    match kind {
        "bytes" | "bytesdecimal" => Some(("throughput.bytes", "B/s")),
        "bits" => Some(("throughput.bits", "bit/s")),
        "elements" => Some(("throughput.elements", "elements/s")),
        _ => None,
    }
}

fn kind(target: &DeclaredTarget) -> TargetKind {
    let holds = |text: &str| target.text.contains(text);
    if !holds("criterion") {
        return TargetKind::NotOurs;
    }
    let (path, name) = (&target.path, &target.name);
    let runs = holds("criterion_main!") || holds("configure_from_args");
    if runs && target.asks_below("criterion", 4) {
        return TargetKind::Unclear(format!(
            "{path} is of Criterion.rs 0.3 or older, which measures each case for whole seconds: let {} ask for `criterion` 0.4 or later",
            target.manifest
        ));
    }
    if runs && !target.harness {
        return TargetKind::Ours(format!("{path} has a main of Criterion.rs"));
    }
    if runs {
        return target.with_harness("Criterion.rs");
    }
    if target.harness {
        return TargetKind::NotOurs;
    }
    TargetKind::Unclear(format!(
        "{path} uses Criterion.rs without `criterion_main!`: where its main reads the command line, write `command = [\"cargo\", \
         \"bench\", \"--offline\", \"--bench\", \"{name}\"]` and `harness = \"criterion\"`"
    ))
}
