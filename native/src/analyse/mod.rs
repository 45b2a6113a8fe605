//! Text by field -> terms, word numbers and positions, as `gossamer.index.analyze` defines them.
//!
//! The kernel cuts texts into pieces and looks each piece up. Python analyses a new piece once, so one definition of
//! words serves both ways: the kernel knows nothing of stems, stop words or scripts.

mod cut;
mod document;
mod pieces;
mod runs;
mod sample;
mod table;

use pyo3::prelude::*;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<table::PieceTable>()?;
    module.add_function(wrap_pyfunction!(sample::sample_text, module)?)
}
