//! The machine sampled while processes run: what the record, the timeline and the report say, what a gap is, and what a GPU that
//! others use means.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use gbench_ci::compare::{TelemetryRemark, Verdict};
use gbench_ci::model::{MonitorRecord, PowerSource, RunRecord, Side, Telemetry, TelemetryGap, Unrest};
use tempfile::TempDir;

use crate::fake_nvml;
use crate::support::cli::{command, ended, newest, ran};
use crate::support::folder_with;
use crate::support::repository::{Repository, row, suite};

/// The stand-in works from the beginning on, as for somebody else.
const NO_WAIT: &str = "calm_wait = '0s'";

/// One benchmark that sleeps, timed from outside.
fn sleeping(run: &str, seconds: &str) -> TempDir {
    folder_with(&format!(
        "[suite]\nname = 's'\n[run]\n{run}\n[defaults]\nprocesses = 1\n[[benchmark]]\nid = 'a'\n\
         shell = 'if [ -e during.sh ]; then . ./during.sh; fi; sleep {seconds}'\n"
    ))
}

/// What the benchmark does first, in a shell: it waits until the file `timeline.json` has so many more records with this text. However
/// slow the machine is, it was sampled then.
fn sampled(count: u32, text: &str) -> String {
    let found = format!("$(grep -c '{text}' timeline.json)");
    format!("seen={found}; until [ {found} -ge $((seen + {count})) ]; do sleep 0.02; done\n")
}

fn during(folder: &TempDir, script: &str) {
    std::fs::write(folder.path().join("during.sh"), script).unwrap();
}

fn with_card(mut command: Command, settings: &str) -> Command {
    command.env("GBENCH_NVML_LIBRARY", fake_nvml::library("")).env("FAKE_NVML", settings);
    command
}

/// Programs found before all others.
fn with_programs(mut command: Command, folder: &Path) -> Command {
    let path = crate::support::path().to_str().unwrap();
    command
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("GBENCH_NVML_LIBRARY", "/no/such/library");
    command
}

fn program(folder: &Path, name: &str, script: &str) {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn window(record: &RunRecord, process: usize) -> &Telemetry {
    let conditions = record.cases[0].processes[process].conditions.as_ref().unwrap();
    conditions.telemetry.as_deref().expect("it was sampled")
}

fn timeline(path: &Path) -> Vec<MonitorRecord> {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn s4_30_to_s4_34_processors_and_memory_are_sampled_without_a_gpu_and_the_timeline_is_json() {
    let folder = sleeping("", "0");
    during(&folder, &sampled(20, "timestamp"));
    let line = "run --monitor --monitor-interval 100ms --monitor-output timeline.json";
    let mut run = command(folder.path(), line);
    run.env("GBENCH_NVML_LIBRARY", "/no/such/library").env("PATH", "/usr/bin:/bin");
    ended(run).exits(0).says("The machine while it measured");
    let record = newest(folder.path());
    let window = window(&record, 0);
    let due = (window.seconds / 0.1) as u32;
    // A reading that was due right before may come in the window, too.
    assert!((due..=due + 2).contains(&(window.samples + window.missed)), "{window:?}");
    assert!(window.cpu.is_some() && window.memory.is_some() && window.gpus.is_empty(), "{window:?}");
    assert!(window.cost.unwrap() < 0.5, "{window:?}");
    let text = std::fs::read_to_string(folder.path().join("timeline.json")).unwrap();
    let values: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    assert!(values.len() as u32 >= window.samples);
    let last = values.last().unwrap();
    for key in ["timestamp", "cpu_percent", "total_memory", "memory_percent", "gpu_usage"] {
        assert!(last.get(key).is_some(), "{key} in {last}");
    }
    assert_eq!(last["gpu_usage"], serde_json::json!([]));
    // Without the flag nothing is kept, and without a GPU nothing is sampled.
    during(&folder, "");
    ended(with_programs(command(folder.path(), "run --quiet"), Path::new("/no/such"))).exits(0);
    let conditions = newest(folder.path()).cases[0].processes[0].conditions.clone();
    assert_eq!(conditions.and_then(|conditions| conditions.telemetry), None);
}

#[test]
fn s4_31_an_interval_of_nothing_is_refused() {
    let folder = sleeping("", "0");
    for line in ["run --monitor-interval 0", "run --monitor-interval -1", "run --monitor-interval soon"] {
        ran(folder.path(), line).exits(2).says("--monitor-interval");
    }
    ran(folder.path(), "run --monitor-output no/such/folder/timeline.json").exits(2).says("timeline.json");
    ran(folder.path(), "run --no-monitor --monitor-output timeline.json").exits(2);
    let folder = sleeping("monitor_interval = '0s'", "0");
    ran(folder.path(), "run").exits(2).says("monitor_interval");
    let folder = sleeping("max_gpu_temperature = 9000", "0");
    ran(folder.path(), "run").exits(2).says("degrees Celsius");
}

#[test]
fn b14_s4_33_s4_35_a_card_is_sampled_by_itself_and_the_clock_of_a_process_is_that_of_its_window() {
    let folder = sleeping("", "0");
    // The card works once the benchmark does.
    let works = sampled(30, "\"utilization\":90");
    during(&folder, &format!("echo utilization=90 >> card\n{works}echo utilization=0 > card\n"));
    let run = command(folder.path(), "run --monitor-output timeline.json");
    let mut run = with_card(run, "count=1 power=200000 temperature=61");
    run.env("FAKE_NVML_FILE", folder.path().join("card"));
    ended(run).exits(0).says("61 °C (61)");
    let record = newest(folder.path());
    let window = window(&record, 0);
    let gpu = &window.gpus[0];
    assert_eq!((window.source.as_deref(), window.interval), (Some("NVML"), 0.1));
    assert_eq!(gpu.temperature.unwrap().mean, 61.0);
    assert!(gpu.uuid.is_some() && gpu.sm_clock.is_some() && gpu.memory_used.is_some(), "{gpu:?}");
    let power = gpu.mean_power.unwrap();
    assert_eq!(power.from, PowerSource::EnergyCounter);
    // Each reading of the counter may be a moment later than its time says, on a busy machine by its whole patience.
    assert!((power.watts - 200.0).abs() < 60.0, "{power:?}");
    // At its end the card is idle again, at 345 MHz.
    let clock = record.cases[0].processes[0].conditions.as_ref().unwrap().sm_clock_mhz.unwrap();
    assert_eq!(f64::from(clock), gpu.sm_clock.unwrap().mean.round());
    assert!(clock > 345, "{gpu:?}");
    let lines = timeline(&folder.path().join("timeline.json"));
    let usage =
        lines.iter().map(|line| &line.gpu_usage[0]).find(|usage| usage.utilization == Some(90.0)).unwrap();
    assert_eq!((usage.index, usage.utilization, usage.power), (0, Some(90.0), Some(200.0)));
    assert!(usage.model.is_some() && usage.guid.is_some() && usage.memory.is_some(), "{usage:?}");
}

#[test]
fn s1_9_without_a_counter_the_power_is_integrated_and_two_samples_are_no_power() {
    let settings = "count=1 utilization=90 power=200000 energy=!3";
    let folder = sleeping(NO_WAIT, "0");
    during(&folder, &sampled(10, "\"power\":200"));
    let run = command(folder.path(), "run --quiet --monitor-output timeline.json");
    ended(with_card(run, settings)).exits(0);
    let record = newest(folder.path());
    assert_eq!(window(&record, 0).gpus[0].mean_power.unwrap().from, PowerSource::PowerSamples);
    during(&folder, "");
    ended(with_card(command(folder.path(), "run --quiet --monitor-interval 10m"), settings)).exits(0);
    let record = newest(folder.path());
    assert_eq!(window(&record, 0).gpus.iter().filter(|gpu| gpu.mean_power.is_some()).count(), 0);
}

#[test]
fn e1_a_card_that_is_lost_leaves_a_gap_and_no_value() {
    let folder = sleeping(NO_WAIT, "0");
    let (works, any) = (sampled(5, "\"utilization\":90"), sampled(10, "timestamp"));
    during(&folder, &format!("{works}echo lost >> card\n{any}"));
    let run = command(folder.path(), "run --monitor-output timeline.json");
    let mut run = with_card(run, "count=1 utilization=90");
    run.env("FAKE_NVML_FILE", folder.path().join("card"));
    ended(run).exits(0).says("it is lost or being reset in 1 process");
    let record = newest(folder.path());
    let (window, gpu) = (window(&record, 0), &window(&record, 0).gpus[0]);
    let gaps = gpu.gaps[&TelemetryGap::GpuLost];
    assert!(gpu.samples > 0 && gaps > 0, "{gpu:?}");
    // On a busy machine there may be answers that came too late, too.
    assert_eq!(gpu.samples + gpu.gaps.values().sum::<u32>(), window.samples, "{gpu:?}");
}

const SMI: &str = "case \"$1\" in\n\
    --query-gpu*) echo '0, GPU-aa, NVIDIA L4, 2040, 6251, 71.50, 54, 97, 1024, 23034, 4, 16, 0x0000000000000004';;\n\
    --query-compute-apps*) echo 'GPU-aa, 1, /sbin/init';;\n\
    --version) echo 'NVIDIA-SMI version  : 550.1';;\n\
    esac\n";

#[test]
fn without_the_library_nvidia_smi_is_asked_and_one_that_hangs_leaves_gaps() {
    let programs = TempDir::new().unwrap();
    program(programs.path(), "nvidia-smi", SMI);
    let folder = sleeping("calm_wait = '0s'", "0");
    during(&folder, &sampled(2, "\"power\":71.5"));
    let line = "run --monitor-output timeline.json";
    let run = || with_programs(command(folder.path(), line), programs.path());
    ended(run()).exits(0).says("by nvidia-smi").says("process 1 (init) on GPU 0");
    let record = newest(folder.path());
    let window_ = window(&record, 0);
    assert_eq!((window_.source.as_deref(), window_.interval), (Some("nvidia-smi"), 1.0));
    assert_eq!(window_.gpus[0].power.unwrap().mean, 71.5, "{window_:?}");
    assert_eq!(window_.gpus[0].throttled["sw_power_cap"], window_.gpus[0].samples);

    // From now on it hangs while the benchmark runs.
    let hang = format!("if [ -e {0}/hang ]; then sleep 60; fi\n{SMI}", programs.path().display());
    program(programs.path(), "nvidia-smi", &hang);
    during(&folder, &format!("touch {}/hang\n{}", programs.path().display(), sampled(3, "timestamp")));
    ended(run()).exits(0).says("no answer in time");
    let record = newest(folder.path());
    assert!(window(&record, 0).gpus[0].gaps[&TelemetryGap::NoAnswer] > 0);
}

#[test]
fn s1_49_a_card_of_amd_is_sampled_by_its_program() {
    let programs = TempDir::new().unwrap();
    let json = r#"{"card0": {"Unique ID": "0x2d3", "GPU use (%)": "88", "Average Graphics Package Power (W)": "41.0"}}"#;
    program(programs.path(), "rocm-smi", &format!("cat <<'EOF'\n{json}\nEOF\n"));
    let folder = sleeping("", "0");
    during(&folder, &sampled(2, "\"power\":41"));
    let run = command(folder.path(), "run --monitor-output timeline.json");
    let run = with_programs(run, programs.path());
    ended(run).exits(0).says("by rocm-smi");
    let record = newest(folder.path());
    assert_eq!(window(&record, 0).gpus[0].power.unwrap().mean, 41.0);
}

#[test]
fn s0_53_a_gpu_that_others_use_is_told_or_refused() {
    let busy = "count=1 processes=1 utilization=50";
    // At a long interval the gate is patient with the driver, too.
    let run = "calm_wait = '0s'\nmonitor_interval = '10s'";
    let folder = sleeping(&format!("{run}\nbusy_gpu = 'refuse'"), "0");
    ended(with_card(command(folder.path(), "run"), busy)).exits(5).says("process 4000001").says("busy_gpu");
    assert!(!folder.path().join("artifacts").exists(), "nothing was measured");
    let folder = sleeping(run, "0.3");
    let said = "a GPU was not idle when a process began: process 4000001";
    ended(with_card(command(folder.path(), "run"), busy)).exits(0).says(said);
    let record = newest(folder.path());
    let wait = record.cases[0].processes[0].conditions.as_ref().unwrap().waited.as_deref().unwrap();
    assert!(wait.in_vain && matches!(wait.causes[0], Unrest::OtherProcess { gpu: 0, .. }), "{wait:?}");
    // Nor is a run refused less where nothing is sampled while it measures.
    let strict = sleeping(&format!("{run}\nbusy_gpu = 'refuse'"), "0");
    ended(with_card(command(strict.path(), "run --no-monitor"), busy)).exits(5).says("process 4000001");
    // A CPU's suite does not ask.
    let text = std::fs::read_to_string(folder.path().join("gbench.toml")).unwrap();
    std::fs::write(folder.path().join("gbench.toml"), format!("{text}components = ['cpu']\n")).unwrap();
    ended(with_card(command(folder.path(), "run --quiet"), busy)).exits(0);
    let record = newest(folder.path());
    let conditions = record.cases[0].processes[0].conditions.as_ref();
    assert!(conditions.is_none_or(|it| it.waited.is_none() && it.telemetry.is_none()), "{conditions:?}");
}

#[test]
fn the_gate_waits_for_a_calm_gpu_and_says_so() {
    // At a longer interval the gate is patient with the driver, too.
    let folder = sleeping("monitor_interval = '500ms'", "0");
    during(&folder, &sampled(3, "timestamp"));
    let (run, card) =
        (command(folder.path(), "run --monitor-output timeline.json"), folder.path().join("card"));
    let mut run = with_card(run, "count=1 utilization=60 processes=1");
    run.env("FAKE_NVML_FILE", &card).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut gate = run.spawn().unwrap();
    let mut said = String::new();
    for line in BufReader::new(gate.stderr.take().unwrap()).lines() {
        said += &format!("{} ", line.unwrap());
        if said.contains("waiting for an idle GPU") {
            std::fs::write(&card, "utilization=0 processes=0").unwrap();
        }
    }
    assert!(gate.wait().unwrap().success(), "{said}");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("waiting for an idle GPU, 30s at most: process 4000001"), "{said}");
    assert!(said.contains("the GPU is idle after"), "{said}");
    let record = newest(folder.path());
    let wait = record.cases[0].processes[0].conditions.as_ref().unwrap().waited.as_deref().unwrap();
    assert!(!wait.in_vain && wait.seconds > 0.0, "{wait:?}");
    assert!(window(&record, 0).gpus[0].foreign.is_empty(), "it was gone when the process began");
}

#[test]
fn a_red_says_that_the_card_ran_slower_on_head_and_explain_draws_it() {
    // Nobody looks at how busy the machine is: other tests run beside this one, and would keep it from a red.
    let card = TempDir::new().unwrap();
    let places = card.path().display();
    let gate = format!("[gate]\nrounds = 16\ncontrols = 0\nwatch = false\nwritable = ['{places}']\n");
    let text = suite(&format!("{gate}[run]\nmonitor = true\nmonitor_interval = '10ms'\n"), "");
    // Each side sets the card's clock for its own time.
    let more = |clock: u32| {
        let found = format!("$(grep -c '\"sm_clock\":{clock}' \"$TIMELINE\" || true)");
        format!(
            "echo utilization=90 sm_clock={clock} > \"$CARD\"\n\
             seen={found}; until [ {found} -ge $((seen + 8)) ]; do sleep 0.005; done\n"
        )
    };
    let (fast, slow) = (more(1980), more(1500));
    let text = text.replace("[[benchmark]]", "[[benchmark]]\nkeep_env = ['CARD', 'TIMELINE']");
    let base = [("gbench.toml", text.as_str()), ("more.sh", fast.as_str())];
    let it = Repository::new(&base, &[("cost", "1.3\n"), ("more.sh", slow.as_str())]);
    let [card, timeline] = ["card", "timeline.json"].map(|name| card.path().join(name));
    let (library, card, timeline) =
        (fake_nvml::library(""), card.to_str().unwrap(), timeline.to_str().unwrap());
    let env = [
        ("GBENCH_NVML_LIBRARY", library.to_str().unwrap()),
        ("FAKE_NVML", "count=1 power=300000"),
        ("FAKE_NVML_FILE", card),
        ("CARD", card),
        ("TIMELINE", timeline),
    ];
    let said = it.compare_with(&format!("HEAD~1..HEAD --monitor-output {timeline}"), &env).exits(1);
    said.says("% lower on head (");
    let verdict = it.verdict();
    let slow = row(&verdict, "c0", "time");
    assert_eq!(slow.verdict, Verdict::Regressed);
    let telemetry = slow.telemetry.as_deref().unwrap();
    assert!(
        matches!(telemetry.remarks[0], TelemetryRemark::LowerClock { side: Side::Head, .. }),
        "{telemetry:?}"
    );
    ran(it.root(), "explain c0").exits(0).says("Clock of the GPU in each round, in MHz");
    ran(it.root(), "explain c0 --svg c0.svg").exits(0);
    let svg = std::fs::read_to_string(it.root().join("c0.svg")).unwrap();
    assert!(svg.contains("Clock of the GPU in each round (ring: base, dot: head)"), "{svg}");
}

#[test]
fn where_the_suite_says_that_nobody_looks_samples_mark_no_process() {
    let folder = sleeping("calm_wait = '0s'", "0");
    during(&folder, &sampled(5, "\"utilization\":90"));
    let text = std::fs::read_to_string(folder.path().join("gbench.toml")).unwrap();
    std::fs::write(folder.path().join("gbench.toml"), format!("{text}[gate]\nwatch = false\n")).unwrap();
    let run = command(folder.path(), "run --quiet --monitor-interval 20ms --monitor-output timeline.json");
    ended(with_card(run, "count=1 utilization=90 reasons=0x4")).exits(0);
    let record = newest(folder.path());
    let conditions = record.cases[0].processes[0].conditions.as_ref().unwrap();
    assert!(
        conditions.throttled.is_empty() && !conditions.busy && conditions.other_cpu.is_none(),
        "{conditions:?}"
    );
    assert!(window(&record, 0).gpus[0].throttled["sw_power_cap"] > 0);
}

#[test]
fn what_has_no_meaning_where_nothing_is_timed_is_refused() {
    let folder = sleeping("", "0");
    for flag in ["--monitor", "--monitor-output t.json", "--lock-sm-clock base"] {
        ran(folder.path(), &format!("profile a {flag}")).exits(2).says("nothing is timed here");
    }
    ran(folder.path(), "run --monitor-interval 1ms").exits(2).says("give 5ms or more");
}
