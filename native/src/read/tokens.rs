//! Where tags, comments and raw text begin and end (WHATWG HTML §13.2.5). Nothing is read twice.

use memchr::{memchr, memchr_iter, memmem};

use super::Stop::{self, NotSure};
use super::references::{Place, decode};
use std::borrow::Cow;

const MAX_ATTRIBUTES: usize = 128; // of one tag: each lookup reads them all
pub const UNFINISHED: Stop = NotSure("an unfinished tag");

/// The attributes of one start tag, as written.
#[derive(Default)]
pub struct Attributes<'a> {
    pairs: Vec<(&'a [u8], &'a str)>,
}

impl<'a> Attributes<'a> {
    /// Return the value of the first attribute of this name (in lower case), references not decoded.
    pub fn raw(&self, name: &str) -> Option<&'a str> {
        self.pairs
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| *value)
    }

    /// Return the value of an attribute; None: there is none.
    pub fn get(&self, name: &str) -> Result<Option<Cow<'a, str>>, Stop> {
        let Some(raw) = self.raw(name) else { return Ok(None) };
        if memchr(b'\r', raw.as_bytes()).is_some() {
            return Err(NotSure("a carriage return in an attribute"));
        }
        decode(raw, Place::Attribute).map(Some)
    }

    /// Return the value of an attribute, "" if there is none.
    pub fn text(&self, name: &str) -> Result<Cow<'a, str>, Stop> {
        Ok(self.get(name)?.unwrap_or_default())
    }
}

/// A place in a page.
pub struct Cursor<'a> {
    pub page: &'a str,
    pub at: usize,
}

/// The end of a start tag.
pub struct TagEnd {
    pub self_closing: bool,
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | b'\x0c')
}

impl<'a> Cursor<'a> {
    fn bytes(&self) -> &'a [u8] {
        self.page.as_bytes()
    }

    pub fn byte(&self, offset: usize) -> Option<u8> {
        self.bytes().get(self.at + offset).copied()
    }

    pub fn rest(&self) -> &'a [u8] {
        &self.bytes()[self.at..]
    }

    /// Return the text up to the next `<`, and move there.
    pub fn text(&mut self) -> &'a str {
        let length = memchr(b'<', self.rest()).unwrap_or(self.page.len() - self.at);
        let text = &self.page[self.at..self.at + length];
        self.at += length;
        text
    }

    /// Return the name of a tag; the cursor is at its first letter.
    pub fn name(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let end = rest
            .iter()
            .position(|byte| is_blank(*byte) || matches!(byte, b'/' | b'>'));
        let name = &rest[..end.unwrap_or(rest.len())];
        self.at += name.len();
        name
    }

    /// Read the attributes of a tag and its end.
    pub fn attributes(&mut self, attributes: &mut Attributes<'a>) -> Result<TagEnd, Stop> {
        let bytes = self.bytes();
        attributes.pairs.clear();
        let mut at = self.at;
        loop {
            match *bytes.get(at).ok_or(UNFINISHED)? {
                b'>' => break,
                b'/' if bytes.get(at + 1) == Some(&b'>') => {
                    self.at = at + 2;
                    return Ok(TagEnd { self_closing: true });
                }
                b'/' | b' ' | b'\n' | b'\t' | b'\r' | b'\x0c' => at += 1,
                _ => at = self.attribute(at, attributes)?,
            }
        }
        self.at = at + 1;
        Ok(TagEnd { self_closing: false })
    }

    /// Read one attribute; return where the next may begin.
    fn attribute(&self, start: usize, attributes: &mut Attributes<'a>) -> Result<usize, Stop> {
        let bytes = self.bytes();
        let mut at = start + 1; // a name may begin with "="
        while !matches!(*bytes.get(at).ok_or(UNFINISHED)?, b'=' | b'/' | b'>') && !is_blank(bytes[at]) {
            at += 1;
        }
        let name = &bytes[start..at];
        let mut value = "";
        let name_end = at;
        at = self.skip_blanks(at)?;
        if bytes[at] == b'=' {
            at = self.skip_blanks(at + 1)?;
            match bytes[at] {
                quote @ (b'"' | b'\'') => {
                    let length = memchr(quote, &bytes[at + 1..]).ok_or(UNFINISHED)?;
                    value = &self.page[at + 1..at + 1 + length];
                    at += length + 2;
                }
                b'>' => (),
                _ => {
                    let begin = at;
                    while !is_blank(*bytes.get(at).ok_or(UNFINISHED)?) && bytes[at] != b'>' {
                        at += 1;
                    }
                    value = &self.page[begin..at];
                }
            }
        } else {
            at = name_end;
        }
        if attributes.pairs.len() == MAX_ATTRIBUTES {
            return Err(NotSure("many attributes"));
        }
        attributes.pairs.push((name, value));
        Ok(at)
    }

    fn skip_blanks(&self, mut at: usize) -> Result<usize, Stop> {
        let bytes = self.bytes();
        while is_blank(*bytes.get(at).ok_or(UNFINISHED)?) {
            at += 1;
        }
        Ok(at)
    }

    /// Move behind a comment; the cursor is behind its `<!--`.
    pub fn skip_comment(&mut self) -> Result<(), Stop> {
        let rest = self.rest();
        let end = if rest.starts_with(b">") {
            Some(0)
        } else if rest.starts_with(b"->") {
            Some(1)
        } else {
            memchr_iter(b'>', rest).find(|at| rest[..*at].ends_with(b"--") || rest[..*at].ends_with(b"--!"))
        };
        self.at += end.ok_or(UNFINISHED)? + 1;
        Ok(())
    }

    /// Move behind the next `>`, and return what is before it: a declaration or a bogus comment.
    pub fn skip_declaration(&mut self) -> Result<&'a [u8], Stop> {
        let rest = self.rest();
        let length = memchr(b'>', rest).ok_or(UNFINISHED)?;
        self.at += length + 1;
        Ok(&rest[..length])
    }

    /// Return the raw text up to the end tag of this name, and move behind that tag.
    pub fn raw_text(&mut self, name: &str) -> Result<&'a str, Stop> {
        let rest = self.rest();
        let end = memmem::find_iter(rest, b"</").find(|at| {
            let behind = &rest[at + 2..];
            behind.len() > name.len()
                && behind[..name.len()].eq_ignore_ascii_case(name.as_bytes())
                && (is_blank(behind[name.len()]) || matches!(behind[name.len()], b'/' | b'>'))
        });
        let start = self.at;
        let end = start + end.ok_or(NotSure("unfinished raw text"))?;
        self.at = end + 2 + name.len();
        self.attributes(&mut Attributes::default())?;
        Ok(&self.page[start..end])
    }
}

/// Return whether a text consists of blanks only.
pub fn is_all_blank(text: &str) -> bool {
    text.bytes().all(is_blank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_in_all_forms() {
        let mut cursor = Cursor {
            page: " a=1 B='2' c = \"3\"d/e=f/ =g>rest",
            at: 0,
        };
        let mut attributes = Attributes::default();
        assert!(!cursor.attributes(&mut attributes).unwrap().self_closing);
        let values = ["a", "b", "c", "d", "e", "=g"].map(|name| attributes.raw(name));
        assert_eq!(
            values,
            [Some("1"), Some("2"), Some("3"), Some(""), Some("f/"), Some("")]
        );
        assert_eq!(cursor.rest(), b"rest");
    }

    #[test]
    fn comments_end_as_in_browsers() {
        for (page, rest) in [
            (">a", "a"),
            ("->a", "a"),
            (" x -- y --!>a", "a"),
            ("-->a", "a"),
            (" --->a", "a"),
        ] {
            let mut cursor = Cursor { page, at: 0 };
            cursor.skip_comment().unwrap();
            assert_eq!(&cursor.page[cursor.at..], rest, "{page}");
        }
        assert!(Cursor { page: "-!> x", at: 0 }.skip_comment().is_err());
    }

    #[test]
    fn raw_text_ends_at_its_own_end_tag() {
        let mut cursor = Cursor {
            page: "a</b></styles></STYLE x>rest",
            at: 0,
        };
        assert_eq!(cursor.raw_text("style").unwrap(), "a</b></styles>");
        assert_eq!(cursor.rest(), b"rest");
    }
}
