//! Criterion.rs: `sample.json` below `CRITERION_HOME`; each sample is the total of its iterations.
//!
//! <https://criterion-rs.github.io/book/>. A case is called by its title, which is what `--list` prints: the whole name, cut off
//! after 100 bytes. The filter matches whole names. The files do not say what was measured: a measurement of another kind than
//! wall time, such as cycles, is told by the line that the case has in stdout.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::cargo::{self, DeclaredTarget, TargetKind};
use super::criterion_report::{CriterionReport, stdout};
use super::json::document;
use super::{
    About, Adapter, CaseName, CaseRequest, Detected, HarnessOutput, Invocation, Language, Lists, Place,
    Program, ReadError, Reading, Reads, Refusal, STDERR, SourceTree,
};
use gbench_model::Better;

pub struct Criterion;

/// What version 0.3 says of a word that came with 0.4.
const OLD: &str = "Found argument '--quiet' which wasn't expected";

/// Fewer are refused.
const MIN_SAMPLES: u32 = 10;

/// Seconds of warm-up while executions are counted.
const COUNTED_WARMUP: f64 = 0.05;

/// A title that ends so was cut off, by [`MAX_TITLE`].
const CUT_OFF: &str = "...";
/// Bytes of a name in a title; up to 3 fewer where a character would be cut.
const MAX_TITLE: usize = 100;

impl Adapter for Criterion {
    fn name(&self) -> &'static str {
        "criterion"
    }

    fn about(&self) -> About {
        About {
            title: "Criterion.rs",
            language: Language::Rust,
            lists: Lists::Named,
            filters: true,
            orders: false,
            reads: Reads::Samples,
            tried: &["0.4.0", "0.5.1", "0.8.2"],
        }
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        cargo::detect(tree, kind)
    }

    fn recognises(&self, program: &Program) -> bool {
        program.holds("This executable is a Criterion.rs benchmark")
    }

    /// `--quiet` changes nothing here: a version that does not know it cannot be told to measure for less than seconds either, and
    /// says so before anything runs.
    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        let words = ["--list", "--quiet", "--color", "never"].map(str::to_owned).to_vec();
        Some(cargo::invocation(ask.command, words).env("CRITERION_HOME", ask.out))
    }

    fn read_list(&self, output: &HarnessOutput) -> Result<Vec<CaseName>, ReadError> {
        // Version 0.4 says `bench`.
        let name = |line: &'_ str| {
            let name = line.strip_suffix(": benchmark").or_else(|| line.strip_suffix(": bench"));
            name.map(CaseName::plain)
        };
        Ok(stdout(output)?.lines().filter_map(name).collect())
    }

    fn refusal(&self, output: &HarnessOutput) -> Option<Refusal> {
        let old = memchr::memmem::find(output.files.get(STDERR)?, OLD.as_bytes()).is_some();
        old.then_some(Refusal {
            cause: "its program is of version 0.3 or older, which measures each case for whole seconds",
            advice: "let Cargo.toml ask for `criterion` 0.4 or later",
        })
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        Some(measuring(ask, ask.amount.warmup, ask.amount.samples))
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        let text = stdout(output)?;
        let report = CriterionReport::of(text);
        let mut readings = Vec::new();
        for (path, bytes) in output.files.ending("/new/benchmark.json") {
            let sample = path.strip_suffix("benchmark.json").unwrap_or(path).to_owned() + "sample.json";
            let benchmark: Benchmark = document(Some(path), bytes)?;
            let sampled: Sample = document(Some(&sample), output.files.need(&sample)?)?;
            let refused = |key: &str, what: &str| {
                ReadError::new(Place::Path { file: Some(sample.clone()), path: key.to_owned() }, what)
            };
            if !["Linear", "Flat"].contains(&sampled.sampling_mode.as_str()) {
                return Err(refused("sampling_mode", "it is neither Linear nor Flat"));
            }
            if sampled.iters.len() != sampled.times.len() || sampled.iters.is_empty() {
                return Err(refused("iters", "there are not as many as times, or none"));
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
                let what = "its samples are not in nanoseconds: it measures something else than wall time";
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
        // benchmark.json is the last that it writes of a case.
        for (path, _) in output.files.ending("/new/sample.json") {
            output.files.need(&path.replace("/new/sample.json", "/new/benchmark.json"))?;
        }
        Ok(readings)
    }

    /// `CRITERION_DEBUG` prints how often the warm-up ran, so that `iterations` is exact. The least analysis is left: ten
    /// samples, one resampling. The iterations follow from the seconds by the speed of the warm-up: it has to be longer than the first
    /// iteration, which takes milliseconds under Valgrind.
    fn count(&self, ask: &CaseRequest) -> Option<Invocation> {
        Some(measuring(ask, COUNTED_WARMUP, MIN_SAMPLES).env("CRITERION_DEBUG", "1"))
    }
}

/// The words to measure. A group that sets its own sample size or times keeps them.
fn measuring(ask: &CaseRequest, warmup: f64, samples: u32) -> Invocation {
    // No time at all is refused; a nanosecond is one iteration.
    let seconds = |seconds: f64| format!("{:.9}", seconds.max(1e-9));
    let mut more: Vec<String> = ["--noplot", "--quiet", "--color", "never"].map(Into::into).into();
    more.extend(["--sample-size".into(), samples.max(MIN_SAMPLES).to_string()]);
    more.extend(["--warm-up-time".into(), seconds(warmup)]);
    more.extend(["--measurement-time".into(), seconds(ask.amount.seconds)]);
    // Compares with nothing, and so keeps no copy of its files as the next baseline.
    more.extend(["--baseline-lenient".into(), "none".into()]);
    // The samples are read, not the intervals around their summary.
    more.extend(["--nresamples".into(), "1".into()]);
    if !ask.cases.is_empty() {
        let names: Vec<String> = ask.cases.iter().map(|title| pattern(title)).collect();
        more.push(format!("^(?:{})$", names.join("|")));
    }
    cargo::invocation(ask.command, more).env("CRITERION_HOME", ask.out)
}

/// A pattern of the whole name that a title belongs to.
fn pattern(title: &str) -> String {
    // The second benchmark of a name is called `name #2`, and is filtered by the name.
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
    /// Totals of the iterations.
    times: Vec<f64>,
}

/// `{"Bytes": 64}`, or `{"ElementsAndBytes": {"elements": 7, "bytes": 64}}`.
fn per_iteration(throughput: &BTreeMap<String, serde_json::Value>) -> Vec<(String, f64)> {
    let plain = throughput.iter().filter_map(|(kind, size)| Some((kind.to_lowercase(), size.as_f64()?)));
    let both = throughput.values().filter_map(|sizes| sizes.as_object()).flatten();
    plain.chain(both.filter_map(|(kind, size)| Some((kind.to_lowercase(), size.as_f64()?)))).collect()
}

/// Name and unit of a rate.
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
    let (path, manifest, name) = (&target.path, &target.manifest, &target.name);
    let runs = holds("criterion_main!") || holds("configure_from_args");
    if runs && !target.harness {
        return TargetKind::Ours(format!("{path} has a main of Criterion.rs"));
    }
    if runs {
        return TargetKind::Unclear(format!(
            "{path} uses Criterion.rs, but {manifest} does not say `harness = false` for it: add `[[bench]]` with `name = \"{name}\"` and \
             `harness = false`"
        ));
    }
    if target.harness {
        return TargetKind::NotOurs;
    }
    TargetKind::Unclear(format!(
        "{path} uses Criterion.rs without `criterion_main!`: where its main reads the command line, write `command = [\"cargo\", \
         \"bench\", \"--offline\", \"--bench\", \"{name}\"]` and `harness = \"criterion\"`"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::{Amount, MemoryTree, OutputFiles};
    use super::*;

    fn words(command: &[&str], cases: &[&str]) -> Vec<String> {
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        let amount = Amount { seconds: 0.5, warmup: 0.0, samples: 3 };
        Criterion.run(&CaseRequest { command: &command, cases, out: "/out", amount }).unwrap().argv
    }

    fn read(title: &str, sample: &str, stdout: &str) -> Result<Vec<Reading>, ReadError> {
        let benchmark = format!(r#"{{"title": "{title}", "throughput": {{"Bytes": 8}}}}"#);
        let files = [("x/new/benchmark.json", benchmark.as_str()), ("x/new/sample.json", sample)];
        let files = OutputFiles(files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())).into());
        super::super::read(&Criterion, &HarnessOutput { stdout: stdout.as_bytes(), files: &files })
    }

    const SAMPLE: &str = r#"{"sampling_mode": "Linear", "iters": [10, 20], "times": [100, 240]}"#;

    #[test]
    fn cargo_hands_on_what_stands_behind_two_dashes() {
        let argv = words(&["cargo", "bench", "--bench", "x"], &[]);
        assert_eq!(argv[..6], ["cargo", "bench", "--bench", "x", "--", "--noplot"]);
        assert_eq!(words(&["./x-0123"], &[])[..3], ["./x-0123", "--bench", "--noplot"]);
        let after = |word: &str| argv[argv.iter().position(|other| other == word).unwrap() + 1].clone();
        assert_eq!(after("--sample-size"), "10");
        assert_eq!(after("--warm-up-time"), "0.000000001");
    }

    #[test]
    fn the_filter_is_the_whole_name() {
        let filter = |case: &str| words(&["./x"], &[case]).pop().unwrap();
        assert_eq!(filter("sum 100"), "^(?:sum 100)$");
        assert_eq!(filter("a::b<int>/x?(y)|$"), r"^(?:a::b<int>/x\?\(y\)\|\$)$");
        assert_eq!(filter("short..."), r"^(?:short\.\.\.)$");
        assert_eq!(filter(&format!("{}...", "a".repeat(100))), format!("^(?:{}.+)$", "a".repeat(100)));
        assert_eq!(filter("twice #2"), r"^(?:twice|twice \#2)$");
        assert_eq!(words(&["./x"], &["a", "b"]).pop().unwrap(), "^(?:a|b)$");
    }

    #[test]
    fn a_version_without_quiet_is_told_by_what_it_says_of_it() {
        // As Criterion.rs 0.3.6 printed it.
        let old = "error: Found argument '--quiet' which wasn't expected, or isn't valid in this context\n\n\
                   USAGE:\n    x-88303587d722f556 --bench --list\n\nFor more information try --help\n";
        let refusal = |stderr: &str| {
            let files = OutputFiles([(STDERR.to_owned(), stderr.as_bytes().to_vec())].into());
            Criterion.refusal(&HarnessOutput { stdout: b"", files: &files })
        };
        assert!(refusal(old).unwrap().cause.contains("version 0.3 or older"));
        assert_eq!(refusal("error: could not compile `x`\n"), None);
        assert!(
            Criterion
                .list(&CaseRequest { command: &[], cases: &[], out: "/o", amount: Amount::LEAST })
                .unwrap()
                .argv
                .contains(&"--quiet".to_owned())
        );
    }

    #[test]
    fn a_sample_is_its_total_by_its_iterations() {
        let stdout =
            "Completed 7 iterations in 80 nanoseconds, estimated\nx    time:   [11 ns 11.0 ns 11 ns]\n";
        let reading = &read("x", SAMPLE, stdout).unwrap()[0];
        assert_eq!(reading.metrics[0].values, [10.0, 12.0]);
        assert_eq!(reading.metrics[1].values, [8e8, 8e9 / 12.0]);
        assert!(!reading.metrics[1].judged);
        assert_eq!(reading.iterations, Some(37.0));
        // A warm-up of another case is not its own.
        let stdout = "Completed 7 iterations in 80 nanoseconds\ny    time:   [1 ns 1 ns 1 ns]\nx    time:   [11 ns 11 ns 11 ns]\n";
        assert_eq!(read("x", SAMPLE, stdout).unwrap()[0].iterations, None);
        // Files without the run that made them.
        assert_eq!(read("x", SAMPLE, "").unwrap()[0].iterations, None);
    }

    #[test]
    fn a_title_is_not_taken_for_another_that_it_begins() {
        let stdout = "x2   time:   [1 ms 1 ms 1 ms]\nx\n       time:   [11 ns 11 ns 11 ns]\n";
        assert!(read("x", SAMPLE, stdout).is_ok());
        assert!(read("y", SAMPLE, stdout).is_err());
    }

    #[test]
    fn what_is_no_wall_time_is_refused() {
        for estimate in ["11 cycles", "11 ms", "11", "nan ns", "13 ns"] {
            let stdout = format!("x    time:   [{estimate} {estimate} {estimate}]\n");
            assert!(read("x", SAMPLE, &stdout).is_err(), "{estimate}");
        }
    }

    #[test]
    fn samples_that_do_not_fit_are_refused() {
        for sample in [
            r#"{"sampling_mode": "Linear", "iters": [10], "times": [100, 240]}"#,
            r#"{"sampling_mode": "Linear", "iters": [10, 0], "times": [100, 240]}"#,
            r#"{"sampling_mode": "Linear", "iters": [10, 20], "times": [100, 0]}"#,
            r#"{"sampling_mode": "Other", "iters": [10, 20], "times": [100, 240]}"#,
            r#"{"sampling_mode": "Flat", "iters": [], "times": []}"#,
            r#"{"iters": [10, 20], "times": [100, 240]}"#,
        ] {
            assert!(read("x", sample, "").is_err(), "{sample}");
        }
    }

    #[test]
    fn a_case_that_was_not_written_to_its_end_is_refused() {
        let files = OutputFiles([("x/new/sample.json".to_owned(), SAMPLE.as_bytes().to_vec())].into());
        let error = Criterion.read(&HarnessOutput { stdout: b"", files: &files }).unwrap_err();
        assert_eq!(error.to_string(), "x/new/benchmark.json: the harness did not write this file");
    }

    #[test]
    fn bench_targets_are_found_in_packages_below_the_tree() {
        let main = "use criterion::*;\ncriterion_main!(benches);\n";
        let tree = MemoryTree::of([
            ("Cargo.toml", "[workspace]\nmembers = ['a', 'b']"),
            (
                "a/Cargo.toml",
                "[package]\nname = 'a'\n[[bench]]\nname = 'x'\nharness = false\nrequired-features = ['f']",
            ),
            ("a/benches/x.rs", main),
            ("a/benches/helper/mod.rs", main),
            (
                "b/Cargo.toml",
                "[package]\nname = 'b'\n[[bench]]\nname = 'x'\nharness = false\n[[bench]]\nname = 'y'\npath = 'other/y.rs'\nharness = false",
            ),
            ("b/benches/x/main.rs", main),
            ("b/benches/no.rs", main),
            ("b/benches/old.rs", "// criterion_main!(x)\nfn main() {}"),
            (
                "b/other/y.rs",
                "use criterion::Criterion;\nfn main() { Criterion::default().configure_from_args(); }",
            ),
        ]);
        let detected = Criterion.detect(&tree);
        let found: Vec<_> = detected
            .found
            .iter()
            .map(|found| {
                (found.name.as_str(), found.dir.as_str(), found.command.join(" "), found.files[0].as_str())
            })
            .collect();
        assert_eq!(
            found,
            [
                ("a-x", "a", "cargo bench --offline --features f --bench x".into(), "a/benches/x.rs"),
                ("b-x", "b", "cargo bench --offline --bench x".into(), "b/benches/x/main.rs"),
                ("y", "b", "cargo bench --offline --bench y".into(), "b/other/y.rs"),
            ]
        );
        assert_eq!(detected.unclear.len(), 1, "{:?}", detected.unclear);
        assert!(detected.unclear[0].starts_with("b/benches/no.rs uses Criterion.rs, but b/Cargo.toml"));
    }
}
