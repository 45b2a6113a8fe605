//! Snippets: the part of each page that shows why it matches, with its marks.
//!
//! The same steps as `search/snippet.py`, over the pages of one answer: unpacked text → runs → text of the window →
//! matches → HTML. Python analyses the few words that begin like a word of the query. A page is "not sure" if its text
//! is damaged or has a character whose nature the kernel does not know; Python renders it then.

mod accents;
mod characters;
mod html;
mod matches;
mod runs;
mod window;

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};

use crate::border;
use html::{render_beginning, render_matches};
use matches::{Match, MatchFinder, QueryWords, WordAnalysis};
use runs::Runs;
use window::window_text;

const SNIPPET_LENGTH: usize = 240; // characters of a snippet: two to three lines

/// Python must render this page.
#[derive(Debug)]
pub struct NotSure;

/// Why a page has no snippet yet.
pub enum Failure {
    NotSure,
    Python(PyErr), // the analysis of a word failed
}

impl From<NotSure> for Failure {
    fn from(_: NotSure) -> Self {
        Self::NotSure
    }
}

/// A part of a page, given by its runs.
pub struct Window {
    first_run: usize,
    words_before: usize, // words of the first run before the window
    run_length: usize,   // words of the first run
    last_run: usize,
}

type Page = (
    PyBackedBytes,
    Option<(usize, usize, usize, usize)>,
    PyBackedStr,
    PyBackedStr,
);

/// Asks Python for the matches in a word.
struct PythonAnalysis<'a> {
    call: &'a Py<PyAny>,
}

impl WordAnalysis for PythonAnalysis<'_> {
    fn word_matches(&mut self, word: &str, language: &str) -> Result<Vec<Match>, Failure> {
        let found: PyResult<Vec<(usize, usize, usize)>> =
            Python::attach(|py| self.call.bind(py).call1((word, language))?.extract());
        let found = found.map_err(Failure::Python)?;
        Ok(found
            .into_iter()
            .map(|(start, end, slot)| Match { start, end, slot })
            .collect())
    }
}

/// Return the snippet of each page; None where Python must render it.
///
/// A page has its unpacked text, its window, its language and its description.
#[pyfunction]
fn render_snippets(
    py: Python<'_>,
    pages: Vec<Page>,
    prefixes: Vec<String>,
    bigrams: Vec<(String, usize)>,
    anywhere_languages: Vec<String>,
    word_matches: Py<PyAny>,
) -> PyResult<Vec<Option<String>>> {
    let words = QueryWords {
        prefixes,
        bigrams: bigrams
            .iter()
            .map(|(term, slot)| (term.chars().collect(), *slot))
            .collect(),
        anywhere_languages,
    };
    border::run(py, || {
        let mut finder = MatchFinder::new(&words, PythonAnalysis { call: &word_matches });
        pages
            .iter()
            .map(|page| match render_page(page, &mut finder) {
                Ok(snippet) => Ok(Some(snippet)),
                Err(Failure::NotSure) => Ok(None),
                Err(Failure::Python(error)) => Err(error),
            })
            .collect()
    })?
}

fn render_page<Analysis: WordAnalysis>(
    (text, window, language, description): &Page,
    finder: &mut MatchFinder<Analysis>,
) -> Result<String, Failure> {
    let runs = Runs::read(text)?;
    if let Some((first_run, words_before, run_length, last_run)) = *window {
        let window = Window {
            first_run,
            words_before,
            run_length,
            last_run,
        };
        let text = window_text(&runs, &window)?;
        let matches = finder.find(&text, language)?;
        if !matches.is_empty() {
            return Ok(render_matches(&text, &matches)?);
        }
    }
    let beginning = if description.is_empty() {
        runs.first_prose()?
    } else {
        description
    };
    Ok(render_beginning(beginning)?)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(render_snippets, module)?)
}
