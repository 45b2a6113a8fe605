//! The runs of a stored text, which is a list of pairs of field and text in msgpack.

use crate::msgpack::Reader;

/// Fields of `gossamer.model.Field` that this kernel treats in their own way.
pub const TITLE: u8 = 0;
pub const DESCRIPTION: u8 = 9;
const HEADINGS: std::ops::RangeInclusive<u8> = 1..=6;
const MOST_FIELDS: u8 = 16;

/// A run of text with its field.
#[derive(Debug, PartialEq, Eq)]
pub struct Run<'t> {
    pub field: u8,
    pub text: &'t str,
}

impl Run<'_> {
    pub fn is_heading(field: u8) -> bool {
        HEADINGS.contains(&field)
    }
}

/// Return the runs that the index takes: titles first, then the others, without descriptions.
///
/// None: the bytes are not what a parser writes, and Python has to look at them.
pub fn indexed_runs(packed: &[u8]) -> Option<Vec<Run<'_>>> {
    let runs = read_runs(packed)?;
    let (titles, others): (Vec<_>, Vec<_>) = runs.into_iter().partition(|run| run.field == TITLE);
    let body = others.into_iter().filter(|run| run.field != DESCRIPTION);
    Some(titles.into_iter().chain(body).collect())
}

fn read_runs(packed: &[u8]) -> Option<Vec<Run<'_>>> {
    let mut reader = Reader::new(packed);
    let count = reader.array_size()?;
    let mut runs = Vec::with_capacity(count.min(packed.len()));
    for _ in 0..count {
        if reader.array_size()? != 2 {
            return None;
        }
        let field = reader.byte().filter(|&field| field < MOST_FIELDS)?;
        runs.push(Run {
            field,
            text: reader.text()?,
        });
    }
    reader.is_at_end().then_some(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_come_first_and_descriptions_are_left_out() {
        let packed = b"\x93\x92\x07\xa1p\x92\x09\xa1d\x92\x00\xd9\x01t";
        let runs = indexed_runs(packed).unwrap();
        assert_eq!(runs, [Run { field: 0, text: "t" }, Run { field: 7, text: "p" }]);
    }

    #[test]
    fn other_bytes_are_left_to_python() {
        for packed in [
            &b""[..],
            b"\x91",
            b"\x91\x92\x00\xa2\xff\xfe",
            b"\x91\x92\x10\xa0",
            b"\x90\x90",
            b"\x91\x92\x00\x05",
        ] {
            assert!(indexed_runs(packed).is_none(), "{packed:?}");
        }
    }
}
