//! Rows of other programs' files: those without a figure, those that repeat, and the shapes that real tools write.

use std::path::Path;

use gbench_ci::model::{CaseRecord, Outcome, RunRecord};
use gbench_ci::store::read_record;

use crate::support::cli::{Ran, command, ended, ran};

const ROWS: &str = "--metric t=abs_latency:ms --parameters dev,name,batch_size";
const REPEATS: &str =
    "dev,name,batch_size,speedup,abs_latency\ncuda,a,8,1.3,80.5\ncuda,a,8,1.3,81\ncuda,a,8,1.2,82.25\n";

fn written(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = crate::support::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn ingested(folder: &Path, arguments: &str, exit: i32) -> (RunRecord, Ran) {
    let ran = ran(folder, &format!("ingest {arguments} -o r.json")).exits(exit);
    (read_record(&folder.join("r.json")).unwrap(), ran)
}

fn case<'r>(record: &'r RunRecord, id: &str) -> &'r CaseRecord {
    record.cases.iter().find(|case| case.id.to_string() == id).unwrap_or_else(|| panic!("{id}"))
}

fn cause(case: &CaseRecord) -> &str {
    match &case.outcome {
        Outcome::Failed { cause, .. } => cause,
        other => panic!("{other:?}"),
    }
}

#[test]
fn b18_an_empty_cell_fails_its_row_and_an_impossible_efficiency_is_shown() {
    let folder = written(&[
        ("failed.csv", "dev,name,batch_size,speedup,abs_latency\ncuda,a,8,1.3,80.5\ncuda,b,8,,\n"),
        ("high.json", "[{\"n\": 1, \"ms\": 2.5, \"part\": 107.5}]"),
        ("zero.json", "[{\"n\": 1, \"ms\": 0}]"),
    ]);
    let (record, told) = ingested(folder.path(), &format!("failed.csv {ROWS}"), 4);
    assert!(case(&record, "results/rows[batch_size=8,dev=cuda,name=a]").outcome.is_measured());
    assert!(
        cause(case(&record, "results/rows[batch_size=8,dev=cuda,name=b]"))
            .ends_with("`abs_latency` in line 3 is empty")
    );
    told.says("line 3 is empty");
    let rows = "--parameters n --metric time=ms:ms";
    let (_, told) =
        ingested(folder.path(), &format!("high.json {rows} --metric efficiency=part:%:higher"), 0);
    told.says("`efficiency` is 107.5 %").says("more than 100 %");
    let (record, _) = ingested(folder.path(), &format!("zero.json {rows}"), 4);
    assert!(cause(&record.cases[0]).contains("nothing was measured"));
}

#[test]
fn repeated_rows_are_what_the_user_says() {
    let folder = written(&[("r.csv", REPEATS)]);
    let values = |record: &RunRecord| -> Vec<Vec<f64>> {
        let time = record.cases[0].metrics.iter().find(|metric| metric.name.starts_with('t')).unwrap();
        time.processes.iter().map(|process| process.values.clone()).collect()
    };
    ran(folder.path(), &format!("ingest r.csv {ROWS}"))
        .exits(2)
        .says("it appears twice")
        .says("--repeats samples");
    let (record, _) = ingested(folder.path(), &format!("r.csv {ROWS} --repeats samples"), 0);
    assert_eq!(values(&record), [[80.5, 81.0, 82.25]]);
    let (record, told) = ingested(folder.path(), &format!("r.csv {ROWS} --repeats processes"), 0);
    assert_eq!(values(&record), [[80.5], [81.0], [82.25]]);
    told.says("1 file of rows");
    let (record, told) =
        ingested(folder.path(), &format!("r.csv {ROWS} --repeats processes --better t=lower"), 0);
    assert_eq!((record.ingested.unwrap().files.len(), told.out.contains("files")), (1, false));
    // Of a known format, and where a run broke off.
    let line = |mean: f64| {
        format!(
            "{{\"impl\":\"x\",\"B\":1,\"H\":2,\"S\":64,\"d\":32,\"dtype\":\"fp16\",\"causal\":true,\"ms_mean\":{mean},\"ms_std\":0.1,\"qps\":9}}\n"
        )
    };
    let rows = line(1.5) + &line(1.75) + &line(2.0).replace("\"S\":64", "\"S\":128");
    std::fs::write(folder.path().join("a.jsonl"), rows).unwrap();
    ran(folder.path(), "ingest a.jsonl").exits(2).says("--repeats samples");
    let (record, _) = ingested(folder.path(), "a.jsonl --repeats samples", 0);
    assert_eq!(values(&record), [[1.5, 1.75]]);
    let (record, _) = ingested(folder.path(), "a.jsonl --repeats processes", 4);
    assert!(cause(&record.cases[1]).contains("only 1 of 2 runs"));
    ran(folder.path(), "ingest r.json --repeats samples").exits(2);
}

#[test]
fn b29_chapters_have_their_natural_order() {
    let benchmark = |name: &str| {
        format!(
            "{{\"example\":\"{name}\",\"baseline_file\":\"baseline_{name}.py\",\"baseline_time_ms\":4.0,\"optimizations\":[{{\"file\":\
             \"optimized_{name}.py\",\"technique\":\"fast\",\"status\":\"success\",\"time_ms\":2.0}}],\"status\":\"success\"}}"
        )
    };
    let chapters = ["ch1", "ch10", "ch2"].map(|chapter| {
        format!("{{\"chapter\":\"{chapter}\",\"status\":\"completed\",\"benchmarks\":[{}]}}", benchmark("a"))
    });
    let folder = written(&[("r.json", &format!("{{\"results\":[{}]}}", chapters.join(",")))]);
    for (words, table) in [("", "Chapters"), ("", "Pairs: "), (" --by chapter", "time by chapter")] {
        let told = ran(folder.path(), &format!("report r.json{words}")).exits(0);
        let (_, rows) = told.out.split_once(table).unwrap();
        let at = |chapter: &str| rows.find(chapter).unwrap();
        assert!(at("ch1") < at("ch2") && at("ch2") < at("ch10"), "{table}: {rows}");
    }
}

const UNKNOWN: &str = r#"{"model": "tiny", "results": [
{"op":"gelu","backend":"triton","our":{"median_us":1500.5},"gbps":812.5,"quality":0.97,"begin":100,"end":350,"ok":true},
{"op":"gelu","backend":"torch","our":{"median_us":1900.5},"gbps":642.5,"quality":0.95,"begin":350,"end":700,"ok":true},
{"op":"silu","backend":"torch","our":{"median_us":2100.5},"gbps":582.5,"quality":0.99,"begin":700,"end":990,"ok":true}]}
"#;

fn values(record: &RunRecord, metric: &str) -> Vec<f64> {
    let of_case = |case: &CaseRecord| -> Option<f64> {
        let metric = case.metrics.iter().find(|other| other.name == metric)?;
        let process = &metric.processes[0];
        process.stated.as_ref().map(|stated| stated.value).or(process.values.first().copied())
    };
    record.cases.iter().filter_map(of_case).collect()
}

#[test]
fn b36_an_unknown_file_is_shown_with_the_command_that_reads_it() {
    let without_outcome = UNKNOWN.replace(",\"ok\":true", "");
    let files =
        [("r.json", without_outcome.as_str()), ("ok.json", UNKNOWN), ("notes.txt", "nothing\nhere\n")];
    let folder = written(&files);
    // Flags would measure rows that failed.
    let told = ran(folder.path(), "ingest ok.json").exits(2);
    assert!(!told.says("Flags cannot express all of this; a description file can:").out.contains("--metric"));
    let told = ran(folder.path(), "ingest r.json").exits(2);
    let told = told
        .says("JSON, objects at `$.results[*]`, 3 rows. Nothing was imported.")
        .says("our.median_us 1500.5 figure in us, lower is better")
        .says("quality 0.97 figure, direction unknown")
        .says("Figures of unknown direction are not judged.")
        .says("gbench-ci ingest --describe rows.toml r.json")
        .says("does not identify a format");
    assert!(
        told.out.lines().count() <= 25 && told.out.lines().all(|line| line.chars().count() <= 80),
        "{}",
        told.out
    );
    assert!(!folder.path().join("gbench").exists());
    // The command, as a shell reads it.
    let (_, command) = told.out.split_once("    gbench-ci ").unwrap();
    let (command, _) = command.split_once("\n\n").unwrap();
    let command = command.replace(" \\\n", " ").replace('\'', "");
    let told = ran(folder.path(), &format!("{command} -o r.json.record")).exits(0);
    assert_eq!(
        values(&read_record(&folder.path().join("r.json.record")).unwrap(), "gbps"),
        [812.5, 642.5, 582.5]
    );
    told.says("model=tiny");
    ran(folder.path(), "ingest notes.txt")
        .exits(2)
        .says("seems to be a text")
        .says("No field looks like a figure");
    // Others say where to look.
    ran(folder.path(), "compare --base r.json --head notes.txt").exits(2).says("`gbench-ci ingest r.json`");
}

#[test]
fn b36_a_description_in_a_file_reads_files_wherever_a_format_is_named() {
    let second = UNKNOWN.replace("00.5", "01.5").replace("\"ok\":true}]", "\"ok\":false}]");
    let folder = written(&[("a.json", UNKNOWN), ("b.json", &second)]);
    let at = folder.path();
    let toml = ran(at, "ingest --describe - a.json").exits(0).out;
    assert!(
        toml.contains("layout.json = \"$.results[*]\"") && toml.contains("passed = { \"ok\" = [\"true\"] }"),
        "{toml}"
    );
    ran(at, "ingest --describe rows.toml a.json").exits(0).says("gbench-ci ingest --format rows.toml a.json");
    assert_eq!(std::fs::read_to_string(at.join("rows.toml")).unwrap(), toml);
    ran(at, "ingest --describe rows.toml a.json").exits(2).says("rows.toml: it exists");
    ran(at, "ingest --describe other.toml a.json b.json").exits(2).says("several files");
    let (record, _) = ingested(at, "--format rows.toml a.json", 0);
    assert_eq!(values(&record, "our.median_us"), [1500.5, 1900.5, 2100.5]);
    let facts = record.ingested.unwrap();
    assert!(facts.format == "rows" && facts.facts["described_by"].starts_with("sha256:"), "{facts:?}");
    // A row that has not passed has failed.
    let (record, _) = ingested(at, "--format rows.toml b.json", 4);
    assert!(cause(&record.cases[2]).contains("`ok` is false"));
    ran(at, "report a.json --input-format rows.toml").exits(0).says("our.median_us");
    ran(at, "export a.json --input-format rows.toml --to benchfmt").exits(0).says("1500.5");
    let compared = ran(at, "compare --base a.json --head b.json --input-format rows.toml").exits(4);
    assert!(!compared.says("--input-format rows.toml").out.contains("described_by"));
    // A side that was read by another description is not compared in silence.
    ran(at, "ingest --format rows.toml a.json -o a.record.json").exits(0);
    std::fs::write(at.join("rows.toml"), toml.replace("field = \"our.median_us\"", "field = \"gbps\""))
        .unwrap();
    ran(at, "ingest --format rows.toml b.json -o b.record.json").exits(4);
    ran(at, "compare a.record.json b.record.json").exits(4).says("file.described_by");
}

#[test]
fn b36_the_guess_in_the_documentation_is_what_is_printed() {
    let row = |op: &str, backend: &str, ms: f64, gbps: f64, score: f64| {
        format!(
            "{{\"op\":\"{op}\",\"backend\":\"{backend}\",\"shape\":[2,1024],\"elapsed_ms\":{ms},\"std_ms\":0.1,\
             \"gbps\":{gbps},\"score\":{score}}}"
        )
    };
    let rows = [
        row("gelu", "triton", 1.5, 812.5, 0.97),
        row("gelu", "torch", 1.9, 642.5, 0.95),
        row("silu", "torch", 2.1, 582.5, 0.99),
    ];
    let head = "\"model\":\"tiny\",\"gpu\":\"H100\",\"iterations\":100";
    let folder = written(&[("results.json", &format!("{{{head},\"results\":[{}]}}", rows.join(",")))]);
    let told = ran(folder.path(), "ingest results.json").exits(2).out;
    let docs = include_str!("../docs/formats.md");
    assert!(docs.contains(&format!("$ gbench-ci ingest results.json\n{told}")), "{told}");
}

#[test]
fn b36_a_guess_is_at_the_json_within_a_log() {
    let log = format!("Starting the server\n{UNKNOWN}done\n");
    let folder = written(&[("run.log", &log)]);
    let at = folder.path();
    ran(at, "ingest run.log").exits(2).says("JSON, objects at `$.results[*]`, 3 rows");
    ran(at, "ingest --describe rows.toml run.log").exits(0);
    let (record, _) = ingested(at, "--format rows.toml run.log", 0);
    assert_eq!(values(&record, "gbps"), [812.5, 642.5, 582.5]);
}

#[test]
fn b36_names_in_a_guess_are_neither_flags_nor_escape_sequences() {
    let escape = "x\u{1b}]0;title\u{7}.csv";
    let table = "-name,n,-ms\na,1,1.5\nb,2,2.5\n";
    let folder = written(&[("-r.csv", table), (escape, table)]);
    let at = folder.path();
    let mut ingest = command(at, "ingest");
    ingest.args(["--", "-r.csv"]);
    let told = ended(ingest).exits(2);
    told.says("gbench-ci ingest ./-r.csv --parameters=")
        .says("--metric=")
        .says("--describe rows.toml ./-r.csv");
    let mut ingest = command(at, "ingest");
    ingest.arg(escape);
    let told = ended(ingest).exits(2).says("the file's name has invisible characters");
    assert!(!told.out.contains(['\u{1b}', '\u{7}']) && !told.out.contains("--describe"), "{}", told.out);
}

#[test]
fn b36_describe_refuses_what_would_have_no_effect() {
    let folder = written(&[("a.json", UNKNOWN)]);
    let at = folder.path();
    ran(at, "ingest --describe rows.txt a.json").exits(2).says("its name does not end in `.toml`");
    for flag in [
        "--format rows",
        "--input-suite a",
        "--unit gbps=GB/s",
        "--better quality=higher",
        "--metric t=gbps",
        "--where op=gelu",
        "--repeats samples",
        "--each",
        "-o r.json",
        "--save a",
    ] {
        ran(at, &format!("ingest --describe rows.toml {flag} a.json")).exits(2).says("cannot be used with");
    }
    assert!(!at.join("rows.txt").exists() && !at.join("rows.toml").exists());
}

#[test]
fn b36_a_word_instead_of_a_figure_fails_its_row() {
    let folder = written(&[("a.csv", "name,ms\na,1.5\nb,OOM\n")]);
    let (record, _) = ingested(folder.path(), "a.csv --metric t=ms:ms --parameters name", 4);
    assert!(cause(&record.cases[1]).contains("OOM") && values(&record, "t") == [1.5]);
}

#[test]
fn b36_an_error_in_a_description_has_its_line_and_its_key() {
    let folder = written(&[("a.json", UNKNOWN)]);
    let metric = "[[metrics]]\nname = \"t\"\nfield = \"gbps\"\nunit = \"gbps\"\n";
    for (toml, place, what) in [
        (format!("parameter = [\"op\"]\n{metric}"), "rows.toml:1:1", "unknown field `parameter`"),
        ("parameters = [\"op\"]\n".into(), "rows.toml:1:1", "no [[metrics]]"),
        (format!("{metric}{metric}"), "rows.toml:2:", "the metric `t` is named twice"),
        (format!("layout.json = \"$.results[\"\n{metric}"), "rows.toml:1:", "not a JSON path"),
        (format!("{metric}better = \"more\"\n"), "rows.toml:5:10", "`more`"),
        ("[[metrics]]\nname = \"t\"\n".into(), "rows.toml:2:", "needs either `field` or `fields`"),
        ("layout.text = {}\n[[metrics]]\nname = \"t\"\nfield = \"x\"\n".into(), "rows.toml:1:1", "no `row`"),
    ] {
        std::fs::write(folder.path().join("rows.toml"), &toml).unwrap();
        ran(folder.path(), "ingest --format rows.toml a.json").exits(2).says(place).says(what);
    }
    ran(folder.path(), "ingest --format none.toml a.json")
        .exits(2)
        .says("none.toml: the description cannot be read");
    std::fs::write(folder.path().join("rows.toml"), metric).unwrap();
    ran(folder.path(), "ingest --format rows.toml --metric t=gbps:gbps a.json")
        .exits(2)
        .says("take --metric");
    ran(folder.path(), "ingest --format rows.toml a.json")
        .exits(2)
        .says("change the description in rows.toml");
}

#[test]
fn b36_where_keeps_cases_of_a_known_format() {
    let line = |dtype: &str, mean: f64| {
        format!(
            "{{\"impl\":\"x\",\"B\":1,\"H\":2,\"S\":64,\"d\":32,\"dtype\":\"{dtype}\",\"causal\":true,\"ms_mean\":{mean},\"ms_std\":0.1,\"qps\":9}}\n"
        )
    };
    let folder = written(&[
        ("a.jsonl", &(line("fp16", 1.5) + &line("bf16", 2.5))),
        ("b.jsonl", &(line("fp16", 1.75) + &line("bf16", 2.75))),
    ]);
    let at = folder.path();
    let (record, _) = ingested(at, "a.jsonl --where dtype=bf16 --where B=1", 0);
    assert_eq!((record.cases.len(), values(&record, "time")), (1, vec![2.5]));
    let (record, _) = ingested(at, "a.jsonl --where metric=time --where case=attention", 0);
    assert_eq!((record.cases.len(), record.cases[0].metrics.len()), (2, 1));
    ran(at, "ingest a.jsonl --where dtpye=bf16")
        .exits(2)
        .says("no case in a.jsonl has a parameter of this name")
        .says("dtype");
    ran(at, "ingest a.jsonl --where dtype=fp8").exits(2).says("`dtype` is one of: bf16, fp16");
    ran(at, "ingest a.jsonl --where metric=speed").exits(2).says("qps, time");
    ran(at, "ingest a.jsonl --where dtype=bf16 --where metric=time --where B=2").exits(2);
    let compared = ran(at, "compare --base a.jsonl --head b.jsonl --where dtype=bf16 --format json");
    assert!(compared.out.contains("--where dtype=bf16") && !compared.out.contains("fp16"));
    ingested(at, "a.jsonl", 0);
    ran(at, "compare r.json r.json --where dtype=bf16").exits(2).says("take --unit, --better, --where");
}

/// `ingest` with arguments that may hold blanks.
fn ingested_as(folder: &Path, arguments: &[&str]) -> RunRecord {
    let mut ingest = command(folder, "ingest -o r.record.json");
    ingest.args(arguments);
    ended(ingest).exits(0);
    read_record(&folder.join("r.record.json")).unwrap()
}

#[test]
fn b36_fields_are_reached_by_paths_by_differences_and_around_the_row() {
    let folder = written(&[
        ("r.json", UNKNOWN),
        ("o.json", "{\"gpu\":\"A\",\"sizes\":{\"1024\":{\"ms\":1.5},\"2048\":{\"ms\":2.5}}}"),
    ]);
    let at = folder.path();
    let metrics = ["--metric", "time=our.median_us:us", "--metric", "span=end - begin:ns"];
    let rows = ["r.json", "--rows", "$.results[*]", "--parameters", "op,backend,^model"];
    let record = ingested_as(at, &[&rows[..], &metrics].concat());
    assert_eq!(values(&record, "time"), [1500.5, 1900.5, 2100.5]);
    assert_eq!(values(&record, "span"), [250.0, 350.0, 290.0]);
    assert!(case(&record, "results/rows[backend=torch,model=tiny,op=silu]").outcome.is_measured());
    let record = ingested_as(
        at,
        &["o.json", "--rows", "$.sizes.*", "--parameters", "@key,^gpu", "--metric", "t=ms:ms"],
    );
    assert_eq!(values(&record, "t"), [1.5, 2.5]);
    assert!(case(&record, "results/rows[gpu=A,key=2048]").outcome.is_measured());
}

#[test]
fn b36_a_table_may_have_any_separator() {
    let flags = "--parameters op,n --metric time=ms:ms";
    for (name, text) in [
        ("commas.csv", "op,n,ms\ngelu,8,1.5\nsilu,8,2.5\n"),
        ("semicolons.csv", "op;n;ms\ngelu;8;1.5\nsilu;8;2.5\n"),
        ("tabs.tsv", "op\tn\tms\ngelu\t8\t1.5\nsilu\t8\t2.5\n"),
        ("bars.txt", "op|n|ms\ngelu|8|1.5\nsilu|8|2.5\n"),
        ("blanks.txt", "op      n   ms\ngelu    8  1.5\nsilu    8  2.5\n"),
        ("table.md", "| op   | n | ms  |\n|:-----|---|----:|\n| gelu | 8 | 1.5 |\n| silu | 8 | 2.5 |\n"),
    ] {
        let folder = written(&[(name, text)]);
        for rows in ["", "--rows csv"] {
            let (record, _) = ingested(folder.path(), &format!("{name} {rows} {flags}"), 0);
            assert_eq!(values(&record, "time"), [1.5, 2.5], "{name}");
            assert_eq!(record.cases[0].id.to_string(), "results/rows[n=8,op=gelu]");
        }
    }
    // The separator is that of all fields that are named, also without a parameter.
    let folder = written(&[("one.csv", "op;ms\ngelu;1.5\n")]);
    let (record, _) = ingested(folder.path(), "one.csv --metric time=ms:ms", 0);
    assert_eq!(values(&record, "time"), [1.5]);
}

#[test]
fn b36_repeated_rows_of_a_description_are_what_the_user_says() {
    let rows = "[[metrics]]\nname = \"t\"\nfield = \"abs_latency\"\nunit = \"ms\"\n";
    let folder =
        written(&[("r.csv", REPEATS), ("rows.toml", &format!("parameters = [\"dev\", \"name\"]\n{rows}"))]);
    let read = "r.csv --format rows.toml";
    ran(folder.path(), &format!("ingest {read}")).exits(2).says("--repeats samples");
    for (meaning, processes) in [("samples", 1), ("processes", 3)] {
        let (record, _) = ingested(folder.path(), &format!("{read} --repeats {meaning}"), 0);
        assert_eq!(record.cases[0].metrics[0].processes.len(), processes);
    }
}
