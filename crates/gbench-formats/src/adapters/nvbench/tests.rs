use super::super::detect::MemoryTree;
use super::*;
use crate::adapters::{Amount, End, OutputFiles, list, read};
use gbench_model::ParamValue;

fn asked(command: &[&str], cases: &[&str]) -> String {
    let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
    let amount = Amount { seconds: 0.5, warmup: 0.0, samples: 20 };
    Nvbench.run(&CaseRequest { command: &command, cases, out: "/out", amount }).unwrap().argv.join(" ")
}

#[test]
fn each_case_is_the_benchmark_with_its_values() {
    let words =
        asked(&["./b"], &["copy T=I32 BlockSize=2^8", "text Mode=a b", "simple", "copy Device=1 T=I8"]);
    let common = "./b --quiet --jsonbin /out/nvbench.json --devices 0 --min-samples 20 --min-time 0.500000 --max-noise 100";
    let cases = "--benchmark copy --axis T=I32 --axis BlockSize[pow2]=8 --benchmark text --axis Mode=a b \
                 --benchmark simple --benchmark copy --devices 1 --axis T=I8";
    assert_eq!(words, format!("{common} {cases}"));
    assert!(!asked(&["./b", "-d", "1"], &[]).contains("--devices"));
}

fn report(summaries: &str, rest: &str, bins: &[(&str, Vec<u8>)]) -> Result<Vec<Reading>, String> {
    let text = format!(
        r#"{{"meta": {{"version": {{"json": {{"major": 1}}}}}}, "benchmarks": [{{"name": "b", "states": [
            {{"name": "Device=0 N=8", "device": 0, "axis_values": [{{"name": "N", "type": "int64", "value": "8"}}],
              "summaries": {summaries}, {rest}}}]}}]}}"#
    );
    let mut files = OutputFiles([(FILE.to_owned(), text.into())].into());
    files.0.extend(bins.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.clone())));
    read(&Nvbench, &HarnessOutput { stdout: b"", files: &files }).map_err(|error| error.to_string())
}

const RUN: &str = "\"is_skipped\": false";

const SAMPLES: &str = r#"[{"tag": "nv/json/bin:nv/cold/sample_times", "data": [
    {"name": "filename", "value": "somewhere/nvbench.json-bin/0.bin"}, {"name": "size", "value": "2"}]}]"#;

fn mean(value: &str, hint: &str) -> String {
    format!(
        r#"[{{"tag": "nv/cold/sample_size", "data": [{{"name": "value", "value": "12"}}]}},
        {{"tag": "nv/cold/time/gpu/mean", "hint": "{hint}", "data": [{{"name": "value", "value": "{value}"}}]}},
        {{"tag": "nv/cold/time/gpu/stdev/relative", "data": [{{"name": "value", "value": "inf"}}]}}]"#
    )
}

#[test]
fn samples_come_from_the_file_that_the_summary_names() {
    let bytes: Vec<u8> = [0.5_f32, 0.25].iter().flat_map(|value| value.to_le_bytes()).collect();
    let file = "nvbench.json-bin/0.bin";
    let readings = report(SAMPLES, RUN, &[(file, bytes.clone())]).unwrap();
    assert_eq!(readings[0].metrics[0].values, [0.5, 0.25]);
    assert_eq!(readings[0].case.native, "b N=8");
    assert_eq!(readings[0].case.params.get("N"), Some(&ParamValue::Int(8)));
    assert!(report(SAMPLES, RUN, &[]).unwrap_err().contains("not there"));
    for length in [4, 7, 9, 12] {
        let bytes = bytes.iter().copied().cycle().take(length).collect();
        assert!(report(SAMPLES, RUN, &[(file, bytes)]).unwrap_err().contains("2 samples"), "{length}");
    }
    let not = [f32::NAN, 0.25].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert!(report(SAMPLES, RUN, &[(file, not)]).is_err());
}

#[test]
fn a_mean_is_taken_where_there_are_no_samples_and_a_deviation_only_where_it_is_a_number() {
    let reading = report(&mean("0.5", "duration"), RUN, &[]).unwrap().remove(0);
    let summary = reading.metrics[0].summary.unwrap();
    assert_eq!((summary.value, summary.stddev, summary.count), (0.5, None, Some(12)));
    assert!(report(&mean("0.5", "percentage"), RUN, &[]).unwrap_err().contains("hint"));
    assert!(report(&mean("x", "duration"), RUN, &[]).unwrap_err().contains("no number"));
    assert!(
        report(&mean("0.5", "duration").replace("\"12\"", "\"0\""), RUN, &[])
            .unwrap_err()
            .contains("no sample")
    );
    for empty in ["null", "[]"] {
        assert!(report(empty, RUN, &[]).unwrap_err().contains("no time"));
    }
}

#[test]
fn a_state_that_skips_itself_and_one_that_throws_have_no_number() {
    let end = |rest: &str| report("null", rest, &[]).unwrap().remove(0).end;
    let skipped = "\"is_skipped\": true, \"skip_reason\": \"too large\"";
    assert_eq!(end(skipped), End::Skipped { reason: "too large".into() });
    let thrown = skipped.replace("too large", "Unexpected error: bad");
    assert_eq!(end(&thrown), End::Failed { message: "bad".into() });
}

#[test]
fn another_version_of_the_format_is_refused() {
    let text = r#"{"meta": {"version": {"json": {"major": 2}}}, "benchmarks": []}"#;
    let files = OutputFiles([(FILE.to_owned(), text.into())].into());
    let error = read(&Nvbench, &HarnessOutput { stdout: b"", files: &files }).unwrap_err();
    assert!(error.to_string().contains("meta.version.json"), "{error}");
}

#[test]
fn a_list_is_every_combination_of_what_is_active() {
    let axes = r#"[{"name": "T", "type": "type", "flags": "", "values": [
            {"input_string": "I8", "is_active": true}, {"input_string": "I16", "is_active": false}]},
        {"name": "N", "type": "int64", "flags": "pow2", "values": [
            {"input_string": "3", "value": 8}, {"input_string": "4", "value": 16}]}]"#;
    let stdout = format!(
        "{{\"benchmarks\": [{{\"name\": \"a\", \"axes\": null}}, {{\"name\": \"b\", \"axes\": {axes}}}]}}"
    );
    let files = OutputFiles::default();
    let cases = list(&Nvbench, &HarnessOutput { stdout: stdout.as_bytes(), files: &files }).unwrap();
    let names: Vec<&str> = cases.iter().map(|case| case.native.as_str()).collect();
    assert_eq!(names, ["a", "b T=I8 N=2^3", "b T=I8 N=2^4"]);
    assert_eq!(cases[2].params.get("N"), Some(&ParamValue::Int(16)));
    assert_eq!(parts("b T=I8 N=2^4"), ("b", vec![("T", "I8"), ("N", "2^4")]));
}

#[test]
fn a_list_with_too_many_states_is_refused() {
    let value = "{\"input_string\": \"1\"},".repeat(999) + "{\"input_string\": \"1\"}";
    let axis = format!("{{\"name\": \"N\", \"type\": \"string\", \"values\": [{value}]}}");
    let stdout = format!("{{\"benchmarks\": [{{\"name\": \"b\", \"axes\": [{axis}, {axis}]}}]}}");
    let files = OutputFiles::default();
    let error = list(&Nvbench, &HarnessOutput { stdout: stdout.as_bytes(), files: &files }).unwrap_err();
    assert!(error.what.contains("states"), "{error}");
}

#[test]
fn a_target_with_its_header_needs_a_gpu() {
    let detected = Nvbench.detect(&MemoryTree::of([
        ("CMakeLists.txt", "add_executable(b b.cu)\ntarget_link_libraries(b PRIVATE nvbench::main)"),
        ("b.cu", "#include <nvbench/nvbench.cuh>\nNVBENCH_BENCH(f);\n"),
    ]));
    assert!(detected.found[0].gpu);
    assert_eq!(detected.found[0].binaries, ["cmake", "c++", "nvcc"]);
}
