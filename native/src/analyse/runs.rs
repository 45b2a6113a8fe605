//! The runs of a stored text, which is a list of pairs of field and text in msgpack.

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
    let mut reader = Reader { rest: packed };
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
    reader.rest.is_empty().then_some(runs)
}

struct Reader<'t> {
    rest: &'t [u8],
}

impl<'t> Reader<'t> {
    fn take(&mut self, size: usize) -> Option<&'t [u8]> {
        let (taken, rest) = self.rest.split_at_checked(size)?;
        self.rest = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|one| one[0])
    }

    /// Read a big-endian size of so many bytes.
    fn size(&mut self, bytes: usize) -> Option<usize> {
        let digits = self.take(bytes)?;
        Some(digits.iter().fold(0, |size, &byte| size << 8 | usize::from(byte)))
    }

    fn array_size(&mut self) -> Option<usize> {
        match self.byte()? {
            head @ 0x90..=0x9f => Some(usize::from(head - 0x90)),
            0xdc => self.size(2),
            0xdd => self.size(4),
            _ => None,
        }
    }

    fn text(&mut self) -> Option<&'t str> {
        let size = match self.byte()? {
            head @ 0xa0..=0xbf => usize::from(head - 0xa0),
            0xd9 => self.size(1)?,
            0xda => self.size(2)?,
            0xdb => self.size(4)?,
            _ => return None,
        };
        std::str::from_utf8(self.take(size)?).ok()
    }
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
