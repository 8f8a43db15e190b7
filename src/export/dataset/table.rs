//! A table of the dataset as a Parquet file, a row group at a time. Columns are functions of the row, asked for some
//! thousand rows at once and encoded beside each other: what is in memory is one row group, packed.

use crate::parallel;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, ColumnPath, Type, TypePtr};

/// Rows of a row group at most.
pub(super) const GROUP_ROWS: usize = 1 << 20;
/// Rows of a page.
const PAGE_ROWS: usize = 20_000;
/// Rows that a column is asked for at once.
const ROWS_AT_ONCE: usize = 8192;
/// The version of every table's columns: a column more leaves it, a column that means something else does not.
pub(super) const SCHEMA_VERSION: i32 = 1;

/// How values of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    /// A dictionary and run lengths.
    Dictionary,
    /// Differences of numbers.
    Differences,
    /// Texts without what they begin with as the one before.
    Prefixes,
}

/// What gives the values of some rows; those of nullable columns are behind `Option`.
enum Values<'a> {
    Long(Fill<'a, i64>),
    LongOrNull(Fill<'a, Option<i64>>),
    Int(Fill<'a, i32>),
    IntOrNull(Fill<'a, Option<i32>>),
    Flag(Fill<'a, bool>),
    Real(Fill<'a, f64>),
    /// Microseconds since 1970.
    Time(Fill<'a, i64>),
    TimeOrNull(Fill<'a, Option<i64>>),
    Text(Fill<'a, ByteArray>),
    TextOrNull(Fill<'a, Option<ByteArray>>),
    /// The same pairs in every row.
    Map(&'a [(String, String)]),
}

type Fill<'a, T> = Box<dyn Fn(Range<usize>, &mut Vec<T>) + Send + Sync + 'a>;

fn fill<'a, T>(value: impl Fn(usize) -> T + Send + Sync + 'a) -> Fill<'a, T> {
    Box::new(move |rows, values| values.extend(rows.map(&value)))
}

/// A column: its name, and what its values are by row.
pub(super) struct Column<'a> {
    name: &'static str,
    values: Values<'a>,
    packing: Packing,
}

impl<'a> Column<'a> {
    fn new(name: &'static str, values: Values<'a>) -> Self {
        Column { name, values, packing: Packing::Dictionary }
    }

    pub(super) fn long(name: &'static str, value: impl Fn(usize) -> i64 + Send + Sync + 'a) -> Self {
        Self::new(name, Values::Long(fill(value)))
    }

    pub(super) fn long_or_null(name: &'static str, value: impl Fn(usize) -> Option<i64> + Send + Sync + 'a) -> Self {
        Self::new(name, Values::LongOrNull(fill(value)))
    }

    pub(super) fn int(name: &'static str, value: impl Fn(usize) -> i32 + Send + Sync + 'a) -> Self {
        Self::new(name, Values::Int(fill(value)))
    }

    pub(super) fn int_or_null(name: &'static str, value: impl Fn(usize) -> Option<i32> + Send + Sync + 'a) -> Self {
        Self::new(name, Values::IntOrNull(fill(value)))
    }

    pub(super) fn flag(name: &'static str, value: impl Fn(usize) -> bool + Send + Sync + 'a) -> Self {
        Self::new(name, Values::Flag(fill(value)))
    }

    pub(super) fn real(name: &'static str, value: impl Fn(usize) -> f64 + Send + Sync + 'a) -> Self {
        Self::new(name, Values::Real(fill(value)))
    }

    pub(super) fn time(name: &'static str, value: impl Fn(usize) -> i64 + Send + Sync + 'a) -> Self {
        Self::new(name, Values::Time(fill(value)))
    }

    pub(super) fn time_or_null(name: &'static str, value: impl Fn(usize) -> Option<i64> + Send + Sync + 'a) -> Self {
        Self::new(name, Values::TimeOrNull(fill(value)))
    }

    /// Texts that are there already.
    pub(super) fn text(name: &'static str, value: impl Fn(usize) -> ByteArray + Send + Sync + 'a) -> Self {
        Self::new(name, Values::Text(fill(value)))
    }

    pub(super) fn text_or_null(
        name: &'static str,
        value: impl Fn(usize) -> Option<ByteArray> + Send + Sync + 'a,
    ) -> Self {
        Self::new(name, Values::TextOrNull(fill(value)))
    }

    /// One text in all rows.
    pub(super) fn constant(name: &'static str, value: &ByteArray) -> Self {
        let value = value.clone();
        Self::text(name, move |_| value.clone())
    }

    pub(super) fn map(name: &'static str, pairs: &'a [(String, String)]) -> Self {
        Self::new(name, Values::Map(pairs))
    }

    /// The same with differences in place of a dictionary: numbers that seldom repeat and lie near one another.
    pub(super) fn by_differences(self) -> Self {
        Column { packing: Packing::Differences, ..self }
    }

    /// The same with texts by their differences: sorted paths.
    pub(super) fn by_prefixes(self) -> Self {
        Column { packing: Packing::Prefixes, ..self }
    }

    fn field(&self) -> Result<Type, ParquetError> {
        const OPTIONAL: Repetition = Repetition::OPTIONAL;
        const REQUIRED: Repetition = Repetition::REQUIRED;
        let text = || Some(LogicalType::String);
        let of = |name, physical, repetition, logical| {
            let builder = Type::primitive_type_builder(name, physical).with_repetition(repetition);
            builder.with_logical_type(logical).build()
        };
        let time = || Some(LogicalType::timestamp(true, TimeUnit::MICROS));
        match &self.values {
            Values::Long(_) => of(self.name, Physical::INT64, REQUIRED, None),
            Values::LongOrNull(_) => of(self.name, Physical::INT64, OPTIONAL, None),
            Values::Int(_) => of(self.name, Physical::INT32, REQUIRED, None),
            Values::IntOrNull(_) => of(self.name, Physical::INT32, OPTIONAL, None),
            Values::Flag(_) => of(self.name, Physical::BOOLEAN, REQUIRED, None),
            Values::Real(_) => of(self.name, Physical::DOUBLE, REQUIRED, None),
            Values::Time(_) => of(self.name, Physical::INT64, REQUIRED, time()),
            Values::TimeOrNull(_) => of(self.name, Physical::INT64, OPTIONAL, time()),
            Values::Text(_) => of(self.name, Physical::BYTE_ARRAY, REQUIRED, text()),
            Values::TextOrNull(_) => of(self.name, Physical::BYTE_ARRAY, OPTIONAL, text()),
            Values::Map(_) => {
                let pair = ["key", "value"].map(|name| of(name, Physical::BYTE_ARRAY, REQUIRED, text()));
                let [key, value] = pair;
                let pairs = Type::group_type_builder("key_value").with_repetition(Repetition::REPEATED);
                let pairs = pairs.with_fields(vec![Arc::new(key?), Arc::new(value?)]).build()?;
                let map = Type::group_type_builder(self.name).with_repetition(REQUIRED);
                let map = map.with_logical_type(Some(LogicalType::Map)).with_converted_type(ConvertedType::MAP);
                map.with_fields(vec![Arc::new(pairs)]).build()
            }
        }
    }

    /// Columns of the file: a map has two.
    fn parts(&self) -> usize {
        if matches!(self.values, Values::Map(_)) { 2 } else { 1 }
    }

    /// Writes the values of some rows; `part` tells keys from values.
    fn write(&self, writer: &mut ColumnWriter<'_>, rows: Range<usize>, part: usize) -> Result<(), ParquetError> {
        match (&self.values, writer) {
            (Values::Long(fill) | Values::Time(fill), ColumnWriter::Int64ColumnWriter(writer)) => {
                each(rows, fill, |values| writer.write_batch(values, None, None))
            }
            (Values::LongOrNull(fill) | Values::TimeOrNull(fill), ColumnWriter::Int64ColumnWriter(writer)) => {
                each_or_null::<Int64Type>(rows, fill, |values, there| writer.write_batch(values, Some(there), None))
            }
            (Values::Int(fill), ColumnWriter::Int32ColumnWriter(writer)) => {
                each(rows, fill, |values| writer.write_batch(values, None, None))
            }
            (Values::IntOrNull(fill), ColumnWriter::Int32ColumnWriter(writer)) => {
                each_or_null::<Int32Type>(rows, fill, |values, there| writer.write_batch(values, Some(there), None))
            }
            (Values::Flag(fill), ColumnWriter::BoolColumnWriter(writer)) => {
                each(rows, fill, |values: &[<BoolType as DataType>::T]| writer.write_batch(values, None, None))
            }
            (Values::Real(fill), ColumnWriter::DoubleColumnWriter(writer)) => {
                each(rows, fill, |values: &[<DoubleType as DataType>::T]| writer.write_batch(values, None, None))
            }
            (Values::Text(fill), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                each(rows, fill, |values| writer.write_batch(values, None, None))
            }
            (Values::TextOrNull(fill), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                each_or_null::<ByteArrayType>(rows, fill, |values, there| writer.write_batch(values, Some(there), None))
            }
            (Values::Map(pairs), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                let texts: Vec<ByteArray> =
                    pairs.iter().map(|(key, value)| text_of(if part == 0 { key } else { value })).collect();
                // A row without pairs is one place that is not there.
                let there = vec![i16::from(!pairs.is_empty()); pairs.len().max(1)];
                let repeated: Vec<i16> = (0..there.len()).map(|at| i16::from(at > 0)).collect();
                for _ in rows {
                    writer.write_batch(&texts, Some(&there), Some(&repeated))?;
                }
                Ok(())
            }
            _ => Err(ParquetError::General(format!("column {} is of another kind", self.name))),
        }
    }

    fn encode(
        &self,
        part: usize,
        column: ColumnDescPtr,
        properties: WriterPropertiesPtr,
        rows: Range<usize>,
    ) -> Result<(Vec<u8>, ColumnCloseResult), ParquetError> {
        let mut packed = TrackedWrite::new(Vec::new());
        let pages = Box::new(SerializedPageWriter::new(&mut packed));
        let mut writer = get_column_writer(column, properties, pages);
        self.write(&mut writer, rows, part)?;
        let closed = writer.close()?;
        Ok((packed.into_inner()?, closed))
    }
}

fn each<T>(
    rows: Range<usize>,
    fill: &Fill<'_, T>,
    mut write: impl FnMut(&[T]) -> Result<usize, ParquetError>,
) -> Result<(), ParquetError> {
    let mut values = Vec::with_capacity(ROWS_AT_ONCE.min(rows.len()));
    for start in rows.clone().step_by(ROWS_AT_ONCE) {
        values.clear();
        fill(start..rows.end.min(start + ROWS_AT_ONCE), &mut values);
        write(&values)?;
    }
    Ok(())
}

/// The writer wants values without the nulls, and for each row whether there is one.
fn each_or_null<T: DataType>(
    rows: Range<usize>,
    fill: &Fill<'_, Option<T::T>>,
    mut write: impl FnMut(&[T::T], &[i16]) -> Result<usize, ParquetError>,
) -> Result<(), ParquetError> {
    let (mut values, mut there) = (Vec::new(), Vec::new());
    each(rows, fill, |some| {
        there.clear();
        there.extend(some.iter().map(|value| i16::from(value.is_some())));
        values.clear();
        values.extend(some.iter().flatten().cloned());
        write(&values, &there)
    })
}

/// A text as columns take it.
pub(super) fn text_of(text: &str) -> ByteArray {
    ByteArray::from(text.as_bytes().to_vec())
}

/// A number that the dump has, as the dataset's signed ones.
pub(super) fn signed(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// The same in four bytes.
pub(super) fn small(number: impl TryInto<i32>) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}

/// A file being written.
pub(super) struct Table<W: Write + Send> {
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> Table<W> {
    /// Begins a file. Of the columns only names and kinds matter. `notes` go into the file's own description.
    pub(super) fn begin(
        out: W,
        name: &str,
        columns: &[Column<'_>],
        notes: &[(&str, String)],
    ) -> Result<Self, ParquetError> {
        let fields = columns.iter().map(|column| column.field().map(Arc::new)).collect::<Result<Vec<_>, _>>()?;
        let schema: TypePtr = Arc::new(Type::group_type_builder("heapdump").with_fields(fields).build()?);
        let note = |key: &str, value: String| KeyValue::new(key.to_string(), Some(value));
        let notes = notes.iter().map(|(key, value)| note(key, value.clone()));
        let described = std::iter::once(note("heapdump.schema", format!("{name}/{SCHEMA_VERSION}"))).chain(notes);
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_created_by(format!("heapdump {}", env!("CARGO_PKG_VERSION")))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_data_page_row_count_limit(PAGE_ROWS)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_key_value_metadata(Some(described.collect()));
        for column in columns {
            let encoding = match column.packing {
                Packing::Dictionary => continue,
                Packing::Differences => Encoding::DELTA_BINARY_PACKED,
                Packing::Prefixes => Encoding::DELTA_BYTE_ARRAY,
            };
            let path = ColumnPath::from(column.name);
            properties = properties.set_column_dictionary_enabled(path.clone(), false);
            properties = properties.set_column_encoding(path, encoding);
        }
        Ok(Table { writer: SerializedFileWriter::new(out, schema, Arc::new(properties.build()))? })
    }

    /// Writes rows, a group of [`GROUP_ROWS`] after the other.
    pub(super) fn write_rows(&mut self, rows: usize, columns: &[Column<'_>]) -> Result<(), ParquetError> {
        for start in (0..rows).step_by(GROUP_ROWS) {
            self.write_group(start..rows.min(start + GROUP_ROWS), columns)?;
        }
        Ok(())
    }

    fn write_group(&mut self, rows: Range<usize>, columns: &[Column<'_>]) -> Result<(), ParquetError> {
        let parts: Vec<(&Column<'_>, usize)> =
            columns.iter().flat_map(|column| (0..column.parts()).map(move |part| (column, part))).collect();
        let schema = self.writer.schema_descr().columns().to_vec();
        let properties = self.writer.properties().clone();
        let work = parts.into_iter().zip(schema).collect();
        let packed = parallel::map(work, &|((column, part), described): ((&Column<'_>, _), _)| {
            column.encode(part, described, properties.clone(), rows.clone())
        });
        let mut group = self.writer.next_row_group()?;
        for column in packed {
            let (bytes, closed) = column?;
            group.append_column(&Bytes::from(bytes), closed)?;
        }
        group.close()?;
        Ok(())
    }

    /// Everything is written; gives back where.
    pub(super) fn finish(self) -> Result<W, ParquetError> {
        self.writer.into_inner()
    }
}
