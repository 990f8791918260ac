//! What `export` writes is read by `ingest` with the same figures, in every format that is written.

use std::path::Path;

use gbench_ci::model::{RunRecord, convert};
use gbench_ci::report::ExportFormat;
use gbench_ci::store::read_record;
use strum::VariantArray;

use crate::support::cli::ran;

/// The figures of a record in ns and GB/s, sorted: all of them, or the median of each metric.
fn figures(record: &RunRecord, of_processes: bool) -> Vec<f64> {
    let mut figures = Vec::new();
    for metric in record.cases.iter().flat_map(|case| &case.metrics) {
        let mut values: Vec<f64> = metric
            .processes
            .iter()
            .flat_map(|process| {
                process.values.iter().copied().chain(process.stated.as_ref().map(|it| it.value))
            })
            .map(|value| convert(value, &metric.unit, "ns").unwrap_or(value))
            .collect();
        values.sort_by(f64::total_cmp);
        if of_processes {
            figures.extend(values);
        } else {
            figures.push(values[values.len() / 2]);
        }
    }
    figures.sort_by(f64::total_cmp);
    figures
}

fn again(folder: &Path, format: ExportFormat) -> Vec<f64> {
    let word: &str = format.into();
    ran(folder, &format!("export record.json --to {word} -o out")).exits(0);
    if format == ExportFormat::Record {
        return figures(&read_record(&folder.join("out")).unwrap(), false);
    }
    // A list of operators of any program is known by more fields than it needs.
    let known = if format == ExportFormat::OperatorList { "--format operator-list" } else { "" };
    ran(folder, &format!("ingest out {known} --repeats processes -o again.json")).exits(0);
    figures(&read_record(&folder.join("again.json")).unwrap(), format == ExportFormat::Benchfmt)
}

#[test]
fn p4_what_is_exported_is_read_again_with_the_same_figures() {
    let folder = crate::support::tempdir().unwrap();
    for process in 0..3 {
        let row = |op: &str, n: u32| {
            let time = f64::from(n) * 1.25 + f64::from(process) * 0.375;
            format!("{{\"op\": \"{op}\", \"n\": {n}, \"ms\": {time}, \"gbps\": {}}}", 900.0 / time)
        };
        let rows = [row("gelu", 8), row("gelu", 16), row("layer norm, fused", 8)].join("\n");
        std::fs::write(folder.path().join(format!("{process}.jsonl")), rows + "\n").unwrap();
    }
    let rows = "--parameters op,n --metric time=ms:ms --metric throughput=gbps:GB/s";
    ran(folder.path(), &format!("ingest 0.jsonl 1.jsonl 2.jsonl {rows} -o record.json")).exits(0);
    let record = read_record(&folder.path().join("record.json")).unwrap();
    let (medians, all) = (figures(&record, false), figures(&record, true));
    // Rates are below 1000, times above, in these units.
    let is_time = |value: &&f64| **value > 1e3;
    for format in ExportFormat::VARIANTS {
        let expected: Vec<f64> = match format {
            ExportFormat::Benchfmt => all.clone(),
            ExportFormat::CustomSmallerIsBetter => medians.iter().filter(is_time).copied().collect(),
            ExportFormat::CustomBiggerIsBetter => medians.iter().filter(|it| !is_time(it)).copied().collect(),
            ExportFormat::Record | ExportFormat::OperatorList | ExportFormat::BencherMetricFormat => {
                medians.clone()
            }
        };
        let found = again(folder.path(), *format);
        assert_eq!(found.len(), expected.len(), "{format:?}: {found:?}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found / expected - 1.0).abs() < 1e-12, "{format:?}: {found} and {expected}");
        }
    }
}
