//! The record of files with runs of one subject.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::time::SystemTime;

use serde_json::Value;

use super::file_run::{FileRun, sources};
use super::lost::{lost, runs_of_a_case};
use crate::run::record::case_record::summary_of;
use crate::run::requests::{answered, lost_requests};
use gbench_formats::adapters::formats::{changes_by_itself, named};
use gbench_formats::adapters::{CaseName, End, LoadFields, MetricReading, Reading};
use gbench_model::{
    Better, CaseId, CaseRecord, FailureKind, Fault, Ingested, IngestedFile, Kind, Manifest, Metric,
    MetricDeclaration, Outcome, OutcomeCode, ParamValue, Params, ProcessRecord, ProcessSamples, RecordState,
    Result, RunId, RunRecord, RunSource, SCHEMA_RECORD, Stated, Thermal, Timing, ToolInfo, Unread,
    direction_of_unit, given_unit, is_counted, names_card,
};

const UNNAMED: &str = "case";
const CASE: &str = "case";

/// Percentiles of samples, as in a run without a suite file.
const PERCENTILES: [f64; 6] = [25.0, 50.0, 75.0, 90.0, 95.0, 99.0];

/// The user's answers to questions that files leave open.
#[derive(Clone, Debug, Default)]
pub struct RecordOptions {
    pub suite: String,
    pub format: String,
    /// Units by metric, if the format has none.
    pub units: BTreeMap<String, String>,
    /// Directions by metric. A metric that is named is judged.
    pub better: BTreeMap<String, Better>,
}

/// Makes one record from runs of the same subject, each a process, in order. Errors: there is no run; a flag names a metric
/// that no file has.
pub fn record(files: &[FileRun], options: &RecordOptions) -> Result<RunRecord> {
    let Some(first) = files.first() else {
        return Err(Fault::at("ingest", "no file is given", "name the files: `gbench-ci ingest FILE...`"));
    };
    belong_together(files)?;
    let started = files.iter().map(FileRun::started).min().unwrap_or_else(|| first.started());
    let mut cases: Vec<Case> = Vec::new();
    let mut places: BTreeMap<(&str, &str, &Params), usize> = BTreeMap::new();
    let by_whole_name = files.iter().any(FileRun::has_namesakes);
    for (process, file) in files.iter().enumerate() {
        for reading in &file.run.readings {
            let CaseName { native, case, params } = &reading.case;
            let whole = if by_whole_name { native.as_str() } else { "" };
            let at = *places.entry((whole, case, params)).or_insert_with(|| {
                cases.push(Case::new(&reading.case));
                cases.len() - 1
            });
            cases[at].readings.push((process, reading));
        }
    }
    named_metrics(&cases, options)?;
    refuse_contradiction(&cases, options)?;
    let ids = ids(&cases, options)?;
    let load = named(&options.format).map_or(LoadFields::NONE, |format| format.load());
    let side = FilesOfSide { files, load, runs: runs_of_a_case(files, load) };
    let mut warnings = vec![format!(
        "its figures come from {} of {}, which gbench-ci did not measure: what the machine did meanwhile is not known",
        gbench_model::text::count(sources(files).len(), "file"),
        options.format
    )];
    warnings.extend(settings_differ(files));
    let cases = cases.iter().zip(ids).map(|(case, id)| case.record(id, &side, options)).collect();
    Ok(RunRecord {
        schema: SCHEMA_RECORD.into(),
        run_id: run_id(&started, files),
        tool: ToolInfo { name: "gbench-ci".into(), version: env!("CARGO_PKG_VERSION").into() },
        state: RecordState::Complete,
        cut_short: None,
        exclusive: None,
        started: started.clone(),
        finished: Some(started),
        side: None,
        comparison: None,
        ingested: Some(Box::new(ingested(files, options))),
        source: RunSource { suite: options.suite.clone(), path: None, sha256: None },
        command: Vec::new(),
        config: BTreeMap::new(),
        manifest: Manifest::unknown("the file does not say"),
        clocks: None,
        cases,
        warnings,
    })
}

/// Checks that files of one side belong together: processes of a case differ only in their figures, and in how often they
/// measured. Errors: they name different commits, or a fact of them differs; one is a duplicate.
fn belong_together(files: &[FileRun]) -> Result<()> {
    // The value of each fact, from the first file that states it.
    let mut known: HashMap<&String, (&Value, &String)> = HashMap::new();
    for (index, file) in files.iter().enumerate() {
        let fault = |what: String, next: &str| Err(Fault::at_path(&file.path, what, next));
        // Repeated rows of a file may be processes.
        let is_copy = |other: &&FileRun| other.sha256 == file.sha256 && other.path != file.path;
        if let Some(twice) = files[..index].iter().find(is_copy) {
            let next = "give each run's own file: a copy does not show how runs differ";
            return fault(format!("it has the same content as {}", twice.path), next);
        }
        let Some(first) = files.first() else { continue };
        if let (Some(commit), Some(other)) = (&file.run.commit, &first.run.commit)
            && commit != other
        {
            let what = format!("it is of the commit {commit}, and {} of {other}", first.path);
            return fault(
                what,
                "give files of one commit, or keep each as a separate run: `gbench-ci ingest --each`",
            );
        }
        for (name, value) in file.facts().filter(|(name, _)| !changes_by_itself(name)) {
            let (before, other) = *known.entry(name).or_insert((value, &file.path));
            if before == value {
                continue;
            }
            let [here, there] = [value, before].map(fact_text);
            let what = format!("its `{name}` is {here}, and that of {other} is {there}");
            let next = if names_card(name) {
                "give files of one machine"
            } else {
                "give files of one machine and workload, or keep each as a separate run: `gbench-ci ingest --each`"
            };
            return fault(what, next);
        }
    }
    Ok(())
}

/// Files that measured more or less often are of one case: that is said.
fn settings_differ(files: &[FileRun]) -> Option<String> {
    let settings = values(files.iter().flat_map(|file| &file.run.settings));
    let differing = settings.iter().filter(|(_, values)| values.len() > 1);
    let named: Vec<String> =
        differing.map(|(name, values)| format!("`{name}` is {}", joined(values))).collect();
    (!named.is_empty()).then(|| format!("its files measured with different settings: {}", named.join(", ")))
}

/// The id from the start and a salt that depends only on the figures, so that reading them twice gives one run, wherever the
/// file is and whatever else it contains by now.
///
/// [`RunReading::more`] is not in it: earlier versions did not read these facts, and a run that a history has must not enter it a
/// second time.
fn run_id(started: &str, files: &[FileRun]) -> RunId {
    let time = humantime::parse_rfc3339_weak(started).unwrap_or(SystemTime::UNIX_EPOCH);
    let mut text = String::new();
    for file in files {
        let _ = write!(text, "{:?}{:?}", file.run.commit, file.run.facts);
        for reading in &file.run.readings {
            let _ = write!(text, "{}{}", reading.case.native, reading.end == End::Measured);
            for metric in &reading.metrics {
                let summary = metric.summary.map(|summary| summary.value);
                let _ = write!(text, "{}{}{:?}{summary:?}", metric.name, metric.unit, metric.values);
            }
        }
    }
    let sum = gbench_model::sha256_hex(text.as_bytes());
    RunId::new(time, u32::from_str_radix(&sum[..8], 16).unwrap_or_default())
}

fn ingested(files: &[FileRun], options: &RecordOptions) -> Ingested {
    let facts = values(files.iter().flat_map(|file| file.facts().chain(&file.run.settings)));
    let file = |file: &FileRun| {
        let mut unread = Unread::default();
        let runs = files.iter().filter(|other| other.path == file.path);
        runs.for_each(|run| unread.extend(run.run.unread.clone()));
        unread.give_units(&options.units);
        let (path, sha256, commit) = (file.path.clone(), file.sha256.clone(), file.run.commit.clone());
        IngestedFile { path, sha256, commit, unread }
    };
    Ingested {
        format: options.format.clone(),
        files: sources(files).into_iter().map(file).collect(),
        facts: facts.into_iter().map(|(name, values)| (name.clone(), joined(&values))).collect(),
    }
}

fn fact_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The values of each fact, in order.
fn values<'f>(
    facts: impl Iterator<Item = (&'f String, &'f Value)>,
) -> BTreeMap<&'f String, BTreeSet<String>> {
    let mut found: BTreeMap<&String, BTreeSet<String>> = BTreeMap::new();
    for (name, value) in facts {
        found.entry(name).or_default().insert(fact_text(value));
    }
    found
}

fn joined(values: &BTreeSet<String>) -> String {
    Vec::from_iter(values.iter().map(String::as_str)).join(" | ")
}

fn named_metrics(cases: &[Case], options: &RecordOptions) -> Result<()> {
    let metrics = || cases.iter().flat_map(|case| &case.readings).flat_map(|(_, reading)| &reading.metrics);
    let flags = options.units.keys().map(|name| ("--unit", name));
    let mut flags = flags.chain(options.better.keys().map(|name| ("--better", name)));
    match flags.find(|(_, name)| !metrics().any(|metric| metric.name == **name)) {
        None => Ok(()),
        Some((flag, name)) => {
            let mut known: Vec<&str> = metrics().map(|metric| metric.name.as_str()).collect();
            known.sort_unstable();
            known.dedup();
            let next = format!("use one of its metrics: {}", known.join(", "));
            Err(Fault::at_flag(format!("{flag} {name}"), "no file has this metric", next))
        }
    }
}

fn refuse_contradiction(cases: &[Case], options: &RecordOptions) -> Result<()> {
    for metric in cases.iter().flat_map(|case| &case.readings).flat_map(|(_, reading)| &reading.metrics) {
        let name = &metric.name;
        if let Some(unit) =
            options.units.get(name).filter(|unit| !metric.unit.is_empty() && **unit != metric.unit)
        {
            let what = format!("the file gives it in {}", metric.unit);
            return Err(Fault::at_flag(format!("--unit {name}={unit}"), what, "remove the flag"));
        }
        let known = metric.better.or_else(|| direction_of_unit(&metric.unit));
        if let (Some(way), Some(known)) = (options.better.get(name), known)
            && *way != known
        {
            let what = format!("by its file or its unit {} is better", known.into_str());
            return Err(Fault::at_flag(
                format!("--better {name}={}", way.into_str()),
                what,
                "remove the flag",
            ));
        }
    }
    Ok(())
}

/// The cases' identities: their names become benchmarks if possible. If ids would collide, all cases are identified by their
/// whole names, so that the other side does the same.
fn ids(cases: &[Case], options: &RecordOptions) -> Result<Vec<CaseId>> {
    let short: Vec<CaseId> = cases.iter().map(|case| case.id(&options.suite)).collect::<Result<_>>()?;
    let mut seen: BTreeMap<&CaseId, u32> = BTreeMap::new();
    short.iter().for_each(|id| *seen.entry(id).or_default() += 1);
    let whole = |case: &Case| Case::new(&CaseName::plain(case.name.native.clone())).id(&options.suite);
    cases
        .iter()
        .zip(&short)
        .map(|(case, id)| if seen[id] > 1 { whole(case) } else { Ok(id.clone()) })
        .collect()
}

/// The runs of a side; each case is in so many `runs` of them.
struct FilesOfSide<'a> {
    files: &'a [FileRun],
    load: LoadFields,
    runs: usize,
}

struct Case<'a> {
    name: CaseName,
    /// With the index of the process.
    readings: Vec<(usize, &'a Reading)>,
}

impl Case<'_> {
    fn new(name: &CaseName) -> Self {
        Self { name: name.clone(), readings: Vec::new() }
    }

    fn id(&self, suite: &str) -> Result<CaseId> {
        let mut params = self.name.params.clone();
        let benchmark = format!("{suite}/{}", self.name.case).parse().or_else(|_| {
            // A file may have a parameter with that name.
            let free =
                [CASE, "case_name", "case_of_file"].into_iter().find(|name| !params.contains_key(*name));
            params.insert(free.unwrap_or("").to_owned(), ParamValue::Text(self.name.case.clone()));
            format!("{suite}/{UNNAMED}").parse()
        });
        let benchmark = benchmark.map_err(|what| {
            Fault::at_flag(format!("--input-suite {suite}"), what, "use letters, digits, `_`, `-` and `.`")
        })?;
        Ok(CaseId {
            benchmark,
            variant: None,
            params,
            timing: Timing::Harness,
            thermal: Thermal::Warm,
            device: "host".into(),
        })
    }

    fn record(&self, id: CaseId, side: &FilesOfSide, options: &RecordOptions) -> CaseRecord {
        let FilesOfSide { files, load, .. } = *side;
        let mut record = CaseRecord {
            id,
            description: String::new(),
            components: Vec::new(),
            kind: Kind::default(),
            tags: Vec::new(),
            group: None,
            command: Vec::new(),
            env: BTreeMap::new(),
            config: BTreeMap::new(),
            outcome: Outcome::Measured,
            processes: Vec::new(),
            metrics: Vec::new(),
            declared: BTreeMap::new(),
            metadata: BTreeMap::new(),
            warnings: Vec::new(),
            nothing_measured: Vec::new(),
            answer: BTreeMap::new(),
            device_code: None,
            device_code_varies: false,
            part_of_whole: false,
            load: load.declared(),
            profiles: Vec::new(),
        };
        for (index, (place, reading)) in self.readings.iter().enumerate() {
            let file = &files[*place];
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            let outcome = outcome(&reading.end, file);
            if outcome.is_measured() {
                let conflict =
                    reading.metrics.iter().find_map(|metric| add(&mut record, metric, index, options));
                if let Some(conflict) = conflict {
                    record.outcome = conflict;
                }
            }
            // A skip does not hide a failure.
            if record.outcome.is_measured() || (outcome.is_failure() && !record.outcome.is_failure()) {
                record.outcome = outcome.clone();
            }
            let answer: BTreeMap<_, _> = answered(load, &reading.metadata).into_iter().collect();
            if let Some(lost) =
                lost_requests(&record.answer, &answer).filter(|_| record.outcome.is_measured())
            {
                record.outcome = lost;
            }
            record.answer.extend(answer);
            record.metadata.extend(reading.metadata.clone());
            record.processes.push(process(index, file, outcome));
        }
        record.metrics.sort_by(|one, other| one.name.cmp(&other.name));
        let lost = lost(&record, self.readings.len(), files, side.runs);
        if let Some(lost) = lost.filter(|_| record.outcome.is_measured()) {
            record.outcome = lost;
        }
        for metric in &mut record.metrics {
            metric.summary = summary_of(metric, &PERCENTILES);
        }
        record.warnings.extend(record.metrics.iter().filter_map(impossible_share));
        // With a single run, even a size might differ in the next one; only several runs show that it does not.
        let single = |metric: &&Metric| metric.processes.len() == 1 && is_counted(&metric.unit);
        for metric in record.metrics.iter().filter(single) {
            record.declared.entry(metric.name.clone()).or_default().exact = Some(false);
        }
        record
    }
}

/// An efficiency is a share of what the machine can do at most.
fn impossible_share(metric: &Metric) -> Option<String> {
    let is_share = metric.unit == "%" && metric.name.contains("efficiency");
    let stated = |process: &ProcessSamples| process.stated.as_ref().map(|stated| stated.value);
    let values =
        metric.processes.iter().flat_map(|process| process.values.iter().copied().chain(stated(process)));
    let largest = values.reduce(f64::max).filter(|value| is_share && *value > 100.0)?;
    Some(format!(
        "its `{}` is {largest:.1} %, and more than 100 % is not possible: the tool counts too much work, or too low a peak",
        metric.name
    ))
}

fn process(index: u32, file: &FileRun, outcome: Outcome) -> ProcessRecord {
    ProcessRecord {
        index,
        started: file.started(),
        seconds: 0.0,
        outcome,
        end: None,
        stages: Vec::new(),
        peak_rss_bytes: None,
        device_peak_bytes: None,
        cpu_seconds: None,
        leftovers: 0,
        output_bytes: file.bytes,
        absent: Vec::new(),
        after_timeout: None,
        round: None,
        slot: None,
        shared: None,
        lockstep: false,
        gpus: Vec::new(),
        conditions: None,
        error: None,
    }
}

fn outcome(end: &End, file: &FileRun) -> Outcome {
    match end {
        End::Measured => Outcome::Measured,
        End::Failed { message } => Outcome::Failed {
            kind: FailureKind::Harness,
            cause: format!("{}: {message}", file.path),
            advice: "look into what the program printed, and run it again".into(),
        },
        End::Skipped { reason } => Outcome::Skipped {
            code: Some(OutcomeCode::Declined),
            cause: format!("{}: {reason}", file.path),
            advice: "run it where it does not skip this case".into(),
        },
    }
}

/// Adds one file's reading of a metric. Returns the failure of the case if the files disagree on its unit.
fn add(
    record: &mut CaseRecord,
    reading: &MetricReading,
    process: u32,
    options: &RecordOptions,
) -> Option<Outcome> {
    let name = &reading.name;
    let given = options.units.get(name);
    let given = given.or_else(|| given_unit(&options.units, name).filter(|_| reading.unit.is_empty()));
    let unit = given.unwrap_or(&reading.unit);
    let better = options.better.get(name).copied().or(reading.better);
    if !reading.judged && !options.better.contains_key(name) {
        let declared = record.declared.entry(name.clone()).or_default();
        *declared = MetricDeclaration { gate: Some(false), ..declared.clone() };
    }
    let place = record.metrics.iter().position(|metric| metric.name == *name).unwrap_or_else(|| {
        record.metrics.push(Metric {
            name: name.clone(),
            unit: unit.clone(),
            better,
            processes: Vec::new(),
            summary: None,
        });
        record.metrics.len() - 1
    });
    let metric = &mut record.metrics[place];
    if metric.unit != *unit {
        return Some(Outcome::Failed {
            kind: FailureKind::Harness,
            cause: format!("`{name}` is in {} in one file and in {unit} in another", metric.unit),
            advice: "compare files of one version of the program".into(),
        });
    }
    metric.processes.push(ProcessSamples {
        process,
        values: reading.values.clone(),
        first_iteration: 0,
        partial: false,
        stated: reading.summary.filter(|_| reading.values.is_empty()).map(|summary| Stated {
            value: summary.value,
            stddev: summary.stddev,
            count: summary.count,
        }),
    });
    None
}
