//! Apache Parquet: a row for each figure with typed columns (docs/columns.md). Strings are unabridged, times have milliseconds
//! in UTC, and unknown values are null. Rows are sorted, so that the same figures give the same bytes in whatever order they
//! were read. Behind the feature `parquet`, because of its build time.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::columns::{Of, TrendColumn, TrendFigure, Values, columns, figures};
use gbench_compare::trend::{TrendsDocument, V1Series};
use gbench_model::Params;

/// Rows in memory at a time, and what a reader can skip.
const ROWS: usize = 1 << 17;

/// Hive's name for a partition without a value.
const NO_MONTH: &str = "__HIVE_DEFAULT_PARTITION__";

fn milliseconds(time: &str) -> Option<i64> {
    let time = humantime::parse_rfc3339(time).ok()?;
    let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

pub(super) fn render(document: &TrendsDocument, out: &mut dyn io::Write) -> io::Result<()> {
    let names = names(document);
    out.write_all(&file(&sorted(document, &names)).map_err(io::Error::other)?)
}

/// A file for each month in which a run started, by its name (`2026-11`).
pub(super) fn by_month(document: &TrendsDocument) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let names = names(document);
    let mut months: BTreeMap<&str, Vec<TrendFigure<'_>>> = BTreeMap::new();
    for row in sorted(document, &names) {
        let started = row.run.started.as_str();
        let month = milliseconds(started).and_then(|_| started.get(..7)).unwrap_or(NO_MONTH);
        months.entry(month).or_default().push(row);
    }
    let files = months.iter().map(|(month, rows)| Ok(((*month).to_owned(), file(rows)?)));
    files.collect::<Result<_, ParquetError>>().map_err(io::Error::other)
}

/// The names of the series' cases. A report for people tells two cases of one name apart; here the column `timing` does, and a name never
/// changes with the cases next to it.
fn names(document: &TrendsDocument) -> Vec<String> {
    document.series.iter().map(|series| series.case.to_string()).collect()
}

/// Every figure by case, metric, unit and branch, then by time: not by the series, which is divided when a second host comes.
fn sorted<'d>(document: &'d TrendsDocument, names: &'d [String]) -> Vec<TrendFigure<'d>> {
    let key = |series: &'d V1Series| (&series.case, &series.metric, &series.unit, &series.branch);
    let mut named: Vec<(&V1Series, &String)> = document.series.iter().zip(names).collect();
    named.sort_by_key(|(series, _)| key(series));
    let mut rows = Vec::new();
    for group in named.chunk_by(|(one, _), (other, _)| key(one) == key(other)) {
        let begins = rows.len();
        rows.extend(figures(&document.runs, group.iter().copied()));
        rows[begins..].sort_by_key(|row: &TrendFigure<'_>| row.point.run);
    }
    rows
}

fn file(rows: &[TrendFigure<'_>]) -> Result<Vec<u8>, ParquetError> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema()?), Arc::new(properties))?;
    for rows in rows.chunks(ROWS) {
        let mut group = writer.next_row_group()?;
        for (_, is_nullable, values) in columns(Of::Parquet) {
            let is_nullable = *is_nullable;
            match values {
                Values::Text(value) => {
                    column::<ByteArrayType>(
                        &mut group,
                        is_nullable,
                        rows.iter().map(|row| value(row).map(bytes)),
                    )?;
                }
                Values::Number(value) => {
                    column::<DoubleType>(&mut group, is_nullable, rows.iter().map(value))?;
                }
                Values::Time(value) => {
                    column::<Int64Type>(
                        &mut group,
                        is_nullable,
                        rows.iter().map(|row| milliseconds(value(row))),
                    )?;
                }
                Values::Params => {
                    map(&mut group, rows, |params| params.keys().cloned().collect())?;
                    map(&mut group, rows, |params| params.values().map(ToString::to_string).collect())?;
                }
            }
        }
        group.close()?;
    }
    writer.into_inner()
}

fn bytes(text: String) -> ByteArray {
    ByteArray::from(text.into_bytes())
}

fn schema() -> Result<Type, ParquetError> {
    let fields = columns(Of::Parquet).map(field).collect::<Result<_, _>>()?;
    Type::group_type_builder("trends").with_fields(fields).build()
}

fn field((name, is_nullable, values): &TrendColumn) -> Result<TypePtr, ParquetError> {
    let primitive = |name: &str, is_nullable: bool, physical, logical| {
        let repetition = if is_nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let field = Type::primitive_type_builder(name, physical);
        field.with_repetition(repetition).with_logical_type(logical).build().map(Arc::new)
    };
    let text = Some(LogicalType::String);
    match values {
        Values::Text(_) => primitive(name, *is_nullable, Physical::BYTE_ARRAY, text),
        Values::Number(_) => primitive(name, *is_nullable, Physical::DOUBLE, None),
        Values::Time(_) => {
            let time = LogicalType::timestamp(true, TimeUnit::MILLIS);
            primitive(name, *is_nullable, Physical::INT64, Some(time))
        }
        Values::Params => {
            let pair =
                ["key", "value"].map(|part| primitive(part, false, Physical::BYTE_ARRAY, text.clone()));
            let pairs = Type::group_type_builder("key_value").with_repetition(Repetition::REPEATED);
            let pairs = pairs.with_fields(pair.into_iter().collect::<Result<_, _>>()?).build()?;
            let map = Type::group_type_builder(name).with_repetition(Repetition::REQUIRED);
            map.with_logical_type(Some(LogicalType::Map))
                .with_fields(vec![Arc::new(pairs)])
                .build()
                .map(Arc::new)
        }
    }
}

/// Writes the next column. `values`: never `None` if it may not be null.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    is_nullable: bool,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let (mut present, mut levels) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    write::<T>(group, &present, is_nullable.then_some(levels.as_slice()), None)
}

/// Writes the next column of a map: the names, or the values.
fn map(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    rows: &[TrendFigure<'_>],
    part: impl Fn(&Params) -> Vec<String>,
) -> Result<(), ParquetError> {
    let (mut texts, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let of_row = part(&row.series.case.params);
        // A case without parameters is an entry without a text.
        for at in 0..of_row.len().max(1) {
            definitions.push(i16::from(!of_row.is_empty()));
            repetitions.push(i16::from(at > 0));
        }
        texts.extend(of_row.into_iter().map(bytes));
    }
    write::<ByteArrayType>(group, &texts, Some(&definitions), Some(&repetitions))
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
    definitions: Option<&[i16]>,
    repetitions: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let Some(mut writer) = group.next_column()? else {
        return Err(ParquetError::General("there are more columns than the schema has".into()));
    };
    writer.typed::<T>().write_batch(values, definitions, repetitions)?;
    writer.close()
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::*;
    use crate::test_support as documents;

    fn document() -> TrendsDocument {
        let mut series = documents::series(&[0.1, 1.1, 2.1], &[2]);
        series.case = documents::case("a/+b", &[("n", 1024)]);
        (series.points[1].low, series.points[1].high) = (Some(1.0), Some(1.2));
        let mut trends = documents::trends(series);
        trends.runs[0].started = "2026-01-01T00:00:00.250Z".into();
        trends.runs[1].conclusion = Some("pass".into());
        trends
    }

    fn read(document: &TrendsDocument) -> Vec<parquet::record::Row> {
        let mut bytes = Vec::new();
        render(document, &mut bytes).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        reader.get_row_iter(None).unwrap().map(|row| row.unwrap()).collect()
    }

    #[test]
    fn every_figure_is_a_row_and_comes_back_as_it_was() {
        let rows = read(&document());
        assert_eq!(rows.len(), 3);
        let at = |name: &str| columns(Of::Parquet).position(|(column, ..)| *column == name).unwrap();
        let text = |row: usize, name: &str| rows[row].get_string(at(name)).ok().cloned();
        // No apostrophe, which a spreadsheet would need.
        assert_eq!(text(0, "benchmark").as_deref(), Some("+b"));
        let params = rows[0].get_map(at("params")).unwrap().entries();
        let texts = params.iter().map(|(name, value)| [name, value].map(ToString::to_string));
        assert_eq!(texts.collect::<Vec<_>>(), [["\"n\"", "\"1024\""]]);
        assert_eq!([0, 1, 2].map(|row| text(row, "conclusion")), [None, Some("pass".into()), None]);
        assert_eq!([0, 1, 2].map(|row| text(row, "break")), [None, None, Some("driver".into())]);
        assert_eq!([0, 1, 2].map(|row| rows[row].get_double(at("value")).unwrap()), [0.1, 1.1, 2.1]);
        assert_eq!([0, 1].map(|row| rows[row].get_double(at("low")).ok()), [None, Some(1.0)]);
        assert_eq!(rows[0].get_timestamp_millis(at("started")).unwrap(), 1_767_225_600_250);
    }

    #[test]
    fn rows_and_parameters_come_back_by_month_in_whatever_order_series_were_read() {
        let mut trends = document();
        for (at, started) in
            ["2026-01-31T23:59:59Z", "2026-02-01T00:00:00Z", "unknown"].into_iter().enumerate()
        {
            trends.runs[at].started = started.into();
        }
        let mut other = trends.series[0].clone();
        other.case = documents::case("a/a", &[]);
        trends.series.push(other);
        let months = by_month(&trends).unwrap();
        let names: Vec<&str> = months.keys().map(String::as_str).collect();
        assert_eq!(names, ["2026-01", "2026-02", NO_MONTH]);
        let params = |bytes: &Vec<u8>| {
            let reader = SerializedFileReader::new(bytes::Bytes::from(bytes.clone())).unwrap();
            let rows = reader.get_row_iter(None).unwrap().map(|row| row.unwrap());
            rows.map(|row| row.get_map(3).unwrap().entries().len()).collect::<Vec<_>>()
        };
        assert!(months.values().all(|bytes| params(bytes) == [1, 0]));
        trends.series.reverse();
        assert!(by_month(&trends).unwrap() == months);
    }

    #[test]
    fn the_page_has_the_columns_of_the_written_file() {
        let mut bytes = Vec::new();
        render(&document(), &mut bytes).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let written =
            reader.metadata().file_metadata().schema_descr().root_schema().get_fields().iter().map(|field| {
                let info = field.get_basic_info();
                let kind = match info.logical_type_ref() {
                    Some(LogicalType::String) => "VARCHAR",
                    Some(LogicalType::Map) => "MAP(VARCHAR, VARCHAR)",
                    Some(LogicalType::Timestamp { .. }) => "TIMESTAMP WITH TIME ZONE",
                    _ => "DOUBLE",
                };
                let null = if info.repetition() == Repetition::OPTIONAL { "yes" } else { "no" };
                format!("| `{}` | {kind} | {null} |", field.name())
            });
        let page = include_str!("../../../../docs/columns.md");
        let rows = page.lines().skip_while(|line| !line.starts_with("| column |")).skip(2);
        let documented = rows.take_while(|line| line.starts_with('|')).map(|line| {
            let cells: Vec<&str> = line.splitn(5, '|').collect();
            format!("{}|", cells[..4].join("|"))
        });
        assert_eq!(documented.collect::<Vec<_>>(), written.collect::<Vec<_>>());
    }

    #[test]
    fn a_history_without_figures_is_a_file_without_rows() {
        assert!(read(&TrendsDocument { series: Vec::new(), ..document() }).is_empty());
    }
}
