//! JMH: `-rf json`, with a score for each iteration of each fork. Implemented from its documented format and flags.
//! <https://github.com/openjdk/jmh>.
//!
//! A benchmark that throws is missing from the document, and JMH exits with 0 unless it runs with `-foe true`. One
//! process starts a separate JVM for each benchmark and each point.

use std::collections::BTreeMap;

use super::interface::prelude::*;

pub(crate) struct Jmh;

const FILE: &str = "jmh.json";
const BETWEEN: &str = " | ";

impl Adapter for Jmh {
    fn about(&self) -> About {
        About {
            name: "jmh",
            title: "JMH",
            language: Language::Java,
            lists: Lists::Named,
            filters: true,
            reads: Reads::Samples,
            per_operation: true,
            ..About::PLAIN
        }
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        let mut detected = Detected::default();
        for path in tree.files() {
            let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
            let text = match file {
                "pom.xml" | "build.gradle" | "build.gradle.kts" => tree.text(path).unwrap_or_default(),
                _ => continue,
            };
            // A parent that only lists the versions of its modules.
            let managed = text.contains("<dependencyManagement>") && text.contains("<modules>");
            if !(text.contains("jmh-core") || text.contains("champeau.jmh")) || managed {
                continue;
            }
            let named = ["<finalName>benchmarks<", "<uberjar.name>benchmarks<"]
                .iter()
                .any(|name| text.contains(name));
            if file != "pom.xml" || !named || !text.contains("maven-shade-plugin") {
                detected.unclear.push(format!(
                    "{path} uses JMH, but does not name the jar: write its build by hand, and `java -jar` with that jar as the command"
                ));
                continue;
            }
            let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
            let build = match folder {
                "" => words(&["mvn", "-q", "-B", "-DskipTests", "package"]),
                _ if tree.text("pom.xml").is_some_and(|text| text.contains("<module>")) => {
                    words(&["mvn", "-q", "-B", "-DskipTests", "-pl", folder, "-am", "package"])
                }
                _ => words(&["mvn", "-q", "-B", "-DskipTests", "-f", path, "package"]),
            };
            detected.found.push(FoundBenchmark {
                name: Some(folder.replace('/', "-")).filter(|name| !name.is_empty()).unwrap_or("jmh".into()),
                command: words(&["java", "-jar", "target/benchmarks.jar"]),
                build: Some(BuildStep::Command(build)),
                dir: folder.to_owned(),
                binaries: words(&["java", "mvn"]),
                gpu: false,
                files: vec![path.clone()],
                why: "a pom.xml with jmh-core that packs benchmarks.jar".into(),
            });
        }
        detected
    }

    /// By its main class, or by the list of benchmarks that its annotation processor puts into a jar.
    fn recognises(&self, program: &Program) -> bool {
        program.command.iter().any(|word| word == "org.openjdk.jmh.Main")
            || program.holds("META-INF/BenchmarkList")
    }

    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        Some(Invocation::of(ask.command, ["-lp"]))
    }

    /// `Benchmarks: `, then names, each followed by lines `  param "n" = {8, 64}`.
    fn read_list(&self, output: &HarnessOutput) -> Result<Vec<CaseName>, ReadError> {
        let text = output.text()?;
        let mut points: Vec<(&str, Vec<BTreeMap<String, String>>)> = Vec::new();
        let lines = text.lines().enumerate().skip_while(|(_, line)| line.trim_end() != "Benchmarks:").skip(1);
        for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let Some(param) = line.trim_start().strip_prefix("param ") else {
                points.push((line.trim(), vec![BTreeMap::new()]));
                continue;
            };
            let values = param.split_once(" = ").and_then(|(name, values)| {
                Some((name.trim_matches('"'), values.trim().strip_prefix('{')?.strip_suffix('}')?))
            });
            let (Some((name, values)), Some((_, points))) = (values, points.last_mut()) else {
                return Err(ReadError::line(index + 1, "not a parameter of a benchmark"));
            };
            let old = std::mem::take(points);
            points.extend(old.iter().flat_map(|point| {
                values.split(", ").map(move |value| {
                    let mut point = point.clone();
                    point.insert(name.to_owned(), value.to_owned());
                    point
                })
            }));
        }
        Ok(points
            .iter()
            .flat_map(|(name, points)| points.iter().map(move |point| case_name(name, point)))
            .collect())
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        let samples = ask.amount.samples.max(1);
        let milliseconds = |seconds: f64| format!("{:.0}ms", (seconds * 1e3).max(1.0));
        let mut more: Vec<String> = ["-rf", "json", "-rff"].map(str::to_owned).to_vec();
        more.push(format!("{}/{FILE}", ask.out));
        more.extend(["-o".into(), format!("{}/jmh.txt", ask.out)]);
        more.extend(["-f".into(), "1".into(), "-i".into(), samples.to_string()]);
        more.extend(["-r".into(), milliseconds(ask.amount.seconds / f64::from(samples))]);
        more.extend(["-wi".into(), u32::from(ask.amount.warmup > 0.0).to_string()]);
        more.extend(["-w".into(), milliseconds(ask.amount.warmup)]);
        let mut params: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for case in ask.cases {
            let mut parts = case.split(BETWEEN);
            let include = format!("^{}$", regex::escape(parts.next().unwrap_or_default()));
            more.extend(Some(include).filter(|include| !more.contains(include)));
            for (key, value) in parts.filter_map(|part| part.split_once('=')) {
                let values = params.entry(key).or_default();
                values.extend(Some(value).filter(|value| !values.contains(value)));
            }
        }
        // For several cases, all combinations of their parameters run; the reader drops the others.
        for (key, values) in params {
            more.extend(["-p".into(), format!("{key}={}", values.join(","))]);
        }
        Some(Invocation::of(ask.command, more))
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        let report: Vec<Entry> = document(Some(FILE), output.files.need(FILE)?)?;
        let readings = report.iter().enumerate().map(|(index, entry)| {
            entry.read().map_err(|(key, what)| ReadError::path(FILE, format!("[{index}].{key}"), what))
        });
        let mut modes: Vec<Reading> = Vec::new();
        for reading in readings {
            let reading = reading?;
            let same = |known: &&mut Reading| known.case == reading.case && is_other_mode(known, &reading);
            match modes.iter_mut().find(same) {
                Some(known) => add_mode(known, reading),
                None => modes.push(reading),
            }
        }
        Ok(modes)
    }
}

/// True if a second entry of a benchmark is of another mode, and not the same again.
fn is_other_mode(known: &Reading, other: &Reading) -> bool {
    let main = |reading: &Reading| reading.metrics.first().map(|metric| metric.name.clone());
    main(other).is_some_and(|name| known.metrics.iter().all(|metric| metric.name != name))
}

/// The score of another mode is another metric. Profilers measure each mode.
fn add_mode(known: &mut Reading, other: Reading) {
    let mode = other.metadata.get("mode").and_then(Value::as_str).unwrap_or_default().to_owned();
    for mut metric in other.metrics {
        if known.metrics.iter().any(|known| known.name == metric.name) {
            metric.name = format!("{mode}/{}", metric.name);
        }
        known.metrics.push(metric);
    }
    let modes = [known.metadata.get("mode").and_then(Value::as_str), Some(&mode)];
    let modes: Vec<&str> = modes.into_iter().flatten().collect();
    known.note("mode", Some(modes.join(", ")));
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    benchmark: String,
    mode: String,
    jmh_version: Option<String>,
    jdk_version: Option<String>,
    vm_name: Option<String>,
    vm_version: Option<String>,
    threads: Option<u64>,
    forks: Option<u64>,
    #[serde(default)]
    jvm_args: Vec<String>,
    #[serde(default)]
    params: BTreeMap<String, String>,
    primary_metric: Metric,
    #[serde(default)]
    secondary_metrics: BTreeMap<String, Secondary>,
}

/// Times, and their number of occurrences.
type Histogram = Vec<(f64, u64)>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metric {
    score_unit: String,
    /// By fork and iteration.
    raw_data: Option<Vec<Vec<f64>>>,
    /// By fork and iteration, in the mode `sample`.
    raw_data_histogram: Option<Vec<Vec<Histogram>>>,
    score_percentiles: Option<BTreeMap<String, Value>>,
}

/// Results of profilers and groups. Values that are not numbers are texts.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Secondary {
    score: Value,
    score_unit: String,
}

impl Entry {
    fn read(&self) -> Result<Reading, (&'static str, String)> {
        if self.jmh_version.as_ref().is_some_and(|version| !version.starts_with("1.")) {
            return Err(("jmhVersion", "only version 1 is known".into()));
        }
        let mut reading = Reading::new(case_name(&self.benchmark, &self.params));
        let unit = self.primary_metric.score_unit.as_str();
        let time = |unit: &str| ["ns", "us", "ms", "s", "min"].contains(&unit);
        let known = match (self.mode.as_str(), unit.split_once('/')) {
            ("thrpt", Some(("ops", per))) if time(per) => Some(("throughput", unit, Some(Better::Higher))),
            ("avgt" | "sample" | "ss", Some((unit, "op"))) if time(unit) => Some(("time", unit, None)),
            _ => None,
        };
        let Some((name, unit, better)) = known else {
            return Err((
                "primaryMetric.scoreUnit",
                format!("`{unit}` is not a unit of the mode `{}`", self.mode),
            ));
        };
        // A thread is the usual number, and the means of many calls the usual times.
        let threads =
            self.threads.filter(|threads| *threads != 1).and_then(|threads| i64::try_from(threads).ok());
        reading.also(threads.map(|threads| ("threads".to_owned(), ParamValue::Int(threads))));
        let mode = ["sample", "ss"].contains(&self.mode.as_str()).then(|| self.mode.clone());
        reading.also(mode.map(|mode| ("mode".to_owned(), ParamValue::Text(mode))));
        let metric = reading.metric(name, unit, better);
        match (&self.primary_metric.raw_data, &self.primary_metric.raw_data_histogram) {
            (Some(forks), None) => metric.values = forks.iter().flatten().copied().collect(),
            (None, Some(forks)) => {
                let percentiles = self.primary_metric.score_percentiles.as_ref();
                let median = percentiles.and_then(|percentiles| percentiles.get("50.0")?.as_f64());
                let Some(value) = median else {
                    return Err(("primaryMetric.scorePercentiles", "it has no number at 50.0".into()));
                };
                let count = forks
                    .iter()
                    .flatten()
                    .flatten()
                    .fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
                if count == 0 {
                    return Err(("primaryMetric.rawDataHistogram", "nothing ran".into()));
                }
                metric.summary = Some(summary(value, None, Some(count)));
            }
            _ => return Err(("primaryMetric.rawData", "it is missing".into())),
        }
        for (name, secondary) in &self.secondary_metrics {
            let own = metric_name(name.trim_start_matches('·'));
            let Some(value) = secondary.score.as_f64() else { continue };
            if own.is_empty() || reading.metrics.iter().any(|metric| metric.name == own) {
                return Err(("secondaryMetrics", format!("`{name}` has no name")));
            }
            summarised(&mut reading, &own, &secondary.score_unit, alone(value)).judged = false;
        }
        let texts = [
            ("jmhVersion", &self.jmh_version),
            ("jdkVersion", &self.jdk_version),
            ("vmName", &self.vm_name),
            ("vmVersion", &self.vm_version),
        ];
        reading.note("mode", Some(self.mode.clone()));
        texts.into_iter().for_each(|(key, text)| reading.note(key, text.clone()));
        reading.note("threads", self.threads);
        reading.note("forks", self.forks);
        reading.note("jvmArgs", (!self.jvm_args.is_empty()).then(|| self.jvm_args.join(" ")));
        Ok(reading)
    }
}

fn case_name(name: &str, params: &BTreeMap<String, String>) -> CaseName {
    let mut case = CaseName::plain(name);
    for (key, value) in params {
        case.native.extend([BETWEEN, key, "=", value]);
        case.params.insert(key.clone(), int_or_text(value));
    }
    case
}
