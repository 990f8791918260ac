//! Findings that weaken the figures of a run: noise, too few processes, an outlier, starts that cost more than the
//! measurement, programs that leave processes behind. Each finding has its measured fact and advice.

use std::collections::BTreeMap;

use super::metric::{MetricView, centers, median};
use crate::layout::grouped::{self, MAX_NAMED, together};
use crate::layout::number;
use gbench_model::text::{count, percent};
use gbench_model::{
    CaseRecord, Conditions, GpuSign, Ingested, LEAVES, NothingMeasured, ProcessRecord, Stage, UnreadKind,
    format_duration,
};

#[derive(Debug, PartialEq)]
pub(crate) struct RunFinding {
    pub fact: String,
    pub next: String,
}

/// More processes than this are not a useful advice.
const MAX_PROCESSES: f64 = 200.0;

/// A case's total seconds of starting that are worth a finding.
const MIN_STARTING: f64 = 1.0;

/// Thresholds that noise hides in any case; noisy metrics, noisiest first; single processes, whose spread is unknown;
/// single outliers; slow starts; leftover processes.
///
/// `of_files`: they are figures of another program, which the gate does not start.
pub(crate) fn find(cases: &[(&CaseRecord, String)], lines: &[MetricView], of_files: bool) -> Vec<RunFinding> {
    let [about_so_many, several] = if of_files {
        ["give about {} files of it", "give 5 files of it or more, one for each run of the program,"]
    } else {
        ["raise --processes to about {}", "use --processes 5 or more"]
    };
    // A derived rate varies as its time does, and a metric that is never judged needs no processes.
    let lines = || lines.iter().filter(|line| !line.is_derived && line.is_judged());
    let mut noisy: Vec<Noise> = lines().filter_map(Noise::new).collect();
    noisy.sort_by(|a, b| b.spread.total_cmp(&a.spread));
    let (helped, hopeless): (Vec<_>, Vec<_>) =
        noisy.into_iter().partition(|noise| noise.needed <= MAX_PROCESSES);
    let needed = helped.iter().map(|noise| noise.needed).fold(0.0, f64::max);
    let texts = |noisy: Vec<Noise>| noisy.into_iter().map(|noise| noise.text).collect();
    let single = lines().filter(|line| centers(line.metric).len() == 1).map(MetricView::title).collect();
    let of_metrics = [
        about(
            ["metric varies", "metrics vary"],
            &format!("so much that even {MAX_PROCESSES} processes would miss the change that matters"),
            texts(hopeless),
            "raise the `threshold` above the spread, quieten the machine (`gbench-ci doctor`), or measure \
             something steadier",
        ),
        about(
            ["metric varies", "metrics vary"],
            "between processes by more than the change that matters",
            texts(helped),
            &format!(
                "{} to see such a change, or see `gbench-ci doctor` for what disturbs this machine",
                about_so_many.replace("{}", &needed.to_string())
            ),
        ),
        about(
            ["metric", "metrics"],
            "measured by one process only, so that the spread is unknown",
            single,
            &format!("{several} before comparing"),
        ),
        outliers(lines().filter_map(outlier).collect()),
    ];
    let of_cases = [
        held_down(cases),
        health(cases),
        about(
            ["case was measured", "cases were measured"],
            "while other programs left less than one core to at least half of its processes",
            cases.iter().filter_map(|(case, name)| busy(case, name)).collect(),
            "end what else runs there, and measure again before comparing; `baseline save` takes it with `--busy` alone",
        ),
        about(
            ["case takes", "cases take"],
            "longer to start than to measure, in the mean of its processes",
            cases.iter().filter_map(|(case, name)| slow_start(case, name)).collect(),
            "raise --iterations or `duration`, so that each start pays for more; where the spread is small, \
             lower --processes",
        ),
        about(
            ["case leaves", "cases leave"],
            "processes behind, which the gate had to end",
            cases.iter().filter_map(|(case, name)| leftovers(case, name)).collect(),
            WAIT_FOR_ALL,
        ),
        about(
            [
                "case cannot share a process with the cases behind it,",
                "cases cannot share a process with the cases behind them,",
            ],
            "because of what is left in the process",
            unshared(cases),
            "undo it in `teardown()`, or set `isolation = \"process\"` and expect a process for each case",
        ),
        about(
            ["group of cases shares a process that leaves", "groups of cases share a process that leaves"],
            "processes behind, which the gate had to end",
            shared_leftovers(cases),
            WAIT_FOR_ALL,
        ),
    ];
    let found = of_metrics.into_iter().chain(of_cases).flatten();
    nothing_measured(cases).into_iter().chain(found).collect()
}

/// The parts of its files that were not read, by kind.
pub(crate) fn unread(ingested: &Ingested) -> impl Iterator<Item = RunFinding> {
    let finding = |(kind, sentences): (UnreadKind, Vec<String>)| RunFinding {
        fact: named(&sentences),
        next: kind.advice().into(),
    };
    ingested.unread().into_iter().map(finding)
}

/// `2 metrics vary a lot: a, b`; `None` without names. `subject`: for one and for several.
fn about(subject: [&str; 2], what: &str, names: Vec<String>, next: &str) -> Option<RunFinding> {
    let [one, several] = subject;
    let subject = if names.len() == 1 { one } else { several };
    (!names.is_empty()).then(|| RunFinding {
        fact: format!("{} {subject} {what}: {}", names.len(), named(&names)),
        next: next.into(),
    })
}

struct Noise {
    text: String,
    spread: f64,
    /// Processes per side that would find that change four times out of five at an error rate of 5 %.
    needed: f64,
}

impl Noise {
    /// `None` if the existing processes detect that change in spite of the spread.
    fn new(line: &MetricView) -> Option<Self> {
        let (spread, threshold) = (line.spread?, line.threshold());
        // Two-sample size by the normal approximation: 2 (z_0.975 + z_0.8)^2 (s / ln(1 + t))^2.
        let needed = (2.0 * (1.96f64 + 0.8416).powi(2) * (spread / threshold.ln_1p()).powi(2)).ceil();
        let [shown, matters] = [spread, threshold].map(percent);
        let text = format!("{} by {shown} ({matters} matters)", line.title());
        let count = centers(line.metric).len() as f64;
        (spread > threshold && needed > count && !line.is_absolute()).then_some(Self { text, spread, needed })
    }
}

/// Programs that ended well and perhaps measured nothing; equal signs of several are listed once.
fn nothing_measured(cases: &[(&CaseRecord, String)]) -> Vec<RunFinding> {
    let measured = cases.iter().filter(|(case, _)| case.outcome.is_measured());
    let signs =
        measured.flat_map(|(case, name)| case.nothing_measured.iter().map(move |sign| (sign, name.as_str())));
    let mut groups: Vec<(&NothingMeasured, Vec<&str>)> = Vec::new();
    for (sign, name) in signs {
        match groups.iter_mut().find(|(known, _)| known.is_like(sign)) {
            Some((_, names)) => names.push(name),
            None => groups.push((sign, vec![name])),
        }
    }
    let finding = |(sign, names): (&NothingMeasured, Vec<&str>)| RunFinding {
        fact: format!("{}: {}", named(&names), sign.sentence()),
        next: sign.next().into_owned(),
    };
    groups.into_iter().map(finding).collect()
}

fn named(names: &[impl AsRef<str>]) -> String {
    grouped::named(names, MAX_NAMED)
}

/// `a (1.8 cores of others)`
fn busy(case: &CaseRecord, name: &str) -> Option<String> {
    let others = case.processes.iter().filter_map(|process| process.conditions.as_ref()?.other_cpu);
    let cores = others.fold(0.0, f64::max);
    case.met_busy_machine().then(|| format!("{name} (others used up to {cores:.1} cores)"))
}

fn held_down(cases: &[(&CaseRecord, String)]) -> Option<RunFinding> {
    met(cases, "a GPU's clocks were held down", |conditions| conditions.throttled.clone()).map(|fact| {
        RunFinding {
        fact,
        next: "cool the card or raise its power limit before comparing; `gbench-ci doctor` says what it sees"
            .into(),
    }
    })
}

fn health(cases: &[(&CaseRecord, String)]) -> Option<RunFinding> {
    let signs = |conditions: &Conditions| conditions.health.iter().map(GpuSign::to_string).collect();
    met(cases, "the driver counted or reported something of a GPU's health", signs).map(|fact| RunFinding {
        fact,
        next: "look at the card before comparing: `gbench-ci doctor`, `nvidia-smi -q`".into(),
    })
}

/// `... in 3 of 5 processes: a in 3, b in 1`; `None` where no process met anything.
fn met(
    cases: &[(&CaseRecord, String)],
    what: &str,
    of: impl Fn(&Conditions) -> Vec<String>,
) -> Option<String> {
    let processes: Vec<&ProcessRecord> = cases.iter().flat_map(|(case, _)| &case.processes).collect();
    let met = processes.iter().filter_map(|process| process.conditions.as_ref()).map(of);
    let met: Vec<Vec<String>> = met.filter(|met| !met.is_empty()).collect();
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    met.iter().flatten().for_each(|name| *counted.entry(name).or_default() += 1);
    let names: Vec<String> = counted.iter().map(|(name, count)| format!("{name} in {count}")).collect();
    let all = count(processes.len(), "process");
    (!met.is_empty()).then(|| format!("{what} in {} of {all}: {}", met.len(), names.join(", ")))
}

fn slow_start(case: &CaseRecord, name: &str) -> Option<String> {
    let (starts, measuring) = (seconds_in(case, Stage::Start)?, seconds_in(case, Stage::Measure)?);
    let mean = |seconds: f64| format_duration(seconds / complete(case).count() as f64);
    (starts > measuring && starts >= MIN_STARTING)
        .then(|| format!("{name} starts for {} and measures for {}", mean(starts), mean(measuring)))
}

/// Seconds of all complete processes in one stage; `None` if none of them reported it.
fn seconds_in(case: &CaseRecord, stage: Stage) -> Option<f64> {
    let reports = complete(case).flat_map(|process| &process.stages);
    reports.filter(|report| report.stage == stage).map(|report| report.seconds).reduce(|a, b| a + b)
}

fn complete(case: &CaseRecord) -> impl Iterator<Item = &ProcessRecord> {
    case.processes.iter().filter(|process| process.outcome.is_measured())
}

const WAIT_FOR_ALL: &str =
    "let the program end and wait for what it starts, because what still runs disturbs what is measured";

/// True if other cases shared the process, so that its behaviour cannot be attributed.
fn is_shared(process: &ProcessRecord) -> bool {
    process.shared.is_some_and(|cases| cases > 1)
}

/// `one of a, b, c (2 after 1 run)`, for cases with shared processes that ended well and left descendants behind.
fn shared_leftovers(cases: &[(&CaseRecord, String)]) -> Vec<String> {
    let left = cases.iter().flat_map(|(case, name)| {
        let processes = complete(case).filter(|process| is_shared(process) && process.leftovers > 0);
        // The start time identifies a shared process.
        processes.map(move |process| ((&process.started, process.leftovers), name.as_str()))
    });
    let of_process = together(left).into_iter().map(|((_, left), names)| (names, u64::from(left)));
    let texts = together(of_process).into_iter().map(|(names, left)| {
        let runs = count(left.len(), "run");
        format!("one of {} ({} after {runs})", named(&names), left.iter().sum::<u64>())
    });
    texts.collect()
}

/// Cases that ended a process that others were to share, with what they leave in it.
fn unshared(cases: &[(&CaseRecord, String)]) -> Vec<String> {
    let sharing = cases.iter().filter(|(case, _)| case.processes.iter().any(is_shared));
    let left = sharing.filter_map(|(case, name)| {
        let words = case.metadata.get(LEAVES)?.as_array()?.iter().filter_map(|word| word.as_str());
        Some(format!("{name} ({})", words.collect::<Vec<_>>().join(", ")))
    });
    left.collect()
}

fn leftovers(case: &CaseRecord, name: &str) -> Option<String> {
    let own = complete(case).filter(|process| !is_shared(process));
    let left = own.map(|process| u64::from(process.leftovers)).filter(|left| *left > 0);
    let left: Vec<u64> = left.collect();
    (!left.is_empty()).then(|| {
        let descendants: u64 = left.iter().sum();
        format!("{name} ({descendants} after {} of {} runs)", left.len(), case.processes.len())
    })
}

/// One outlier while the other processes agree: four times as far from the median as the next, and farther than the
/// threshold. The flag is true if it left a log.
fn outlier(line: &MetricView) -> Option<(String, bool)> {
    let centers = centers(line.metric);
    let middle = median(&mut centers.clone()).filter(|middle| *middle > 0.0 && centers.len() >= 4)?;
    let mut distances: Vec<(f64, usize)> =
        centers.iter().enumerate().map(|(index, center)| ((center / middle - 1.0).abs(), index)).collect();
    distances.sort_by(|a, b| b.0.total_cmp(&a.0));
    let ((far, index), (next, _)) = (distances[0], distances[1]);
    (far > line.threshold() && far > 4.0 * next).then(|| {
        let fact = format!(
            "{}: process {} of {} measured {}, the others agree on {}",
            line.title(),
            index + 1,
            centers.len(),
            number::value(centers[index], &line.metric.unit),
            line.median,
        );
        // A process that printed nothing has no log.
        let log = line.case.processes.get(index).is_none_or(|process| process.output_bytes > 0);
        (fact, log)
    })
}

fn outliers(found: Vec<(String, bool)>) -> Option<RunFinding> {
    let logs = found.iter().any(|(_, log)| *log);
    let (fact, beside, log) = match found.as_slice() {
        [] => return None,
        [(only, _)] => (only.clone(), "it", "its log is"),
        several => {
            let what = "in which one process is an outlier";
            let shown: Vec<&str> = several.iter().take(MAX_NAMED).map(|(fact, _)| fact.as_str()).collect();
            let more = match several.len() - shown.len() {
                0 => String::new(),
                more => format!("; and {more} more"),
            };
            let metrics = count(several.len(), "metric");
            (format!("{metrics} {what}: {}{more}", shown.join("; ")), "these", "their logs are")
        }
    };
    let log = if logs { format!("; {log} in the run's logs folder") } else { String::new() };
    Some(RunFinding {
        fact,
        next: format!("look for other programs that ran at the same time as {beside}{log}"),
    })
}
