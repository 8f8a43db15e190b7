//! Whole numbers between commas and blanks: nearly all of a snapshot.
//!
//! 64 bytes at a time become two words of bits, where numbers begin and where they end; the digits of each are then put
//! together eight at once. Digit by digit a processor guesses wrong once for each number where it ends, which takes longer
//! than all the rest.

/// Bytes that are looked at together.
const SCAN_STEP_BYTES: usize = 64;

/// The numbers of a piece, one after another.
pub(super) struct NumberReader<'a> {
    bytes: &'a [u8],
    /// Start of the 64 bytes that `number_start_bits` and `number_end_bits` describe; `None` where these hold something
    /// else than digits, commas and blanks.
    scan_step_start: Option<usize>,
    /// Start of the next number.
    next_number_start: usize,
    /// Numbers after that begin here, and end before here; a bit for each byte from `scan_step_start`.
    number_start_bits: u64,
    number_end_bits: u64,
    /// These 64 bytes end within a number.
    is_within_number: bool,
    /// Values that were no whole numbers.
    pub(super) bad_numbers: u64,
}

impl<'a> NumberReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut numbers = NumberReader {
            bytes,
            scan_step_start: Some(0),
            next_number_start: 0,
            number_start_bits: 0,
            number_end_bits: 0,
            is_within_number: false,
            bad_numbers: 0,
        };
        numbers.load_scan_step(0);
        numbers
    }

    /// Finds where the numbers of the 64 bytes from `base` on begin and end; behind the last byte there is a comma.
    #[inline]
    fn load_scan_step(&mut self, base: usize) {
        let rest = &self.bytes[base..];
        let (digits, is_usual) = match rest.first_chunk::<SCAN_STEP_BYTES>() {
            Some(bytes) => classify_bytes(bytes),
            None => {
                let mut bytes = [b','; SCAN_STEP_BYTES];
                bytes[..rest.len()].copy_from_slice(rest);
                classify_bytes(&bytes)
            }
        };
        if !is_usual {
            self.next_number_start = if self.is_within_number { self.next_number_start } else { base };
            self.scan_step_start = None;
            return;
        }
        let behind_digits = digits << 1 | u64::from(self.is_within_number);
        self.number_start_bits = digits & !behind_digits;
        self.number_end_bits = !digits & behind_digits;
        if !self.is_within_number {
            self.next_number_start = base + self.number_start_bits.trailing_zeros() as usize;
            self.number_start_bits &= self.number_start_bits.wrapping_sub(1);
        }
        self.is_within_number = digits >> (SCAN_STEP_BYTES - 1) == 1;
        self.scan_step_start = Some(base);
    }

    /// A number of many digits, or one of the first in the piece.
    #[cold]
    fn read_long_number(&mut self, start: usize, end: usize) -> i64 {
        if end - start > 18 {
            let text = std::str::from_utf8(&self.bytes[start..end]).ok();
            return self.number_or_zero(text.and_then(|text| text.parse().ok()));
        }
        self.bytes[start..end].iter().fold(0, |value, digit| 10 * value + i64::from(digit - b'0'))
    }

    /// The next item between commas and blanks, which need not be a number; then as usual again.
    #[cold]
    fn next_unusual_item(&mut self) -> Option<i64> {
        let is_between = |byte: &u8| matches!(byte, b',' | b' ' | b'\n' | b'\r' | b'\t');
        self.next_number_start += self.bytes[self.next_number_start..].iter().position(|byte| !is_between(byte))?;
        let rest = &self.bytes[self.next_number_start..];
        let end = rest.iter().position(is_between).unwrap_or(rest.len());
        self.next_number_start += end;
        let value = std::str::from_utf8(&rest[..end]).ok().and_then(|text| text.parse().ok());
        let value = self.number_or_zero(value);
        self.is_within_number = false;
        self.load_scan_step(self.next_number_start);
        Some(value)
    }

    /// A value; one that is no number counts as bad, and is 0.
    fn number_or_zero(&mut self, value: Option<i64>) -> i64 {
        self.bad_numbers += u64::from(value.is_none());
        value.unwrap_or(0)
    }
}

/// Items that are no numbers count as 0.
impl Iterator for NumberReader<'_> {
    type Item = i64;

    #[inline(always)]
    fn next(&mut self) -> Option<i64> {
        loop {
            let Some(base) = self.scan_step_start else { return self.next_unusual_item() };
            if self.number_end_bits == 0 {
                if base + SCAN_STEP_BYTES > self.bytes.len() {
                    return None;
                }
                self.load_scan_step(base + SCAN_STEP_BYTES);
                continue;
            }
            let (start, end) = (self.next_number_start, base + self.number_end_bits.trailing_zeros() as usize);
            self.number_end_bits &= self.number_end_bits - 1;
            self.next_number_start = base + self.number_start_bits.trailing_zeros() as usize;
            self.number_start_bits &= self.number_start_bits.wrapping_sub(1);
            let digits = end - start;
            let Some((_, last)) = self.bytes[..end].split_last_chunk::<8>().filter(|_| digits <= 8) else {
                return Some(self.read_long_number(start, end));
            };
            return Some(value_of_last_digits(u64::from_le_bytes(*last), digits));
        }
    }
}

/// The number that the last `digits` of eight bytes are, the last one being the highest byte.
#[inline]
fn value_of_last_digits(bytes: u64, digits: usize) -> i64 {
    const ASCII_ZEROS: u64 = 0x3030_3030_3030_3030;
    // What stands before the digits becomes zeros; there is at least one digit.
    let mut value = (bytes ^ ASCII_ZEROS) & u64::MAX << (64 - 8 * digits);
    // Neighbours become numbers of two digits, of four and of eight.
    value = (value * 10 + (value >> 8)) & 0x00FF_00FF_00FF_00FF;
    value = (value * 100 + (value >> 16)) & 0x0000_FFFF_0000_FFFF;
    value = (value * 10_000 + (value >> 32)) & 0xFFFF_FFFF;
    value.cast_signed()
}

/// The digits among the bytes, and true if all others are commas or blanks. Written so that it becomes vector instructions.
#[inline]
fn classify_bytes(bytes: &[u8; SCAN_STEP_BYTES]) -> (u64, bool) {
    const LOWEST_BIT_OF_EACH_BYTE: u64 = 0x0102_0408_1020_4080;
    let mut are_digits = [0; SCAN_STEP_BYTES];
    let mut others = 0;
    for (is_digit, byte) in are_digits.iter_mut().zip(bytes) {
        *is_digit = u8::from(byte.wrapping_sub(b'0') <= 9);
        let is_between = (*byte == b',') | (*byte == b'\n') | (*byte == b' ') | (*byte == b'\r') | (*byte == b'\t');
        others |= 1 - (*is_digit | u8::from(is_between));
    }
    // The product's highest byte has the lowest bits of eight bytes.
    let eights = are_digits.as_chunks::<8>().0.iter().enumerate();
    let digits = eights.fold(0, |digits, (at, eight)| {
        digits | (u64::from_le_bytes(*eight).wrapping_mul(LOWEST_BIT_OF_EACH_BYTE) >> 56) << (8 * at)
    });
    (digits, others == 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> (Vec<i64>, u64) {
        let mut numbers = NumberReader::new(bytes);
        let values = numbers.by_ref().collect();
        (values, numbers.bad_numbers)
    }

    #[test]
    fn numbers_are_read_in_every_form() {
        let bytes = b" 1,2\n,-294967296 ,\r\n[,9007199254740993, 1.5,x,12345678901234567890,7 ";
        assert_eq!(read(bytes), (vec![1, 2, -294_967_296, 0, 9_007_199_254_740_993, 0, 0, 0, 7], 4));
        assert_eq!(read(b"1,1234567890123456789,12345678901234567890,7").0, [1, 1_234_567_890_123_456_789, 0, 7]);
        assert_eq!((read(b"").0, read(b" \n").0, read(b"0").0), (vec![], vec![], vec![0]));
        // A control character is no blank, and a letter behind 64 digits and commas makes the last number none.
        assert_eq!(read(b"5\x115,6"), (vec![0, 6], 1));
        let many = "12,".repeat(21) + "3e4,5";
        assert_eq!((read(many.as_bytes()).1, read(many.as_bytes()).0[20..].to_vec()), (1, vec![12, 0, 5]));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]
        /// As a splitter and the standard library's parser read them.
        #[test]
        fn numbers_are_those_of_the_text(
            rows in prop::collection::vec((0usize..20, any::<u64>(), prop::sample::select(vec![",", "\n,", " , ", ",\r\n\t", " "])), 0..100),
            unusual in prop::option::of((0usize..100, prop::sample::select(vec!["-5", "1.5", "x", "[", "1e3", "12x3", "7-", "+"]))),
        ) {
            let mut words: Vec<String> =
                rows.iter().map(|(digits, value, _)| format!("{value:020}")[20 - digits.clamp(&1, &18)..].into()).collect();
            if let Some((at, word)) = unusual.filter(|(at, _)| *at < words.len()) {
                words[at] = word.into();
            }
            let text: String = words.iter().zip(&rows).flat_map(|(word, (.., behind))| [word.as_str(), behind]).collect();
            let expected: Vec<i64> = words.iter().map(|word| word.parse().unwrap_or(0)).collect();
            let bad = words.iter().filter(|word| word.parse::<i64>().is_err()).count() as u64;
            prop_assert_eq!(read(text.as_bytes()), (expected, bad));
        }
    }
}
