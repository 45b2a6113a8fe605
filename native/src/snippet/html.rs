//! The part of a text that a snippet shows, as HTML: escaped, with the query's words in `<mark>`.

use super::characters::{continues_character, is_hidden, is_joiner, is_known, is_space};
use super::matches::Match;
use super::{NotSure, SNIPPET_LENGTH};

const ELLIPSIS: char = '…';

/// Return the part with most words of the query, expanded to sentences.
pub fn render_matches(text: &[char], matches: &[Match]) -> Result<String, NotSure> {
    let (first, last) = shortest_span(matches);
    let (start, end) = expand_to_sentences(text, first, last)?;
    let mut html = Html::default();
    if start > 0 && text[start - 1] != '\n' {
        html.push(ELLIPSIS);
    }
    let mut offset = start;
    for shown in matches.iter().filter(|one| one.start >= start && one.end <= end) {
        html.push_visible(&text[offset..shown.start]);
        html.push_mark("<mark>");
        html.push_visible(&text[shown.start..shown.end]);
        html.push_mark("</mark>");
        offset = shown.end;
    }
    html.push_visible(&text[offset..end]);
    if end < text.len() && text[end] != '\n' && sentence_end(text, end - 1, text.len()).is_none() {
        html.push(ELLIPSIS);
    }
    Ok(html.finish())
}

/// Return the beginning of a text, for pages without a match.
pub fn render_beginning(text: &str) -> Result<String, NotSure> {
    let mut characters = text.chars();
    let mut shown: Vec<char> = characters.by_ref().take(SNIPPET_LENGTH + 1).collect();
    if !shown.iter().all(|&c| is_known(c)) {
        return Err(NotSure);
    }
    let is_cut = shown.len() > SNIPPET_LENGTH;
    if is_cut {
        let end = word_end(&shown, 0, SNIPPET_LENGTH)?;
        shown.truncate(end);
    }
    let mut html = Html::default();
    html.push_visible(&shown);
    let mut snippet = html.finish();
    if is_cut {
        snippet.push(ELLIPSIS);
    }
    Ok(snippet)
}

/// Return the shortest part that has most different words and fits the snippet, in one pass.
fn shortest_span(matches: &[Match]) -> (usize, usize) {
    let slots = matches.iter().map(|one| one.slot + 1).max().unwrap_or(0);
    let mut count = vec![0_usize; slots];
    let (mut first, mut held) = (0, 0);
    let (mut best, mut best_key) = ((0, 0), (0_usize, 0_isize));
    for (number, last) in matches.iter().enumerate() {
        held += usize::from(count[last.slot] == 0);
        count[last.slot] += 1;
        while first < number && (count[matches[first].slot] > 1 || last.end - matches[first].start > SNIPPET_LENGTH) {
            count[matches[first].slot] -= 1;
            held -= usize::from(count[matches[first].slot] == 0);
            first += 1;
        }
        let start = matches[first].start;
        let key = (held, start as isize - last.end as isize);
        if key > best_key {
            (best, best_key) = ((start, last.end), key);
        }
    }
    best
}

/// Expand a part to whole sentences where they fit, else to whole words.
fn expand_to_sentences(text: &[char], first: usize, last: usize) -> Result<(usize, usize), NotSure> {
    let room = SNIPPET_LENGTH.saturating_sub(last - first);
    let earliest = first.saturating_sub(room);
    let start = match last_sentence_end(text, earliest, first) {
        Some(edge) => edge,
        None if earliest > 0 => word_start(text, earliest.max(first.saturating_sub(room / 2)), first)?,
        None => 0,
    };
    let mut end = text.len().min(last.max(start + SNIPPET_LENGTH));
    if end < text.len() {
        end = match last_sentence_end(text, last, end) {
            Some(edge) => edge,
            None => word_end(text, last, end)?,
        };
    }
    Ok((start, end))
}

/// Return the end of the last sentence in a part of a text.
fn last_sentence_end(text: &[char], mut from: usize, to: usize) -> Option<usize> {
    let mut last = None;
    while from < to {
        match sentence_end(text, from, to) {
            Some(end) => {
                last = Some(end);
                from = end;
            }
            None => from += 1,
        }
    }
    last
}

/// Return the end of a sentence whose mark is here; like a regular expression, it does not look behind `to`.
fn sentence_end(text: &[char], at: usize, to: usize) -> Option<usize> {
    match text[at] {
        '\n' => Some(at + 1),
        '.' | '!' | '?' | '…' | '。' | '！' | '？' => {
            let closers = text[at + 1..to]
                .iter()
                .take_while(|c| matches!(c, '\'' | '"' | '”' | '’' | ')' | ']'))
                .count();
            let end = at + 1 + closers;
            (end < to && is_space(text[end])).then_some(end)
        }
        _ => None,
    }
}

/// Return the next beginning of a word from `start` on, never inside a combined character.
fn word_start(text: &[char], mut start: usize, latest: usize) -> Result<usize, NotSure> {
    if let Some(blank) = text[start..latest].iter().position(|&c| is_space(c)) {
        return Ok(start + blank + 1);
    }
    while start < latest && continues(text, start)? {
        start += 1;
    }
    Ok(start)
}

fn word_end(text: &[char], earliest: usize, mut end: usize) -> Result<usize, NotSure> {
    if let Some(blank) = text[earliest..end].iter().rposition(|&c| c == ' ' || c == '\n') {
        return Ok(earliest + blank);
    }
    while end > earliest && continues(text, end)? {
        end -= 1;
    }
    Ok(end)
}

/// Whether a cut before this character would separate it from its letter.
fn continues(text: &[char], index: usize) -> Result<bool, NotSure> {
    match text.get(index) {
        None => Ok(false),
        Some(_) if index == 0 => Err(NotSure),
        Some(&here) => continues_character(text[index - 1], here).ok_or(NotSure),
    }
}

/// HTML in the making: white space at both ends is left out.
#[derive(Default)]
struct Html {
    text: String,
    trimmed: usize, // bytes without the white space at the end
}

impl Html {
    fn push_mark(&mut self, mark: &str) {
        self.text.push_str(mark);
        self.trimmed = self.text.len();
    }

    fn push(&mut self, c: char) {
        if is_space(c) {
            if self.trimmed > 0 {
                self.text.push(c);
            }
            return;
        }
        match c {
            '&' => self.text.push_str("&amp;"),
            '<' => self.text.push_str("&lt;"),
            '>' => self.text.push_str("&gt;"),
            '"' => self.text.push_str("&quot;"),
            '\'' => self.text.push_str("&#x27;"),
            _ => self.text.push(c),
        }
        self.trimmed = self.text.len();
    }

    /// Add a text without invisible characters; joiners stay between two characters beyond ASCII.
    fn push_visible(&mut self, text: &[char]) {
        for (at, &c) in text.iter().enumerate() {
            if !is_hidden(c) || (is_joiner(c) && has_foreign_neighbours(text, at)) {
                self.push(c);
            } else if is_space(c) {
                self.push(' ');
            }
        }
    }

    fn finish(mut self) -> String {
        self.text.truncate(self.trimmed);
        self.text
    }
}

fn has_foreign_neighbours(text: &[char], at: usize) -> bool {
    let is_foreign = |c: Option<&char>| c.is_some_and(|c| !c.is_ascii());
    at > 0 && is_foreign(text.get(at - 1)) && is_foreign(text.get(at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(text: &str, words: &[(usize, usize)]) -> String {
        let text: Vec<char> = text.chars().collect();
        let matches: Vec<Match> = words
            .iter()
            .enumerate()
            .map(|(slot, &(start, end))| Match { start, end, slot })
            .collect();
        render_matches(&text, &matches).unwrap()
    }

    #[test]
    fn a_short_text_is_shown_whole() {
        assert_eq!(
            render(" a <b> & c\nd ", &[(4, 5)]),
            "a &lt;<mark>b</mark>&gt; &amp; c d"
        );
    }

    #[test]
    fn a_long_text_is_cut_at_sentences() {
        let text = format!("Before it. {}word {}", "x ".repeat(20), "y ".repeat(200));
        let snippet = render(&text, &[(51, 55)]);
        assert!(
            snippet.starts_with("… x x") && snippet.contains("<mark>word</mark> y"),
            "{snippet}"
        );
        assert!(snippet.ends_with("y…"));
    }

    #[test]
    fn the_beginning_of_a_long_text_ends_with_a_word() {
        let snippet = render_beginning(&"word ".repeat(100)).unwrap();
        assert_eq!(snippet, format!("{}word…", "word ".repeat(47)));
        assert_eq!(render_beginning("a\u{202e}b\tc").unwrap(), "ab c");
    }
}
