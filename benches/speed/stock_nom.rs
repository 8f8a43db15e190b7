//! The measuring stick: object records by nom's own digit parsers, into a checksum that keeps nothing.

use nom::bytes::complete::tag;
use nom::character::complete::{char, hex_digit1};
use nom::multi::fold_many0;
use nom::sequence::preceded;
use nom::{IResult, Parser};

fn hex(input: &[u8]) -> IResult<&[u8], u64> {
    hex_digit1
        .map(|digits: &[u8]| {
            digits
                .iter()
                .fold(0u64, |value, &digit| value << 4 | u64::from(char::from(digit).to_digit(16).unwrap_or(0)))
        })
        .parse(input)
}

fn object(input: &[u8]) -> IResult<&[u8], u64> {
    let field = || preceded(char(' '), hex);
    let (rest, (id, type_id, bytes)) = preceded(tag("o"), (field(), field(), field())).parse(input)?;
    let (rest, references) = fold_many0(field(), || 0u64, |sum, id| sum.wrapping_add(id)).parse(rest)?;
    let (rest, _) = char('\n').parse(rest)?;
    Ok((rest, id ^ type_id ^ bytes ^ references))
}

/// All objects of an XNA/CF dump, added up.
pub fn checksum(text: &[u8]) -> u64 {
    let mut rest = text;
    let mut sum = 0u64;
    while !rest.is_empty() {
        match object(rest) {
            Ok((after, value)) => {
                sum = sum.wrapping_add(value);
                rest = after;
            }
            Err(_) => {
                let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
                rest = &rest[end..];
            }
        }
    }
    sum
}
