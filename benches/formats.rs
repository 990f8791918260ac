//! Reading result files: a million rows of each form in processes of their own, and a table of the speed of every format on its
//! own fixtures.

#![allow(unreachable_pub, reason = "a program of several files")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints tables")]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use gbench_ci::adapters::OutputFiles;
use gbench_ci::adapters::formats::{
    Described, DescribedMetric, FORMATS, Repeats, ResultFile, ResultFormat, named, read, read_repeated,
};
use support::{Goals, megabytes, milliseconds, run, this_bench};

const ROWS: usize = 1_000_000;
const CASES: usize = 1_000;
const GOAL: Duration = Duration::from_secs(2);
const GOAL_BYTES: u64 = 500_000_000;

/// A description by flags for `list`, `lines` and `table`; else a format.
const FORMS: [&str; 5] = ["list", "lines", "table", "google-benchmark-csv", "criterion-text"];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    if let Some(at) = words.iter().position(|word| word == "--read") {
        return child(&words[at + 1], Path::new(&words[at + 2]));
    }
    let mut goals = Goals::default();
    for form in FORMS {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("rows"), written(form)).expect("the folder is ours");
        let ended = run(Command::new(this_bench()).arg("--read").arg(form).arg(folder.path()));
        assert!(ended.status.success(), "{form} is not read");
        let text = std::fs::read_to_string(folder.path().join("seconds")).expect("a time");
        let time = Duration::from_secs_f64(text.parse().expect("a number"));
        goals.check(&format!("{form}: {ROWS} rows"), milliseconds(time), "below 2 s", time < GOAL);
        let peak = ended.peak_bytes;
        goals.check(&format!("{form}: memory"), megabytes(peak), "below 500 MB", peak < GOAL_BYTES);
    }
    table();
    goals.conclude()
}

fn child(form: &str, folder: &Path) -> ExitCode {
    let begin = Instant::now();
    let bytes = std::fs::read(folder.join("rows")).expect("the rows");
    let beside = OutputFiles::default();
    let file = ResultFile { name: "rows", bytes: &bytes, beside: &beside };
    let metric =
        DescribedMetric { name: "time".into(), field: "ms".into(), unit: "ms".into(), ..Default::default() };
    let described = Described {
        parameters: vec!["op".into(), "n".into()],
        metrics: vec![metric],
        case: "rows".into(),
        ..Described::default()
    };
    let format = named(form).unwrap_or(&described as &dyn ResultFormat);
    let runs = match read_repeated(format, &file, Repeats::Samples) {
        Ok(runs) => runs,
        Err(error) => panic!("{form}: {error}"),
    };
    let seconds = begin.elapsed().as_secs_f64();
    let count: usize = runs[0].readings.iter().map(|reading| reading.metrics[0].values.len()).sum();
    assert_eq!((runs[0].readings.len(), count), (CASES, ROWS), "{form}");
    std::fs::write(folder.join("seconds"), seconds.to_string()).expect("the folder is ours");
    ExitCode::SUCCESS
}

fn written(form: &str) -> String {
    let mut text = String::new();
    text += match form {
        "list" => "[",
        "table" => "op,n,ms\n",
        "google-benchmark-csv" => {
            "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,error_occurred,error_message\n"
        }
        _ => "",
    };
    for row in 0..ROWS {
        let (case, time) = (row % CASES, 100.0 + (row % 977) as f64 / 1000.0);
        match form {
            "list" => writeln!(
                text,
                "{}{{\"op\":\"gelu\",\"n\":{case},\"ms\":{time}}}",
                if row > 0 { "," } else { "" }
            ),
            "lines" => writeln!(text, "{{\"op\":\"gelu\",\"n\":{case},\"ms\":{time}}}"),
            "table" => writeln!(text, "gelu,{case},{time}"),
            "google-benchmark-csv" => writeln!(text, "\"BM/{case}\",100,{time},1.5,ns,,,,,"),
            _ => writeln!(text, "op/{case}              time:   [1.2 µs {time} µs 1.3 µs]"),
        }
        .expect("text takes all");
    }
    text + if form == "list" { "]" } else { "" }
}

/// The figures and the bytes a second of every format, each on its largest fixture that is read.
fn table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/formats");
    let mut speeds: Vec<(f64, f64, &str)> = Vec::new();
    for format in FORMATS.iter() {
        let Some((bytes, beside)) = largest(*format, &root.join(format.name())) else { continue };
        let file = ResultFile { name: "fixture", bytes: &bytes, beside: &beside };
        let (begin, mut count, mut turns) = (Instant::now(), 0, 0_u32);
        while begin.elapsed() < Duration::from_millis(200) {
            let runs = read(*format, &file).expect("it was read before");
            count +=
                runs.iter().flat_map(|run| &run.readings).map(|it| it.metrics.len().max(1)).sum::<usize>();
            turns += 1;
        }
        let seconds = begin.elapsed().as_secs_f64();
        speeds.push((count as f64 / seconds, bytes.len() as f64 * f64::from(turns) / seconds, format.name()));
    }
    speeds.sort_by(|one, other| one.0.total_cmp(&other.0));
    println!("\n{:<28} {:>14} {:>10}", "format", "figures/s", "MB/s");
    for (figures, bytes, name) in speeds {
        println!("{name:<28} {figures:>14.0} {:>10.1}", bytes / 1e6);
    }
}

fn largest(format: &dyn ResultFormat, folder: &Path) -> Option<(Vec<u8>, OutputFiles)> {
    let fixtures = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let fixtures = fixtures.filter_map(|fixture| {
        let mut paths: Vec<PathBuf> =
            std::fs::read_dir(&fixture).ok()?.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let bytes = std::fs::read(paths.first()?).ok()?;
        let beside = paths
            .iter()
            .skip(1)
            .filter_map(|path| Some((path.file_name()?.to_str()?.to_owned(), std::fs::read(path).ok()?)));
        let beside = OutputFiles(beside.collect::<BTreeMap<_, _>>());
        let is_read = read(format, &ResultFile { name: "fixture", bytes: &bytes, beside: &beside }).is_ok();
        is_read.then_some((bytes, beside))
    });
    fixtures.max_by_key(|(bytes, _)| bytes.len())
}
