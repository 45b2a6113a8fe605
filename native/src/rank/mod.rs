//! The second pass: score the best matches of the first again, from their words in order, and find their windows.
//!
//! The same parts as `search/rank.py` and the same windows as `search/window.py`, to the last digit.

mod occurrences;
mod order;
mod score;
mod wanted;
mod window;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::border;
use occurrences::{BadSequence, PageWords, Slot};
use order::{Candidate, order};
use score::{PARTS, Scale, Signals, Weights};
use wanted::WantedWords;
use window::find_window;

type Sequence = (PyBackedBytes, PyBackedBytes); // words and runs
type SlotColumns = (Vec<u32>, Vec<u32>, f64); // WordIDs, codes in anchor texts, inverse document frequency

/// Return the score of each candidate, then each part for all (float64); None if Python must rank them.
///
/// `signals` has the words of anchor texts, the score of the first pass, PageRank, depth of the URL and time of change.
#[pyfunction]
fn rank_candidates<'py>(
    py: Python<'py>,
    sequences: Vec<Sequence>,
    slots: Vec<SlotColumns>,
    signals: (Vec<PyBackedBytes>, [PyBackedBytes; 4]),
    weights: [f64; 13],
    average_length: f64,
    now: f64,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let slots = slots_of(slots);
    let ranked = border::run(py, || {
        let scale = Scale::new(&slots, weights_of(weights), average_length, now);
        let wanted = WantedWords::new(&slots);
        let (anchor_terms, columns) = &signals;
        let [first_pass, pagerank, steps, changed] = columns.each_ref().map(|column| floats(column));
        if [&first_pass, &pagerank, &steps, &changed]
            .iter()
            .any(|column| column.len() != sequences.len())
        {
            return Err(BadSequence);
        }
        let best = first_pass.iter().copied().fold(0.0, f64::max).max(1e-9);
        let mut scores = vec![0.0; (1 + PARTS) * sequences.len()];
        for (number, (words, runs)) in sequences.iter().enumerate() {
            let page = PageWords::read(words, runs, &wanted)?;
            let signals = Signals {
                anchor_terms: &anchor_terms[number],
                pagerank: pagerank[number],
                steps: steps[number],
                changed: changed[number],
            };
            let parts = scale.parts(&page, &signals, first_pass[number] / best);
            scores[number] = scale.score(&parts);
            for (row, part) in parts.into_iter().enumerate() {
                scores[(1 + row) * sequences.len() + number] = part;
            }
        }
        Ok(scores)
    })?;
    Ok(ranked.ok().map(|scores| {
        let scores: Vec<u8> = scores.into_iter().flat_map(f64::to_le_bytes).collect();
        PyBytes::new(py, &scores)
    }))
}

/// Return the windows (4 * int32) of pages; None if Python must find them.
#[pyfunction]
fn find_windows<'py>(
    py: Python<'py>,
    sequences: Vec<Sequence>,
    slots: Vec<SlotColumns>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let slots = slots_of(slots);
    let windows = border::run(py, || {
        let wanted = WantedWords::new(&slots);
        let window = |(words, runs): &Sequence| Ok(find_window(&PageWords::read(words, runs, &wanted)?, slots.len()));
        sequences.iter().map(window).collect::<Result<Vec<_>, BadSequence>>()
    })?;
    Ok(windows.ok().map(|windows| PyBytes::new(py, &packed(&windows))))
}

/// Return the order of candidates, best first (int64), and the factor of each score (float64).
///
/// `columns` has the scores, twin numbers, ids, hosts and whether a page has everything wanted (a byte each).
#[pyfunction]
fn order_candidates<'py>(
    py: Python<'py>,
    columns: [PyBackedBytes; 5],
    factors: Vec<f64>,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let ordered = border::run(py, || {
        let [scores, twins, ids, hosts, has_all] = columns.each_ref();
        let rows = scores
            .as_chunks()
            .0
            .iter()
            .zip(twins.as_chunks().0)
            .zip(ids.as_chunks().0);
        let rows = rows.zip(hosts.as_chunks().0).zip(has_all.iter()).enumerate();
        let candidates = rows.map(|(number, ((((score, twin), id), host), has_all))| Candidate {
            number,
            has_all: *has_all != 0,
            score: f64::from_le_bytes(*score),
            twin: u64::from_le_bytes(*twin),
            id: i64::from_le_bytes(*id),
            host: i64::from_le_bytes(*host),
        });
        order(candidates.collect(), &factors)
    })?;
    let numbers: Vec<u8> = ordered
        .iter()
        .flat_map(|(one, _)| (one.number as i64).to_le_bytes())
        .collect();
    let factors: Vec<u8> = ordered.iter().flat_map(|(_, factor)| factor.to_le_bytes()).collect();
    Ok((PyBytes::new(py, &numbers), PyBytes::new(py, &factors)))
}

fn slots_of(columns: Vec<SlotColumns>) -> Vec<Slot> {
    columns
        .into_iter()
        .map(|(words, anchor_codes, idf)| Slot {
            words,
            anchor_codes,
            idf,
        })
        .collect()
}

fn weights_of(values: [f64; 13]) -> Weights {
    let [
        proximity,
        titles,
        anchors,
        pagerank,
        url,
        freshness,
        saturation,
        length,
        title,
        heading,
        ..,
    ] = values;
    let [.., nearness, anchor_saturation, anchor_length] = values;
    Weights {
        proximity,
        titles,
        anchors,
        pagerank,
        url,
        freshness,
        saturation,
        length,
        title,
        heading,
        nearness,
        anchor_saturation,
        anchor_length,
    }
}

fn floats(packed: &[u8]) -> Vec<f64> {
    packed
        .chunks_exact(8)
        .map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap_or_default()))
        .collect()
}

fn packed(windows: &[window::Window]) -> Vec<u8> {
    windows
        .iter()
        .flatten()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(rank_candidates, module)?)?;
    module.add_function(wrap_pyfunction!(order_candidates, module)?)?;
    module.add_function(wrap_pyfunction!(find_windows, module)?)
}
