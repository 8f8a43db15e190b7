//! Columns of plain numbers: in memory of their own, or in an image of them (an index file) that is checked piece by
//! piece as it is first touched.
//!
//! A piece that is not as it was written is never handed out: from then on the column gives zeros, which are in range
//! everywhere, and the image remembers the damage. An answer that was computed meanwhile is not to be believed; whoever
//! asked for it looks at the image before anything is printed.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use bytemuck::Pod;

/// Bytes that are checked at a time: one question touches little, and each check costs 4 microseconds.
const PIECE_BYTES: usize = 1 << 16;

/// Columns laid out in one run of bytes.
pub trait MappedImage: fmt::Debug + Send + Sync {
    /// Returns true if these bytes are as they were written. To be called before they are first asked for; an image
    /// remembers that a check has failed.
    fn verify(&self, range: Range<usize>) -> bool;

    /// These bytes, within the image. Columns begin at multiples of 64 bytes, the image at an address that is one too.
    fn bytes(&self, range: Range<usize>) -> &[u8];

    /// Remembers that what was written cannot be right, though it is as it was written.
    fn mark_damaged(&self, reason: &'static str);
}

/// Takes columns, each under a name of its own.
pub trait ColumnSink {
    /// Takes a column's bytes, in the order of this machine.
    ///
    /// # Errors
    /// When they cannot be written.
    fn put_column(&mut self, name: &str, bytes: &[u8]) -> io::Result<()>;
}

/// Gives columns back.
pub trait ColumnSource {
    /// Place of a column; `None` when there is none of this name.
    fn find_column(&self, name: &str) -> Option<(Arc<dyn MappedImage>, Range<usize>)>;
}

/// A number that columns are made of.
pub trait ColumnNumber: Pod {
    /// Its value, to be compared with a column's limit.
    fn value(self) -> u64;
}

macro_rules! numbers {
    ($($number:ty)*) => { $(
        impl ColumnNumber for $number {
            fn value(self) -> u64 {
                self.into()
            }
        }
    )* };
}

numbers!(u8 u16 u32 u64);

/// Numbers by index. In memory as fast as a vector; in an image a check comes before the first touch of each piece.
#[derive(Debug)]
pub struct Column<T>(ColumnForm<T>);

#[derive(Debug)]
enum ColumnForm<T> {
    /// In memory of its own.
    Owned(Vec<T>),
    /// In an image, checked piece by piece.
    Stored(Box<StoredColumn<T>>),
}

#[derive(Debug)]
struct StoredColumn<T> {
    image: Arc<dyn MappedImage>,
    byte_range: Range<usize>,
    /// Upper bound of every value, excluded; `u64::MAX` for no limit.
    value_limit: u64,
    checked_pieces: Box<[AtomicBool]>,
    /// In place of the whole column, once a piece of it turned out damaged.
    zeros: OnceLock<Box<[T]>>,
    number_type: PhantomData<T>,
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Column(ColumnForm::Owned(Vec::new()))
    }
}

impl<T> From<Vec<T>> for Column<T> {
    fn from(values: Vec<T>) -> Self {
        Column(ColumnForm::Owned(values))
    }
}

impl<T: ColumnNumber> Column<T> {
    /// The column of this name, whose values must all be below `limit` (`u64::MAX`: any). `None` when there is none, or
    /// when its length is no whole number of values.
    pub fn from_stored(source: &dyn ColumnSource, name: &str, limit: u64) -> Option<Self> {
        let (image, range) = source.find_column(name)?;
        if !range.len().is_multiple_of(size_of::<T>()) {
            return None;
        }
        let checked = (0..range.len().div_ceil(PIECE_BYTES)).map(|_| AtomicBool::new(false)).collect();
        Some(Column(ColumnForm::Stored(Box::new(StoredColumn {
            image,
            byte_range: range,
            value_limit: limit,
            checked_pieces: checked,
            zeros: OnceLock::new(),
            number_type: PhantomData,
        }))))
    }

    /// Values.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            ColumnForm::Owned(values) => values.len(),
            ColumnForm::Stored(stored) => stored.byte_range.len() / size_of::<T>(),
        }
    }

    /// No value at all?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value at `index`, which must be below `len`.
    #[inline]
    pub fn get(&self, index: usize) -> T {
        match &self.0 {
            ColumnForm::Owned(values) => values[index],
            ColumnForm::Stored(stored) => stored.slice(index..index + 1)[0],
        }
    }

    /// The values of a range.
    #[inline]
    pub fn slice(&self, range: Range<usize>) -> &[T] {
        match &self.0 {
            ColumnForm::Owned(values) => &values[range],
            ColumnForm::Stored(stored) => stored.slice(range),
        }
    }

    /// All of them, where they are in memory of their own: for loops that ask once for each value.
    #[inline(always)]
    pub(super) fn values_in_memory(&self) -> Option<&[T]> {
        match &self.0 {
            ColumnForm::Owned(values) => Some(values),
            ColumnForm::Stored(_) => None,
        }
    }

    /// The vector they lie in, where they are in memory of their own; else the column.
    pub(super) fn into_vec(self) -> Result<Vec<T>, Self> {
        match self.0 {
            ColumnForm::Owned(values) => Ok(values),
            stored => Err(Column(stored)),
        }
    }

    /// All of them, for work that goes through the whole column anyway.
    pub fn all_values(&self) -> &[T] {
        self.slice(0..self.len())
    }

    /// Like `partition_point` of a slice, without touching more than it must.
    pub fn partition_point(&self, is_before: impl Fn(T) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(self.get(middle)) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Writes the column.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn store(&self, sink: &mut dyn ColumnSink, name: &str) -> io::Result<()> {
        sink.put_column(name, bytemuck::cast_slice(self.all_values()))
    }
}

impl<T: ColumnNumber> StoredColumn<T> {
    /// Out of line, so that loops over columns in memory stay tight.
    #[cold]
    #[inline(never)]
    fn slice(&self, range: Range<usize>) -> &[T] {
        let bytes = range.start * size_of::<T>()..range.end * size_of::<T>();
        assert!(
            bytes.end <= self.byte_range.len(),
            "index {} of {}",
            range.end,
            self.byte_range.len() / size_of::<T>()
        );
        if let Some(zeros) = self.zeros.get() {
            return &zeros[range];
        }
        if !bytes.is_empty() {
            for piece in bytes.start / PIECE_BYTES..=(bytes.end - 1) / PIECE_BYTES {
                if !self.checked_pieces[piece].load(Ordering::Acquire) && !self.check_piece(piece) {
                    let count = self.byte_range.len() / size_of::<T>();
                    return &self.zeros.get_or_init(|| vec![T::zeroed(); count].into_boxed_slice())[range];
                }
            }
        }
        bytemuck::cast_slice(self.image.bytes(self.byte_range.start + bytes.start..self.byte_range.start + bytes.end))
    }

    /// The image knows what was written; whether it makes sense only whoever reads it.
    #[cold]
    fn check_piece(&self, piece: usize) -> bool {
        let start = self.byte_range.start + piece * PIECE_BYTES;
        let end = self.byte_range.end.min(start + PIECE_BYTES);
        if !self.image.verify(start..end) {
            return false;
        }
        if self.value_limit < u64::MAX {
            let values: &[T] = bytemuck::cast_slice(self.image.bytes(start..end));
            if values.iter().map(|value| value.value()).max().is_some_and(|value| value >= self.value_limit) {
                self.image.mark_damaged("a number in it is out of range");
                return false;
            }
        }
        self.checked_pieces[piece].store(true, Ordering::Release);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An image that is as it was written, and remembers what it was told.
    #[derive(Debug)]
    struct Numbers {
        words: Vec<u64>,
        is_rejected: AtomicBool,
    }

    impl MappedImage for Numbers {
        fn verify(&self, _: Range<usize>) -> bool {
            true
        }

        fn bytes(&self, range: Range<usize>) -> &[u8] {
            &bytemuck::cast_slice(&self.words)[range]
        }

        fn mark_damaged(&self, _: &'static str) {
            self.is_rejected.store(true, Ordering::Relaxed);
        }
    }

    struct One(Arc<Numbers>);

    impl ColumnSource for One {
        fn find_column(&self, name: &str) -> Option<(Arc<dyn MappedImage>, Range<usize>)> {
            let image: Arc<dyn MappedImage> = self.0.clone();
            (name == "numbers").then(|| (image, 0..self.0.words.len() * 8))
        }
    }

    #[test]
    fn a_number_out_of_range_is_met_when_it_is_touched_and_never_handed_out() {
        let mut words: Vec<u64> = (0..20_000).collect();
        words[19_000] = 20_000;
        let source = One(Arc::new(Numbers { words, is_rejected: AtomicBool::new(false) }));
        let column: Column<u64> = Column::from_stored(&source, "numbers", 20_000).expect("it is there");
        assert_eq!(column.get(5), 5);
        assert_eq!(column.slice(8_000..8_100), (8_000..8_100).collect::<Vec<u64>>());
        assert_eq!(column.partition_point(|value| value < 1_234), 1_234);
        assert!(!source.0.is_rejected.load(Ordering::Relaxed));
        assert_eq!(column.get(19_000), 0);
        assert!(source.0.is_rejected.load(Ordering::Relaxed));
        assert_eq!(column.slice(8_000..8_002), [0, 0]);
        assert!(Column::<u64>::from_stored(&source, "others", 1).is_none());
    }
}
