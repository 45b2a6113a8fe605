//! The runs of a stored text: a msgpack array of pairs, each a field and a text.

use super::NotSure;
use crate::msgpack::Reader;

const TITLE: u8 = 0;
const PARAGRAPH: u8 = 7;
const DESCRIPTION: u8 = 9;

/// A run of text in one field, still undecoded.
struct Run {
    field: u8,
    start: u32, // of its bytes in the text
    end: u32,
}

/// Where the runs of a text are, in the order of the index: the title first, then the body, without description.
pub struct RunTable(Vec<Run>);

impl RunTable {
    /// Find the runs of an unpacked text. Damaged texts are "not sure", because Python describes the damage.
    pub fn read(text: &[u8]) -> Result<Self, NotSure> {
        Self::find(text).ok_or(NotSure)
    }

    fn find(text: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(text);
        let count = reader.array_size()?;
        let mut runs: Vec<Run> = Vec::with_capacity(count.min(text.len() / 3));
        let mut is_ordered = true;
        for _ in 0..count {
            if reader.array_size()? != 2 {
                return None;
            }
            let field = reader.byte()?;
            let size = reader.text_bytes()?.len();
            let end = text.len() - reader.bytes_left();
            match field {
                TITLE => is_ordered &= runs.last().is_none_or(|before| before.field == TITLE),
                DESCRIPTION => continue,
                field if field > DESCRIPTION => return None,
                _ => (),
            }
            runs.push(Run {
                field,
                start: u32::try_from(end - size).ok()?,
                end: u32::try_from(end).ok()?,
            });
        }
        if !reader.is_at_end() {
            return None;
        }
        if !is_ordered {
            runs.sort_by_key(|run| run.field != TITLE); // stable: the body stays in reading order
        }
        Some(Self(runs))
    }
}

/// The runs of a page in the order of the index.
pub struct Runs<'a> {
    pub text: &'a [u8],
    pub table: &'a RunTable,
}

impl<'a> Runs<'a> {
    pub fn len(&self) -> usize {
        self.table.0.len()
    }

    pub fn is_title(&self, number: usize) -> bool {
        self.table.0[number].field == TITLE
    }

    pub fn text(&self, number: usize) -> Result<&'a str, NotSure> {
        let run = &self.table.0[number];
        std::str::from_utf8(&self.text[run.start as usize..run.end as usize]).map_err(|_| NotSure)
    }

    /// The first paragraph; without one, the first text other than the title.
    pub fn first_prose(&self) -> Result<&'a str, NotSure> {
        let first = |wanted: &dyn Fn(u8) -> bool| self.table.0.iter().position(|run| wanted(run.field));
        match first(&|field| field == PARAGRAPH).or_else(|| first(&|field| field != TITLE)) {
            Some(number) => self.text(number),
            None => Ok(""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_comes_first_and_the_description_is_left_out() {
        let packed = b"\x93\x92\x09\xa1d\x92\x07\xa1p\x92\x00\xa1t";
        let table = RunTable::read(packed).unwrap();
        let runs = Runs {
            text: packed,
            table: &table,
        };
        let texts: Vec<&str> = (0..runs.len()).map(|number| runs.text(number).unwrap()).collect();
        assert_eq!(texts, ["t", "p"]);
        assert_eq!(runs.first_prose().unwrap(), "p");
    }

    #[test]
    fn damage_is_not_sure() {
        for packed in [
            &b"\x91\x92\x07"[..],
            b"\x91\x92\x07\xa5ab",
            b"\xc0",
            b"\x90\x90",
            b"\x91\x92\x07\xa1\xff",
        ] {
            let text = RunTable::read(packed).and_then(|table| {
                Runs {
                    text: packed,
                    table: &table,
                }
                .text(0)
                .map(str::len)
            });
            assert!(text.is_err());
        }
    }
}
