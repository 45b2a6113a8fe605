//! Compiled kernels of Gossamer: pure functions over bytes, words and positions.
//!
//! Python decides, schedules, stores and serves. Its module `gossamer.kernels` is the only one that imports this crate,
//! and it uses it only if `INTERFACE` is the number it expects. Columns cross the border as a few byte strings.

mod analyse;
mod border;
mod columns;
mod dictionary;
mod msgpack;
mod rank;
mod read;
mod snippet;

use pyo3::prelude::*;

/// The version of the functions that Python calls: a change of their arguments or results raises it.
const INTERFACE: u32 = 3;

#[pymodule]
fn gossamer_native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("INTERFACE", INTERFACE)?;
    border::register(module)?;
    analyse::register(module)?;
    dictionary::register(module)?;
    rank::register(module)?;
    snippet::register(module)?;
    read::register(module)
}
