//! The WordIDs of a query, found quickly among the words of pages.

use super::occurrences::Slot;

pub const BLOCK: usize = 8; // words compared at once; most blocks have no word of the query
const FEW_WORDS: usize = 8; // up to here, comparing is faster than a filter
const FILTER_SIZE: usize = 1 << 13; // bytes: it stays in the fastest cache

/// The WordIDs of all slots.
pub struct WantedWords {
    slots: Vec<(u32, usize)>,                 // slot of each WordID, by WordID
    filter: Option<Box<[bool; FILTER_SIZE]>>, // of many words: which low bits they have
}

impl WantedWords {
    pub fn new(slots: &[Slot]) -> Self {
        let words =
            |(slot, one): (usize, &Slot)| -> Vec<(u32, usize)> { one.words.iter().map(|&word| (word, slot)).collect() };
        let mut slots: Vec<(u32, usize)> = slots.iter().enumerate().flat_map(words).collect();
        slots.sort_unstable();
        slots.dedup_by_key(|&mut (word, _)| word);
        let filter = (slots.len() > FEW_WORDS).then(|| {
            let mut filter = Box::new([false; FILTER_SIZE]);
            slots
                .iter()
                .for_each(|&(word, _)| filter[word as usize % FILTER_SIZE] = true);
            filter
        });
        Self { slots, filter }
    }

    /// Whether a block may hold a wanted word.
    pub fn may_be_in(&self, block: &[u32; BLOCK]) -> bool {
        match &self.filter {
            Some(filter) => block
                .iter()
                .fold(false, |found, &word| found | filter[word as usize % FILTER_SIZE]),
            None => self.slots.iter().any(|&(word, _)| holds(block, word)),
        }
    }

    /// Return the slot of a word.
    pub fn slot(&self, word: u32) -> Option<usize> {
        if let Some(filter) = &self.filter
            && !filter[word as usize % FILTER_SIZE]
        {
            return None;
        }
        let number = self.slots.binary_search_by_key(&word, |&(wanted, _)| wanted).ok()?;
        Some(self.slots[number].1)
    }
}

/// Whether a word is in a block; without an early end, so that the compiler compares several words at once.
fn holds(block: &[u32; BLOCK], wanted: u32) -> bool {
    block.iter().fold(0, |found, &word| found | u32::from(word == wanted)) != 0
}

#[cfg(test)]
mod tests {
    use super::super::occurrences::tests::slot;
    use super::*;

    #[test]
    fn few_and_many_words_are_found() {
        for count in [2, 40] {
            let numbers: Vec<u32> = (0..count).map(|number| 100 + 7 * number).collect();
            let wanted = WantedWords::new(&[slot(&[5]), slot(&numbers)]);
            assert!(wanted.may_be_in(&[1, 1, 1, 107, 1, 1, 1, 1]));
            assert!(!wanted.may_be_in(&[1; BLOCK]));
            assert_eq!(
                (wanted.slot(5), wanted.slot(107), wanted.slot(108)),
                (Some(0), Some(1), None)
            );
        }
    }
}
