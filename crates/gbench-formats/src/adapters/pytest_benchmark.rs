//! pytest-benchmark: `--benchmark-json` has every round of a benchmark, the mean of its iterations, and pytest's JUnit
//! XML has the end of each test. <https://pytest-benchmark.readthedocs.io>.
//!
//! The JSON contains the figures of tests that fail after measuring, but neither earlier failures nor skipped tests; the
//! XML contains both, under other names. pytest orders tests by their parametrised fixtures of a wider scope.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::interface::prelude::*;
use super::readers::junit::{TestCase, TestEnd, test_cases};

mod detection;

pub(crate) struct PytestBenchmark;

pub(super) const FILE: &str = "pytest-benchmark.json";
pub(super) const ENDS: &str = "pytest.xml";

/// pytest's reason for tests that `--benchmark-only` excludes.
const NO_BENCHMARK: &str = "Skipping non-benchmark (--benchmark-only active).";

/// pytest's options whose value is the next word.
const VALUES: [&str; 22] = [
    "-k",
    "-m",
    "-p",
    "-c",
    "-o",
    "-r",
    "-W",
    "-n",
    "--rootdir",
    "--confcutdir",
    "--config-file",
    "--ignore",
    "--ignore-glob",
    "--deselect",
    "--import-mode",
    "--maxfail",
    "--override-ini",
    "--tb",
    "--basetemp",
    "--junitxml",
    "--color",
    "--durations",
];

impl Adapter for PytestBenchmark {
    fn about(&self) -> About {
        About {
            name: "pytest-benchmark",
            title: "pytest-benchmark",
            language: Language::Python,
            lists: Lists::Named,
            filters: true,
            orders: true,
            reads: Reads::Samples,
            tried: &["4.0.0", "5.3.1"],
            ..About::PLAIN
        }
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        detection::detect(tree)
    }

    fn recognises(&self, program: &Program) -> bool {
        let ours = |word: &String| word.starts_with("--benchmark-");
        after_pytest(program.command).is_some() && program.command.iter().any(ours)
    }

    /// pytest plans the fixtures of each test and runs none; tests that a mark skips are not in the plan.
    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        let more = common(ask).chain(["--setup-plan".into()]);
        Some(Invocation::of(ask.command, more))
    }

    fn read_list(&self, output: &HarnessOutput) -> Result<Vec<CaseName>, ReadError> {
        let text = output.text()?;
        let mut cases = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let bare = line.trim_matches(['_', ' ']);
            if line.starts_with('_') && bare.starts_with("ERROR collecting ") {
                return Err(ReadError::line(index + 1, bare));
            }
            let Some((name, fixtures)) = line.trim_start().rsplit_once(" (fixtures used: ") else { continue };
            let Some((fixtures, _)) = fixtures.rsplit_once(')') else { continue };
            if fixtures.split(", ").any(|fixture| fixture == "benchmark") {
                cases.push(CaseName::plain(name));
            }
        }
        Ok(cases)
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        let (amount, samples) = (ask.amount, ask.amount.samples.max(1));
        let more = [
            format!("--benchmark-min-time={:.9}", amount.seconds / f64::from(samples)),
            format!("--benchmark-max-time={:.9}", amount.seconds),
            format!("--benchmark-min-rounds={samples}"),
            // Calibration grows tenfold until it reaches this part of a round: with the default of 10 it may overshoot
            // the round fivefold.
            "--benchmark-calibration-precision=100".into(),
            // Its own warm-up takes the whole of max-time at each step of the calibration, which runs the code anyway.
            "--benchmark-warmup=off".into(),
        ];
        Some(measuring(ask, more))
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        let ends = test_cases(ENDS, output.files.need(ENDS)?)?;
        // If no benchmark completed, the file is empty or missing.
        let bytes = output.files.get(FILE).filter(|bytes| !bytes.is_empty());
        let mut measured = bytes.map(|bytes| reported(bytes, false)).transpose()?;
        let mut readings: Vec<Reading> = Vec::new();
        let mut places: HashMap<(String, String), usize> = HashMap::new();
        for case in ends {
            let key = (case.classname.clone(), case.name.clone());
            // A whole file: it cannot be imported, or skips itself.
            if case.classname.is_empty() {
                if let Some(why) = case.ends.iter().find_map(failed) {
                    return Err(ReadError::case(case.name, why));
                }
                continue;
            }
            let mut reading = match measured.as_mut().and_then(|measured| measured.remove(&key)) {
                Some(reading) => reading,
                None => Reading::new(CaseName::plain(node_id(&case))),
            };
            let end = end_of(&case);
            // A test whose teardown also fails appears twice.
            if let Some(place) = places.get(&key) {
                if let Some(end @ End::Failed { .. }) = end {
                    readings[*place].end = end;
                    readings[*place].metrics.clear();
                }
                continue;
            }
            match end {
                None => continue,
                Some(End::Measured) if reading.metrics.is_empty() => {
                    if measured.is_none() {
                        continue;
                    }
                    let message = "the test passed and measured nothing".into();
                    reading.end = End::Failed { message };
                }
                Some(End::Measured) => {}
                Some(end) => {
                    reading.metrics.clear();
                    reading.iterations = None;
                    reading.end = end;
                }
            }
            places.insert(key, readings.len());
            readings.push(reading);
        }
        match measured.into_iter().flatten().next() {
            Some((_, reading)) => {
                Err(ReadError::case(reading.case.native, format!("{ENDS} does not say how it ended")))
            }
            None => Ok(readings),
        }
    }

    /// The code runs rounds times iterations, which the file contains, and a few more times for calibration and for the
    /// result. The latter are equal for both amounts and cancel in the difference. `benchmark.pedantic` has fixed
    /// amounts: the difference is 0.
    fn count(&self, ask: &CaseRequest) -> Option<Invocation> {
        let seconds = ask.amount.seconds;
        let more = [
            "--benchmark-min-time=0.000000001".into(),
            format!("--benchmark-max-time={seconds:.9}"),
            // For a round longer than the larger amount.
            format!("--benchmark-min-rounds={}", (seconds * 20.0).ceil().max(1.0)),
            "--benchmark-calibration-precision=1".into(),
            "--benchmark-warmup=off".into(),
        ];
        Some(measuring(ask, more).env("PYTHONHASHSEED", "0"))
    }
}

/// Words for listing and measuring. The root is the working directory, so that the names of both agree. Without
/// `cacheprovider` nothing is written into the tree, and without `randomly` tests keep their order.
fn common(ask: &CaseRequest) -> impl Iterator<Item = String> {
    // Otherwise it creates `.benchmarks` in the tree.
    let storage = format!("--benchmark-storage=file://{}/storage", ask.out);
    [
        "--rootdir=.",
        "-q",
        "--color=no",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "--benchmark-enable",
        "--benchmark-only",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain([storage])
}

fn measuring(ask: &CaseRequest, more: impl IntoIterator<Item = String>) -> Invocation {
    let out = ask.out;
    let files = [
        "--benchmark-quiet".into(),
        format!("--benchmark-json={out}/{FILE}"),
        format!("--junitxml={out}/{ENDS}"),
        // With the file of each test, and without its output.
        "-o".into(),
        "junit_family=xunit1".into(),
        "-o".into(),
        "junit_logging=no".into(),
        "--tb=line".into(),
    ];
    let command = if ask.cases.is_empty() { ask.command.to_vec() } else { without_paths(ask) };
    let cases = ask.cases.iter().map(|case| (*case).to_owned());
    Invocation::of(&command, common(ask).chain(files).chain(more).chain(cases))
}

fn after_pytest(command: &[String]) -> Option<usize> {
    let of = |word: &String| ["pytest", "py.test"].contains(&word.rsplit('/').next().unwrap_or(word));
    command.iter().position(of).map(|place| place + 1)
}

/// The command without the user's files and folders, which would add tests to the requested ones.
fn without_paths(ask: &CaseRequest) -> Vec<String> {
    let Some(start) = after_pytest(ask.command) else { return ask.command.to_vec() };
    let mut kept = ask.command[..start].to_vec();
    let mut before = "";
    for word in &ask.command[start..] {
        let is_value = VALUES.contains(&before)
            // The value of an unknown option, unless the requested tests are there.
            || before.starts_with("--") && !before.contains('=') && !ask.cases.iter().any(|case| lies_in(case, word));
        if word.starts_with('-') || is_value {
            kept.push(word.clone());
        }
        before = word;
    }
    kept
}

fn lies_in(case: &str, path: &str) -> bool {
    let path = path.strip_prefix("./").unwrap_or(path).trim_end_matches('/');
    let rest = case.strip_prefix(path);
    path == "." || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':', '[']))
}

fn failed(end: &TestEnd) -> Option<String> {
    let TestEnd::Failed { message } = end else { return None };
    Some(message.lines().next().unwrap_or_default().to_owned())
}

fn end_of(case: &TestCase) -> Option<End> {
    if let Some(message) = case.ends.iter().find_map(failed) {
        return Some(End::Failed { message });
    }
    match case.ends.first() {
        Some(TestEnd::Skipped { message, .. }) if message == NO_BENCHMARK => None,
        Some(TestEnd::Skipped { kind, message }) => {
            let expected = if kind == "pytest.xfail" { "expected to fail: " } else { "" };
            Some(End::Skipped { reason: format!("{expected}{message}") })
        }
        _ => Some(End::Measured),
    }
}

/// The names under which the XML has a test: `a/b.py::C::t[x::y]` is `a.b.C` and `t[x::y]`.
fn junit_key(node_id: &str) -> (String, String) {
    let (address, params) = match node_id.find('[') {
        Some(at) => node_id.split_at(at),
        None => (node_id, ""),
    };
    let mut names: Vec<String> = address.split("::").map(str::to_owned).collect();
    names[0] = names[0].replace('/', ".");
    if let Some(bare) = names[0].strip_suffix(".py") {
        names[0] = bare.to_owned();
    }
    let last = if names.len() > 1 { names.pop().unwrap_or_default() } else { String::new() };
    (names.join("."), format!("{last}{params}"))
}

/// The inverse, for tests that the JSON lacks. An inherited test has the file of its base class: then everything before
/// the first capitalised name is the file.
fn node_id(case: &TestCase) -> String {
    let mut names: Vec<String> = Vec::new();
    let file = case.file.as_deref().unwrap_or_default();
    let module = file.strip_suffix(".py").unwrap_or(file).replace('/', ".");
    match case.classname.strip_prefix(&module).filter(|_| !module.is_empty()) {
        Some(rest) if rest.is_empty() || rest.starts_with('.') => {
            names.push(file.to_owned());
            names.extend(rest.split('.').filter(|name| !name.is_empty()).map(str::to_owned));
        }
        _ => {
            let parts: Vec<&str> = case.classname.split('.').collect();
            let capital = |part: &&str| part.starts_with(char::is_uppercase);
            let split = parts.iter().position(capital).unwrap_or(parts.len());
            names.push(format!("{}.py", parts[..split].join("/")));
            names.extend(parts[split..].iter().map(|part| (*part).to_owned()));
        }
    }
    names.push(case.name.clone());
    names.join("::")
}

#[derive(Deserialize)]
struct Report {
    version: Option<String>,
    machine_info: Option<Machine>,
    benchmarks: Vec<Entry>,
}

#[derive(Deserialize)]
struct Machine {
    python_version: Option<String>,
    python_implementation: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    fullname: Option<String>,
    group: Option<String>,
    params: Option<BTreeMap<String, Value>>,
    extra_info: Option<BTreeMap<String, Value>>,
    options: Option<BTreeMap<String, Value>>,
    stats: Option<Stats>,
}

#[derive(Deserialize)]
struct Stats {
    data: Option<Vec<f64>>,
    median: Option<f64>,
    stddev: Option<f64>,
    rounds: Option<u64>,
    iterations: Option<u64>,
}

/// The benchmarks of a report alone, which does not show the failed tests. If the data was shortened, only the median of
/// all rounds is left.
pub(super) fn measured(bytes: &[u8]) -> Result<Vec<Reading>, ReadError> {
    Ok(reported(bytes, true)?.into_values().collect())
}

/// By their names in the XML. `shortened`: the data may be shorter than the rounds.
fn reported(bytes: &[u8], shortened: bool) -> Result<BTreeMap<(String, String), Reading>, ReadError> {
    let report: Report = document(Some(FILE), bytes)?;
    let refused = |path: String, what: &str| Err(ReadError::path(FILE, path, what));
    let version = report.version.unwrap_or_default();
    if !["3", "4", "5"].contains(&version.split('.').next().unwrap_or_default()) {
        return refused("version".into(), "must be 3, 4 or 5");
    }
    let mut readings = BTreeMap::new();
    let mut seen = HashSet::new();
    for (index, entry) in report.benchmarks.into_iter().enumerate() {
        let path = |key: &str| format!("benchmarks[{index}].{key}");
        let Some(native) = entry.fullname else { return refused(path("fullname"), "it is missing") };
        let Some(stats) = entry.stats else { return refused(path("stats"), "it is missing") };
        let (Some(rounds), Some(iterations)) = (stats.rounds, stats.iterations) else {
            return refused(path("stats.rounds"), "it is missing, or iterations is");
        };
        if rounds == 0 || iterations == 0 {
            return refused(path("stats.rounds"), "nothing ran");
        }
        if !seen.insert(native.clone()) {
            return refused(path("fullname"), "it appears twice");
        }
        let key = junit_key(&native);
        let mut reading = Reading::new(CaseName::plain(native));
        // The code also runs a few times for calibration, and once for its result.
        reading.iterations = Some(rounds as f64 * iterations as f64);
        let time = reading.metric("time", "s", None);
        let is_short = |data: &Vec<f64>| shortened && stats.median.is_some() && (data.len() as u64) < rounds;
        match (stats.data.filter(|data| !is_short(data)), stats.median) {
            (Some(data), _) if data.len() as u64 == rounds => time.values = data,
            (Some(_), _) => return refused(path("stats.data"), "there are not as many as rounds"),
            (None, Some(value)) => {
                time.summary = Some(SummaryReading { value, stddev: stats.stddev, count: Some(rounds) });
            }
            (None, None) => return refused(path("stats"), "it has neither data nor median"),
        }
        let mut keep = |name: &str, value: Value| reading.metadata.insert(name.to_owned(), value);
        keep("pytest_benchmark", version.clone().into());
        keep("rounds", rounds.into());
        keep("iterations", iterations.into());
        if let Some(group) = entry.group {
            keep("group", group.into());
        }
        if let Some(machine) = &report.machine_info {
            let part = |part: &Option<String>| part.clone().unwrap_or_default();
            let python =
                format!("{} {}", part(&machine.python_implementation), part(&machine.python_version));
            keep("python", python.trim().into());
        }
        for option in ["timer", "disable_gc"] {
            if let Some(value) = entry.options.as_ref().and_then(|options| options.get(option)) {
                keep(option, value.clone());
            }
        }
        // A value without a JSON form is written as its address, which differs in every process.
        let scalar = |value: &Value| {
            value.is_number()
                || value.is_boolean()
                || value.as_str().is_some_and(|text| !text.starts_with("UNSERIALIZABLE"))
        };
        for (from, all) in [("param", entry.params), ("extra_info", entry.extra_info)] {
            for (name, value) in all.into_iter().flatten().filter(|(_, value)| scalar(value)) {
                keep(&format!("{from}.{name}"), value);
            }
        }
        readings.insert(key, reading);
    }
    Ok(readings)
}

#[cfg(test)]
mod tests;
