//! Character references (`&amp;`, `&#39;`) decoded, as WHATWG HTML §13.2.5.72 and the states behind it do.

use std::borrow::Cow;

use memchr::memchr;

use super::Stop::{self, NotSure};
use super::reference_names::REFERENCES;

const LONGEST_LEGACY_NAME: usize = 6;
const LONGEST_NAME: usize = 31; // of all that HTML has
const UNKNOWN: Stop = NotSure("a character reference");

/// Where a text stands: references without a semicolon count less in attributes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Text,
    Attribute,
}

/// Return the text with its references replaced.
pub fn decode(raw: &str, place: Place) -> Result<Cow<'_, str>, Stop> {
    let Some(mut next) = memchr(b'&', raw.as_bytes()) else {
        return Ok(Cow::Borrowed(raw));
    };
    let mut decoded = String::with_capacity(raw.len());
    let mut rest = raw;
    loop {
        decoded.push_str(&rest[..next]);
        rest = &rest[next + 1..];
        match read_reference(rest.as_bytes(), place)? {
            Some((character, length)) => {
                decoded.push(character);
                rest = &rest[length..];
            }
            None => decoded.push('&'),
        }
        match memchr(b'&', rest.as_bytes()) {
            Some(at) => next = at,
            None => break,
        }
    }
    decoded.push_str(rest);
    Ok(Cow::Owned(decoded))
}

/// Return the character of the reference behind an ampersand, and how many bytes it takes; None: it is plain text.
fn read_reference(rest: &[u8], place: Place) -> Result<Option<(char, usize)>, Stop> {
    if rest.first() == Some(&b'#') {
        return read_number(&rest[1..]).map(|(character, length)| Some((character, length + 1)));
    }
    let run = rest
        .iter()
        .take(LONGEST_NAME + 1)
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count();
    if run == 0 {
        return Ok(None);
    }
    if rest.get(run) == Some(&b';') && run <= LONGEST_NAME {
        return match find_name(&rest[..run]) {
            Some((character, _)) => Ok(Some((character, run + 1))),
            None => Err(UNKNOWN), // of the names that this module does not have, or none
        };
    }
    for length in (2..=run.min(LONGEST_LEGACY_NAME)).rev() {
        if let Some((character, true)) = find_name(&rest[..length]) {
            let following = rest.get(length).copied().unwrap_or(b' ');
            let is_text = place == Place::Attribute && (following == b'=' || following.is_ascii_alphanumeric());
            return Ok(if is_text { None } else { Some((character, length)) });
        }
    }
    Ok(None)
}

fn find_name(name: &[u8]) -> Option<(char, bool)> {
    let at = REFERENCES
        .binary_search_by(|(known, ..)| known.as_bytes().cmp(name))
        .ok()?;
    Some((REFERENCES[at].1, REFERENCES[at].2))
}

/// Read `39;` or `x27;`: complete, and of a character that stands for itself.
fn read_number(rest: &[u8]) -> Result<(char, usize), Stop> {
    let (start, base) = if matches!(rest.first(), Some(b'x' | b'X')) {
        (1, 16)
    } else {
        (0, 10)
    };
    let mut value: u32 = 0;
    let mut at = start;
    while let Some(digit) = rest.get(at).and_then(|byte| (*byte as char).to_digit(base)) {
        value = value * base + digit;
        at += 1;
        if value > 0x10_FFFF {
            return Err(UNKNOWN);
        }
    }
    if at == start || rest.get(at) != Some(&b';') {
        return Err(UNKNOWN);
    }
    let is_plain = value >= 0xA0 || (0x20..0x7F).contains(&value) || value == 9 || value == 10;
    match char::from_u32(value) {
        Some(character) if is_plain => Ok((character, at + 1)),
        _ => Err(UNKNOWN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(raw: &str) -> Option<String> {
        decode(raw, Place::Text).ok().map(Cow::into_owned)
    }

    #[test]
    fn names_are_sorted() {
        assert!(REFERENCES.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn references_in_text() {
        assert_eq!(text("a &amp; b&lt;c").unwrap(), "a & b<c");
        assert_eq!(text("&copy2 &ampx & &; R&D").unwrap(), "©2 &x & &; R&D");
        assert_eq!(text("&#39;&#x27;&#233;").unwrap(), "''é");
        assert_eq!(text("&notit;"), None);
        assert_eq!(text("&#0;"), None);
        assert_eq!(text("&#65"), None);
        assert_eq!(text("&#128;"), None);
    }

    #[test]
    fn references_in_attributes() {
        let value = |raw| decode(raw, Place::Attribute).unwrap().into_owned();
        assert_eq!(value("?a=1&copy=2&reg3&lt"), "?a=1&copy=2&reg3<");
        assert_eq!(value("?a=1&amp;b=2"), "?a=1&b=2");
    }
}
