//! The table of pieces of one language, as Python sees it.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::document::Draft;
use super::pieces::Pieces;
use super::runs::indexed_runs;
use crate::border;
use crate::columns::integers;

const LINE_END: char = '\n';

/// Pieces with the number of documents that hold them: texts joined by spaces, terms by line ends, counts as uint32.
type PieceCounts<'py> = (Bound<'py, PyBytes>, String, Bound<'py, PyBytes>);

/// Title, body, headings, words and runs of a `Document`.
type DocumentColumns<'py> = (
    String,
    Bound<'py, PyTuple>,
    Bound<'py, PyTuple>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
);

/// The pieces of one language. A batch: `draft` each page, `learn` the `new_pieces`, take each `document`, `end_batch`.
#[pyclass]
#[derive(Default)]
pub struct PieceTable {
    pieces: Pieces,
    drafts: Vec<Draft>,
    batch: Vec<u32>, // new pieces of this batch
    kept: Vec<u32>,  // new pieces since the last `take_counts`
    documents: u64,
}

#[pymethods]
impl PieceTable {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Cut the text of a page and count it `weight` times; return the number of its draft.
    ///
    /// None: the bytes are not what a parser writes.
    fn draft(&mut self, py: Python<'_>, text: &[u8], weight: u32) -> PyResult<Option<usize>> {
        border::run(py, || {
            let runs = indexed_runs(text)?;
            self.documents += 1;
            let Self {
                pieces,
                batch,
                documents,
                ..
            } = self;
            let draft = Draft::new(&runs, |piece| {
                let (number, is_new) = pieces.number(piece);
                if is_new {
                    batch.push(number);
                }
                if weight > 0 {
                    pieces.count(number, *documents, weight);
                }
                number
            });
            self.drafts.push(draft);
            Some(self.drafts.len() - 1)
        })
    }

    /// Return the new pieces of this batch, joined by spaces.
    fn new_pieces<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.join_texts(py, &self.batch)
    }

    /// Take the words of all new pieces: their terms, joined by line ends; numbers of words; codes of the words.
    fn learn(&mut self, terms: &str, counts: &[u8], codes: &[u8]) -> PyResult<()> {
        let mut codes = integers(codes);
        let mut counts = integers(counts);
        let mut terms = terms.split(LINE_END);
        for &number in &self.batch {
            let (Some(terms), Some(count)) = (terms.next(), counts.next()) else {
                return Err(PyValueError::new_err("a new piece has no words"));
            };
            let piece = self.pieces.get_mut(number);
            piece.terms = terms.into();
            piece.codes = codes.by_ref().take(count as usize).collect();
        }
        Ok(())
    }

    /// Return title, body, headings, words and runs of the document of a draft.
    fn document<'py>(&self, py: Python<'py>, draft: usize) -> PyResult<DocumentColumns<'py>> {
        let draft = self
            .drafts
            .get(draft)
            .ok_or_else(|| PyValueError::new_err("no such draft"))?;
        let document = border::run(py, || draft.document(&self.pieces))?;
        Ok((
            document.title(),
            PyTuple::new(py, document.body())?,
            PyTuple::new(py, document.headings())?,
            PyBytes::new(py, &document.words),
            PyBytes::new(py, &document.counts),
        ))
    }

    /// Forget the drafts and all pieces longer than `longest` bytes; return these with their counts.
    fn end_batch<'py>(&mut self, py: Python<'py>, longest: usize) -> PieceCounts<'py> {
        self.drafts.clear();
        let mut long = Vec::new();
        for number in std::mem::take(&mut self.batch) {
            let piece = self.pieces.get_mut(number);
            piece.documents = piece.documents.max(1);
            let group = if piece.text.len() > longest {
                &mut long
            } else {
                &mut self.kept
            };
            group.push(number);
        }
        let counts = self.take_pieces(py, &long);
        long.into_iter().for_each(|number| self.pieces.drop_piece(number));
        counts
    }

    /// Return the pieces with their counts since the last call: all counted ones, or only the new ones.
    fn take_counts<'py>(&mut self, py: Python<'py>, everything: bool) -> PieceCounts<'py> {
        let new = std::mem::take(&mut self.kept);
        let numbers = if everything { self.pieces.counted() } else { new };
        self.take_pieces(py, &numbers)
    }
}

impl PieceTable {
    fn join_texts<'py>(&self, py: Python<'py>, numbers: &[u32]) -> Bound<'py, PyBytes> {
        let texts: Vec<&[u8]> = numbers.iter().map(|&number| &*self.pieces.get(number).text).collect();
        PyBytes::new(py, &texts.join(&b' '))
    }

    fn take_pieces<'py>(&mut self, py: Python<'py>, numbers: &[u32]) -> PieceCounts<'py> {
        let texts = self.join_texts(py, numbers);
        let mut terms = String::new();
        let mut counts = Vec::with_capacity(4 * numbers.len());
        for &number in numbers {
            let piece = self.pieces.get_mut(number);
            if !counts.is_empty() {
                terms.push(LINE_END);
            }
            terms.push_str(&piece.terms);
            counts.extend(std::mem::take(&mut piece.documents).to_le_bytes());
        }
        (texts, terms, PyBytes::new(py, &counts))
    }
}
