//! Protocol buffers: a message is a row of fields, each with a number and a value
//! (<https://protobuf.dev/programming-guides/encoding/>).

/// A field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WireValue<'a> {
    /// A number, signed ones as the same 64 bits.
    Number(u64),
    /// A text, a message, or numbers one behind the other.
    Bytes(&'a [u8]),
    /// 4 or 8 bytes.
    Fixed,
}

/// Why a message cannot be read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MalformedField {
    /// It breaks off within a field.
    Cut,
    /// A value is of no kind there is.
    UnknownKind,
}

/// The fields of a message, one by one; after an error none.
#[derive(Debug, Clone)]
pub(super) struct MessageFields<'a> {
    remaining: &'a [u8],
}

impl<'a> MessageFields<'a> {
    pub(super) fn new(message: &'a [u8]) -> Self {
        MessageFields { remaining: message }
    }

    /// Bytes behind the field that came last.
    pub(super) fn bytes_left(&self) -> usize {
        self.remaining.len()
    }

    fn next_field(&mut self) -> Option<(u64, WireValue<'a>)> {
        let (key, remaining) = varint(self.remaining)?;
        let (value, remaining) = match key & 7 {
            0 => varint(remaining).map(|(number, remaining)| (WireValue::Number(number), remaining))?,
            1 => (WireValue::Fixed, remaining.get(8..)?),
            5 => (WireValue::Fixed, remaining.get(4..)?),
            2 => {
                let (length, remaining) = varint(remaining)?;
                let (bytes, remaining) = remaining.split_at_checked(usize::try_from(length).ok()?)?;
                (WireValue::Bytes(bytes), remaining)
            }
            _ => return None,
        };
        self.remaining = remaining;
        Some((key >> 3, value))
    }
}

impl<'a> Iterator for MessageFields<'a> {
    type Item = Result<(u64, WireValue<'a>), MalformedField>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.remaining.is_empty() {
            return None;
        }
        if let Some(field) = self.next_field() {
            return Some(Ok(field));
        }
        let is_known = varint(self.remaining).is_none_or(|(key, _)| matches!(key & 7, 0 | 1 | 2 | 5));
        self.remaining = &[];
        Some(Err(if is_known { MalformedField::Cut } else { MalformedField::UnknownKind }))
    }
}

/// A number of up to 64 bits in groups of 7, low ones first, and what follows it.
#[inline]
pub(super) fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    match *bytes {
        [low @ ..0x80, ref behind @ ..] => return Some((low.into(), behind)),
        [low, high @ ..0x80, ref behind @ ..] => return Some((u64::from(high) << 7 | u64::from(low & 0x7f), behind)),
        _ => {}
    }
    let mut number = 0;
    for (at, &byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            return Some((number, &bytes[at + 1..]));
        }
    }
    None
}

/// Appends the numbers of a repeated field: one, or several in a row, as a writer likes.
pub(super) fn push_numbers(value: WireValue<'_>, numbers: &mut Vec<u64>) -> Result<(), MalformedField> {
    match value {
        WireValue::Number(number) => numbers.push(number),
        WireValue::Bytes(mut remaining) => {
            while !remaining.is_empty() {
                let (number, behind) = varint(remaining).ok_or(MalformedField::Cut)?;
                numbers.push(number);
                remaining = behind;
            }
        }
        WireValue::Fixed => return Err(MalformedField::UnknownKind),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_with_their_values() {
        let fields: Vec<_> = MessageFields::new(b"\x08\x96\x01\x12\x02ab\x19\0\0\0\0\0\0\0\0\x25\0\0\0\0").collect();
        let expected =
            [(1, WireValue::Number(150)), (2, WireValue::Bytes(b"ab")), (3, WireValue::Fixed), (4, WireValue::Fixed)]
                .map(Ok);
        assert_eq!(fields, expected);
        assert_eq!(varint(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]).map(|(n, _)| n), Some(u64::MAX));
        assert_eq!(varint(&[0x80; 11]), None);
    }

    #[test]
    fn every_cut_and_every_unknown_kind_is_malformed() {
        let message = b"\x12\x03abc\x08\x80\x01";
        for end in [1, 2, 4, 6, 7] {
            let last = MessageFields::new(&message[..end]).last();
            assert_eq!(last, Some(Err(MalformedField::Cut)), "{end}");
        }
        for bad in [b"\x0b", b"\x0f"] {
            assert_eq!(MessageFields::new(bad).last(), Some(Err(MalformedField::UnknownKind)), "{bad:?}");
        }
        let long = b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        assert_eq!(MessageFields::new(long).last(), Some(Err(MalformedField::Cut)));
    }

    #[test]
    fn numbers_are_packed_or_not() {
        let mut numbers = Vec::new();
        for value in [WireValue::Number(7), WireValue::Bytes(b"\x01\x80\x01"), WireValue::Bytes(b"")] {
            push_numbers(value, &mut numbers).unwrap();
        }
        assert_eq!(numbers, [7, 1, 128]);
        assert_eq!(push_numbers(WireValue::Bytes(b"\x80"), &mut numbers), Err(MalformedField::Cut));
    }
}
