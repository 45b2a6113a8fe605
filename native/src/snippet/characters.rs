//! Characters as Python's `str` and `re` see them, for the scripts that most pages have.
//!
//! `is_known` tells which characters these are. A text with any other character is "not sure", so that the tables of
//! two versions of Unicode never disagree.

use super::accents::without_accent;

/// Ranges in which the functions below agree with Python for every character.
const KNOWN: &[(char, char)] = &[
    ('\0', '\u{24f}'),          // ASCII and Latin
    ('\u{300}', '\u{52f}'),     // combining marks, Greek, Cyrillic
    ('\u{1e00}', '\u{206f}'),   // Latin and Greek with accents, punctuation
    ('\u{20a0}', '\u{20bf}'),   // currencies
    ('\u{2100}', '\u{214f}'),   // letterlike
    ('\u{2190}', '\u{23ff}'),   // arrows, mathematics, technical
    ('\u{2500}', '\u{2775}'),   // boxes, shapes, symbols
    ('\u{3000}', '\u{3029}'),   // CJK punctuation
    ('\u{3041}', '\u{3096}'),   // Hiragana
    ('\u{309b}', '\u{30ff}'),   // Katakana
    ('\u{3400}', '\u{4dbf}'),   // Han
    ('\u{4e00}', '\u{9fff}'),   // Han
    ('\u{ac00}', '\u{d7a3}'),   // Hangul
    ('\u{ff01}', '\u{ffee}'),   // full and half width
    ('\u{1f300}', '\u{1f3fa}'), // pictures
    ('\u{1f400}', '\u{1f64f}'), // pictures
];

/// Whether the kernel knows this character. Σ is unknown: its lower case depends on the letters around it.
pub fn is_known(c: char) -> bool {
    c.is_ascii() || (c != 'Σ' && KNOWN.iter().any(|&(first, last)| (first..=last).contains(&c)))
}

/// `str.isalnum`.
pub fn is_alphanumeric(c: char) -> bool {
    c.is_ascii_alphanumeric() || (!c.is_ascii() && c.is_alphanumeric() && !is_mark(c))
}

/// `basics.words.MARKS`: marks that belong to the letter before them.
pub fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}')
}

/// `index.analyze.WITHIN_WORD`: characters between the letters of a word, which comparisons ignore.
pub fn is_within_word(c: char) -> bool {
    c == '\'' || (!c.is_ascii() && (c == '\u{2019}' || c == '\u{ad}' || is_mark(c)))
}

/// `str.isspace`.
pub fn is_space(c: char) -> bool {
    matches!(c, '\t'..='\r' | '\x1c'..='\x1f' | ' ') || (!c.is_ascii() && c.is_whitespace())
}

/// `basics.words.UNSPACED`: scripts without spaces.
pub fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}')
}

/// `basics.display.HIDDEN`: invisible characters that could mislead a reader.
pub fn is_hidden(c: char) -> bool {
    matches!(c, '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{ffa0}')
}

/// Joiners: Persian, Indic scripts and emoji need them.
pub fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Whether a cut before `here` would separate a mark or modifier from its letter; None: not sure.
pub fn continues_character(before: char, here: char) -> Option<bool> {
    if is_joiner(before) || is_joiner(here) || is_mark(here) {
        Some(true)
    } else if here.is_ascii() {
        Some(matches!(here, '^' | '`')) // category Sk
    } else {
        is_alphanumeric(here).then_some(false)
    }
}

/// `_comparable_text` of one character: lower case, without accents.
pub fn comparable(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    let low = if c == 'İ' {
        'i'
    } else {
        c.to_lowercase().next().unwrap_or(c)
    };
    without_accent(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_become_comparable() {
        let low: String = "ÀÉİŁøЙΆ".chars().map(comparable).collect();
        assert_eq!(low, "aeiloиα");
    }

    #[test]
    fn marks_are_no_letters() {
        assert!(!is_alphanumeric('\u{345}'));
        assert!(is_alphanumeric('²'));
        assert!(!is_known('Σ'));
    }
}
