//! One pass over the bytes of a page: tokens go to the tree under construction.

use super::Stop::{self, NotSure};
use super::references::{Place, decode};
use super::tags::{NAMES, Tag};
use super::tokens::{Attributes, Cursor};
use super::tree::{Content, Doctype, Tree};
use super::walker::Walker;
use crate::border::WorkLimit;

const MAX_DRAWING_DEPTH: usize = 32;
// Elements that `tags` does not know, but HTML does: they end a drawing, or contain HTML.
const LEAVES_DRAWING: [&[u8]; 5] = [b"sub", b"sup", b"var", b"desc", b"foreignobject"];
const DRAWING: Stop = NotSure("a drawing with more than shapes");

/// Read a page to its end.
pub fn read<'a>(page: &'a str, walker: Walker<'a>, limit: WorkLimit) -> Result<Walker<'a>, Stop> {
    if has_control_characters(page.as_bytes()) {
        return Err(NotSure("a control character"));
    }
    if page.starts_with('\u{FEFF}') {
        return Err(NotSure("a second byte order mark"));
    }
    let mut reader = Reader {
        cursor: Cursor { page, at: 0 },
        tree: Tree::new(walker, limit),
        attributes: Attributes::default(),
    };
    while reader.cursor.at < page.len() {
        reader.read_token()?;
    }
    reader.tree.finish()
}

fn has_control_characters(page: &[u8]) -> bool {
    let is_control = |byte: &u8| *byte < b' ' && !matches!(*byte, b'\n' | b'\r' | b'\t' | b'\x0c');
    page.chunks(256)
        .any(|chunk| chunk.iter().fold(false, |found, byte| found | is_control(byte))) // with SIMD
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    tree: Tree<'a>,
    attributes: Attributes<'a>, // of the current tag
}

impl<'a> Reader<'a> {
    fn read_token(&mut self) -> Result<(), Stop> {
        let text = self.cursor.text();
        if !text.is_empty() {
            return self.tree.text(text, &decode(text, Place::Text)?);
        }
        match self.cursor.byte(1) {
            Some(byte) if byte.is_ascii_alphabetic() => self.read_start_tag(),
            Some(b'/') => self.read_end_tag(),
            Some(b'!') => self.read_declaration(),
            Some(b'?') => self.cursor.skip_declaration().map(drop),
            _ => {
                self.cursor.at += 1;
                self.tree.text("<", "<")
            }
        }
    }

    fn read_start_tag(&mut self) -> Result<(), Stop> {
        self.cursor.at += 1;
        let name = self.cursor.name();
        let tag = Tag::find(name);
        let end = self.cursor.attributes(&mut self.attributes)?;
        match self.tree.start(tag, name, &self.attributes)? {
            Content::Markup => Ok(()),
            Content::Skipped(Tag::Script) => self.skip_script(),
            Content::Skipped(tag) => self.cursor.raw_text(NAMES[tag as usize]).map(drop),
            Content::Title => {
                let text = self.cursor.raw_text("title")?;
                self.tree.walker.title(&decode(text, Place::Text)?);
                Ok(())
            }
            Content::Textarea => {
                let text = self.cursor.raw_text("textarea")?;
                self.tree.walker.text(&decode(text, Place::Text)?)?;
                self.tree.end(Tag::Textarea, b"")
            }
            Content::Drawing if end.self_closing => {
                self.tree.walker.start_drawing().and(self.tree.walker.end_drawing())
            }
            Content::Drawing => self.read_drawing(),
        }
    }

    /// Skip a script. A script inside a comment inside it has its own end tag (WHATWG HTML §13.2.5.20).
    fn skip_script(&mut self) -> Result<(), Stop> {
        let script = self.cursor.raw_text("script")?.as_bytes();
        if let Some(comment) = memchr::memmem::find(script, b"<!--") {
            let is_start = |at: usize| {
                script[at + 1..]
                    .get(..6)
                    .is_some_and(|name| name.eq_ignore_ascii_case(b"script"))
            };
            if memchr::memchr_iter(b'<', &script[comment..]).any(|at| is_start(comment + at)) {
                return Err(NotSure("a script in a script"));
            }
        }
        Ok(())
    }

    fn read_end_tag(&mut self) -> Result<(), Stop> {
        match self.cursor.byte(2) {
            Some(byte) if byte.is_ascii_alphabetic() => {
                self.cursor.at += 2;
                let name = self.cursor.name();
                self.cursor.attributes(&mut self.attributes)?;
                self.tree.end(Tag::find(name), name)
            }
            Some(_) => self.cursor.skip_declaration().map(drop),
            None => Err(NotSure("an unfinished tag")),
        }
    }

    fn read_declaration(&mut self) -> Result<(), Stop> {
        if self.cursor.rest().starts_with(b"<!--") {
            self.cursor.at += 4;
            return self.cursor.skip_comment();
        }
        let declaration = self.cursor.skip_declaration()?;
        if declaration
            .get(2..9)
            .is_some_and(|word| word.eq_ignore_ascii_case(b"doctype"))
        {
            self.tree.set_doctype(Doctype::read(&declaration[9..]));
        }
        Ok(())
    }

    /// Read an `<svg>` of shapes and text. Other content can leave it, or has links.
    fn read_drawing(&mut self) -> Result<(), Stop> {
        let mut open: Vec<&'a [u8]> = vec![b"svg"];
        self.tree.walker.start_drawing()?;
        while let Some(current) = open.last().copied() {
            let text = self.cursor.text();
            if !text.is_empty() {
                self.tree.walker.text(&decode(text, Place::Text)?)?;
            }
            let rest = self.cursor.rest();
            if rest.starts_with(b"<!--") {
                self.cursor.at += 4;
                self.cursor.skip_comment()?;
            } else if rest.starts_with(b"</") {
                self.end_drawn(current)?;
                open.pop();
            } else if rest.get(1).is_some_and(u8::is_ascii_alphabetic) {
                if let Some(name) = self.start_drawn()? {
                    open.push(name);
                }
                if open.len() > MAX_DRAWING_DEPTH {
                    return Err(DRAWING);
                }
            } else {
                return Err(DRAWING);
            }
        }
        self.tree.walker.end_drawing()
    }

    /// Open an element of a drawing; return its name if it has content.
    fn start_drawn(&mut self) -> Result<Option<&'a [u8]>, Stop> {
        self.cursor.at += 1;
        let name = self.cursor.name();
        let is_closed = self.cursor.attributes(&mut self.attributes)?.self_closing;
        let is_drawn = match Tag::find(name) {
            Tag::Other => !LEAVES_DRAWING.iter().any(|other| name.eq_ignore_ascii_case(other)),
            Tag::Image | Tag::Svg => true,
            Tag::Title | Tag::Style if is_closed => true,
            Tag::Title => {
                let text = self.drawn_text(name)?;
                self.tree.walker.drawing_title(&decode(text, Place::Text)?);
                return Ok(None);
            }
            Tag::Style => return self.drawn_text(name).map(|_| None),
            tag => tag.is_drawn(),
        };
        if !is_drawn {
            return Err(DRAWING);
        }
        Ok(Some(name).filter(|_| !is_closed))
    }

    fn end_drawn(&mut self, name: &[u8]) -> Result<(), Stop> {
        self.cursor.at += 2;
        if !self.cursor.name().eq_ignore_ascii_case(name) {
            return Err(DRAWING);
        }
        self.cursor.attributes(&mut self.attributes)?;
        Ok(())
    }

    /// Return the text of an element of a drawing that has nothing else.
    fn drawn_text(&mut self, name: &[u8]) -> Result<&'a str, Stop> {
        let text = self.cursor.text();
        if !self.cursor.rest().starts_with(b"</") {
            return Err(DRAWING);
        }
        self.end_drawn(name)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return the packed text of a page, or why the reader stops.
    fn text(page: &str) -> Result<String, Stop> {
        let walker = Walker::new(page, "http://h/", 100, true);
        let (packed, ..) = read(page, walker, WorkLimit::new(25_000))?.finish();
        Ok(String::from_utf8_lossy(&packed)
            .replace(|byte: char| !byte.is_alphanumeric(), " ")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "))
    }

    #[test]
    fn text_of_ordinary_markup() {
        assert_eq!(text("<p>one<p>two <b>three</b>").unwrap(), "one two three");
        assert_eq!(text("<b><p>one</b>two</p>").unwrap(), "onetwo");
        assert_eq!(text("<script>no</script><svg><text>no</text></svg>yes").unwrap(), "yes");
        assert_eq!(text("<table><td>one<td>two</table>three").unwrap(), "one two three");
    }

    #[test]
    fn the_reader_says_when_it_is_not_sure() {
        for page in [
            "<table>moved",
            "<a href=x><p></a>y",
            "<template>",
            "<svg><p>",
            "<p",
            "a\0b",
            "&bogus;",
            "<frameset>",
        ] {
            assert!(matches!(text(page), Err(NotSure(_))), "{page}");
        }
    }

    #[test]
    fn work_and_depth_are_limited() {
        assert_eq!(text(&"<div>".repeat(201)), Err(NotSure("deep nesting")));
        let page = format!("{}{}", "<span>".repeat(150), "</x>".repeat(200));
        assert_eq!(text(&page), Err(Stop::WorkLimit));
    }
}
