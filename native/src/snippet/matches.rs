//! Find the words of a query in a text, as `MatchFinder` in `search/snippet.py` does.
//!
//! Forms of a word share their first letters, so only words with the same first letters are analysed.

use std::collections::{BTreeMap, HashMap};

use memchr::memchr;
use memchr::memmem::Finder;

use super::characters::{comparable, is_alphanumeric, is_known, is_mark, is_unspaced, is_within_word};
use super::{Failure, NotSure};

/// The position of a query word in a text, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    pub start: usize,
    pub end: usize,
    pub slot: usize,
}

/// Tells the matches in a written word of a language, with positions relative to the word.
pub trait WordAnalysis {
    fn word_matches(&mut self, word: &str, language: &str) -> Result<Vec<Match>, Failure>;
}

/// The words of one query.
pub struct QueryWords {
    pub prefixes: Vec<String>,            // first letters of terms, comparable, in order
    pub bigrams: Vec<(Vec<char>, usize)>, // terms of scripts without spaces, and their slots
    pub anywhere_languages: Vec<String>,  // languages whose stemmer removes prefixes too
}

/// Finds the words of one query in texts, and keeps the analyses of their words.
pub struct MatchFinder<'a, Analysis> {
    words: &'a QueryWords,
    analysis: Analysis,
    known: HashMap<String, HashMap<String, Vec<Match>>>, // by language and word
}

impl<'a, Analysis: WordAnalysis> MatchFinder<'a, Analysis> {
    pub fn new(words: &'a QueryWords, analysis: Analysis) -> Self {
        Self {
            words,
            analysis,
            known: HashMap::new(),
        }
    }

    /// Return the matches in order and without overlaps.
    pub fn find(&mut self, text: &[char], language: &str) -> Result<Vec<Match>, Failure> {
        let is_ascii = text.iter().fold(true, |ascii, c| ascii & c.is_ascii());
        if !is_ascii && !text.iter().all(|&c| is_known(c)) {
            return Err(NotSure.into());
        }
        let letters = if is_ascii {
            Letters::of_ascii(text)
        } else {
            Letters::of(text)
        };
        let mut matches = BTreeMap::new();
        for prefix in &self.words.prefixes {
            self.add_form_matches(&mut matches, text, &letters, prefix, language)?;
        }
        let low: Vec<char> = if is_ascii {
            Vec::new()
        } else {
            text.iter().map(|&c| comparable(c)).collect()
        };
        for (term, slot) in &self.words.bigrams {
            let mut offset = 0;
            while let Some(start) = find(&low, term, offset) {
                matches.insert(
                    start,
                    Match {
                        start,
                        end: start + term.len(),
                        slot: *slot,
                    },
                );
                offset = start + 1;
            }
        }
        Ok(without_overlaps(matches.into_values()))
    }

    fn add_form_matches(
        &mut self,
        matches: &mut BTreeMap<usize, Match>,
        text: &[char],
        letters: &Letters,
        prefix: &str,
        language: &str,
    ) -> Result<(), Failure> {
        let anywhere = self.words.anywhere_languages.iter().any(|name| name == language);
        let mut searched_to = 0; // end of the last analysed word
        let finder = Finder::new(prefix);
        let mut next = letters.find(&finder, 0);
        while let Some(index) = next {
            let offset = letters.offset(index);
            let mut next_index = index + 1;
            if anywhere || starts_word(text, offset) {
                let word = word_at(text, offset, searched_to);
                searched_to = word.map_or(offset + 1, |(_, end)| end);
                if let Some((start, end)) = word {
                    for found in self.word_matches(&text[start..end], language)? {
                        let shifted = Match {
                            start: start + found.start,
                            end: start + found.end,
                            ..*found
                        };
                        matches.insert(shifted.start, shifted);
                    }
                }
                next_index = next_index.max(letters.count_before(searched_to));
            }
            next = letters.find(&finder, next_index);
        }
        Ok(())
    }

    fn word_matches(&mut self, word: &[char], language: &str) -> Result<&[Match], Failure> {
        if !self.known.contains_key(language) {
            self.known.insert(language.to_owned(), HashMap::new());
        }
        let word: String = word.iter().collect();
        let known = self.known.get_mut(language).ok_or(NotSure)?;
        if !known.contains_key(&word) {
            known.insert(word.clone(), self.analysis.word_matches(&word, language)?);
        }
        Ok(&known[&word])
    }
}

/// A comparable text in UTF-8, without the characters that comparisons ignore.
struct Letters {
    low: Vec<u8>,
    offsets: Option<Vec<usize>>, // of each byte in the text, in characters; None: the same number
}

impl Letters {
    fn of_ascii(text: &[char]) -> Self {
        let low: Vec<u8> = text.iter().map(|&c| (c as u8).to_ascii_lowercase()).collect();
        if memchr(b'\'', &low).is_some() {
            Self::of(text)
        } else {
            Self { low, offsets: None }
        }
    }

    fn of(text: &[char]) -> Self {
        let (mut low, mut offsets) = (Vec::with_capacity(text.len()), Vec::with_capacity(text.len()));
        for (offset, &c) in text.iter().enumerate().filter(|(_, c)| !is_within_word(**c)) {
            low.extend_from_slice(comparable(c).encode_utf8(&mut [0; 4]).as_bytes());
            offsets.resize(low.len(), offset);
        }
        Self {
            low,
            offsets: Some(offsets),
        }
    }

    fn find(&self, prefix: &Finder, from: usize) -> Option<usize> {
        prefix.find(self.low.get(from..)?).map(|index| from + index)
    }

    /// Return the offset of a letter in the text, in characters.
    fn offset(&self, index: usize) -> usize {
        self.offsets.as_ref().map_or(index, |offsets| offsets[index])
    }

    /// Return the number of letters before an offset in the text, in bytes.
    fn count_before(&self, offset: usize) -> usize {
        self.offsets
            .as_ref()
            .map_or(offset, |offsets| offsets.partition_point(|&letter| letter < offset))
    }
}

fn find(text: &[char], wanted: &[char], from: usize) -> Option<usize> {
    let (&first, rest) = wanted.split_first()?;
    let last = text.len().checked_sub(wanted.len())?;
    (from..=last).find(|&start| text[start] == first && text[start + 1..].starts_with(rest))
}

fn starts_word(text: &[char], offset: usize) -> bool {
    offset == 0 || !is_alphanumeric(text[offset - 1]) || is_unspaced(text[offset - 1])
}

/// Return the word around an offset, which begins at `searched_to` or later; None at a mark without a letter.
fn word_at(text: &[char], offset: usize, searched_to: usize) -> Option<(usize, usize)> {
    let belongs = |c: char| is_alphanumeric(c) || is_within_word(c);
    let mut start = offset;
    while start > searched_to && belongs(text[start - 1]) {
        start -= 1;
    }
    if start == offset {
        return word_from(text, offset).map(|end| (offset, end));
    }
    while start < text.len() {
        match word_from(text, start) {
            Some(end) if end > offset => return Some((start, end)),
            Some(end) => start = end,
            None => start += 1,
        }
    }
    None
}

/// Return the end of the word that begins here: letters and their marks, also joined by single apostrophes.
fn word_from(text: &[char], start: usize) -> Option<usize> {
    let is_letter = |at: usize| text.get(at).is_some_and(|&c| is_alphanumeric(c));
    if !is_letter(start) {
        return None;
    }
    let mut end = start + 1;
    while end < text.len() {
        let c = text[end];
        let joins = matches!(c, '\'' | '\u{2019}') && is_letter(end + 1);
        if !(joins || is_alphanumeric(c) || is_mark(c) || c == '\u{ad}') {
            break;
        }
        end += 1;
    }
    Some(end)
}

/// Join overlapping matches, such as pairs of characters.
fn without_overlaps(matches: impl Iterator<Item = Match>) -> Vec<Match> {
    let mut kept: Vec<Match> = Vec::new();
    for one in matches {
        match kept.last_mut() {
            Some(last) if one.start < last.end => last.end = last.end.max(one.end),
            _ => kept.push(one),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plural;

    impl WordAnalysis for Plural {
        fn word_matches(&mut self, word: &str, _: &str) -> Result<Vec<Match>, Failure> {
            let is_match = word.to_lowercase().trim_end_matches('s') == "don'key";
            Ok(Vec::from_iter(is_match.then(|| Match {
                start: 0,
                end: word.chars().count(),
                slot: 0,
            })))
        }
    }

    #[test]
    fn forms_of_a_word_match_wherever_a_word_starts() {
        let prefixes = vec!["donke".to_owned()];
        let words = QueryWords {
            prefixes,
            bigrams: vec![],
            anywhere_languages: vec![],
        };
        let text: Vec<char> = "A don'keys, xdonkey; Don'key's".chars().collect();
        let matches = MatchFinder::new(&words, Plural).find(&text, "").ok().unwrap();
        assert_eq!(
            matches,
            [Match {
                start: 2,
                end: 10,
                slot: 0
            }]
        );
    }

    #[test]
    fn overlapping_pairs_of_characters_become_one_match() {
        let pairs = [("東京", 0), ("京都", 1)].map(|(pair, slot)| (pair.chars().collect(), slot));
        let words = QueryWords {
            prefixes: vec![],
            bigrams: pairs.to_vec(),
            anywhere_languages: vec![],
        };
        let text: Vec<char> = "は東京都の".chars().collect();
        let matches = MatchFinder::new(&words, Plural).find(&text, "cjk").ok().unwrap();
        assert_eq!(
            matches,
            [Match {
                start: 1,
                end: 4,
                slot: 0
            }]
        );
    }

    #[test]
    fn words_keep_apostrophes_between_letters() {
        let text: Vec<char> = "rock'n'roll' x".chars().collect();
        assert_eq!(word_at(&text, 5, 0), Some((0, 11)));
        assert_eq!(word_at(&text, 11, 11), None);
    }
}
