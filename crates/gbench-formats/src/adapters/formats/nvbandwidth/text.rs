//! The text of nvbandwidth: each test between `Running NAME.` and `SUM NAME VALUE`.

use super::row::{cell, device_name, quantity, sum, unknown, without_cells};
use crate::adapters::formats::interface::prelude::*;
use gbench_model::{Unread, UnreadKind};

struct Running<'a> {
    name: &'a str,
    of: Option<(&'static str, &'static str)>,
    columns: Vec<i64>,
    cells: Vec<((i64, i64), f64)>,
    error: Option<&'a str>,
    unread: Unread,
}

impl Running<'_> {
    fn give_up(self, readings: &mut Vec<Reading>) {
        let why = self.error.unwrap_or("it printed no sum");
        without_cells(readings, self.name, failed(format!("the test did not end: {why}")));
    }
}

pub(super) fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let text = file.text()?;
    let (mut readings, mut run) = (Vec::new(), RunReading::default());
    let mut running: Option<Running> = None;
    for (at, line, is_whole) in lines(text) {
        if !is_whole {
            return Err(file.line(at, "the line is incomplete"));
        }
        if let Some(test) = &mut running {
            run.unread.extend(std::mem::take(&mut test.unread));
        }
        if let Some((key, value)) = version(line) {
            run = run.fact(key, value);
        } else if let Some(name) = line.strip_prefix("Running ") {
            if let Some(before) = running.take() {
                before.give_up(&mut readings);
            }
            let name = name.trim_end().trim_end_matches('.');
            running = Some(Running {
                name,
                of: None,
                columns: vec![],
                cells: vec![],
                error: None,
                unread: Unread::default(),
            });
        } else if line.starts_with("SUM ") {
            let Some(test) = running.take() else { return Err(file.line(at, "a sum of no test")) };
            if test.error.is_some() {
                test.give_up(&mut readings);
                continue;
            }
            let of = test.of.ok_or_else(|| file.line(at, "no matrix precedes this sum"))?;
            let value = line.split_whitespace().last().and_then(number);
            let value = value.ok_or_else(|| file.line(at, "the sum is not a number"))?;
            for (place, value) in test.cells {
                cell(&mut readings, test.name, place, of, value);
            }
            sum(&mut readings, test.name, of.1, value);
        } else if let Some(test) = &mut running {
            inside(file, at, line, test)?;
        }
    }
    match running {
        Some(test) if test.error.is_none() => {
            return Err(file.wrong(format!("the output ends within the test `{}`", test.name)));
        }
        Some(test) => test.give_up(&mut readings),
        None => {}
    }
    run.readings = readings;
    let devices = text.lines().filter_map(|line| device_name(line.strip_prefix("Device ")?));
    Ok(vec![run.also("devices", devices.collect::<Vec<_>>())])
}

fn version(line: &str) -> Option<(&'static str, &str)> {
    let (key, value) = line.split_once(": ")?;
    let key = match key {
        "nvbandwidth Version" => "version",
        "CUDA Runtime Version" => "cuda",
        "Driver Version" => "driver",
        _ => return None,
    };
    Some((key, value.trim()))
}

/// A line between `Running` and `SUM`: the description, the numbers of the columns, a row, or an error.
fn inside<'a>(file: &ResultFile, at: usize, line: &'a str, test: &mut Running<'a>) -> Result<(), ReadError> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let whole: Option<Vec<i64>> = words.iter().map(|word| word.parse().ok()).collect();
    let lower = line.to_ascii_lowercase();
    match (words.as_slice(), whole) {
        ([], _) => {}
        (_, Some(columns)) if test.of.is_some() && test.columns.is_empty() => test.columns = columns,
        ([row, cells @ ..], _) if !test.columns.is_empty() && row.parse::<i64>().is_ok() => {
            if cells.len() != test.columns.len() {
                return Err(file.line(
                    at,
                    format!("a row of {} cells under {} columns", cells.len(), test.columns.len()),
                ));
            }
            let row = row.parse().unwrap_or_default();
            for (column, word) in test.columns.iter().zip(cells).filter(|(_, word)| **word != "N/A") {
                let value = number(word).ok_or_else(|| file.line(at, format!("`{word}` is not a number")))?;
                test.cells.push(((row, *column), value));
            }
        }
        _ if ["error", "[error", "not found"].iter().any(|word| lower.starts_with(word)) => {
            test.error = Some(line.trim());
        }
        _ if line.contains("(row)") || line.contains("(column)") => {
            test.of = Some(quantity(line).ok_or_else(|| file.line(at, unknown(line)))?);
        }
        ([row, cells @ ..], _)
            if row.parse::<i64>().is_ok() && cells.iter().any(|it| number(it).is_some()) =>
        {
            test.unread.line(UnreadKind::Row, at, line);
        }
        _ => {}
    }
    Ok(())
}
