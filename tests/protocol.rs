//! The protocol's manual keeps its word: every example in it is a real file that runs and says what can be read.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gbench_ci::model::line::{self, Event, PROTOCOL, Request};
use gbench_ci::model::{ParamValue, Params, Stage};

const ITERATIONS: u32 = 3;

fn documents() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
}

fn example(name: &str) -> PathBuf {
    documents().join("examples").join(name)
}

/// False, with a line on stderr, where the tool is not installed.
fn is_there(tool: &str, probe: &str) -> bool {
    let found = Command::new(tool).arg(probe).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let there = found.is_ok_and(|status| status.success());
    if !there {
        eprintln!("skipped: no {tool}");
    }
    there
}

/// Runs `argv` as the gate does, with a FIFO that is inherited as descriptor 3 and named too.
fn events_of(argv: &[&str]) -> Vec<Event> {
    let folder = crate::support::tempdir().unwrap();
    let path = folder.path().join("events");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR).unwrap();
    let flags = nix::fcntl::OFlag::O_NONBLOCK.bits();
    // Open for both, so that the child's opening does not wait and its closing does not end the pipe.
    let mut channel = File::options().read(true).write(true).custom_flags(flags).open(&path).unwrap();
    let request = Request {
        protocol: PROTOCOL,
        benchmark: "docs/example".into(),
        process: 0,
        params: Params::from([("n".into(), ParamValue::Int(1000))]),
        iterations: ITERATIONS,
        warmup: 1,
        duration: 0.0,
        burnin: 0.0,
        cold: false,
        seed: 1,
        pinned: Vec::new(),
        turns: false,
        profiled: false,
        cases: Vec::new(),
    };
    let mut child = Command::new("sh")
        .args(["-c", r#"exec 3>>"$GBENCH_EVENTS"; exec "$@""#, "sh"])
        .args(argv)
        .env(line::env::EVENTS, &path)
        .env(line::env::FD, "3")
        .env(line::env::REQUEST, serde_json::to_string(&request).unwrap())
        .env(line::env::ITERATIONS, ITERATIONS.to_string())
        .env("GBENCH_PARAM_N", "1000")
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(180);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("{argv:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(status.success(), "{argv:?} ended with {status}");
    let mut bytes = Vec::new();
    let end = channel.read_to_end(&mut bytes).unwrap_err();
    assert_eq!(end.kind(), std::io::ErrorKind::WouldBlock);
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.map(|line| line::parse(line).unwrap_or_else(|error| panic!("{argv:?}: {error}"))).collect()
}

/// As many positive samples of `time` as were asked for, within the stage `measure`, and nothing that fails.
fn check(events: &[Event]) {
    assert!(events.contains(&Event::Stage { stage: Stage::Measure }), "{events:?}");
    let mut times = Vec::new();
    for event in events {
        match event {
            Event::Sample { metric, value, .. } if metric == "time" => times.push(*value),
            Event::Samples { metric, values, .. } if metric == "time" => times.extend(values),
            Event::Validation { passed, .. } => assert!(passed, "{events:?}"),
            Event::Stage { .. } | Event::Metadata { .. } | Event::End {} => {}
            other => panic!("an example needs no {other:?}"),
        }
    }
    assert_eq!(times.len(), ITERATIONS as usize, "{events:?}");
    assert!(times.iter().all(|time| time.is_some_and(|time| time > 0.0)), "{times:?}");
}

#[test]
fn the_example_in_sh_speaks_the_protocol() {
    let nanoseconds = Command::new("date").arg("+%N").output().unwrap().stdout;
    if !nanoseconds.trim_ascii().iter().all(u8::is_ascii_digit) {
        eprintln!("skipped: `date` knows no nanoseconds");
        return;
    }
    check(&events_of(&["sh", example("protocol.sh").to_str().unwrap()]));
}

#[test]
fn the_example_in_python_speaks_the_protocol() {
    if is_there("python3", "--version") {
        check(&events_of(&["python3", example("protocol.py").to_str().unwrap()]));
    }
}

#[test]
fn the_example_in_cpp_speaks_the_protocol() {
    if !is_there("c++", "--version") {
        return;
    }
    let folder = crate::support::tempdir().unwrap();
    let program = folder.path().join("example");
    let compiled = Command::new("c++")
        .args(["-std=c++17", "-O2", "-Wall", "-Werror", "-o"])
        .args([&program, &example("protocol.cpp")])
        .status()
        .unwrap();
    assert!(compiled.success());
    check(&events_of(&[program.to_str().unwrap()]));
}

#[test]
fn the_example_that_takes_turns_measures_alone_too() {
    if is_there("python3", "--version") {
        check(&events_of(&["python3", example("turns.py").to_str().unwrap()]));
    }
}

#[test]
fn the_manual_shows_the_examples_as_they_are() {
    let manual = fs::read_to_string(documents().join("protocol.md")).unwrap();
    let examples = [
        ("protocol.sh", "sh", 20),
        ("protocol.py", "python", 20),
        ("protocol.cpp", "cpp", 20),
        ("turns.py", "python", 26),
    ];
    for (name, language, most) in examples {
        let text = fs::read_to_string(example(name)).unwrap();
        assert!(text.lines().count() < most, "{name} has grown to {} lines", text.lines().count());
        assert!(manual.contains(&format!("```{language}\n{text}```\n")), "{name} differs from the manual");
    }
}

#[test]
fn every_line_that_the_manual_shows_can_be_read() {
    let manual = fs::read_to_string(documents().join("protocol.md")).unwrap();
    let lines: Vec<_> = manual.lines().filter(|line| line.starts_with("{\"event\"")).collect();
    for line in &lines {
        line::parse(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    for event in [
        "stage",
        "sample",
        "samples",
        "summary",
        "metadata",
        "config",
        "memory",
        "answer",
        "validation",
        "skip",
        "error",
        "case",
        "yield",
        "end",
    ] {
        let start = format!("{{\"event\": \"{event}\"");
        assert!(lines.iter().any(|line| line.starts_with(&start)), "the manual shows no `{event}`");
    }
}

#[test]
fn the_request_that_the_manual_shows_can_be_read() {
    let manual = fs::read_to_string(documents().join("protocol.md")).unwrap();
    let (_, after) = manual.split_once("```json\n").unwrap();
    let (request, _) = after.split_once("```").unwrap();
    let request: Request = serde_json::from_str(request).unwrap();
    assert_eq!(request.protocol, PROTOCOL);
}
