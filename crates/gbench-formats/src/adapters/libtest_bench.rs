//! `#[bench]` of Rust's test harness: a line per benchmark on stdout, with the median of 50 samples.
//! <https://doc.rust-lang.org/unstable-book/library-features/test.html>.
//!
//! It determines its own duration, up to some seconds per case, and keeps no samples. It is unstable: a stable compiler
//! needs `RUSTC_BOOTSTRAP=1`. The output of the benchmarks is captured, unless the environment has `RUST_TEST_NOCAPTURE`.

use super::interface::prelude::*;
use super::source::cargo::{self, DeclaredTarget, TargetKind, packages, without_comments};

pub(crate) struct LibtestBench;

const SAMPLES: u64 = 50;

impl Adapter for LibtestBench {
    fn about(&self) -> About {
        About {
            name: "libtest-bench",
            title: "Rust #[bench]",
            language: Language::Rust,
            lists: Lists::Named,
            filters: true,
            reads: Reads::Summary,
            tried: &["1.95.0", "1.97.0-nightly"],
            ..About::PLAIN
        }
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        let mut detected = cargo::detect(tree, kind);
        libraries(tree, &mut detected);
        for found in detected.found.iter_mut().filter(|_| !nightly(tree)) {
            let env = || ["env".to_owned(), "RUSTC_BOOTSTRAP=1".to_owned()].into_iter();
            found.command.splice(0..0, env());
            match &mut found.build {
                Some(BuildStep::Command(words)) => _ = words.splice(0..0, env()),
                Some(BuildStep::Shell(line)) => line.insert_str(0, "export RUSTC_BOOTSTRAP=1; "),
                None => {}
            }
            found.why.push_str("; a stable compiler takes it with RUSTC_BOOTSTRAP=1");
        }
        detected
    }

    /// Every program with this harness, also one with tests only.
    fn recognises(&self, program: &Program) -> bool {
        program.holds("ns/iter (+/- ") && program.holds("RUST_TEST_THREADS")
    }

    /// Without the flag it runs tests.
    fn calibrates(&self, program: &Program) -> bool {
        program.command.iter().any(|word| word == "bench" || word == "--bench")
    }

    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        Some(cargo::invocation(ask.command, vec!["--list".into()]))
    }

    fn read_list(&self, output: &HarnessOutput) -> Result<Vec<CaseName>, ReadError> {
        let text = output.text()?;
        Ok(text.lines().filter_map(|line| line.strip_suffix(": benchmark")).map(CaseName::plain).collect())
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        let mut more: Vec<String> = vec!["--color".into(), "never".into()];
        if !ask.cases.is_empty() {
            more.push("--exact".into());
            more.extend(ask.cases.iter().map(|case| (*case).to_owned()));
        }
        Some(cargo::invocation(ask.command, more))
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        let mut readings = Vec::new();
        let mut section = Section::default();
        for (index, line) in output.text()?.split_inclusive('\n').enumerate() {
            let Some(line) = line.strip_suffix('\n') else { break };
            if line.starts_with("test result: ") {
                readings.extend(section.end(true));
            } else if let Some(rest) = line.strip_prefix("test ") {
                section.add(rest, index + 1)?;
            }
        }
        readings.extend(section.end(false));
        Ok(readings)
    }
}

#[derive(Default)]
struct Section {
    ran: Vec<Reading>,
    /// Ignored benchmarks, and where name and padding end in the line.
    ignored: Vec<(Reading, usize)>,
    /// The same position for a benchmark.
    width: Option<usize>,
}

impl Section {
    /// `sum_100       ... bench:          29.78 ns/iter (+/- 129.54)`, or `... FAILED`, or `... ignored, too slow`.
    fn add(&mut self, line: &str, number: usize) -> Result<(), ReadError> {
        let refused = |what: String| Err(ReadError::line(number, what));
        let Some((padded, result)) = line.split_once(" ... ") else {
            return refused("it names a benchmark and says nothing of it".into());
        };
        let mut reading = Reading::new(CaseName::plain(padded.trim_end()));
        let ignored = result.strip_prefix("ignored").filter(|rest| rest.is_empty() || rest.starts_with(", "));
        if let Some(reason) = ignored {
            let reason = reason.trim_start_matches(", ");
            let reason = if reason.is_empty() { "it is marked `#[ignore]`" } else { reason };
            reading.end = skipped(reason);
            self.ignored.push((reading, padded.len()));
            return Ok(());
        }
        self.width = Some(padded.len());
        if result == "FAILED" {
            reading.end = failed("it failed; its output says why");
            self.ran.push(reading);
            return Ok(());
        }
        let measured = result.strip_prefix("bench:").and_then(Measured::of);
        let Some(measured) = measured else { return refused(format!("`{result}` is not known")) };
        if measured.median == 0.0 {
            let message = "it took no time: it does not call `iter`, or what it measures is optimised away";
            self.ran.push(reading.with_end(failed(message)));
            return Ok(());
        }
        let summary = |value| Some(summary(value, None, Some(SAMPLES)));
        reading.metric("time", "ns", None).summary = summary(measured.median);
        // From the slowest to the fastest sample, without outliers.
        reading.metadata.insert("spread_ns".into(), measured.spread.into());
        if let Some(rate) = measured.rate {
            let metric = reading.metric("throughput", "MB/s", Some(Better::Higher));
            (metric.summary, metric.judged) = (summary(rate), false);
        }
        self.ran.push(reading);
        Ok(())
    }

    /// All readings. Tests are also listed as ignored when benchmarks run: their names have no padding. `whole`: all
    /// lines were read.
    fn end(&mut self, whole: bool) -> Vec<Reading> {
        let section = std::mem::take(self);
        let widest = section.ignored.iter().map(|(_, width)| *width).max().filter(|_| whole);
        let width = section.width.or(widest);
        let benchmarks = section.ignored.into_iter().filter(|(_, at)| Some(*at) == width);
        section.ran.into_iter().chain(benchmarks.map(|(reading, _)| reading)).collect()
    }
}

struct Measured {
    /// Nanoseconds.
    median: f64,
    spread: f64,
    /// Megabytes per second.
    rate: Option<f64>,
}

impl Measured {
    /// `   4,826,229.70 ns/iter (+/- 2,015,670.37) = 6,400 MB/s`
    fn of(text: &str) -> Option<Self> {
        let (median, rest) = text.split_once(" ns/iter (+/- ")?;
        let (spread, rest) = rest.split_once(')')?;
        let rate = match rest.strip_prefix(" = ") {
            Some(rate) => Some(number(rate.strip_suffix(" MB/s")?)?),
            None if rest.is_empty() => None,
            None => return None,
        };
        Some(Self { median: number(median.trim())?, spread: number(spread)?, rate })
    }
}

/// A number with commas between thousands. `None`: not a number, or commas elsewhere.
fn number(text: &str) -> Option<f64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.split(',');
    let first = groups.next().filter(|first| digits(first))?;
    let grouped = whole.contains(',');
    if !digits(fraction)
        || grouped && first.len() > 3
        || !groups.all(|group| group.len() == 3 && digits(group))
    {
        return None;
    }
    text.replace(',', "").parse().ok()
}

fn kind(target: &DeclaredTarget) -> TargetKind {
    if !target.text.contains("#[bench]") || !target.harness {
        return TargetKind::NotOurs;
    }
    TargetKind::Ours(format!("{} has `#[bench]`", target.path))
}

fn libraries(tree: &dyn SourceTree, detected: &mut Detected) {
    for (dir, manifest, table) in packages(tree) {
        let Some(name) = table["package"].get("name").and_then(|name| name.as_str()) else { continue };
        let folder = cargo::below(&dir, "src/");
        let sources = tree.files().iter().filter(|path| path.starts_with(&folder) && path.ends_with(".rs"));
        let files: Vec<String> = sources
            .filter(|path| without_comments(&tree.text(path).unwrap_or_default()).contains("#[bench]"))
            .cloned()
            .collect();
        let Some(first) = files.first() else { continue };
        let off = table.get("lib").and_then(|lib| lib.get("bench")).and_then(|bench| bench.as_bool())
            == Some(false);
        let library = table.contains_key("lib") || tree.files().contains(&cargo::below(&dir, "src/lib.rs"));
        if off || !library {
            let sentence = format!(
                "{first} has `#[bench]`, but {manifest} has no library that is benchmarked: write `command = [\"cargo\", \"bench\", \
                 \"--offline\", \"--bin\", \"NAME\"]` and `harness = \"libtest-bench\"` for its program"
            );
            detected.unclear(first, sentence);
            continue;
        }
        let words = |more: &str| ["cargo", "bench", more, "--lib"].map(str::to_owned).to_vec();
        detected.found.push(FoundBenchmark {
            name: name.to_owned(),
            command: words("--offline"),
            build: Some(cargo::build(&dir, words("--no-run"))),
            dir,
            binaries: vec!["cargo".into()],
            gpu: false,
            why: format!("{first} has `#[bench]`"),
            files,
        });
    }
}

/// True if the tree itself requests a nightly compiler.
fn nightly(tree: &dyn SourceTree) -> bool {
    ["rust-toolchain.toml", "rust-toolchain"]
        .iter()
        .any(|path| tree.text(path).is_some_and(|text| text.contains("nightly")))
}
