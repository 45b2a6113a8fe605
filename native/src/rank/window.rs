//! Where in a page the words of the query are closest together, as `search/window.py` defines it.

use super::occurrences::{Occurrence, PARAGRAPH, PageWords, TITLE};

const WINDOW_WORDS: usize = 40; // words of a snippet, approximately
const PROSE_BONUS: usize = 60; // words that a window may be longer in a paragraph than in a menu or a table

/// First run, words of it before the window, its length, and the last run.
pub type Window = [i32; 4];
pub const NO_WINDOW: Window = [-1; 4];

/// Return the shortest window with most words of the query, outside the title.
pub fn find_window(page: &PageWords, slots: usize) -> Window {
    let body: Vec<Occurrence> = page
        .occurrences
        .iter()
        .copied()
        .filter(|one| one.field != TITLE)
        .collect();
    let mut seen = vec![usize::MAX; slots]; // the last start whose window has each slot
    let mut best: Option<(i64, usize, usize)> = None;
    for first in 0..body.len() {
        let (last, held) = extend(&body, first, page.length, &mut seen);
        let distance = body[last].position - body[first].position;
        let prose = if body[first].field == PARAGRAPH { PROSE_BONUS } else { 0 };
        let worth = (held * (WINDOW_WORDS + PROSE_BONUS + 1) + prose) as i64 - distance as i64;
        if best.is_none_or(|(highest, ..)| worth > highest) {
            best = Some((worth, first, last));
        }
    }
    best.map_or(NO_WINDOW, |(_, first, last)| {
        let start = &body[first];
        [start.run, start.words_before, start.run_length, body[last].run].map(|number| number as i32)
    })
}

/// Return the last occurrence that adds a word to the window, and the number of different words in it.
fn extend(body: &[Occurrence], first: usize, length: usize, seen: &mut [usize]) -> (usize, usize) {
    let reach = length.min(body[first].position + WINDOW_WORDS);
    let (mut last, mut held) = (first, 0);
    for (number, one) in body.iter().enumerate().skip(first) {
        if one.position >= reach {
            break;
        }
        if seen[one.slot] != first {
            seen[one.slot] = first;
            (last, held) = (number, held + 1);
            if held == seen.len() {
                break;
            }
        }
    }
    (last, held)
}

#[cfg(test)]
mod tests {
    use super::super::occurrences::tests::{pack, slot};
    use super::super::wanted::WantedWords;
    use super::*;

    fn window(words: &[u32], runs: &[u32]) -> Window {
        let slots = [slot(&[1]), slot(&[2])];
        find_window(
            &PageWords::read(&pack(words), &pack(runs), &WantedWords::new(&slots)).unwrap(),
            slots.len(),
        )
    }

    #[test]
    fn the_window_with_both_words_wins() {
        let runs = [2 * 16 + TITLE, 3 * 16 + PARAGRAPH, 4 * 16 + PARAGRAPH];
        assert_eq!(window(&[1, 2, 1, 9, 9, 9, 1, 2, 9], &runs), [2, 1, 4, 2]);
        assert_eq!(window(&[1, 2, 9, 9, 9, 9, 9, 9, 9], &runs), NO_WINDOW);
    }
}
