//! Text with each run of ASCII white space as one blank (`parse/readers/text.py`).

/// Collects text, without blanks at its ends.
#[derive(Default)]
pub struct Collapsed {
    pub text: String,
    has_gap: bool, // white space came since the last word
}

impl Collapsed {
    /// Add text; words of two pieces join unless there is white space between them.
    pub fn push(&mut self, piece: &str) {
        let bytes = piece.as_bytes();
        let mut start = 0; // of what is not written yet
        let mut at = 0;
        while at < bytes.len() {
            if bytes[at] > b' ' {
                at += 1;
                continue;
            }
            // One blank between two words stays where it is.
            if bytes[at] == b' ' && at > start && bytes.get(at + 1).is_some_and(|next| *next > b' ') {
                at += 2;
                continue;
            }
            self.push_words(&piece[start..at]);
            self.has_gap = true;
            at += 1;
            start = at;
        }
        self.push_words(&piece[start..]);
    }

    pub fn push_gap(&mut self) {
        self.has_gap = true;
    }

    fn push_words(&mut self, words: &str) {
        if words.is_empty() {
            return;
        }
        if self.has_gap && !self.text.is_empty() {
            self.text.push(' ');
        }
        self.has_gap = false;
        self.text.push_str(words);
    }

    pub fn clear(&mut self) {
        self.text.clear();
        self.has_gap = false;
    }
}

/// Return a text in one line, cut after so many characters.
pub fn clean(text: &str, max_length: usize) -> String {
    let mut collapsed = Collapsed::default();
    collapsed.push(text);
    let mut text = collapsed.text;
    text.truncate(start_length(&text, max_length));
    text
}

/// Return how many bytes the first characters take.
pub fn start_length(text: &str, characters: usize) -> usize {
    if text.len() <= characters {
        return text.len();
    }
    text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_collapses() {
        assert_eq!(clean(" a\tb \n c d  e ", 99), "a b c d e");
        assert_eq!(clean("äöü x", 4), "äöü ");
        assert_eq!(clean(" \n", 4), "");
        let mut text = Collapsed::default();
        for piece in ["a ", "b", " ", " c", "d"] {
            text.push(piece);
        }
        assert_eq!(text.text, "a b cd");
    }
}
