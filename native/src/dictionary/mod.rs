//! The words of documents -> the documents of words, for the export of the whole dictionary.
//!
//! One pass collects the occurrences of some words in all documents, packed into a few bytes each. Then it gives them
//! back word by word, in chunks of rows.

mod pass;
mod postings;

use pyo3::prelude::*;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<pass::DictionaryPass>()
}
