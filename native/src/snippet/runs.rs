//! The runs of a stored text: a msgpack array of pairs, each a field and a text.

use super::NotSure;

const TITLE: u8 = 0;
const PARAGRAPH: u8 = 7;
const DESCRIPTION: u8 = 9;

/// A run of text in one field, still undecoded.
#[derive(Clone, Copy)]
struct Run<'a> {
    field: u8,
    packed: &'a [u8],
}

/// The runs of a page in the order of the index: the title first, then the body, without description.
pub struct Runs<'a> {
    runs: Vec<Run<'a>>,
}

impl<'a> Runs<'a> {
    /// Find the runs of an unpacked text. Damaged texts are "not sure", because Python describes the damage.
    pub fn read(text: &'a [u8]) -> Result<Self, NotSure> {
        let mut reader = Reader { rest: text };
        let count = reader.array_size()?;
        let mut runs: Vec<Run> = Vec::with_capacity(count.min(text.len() / 3));
        let mut is_ordered = true;
        for _ in 0..count {
            if reader.array_size()? != 2 {
                return Err(NotSure);
            }
            let field = reader.byte()?;
            let size = reader.text_size()?;
            let packed = reader.take(size)?;
            match field {
                TITLE => is_ordered &= runs.last().is_none_or(|before| before.field == TITLE),
                DESCRIPTION => continue,
                field if field > DESCRIPTION => return Err(NotSure),
                _ => (),
            }
            runs.push(Run { field, packed });
        }
        if !reader.rest.is_empty() {
            return Err(NotSure);
        }
        if !is_ordered {
            runs.sort_by_key(|run| run.field != TITLE); // stable: the body stays in reading order
        }
        Ok(Self { runs })
    }

    pub fn len(&self) -> usize {
        self.runs.len()
    }

    pub fn is_title(&self, number: usize) -> bool {
        self.runs[number].field == TITLE
    }

    pub fn text(&self, number: usize) -> Result<&'a str, NotSure> {
        std::str::from_utf8(self.runs[number].packed).map_err(|_| NotSure)
    }

    /// The first paragraph; without one, the first text other than the title.
    pub fn first_prose(&self) -> Result<&'a str, NotSure> {
        let first = |wanted: &dyn Fn(u8) -> bool| self.runs.iter().position(|run| wanted(run.field));
        match first(&|field| field == PARAGRAPH).or_else(|| first(&|field| field != TITLE)) {
            Some(number) => self.text(number),
            None => Ok(""),
        }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, size: usize) -> Result<&'a [u8], NotSure> {
        let (taken, rest) = self.rest.split_at_checked(size).ok_or(NotSure)?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, NotSure> {
        Ok(self.take(1)?[0])
    }

    fn number(&mut self, bytes: usize) -> Result<usize, NotSure> {
        Ok(self
            .take(bytes)?
            .iter()
            .fold(0, |number, &byte| number << 8 | usize::from(byte)))
    }

    fn array_size(&mut self) -> Result<usize, NotSure> {
        match self.byte()? {
            head @ 0x90..=0x9f => Ok(usize::from(head & 0x0f)),
            0xdc => self.number(2),
            0xdd => self.number(4),
            _ => Err(NotSure),
        }
    }

    fn text_size(&mut self) -> Result<usize, NotSure> {
        match self.byte()? {
            head @ 0xa0..=0xbf => Ok(usize::from(head & 0x1f)),
            0xd9 => self.number(1),
            0xda => self.number(2),
            0xdb => self.number(4),
            _ => Err(NotSure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_comes_first_and_the_description_is_left_out() {
        let packed = b"\x93\x92\x09\xa1d\x92\x07\xa1p\x92\x00\xa1t";
        let runs = Runs::read(packed).unwrap();
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
            let text = Runs::read(packed).and_then(|runs| runs.text(0).map(str::len));
            assert!(text.is_err());
        }
    }
}
