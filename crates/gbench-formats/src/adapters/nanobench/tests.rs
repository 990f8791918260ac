use super::super::detect::MemoryTree;
use super::*;
use crate::adapters::{Amount, BuildStep, OutputFiles, read};

fn of(stdout: &str) -> Result<Vec<Reading>, String> {
    let files = OutputFiles::default();
    let read = read(&Nanobench, &HarnessOutput { stdout: stdout.as_bytes(), files: &files });
    read.map_err(|error| error.to_string())
}

const TABLE: &str = "\n|  ns/op |  op/s | err% | total | sizes\n|----:|----:|----:|----:|:----\n";

const JSON: &str = r#"{
    "results": [
        {"title": "t", "name": "a", "unit": "byte", "batch": 4, "measurements": [
            {"iterations": 10, "elapsed": 8e-9, "instructions": 40},
            {"iterations": 11, "elapsed": 4e-9, "instructions": 44}]}
    ]
}
"#;

#[test]
fn the_command_stays_as_it_is() {
    let command = ["./bench".to_owned()];
    let ask = CaseRequest { command: &command, cases: &["t / a"], out: "/out", amount: Amount::LEAST };
    let run = Nanobench.run(&ask).unwrap();
    assert_eq!(run.argv, ["./bench"]);
    assert_eq!(Nanobench.list(&ask), Some(run));
}

#[test]
fn epochs_of_the_json_template_are_samples_of_one_unit() {
    let readings = of(JSON).unwrap();
    assert_eq!(readings[0].case.native, "t / a");
    assert_eq!(
        (readings[0].metrics[0].unit.as_str(), &readings[0].metrics[0].values[..]),
        ("s", &[2e-9, 1e-9][..])
    );
    assert_eq!(readings[0].metrics[1].values, [10.0, 11.0]);
    assert!(!readings[0].metrics[1].judged);
}

#[test]
fn json_is_preferred_to_the_table_around_it_and_every_document_is_read() {
    let second = JSON.replace("\"a\"", "\"b\"");
    let readings = of(&format!("{TABLE}|  7.0 |  1 | 0.0% | 0.1 | `a`\n{JSON}text {{\n{second}")).unwrap();
    assert_eq!(readings.len(), 2);
    assert!(readings.iter().all(|reading| reading.metrics[0].summary.is_none()));
}

#[test]
fn json_in_a_file_of_the_folder_is_read() {
    let files = OutputFiles([("a/b.json".to_owned(), JSON.into())].into());
    assert_eq!(read(&Nanobench, &HarnessOutput { stdout: b"", files: &files }).unwrap().len(), 1);
}

#[test]
fn json_that_is_cut_off_or_has_no_sample_is_refused_with_its_place() {
    let cut = JSON.len() - 20;
    assert!(of(&format!("hello\n{}", &JSON[..cut])).unwrap_err().starts_with("stdout:"));
    assert!(of(&JSON.replace("\"batch\": 4", "\"batch\": 0")).unwrap_err().contains("batch"));
    assert!(
        of(&JSON.replace("\"iterations\": 10", "\"iterations\": 0")).unwrap_err().contains("no iteration")
    );
    assert!(of(&JSON.replace("\"elapsed\": 8e-9", "\"other\": 1")).unwrap_err().contains("elapsed"));
    assert!(of(&JSON.replace("8e-9", "nan")).is_err());
}

#[test]
fn a_row_of_the_table_has_its_name_and_its_unit() {
    let rows = "|  1,007.5 |  1 | 0.0% | 0.1 | `a | b`\n|  2.0 |  1 | 9.0% | 0.1 | :wavy_dash: `c` (Unstable with ~3.0 iters. Increase `minEpochIterations` to e.g. 30)\n";
    let readings = of(&format!("{TABLE}{rows}")).unwrap();
    let names: Vec<&str> = readings.iter().map(|reading| reading.case.native.as_str()).collect();
    assert_eq!(names, ["sizes / a | b", "sizes / c"]);
    assert_eq!(readings[0].metrics[0].summary.unwrap().value, 1007.5);
    assert!(readings[1].metadata.contains_key("unstable"));
    let relative =
        of("| relative | us/op | op/s | err% | total | t\n| 100.0% | 3 | 1 | 0% | 1 | `a`\n").unwrap();
    assert_eq!(relative[0].metrics[0].unit, "us");
}

#[test]
fn a_row_without_a_number_a_name_or_an_end_is_refused() {
    for row in [
        "|  - |  1 | 0.0% | 0.1 | `a`\n",
        "|  1 |  1 | 0.0% | 0.1 | a\n",
        "|  1 |  1 | `a`\n",
        "|  1 |  1 | 0.0% | 0.1 | `a`",
    ] {
        assert!(of(&format!("{TABLE}{row}")).unwrap_err().starts_with("stdout:4"), "{row}");
    }
    // Columns in another order are no table of it.
    assert!(of("| total | a | ns/op | op/s | err% | t\n| 1 | 2 | 3 | 4 | 5 | `a`\n").is_err());
    // A unit that is no time makes no table of it.
    assert!(of(&format!("{}|  1 |  1 | 0.0% | 0.1 | `a`\n", TABLE.replace("ns/op", "ft/op"))).is_err());
}

#[test]
fn rows_of_the_csv_template_are_medians_of_one_unit() {
    let header = "\"title\";\"name\";\"unit\";\"batch\";\"elapsed\";\"error %\";\"instructions\";\"branches\";\"branch misses\";\"total\"\n";
    let row = "\"t\";\"a;b\";\"op\";2;4e-9;0.1;0;0;0;0.5\n";
    let readings = of(&format!("{header}{row}")).unwrap();
    assert_eq!(
        (readings[0].case.native.as_str(), readings[0].metrics[0].summary.unwrap().value),
        ("t / a;b", 2e-9)
    );
    for wrong in [
        row.replace("4e-9", "-"),
        row.replace(";2;", ";0;"),
        row.replace(";0.5", ""),
        row.trim_end().to_owned(),
    ] {
        assert!(of(&format!("{header}{wrong}")).unwrap_err().starts_with("stdout:2"), "{wrong}");
    }
}

#[test]
fn a_source_with_the_header_in_the_tree_is_compiled_and_one_without_is_said() {
    let source = "#define ANKERL_NANOBENCH_IMPLEMENT\n#include <nanobench.h>\nint main() { ankerl::nanobench::Bench().run(\"a\", [] {}); }\n";
    let files = [("bench/a.cpp", source), ("third_party/nanobench.h", "")];
    let detected = Nanobench.detect(&MemoryTree::of(files));
    let build = "mkdir -p build && c++ -O2 -std=c++17 -o build/a bench/a.cpp -I third_party";
    assert_eq!(detected.found[0].build, Some(BuildStep::Shell(build.into())));
    let detected = Nanobench.detect(&MemoryTree::of(&files[..1]));
    assert_eq!((detected.found.len(), detected.unclear.len()), (0, 1));
}
