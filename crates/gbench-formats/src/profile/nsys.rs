//! Nsight Systems: the kernel summary of `nsys stats --format csv`, `gpukernsum` until 2022 and `cuda_gpu_kern_sum`
//! since. <https://docs.nvidia.com/nsight-systems/UserGuide/index.html#statistical-analysis>.
//!
//! `nsys stats` exits with 0 even if its input contains no kernel. Older versions write a row for each grid and block of
//! a kernel. The table has no end mark, but its first column is each row's share of the total time: if the shares add up
//! to less than all, rows are missing.

use super::ProfileReadError;
use super::kernels::{LaunchFigures, WatchedKernels};
use gbench_model::ProfileFigure::KernelTime;
use gbench_model::profiler_csv::nsys::{MAX, MEDIAN, MIN, SHARE, STDDEV, TOTAL};
use gbench_model::profiler_csv::{ProfilerRecord, cells, lines, nsys_tables};
use gbench_model::{KernelProfile, RawMetric};

/// Only the summary of kernels has this column.
const INSTANCES: &str = "Instances";
const NAME: &str = "Name";
/// Half of a share's last digit.
const ROUNDED: f64 = 0.05;

/// The kernels of the first kernel summary in the text, sorted by total time. Errors: no summary; an incomplete or
/// missing row; a cell that is not a number.
pub fn read_nsys_stats(text: &[u8]) -> Result<Vec<KernelProfile>, ProfileReadError> {
    let text = String::from_utf8_lossy(text);
    for (first, part) in nsys_tables(&text)? {
        let table = SummaryTable::read(first, &part)?;
        if table.is_of_kernels() {
            return table.kernels();
        }
    }
    // If a report fails, the program exits with 0 and prints the reason on a separate line.
    let said = text.lines().find_map(|line| line.strip_prefix("ERROR: ")).map(str::trim);
    Err(said.map_or(ProfileReadError::Nothing, |said| ProfileReadError::Said { said: said.to_owned() }))
}

struct SummaryTable {
    header: ProfilerRecord,
    rows: Vec<ProfilerRecord>,
}

impl SummaryTable {
    fn read(first: usize, part: &str) -> Result<Self, ProfileReadError> {
        let records = lines(part).map(|(at, line, _)| {
            let line_of = first + at - 1;
            let what = "it cannot be read as comma-separated values";
            let cells = cells(line).ok_or_else(|| ProfileReadError::line(line_of, what))?;
            Ok(ProfilerRecord { line: line_of, cells })
        });
        let mut records = records.collect::<Result<Vec<_>, ProfileReadError>>()?.into_iter();
        let header = records.next().ok_or(ProfileReadError::Nothing)?;
        Ok(Self { header, rows: records.collect() })
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.header.cells.iter().position(|column| column == name)
    }

    fn any(&self, names: &[&'static str]) -> Option<(&'static str, usize)> {
        names.iter().find_map(|name| Some((*name, self.column(name)?)))
    }

    fn is_of_kernels(&self) -> bool {
        self.column(INSTANCES).is_some() && self.column(NAME).is_some()
    }

    fn kernels(&self) -> Result<Vec<KernelProfile>, ProfileReadError> {
        let [total, instances, name] = [TOTAL, INSTANCES, NAME].map(|column| self.column(column));
        let mut kernels = WatchedKernels::default();
        let mut all = 0.0;
        for row in &self.rows {
            if row.cells.len() != self.header.cells.len() {
                let (found, named) = (row.cells.len(), self.header.cells.len());
                let what = format!("it has {found} cells, and the header names {named}");
                return Err(ProfileReadError::line(row.line, what));
            }
            let kernel = row.cell(name);
            let count = number(row, instances)?;
            if kernel.is_empty() || count < 1.0 {
                return Err(ProfileReadError::line(row.line, "a row without a kernel that ran"));
            }
            all += self.any(&SHARE).map_or(Ok(0.0), |(_, column)| number(row, Some(column)))?;
            let figures = vec![(KernelTime, number(row, total)? / count / 1e9)];
            kernels.add(kernel, LaunchFigures { count, figures, raw: self.spread(row, kernel)? });
        }
        let rounded = ROUNDED * self.rows.len() as f64;
        match self.rows.last() {
            None => Err(ProfileReadError::Nothing),
            Some(last) if all + rounded < 100.0 - ROUNDED => {
                let what = format!("the table is incomplete: its rows make up {all:.1} % of the time");
                Err(ProfileReadError::line(last.line, what))
            }
            Some(_) => Ok(kernels.finish()),
        }
    }

    /// The spread of a row's launches. The spreads of several rows cannot be combined, and are dropped.
    fn spread(
        &self,
        row: &ProfilerRecord,
        kernel: &str,
    ) -> Result<Vec<(String, RawMetric)>, ProfileReadError> {
        let name = self.column(NAME);
        if self.rows.iter().filter(|other| other.cell(name) == kernel).count() > 1 {
            return Ok(Vec::new());
        }
        let columns = [&MEDIAN[..], &MIN[..], &MAX[..], &STDDEV[..]];
        let known = columns.iter().filter_map(|names| self.any(names));
        let filled = known.filter(|(_, column)| !row.cell(Some(*column)).is_empty());
        filled
            .map(|(name, column)| {
                let value = number(row, Some(column))?;
                Ok((name.to_owned(), RawMetric { value, unit: "ns".to_owned() }))
            })
            .collect()
    }
}

/// Errors: the cell is not a number, or negative.
fn number(row: &ProfilerRecord, column: Option<usize>) -> Result<f64, ProfileReadError> {
    let cell = row.cell(column);
    let value = cell.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| ProfileReadError::line(row.line, format!("`{cell}` is not a number")))
}
