//! Apache Parquet: a row for each figure, equal to the lines of the CSV, with types. Strings are unabridged, times have
//! milliseconds in UTC, and unknown values are null. Behind the feature `parquet`, because of its build time.

use std::io;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::columns::{COLUMNS, TrendFigure, Values, figures, names};
use gbench_compare::trend::TrendsDocument;

/// Rows in memory at a time.
const ROWS: usize = 1 << 20;

fn milliseconds(time: &str) -> Option<i64> {
    let time = humantime::parse_rfc3339(time).ok()?;
    let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

pub(super) fn render(document: &TrendsDocument, out: &mut dyn io::Write) -> io::Result<()> {
    let bytes = written(document).map_err(|error| io::Error::other(error.to_string()))?;
    out.write_all(&bytes)
}

fn written(document: &TrendsDocument) -> Result<Vec<u8>, ParquetError> {
    let names = names(document);
    let mut rows = figures(document, &names);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema()?), Arc::new(properties))?;
    loop {
        let group: Vec<TrendFigure<'_>> = rows.by_ref().take(ROWS).collect();
        if group.is_empty() {
            return writer.into_inner();
        }
        let mut columns = writer.next_row_group()?;
        for (_, is_nullable, values) in &COLUMNS {
            match values {
                Values::Text(value) => {
                    let bytes =
                        |row: &TrendFigure<'_>| value(row).map(|text| ByteArray::from(text.into_bytes()));
                    column::<ByteArrayType>(&mut columns, *is_nullable, &group, bytes)?;
                }
                Values::Number(value) => column::<DoubleType>(&mut columns, *is_nullable, &group, value)?,
                Values::Time(value) => {
                    column::<Int64Type>(&mut columns, *is_nullable, &group, |row| milliseconds(value(row)))?;
                }
            }
        }
        columns.close()?;
    }
}

fn schema() -> Result<Type, ParquetError> {
    let fields = COLUMNS.iter().map(|(name, is_nullable, values)| {
        let (physical, logical) = match values {
            Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Values::Number(_) => (Physical::DOUBLE, None),
            Values::Time(_) => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
        };
        let repetition = if *is_nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let field = Type::primitive_type_builder(name, physical);
        field.with_repetition(repetition).with_logical_type(logical).build().map(Arc::new)
    });
    Type::group_type_builder("trends").with_fields(fields.collect::<Result<_, _>>()?).build()
}

/// Writes the next column. `value`: never `None` if it may not be null.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    is_nullable: bool,
    rows: &[TrendFigure<'_>],
    value: impl Fn(&TrendFigure<'_>) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let Some(mut writer) = group.next_column()? else {
        return Err(ParquetError::General("there are more columns than the schema has".into()));
    };
    let values: Vec<Option<T::T>> = rows.iter().map(value).collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    writer.typed::<T>().write_batch(&values, is_nullable.then_some(levels.as_slice()), None)?;
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
        let at = |name: &str| COLUMNS.iter().position(|(column, ..)| *column == name).unwrap();
        let text = |row: usize, name: &str| rows[row].get_string(at(name)).ok().cloned();
        // No apostrophe, which a spreadsheet would need.
        assert_eq!(text(0, "benchmark").as_deref(), Some("+b"));
        assert_eq!(text(0, "params").as_deref(), Some("n=1024"));
        assert_eq!([0, 1, 2].map(|row| text(row, "conclusion")), [None, Some("pass".into()), None]);
        assert_eq!([0, 1, 2].map(|row| text(row, "break")), [None, None, Some("driver".into())]);
        assert_eq!([0, 1, 2].map(|row| rows[row].get_double(at("value")).unwrap()), [0.1, 1.1, 2.1]);
        assert_eq!([0, 1].map(|row| rows[row].get_double(at("low")).ok()), [None, Some(1.0)]);
        assert_eq!(rows[0].get_timestamp_millis(at("started")).unwrap(), 1_767_225_600_250);
    }

    #[test]
    fn a_history_without_figures_is_a_file_without_rows() {
        assert!(read(&TrendsDocument { series: Vec::new(), ..document() }).is_empty());
    }
}
