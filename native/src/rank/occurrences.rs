//! The occurrences of a query's words in the words of a page, as `CandidateWords` in `search/rank.py` has them.

pub const TITLE: u32 = 0;
pub const H6: u32 = 6;
pub const PARAGRAPH: u32 = 7;
const FIRST_STOP_CODE: u32 = 1 << 31; // numbers from here on are codes of stop words
const LONGEST_TITLE: usize = 64; // words of a title that count
const BLOCK: usize = 8; // words compared at once; most blocks have no word of the query

/// A word of the query.
pub struct Slot {
    pub words: Vec<u32>,        // its WordIDs; each belongs to one slot
    pub anchor_codes: Vec<u32>, // codes of its terms in anchor texts
    pub idf: f64,
}

/// A word of the query at a position of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    pub position: usize,
    pub slot: usize,
    pub field: u32,
    pub run: usize,
    pub words_before: usize, // words of the run before it
    pub run_length: usize,
}

/// The words of one page, perhaps only the first ones.
pub struct PageWords {
    pub length: usize,
    pub title_length: usize, // words of the title that are not stop words
    pub occurrences: Vec<Occurrence>,
}

/// The runs of a page do not cover its words.
#[derive(Debug)]
pub struct BadSequence;

impl PageWords {
    /// Find the words of the query. Words and runs are little-endian uint32; a run is its length * 16 + its field.
    pub fn read(words: &[u8], runs: &[u8], slots: &[Slot]) -> Result<Self, BadSequence> {
        let first_run = numbers(runs).next().unwrap_or(PARAGRAPH);
        let title_words = if first_run & 15 == TITLE {
            (first_run >> 4) as usize
        } else {
            0
        };
        let title = numbers(words).take(title_words.min(LONGEST_TITLE));
        let mut page = Self {
            length: words.len() / 4,
            title_length: title.filter(|&word| word < FIRST_STOP_CODE).count(),
            occurrences: Vec::new(),
        };
        let mut cursor = RunCursor::new(runs);
        let wanted: Vec<(u32, usize)> = slots
            .iter()
            .enumerate()
            .flat_map(|(slot, one)| one.words.iter().map(move |&word| (word, slot)))
            .collect();
        let (blocks, rest) = words.as_chunks::<{ 4 * BLOCK }>();
        for (number, block) in blocks.iter().enumerate() {
            let codes = unpack(block);
            if wanted.iter().any(|&(word, _)| holds(&codes, word)) {
                page.add_occurrences(block, number * BLOCK, &wanted, &mut cursor)?;
            }
        }
        page.add_occurrences(rest, blocks.len() * BLOCK, &wanted, &mut cursor)?;
        Ok(page)
    }

    fn add_occurrences(
        &mut self,
        chunk: &[u8],
        start: usize,
        wanted: &[(u32, usize)],
        cursor: &mut RunCursor,
    ) -> Result<(), BadSequence> {
        for (offset, word) in numbers(chunk).enumerate() {
            if let Some(&(_, slot)) = wanted.iter().find(|&&(one, _)| one == word) {
                let position = start + offset;
                cursor.move_to(position)?;
                self.occurrences.push(Occurrence {
                    position,
                    slot,
                    field: cursor.field,
                    run: cursor.run,
                    words_before: position - cursor.start,
                    run_length: cursor.length,
                });
            }
        }
        Ok(())
    }
}

fn numbers(packed: &[u8]) -> impl Iterator<Item = u32> + '_ {
    packed.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes))
}

fn unpack(block: &[u8; 4 * BLOCK]) -> [u32; BLOCK] {
    let mut codes = [0; BLOCK];
    codes
        .iter_mut()
        .zip(numbers(block))
        .for_each(|(place, code)| *place = code);
    codes
}

/// Whether a word is in a block; without an early end, so that the compiler compares several words at once.
fn holds(block: &[u32; BLOCK], wanted: u32) -> bool {
    block.iter().fold(0, |found, &word| found | u32::from(word == wanted)) != 0
}

/// Count a number in packed numbers.
pub fn count_of(packed: &[u8], wanted: u32) -> usize {
    numbers(packed).filter(|&number| number == wanted).count()
}

/// The run that holds a position; positions only increase.
struct RunCursor<'a> {
    runs: &'a [u8],
    run: usize,
    start: usize, // position of the first word of the run
    length: usize,
    field: u32,
}

impl<'a> RunCursor<'a> {
    fn new(runs: &'a [u8]) -> Self {
        let mut cursor = Self {
            runs,
            run: 0,
            start: 0,
            length: 0,
            field: PARAGRAPH,
        };
        cursor.read();
        cursor
    }

    fn read(&mut self) -> bool {
        let Some(packed) = numbers(self.runs.get(4 * self.run..).unwrap_or(&[])).next() else {
            return false;
        };
        (self.length, self.field) = ((packed >> 4) as usize, packed & 15);
        true
    }

    fn move_to(&mut self, position: usize) -> Result<(), BadSequence> {
        while position >= self.start + self.length {
            self.start += self.length;
            self.length = 0;
            self.run += 1;
            if !self.read() {
                return Err(BadSequence);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn pack(values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    pub fn slot(words: &[u32]) -> Slot {
        Slot {
            words: words.to_vec(),
            anchor_codes: vec![],
            idf: 1.0,
        }
    }

    #[test]
    fn occurrences_know_their_runs() {
        let words = pack(&[5, FIRST_STOP_CODE, 6, 7, 5, 8]);
        let runs = pack(&[2 * 16 + TITLE, PARAGRAPH, 4 * 16 + PARAGRAPH]);
        let page = PageWords::read(&words, &runs, &[slot(&[9, 5]), slot(&[7])]).unwrap();
        let found: Vec<_> = page
            .occurrences
            .iter()
            .map(|one| (one.position, one.slot, one.run, one.words_before))
            .collect();
        assert_eq!(found, [(0, 0, 0, 0), (3, 1, 2, 1), (4, 0, 2, 2)]);
        assert_eq!((page.length, page.title_length), (6, 1));
    }

    #[test]
    fn runs_that_end_too_early_are_reported() {
        assert!(PageWords::read(&pack(&[1, 2, 3]), &pack(&[2 * 16 + PARAGRAPH]), &[slot(&[3])]).is_err());
    }
}
