use super::*;
use crate::adapters::interface::check::{list, read};
use crate::adapters::interface::output::OutputFiles;

fn sampled(bytes: Option<Vec<u8>>) -> Result<Vec<Reading>, String> {
    let text = r#"{"meta": {"version": {"json": {"major": 1}}}, "benchmarks": [{"name": "b", "states": [
        {"name": "Device=0 N=8", "device": 0, "axis_values": [{"name": "N", "type": "int64", "value": "8"}],
         "summaries": [{"tag": "nv/json/bin:nv/cold/sample_times", "data": [
            {"name": "filename", "value": "somewhere/nvbench.json-bin/0.bin"}, {"name": "size", "value": "2"}]}],
         "is_skipped": false}]}]}"#;
    let mut files = OutputFiles([(FILE.to_owned(), text.into())].into());
    files.0.extend(bytes.map(|bytes| ("nvbench.json-bin/0.bin".to_owned(), bytes)));
    read(&Nvbench, &HarnessOutput { stdout: b"", files: &files }).map_err(|error| error.to_string())
}

#[test]
fn samples_come_from_the_file_that_the_summary_names() {
    let of = |values: [f32; 2]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let bytes = of([0.5, 0.25]);
    let readings = sampled(Some(bytes.clone())).unwrap();
    assert_eq!(readings[0].metrics[0].values, [0.5, 0.25]);
    assert_eq!(readings[0].case.native, "b N=8");
    assert_eq!(readings[0].case.params.get("N"), Some(&gbench_model::ParamValue::Int(8)));
    assert!(sampled(None).unwrap_err().contains("not there"));
    for length in [4, 7, 9, 12] {
        let bytes = bytes.iter().copied().cycle().take(length).collect();
        assert!(sampled(Some(bytes)).unwrap_err().contains("2 samples"), "{length}");
    }
    assert!(sampled(Some(of([f32::NAN, 0.25]))).is_err());
}

#[test]
fn a_list_is_every_combination_of_what_is_active() {
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
