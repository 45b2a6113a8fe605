//! The pieces of texts in one language: each has a number, its terms, the codes of its words and a count of documents.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// A piece of text.
#[derive(Default)]
pub struct Piece {
    pub text: Box<[u8]>,
    pub terms: Box<str>, // joined by spaces
    pub codes: Box<[u32]>,
    pub documents: u32, // that hold it, since they were last taken
    seen_in: u64,       // the last document that counted it
}

/// All pieces, found by their text. Numbers of dropped pieces are used again.
#[derive(Default)]
pub struct Pieces {
    numbers: HashTable<u32>,
    pieces: Vec<Piece>,
    free: Vec<u32>,
    hasher: DefaultHashBuilder, // with a random seed, because pages choose the pieces
}

impl Pieces {
    /// Return the number of a piece, and whether it is new.
    pub fn number(&mut self, text: &[u8]) -> (u32, bool) {
        let Self {
            numbers,
            pieces,
            free,
            hasher,
        } = self;
        let hash = hasher.hash_one(text);
        if let Some(&number) = numbers.find(hash, |&number| *pieces[number as usize].text == *text) {
            return (number, false);
        }
        let piece = Piece {
            text: text.into(),
            ..Piece::default()
        };
        let number = match free.pop() {
            Some(number) => {
                pieces[number as usize] = piece;
                number
            }
            None => {
                pieces.push(piece);
                (pieces.len() - 1) as u32
            }
        };
        numbers.insert_unique(hash, number, |&number| hasher.hash_one(&*pieces[number as usize].text));
        (number, true)
    }

    pub fn get(&self, number: u32) -> &Piece {
        &self.pieces[number as usize]
    }

    pub fn get_mut(&mut self, number: u32) -> &mut Piece {
        &mut self.pieces[number as usize]
    }

    /// Forget a piece.
    pub fn drop_piece(&mut self, number: u32) {
        let piece = std::mem::take(&mut self.pieces[number as usize]);
        let hash = self.hasher.hash_one(&*piece.text);
        if let Ok(entry) = self.numbers.find_entry(hash, |&other| other == number) {
            entry.remove();
        }
        self.free.push(number);
    }

    /// Count a document for a piece, unless this document has counted already.
    pub fn count(&mut self, number: u32, document: u64, weight: u32) {
        let piece = self.get_mut(number);
        if piece.seen_in != document {
            piece.seen_in = document;
            piece.documents = piece.documents.saturating_add(weight);
        }
    }

    /// Return the numbers of all pieces that documents were counted for.
    pub fn counted(&self) -> Vec<u32> {
        let numbers = 0..self.pieces.len() as u32;
        numbers.filter(|&number| self.get(number).documents > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_piece_leaves_its_number_to_the_next() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.number(b"egg"), (0, true));
        assert_eq!(pieces.number(b"spam"), (1, true));
        pieces.drop_piece(0);
        assert_eq!(pieces.number(b"ham"), (0, true));
        assert_eq!(pieces.number(b"egg"), (2, true));
        assert_eq!(pieces.number(b"spam"), (1, false));
    }

    #[test]
    fn a_document_counts_once() {
        let mut pieces = Pieces::default();
        let (egg, _) = pieces.number(b"egg");
        pieces.number(b"spam");
        for document in [1, 1, 2] {
            pieces.count(egg, document, 8);
        }
        assert_eq!(pieces.get(egg).documents, 16);
        assert_eq!(pieces.counted(), [egg]);
    }
}
