//! The JSON of nvbandwidth. It stores the numbers of a matrix as strings.

use std::collections::BTreeMap;

use super::row::{cell, device_name, quantity, sum, unknown, without_cells};
use crate::adapters::formats::interface::prelude::*;

#[derive(Deserialize)]
struct Document {
    nvbandwidth: Body,
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    testcases: Vec<TestCase>,
    error: Option<String>,
    #[serde(flatten)]
    others: BTreeMap<String, serde_json::Value>,
}

#[derive(Deserialize)]
struct TestCase {
    name: String,
    status: String,
    error: Option<String>,
    bandwidth_description: Option<String>,
    #[serde(default)]
    bandwidth_matrix: Vec<Vec<Cell>>,
    sum: Option<f64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Cell {
    Number(f64),
    Text(String),
}

pub(super) fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let body = document::<Document>(file)?.nvbandwidth;
    let mut readings = Vec::new();
    for (at, test) in body.testcases.iter().enumerate() {
        let place = format!("nvbandwidth.testcases[{at}]");
        test.read(file, &place, &mut readings)?;
    }
    if readings.is_empty() {
        let why = body.error.unwrap_or_else(|| "it contains no test".into());
        return Err(file.at("nvbandwidth", why));
    }
    let mut run = RunReading::from(readings);
    for (key, name) in
        [("version", "version"), ("CUDA Runtime Version", "cuda"), ("Driver Version", "driver")]
    {
        // The CUDA version is a number.
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        run = run.fact(name, body.others.get(key).map(text));
    }
    let devices = body.others.get("GPU Device list").and_then(Value::as_array).into_iter().flatten();
    let names: Vec<&str> = devices.filter_map(|device| device_name(device.as_str()?)).collect();
    Ok(vec![run.also("devices", names)])
}

impl TestCase {
    fn read(&self, file: &ResultFile, place: &str, readings: &mut Vec<Reading>) -> Result<(), ReadError> {
        let said = self.error.as_deref().unwrap_or("for an unknown reason");
        match self.status.as_str() {
            "Passed" if self.error.is_none() => {}
            "Waived" => {
                without_cells(readings, &self.name, skipped("the test is waived here"));
                return Ok(());
            }
            status => {
                let message = format!("its status is `{status}`: {said}");
                without_cells(readings, &self.name, failed(message));
                return Ok(());
            }
        }
        let description = self.bandwidth_description.as_deref().unwrap_or_default();
        let of = quantity(description).ok_or_else(|| file.at(place, unknown(description)))?;
        for (row, cells) in self.bandwidth_matrix.iter().enumerate() {
            for (column, found) in cells.iter().enumerate() {
                let value = match found {
                    Cell::Number(value) => *value,
                    Cell::Text(text) if text == "N/A" => continue,
                    Cell::Text(text) => number(text).ok_or_else(|| {
                        file.at(
                            format!("{place}.bandwidth_matrix[{row}][{column}]"),
                            format!("`{text}` is not a number"),
                        )
                    })?,
                };
                cell(readings, &self.name, (row as i64, column as i64), of, value);
            }
        }
        if let Some(value) = self.sum {
            sum(readings, &self.name, of.1, value);
        }
        Ok(())
    }
}
