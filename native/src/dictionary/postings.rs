//! The documents of one word with its positions, as a list of numbers of variable length.

const FIELD_BITS: u32 = 4; // as in `Document.runs`
const FIELD_MASK: u64 = (1 << FIELD_BITS) - 1;
const MORE: u8 = 0x80; // the flag of a byte that others follow

/// An occurrence of a word: its position in a document, and the field there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    pub position: u32,
    pub field: u8,
}

/// The documents that hold a word.
#[derive(Default)]
pub struct Postings {
    bytes: Vec<u8>, // per document: its index, number of occurrences, then steps between positions with fields
    pub documents: u32,
}

impl Postings {
    /// Add a document, by its index among all documents.
    pub fn add(&mut self, document: u32, occurrences: impl ExactSizeIterator<Item = Occurrence>) {
        self.documents += 1;
        self.put(u64::from(document));
        self.put(occurrences.len() as u64);
        let mut last = 0;
        for Occurrence { position, field } in occurrences {
            self.put(u64::from(position - last) << FIELD_BITS | u64::from(field));
            last = position;
        }
    }

    fn put(&mut self, mut number: u64) {
        while number >= u64::from(MORE) {
            self.bytes.push(number as u8 | MORE);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    pub fn read(&self, at: usize) -> Reader<'_> {
        Reader { bytes: &self.bytes, at }
    }
}

/// Reads postings, from one document to the next.
pub struct Reader<'p> {
    bytes: &'p [u8],
    pub at: usize,
}

impl Reader<'_> {
    /// Read the index of the next document and the number of occurrences in it.
    pub fn document(&mut self) -> Option<(u32, u32)> {
        (self.at < self.bytes.len()).then(|| (self.take() as u32, self.take() as u32))
    }

    /// Read the next occurrence, given the position of the one before in this document.
    pub fn occurrence(&mut self, last: u32) -> Occurrence {
        let number = self.take();
        Occurrence {
            position: last + (number >> FIELD_BITS) as u32,
            field: (number & FIELD_MASK) as u8,
        }
    }

    fn take(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.bytes[self.at];
            self.at += 1;
            number |= u64::from(byte & !MORE) << shift;
            shift += 7;
            if byte & MORE == 0 {
                return number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postings_are_read_as_they_were_added() {
        let occurrences = [(0, 0), (3, 1), (70_000, 15), (4_000_000_000, 8)];
        let occurrences = occurrences.map(|(position, field)| Occurrence { position, field });
        let mut postings = Postings::default();
        postings.add(7, occurrences.into_iter());
        postings.add(300, occurrences[1..2].iter().copied());
        let mut reader = postings.read(0);
        assert_eq!(reader.document(), Some((7, 4)));
        let mut last = 0;
        for occurrence in occurrences {
            assert_eq!(reader.occurrence(last), occurrence);
            last = occurrence.position;
        }
        assert_eq!(reader.document(), Some((300, 1)));
        assert_eq!(reader.occurrence(0), occurrences[1]);
        assert_eq!(reader.document(), None);
        assert_eq!(postings.documents, 2);
    }
}
