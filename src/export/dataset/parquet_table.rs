//! A table of the dataset as a Parquet file, a row group at a time. Columns are functions of the row, asked for some
//! thousand rows at once and encoded beside each other: what is in memory is one row group, packed.

use crate::parallel;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, ColumnWriterImpl, get_column_writer};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, ColumnPath, Type, TypePtr};

use super::TableName;

/// Rows of a row group at most.
pub(super) const MAX_GROUP_ROWS: usize = 1 << 20;
const MAX_PAGE_ROWS: usize = 20_000;
/// Rows that a column is asked for at once.
const ROWS_AT_ONCE: usize = 8192;
/// The version of every table's columns: a column more leaves it, a column that means something else does not.
pub(super) const SCHEMA_VERSION: i32 = 1;

/// The encoding of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnEncoding {
    /// A dictionary and run lengths.
    Dictionary,
    /// Differences of numbers.
    DeltaBinaryPacked,
    /// Texts without what they begin with as the one before.
    DeltaByteArray,
}

/// A value of a column; of columns with nulls an `Option`.
pub(super) trait ParquetValue: Clone + 'static {
    type Plain: DataType;
    const REPETITION: Repetition;

    fn write(values: &[Self], writer: &mut ColumnWriterImpl<'_, Self::Plain>) -> Result<usize, ParquetError>;
}

macro_rules! plain_values {
    ($($value:ty: $plain:ty),*) => { $(
        impl ParquetValue for $value {
            type Plain = $plain;
            const REPETITION: Repetition = Repetition::REQUIRED;

            fn write(values: &[Self], writer: &mut ColumnWriterImpl<'_, $plain>) -> Result<usize, ParquetError> {
                writer.write_batch(values, None, None)
            }
        }
    )* };
}

plain_values!(i64: Int64Type, i32: Int32Type, bool: BoolType, f64: DoubleType, ByteArray: ByteArrayType);

impl<T: ParquetValue<Plain: DataType<T = T>>> ParquetValue for Option<T> {
    type Plain = T::Plain;
    const REPETITION: Repetition = Repetition::OPTIONAL;

    /// The writer wants values without the nulls, and for each row whether there is one.
    fn write(values: &[Self], writer: &mut ColumnWriterImpl<'_, T::Plain>) -> Result<usize, ParquetError> {
        let there: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
        let values: Vec<T> = values.iter().flatten().cloned().collect();
        writer.write_batch(&values, Some(&there), None)
    }
}

/// Gives the values of some rows.
type FillRows<'a, T> = Box<dyn Fn(Range<usize>, &mut Vec<T>) + Send + Sync + 'a>;
/// Writes the values of some rows.
type WriteRows<'a> = Box<dyn Fn(&mut ColumnWriter<'_>, Range<usize>) -> Result<(), ParquetError> + Send + Sync + 'a>;

enum ParquetValues<'a> {
    ByRow(Physical, Repetition, WriteRows<'a>),
    /// The same pairs in every row.
    ConstantMap(&'a [(String, String)]),
}

/// A column: its name, and what its values are by row.
pub(super) struct ParquetColumn<'a> {
    name: &'static str,
    values: ParquetValues<'a>,
    is_time: bool,
    encoding: ColumnEncoding,
}

impl<'a> ParquetColumn<'a> {
    /// Numbers, truth values or texts that are there already.
    pub(super) fn new<T: ParquetValue>(name: &'static str, value: impl Fn(usize) -> T + Send + Sync + 'a) -> Self {
        Self::from_fill_rows(name, Box::new(move |rows, values| values.extend(rows.map(&value))))
    }

    /// Apart from `new`, which is compiled anew for each column.
    fn from_fill_rows<T: ParquetValue>(name: &'static str, fill: FillRows<'a, T>) -> Self {
        let write: WriteRows<'a> = Box::new(move |writer, rows| {
            let wrong = || ParquetError::General(format!("column {name} is of another kind"));
            let writer = T::Plain::get_column_writer_mut(writer).ok_or_else(wrong)?;
            let mut values = Vec::with_capacity(ROWS_AT_ONCE.min(rows.len()));
            for start in rows.clone().step_by(ROWS_AT_ONCE) {
                values.clear();
                fill(start..rows.end.min(start + ROWS_AT_ONCE), &mut values);
                T::write(&values, writer)?;
            }
            Ok(())
        });
        let values = ParquetValues::ByRow(T::Plain::get_physical_type(), T::REPETITION, write);
        ParquetColumn { name, values, is_time: false, encoding: ColumnEncoding::Dictionary }
    }

    /// Microseconds since 1970.
    pub(super) fn time<T: ParquetValue>(name: &'static str, value: impl Fn(usize) -> T + Send + Sync + 'a) -> Self {
        ParquetColumn { is_time: true, ..Self::new(name, value) }
    }

    /// One text in all rows.
    pub(super) fn constant(name: &'static str, value: &ByteArray) -> Self {
        let value = value.clone();
        Self::new(name, move |_| value.clone())
    }

    /// The same pairs of texts in every row.
    pub(super) fn constant_map(name: &'static str, pairs: &'a [(String, String)]) -> Self {
        ParquetColumn {
            name,
            values: ParquetValues::ConstantMap(pairs),
            is_time: false,
            encoding: ColumnEncoding::Dictionary,
        }
    }

    /// The same with differences in place of a dictionary: numbers that seldom repeat and lie near one another.
    pub(super) fn delta_encoded(self) -> Self {
        ParquetColumn { encoding: ColumnEncoding::DeltaBinaryPacked, ..self }
    }

    /// The same with texts by their differences: sorted paths.
    pub(super) fn prefix_encoded(self) -> Self {
        ParquetColumn { encoding: ColumnEncoding::DeltaByteArray, ..self }
    }

    fn schema_field(&self) -> Result<Type, ParquetError> {
        let of = |name, physical, repetition| {
            let logical = match physical {
                Physical::BYTE_ARRAY => Some(LogicalType::String),
                _ if self.is_time => Some(LogicalType::timestamp(true, TimeUnit::MICROS)),
                _ => None,
            };
            let builder = Type::primitive_type_builder(name, physical).with_repetition(repetition);
            builder.with_logical_type(logical).build()
        };
        match self.values {
            ParquetValues::ByRow(physical, repetition, _) => of(self.name, physical, repetition),
            ParquetValues::ConstantMap(_) => {
                let [key, value] = ["key", "value"].map(|name| of(name, Physical::BYTE_ARRAY, Repetition::REQUIRED));
                let pairs = Type::group_type_builder("key_value").with_repetition(Repetition::REPEATED);
                let pairs = pairs.with_fields(vec![Arc::new(key?), Arc::new(value?)]).build()?;
                let map = Type::group_type_builder(self.name).with_repetition(Repetition::REQUIRED);
                let map = map.with_logical_type(Some(LogicalType::Map)).with_converted_type(ConvertedType::MAP);
                map.with_fields(vec![Arc::new(pairs)]).build()
            }
        }
    }

    /// Writes the values of some rows; `part` tells keys from values.
    fn write(&self, writer: &mut ColumnWriter<'_>, rows: Range<usize>, part: usize) -> Result<(), ParquetError> {
        let pairs = match &self.values {
            ParquetValues::ByRow(.., write) => return write(writer, rows),
            ParquetValues::ConstantMap(pairs) => pairs,
        };
        let wrong = || ParquetError::General(format!("column {} is of another kind", self.name));
        let writer = ByteArrayType::get_column_writer_mut(writer).ok_or_else(wrong)?;
        let texts: Vec<ByteArray> =
            pairs.iter().map(|(key, value)| to_byte_array(if part == 0 { key } else { value })).collect();
        // A row without pairs is one place that is not there.
        let there = vec![i16::from(!pairs.is_empty()); pairs.len().max(1)];
        let repeated: Vec<i16> = (0..there.len()).map(|at| i16::from(at > 0)).collect();
        for _ in rows {
            writer.write_batch(&texts, Some(&there), Some(&repeated))?;
        }
        Ok(())
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

pub(super) fn to_byte_array(text: &str) -> ByteArray {
    ByteArray::from(text.as_bytes().to_vec())
}

/// A number that the dump has, as the dataset's signed ones; the greatest of those where it is greater.
pub(super) fn to_i64(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// The same in four bytes.
pub(super) fn to_i32(number: impl TryInto<i32>) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}

/// Writes a table of columns that are all there.
pub(super) fn write_table<W: Write + Send>(
    out: W,
    name: TableName,
    rows: usize,
    columns: &[ParquetColumn<'_>],
) -> Result<W, ParquetError> {
    let mut table = ParquetTable::begin(out, name.name(), columns, &[])?;
    table.write_rows(rows, columns)?;
    table.finish()
}

/// A file being written.
pub(super) struct ParquetTable<W: Write + Send> {
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> ParquetTable<W> {
    /// Begins a file. Of the columns only names and kinds matter. `notes` go into the file's own description.
    pub(super) fn begin(
        out: W,
        name: &str,
        columns: &[ParquetColumn<'_>],
        notes: &[(&str, String)],
    ) -> Result<Self, ParquetError> {
        let fields = columns.iter().map(|column| column.schema_field().map(Arc::new)).collect::<Result<Vec<_>, _>>()?;
        let schema: TypePtr = Arc::new(Type::group_type_builder("heapdump").with_fields(fields).build()?);
        let note = |key: &str, value: String| KeyValue::new(key.to_string(), Some(value));
        let notes = notes.iter().map(|(key, value)| note(key, value.clone()));
        let described = std::iter::once(note("heapdump.schema", format!("{name}/{SCHEMA_VERSION}"))).chain(notes);
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_created_by(format!("heapdump {}", env!("CARGO_PKG_VERSION")))
            .set_max_row_group_row_count(Some(MAX_GROUP_ROWS))
            .set_data_page_row_count_limit(MAX_PAGE_ROWS)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_key_value_metadata(Some(described.collect()));
        for column in columns {
            let encoding = match column.encoding {
                ColumnEncoding::Dictionary => continue,
                ColumnEncoding::DeltaBinaryPacked => Encoding::DELTA_BINARY_PACKED,
                ColumnEncoding::DeltaByteArray => Encoding::DELTA_BYTE_ARRAY,
            };
            let path = ColumnPath::from(column.name);
            properties = properties.set_column_dictionary_enabled(path.clone(), false);
            properties = properties.set_column_encoding(path, encoding);
        }
        Ok(ParquetTable { writer: SerializedFileWriter::new(out, schema, Arc::new(properties.build()))? })
    }

    /// Writes rows, a group of [`MAX_GROUP_ROWS`] after the other.
    pub(super) fn write_rows(&mut self, rows: usize, columns: &[ParquetColumn<'_>]) -> Result<(), ParquetError> {
        for start in (0..rows).step_by(MAX_GROUP_ROWS) {
            self.write_group(start..rows.min(start + MAX_GROUP_ROWS), columns)?;
        }
        Ok(())
    }

    fn write_group(&mut self, rows: Range<usize>, columns: &[ParquetColumn<'_>]) -> Result<(), ParquetError> {
        // A map has two columns in the file.
        let file_columns =
            |column: &ParquetColumn<'_>| if let ParquetValues::ConstantMap(_) = column.values { 2 } else { 1 };
        let parts: Vec<(&ParquetColumn<'_>, usize)> =
            columns.iter().flat_map(|column| (0..file_columns(column)).map(move |part| (column, part))).collect();
        let schema = self.writer.schema_descr().columns().to_vec();
        let properties = self.writer.properties().clone();
        let work = parts.into_iter().zip(schema).collect();
        let packed = parallel::map(work, &|((column, part), described): ((&ParquetColumn<'_>, _), _)| {
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
