//! The text of a window: the runs with most words of the query, and the context that a snippet can show.

use super::runs::Runs;
use super::{NotSure, SNIPPET_LENGTH, Window};

const CONTEXT_LENGTH: usize = 600; // characters read before and after the estimated position of the window

/// Return the text of a window with its context, one run per line; empty if the page has changed.
pub fn window_text(runs: &Runs, window: &Window) -> Result<Vec<char>, NotSure> {
    if window.last_run >= runs.len() || window.first_run > window.last_run {
        return Ok(Vec::new());
    }
    let first_length = count(runs.text(window.first_run)?);
    let guess = first_length * window.words_before / window.run_length.max(1);
    let joined = Joined { runs, window };
    let mut text = joined.cut_at_spaces(
        guess.saturating_sub(CONTEXT_LENGTH),
        guess + SNIPPET_LENGTH + CONTEXT_LENGTH,
    )?;
    append_runs_behind(&mut text, runs, window.last_run + 1)?;
    prepend_runs_before(&mut text, runs, window.first_run)?;
    Ok(text)
}

fn append_runs_behind(text: &mut Vec<char>, runs: &Runs, mut behind: usize) -> Result<(), NotSure> {
    while behind < runs.len() && text.len() < 2 * SNIPPET_LENGTH {
        text.push('\n');
        text.extend(runs.text(behind)?.chars().take(SNIPPET_LENGTH));
        behind += 1;
    }
    Ok(())
}

fn prepend_runs_before(text: &mut Vec<char>, runs: &Runs, mut before: usize) -> Result<(), NotSure> {
    while before > 0 && !runs.is_title(before - 1) && text.len() < 2 * SNIPPET_LENGTH {
        let run = runs.text(before - 1)?;
        let length = count(run);
        let start = length.saturating_sub(CONTEXT_LENGTH);
        let tail: Vec<char> = run.chars().skip(start).collect();
        let mut longer = cut_part_at_spaces(tail, start, length, length);
        longer.push('\n');
        longer.append(text);
        *text = longer;
        before -= 1;
    }
    Ok(())
}

/// The runs of a window, joined by line breaks.
struct Joined<'a> {
    runs: &'a Runs<'a>,
    window: &'a Window,
}

impl Joined<'_> {
    fn cut_at_spaces(&self, start: usize, end: usize) -> Result<Vec<char>, NotSure> {
        let (mut part, mut length) = (Vec::new(), 0);
        for number in self.window.first_run..=self.window.last_run {
            let run = self.runs.text(number)?;
            if number > self.window.first_run {
                append_part(&mut part, "\n", &mut length, start, end);
            }
            append_part(&mut part, run, &mut length, start, end);
        }
        Ok(cut_part_at_spaces(part, start, end, length))
    }
}

/// Append the characters of `run` between `start` and `end`, where `length` characters came before the run.
fn append_part(part: &mut Vec<char>, run: &str, length: &mut usize, start: usize, end: usize) {
    let run_length = count(run);
    if *length < end && *length + run_length > start {
        let skipped = start.saturating_sub(*length);
        part.extend(run.chars().skip(skipped).take(end - *length - skipped));
    }
    *length += run_length;
}

/// Cut a part of a text at spaces, as `_cut_at_spaces` does; the part is `start..end` of `length` characters.
fn cut_part_at_spaces(mut part: Vec<char>, start: usize, end: usize, length: usize) -> Vec<char> {
    let space = part.iter().position(|&c| c == ' ');
    let first = match space {
        Some(space) if start > 0 => space + 1,
        _ => 0,
    };
    if end < length {
        let last_space = part[first..].iter().rposition(|&c| c == ' ').map(|space| first + space);
        let least = part.len().saturating_sub(SNIPPET_LENGTH);
        part.truncate(last_space.unwrap_or(0).max(least));
    }
    part.drain(..first.min(part.len()));
    part
}

fn count(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.chars().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, start: usize, end: usize) -> String {
        let part = text.chars().skip(start).take(end - start).collect();
        cut_part_at_spaces(part, start, end, text.chars().count())
            .iter()
            .collect()
    }

    #[test]
    fn texts_are_cut_at_spaces() {
        assert_eq!(cut("one two three", 0, 20), "one two three");
        assert_eq!(cut("one two three", 1, 20), "two three");
        let long = format!("first {} last", "word ".repeat(100));
        assert_eq!(cut(&long, 2, 302).len(), 294);
        assert!(!cut(&long, 2, 302).ends_with(' '));
    }
}
