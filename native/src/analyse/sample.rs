//! A sample of a page, by which Python guesses its language.

use hashbrown::HashSet;
use pyo3::prelude::*;

use super::cut::cut;
use super::runs::{Run, indexed_runs};
use crate::border;

/// The beginning of the longest run; first pieces, those among given words, and different ones of these.
type Sample = (String, usize, usize, usize);

/// Sample a page: so many characters of its longest run, and so many pieces, with a break between two runs.
///
/// `words` are words of one language with spaces between. None: the bytes are not what a parser writes.
#[pyfunction]
pub fn sample_text(
    py: Python<'_>,
    text: &[u8],
    characters: usize,
    pieces: usize,
    words: &[u8],
) -> PyResult<Option<Sample>> {
    border::run(py, || {
        let runs = indexed_runs(text)?;
        let (counted, found, different) = count_pieces(&runs, pieces, words);
        Some((
            longest_text(&runs).chars().take(characters).collect(),
            counted,
            found,
            different,
        ))
    })
}

/// Return the first of the texts with the most characters.
fn longest_text<'t>(runs: &[Run<'t>]) -> &'t str {
    let mut longest = ("", 0);
    for run in runs.iter().filter(|run| !run.text.is_empty()) {
        // A text has at most as many characters as bytes, so most texts need no count.
        if run.text.len() > longest.1 {
            let characters = run.text.chars().count();
            if characters > longest.1 {
                longest = (run.text, characters);
            }
        }
    }
    longest.0
}

/// Return how many pieces there are, up to `limit`, how many are among `words`, and how many different ones.
fn count_pieces(runs: &[Run<'_>], limit: usize, words: &[u8]) -> (usize, usize, usize) {
    let listed: HashSet<&[u8]> = words.split(|&byte| byte == b' ').collect();
    let mut different: HashSet<&[u8]> = HashSet::new();
    let (mut counted, mut found) = (0, 0);
    let mut buffer = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        counted += usize::from(number > 0 && counted < limit); // the break before this run
        if counted == limit {
            break;
        }
        cut(run.text, &mut buffer, |piece| {
            if counted < limit {
                counted += 1;
                if let Some(word) = listed.get(piece) {
                    found += 1;
                    different.insert(word);
                }
            }
        });
    }
    (counted, found, different.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNS: [Run<'_>; 3] = [
        Run {
            field: 0,
            text: "The egg",
        },
        Run {
            field: 7,
            text: "été, und the",
        },
        Run {
            field: 7,
            text: "and the egg!",
        },
    ];

    #[test]
    fn pieces_are_counted_up_to_a_limit() {
        assert_eq!(count_pieces(&RUNS, 100, b"the and "), (10, 4, 2));
        assert_eq!(count_pieces(&RUNS, 3, b"the and "), (3, 1, 1));
        assert_eq!(count_pieces(&RUNS, 7, b"the and "), (7, 2, 1));
    }

    #[test]
    fn the_longest_text_is_the_first_with_most_characters() {
        assert_eq!(longest_text(&RUNS), "été, und the");
    }
}
