//! `vitest bench`: `--outputJson`, with a summary by tinybench for each case, without raw samples.
//! <https://vitest.dev/guide/features.html#benchmarking>.
//!
//! No flag sets the duration of a case, and tinybench's default is half a second; a Node loader gives tinybench another
//! default. Vitest 2 ignores `--testNamePattern` and measures the whole file; since version 3 it measures the requested
//! cases. A skipped case is missing from the document, one that throws has no numbers, and Vitest exits with 0 in both
//! cases.

use super::interface::prelude::*;
use super::source::javascript::{imports, name, package};

pub(crate) struct VitestBench;

const FILE: &str = "vitest-bench.json";
const BETWEEN: &str = " > ";
const ENDINGS: [&str; 8] = ["js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx"];

impl Adapter for VitestBench {
    fn about(&self) -> About {
        About {
            name: "vitest-bench",
            title: "Vitest bench",
            language: Language::JavaScript,
            lists: Lists::ByRunning,
            filters: true,
            reads: Reads::Summary,
            tried: &["2.1.9", "3.2.7", "4.1.12"],
            ..About::PLAIN
        }
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        let mut detected = Detected::default();
        for path in tree.files().iter().filter(|path| is_bench(path)) {
            if !imports(&tree.text(path).unwrap_or_default(), "vitest") {
                continue;
            }
            let Some(package) = package(tree, path, "vitest") else {
                let why = "imports vitest, and no package.json above it depends on it: add vitest there, or write its command by hand";
                detected.unclear(path, format!("{path} {why}"));
                continue;
            };
            match detected.found.iter_mut().find(|found| found.dir == package.folder) {
                Some(found) => found.files.push(path.clone()),
                None => detected.found.push(FoundBenchmark {
                    name: name(&package.folder, "vitest"),
                    command: ["npx", "vitest", "bench"].map(str::to_owned).to_vec(),
                    build: Some(package.build),
                    dir: package.folder,
                    binaries: vec!["node".into(), "npx".into(), package.manager.into()],
                    gpu: false,
                    files: vec![path.clone()],
                    why: "a file `*.bench.*` that imports vitest".into(),
                }),
            }
        }
        detected
    }

    fn recognises(&self, program: &Program) -> bool {
        let vitest =
            |word: &String| ["vitest", "vitest.mjs"].contains(&word.rsplit('/').next().unwrap_or(word));
        let mut words = program.command.iter().skip_while(|word| !vitest(word));
        words.next().is_some() && words.any(|word| word == "bench" || word == "benchmark")
    }

    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        self.run(&CaseRequest { cases: &[], ..*ask })
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        // npm would keep the flags for itself.
        let dashes =
            ask.command.first().is_some_and(|word| word == "npm") && !ask.command.contains(&"--".into());
        let mut more: Vec<String> = dashes.then(|| "--".to_owned()).into_iter().collect();
        more.extend(["--run".into(), "--no-file-parallelism".into()]);
        more.push(format!("--outputJson={}/{FILE}", ask.out));
        if !ask.cases.is_empty() {
            let mut names = Vec::new();
            for case in ask.cases {
                let (file, name) = case.split_once(BETWEEN).unwrap_or(("", case));
                names.push(full_name(name));
                // A filter selects all files whose path contains it: other files with this suffix may have the case or
                // not.
                if !file.is_empty() && !more.iter().any(|word| word == file) {
                    more.push(file.to_owned());
                }
            }
            more.push(format!("--testNamePattern=^(?:{})$", names.join("|")));
        }
        let invocation = Invocation::of(ask.command, more).env("NO_COLOR", "1");
        Some(invocation.env("NODE_OPTIONS", format!("--import={}", defaults(ask.amount))))
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        let report: Report = document(Some(FILE), output.files.need(FILE)?)?;
        let mut readings = Vec::new();
        for (file, entry) in report.files.iter().enumerate() {
            for (group, entry) in entry.groups.iter().enumerate() {
                for (place, benchmark) in entry.benchmarks.iter().enumerate() {
                    let path = format!("files[{file}].groups[{group}].benchmarks[{place}]");
                    readings.push(reading(&entry.full_name, benchmark, path)?);
                }
            }
        }
        Ok(readings)
    }
}

/// A module that Node imports first and that gives every import of tinybench other default times. A case's own times take
/// precedence. Its hook is a separate module, and both are data URLs, so that no file is needed.
fn defaults(amount: Amount) -> String {
    let [time, warmup] = [amount.seconds, amount.warmup].map(|seconds| (seconds * 1e6).round() / 1e3);
    let class = format!(
        "class Bench extends Own {{ constructor(options) {{super({{ time: {time}, warmupTime: {warmup}, ...options }}) }} }}"
    );
    let hook = [
        "export async function load(url, context, next) {",
        "if (!/[/]tinybench[/]dist[/]index[.]m?js$/.test(url)) return next(url, context);",
        "const own = JSON.stringify(url + '?own');",
        "return { format: 'module', shortCircuit: true, source:",
        "'import { Bench as Own } from ' + own + '; export * from ' + own +",
        &format!("'; export {class}' }}"),
        "}",
    ]
    .concat();
    module(&format!("import {{ register }} from 'node:module'; register('{}')", module(&hook)))
}

/// A module as a URL of letters, digits and `%` only, because it is quoted and part of a word list.
fn module(source: &str) -> String {
    let escaped = |byte: u8| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    format!("data:text/javascript,{}", source.bytes().map(escaped).collect::<String>())
}

#[derive(Deserialize)]
struct Report {
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    full_name: String,
    benchmarks: Vec<Benchmark>,
}

/// Times in milliseconds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Benchmark {
    name: String,
    mean: Option<f64>,
    /// Since Vitest 2.
    median: Option<f64>,
    sd: Option<f64>,
    rme: Option<f64>,
    sample_count: Option<u64>,
    total_time: Option<f64>,
}

/// Errors: a measured benchmark lacks figures, or has no sample.
fn reading(group: &str, benchmark: &Benchmark, path: String) -> Result<Reading, ReadError> {
    let refused = |key: &str, what: &str| Err(ReadError::path(FILE, format!("{path}.{key}"), what));
    let mut reading = Reading::new(CaseName::plain(format!("{group}{BETWEEN}{}", benchmark.name)));
    let (mean, count) = match (benchmark.mean, benchmark.sample_count) {
        (None, None) if benchmark.median.is_none() && benchmark.total_time.is_none() => {
            return Ok(reading.with_end(failed("it threw: there is no measurement")));
        }
        (None, _) => return refused("mean", "it is missing"),
        (_, None) => return refused("sampleCount", "it is missing"),
        (_, Some(0)) => return refused("sampleCount", "nothing ran"),
        (Some(mean), Some(count)) => (mean, count),
    };
    let summary = |value| SummaryReading { value, stddev: benchmark.sd, count: Some(count) };
    summarised(&mut reading, "time", "ms", summary(benchmark.median.unwrap_or(mean)));
    if benchmark.median.is_some() {
        // A median of fast code is as coarse as the clock.
        summarised(&mut reading, "mean", "ms", summary(mean)).judged = false;
    }
    reading.note("rme", benchmark.rme);
    Ok(reading)
}

/// A regular expression for the groups and the name of a benchmark, joined by spaces as `--testNamePattern` sees them.
/// Names may contain the document's separator, too.
fn full_name(name: &str) -> String {
    name.split(BETWEEN).map(regex::escape).collect::<Vec<_>>().join("(?: >)? ")
}

/// `x.bench.ts`, `x.benchmark.mjs`: Vitest's default files.
fn is_bench(path: &str) -> bool {
    let mut parts = path.rsplit('.');
    let (end, kind) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    ENDINGS.contains(&end) && ["bench", "benchmark"].contains(&kind)
}
