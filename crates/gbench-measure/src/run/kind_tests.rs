//! The kinds of this crate's test cases; each has a folder of fixtures. The function of a kind documents its input.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use crate::run::gpus::bound::{InheritedGpus, bound_list, gpus_of_list, usable_gpus};
use crate::run::gpus::devices::Devices;
use crate::run::gpus::peaks;
use crate::run::gpus::queues::gpu_queues;
use crate::run::harness::recognition;
use crate::run::harness::shared_process::split_by_case;
use crate::run::outcome::first_line::first_line;
use crate::run::outcome::reported::{bounded, meaning};
use crate::run::outcome::requirements::missing;
use crate::run::outcome::{nothing_done, telling_line};
use crate::run::process::binaries::has_binary;
use crate::run::process::environment;
use crate::run::process::executor::{Execution, ExecutionEnd, StagePlan, StopReason};
use crate::run::process::io::capture::Capture;
use crate::run::process::io::event_lines::Lines;
use crate::run::process::stages::StageClock;
use crate::run::samples::extract;
use crate::run::session::{build, counting};
use crate::trees::range::Range;
use case_files::{Answer, Given, walk};
use gbench_model::line::{self, Event, Request};
use gbench_model::test_support::{devices, gpu, manifest};
use gbench_model::*;
use gbench_suite::plan::{Plan, case_id};
use gbench_suite::{Action, Benchmark, Extract, ExtractFrom, Requires, Source, Suite};

const KINDS: [(&str, Answer); 14] = [
    ("builds", |given| format!("{:?}", build::tests::quoted(&printed(given)))),
    ("calibrating", |given| of_command(given, |it| recognition::calibrating(it).map(|it| it.0.name()))),
    ("counts", counting::tests::slope),
    ("environments", environment),
    ("extractions", extraction),
    ("gpu-lists", gpu_list),
    ("interpreters", |given| of_command(given, nothing_done::tests::interpreter)),
    ("outputs", |given| {
        let told = telling_line::telling(&printed(given).stdout);
        told.map_or("nothing".into(), |told| format!("{}: {}", told.verb(), told.line))
    }),
    ("queues", queues),
    ("refusals", refusal),
    ("requirements", requirements),
    ("shared-processes", shared_process),
    ("stages", stages),
    ("words", word),
];

#[test]
fn every_case_is_answered_as_its_file_says() {
    walk(env!("CARGO_MANIFEST_DIR"), KINDS, 259);
}

fn ask<A: DeserializeOwned, R: Debug>(arguments: &str, function: impl FnOnce(A) -> R) -> String {
    format!("{:?}", function(serde_json::from_str(arguments).unwrap()))
}

fn word(given: &Given) -> String {
    let (function, it) = (given.get("of").unwrap(), &given.text());
    match function.trim_end() {
        "first_line" => ask(it, |text: String| first_line(&text)),
        "has_binary" => ask(it, |[name, folder]: [String; 2]| has_binary(&name, Path::new(&folder))),
        "lines" => ask(it, |chunks: Vec<String>| {
            let mut lines = Lines::default();
            chunks.iter().for_each(|chunk| lines.push(chunk.as_bytes()));
            let (events, bad) = lines.finish();
            (events.len(), bad.map(|(number, _)| number))
        }),
        "meaning" => ask(it, |(message, kind, trace): (String, Option<String>, Option<String>)| {
            meaning(&bounded(&message, kind.as_deref(), trace.as_deref()))
        }),
        "range" => ask(it, |text: Option<String>| {
            let range = Range::parse(text.as_deref());
            let names: Vec<String> = range.names().map(str::to_owned).collect();
            (range, names)
        }),
        "shares" => ask(it, |(device, bytes, flops, precision, moved): (String, _, _, Option<String>, _)| {
            peaks::shares(&device, bytes, flops, precision.as_deref(), moved, [None; 2])
        }),
        function => panic!("{function}"),
    }
}

fn benchmark(words: &[&str], folder: &Path) -> Benchmark {
    let action = Action::Command(words.iter().map(|word| (*word).to_owned()).collect());
    Benchmark::new("s/a".parse().unwrap(), action, folder.into())
}

/// A process that ended well, with its output: `stderr` and `stdout`, or only the text.
fn printed(given: &Given) -> Execution {
    let mut execution = Execution::not_started(String::new());
    execution.end = ExecutionEnd::Process(ProcessEnd::Exit(0));
    let stderr = given.get("stderr");
    let stdout = given.get("stdout").or_else(|| stderr.is_none().then(|| given.text()));
    for (capture, text) in [(&mut execution.stderr, stderr), (&mut execution.stdout, stdout)] {
        *capture = Capture::new(1 << 16);
        capture.push(text.unwrap_or_default().as_bytes());
    }
    execution
}

fn refusal(given: &Given) -> String {
    let mut benchmark = benchmark(&["true"], Path::new("/"));
    benchmark.timing = Timing::Process;
    format!("{:?}", nothing_done::signs(&printed(given), &benchmark, &[], None))
}

fn of_command<T: Debug>(given: &Given, say: fn(&Benchmark) -> T) -> String {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in given.paths("file") {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let command = given.text();
    format!("{:?}", say(&benchmark(&command.split_whitespace().collect::<Vec<_>>(), folder.path())))
}

/// The numbers that a `rule` finds in `stdout`. If an error's advice is a path, it is followed.
fn extraction(given: &Given) -> String {
    let (rule, stdout) = (given.get("rule").unwrap(), given.get("stdout").unwrap());
    let (kind, rule) = rule.trim_end().split_once(' ').unwrap();
    let found = |from: ExtractFrom| {
        let mut capture = Capture::new(1 << 16);
        capture.push(stdout.as_bytes());
        let (metric, unit) = ("m".to_owned(), "s".to_owned());
        let rules = [Extract { metric, unit, better: None, from, rows: Default::default() }];
        let found = extract::all(&rules, &capture, &Default::default(), |_| false);
        found.map(|mut rules| rules.remove(0).1.into_iter().flatten().collect::<Vec<f64>>())
    };
    let from = match kind {
        "json" => ExtractFrom::JsonPath(rule.into()),
        "regex" => ExtractFrom::Regex(rule.into()),
        _ => {
            let (column, rows) = rule.split_once(" where ").unwrap_or((rule, ""));
            let row = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
            let rows = rows.split_once('=').map(row).into_iter().collect();
            ExtractFrom::CsvColumn { column: column.into(), rows }
        }
    };
    let error = match found(from) {
        Ok(values) => return format!("{values:?}"),
        Err(error) => error,
    };
    let next = error.next().unwrap_or_default();
    let advised = next.split('"').nth(1).filter(|_| kind == "json");
    let gives = advised.and_then(|path| found(ExtractFrom::JsonPath(path.into())).ok());
    format!("{error}\n{next}\n{}", gives.map(|values| format!("which gives {values:?}")).unwrap_or_default())
}

/// A machine with two H100 or, depending on `machine`, with none, or with a driver that does not answer.
fn machine(given: &Given) -> Manifest {
    let mut manifest = manifest();
    match given.get("machine").as_deref().map(str::trim_end) {
        Some("none") => manifest.gpu = Probe::Absent("no NVIDIA driver".into()),
        Some("silent") => manifest.gpu = Probe::Failed(String::new()),
        other => {
            assert_eq!(other, None);
            for (gpu, uuid) in devices(&mut manifest).iter_mut().zip(["GPU-aa11", "GPU-bb22"]) {
                gpu.model = Probe::Known("NVIDIA H100 80GB HBM3".into());
                gpu.uuid = Probe::Known(uuid.into());
            }
        }
    }
    manifest
}

/// The list of GPUs of `of` on a machine, with GPUs that are `visible` in the gate's environment.
fn gpu_list(given: &Given) -> String {
    let (function, it) = (given.get("of").unwrap(), &given.text());
    let mut manifest = machine(given);
    if let Some(list) = given.get("visible") {
        manifest.environment.insert("CUDA_VISIBLE_DEVICES".into(), list.trim_end().into());
    }
    let devices = Devices::of(&manifest);
    match function.trim_end() {
        "bound_list" => {
            ask(it, |(components, device, gpus, visible, by_bus): (_, String, _, Option<String>, _)| {
                let mut benchmark = benchmark(&["true"], Path::new("/"));
                benchmark.components = components;
                benchmark.settings.device.value = device;
                benchmark.requires.gpus = gpus;
                bound_list(&benchmark, InheritedGpus { visible: visible.as_deref(), by_bus })
            })
        }
        "gpus_of_list" => ask(it, |list: String| {
            let found = gpus_of_list(&list, &manifest.gpu);
            found.map(|found| found.into_iter().map(|(index, _)| index).collect::<Vec<u32>>())
        }),
        "missing" => ask(it, |device: String| devices.missing(&device)),
        "objection" => ask(it, |(claim, device, env): (String, String, Option<String>)| {
            devices.objection(&claim, &device, env.as_deref())
        }),
        "unchecked" => ask(it, |device: String| devices.unchecked(&device)),
        "usable_gpus" => {
            ask(it, |(components, device, own, visible, by_bus): (_, String, String, Option<String>, _)| {
                let mut benchmark = benchmark(&["true"], Path::new("/"));
                benchmark.components = components;
                benchmark.settings.device.value = device;
                let inherited = InheritedGpus { visible: visible.as_deref(), by_bus };
                let found = usable_gpus(&benchmark, &own, inherited, &manifest.gpu);
                found.map(|found| found.into_iter().map(|gpu| gpu.index).collect::<Vec<u32>>())
            })
        }
        "used" => ask(it, |(claim, device, env): (Option<String>, String, Option<String>)| {
            let used = devices.used(claim.as_deref(), &device, env.as_deref());
            used.into_iter().map(|place| (place.index, place.uuid)).collect::<Vec<_>>()
        }),
        function => panic!("{function}"),
    }
}

/// Input: the number of GPUs, and the `device` of each benchmark. Output: the queues, as GPUs and cases.
fn queues(given: &Given) -> String {
    ask(&given.text(), |(gpus, list): (usize, Vec<String>)| {
        let mut manifest = manifest();
        *devices(&mut manifest) = (0..gpus as u32).map(gpu).collect();
        let benchmark = |(index, device): (usize, &String)| {
            let mut it = benchmark(&["true"], Path::new("/"));
            it.id = format!("s/b{index}").parse().unwrap();
            it.settings.device.value.clone_from(device);
            it.spread_over_gpus(gpus).unwrap();
            it
        };
        let benchmarks = list.iter().enumerate().map(benchmark).collect();
        let plan = Plan::single(&Suite::new("s", Source::Builtin, benchmarks));
        let found = gpu_queues(&plan, &manifest.gpu, InheritedGpus::default());
        found.into_iter().map(|queue| (queue.gpus, queue.cases)).collect::<Vec<_>>()
    })
}

/// Input: required GPUs, GiB and compute capability, and the available GPUs. Output: the missing requirements.
fn requirements(given: &Given) -> String {
    type Needed = (u32, u64, Option<(u32, u32)>, Option<Vec<(u64, String)>>);
    let (gpus, memory, compute_capability, here): Needed = serde_json::from_str(&given.text()).unwrap();
    let mut manifest = manifest();
    match here {
        None => manifest.gpu = Probe::Absent("no driver".into()),
        Some(here) => {
            let of = |(memory, capability): (u64, String)| Gpu {
                memory_total: Probe::Known(memory << 30),
                compute_capability: Probe::Known(capability),
                ..gpu(0)
            };
            *devices(&mut manifest) = here.into_iter().map(of).collect();
        }
    }
    let mut benchmark = benchmark(&["true"], Path::new("/"));
    benchmark.requires =
        Requires { gpus, gpu_memory: memory << 30, compute_capability, ..Requires::default() };
    let lacking = missing(&benchmark, &manifest);
    assert!(lacking.iter().all(|it| it.gpu));
    let lines: String = lacking.into_iter().map(|it| format!("{}; {}\n", it.what, it.next)).collect();
    lines
}

/// Input: GPUs, each with mean power, whether the process is on it, utilisation, and whether another process is on it.
/// Lists the variables that the gate sets for a process: of a `suite`, or of a command with the variable GBENCH_PARAM_OWN; at
/// a point, or at `shared` ones; `as`: cold, turns or profiled. `as: cold` also sets `--iterations 3`.
fn environment(given: &Given) -> String {
    let is = |word: &str| given.get("as").is_some_and(|text| text.trim_end() == word);
    let points = |head: &str| -> Vec<Params> {
        given.get(head).map_or_else(Vec::new, |text| serde_json::from_str(&text).unwrap())
    };
    let mut benchmark = benchmark(&["true"], Path::new("/"));
    benchmark.env.insert("GBENCH_PARAM_OWN".into(), "1".into());
    benchmark.points = points("points");
    if let Some(text) = given.get("suite") {
        benchmark = Suite::parse(Path::new("/suite/gbench.toml"), &text, &[]).unwrap().benchmarks.remove(0);
    }
    if is("cold") {
        benchmark.settings.thermal.value = Thermal::Cold;
        benchmark.settings.iterations.set(3, Origin::Cli("--iterations".into()));
    }
    let id = case_id(&benchmark, benchmark.points.first().unwrap_or(&Params::new()));
    let cold = is("cold").then_some(Path::new("/empty"));
    let env =
        environment::of_process(&benchmark, &id, 0, cold, &points("shared"), is("turns"), is("profiled"));
    let texts = env
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let ours = texts.filter(|(name, value)| name.starts_with("GBENCH_") || value.starts_with("/empty"));
    let ours: BTreeMap<String, String> = ours.collect();
    let request = &ours[line::env::REQUEST];
    assert_eq!(serde_json::to_string(&serde_json::from_str::<Request>(request).unwrap()).unwrap(), *request);
    ours.iter().map(|(name, value)| format!("{name}={value}\n")).collect()
}

/// Splits one shared process, which sent `events`, into its cases. `end`: its signal; `stopped`: why the gate stopped it.
fn shared_process(given: &Given) -> String {
    let mut whole = Execution::not_started(String::new());
    (whole.seconds, whole.peak_rss_bytes) = (3.0, Some(1));
    let signal = given.get("end").map(|signal| ProcessEnd::Signal(signal.trim_end().parse().unwrap()));
    whole.end = ExecutionEnd::Process(signal.unwrap_or(ProcessEnd::Exit(0)));
    whole.stopped = given.get("stopped").map(|why| match why.trim_end() {
        "interrupt" => StopReason::Interrupt(2),
        _ => StopReason::Stage { stage: Stage::Measure, limit: 1.0, spent: 1.0 },
    });
    let lines = given.get("events").unwrap_or_default();
    whole.events = lines.lines().map(|text| line::parse(text.as_bytes()).unwrap()).collect();
    let event = |event: &Event| match event {
        Event::Sample { value, .. } => format!("{value:?}"),
        other => format!("{other:?}").split([' ', '{']).next().unwrap().to_owned(),
    };
    let mut text = String::new();
    for part in split_by_case(&whole, given.text().trim_end().parse().unwrap()) {
        let events: Vec<String> = part.events.iter().map(event).collect();
        write!(text, "{} in {} s, {:?}", events.join(" "), part.seconds, part.end).unwrap();
        if let Some(stopped) = part.stopped {
            write!(text, ", {stopped:?}").unwrap();
        }
        text += &part.peak_rss_bytes.map_or("\n".into(), |bytes| format!(", {bytes} B\n"));
    }
    text
}

/// Input: steps of a process, one per second: an event, a pause or its end. Output: the duration of each stage.
fn stages(given: &Given) -> String {
    let begin = Instant::now();
    let deadlines = Settings::default().deadlines;
    let plan = StagePlan { follows_events: true, first: Stage::Start, deadlines, multiplier: 2.0 };
    let mut clock = StageClock::start(&plan, begin);
    let (steps, mut text) = (given.get("steps").unwrap(), String::new());
    for step in steps.lines() {
        let (at, what) = step.split_once(' ').unwrap();
        let now = begin + Duration::from_secs(at.parse().unwrap());
        match what {
            "pause" => clock.pause(now),
            "resume" => clock.resume(now),
            "ends" | "is ended" => {
                let status = if what == "ends" { StageStatus::Completed } else { StageStatus::TimedOut };
                let reports = clock.finish(status, now);
                return text + &reports.iter().map(|it| format!("{it:?}\n")).collect::<String>();
            }
            event => clock.on_event(&line::parse(event.as_bytes()).unwrap(), now),
        }
        let (stage, spent, limit) = (clock.current(), clock.spent(now), clock.limit());
        let deadline = clock.deadline().map(|deadline| deadline - begin);
        writeln!(text, "{at} s: {stage:?} {spent} s of {limit} s, until {deadline:?}").unwrap();
    }
    text
}
