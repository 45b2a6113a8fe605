//! A page as numbers of pieces, and the terms and words of its document.

use super::cut::cut;
use super::pieces::Pieces;
use super::runs::{Run, TITLE};

const RUN_END: u32 = u32::MAX;
const FIELD_BITS: u32 = 4; // of `Document.runs`: number of words * 16 + field

/// A page of a batch: the numbers of its pieces, with RUN_END after each run.
pub struct Draft {
    fields: Vec<u8>,
    numbers: Vec<u32>,
}

impl Draft {
    /// Cut the runs of a page; `on_piece` returns the number of a piece.
    pub fn new(runs: &[Run<'_>], mut on_piece: impl FnMut(&[u8]) -> u32) -> Self {
        let mut numbers = Vec::new();
        let mut buffer = Vec::new();
        for run in runs {
            cut(run.text, &mut buffer, |piece| numbers.push(on_piece(piece)));
            numbers.push(RUN_END);
        }
        Self {
            fields: runs.iter().map(|run| run.field).collect(),
            numbers,
        }
    }

    /// Return the document of this page; Python has analysed all its pieces.
    pub fn document(&self, pieces: &Pieces) -> Document {
        let mut document = Document::default();
        let mut runs = self.numbers.split(|&number| number == RUN_END);
        for &field in &self.fields {
            document.add_run(field, runs.next().unwrap_or_default(), pieces);
        }
        document
    }
}

/// The terms and words of a page.
#[derive(Default)]
pub struct Document {
    terms: String,
    runs: Vec<(u8, std::ops::Range<usize>)>, // field and terms of each run
    pub words: Vec<u8>,                      // uint32, little-endian
    pub counts: Vec<u8>,                     // uint32, little-endian: words and field of each run
}

impl Document {
    fn add_run(&mut self, field: u8, numbers: &[u32], pieces: &Pieces) {
        let (start, words) = (self.terms.len(), self.words.len());
        for &number in numbers {
            let piece = pieces.get(number);
            self.terms.push_str(&piece.terms);
            self.terms.push(' ');
            piece
                .codes
                .iter()
                .for_each(|code| self.words.extend(code.to_le_bytes()));
        }
        let run = &self.terms[start..];
        let blanks = run.len() - run.trim_start_matches(' ').len();
        let end = start + run.trim_end_matches(' ').len();
        self.runs.push((field, (start + blanks).min(end)..end));
        let count = ((self.words.len() - words) / 4) as u32;
        self.counts
            .extend((count << FIELD_BITS | u32::from(field)).to_le_bytes());
    }

    fn texts(&self, wanted: impl Fn(u8) -> bool) -> Vec<&str> {
        let runs = self.runs.iter().filter(|(field, _)| wanted(*field));
        runs.map(|(_, range)| &self.terms[range.clone()]).collect()
    }

    pub fn title(&self) -> String {
        self.texts(|field| field == TITLE).join(" ")
    }

    pub fn body(&self) -> Vec<&str> {
        self.texts(|field| field != TITLE)
    }

    pub fn headings(&self) -> Vec<&str> {
        self.texts(Run::is_heading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_the_terms_and_codes_of_its_pieces() {
        let mut pieces = Pieces::default();
        let runs = [
            Run { field: 0, text: "Eggs" },
            Run {
                field: 2,
                text: "… eggs … eggs",
            },
            Run { field: 7, text: "" },
        ];
        let draft = Draft::new(&runs, |piece| pieces.number(piece).0);
        let egg = pieces.get_mut(0);
        egg.terms = "egg".into();
        egg.codes = [5].into();
        let document = draft.document(&pieces);
        assert_eq!(document.title(), "egg");
        assert_eq!(document.body(), ["egg  egg", ""]);
        assert_eq!(document.headings(), ["egg  egg"]);
        assert_eq!(document.words, [5, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0]);
        assert_eq!(document.counts, [16, 0, 0, 0, 34, 0, 0, 0, 7, 0, 0, 0]);
    }
}
