//! Rows of other programs' files: those without a figure, those that repeat, and the shapes that real tools write.

use std::path::Path;

use gbench_ci::model::{CaseRecord, Outcome, RunRecord};
use gbench_ci::store::read_record;

use crate::support::cli::{Ran, ran};

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
