//! The scores of candidates and their parts, each between 0 and 1, as `search/rank.py` defines them.
//!
//! Sums run in the same order as there, so that both ways give the same digits.

use super::occurrences::{H6, PageWords, Slot, TITLE, count_of};

const SECONDS_OF_A_YEAR: f64 = 86_400.0 * 365.25;

/// Weights of the parts and inside them, in the order of `RankWeights`.
#[derive(Clone, Copy)]
pub struct Weights {
    pub proximity: f64,
    pub titles: f64,
    pub anchors: f64,
    pub pagerank: f64,
    pub url: f64,
    pub freshness: f64,
    pub saturation: f64,
    pub length: f64,
    pub title: f64,
    pub heading: f64,
    pub nearness: f64,
    pub anchor_saturation: f64,
    pub anchor_length: f64,
}

/// The facts about a candidate besides its words.
#[derive(Clone, Copy)]
pub struct Signals<'a> {
    pub anchor_terms: &'a [u8], // codes of the terms of its anchor texts
    pub pagerank: f64,
    pub steps: f64,   // depth of the URL
    pub changed: f64, // Unix time
}

/// The words of the query, and what else all candidates share.
pub struct Scale<'a> {
    pub slots: &'a [Slot],
    pub weights: Weights,
    pub average_length: f64, // of all pages, in words
    pub now: f64,
    idf_sum: f64,
}

pub const PARTS: usize = 7; // text, proximity, title, anchors, pagerank, url, freshness

impl<'a> Scale<'a> {
    pub fn new(slots: &'a [Slot], weights: Weights, average_length: f64, now: f64) -> Self {
        let idf_sum = slots.iter().fold(0.0, |sum, slot| sum + slot.idf);
        Self {
            slots,
            weights,
            average_length,
            now,
            idf_sum,
        }
    }

    /// Return the parts of a score; `text` stands for the text of queries without words.
    pub fn parts(&self, page: &PageWords, signals: &Signals, text: f64) -> [f64; PARTS] {
        let age = (self.now - signals.changed).max(0.0) / SECONDS_OF_A_YEAR;
        let has_words = !self.slots.is_empty();
        [
            if has_words { self.text(page) } else { text },
            if self.slots.len() > 1 {
                self.proximity(page)
            } else {
                0.0
            },
            if has_words { self.title(page) } else { 0.0 },
            if has_words {
                self.anchors(signals.anchor_terms)
            } else {
                0.0
            },
            signals.pagerank,
            1.0 / (1.0 + signals.steps),
            1.0 / (1.0 + age),
        ]
    }

    /// Return the score that these parts give.
    pub fn score(&self, parts: &[f64; PARTS]) -> f64 {
        let Weights {
            proximity,
            titles,
            anchors,
            pagerank,
            url,
            freshness,
            ..
        } = self.weights;
        let weights = [1.0, proximity, titles, anchors, pagerank, url, freshness];
        weights
            .iter()
            .zip(parts)
            .fold(0.0, |sum, (weight, part)| sum + weight * part)
    }

    /// Sum the values of the slots by their inverse document frequency, relative to the highest possible sum.
    fn share_of_query(&self, value: impl Fn(usize) -> f64) -> f64 {
        self.slots
            .iter()
            .enumerate()
            .fold(0.0, |sum, (slot, one)| sum + value(slot) * one.idf)
            / self.idf_sum
    }

    /// BM25F over title, headings and text.
    fn text(&self, page: &PageWords) -> f64 {
        let weights = &self.weights;
        let long = 1.0 - weights.length + weights.length * page.length as f64 / self.average_length.max(1.0);
        let mut frequency = vec![0.0; self.slots.len()];
        for one in &page.occurrences {
            frequency[one.slot] += match one.field {
                TITLE => weights.title,
                field if field <= H6 => weights.heading / long,
                _ => 1.0 / long,
            };
        }
        self.share_of_query(|slot| frequency[slot] / (weights.saturation + frequency[slot]))
    }

    /// How close neighbouring occurrences of different words are (Rasolofo and Savoy 2003).
    fn proximity(&self, page: &PageWords) -> f64 {
        let (mut left, mut right) = (vec![0.0; self.slots.len()], vec![0.0; self.slots.len()]);
        for pair in page.occurrences.windows(2) {
            if pair[0].slot != pair[1].slot {
                let distance = pair[1].position - pair[0].position;
                let pull = 1.0 / (distance * distance) as f64;
                left[pair[0].slot] += pull;
                right[pair[1].slot] += pull;
            }
        }
        self.share_of_query(|slot| {
            let pulled = left[slot] + right[slot];
            pulled / (self.weights.nearness + pulled)
        })
    }

    /// The share of the query in the title times the share of the title in the query, squared.
    fn title(&self, page: &PageWords) -> f64 {
        let mut counts = vec![0.0_f64; self.slots.len()];
        for one in page.occurrences.iter().filter(|one| one.field == TITLE) {
            counts[one.slot] += 1.0;
        }
        let question_share = self.share_of_query(|slot| counts[slot].min(1.0));
        let title_share = counts.iter().sum::<f64>() / page.title_length.max(1) as f64;
        let both = question_share * title_share.min(1.0);
        both * both
    }

    /// BM25 over the anchor texts.
    fn anchors(&self, anchor_terms: &[u8]) -> f64 {
        let weights = &self.weights;
        let length = (anchor_terms.len() / 4) as f64;
        let long = 1.0 - weights.length + weights.length * length / weights.anchor_length;
        self.share_of_query(|slot| {
            let codes = self.slots[slot].anchor_codes.iter();
            let frequency = codes.map(|&code| count_of(anchor_terms, code)).sum::<usize>() as f64 / long;
            frequency / (weights.anchor_saturation + frequency)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::occurrences::PARAGRAPH;
    use super::super::occurrences::tests::{pack, slot};
    use super::*;

    const WEIGHTS: Weights = Weights {
        proximity: 0.2,
        titles: 1.4,
        anchors: 0.8,
        pagerank: 0.1,
        url: 0.02,
        freshness: 0.01,
        saturation: 2.0,
        length: 0.7,
        title: 3.0,
        heading: 1.0,
        nearness: 1.0,
        anchor_saturation: 0.8,
        anchor_length: 32.0,
    };

    #[test]
    fn a_title_that_is_the_query_has_the_highest_part() {
        let slots = [slot(&[1]), slot(&[2])];
        let page = PageWords::read(&pack(&[1, 2, 3]), &pack(&[2 * 16 + TITLE, 16 + PARAGRAPH]), &slots).unwrap();
        let scale = Scale::new(&slots, WEIGHTS, 3.0, 0.0);
        let signals = Signals {
            anchor_terms: &[],
            pagerank: 0.5,
            steps: 1.0,
            changed: 9.0,
        };
        let parts = scale.parts(&page, &signals, 0.0);
        assert_eq!(parts, [0.6, 0.5, 1.0, 0.0, 0.5, 0.5, 1.0]);
        assert!((scale.score(&parts) - 2.17).abs() < 1e-12);
    }
}
