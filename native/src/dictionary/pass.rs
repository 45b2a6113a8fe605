//! One pass over all documents for some words, as Python sees it.

use std::fmt::Write;

use hashbrown::HashMap;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::postings::{Occurrence, Postings};
use crate::border;
use crate::columns::integers;

const FIELD_BITS: u32 = 4;
const MOST_TEXT_BYTES: usize = 4 << 20; // of positions in one chunk of rows; one row can have more
const ROW_END: char = '\n';

/// Word (by its index), documents with it, document (by its index) and occurrences of each row as uint32; then
/// positions and fields, separated by blanks, with line ends between rows.
type Rows<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    String,
    String,
);

/// The occurrences of some words. Python adds all documents, then takes the rows until there are none.
#[pyclass]
pub struct DictionaryPass {
    word_of_code: HashMap<u32, u32>,
    field_names: Vec<String>,
    postings: Vec<Postings>, // by word
    documents: u32,
    next: (usize, usize), // word and place in its postings where the next row is
}

#[pymethods]
impl DictionaryPass {
    /// `codes` are uint32, in the order of `words`, which are the indexes of their words (uint32).
    #[new]
    fn new(codes: &[u8], words: &[u8], field_names: Vec<String>) -> Self {
        let word_of_code: HashMap<u32, u32> = integers(codes).zip(integers(words)).collect();
        let word_count = word_of_code.values().map(|&word| word as usize + 1).max().unwrap_or(0);
        let mut postings = Vec::new();
        postings.resize_with(word_count, Postings::default);
        Self {
            word_of_code,
            field_names,
            postings,
            documents: 0,
            next: (0, 0),
        }
    }

    /// Add the next document: the codes of its words, and its runs, as in `Document`.
    fn add(&mut self, py: Python<'_>, words: &[u8], runs: &[u8]) -> PyResult<()> {
        border::run(py, || self.add_document(words, runs))
    }

    /// Return the next rows, at most `limit`; none are left when all columns are empty.
    fn take_rows<'py>(&mut self, py: Python<'py>, limit: usize) -> PyResult<Rows<'py>> {
        let chunk = border::run(py, || self.next_chunk(limit))?;
        let [words, frequencies, documents, counts] = chunk.numbers.map(|column| PyBytes::new(py, &column));
        Ok((words, frequencies, documents, counts, chunk.positions, chunk.fields))
    }
}

impl DictionaryPass {
    fn add_document(&mut self, words: &[u8], runs: &[u8]) {
        let mut found: Vec<(u32, Occurrence)> = Vec::new();
        let mut words = integers(words);
        let mut position = 0;
        for run in integers(runs) {
            let field = (run & ((1 << FIELD_BITS) - 1)) as u8;
            for code in words.by_ref().take((run >> FIELD_BITS) as usize) {
                if let Some(&word) = self.word_of_code.get(&code) {
                    found.push((word, Occurrence { position, field }));
                }
                position += 1;
            }
        }
        found.sort_by_key(|&(word, _)| word); // stable: positions stay in order
        for group in found.chunk_by(|(one, _), (other, _)| one == other) {
            let occurrences = group.iter().map(|&(_, occurrence)| occurrence);
            self.postings[group[0].0 as usize].add(self.documents, occurrences);
        }
        self.documents += 1;
    }

    fn next_chunk(&mut self, limit: usize) -> Chunk {
        let mut chunk = Chunk::default();
        let (mut word, mut at) = self.next;
        while chunk.rows < limit && chunk.positions.len() < MOST_TEXT_BYTES && word < self.postings.len() {
            let postings = &self.postings[word];
            let mut reader = postings.read(at);
            let Some((document, count)) = reader.document() else {
                self.postings[word] = Postings::default(); // frees its memory
                (word, at) = (word + 1, 0);
                continue;
            };
            chunk.begin_row([word as u32, postings.documents, document, count]);
            let mut last = 0;
            for number in 0..count {
                let Occurrence { position, field } = reader.occurrence(last);
                chunk.add(position, &self.field_names[usize::from(field)], number == 0);
                last = position;
            }
            at = reader.at;
        }
        self.next = (word, at);
        chunk
    }
}

/// Some rows of the dictionary.
#[derive(Default)]
struct Chunk {
    rows: usize,
    numbers: [Vec<u8>; 4],
    positions: String,
    fields: String,
}

impl Chunk {
    fn begin_row(&mut self, numbers: [u32; 4]) {
        for (column, number) in self.numbers.iter_mut().zip(numbers) {
            column.extend(number.to_le_bytes());
        }
        if self.rows > 0 {
            self.positions.push(ROW_END);
            self.fields.push(ROW_END);
        }
        self.rows += 1;
    }

    fn add(&mut self, position: u32, field: &str, is_first: bool) {
        if !is_first {
            self.positions.push(' ');
            self.fields.push(' ');
        }
        // Writing to a String cannot fail.
        let _ = write!(self.positions, "{position}");
        self.fields.push_str(field);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    #[test]
    fn rows_come_word_by_word() {
        let names = ["title", "h1"].map(String::from).to_vec();
        let mut pass = DictionaryPass::new(&column(&[5, 9, 11]), &column(&[0, 1, 0]), names);
        pass.add_document(&column(&[9, 5, 7]), &column(&[1 << 4, 2 << 4 | 1]));
        pass.add_document(&column(&[7]), &column(&[1 << 4]));
        pass.add_document(&column(&[5, 11]), &column(&[2 << 4]));
        let first = pass.next_chunk(2);
        assert_eq!(
            first.numbers,
            [column(&[0, 0]), column(&[2, 2]), column(&[0, 2]), column(&[1, 2])]
        );
        assert_eq!(
            (first.positions.as_str(), first.fields.as_str()),
            ("1\n0 1", "h1\ntitle title")
        );
        let second = pass.next_chunk(2);
        assert_eq!(second.numbers, [column(&[1]), column(&[1]), column(&[0]), column(&[1])]);
        assert_eq!(pass.next_chunk(2).rows, 0);
    }
}
